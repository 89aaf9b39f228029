"""Symmetric tridiagonal matrices, one per series: products and solutions for all series at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from spinney.optim.base import Vector


class Chains(NamedTuple):
    """A T × T symmetric tridiagonal matrix for each of J series, all positive (semi-)definite.

    Attributes
    ----------
    diagonal : array of shape (T, J)
    beside : array of shape (T - 1, J)
        The entries above (and below) the diagonal.

    Examples
    --------
    >>> A = toeplitz(3, [-0.4, 0.0])
    >>> w = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> A.quadratic(w).round(6).tolist()
    [1.4, 14.0]
    >>> np.allclose(A.times(A.solve(w)), w)
    True
    """

    diagonal: Vector
    beside: Vector

    def times(self, W: Vector) -> Vector:
        """Each matrix times its series, a column of ``W`` of shape (T, J)."""
        product = self.diagonal * W
        product[1:] += self.beside * W[:-1]
        product[:-1] += self.beside * W[1:]
        return product

    def quadratic(self, W: Vector) -> Vector:
        """wⱼᵀAⱼwⱼ of each series."""
        return np.asarray((W * self.times(W)).sum(axis=0))

    def scaled(self, factor: ArrayLike) -> Chains:
        """Each matrix times its own number."""
        factor = np.asarray(factor, dtype=np.float64)
        return Chains(self.diagonal * factor, self.beside * factor)

    def plus_diagonal(self, more: Vector) -> Chains:
        """With ``more`` of shape (T, J) added to the diagonals."""
        return Chains(self.diagonal + more, self.beside)

    def solve(self, B: Vector) -> Vector:
        """Aⱼ⁻¹bⱼ for each column of ``B``: one forward and one backward sweep for all series at once."""
        return self.factor().solve(B)

    def factor(self) -> Factor:
        """A = L·Lᵀ, where L has a diagonal and one band below it."""
        T = len(self.diagonal)
        root, below = np.empty_like(self.diagonal), np.empty_like(self.beside)
        root[0] = np.sqrt(self.diagonal[0])
        for t in range(1, T):
            below[t - 1] = self.beside[t - 1] / root[t - 1]
            root[t] = np.sqrt(self.diagonal[t] - below[t - 1] ** 2)
        return Factor(root, below)


class Factor(NamedTuple):
    """The Cholesky factors of `Chains`: ``root`` on the diagonal, ``below`` under it."""

    root: Vector
    below: Vector

    def to_series(self, V: Vector) -> Vector:
        """L⁻ᵀv: the series whose norm in A is the Euclidean norm of v."""
        W = V / self.root
        for t in range(len(V) - 2, -1, -1):
            W[t] -= self.below[t] / self.root[t] * W[t + 1]
        return W

    def from_series(self, W: Vector) -> Vector:
        """Lᵀw."""
        V = self.root * W
        V[:-1] += self.below * W[1:]
        return V

    def pull_back(self, G: Vector) -> Vector:
        """L⁻¹g: a gradient in w as one in v = Lᵀw."""
        out = G / self.root
        for t in range(1, len(G)):
            out[t] -= self.below[t - 1] / self.root[t] * out[t - 1]
        return out

    def solve(self, B: Vector) -> Vector:
        """A⁻¹b."""
        return self.to_series(self.pull_back(B))


def toeplitz(n_times: int, alpha: ArrayLike) -> Chains:
    """A(α): 1 on the diagonal, α beside it, for each α (Yogatama 2015, §3.2).

    Examples
    --------
    >>> toeplitz(2, [-0.3]).beside.tolist()
    [[-0.3]]
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    return Chains(np.ones((n_times, len(alpha))), np.tile(alpha, (n_times - 1, 1)))
