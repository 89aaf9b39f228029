"""A design matrix as coordinate methods want it: column by column, in flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss

Columns = NDArray[np.int64]
NEVER = 1_000_000


@dataclass
class ColumnDesign:
    """The columns of X in flat arrays (see :mod:`spinney.optim.solvers.coordinate._kernels`)."""

    data: Vector
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    dense: Vector | None
    n_rows: int

    @classmethod
    def of(cls, loss: LinearLoss) -> ColumnDesign:
        """The columns of the loss's design, which is put into column order once and kept so."""
        X = loss.X
        if scipy.sparse.issparse(X):
            if X.format != "csc":
                X = loss.X = X.tocsc()
            if not X.has_sorted_indices:
                X = loss.X = X.sorted_indices()
            return cls(
                X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64), None, X.shape[0]
            )
        X = loss.X = np.asfortranarray(X)
        n, p = X.shape
        return cls(X.ravel(order="K"), np.empty(0, np.int32), np.arange(p + 1, dtype=np.int64) * n, X, n)

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

    def passes_worth_a_gram_matrix(self, columns: Columns, room: int) -> int:
        """After how many passes over these columns it is time to compute their Gram matrix and iterate on that.

        About as many as cost the same; never, where the matrix would have more than ``room`` times the entries of the
        columns, or need more memory than the data.
        """
        entries = int((self.indptr[columns + 1] - self.indptr[columns]).sum())
        if len(columns) ** 2 > min(room * entries, max(3 * len(self.data) // 2, 10_000)):
            return NEVER
        # A sparse example adds the square of its entries, a dense block is a fast matrix product.
        worth = len(columns) // 32 if self.dense is not None else entries // (2 * self.n_rows)
        return max(worth, 3)

    def change_of_margins(self, columns: Columns, change: Vector, intercept: bool) -> Vector:
        """X·change (and its last coordinate, the intercept's), where only these columns change."""
        from spinney.optim.solvers.coordinate._kernels import move_along_columns

        out = np.full(self.n_rows, change[-1] if intercept else 0.0)
        move_along_columns(*self.arrays, columns, change[columns], np.ones(self.n_rows), out)
        return out
