"""Nuclear norm of a matrix of weights, and the spectral operations it shares with the trace Lasso."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector, checked_strength

Matrix = NDArray[np.float64]

#: Singular values below this fraction of the largest count as zero when a rank is reported.
RANK_TOLERANCE = 1e-9


def shrink_singular_values(M: Matrix, threshold: float) -> Matrix:
    """M with its singular values lowered by ``threshold``, to 0 at least: the prox of the nuclear norm.

    Examples
    --------
    >>> shrink_singular_values(np.diag([3.0, 0.5]), 1.0).round(12).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    kept = s > threshold
    return np.asarray((U[:, kept] * (s[kept] - threshold)) @ Vt[kept])


def nuclear_norm(M: Matrix) -> float:
    """The sum of the singular values.

    Examples
    --------
    >>> nuclear_norm(np.diag([3.0, -4.0]))
    7.0
    """
    return float(np.linalg.svd(M, compute_uv=False).sum())


def operator_norm(M: Matrix) -> float:
    """The largest singular value.

    Examples
    --------
    >>> operator_norm(np.diag([3.0, -4.0]))
    4.0
    """
    return float(np.max(np.linalg.svd(M, compute_uv=False), initial=0.0))


def range_and_complement(M: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """(U, V, U₀, V₀): the singular vectors of the positive singular values of M, and bases of what is orthogonal."""
    U, s, Vt = np.linalg.svd(M, full_matrices=True)
    rank = int(np.sum(s > RANK_TOLERANCE * s[:1]))
    return U[:, :rank], Vt[:rank].T, U[:, rank:], Vt[rank:].T


class Nuclear(Penalty):
    """λ‖W‖_*, W = w.reshape(shape): the sum of singular values, which makes matrices of low rank.

    Examples
    --------
    >>> w = np.array([3.0, 0.0, 0.0, 1.0])
    >>> penalty = Nuclear(1.0, (2, 2))
    >>> penalty.value(w)
    4.0
    >>> penalty.prox(w, step=1.0)
    >>> w.round(12).tolist()
    [2.0, 0.0, 0.0, 0.0]
    """

    name: ClassVar[str] = "nuclear norm"
    key: ClassVar[str] = "nuclear"
    own_structure = "rows and columns"
    clips_to_nonnegative: ClassVar[bool] = False  # depends on the signs of the entries

    def __init__(self, lam: float, shape: tuple[int, int]) -> None:
        self.lam = checked_strength("lam", lam)
        if len(shape) != 2 or min(shape) < 1:
            raise OptionError(f"shape must be two positive numbers, not {shape}")
        self.shape = (int(shape[0]), int(shape[1]))

    def value(self, w: Vector) -> float:
        return self.lam * nuclear_norm(w.reshape(self.shape))

    def prox(self, w: Vector, step: float) -> None:
        w[:] = shrink_singular_values(w.reshape(self.shape), step * self.lam).ravel()

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """∂‖W‖_* = {UVᵀ + M : UᵀM = 0, MV = 0, ‖M‖_op ≤ 1}: only the block outside the range can be lowered.

        The rank of W counts singular values over 1e-9 of the largest.
        """
        U, V, U0, V0 = range_and_complement(w.reshape(self.shape))
        G = grad.reshape(self.shape)
        block = U0.T @ G @ V0
        lowered = shrink_singular_values(block, self.lam) - block if block.size else block
        return (G + self.lam * (U @ V.T) + U0 @ lowered @ V0.T).ravel()

    def lambda_max(self, grad: Vector) -> float:
        """The largest singular value of the gradient."""
        return operator_norm(grad.reshape(self.shape))

    def describe(self) -> str:
        return f"{self.name}, {self.shape[0]} × {self.shape[1]}, λ = {self.lam:g}"
