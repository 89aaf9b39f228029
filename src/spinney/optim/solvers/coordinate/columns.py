"""A design matrix as coordinate methods want it: column by column, in flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss

Columns = NDArray[np.int64]


@dataclass
class ColumnDesign:
    """The columns of X in flat arrays (see :mod:`spinney.optim.solvers.coordinate._kernels`)."""

    data: Vector
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    dense: Vector | None

    @classmethod
    def of(cls, loss: LinearLoss) -> ColumnDesign:
        """The columns of the loss's design, which is put into column order once and kept so."""
        X = loss.X
        if sparse.issparse(X):
            if X.format != "csc":
                X = loss.X = X.tocsc()
            if not X.has_sorted_indices:
                X = loss.X = X.sorted_indices()
            return cls(X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64), None)
        X = loss.X = np.asfortranarray(X)
        n, p = X.shape
        return cls(X.ravel(order="K"), np.empty(0, np.int32), np.arange(p + 1, dtype=np.int64) * n, X)

    @property
    def arrays(self) -> tuple[Vector, NDArray[np.int32], NDArray[np.int64]]:
        """The three arrays in the order in which kernels take them."""
        return self.data, self.indices, self.indptr

    def largest_entries(self) -> Vector:
        """max_i |x_ij| of each column."""
        if self.dense is not None:
            return np.asarray(np.abs(self.dense).max(axis=0, initial=0.0))
        largest = np.zeros(len(self.indptr) - 1)
        np.maximum.at(largest, np.repeat(np.arange(len(largest)), np.diff(self.indptr)), np.abs(self.data))
        return largest

    def gram(self, columns: Columns, h: Vector) -> Vector:
        """X_Aᵀ·diag(h)·X_A."""
        if self.dense is not None:
            block = self.dense[:, columns]
            return np.asarray(block.T @ (h[:, None] * block))
        from spinney.optim.solvers.coordinate._kernels import sparse_gram

        return np.asarray(sparse_gram(*self.arrays, columns, h))

    def gram_is_cheaper(self, columns: Columns) -> bool:
        """Whether some tens of passes over these columns cost more than their Gram matrix, which fits in memory."""
        entries = int((self.indptr[columns + 1] - self.indptr[columns]).sum())
        return len(columns) ** 2 <= min(8 * entries, max(len(self.data), 10_000))
