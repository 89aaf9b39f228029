"""Long arrays that are written and read piece by piece: in files, where they take no memory of the process, or held."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinney.errors import InputError


class Column:
    """A long array in a file of a temporary folder.

    Examples
    --------
    >>> with scratch_folder(None) as folder:
    ...     column = Column(folder, "numbers", np.int64)
    ...     column.append(np.arange(5))
    ...     column.read(1, 3), len(column)
    (array([1, 2]), 5)
    """

    def __init__(self, folder: str | os.PathLike[str], name: str, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self._path = os.path.join(folder, name)
        self._file = open(self._path, "w+b", buffering=0)  # noqa: SIM115
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, values: NDArray[Any]) -> None:
        """Add values at the end."""
        self.write(self._length, values)

    def write(self, start: int, values: NDArray[Any]) -> None:
        """Write values from a place on."""
        self._file.seek(start * self.dtype.itemsize)
        left = _bytes_of(np.ascontiguousarray(values, self.dtype))
        while left:  # one call of the system writes 2 GB at most
            left = left[self._file.write(left) :]
        self._length = max(self._length, start + len(values))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The values of a range, as far as there are any."""
        values = np.empty(max(0, min(stop, self._length) - start), self.dtype)
        left = _bytes_of(values)
        self._file.seek(start * self.dtype.itemsize)
        while left:
            n = self._file.readinto(left)
            if not n:
                raise OSError(f"{self._path} has been shortened")
            left = left[n:]
        return values

    def clear(self) -> None:
        """Forget all values."""
        self._file.truncate(0)
        self._length = 0

    def close(self) -> None:
        """Close the file; what :meth:`mapped` gave stays."""
        self._file.close()

    def remove(self) -> None:
        """Close the file, and give its space on disk back."""
        self._file.close()
        os.unlink(self._path)

    def mapped(self) -> NDArray[Any]:
        """The whole, mapped; what is written to it stays in memory."""
        if not self._length:
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self._file, self.dtype, "c", shape=(self._length,)))


class HeldColumn:
    """The same in memory, for what is not too long.

    Examples
    --------
    >>> column = HeldColumn("numbers", np.int64)
    >>> column.append(np.arange(5))
    >>> column.read(1, 3), len(column)
    (array([1, 2]), 5)
    """

    def __init__(self, name: str, dtype: DTypeLike) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, values: NDArray[Any]) -> None:
        """Add values at the end."""
        start, stop = self._length, self._length + len(values)
        if stop > len(self._values):
            larger = np.empty(max(stop, 2 * start), self._values.dtype)
            larger[:start] = self._values[:start]
            self._values = larger
        self._values[start:stop] = values
        self._length = stop

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The values of a range, as far as there are any."""
        return self._values[start : min(stop, self._length)]

    def close(self) -> None:
        """Nothing; what :meth:`mapped` gave stays."""

    def remove(self) -> None:
        """Give the memory back."""
        self._values, self._length = self._values[:0].copy(), 0

    def mapped(self) -> NDArray[Any]:
        """The whole, with no room at its end."""
        return self._values[: self._length].copy()


#: Makes a column of that name and type.
Columns = Callable[[str, DTypeLike], Column | HeldColumn]

_PIECE = 1 << 20  # values that are worked on at once, a multiple of eight


def in_pieces(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The ranges that a long range is worked on in."""
    return ((at, min(at + _PIECE, stop)) for at in range(start, stop, _PIECE))


def filled(column: Column | HeldColumn, n: int, values: Callable[[int, int], NDArray[Any]]) -> NDArray[Any]:
    """The array whose pieces are ``values(start, stop)`` for the ranges up to ``n``.

    Examples
    --------
    >>> filled(HeldColumn("squares", np.int64), 4, lambda start, stop: np.arange(start, stop) ** 2)
    array([0, 1, 4, 9])
    """
    for start, stop in in_pieces(0, n):
        column.append(values(start, stop))
    found = column.mapped()
    column.close()
    return found


def _bytes_of(values: NDArray[Any]) -> memoryview:
    return values.view(np.uint8).data if len(values) else memoryview(b"")


@contextmanager
def held_columns() -> Iterator[Columns]:
    """Columns in memory."""
    yield HeldColumn


@contextmanager
def disk_columns(folder: str | os.PathLike[str] | None) -> Iterator[Columns]:
    """Columns in a scratch folder; what was mapped of them stays."""
    with scratch_folder(folder) as work:
        yield partial(Column, work)


@contextmanager
def scratch_folder(folder: str | os.PathLike[str] | None) -> Iterator[str]:
    """A folder for columns that is gone when the block ends, however it ends; a full disk is one line."""
    try:
        with tempfile.TemporaryDirectory(prefix="spinney-", dir=folder) as work:
            yield work
    except OSError as error:
        where = os.fspath(folder) if folder is not None else tempfile.gettempdir()
        raise InputError(
            f"cannot count here: {error.strerror or error}", path=where, remedy="give another folder"
        ) from error
