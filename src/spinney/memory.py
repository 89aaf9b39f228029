"""How much memory there is, asked before work that would need more."""

from __future__ import annotations

import os
from pathlib import Path

from spinney.errors import SettingError

#: Where Linux tells a process group's limit and use, in the two versions of its interface.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available() -> int | None:
    """The bytes that this process can still use, by the machine and by every limit set on it; None if nothing tells.

    Examples
    --------
    >>> found = available()
    >>> found is None or found > 0
    True
    """
    found = [_left_on_machine(), *(_left_in_group(*paths) for paths in _GROUPS), *_left_to_process()]
    return min((max(bytes_, 1) for bytes_ in found if bytes_ is not None), default=None)


def check_memory(needed: float, what: str, remedy: str, **values: object) -> None:
    """Refuse settings whose work needs more memory than there is.

    Parameters
    ----------
    needed
        Bytes: the arrays that the work allocates at once, no more than roughly.
    what, remedy
        What needs them, and what to do instead, with the names of settings in braces.
    **values
        What other names in braces stand for.

    Examples
    --------
    >>> check_memory(1e3, "{states} 10 with 5 words", "lower {states}")
    >>> check_memory(1e18, "{states} {n}", "lower {states}", n=10**9)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    spinney.errors.SettingError: states 1000000000 needs about 1,000,000 TB of memory, and ... left: lower states
    """
    left = available()
    if left is None or needed <= left:
        return
    message = f"{what} needs about {{needed}} of memory, and {{left}} are left: {remedy}"
    raise SettingError(message, needed=size(needed), left=size(left), **values)


def size(bytes_: float) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> size(999), size(4e11), size(1234)
    ('999 bytes', '400 GB', '1.2 kB')
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if bytes_ >= unit:
            number = bytes_ / unit
            return (
                f"{number:,.0f} {name}" if number >= 10 or number == round(number) else f"{number:.1f} {name}"
            )
    return f"{bytes_:.0f} bytes"


def _left_on_machine() -> int | None:
    found = _fields("/proc/meminfo").get("MemAvailable")
    if found is not None:
        return found
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_in_group(limit: str, used: str) -> int | None:
    try:
        most = Path(limit).read_text().strip()
        return None if most == "max" else int(most) - int(Path(used).read_text())
    except (OSError, ValueError):
        return None


def _left_to_process() -> list[int]:
    try:
        import resource
    except ImportError:  # not on Windows
        return []
    used, found = _fields("/proc/self/status"), []
    for kind, name in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        most, _ = resource.getrlimit(getattr(resource, kind))
        if most != resource.RLIM_INFINITY:
            found.append(most - used.get(name, 0))
    return found


def _fields(path: str) -> dict[str, int]:
    """The sizes in a file of the kernel, in bytes."""
    try:
        text = Path(path).read_text()
    except OSError:
        return {}
    rows = (line.split() for line in text.splitlines())
    return {row[0].rstrip(":"): int(row[1]) << 10 for row in rows if len(row) == 3 and row[2] == "kB"}
