"""Groups that overlap: the sum of their norms, and the latent norm that splits w among them.

The two are opposites. The overlapping norm makes *zeros* a union of groups (one zero group silences its members
everywhere); the latent norm makes the *support* a union of groups. Both proxes come from one problem, a consensus
between copies of each group, solved by ADMM (Yogatama 2015, §6.3) to a change of 1e-13 of the largest entry.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import soft_threshold
from spinney.optim.penalties.groups import FlatGroups, GroupL2, checked_groups, labels

TOLERANCE = 1e-13
MAX_ITER = 10_000
#: Entries of a prox under this fraction of the largest entry of its argument are taken for zeros.
TINY = 1e-10
MAX_BOUNDS = 50


def _consensus(w: Vector, parts: Vector, groups: FlatGroups, radius: Vector, balls: bool) -> Vector:
    """argmin_u ½‖u − w‖² plus Σ radius_g‖u_g‖, or under ‖u_g‖ ≤ radius_g; ``parts`` is where to start and the dual."""
    from spinney.optim.penalties._kernels import group_admm

    largest = float(np.max(np.abs(w), initial=0.0))
    u, _ = group_admm(w, parts, groups.ptr, groups.members, radius, balls, TOLERANCE * largest, MAX_ITER)
    return np.asarray(u)


def _tidy(u: Vector, w: Vector) -> Vector:
    """``u``, a prox of ``w``, with the zeros that rounding hides: what is tiny, and what has not the sign of ``w``."""
    largest = np.max(np.abs(w), initial=0.0)
    return np.where((u * w > 0) & (np.abs(u) > TINY * largest), u, 0.0)


class _Overlapping(Penalty):
    """What the two norms share."""

    groups: FlatGroups

    def __init__(self, lam: float, groups: GroupArrays) -> None:
        self.lam = checked_strength("lam", lam)
        self.groups = checked_groups(groups)
        self._labels = labels(self.groups.ptr)
        # The duals of the last prox and of the last residual, where the next ones start.
        self._start = np.zeros(self.groups.members.size)
        self._residual_start = np.zeros(self.groups.members.size)

    def with_lam(self, lam: float) -> Self:
        other = super().with_lam(lam)
        other._start, other._residual_start = self._start.copy(), self._residual_start.copy()
        return other

    def _norms(self, copies: Vector) -> Vector:
        """‖·‖ of each group, from one value for each member."""
        return np.sqrt(np.bincount(self._labels, weights=copies**2, minlength=self.groups.weights.size))

    def _gather(self, copies: Vector) -> Vector:
        """Sum of the copies of each coordinate."""
        total: Vector = np.bincount(self.groups.members, weights=copies, minlength=self.groups.n_features)
        return total

    def describe(self) -> str:
        return f"{self.name}, {self.groups.weights.size} groups, λ = {self.lam:g}"


class OverlappingGroups(_Overlapping):
    """λ Σ_g weights_g‖w_g‖₂ + l1‖w‖₁ + ½·l2·‖w‖², where groups may share coordinates.

    Coordinates in no group are left to ``l1`` and ``l2``. Where groups overlap so much that many are nearly but not
    quite zero (windows moved by one place, say), the inner ADMM may stop at its 10,000 iterations, with an accuracy
    of about 1e-6 rather than 1e-13.

    Parameters
    ----------
    lam : float
    groups : GroupArrays
    l1, l2 : float

    Examples
    --------
    >>> groups = FlatGroups.of([[0, 1], [1, 2]], n_features=3)
    >>> w = np.array([3.0, 4.0, 0.0])
    >>> penalty = OverlappingGroups(1.0, groups)
    >>> penalty.value(w)
    9.0
    >>> penalty.prox(w, step=1.0)
    >>> w.round(4).tolist()
    [2.2929, 2.2929, 0.0]
    """

    name: ClassVar[str] = "overlapping groups"

    def __init__(self, lam: float, groups: GroupArrays, l1: float = 0.0, l2: float = 0.0) -> None:
        super().__init__(lam, groups)
        self.l1 = checked_strength("l1", l1)
        self.l2 = checked_strength("l2", l2)

    def value(self, w: Vector) -> float:
        norms = self._norms(w[self.groups.members])
        return (
            self.lam * float(self.groups.weights @ norms)
            + self.l1 * float(np.abs(w).sum())
            + 0.5 * self.l2 * float(w @ w)
        )

    def prox(self, w: Vector, step: float) -> None:
        """Soft threshold, then the groups (both keep signs and zeros, so the composition is exact), then ℓ2²."""
        x = soft_threshold(w, step * self.l1)
        u = _consensus(x, self._start, self.groups, step * self.lam * self.groups.weights, balls=False)
        w[:] = _tidy(u, x) / (1.0 + step * self.l2)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """Closed form but for the zero groups, where it is the prox of their norms alone: a small quadratic program."""
        members, weights = self.groups.members, self.groups.weights
        norms = self._norms(w[members])
        rate = np.divide(self.lam * weights, norms, out=np.zeros_like(norms), where=norms > 0)
        smooth = grad + (self.l2 + self._gather(rate[self._labels])) * w
        smooth = np.where(w == 0, soft_threshold(smooth, self.l1), smooth + self.l1 * np.sign(w))
        radius = np.where(norms == 0, self.lam * weights, 0.0)
        return _tidy(_consensus(smooth, self._residual_start, self.groups, radius, balls=False), smooth)

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of soft(grad, l1): an upper bound that is within 1e-6 of a lower one.

        ⟨grad, u⟩/Ω(u) is a lower bound for every u. With u the prox at λ it is λ + ‖u‖²/Ω(u), better than λ: climbing
        from bound to bound is Newton's method. Splitting the gradient among the groups, as ADMM does, gives upper
        bounds. Coordinates in no group of positive weight are left out.
        """
        members = self.groups.members
        positive = self.groups.weights > 0
        weights = self.groups.weights[positive]
        times = self._gather(positive[self._labels].astype(np.float64))
        target = np.where(times > 0, soft_threshold(grad, self.l1), 0.0)
        u, parts = target, np.zeros(members.size)
        lower, upper = 0.0, np.inf
        for _ in range(MAX_BOUNDS):
            if not np.any(u):
                break
            lower = max(lower, float(target @ u) / float(weights @ self._norms(u[members])[positive]))
            u = _consensus(target, parts, self.groups, lower * self.groups.weights, balls=False)
            missing = (target - self._gather(parts)) / np.maximum(times, 1.0)
            split = np.where(positive[self._labels], parts + missing[members], 0.0)
            upper = min(upper, float(np.max(self._norms(split)[positive] / weights, initial=0.0)))
            if upper - lower <= 1e-6 * upper:
                break
        return upper if np.any(target) else 0.0

    def describe(self) -> str:
        more = "".join(f", {name} = {value:g}" for name, value in (("ℓ1", self.l1), ("ℓ2", self.l2)) if value)
        return super().describe() + more


class Duplication(NamedTuple):
    """A latent penalty as an ordinary one: w_i is the sum of the copies v_k with members[k] = i."""

    members: NDArray[np.int32]
    penalty: GroupL2


class LatentGroups(_Overlapping):
    """λ·min{Σ_g weights_g‖v_g‖₂ : w = Σ_g v_g, v_g zero outside g}: the latent group Lasso.

    Each coordinate may be explained by several groups. Coordinates in no group are unpenalised. Solvers do best on the
    copies (``duplicate``); value, prox and residual are here for every other use, and all three are iterative.

    Parameters
    ----------
    lam : float
    groups : GroupArrays
        With positive weights.

    Examples
    --------
    >>> groups = FlatGroups.of([[0, 1], [1, 2]], n_features=3)
    >>> penalty = LatentGroups(1.0, groups)
    >>> round(penalty.value(np.array([3.0, 4.0, 0.0])), 8)  # one group explains it
    5.0
    >>> penalty.duplicate.members.tolist()
    [0, 1, 1, 2]
    """

    name: ClassVar[str] = "latent groups"

    def __init__(self, lam: float, groups: GroupArrays) -> None:
        super().__init__(lam, groups)
        if np.any(self.groups.weights == 0):
            raise OptionError(
                "latent groups need positive weights: one of weight 0 would carry anything for free"
            )
        self._covered = self._gather(np.ones(self.groups.members.size)) > 0

    @property
    def duplicate(self) -> Duplication:
        """One copy of a coordinate for each group that holds it, and one, in no group, for each that none holds."""
        members = np.append(self.groups.members, np.flatnonzero(~self._covered)).astype(np.int32)
        n_copies = self.groups.members.size
        on_copies = FlatGroups(
            self.groups.ptr, np.arange(n_copies, dtype=np.int32), self.groups.weights, members.size
        )
        return Duplication(members, GroupL2(self.lam, on_copies))

    def _decomposition(self, w: Vector) -> tuple[Vector, Vector, float]:
        """(v, u, Ω): the best copies v of w, the dual point u with ⟨u, w⟩ = Ω(w), to a relative gap of 1e-10.

        Method of multipliers: u ← projection of u + t·w on {‖u_g‖ ≤ weights_g}. What the projection takes off
        splits, once converged, t·w among the groups.
        """
        members, weights = self.groups.members, self.groups.weights
        w = np.where(self._covered, w, 0.0)
        times = self._gather(np.ones(members.size))[members]
        norms = self._norms(w[members])
        u, parts = np.zeros_like(w), np.zeros(members.size)
        if not np.any(norms):
            return parts, u, 0.0
        t = float(np.max(weights) / np.max(norms)) * 10.0
        for _ in range(1000):
            before = u
            u = _consensus(before + t * w, parts, self.groups, weights, balls=True)
            v = parts / t + (w - self._gather(parts / t))[members] / times
            upper = float(weights @ self._norms(v))
            lower = float(u @ w)
            if upper - lower <= 1e-10 * upper:
                break
        return parts / t, u, upper

    def value(self, w: Vector) -> float:
        return self.lam * self._decomposition(w)[2]

    def prox(self, w: Vector, step: float) -> None:
        """w less its projection on the intersection of the dual cylinders ‖u_g‖ ≤ step·λ·weights_g."""
        radius = step * self.lam * self.groups.weights
        _consensus(w, self._start, self.groups, radius, balls=True)
        w[:] = np.where(self._covered, _tidy(self._gather(self._start), w), w)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """On the groups that carry w the subgradient is unique; elsewhere it is free in what is left of the cylinders.

        Accurate to about 1e-8 of the gradient, from the decomposition of w.
        """
        members = self.groups.members
        v, u, _ = self._decomposition(w)
        carried = self._gather((self._norms(v) > 0)[self._labels].astype(np.float64)) > 0
        u = np.where(carried, self.lam * u, 0.0)
        spent = self._norms(u[members])
        radius = np.sqrt(np.maximum((self.lam * self.groups.weights) ** 2 - spent**2, 0.0))
        free = np.where(carried, 0.0, grad)
        _consensus(free, self._residual_start, self.groups, radius, balls=True)
        return np.where(self._covered & ~carried, _tidy(self._gather(self._residual_start), free), grad + u)

    def lambda_max(self, grad: Vector) -> float:
        """max_g ‖grad_g‖/weights_g."""
        norms = self._norms(grad[self.groups.members])
        positive = self.groups.weights > 0
        return float(np.max(norms[positive] / self.groups.weights[positive], initial=0.0))
