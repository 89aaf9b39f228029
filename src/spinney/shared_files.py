"""Large arguments and results between processes of one machine: through memory that both map, not through a socket.

A value is pickled, and the memory of its arrays goes into a file (in ``/dev/shm`` where there is room, which is memory
itself). The other process maps the file: nothing is copied again, and pages that are not looked at are never read.

There are two kinds. A value that stays for long, or that any process may read, is :func:`packed` into a file of its
own; what is mapped of it may be written to, without effect on the file. What is read once goes through :class:`Blocks`,
which are used again: a new page costs twenty times as much as writing to one that is there.
"""

from __future__ import annotations

import errno
import glob
import mmap
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MEMORY, _PREFIX, _LOCK, _DISK = "/dev/shm", "spinney-shared-", "lock", "disk"
_ROOM = 2 << 30  # bytes that must be free for the folder to be in memory
_LINE = 64  # arrays begin at multiples of this, as kernels like them
_SMALL = 1 << 12  # bytes up to which an array is pickled like other things
_MESSAGE = 1 << 14  # bytes up to which a pickle goes with a message
_LEAST = 1 << 16  # bytes of the smallest block
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
    places, at = _laid_out([buffer.raw() for buffer in buffers])
    path, number = _new_file(folder, max(at, 1))
    with open(number, "wb", buffering=0) as file:
        for buffer, (start, n) in zip(buffers, places):
            if n:
                file.seek(start)
                _write(file, buffer.raw())
    return Packed(path, pickled, places)


def _laid_out(parts: list[memoryview]) -> tuple[tuple[tuple[int, int], ...], int]:
    """Where each part begins and how long it is, and the length of all."""
    places, at = [], 0
    for raw in parts:
        places.append((at, raw.nbytes))
        at += -(-raw.nbytes // _LINE) * _LINE
    return tuple(places), at


def _write(file: Any, raw: memoryview) -> None:
    while len(raw):  # the kernel takes no more than 2 GB at once
        raw = raw[file.write(raw) :]


class Loan(NamedTuple):
    """A value that was put into a block: what is needed to read it, until the block is given back."""

    path: str  # of the block; empty if the value is small and all in the pickle
    pickled: bytes  # empty if it is in the block, after everything else
    places: tuple[tuple[int, int], ...]


class Blocks:
    """Blocks of shared memory to send values by, one after the other; the receiver has :class:`Maps` of them.

    Parameters
    ----------
    folder
        Where their files are.
    spare
        How many blocks that nobody uses are kept for later values.
    dumps
        How values are pickled: the first way that works, for what is not of the script that runs here.

    Examples
    --------
    >>> import numpy as np
    >>> with shared_folder() as folder:
    ...     blocks, maps = Blocks(folder), Maps()
    ...     loan = blocks.put({"a": np.arange(3000)})
    ...     copied = maps.value(loan, copy=True)
    ...     blocks.give_back(loan)
    >>> copied["a"].sum()
    np.int64(4498500)
    """

    def __init__(
        self, folder: str, spare: int = 16, dumps: tuple[Callable[..., bytes], ...] = (pickle.dumps,)
    ) -> None:
        self.folder, self.spare, self.dumps = folder, spare, dumps
        self._free: list[tuple[str, mmap.mmap]] = []  # the one that was used last is at the end
        self._lent: dict[str, mmap.mmap] = {}

    def put(self, value: Any) -> Loan:
        """A value in a block; it may change afterwards."""
        pickled, large = self._pickled(value)
        if len(pickled) > _MESSAGE:
            large.append(memoryview(pickled))
            pickled = b""
        if not large:
            return Loan("", pickled, ())
        places, size = _laid_out(large)
        path, mapped = self._taken(size)
        for raw, (start, n) in zip(large, places):
            mapped[start : start + n] = raw  # type: ignore[assignment]
        self._lent[path] = mapped
        return Loan(path, pickled, places)

    def _pickled(self, value: Any) -> tuple[bytes, list[memoryview]]:
        """A pickle, and the large arrays that it goes without, by the first way that another process understands."""
        large: list[memoryview] = []

        def stays(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes >= _SMALL:
                large.append(raw)
            return raw.nbytes < _SMALL

        *first, last = self.dumps
        for dumps in first:
            with suppress(pickle.PicklingError, AttributeError, TypeError):
                pickled = dumps(value, protocol=5, buffer_callback=stays)
                if b"__main__" not in pickled:
                    return pickled, large
            large.clear()
        return last(value, protocol=5, buffer_callback=stays), large

    def give_back(self, loan: Loan) -> None:
        """Nobody reads the value any more."""
        mapped = self._lent.pop(loan.path, None)
        if mapped is None:
            return
        self._free.append((loan.path, mapped))
        if len(self._free) > self.spare:
            path, _ = self._free.pop(0)
            with suppress(OSError):
                os.unlink(path)

    def _taken(self, size: int) -> tuple[str, mmap.mmap]:
        """A block with room for so many bytes, and not for many times as many."""
        fitting = [
            i for i, (_, mapped) in enumerate(self._free) if size <= len(mapped) <= max(8 * size, _LEAST)
        ]
        if fitting:
            return self._free.pop(min(reversed(fitting), key=lambda i: len(self._free[i][1])))
        room = max(_LEAST, 1 << (size - 1).bit_length())
        path, number = _new_file(self.folder, room)
        try:
            return path, mmap.mmap(number, room)
        finally:
            os.close(number)


class Maps:
    """The blocks of another process, mapped when a value in them is first read."""

    def __init__(self) -> None:
        self._maps: dict[str, mmap.mmap] = {}

    def value(self, loan: Loan, copy: bool = False) -> Any:
        """The value; its arrays are parts of the block, or copies of them that stay when it is given back."""
        if not loan.path:
            return pickle.loads(loan.pickled)
        view = memoryview(self._mapped(loan.path))
        parts: list[Any] = [view[start : start + n] for start, n in loan.places]
        pickled = loan.pickled or parts.pop()
        return pickle.loads(pickled, buffers=[bytearray(part) for part in parts] if copy else parts)

    def _mapped(self, path: str) -> mmap.mmap:
        if path not in self._maps:
            self._maps = {old: mapped for old, mapped in self._maps.items() if os.path.exists(old)}
            with open(path, "r+b") as file:
                self._maps[path] = mmap.mmap(file.fileno(), 0)
        return self._maps[path]


def _new_file(folder: str, room: int) -> tuple[str, int]:
    """A file whose bytes are there: of a hole, the kernel would notice too late that there is no memory for it."""
    name = f"{os.getpid()}-{next(_numbers)}"
    disk = os.path.join(folder, _DISK)
    for place in (folder, disk):
        path = os.path.join(place, name)
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(number, 0, room)
            else:
                os.ftruncate(number, room)
            return path, number
        except OSError as error:
            os.close(number)
            os.unlink(path)
            if error.errno != errno.ENOSPC or place == disk or not os.path.isdir(disk):
                raise
    raise AssertionError


@contextmanager
def shared_folder() -> Iterator[str]:
    """A folder for such files, which only this user can read; it ends with the block.

    Inside is a link to a folder on disk, for what finds no room. What a process left that was killed is removed by the
    next one that needs such a folder.
    """
    disk = tempfile.gettempdir()
    inside = _MEMORY if _has_room(_MEMORY) else disk
    for place in {inside, disk}:
        _sweep(place)
    with ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=inside)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(_locked(folder))
        more = tempfile.mkdtemp(prefix=_PREFIX, dir=disk)
        stack.callback(shutil.rmtree, more, ignore_errors=True)
        stack.enter_context(_locked(more))
        os.symlink(more, os.path.join(folder, _DISK))
        yield folder


def _has_room(folder: str) -> bool:
    try:
        free = os.statvfs(folder)
        return free.f_bavail * free.f_frsize >= _ROOM and os.access(folder, os.W_OK)
    except (OSError, AttributeError):
        return False


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold the lock of a folder, as a sign that its process is alive: the kernel takes it away with the process."""
    with open(os.path.join(folder, _LOCK), "wb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sweep(place: str) -> None:
    """Remove folders whose process is gone: memory that nobody else would give back."""
    for lock in (
        glob.glob(os.path.join(glob.escape(place), f"{_PREFIX}*", _LOCK)) if fcntl is not None else ()
    ):
        with suppress(OSError), open(lock, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(lock), ignore_errors=True)
