"""Groups that overlap: the sum of their norms, and the latent norm that splits w among them.

The two are opposites. The overlapping norm makes the *zeros* a union of groups (one zero group silences its members
everywhere); the latent norm makes the *support* a union of groups. Both proxes split w into a part for each group and a
rest, and differ in what they ask of the parts. The split is found by block coordinate descent and, where that is
slow, by ADMM on copies of the coordinates (Yogatama 2015, §6.3).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import soft_threshold
from spinney.optim.penalties.groups import FlatGroups, GroupL2, checked_groups, labels

#: A split is found when nothing moves by more than this fraction of the largest entry. Sweeps that do not get there
#: give way to ADMM, for so many iterations at most and so many updates of a copy in all.
TOLERANCE, MAX_SWEEPS = 1e-14, 1_000
TOLERANCE_ADMM, MAX_ADMM, MAX_UPDATES = 1e-13, 10_000, 300_000_000
#: Entries of a prox under this fraction of the largest entry of its argument are taken for zeros.
TINY = 1e-10
MAX_BOUNDS = 50


class _Overlapping(Penalty):
    """What the two norms share."""

    latent: ClassVar[bool]
    groups: FlatGroups

    def __init__(self, lam: float, groups: GroupArrays) -> None:
        self.lam = checked_strength("lam", lam)
        self.groups = checked_groups(groups)
        self._labels = labels(self.groups.ptr)
        self._times = self._gather(np.ones(self.groups.members.size))  # how many groups hold each coordinate
        # The parts found by the last prox and by the last residual, where the next ones start.
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
        total = np.bincount(self.groups.members, weights=copies, minlength=self.groups.n_features)
        return np.asarray(total, dtype=np.float64)

    def _split(self, w: Vector, parts: Vector, radius: Vector) -> Vector:
        """w − Σ parts_g at the best parts, which replace the ones given: those are where to start."""
        from spinney.optim.penalties._kernels import group_admm, group_sweeps

        arrays = (self.groups.ptr, self.groups.members, radius, self.latent)
        largest = float(np.max(np.abs(w), initial=0.0))
        tol, tol_admm = TOLERANCE * largest, TOLERANCE_ADMM * largest
        if group_sweeps(w - self._gather(parts), parts, *arrays, tol, MAX_SWEEPS) > tol:
            other = parts.copy()
            max_iter = min(MAX_ADMM, MAX_UPDATES // parts.size)
            found = group_admm(w, other, *arrays, tol_admm, max_iter) <= tol_admm
            if found or self._cost(w, other, radius) < self._cost(w, parts, radius):
                parts[:] = other
        return w - self._gather(parts)

    def _cost(self, w: Vector, parts: Vector, radius: Vector) -> float:
        rest = w - self._gather(parts)
        return 0.5 * float(rest @ rest) + (float(radius @ self._norms(parts)) if self.latent else 0.0)

    def describe(self) -> str:
        return f"{self.name}, {self.groups.weights.size} groups, λ = {self.lam:g}"


def _tidy(u: Vector, w: Vector) -> Vector:
    """``u``, a prox of ``w``, with the zeros that rounding hides: what is tiny, and what has not the sign of ``w``."""
    largest = np.max(np.abs(w), initial=0.0)
    return np.where((u * w > 0) & (np.abs(u) > TINY * largest), u, 0.0)


class OverlappingGroups(_Overlapping):
    """λ Σ_g weights_g‖w_g‖₂ + l1‖w‖₁ + ½·l2·‖w‖², where groups may share coordinates.

    Coordinates in no group are left to ``l1`` and ``l2``. The prox has, as a rule, no duality gap but rounding. Where
    very many groups are nearly but not quite zero it may stop at its limit of iterations, with a relative gap
    of about 1e-9.

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
    latent: ClassVar[bool] = False

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
        u = self._split(x, self._start, step * self.lam * self.groups.weights)
        w[:] = _tidy(u, x) / (1.0 + step * self.l2)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """Closed form but for the zero groups, where it is the prox of their norms alone: a small quadratic program.

        That program is solved to about 1e-9 of the gradient, unless the zero groups hold by a hair: when they do so by
        less than a thousandth of λ, the residual may come out too large, by up to 1e-4 of the gradient.
        """
        weights = self.groups.weights
        norms = self._norms(w[self.groups.members])
        rate = np.divide(self.lam * weights, norms, out=np.zeros_like(norms), where=norms > 0)
        smooth = grad + (self.l2 + self._gather(rate[self._labels])) * w
        smooth = np.where(w == 0, soft_threshold(smooth, self.l1), smooth + self.l1 * np.sign(w))
        radius = np.where(norms == 0, self.lam * weights, 0.0)
        return _tidy(self._split(smooth, self._residual_start, radius), smooth)

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of soft(grad, l1): an upper bound that is within 1e-6 of a lower one.

        ⟨grad, u⟩/Ω(u) is a lower bound for every u. With u the prox at λ it is λ + ‖u‖²/Ω(u), better than λ: climbing
        from bound to bound is Newton's method. Splitting the gradient among the groups, as the prox does, gives
        upper bounds. Coordinates in no group of positive weight are left out.
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
            u = self._split(target, parts, lower * self.groups.weights)
            share = u / np.maximum(times, 1.0)
            whole = np.where(positive[self._labels], parts + share[members], 0.0)
            upper = min(upper, float(np.max(self._norms(whole)[positive] / weights, initial=0.0)))
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
    latent: ClassVar[bool] = True

    def __init__(self, lam: float, groups: GroupArrays) -> None:
        super().__init__(lam, groups)
        if np.any(self.groups.weights == 0):
            raise OptionError(
                "latent groups need positive weights: one of weight 0 would carry anything for free"
            )
        self._covered = self._times > 0

    @property
    def duplicate(self) -> Duplication:
        """One copy of a coordinate for each group that holds it, and one, in no group, for each that none holds."""
        members = np.append(self.groups.members, np.flatnonzero(~self._covered)).astype(np.int32)
        own = np.arange(self.groups.members.size, dtype=np.int32)
        on_copies = FlatGroups(self.groups.ptr, own, self.groups.weights, members.size)
        return Duplication(members, GroupL2(self.lam, on_copies))

    def _decomposition(self, w: Vector) -> tuple[Vector, Vector, float]:
        """(v, u, Ω): the best copies v of w, the dual point u with ⟨u, w⟩ = Ω(w), to a relative gap of about 1e-9.

        Method of multipliers: u ← projection of u + t·w on {‖u_g‖ ≤ weights_g}, with t growing. What the projection
        takes off splits, once converged, t·w among the groups.
        """
        members, weights = self.groups.members, self.groups.weights
        w = np.where(self._covered, w, 0.0)
        norms = self._norms(w[members])
        u, parts, upper = np.zeros_like(w), np.zeros(members.size), 0.0
        if not np.any(norms):
            return parts, u, upper
        t = 10.0 * float(np.max(weights) / np.max(norms))
        for _ in range(MAX_BOUNDS):
            u = self._split(u + t * w, parts, weights)
            missing = (w - self._gather(parts) / t) / np.maximum(self._times, 1.0)
            upper = float(weights @ self._norms(parts / t + missing[members]))
            if upper - float(u @ w) <= 1e-10 * upper:
                break
            t, parts = 1.5 * t, 1.5 * parts
        return parts / t, u, upper

    def value(self, w: Vector) -> float:
        return self.lam * self._decomposition(w)[2]

    def prox(self, w: Vector, step: float) -> None:
        """w less its projection on the intersection of the dual cylinders ‖u_g‖ ≤ step·λ·weights_g."""
        self._split(w, self._start, step * self.lam * self.groups.weights)
        w[:] = np.where(self._covered, _tidy(self._gather(self._start), w), w)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """On the groups that carry w the subgradient is unique; elsewhere it is free in what is left of the cylinders.

        Accurate to about 1e-8 of the gradient, from the decomposition of w.
        """
        v, u, _ = self._decomposition(w)
        carried = self._gather((self._norms(v) > 0)[self._labels].astype(np.float64)) > 0
        u = np.where(carried, self.lam * u, 0.0)
        spent = self._norms(u[self.groups.members])
        radius = np.sqrt(np.maximum((self.lam * self.groups.weights) ** 2 - spent**2, 0.0))
        free = np.where(carried, 0.0, grad)
        self._split(free, self._residual_start, radius)
        return np.where(self._covered & ~carried, _tidy(self._gather(self._residual_start), free), grad + u)

    def lambda_max(self, grad: Vector) -> float:
        """max_g ‖grad_g‖/weights_g."""
        norms = self._norms(grad[self.groups.members])
        return float(np.max(norms / self.groups.weights, initial=0.0))
