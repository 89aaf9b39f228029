"""Pairwise elastic net: a quadratic form in the absolute values."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import soft_threshold


class PairwiseElasticNet(Penalty):
    """λ|w|ᵀP|w|, with P symmetric, positive semi-definite and entrywise ≥ 0 (Grave 2014, ch. 6; Lorbert et al. 2010).

    P = I gives ‖w‖₂², P = 11ᵀ gives ‖w‖₁²; in between, each pair of features chooses. The square is flat at 0: the
    threshold of coordinate i is 2λ Σ_j P_ij|w_j|, so zeros appear only beside non-zeros.

    Parameters
    ----------
    lam : float
    P : array of shape (n, n)

    Examples
    --------
    >>> w = np.array([2.0, -1.0])
    >>> PairwiseElasticNet(1.0, np.ones((2, 2))).value(w)  # ‖w‖₁²
    9.0
    """

    name: ClassVar[str] = "pairwise elastic net"
    key: ClassVar[str] = "pairwise"
    own_structure = "pairs"

    def __init__(self, lam: float, P: ArrayLike) -> None:
        self.lam = checked_strength("lam", lam)
        self.P = np.ascontiguousarray(P, dtype=np.float64)
        if self.P.ndim != 2 or self.P.shape[0] != self.P.shape[1] or not np.allclose(self.P, self.P.T):
            raise OptionError("P must be a symmetric matrix")
        if not np.all(self.P >= 0):
            raise OptionError("P must have no negative entry")
        smallest = float(np.linalg.eigvalsh(self.P).min(initial=0.0))
        if smallest < -1e-10 * max(1.0, float(np.abs(self.P).max(initial=0.0))):
            raise OptionError(f"P must be positive semi-definite; its smallest eigenvalue is {smallest:g}")

    @classmethod
    def from_design(cls, lam: float, X: ArrayLike) -> Self:
        """P = I + (1 − θ)(11ᵀ − XᵀX) with the smallest θ ≥ 0 that makes it positive semi-definite.

        Columns are scaled to unit norm first. Orthogonal columns give ‖w‖₁² when θ = 0, identical ones ‖w‖₂².

        Examples
        --------
        >>> PairwiseElasticNet.from_design(1.0, np.array([[1.0, 1.0], [0.0, 0.0]])).P.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        design = np.asarray(X, dtype=np.float64)
        norms = np.linalg.norm(design, axis=0)
        if np.any(norms == 0):
            raise OptionError(f"column {np.flatnonzero(norms == 0)[0]} of X is zero: drop it")
        unit = design / norms
        apart = np.maximum(1.0 - unit.T @ unit, 0.0)  # rounding may leave a cosine just over 1
        np.fill_diagonal(apart, 0.0)
        smallest = float(np.linalg.eigvalsh(apart).min())
        theta = max(0.0, 1.0 + 1.0 / smallest) if smallest < 0 else 0.0
        return cls(lam, np.eye(len(apart)) + (1.0 - theta) * apart)

    def value(self, w: Vector) -> float:
        size = np.abs(w)
        return self.lam * float(size @ self.P @ size)

    def prox(self, w: Vector, step: float) -> None:
        """Coordinate descent over ``|w| ≥ 0``, to a change of 1e-15 of the largest entry."""
        from spinney.optim.penalties._kernels import nonnegative_quadratic

        target = np.abs(w)
        size = target.copy()
        tol = 1e-15 * float(target.max(initial=0.0))
        nonnegative_quadratic(size, self.P @ size, target, self.P, step * self.lam, tol, 100_000)
        w[:] = np.copysign(size, w) + 0.0

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """Coordinate by coordinate: at each point the kink of coordinate i is ``2λ(P|w|)_i·|w_i|``."""
        slope = 2.0 * self.lam * (self.P @ np.abs(w))
        return np.where(w == 0, soft_threshold(grad, slope), grad + slope * np.sign(w))

    def lambda_max(self, grad: Vector) -> float:
        """Where a path may start: ‖grad‖∞. No finite strength makes w = 0 optimal unless the gradient is 0."""
        return float(np.max(np.abs(grad), initial=0.0))
