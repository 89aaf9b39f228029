"""Large arguments and results between processes of one machine: through memory that both map, not through a socket.

A value is pickled, and the memory of its arrays goes into a file (in ``/dev/shm`` where there is room, which is memory
itself). The other process maps the file: nothing is copied again, and pages that are not looked at are never read.
What is mapped may be written to, without effect on the file.
"""

from __future__ import annotations

import mmap
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

_ROOM = 2 << 30  # bytes that must be free for the folder to be in memory
_LINE = 64  # arrays begin at multiples of this, as kernels like them
_numbers = count()


class Packed(NamedTuple):
    """A value in a file: what is needed to read it."""

    path: str
    pickled: bytes
    places: tuple[tuple[int, int], ...]  # of each buffer: its start and its length

    def value(self) -> Any:
        """The value; its arrays are maps of the file."""
        with open(self.path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        view = memoryview(mapped)
        return pickle.loads(self.pickled, buffers=[view[start : start + n] for start, n in self.places])

    def remove(self) -> None:
        """Give the space back; who has mapped it keeps it."""
        with suppress(OSError):
            os.unlink(self.path)


def packed(value: Any, folder: str) -> Packed:
    """A value written into a new file of a folder.

    Examples
    --------
    >>> import numpy as np
    >>> with shared_folder() as folder:
    ...     found = packed({"a": np.arange(3)}, folder)
    ...     value = found.value()
    >>> value
    {'a': array([0, 1, 2])}
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    path, places, at = os.path.join(folder, f"{os.getpid()}-{next(_numbers)}"), [], 0
    with open(path, "wb", buffering=0) as file:
        for buffer in buffers:
            raw = buffer.raw()
            places.append((at, raw.nbytes))
            if raw.nbytes:
                file.seek(at)
                _write(file, raw)
            at += -(-raw.nbytes // _LINE) * _LINE
        file.truncate(max(at, 1))
    return Packed(path, pickled, tuple(places))


def _write(file: Any, raw: memoryview) -> None:
    while len(raw):  # the kernel takes no more than 2 GB at once
        raw = raw[file.write(raw) :]


@contextmanager
def shared_folder() -> Iterator[str]:
    """A folder for such files, which only this user can read; it ends with the block."""
    inside: str | None = "/dev/shm"
    try:
        free = os.statvfs("/dev/shm")
        if free.f_bavail * free.f_frsize < _ROOM or not os.access("/dev/shm", os.W_OK):
            inside = None
    except (OSError, AttributeError):
        inside = None
    folder = tempfile.mkdtemp(prefix="spinney-", dir=inside)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
