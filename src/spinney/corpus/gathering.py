"""Arrays that grow batch by batch, in memory or on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.batches import Batch, ColumnName


class GrowingArray:
    """A one-dimensional array of unknown length: a list of pieces, or an ``.npy`` file if it has a path."""

    def __init__(self, dtype: type[np.generic], path: str | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self.path = path
        self.n = 0
        self._pieces: list[NDArray[Any]] = []
        if path is not None:
            self._file = open(path, "wb")  # noqa: SIM115
            self._write_header()

    def append(self, piece: NDArray[Any]) -> None:
        """Add numbers at the end."""
        piece = np.ascontiguousarray(piece, self.dtype)
        self.n += len(piece)
        if self.path is None:
            self._pieces.append(piece)
        else:
            self._file.write(piece.data)

    def finish(self) -> NDArray[Any]:
        """The whole array; one with a path is memory-mapped and writeable."""
        if self.path is None:
            return np.concatenate([np.empty(0, self.dtype), *self._pieces])
        self._file.seek(0)
        self._write_header()
        self._file.close()
        return np.asanyarray(np.load(self.path, mmap_mode="r+"))

    def close(self) -> None:
        """Let go of the file, if there is one."""
        if self.path is not None:
            self._file.close()

    def _write_header(self) -> None:
        # NumPy pads the header so that the length can be written over in place.
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.n,)}
        np.lib.format.write_array_header_1_0(self._file, header)


class Gathered(NamedTuple):
    """All batches, end to end."""

    offsets: NDArray[np.int64]
    columns: list[NDArray[np.int32]]
    heads: NDArray[np.int32] | None


def gather(
    batches: Iterable[Batch], columns: Sequence[ColumnName], heads: bool, folder: str | None
) -> Gathered:
    """Put batches end to end: ``columns[0]`` is that of the words, the others are labels.

    With a folder, the arrays are files there, with the names that :meth:`TokenArrays.load` looks for.
    """

    def growing(dtype: type[np.generic], name: str) -> GrowingArray:
        array = GrowingArray(dtype, None if folder is None else os.path.join(folder, name))
        open_files.callback(array.close)
        return array

    with ExitStack() as open_files:
        names = ["ids.npy", *(f"label{i}.npy" for i in range(len(columns) - 1))]
        numbers = [growing(np.int32, name) for name in names]
        offsets = growing(np.int64, "offsets.npy")
        parents = growing(np.int32, "heads.npy") if heads else None
        offsets.append(np.zeros(1))
        for batch in batches:
            offsets.append(np.cumsum(batch.lengths) + numbers[0].n)
            for column, array in zip(columns, numbers):
                array.append(batch.columns[column])
            if parents is not None and batch.heads is not None:
                parents.append(batch.heads)
        return Gathered(
            offsets.finish(),
            [array.finish() for array in numbers],
            None if parents is None else parents.finish(),
        )
