"""SLOPE, the sorted ℓ1 norm: the larger a weight, the more it pays, so that equal weights form by themselves."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import checked_weights


class Slope(Penalty):
    """``λ Σ_i ω_i|w|_(i)`` with ``|w|_(1) ≥ |w|_(2) ≥ …`` and ω_1 ≥ ω_2 ≥ … ≥ 0 (Bogdan et al. 2015).

    By default ω_i is proportional to Φ⁻¹(1 − iq/2p), the critical values of the Benjamini-Hochberg procedure for p
    weights, with ω_1 = 1: then λ means what it means for ℓ1, and no weight pays more. For orthogonal designs q bounds
    the share of false discoveries.

    Parameters
    ----------
    lam : float
    q : float
        Between 0 and 1; the smaller, the nearer to ℓ1.
    weights : array, optional
        ω itself, falling and as long as w; ``np.linspace(1, 0.5, p)`` is OSCAR (Bondell & Reich 2008).

    Examples
    --------
    >>> w = np.array([5.0, -4.5, 1.0])
    >>> penalty = Slope(1.0, weights=[2.0, 1.0, 0.5])
    >>> penalty.value(w)
    15.0
    >>> penalty.prox(w, step=1.0)
    >>> w.tolist()
    [3.25, -3.25, 0.5]
    """

    name: ClassVar[str] = "SLOPE"
    key: ClassVar[str] = "slope"
    knobs: ClassVar[tuple[str, ...]] = ("lam", "q")

    def __init__(self, lam: float, q: float = 0.1, weights: ArrayLike | None = None) -> None:
        self.lam = checked_strength("lam", lam)
        if not 0 < q < 1:
            raise OptionError(f"q must lie between 0 and 1, not {q:g}")
        self.q = float(q)
        self.weights = None if weights is None else checked_weights(weights)
        if self.weights is not None and np.any(np.diff(self.weights) > 0):
            raise OptionError("the weights of SLOPE must fall, from that of the largest coordinate on")

    @cached_property
    def _by_size(self) -> dict[int, Vector]:
        return {}

    def sequence(self, n: int) -> Vector:
        """ω for ``n`` coordinates."""
        if self.weights is not None:
            if len(self.weights) != n:
                raise OptionError(f"there are {len(self.weights)} weights of SLOPE for {n} coordinates")
            return self.weights
        if n not in self._by_size:
            critical = -scipy.special.ndtri(np.arange(1, n + 1) * (self.q / (2 * n)))
            self._by_size[n] = critical / critical[:1]
        return self._by_size[n]

    def value(self, w: Vector) -> float:
        return self.lam * float(self.sequence(w.size) @ np.sort(np.abs(w))[::-1])

    def prox(self, w: Vector, step: float) -> None:
        """Lower the sorted sizes by step·λω, and pool those that are then out of order."""
        size = np.abs(w)
        order = np.argsort(-size, kind="stable")
        lowered = size[order] - step * self.lam * self.sequence(w.size)
        size[order] = np.maximum(_falling(lowered), 0.0)
        w[:] = np.copysign(size, w) + 0.0  # no negative zeros

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """−prox(−grad) of the directional derivative at ``w``: a sorted sum on each set of weights of equal size.

        Sizes count as equal when they are exactly equal, as they are after the prox. Only at 0 do signs not matter.
        """
        size, sign = np.abs(w), np.where(w == 0, np.sign(-grad), np.sign(w))
        towards = -sign * grad
        order = np.lexsort((-towards, -size))
        rest = towards[order] - self.lam * self.sequence(w.size)
        ends = np.flatnonzero(np.diff(size[order], append=-1.0)) + 1
        starts = np.concatenate([[0], ends[:-1]])
        for a, b in zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist()):
            rest[a:b] = _falling(rest[a:b])
        zeros = np.count_nonzero(size)
        np.maximum(rest[zeros:], 0.0, out=rest[zeros:])
        residual = np.empty_like(w)
        residual[order] = -sign[order] * rest
        return residual

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of the gradient: max_k Σ_{i≤k}|grad|_(i) / Σ_{i≤k} ω_i."""
        sums = np.cumsum(np.sort(np.abs(grad))[::-1])
        allowed = np.cumsum(self.sequence(grad.size))
        return float(
            np.max(np.divide(sums, allowed, out=np.zeros_like(sums), where=allowed > 0), initial=0.0)
        )

    @property
    def own_structure(self) -> str:
        return "" if self.weights is None else "weights"

    def describe(self) -> str:
        return f"{self.name}, {'own weights' if self.weights is not None else f'q = {self.q:g}'}, λ = {self.lam:g}"


def _falling(x: Vector) -> Vector:
    """The falling sequence that is nearest to ``x``: blocks that are out of order become their means."""
    return np.asarray(scipy.optimize.isotonic_regression(x, increasing=False).x)
