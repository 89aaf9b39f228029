"""Settings of ``serve``: where a server listens, and what it refuses."""

from __future__ import annotations

import re
from typing import Annotated

from spinney.errors import SettingError, shown
from spinney.settings import OUTPUT, Above, AtLeast, AtMost, Common
from spinney.settings.declared import settings_dataclass as dataclass

_UNITS = {"": 1, "k": 1000, "M": 1000**2, "G": 1000**3}
_LARGEST = 1000**3  # bytes of a body: it is held in memory


def bytes_of(text: str) -> int | None:
    """The number of bytes that a text such as ``1M`` means; None if it means none.

    Examples
    --------
    >>> bytes_of("1M"), bytes_of("64k"), bytes_of("100"), bytes_of("much")
    (1000000, 64000, 100, None)
    """
    found = re.fullmatch(r"([0-9]{1,12})([kMG]?)", text)
    return None if found is None else int(found[1]) * _UNITS[found[2]]


@dataclass(frozen=True, kw_only=True)
class Serve(Common):
    """``serve``: models behind HTTP."""

    panel = OUTPUT
    host: Annotated[str, "Address to listen on; by default only this machine can reach it."] = "127.0.0.1"
    port: Annotated[int, AtLeast(0), AtMost(65535), "Port to listen on; 0 takes a free one."] = 8000
    max_body: Annotated[str, "Size of the largest request: bytes, or with k, M or G."] = "1M"
    timeout: Annotated[float, Above(0), AtMost(86_400), "Time limit of a request, in seconds."] = 30.0
    queue: Annotated[
        int, AtLeast(0), AtMost(100_000), "Requests that may wait for a thread; others get 503."
    ] = 128

    def check(self) -> None:
        super().check()
        size = bytes_of(self.max_body)
        if size is None or not 1 <= size <= _LARGEST:
            raise SettingError(
                "{max_body} must be a size up to 1G, such as 64k or 1M, not {value}",
                value=shown(self.max_body),
            )
        if not self.host or not self.host.isascii() or not self.host.isprintable():
            raise SettingError(
                "{host} must be an address or the name of a machine, not {value}", value=shown(self.host)
            )

    @property
    def largest_body(self) -> int:
        """The size of the largest request, in bytes."""
        return bytes_of(self.max_body) or 0
