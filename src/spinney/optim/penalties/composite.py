"""Composite absolute penalties ℓ_r/ℓ_q: a norm over the norms of groups, which may overlap (Yogatama 2015, §2.4)."""

from __future__ import annotations

import re
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties._splitting import gathered
from spinney.optim.penalties.elastic import hardly_any
from spinney.optim.penalties.groups import checked_groups, labels
from spinney.optim.penalties.overlap import OverlappingGroups

#: Sweeps over the groups for a residual that is only to be known roughly, and at most; and what ends them, as a share
#: of the gradient.
ROUGH_SWEEPS, MAX_SWEEPS, SETTLED = 20, 1_000, 1e-14
#: Steps for the residual at 0 with r > 1, where the groups depend on each other.
MAX_STEPS = 50
#: The prox of groups that overlap: its residual, as a share of the argument, and the iterations of ADMM.
NEAREST, MAX_ADMM = 1e-10, 2_000
ROUGHLY_NEAREST, ROUGH_ADMM = 1e-5, 100
#: How near the bounds of the strength that empties the model have to be, and how many there may be.
CLOSE, MAX_SWEPT, MAX_BOUNDS = 1e-3, 100, 10

_NAME = re.compile(r"l(\d+(?:\.\d+)?)/l(1|2|inf)")


def norms_of(name: str) -> tuple[float, float] | None:
    """The (r, q) of a name such as ``l2/l1`` or ``l1.5/linf``; None if it is no such name.

    Examples
    --------
    >>> norms_of("l2/l1"), norms_of("l1.5/linf"), norms_of("group")
    ((2.0, 1.0), (1.5, inf), None)
    """
    found = _NAME.fullmatch(name)
    return (float(found[1]), float(found[2])) if found else None


class Composite(Penalty):
    """λ(Σ_g weights_g‖w_g‖_q^r)^(1/r) (Zhao, Rocha & Yu 2009; Yogatama 2015, §2.4).

    With r = 1 whole groups become zero: q = 2 is the group Lasso, q = ∞ its variant by largest weights. With r > 1 no
    group is dropped unless all are; with q = 1 there are zeros inside each group, whose words compete.

    Where groups overlap, it is the same norm of copies of the coordinates, one for each group that holds it; the zeros
    are then a union of groups, as under :class:`~spinney.optim.OverlappingGroups`. The solver ``admm`` works on these
    copies (Yogatama 2015, §5.3.1). The prox is a problem of that kind, too, and therefore dear, and
    :meth:`lambda_max` is an upper bound that is, as a rule, within 1e-3 of a lower one.

    Parameters
    ----------
    lam : float
    groups : GroupArrays
        Any groups; coordinates in none are not penalised.
    r : float
        At least 1: the norm over groups.
    q : float
        1, 2 or ``inf``: the norm inside groups.

    Examples
    --------
    >>> from spinney.optim import Composite, FlatGroups
    >>> groups = FlatGroups.of([[0, 1], [2, 3]], n_features=4)
    >>> penalty, w = Composite(1.0, groups, r=2, q=1), np.array([3.0, 1.0, 4.0, 0.1])
    >>> round(penalty.value(np.array([3.0, 0.0, 4.0, 0.0])), 12)
    5.0
    >>> penalty.prox(w, step=1.0)
    >>> w.round(3).tolist()
    [2.357, 0.357, 3.234, 0.0]
    >>> shared = Composite(1.0, FlatGroups.of([[0, 1], [1, 2]], n_features=3), r=1, q=np.inf)
    >>> shared.overlapping, shared.value(np.array([3.0, 4.0, 0.0]))
    (True, 8.0)
    >>> w = np.array([3.0, 4.0, 0.0])
    >>> shared.prox(w, step=1.0)
    >>> w.round(6).tolist()
    [2.5, 2.5, 0.0]
    """

    name: ClassVar[str] = "composite"
    own_structure = "groups"

    def __init__(self, lam: float, groups: GroupArrays, r: float = 2.0, q: float = 1.0) -> None:
        self.lam = checked_strength("lam", lam)
        if not 1 <= r <= 100:
            raise OptionError(f"the outer norm r must be from 1 to 100, not {r:g}")
        if q not in (1.0, 2.0, np.inf):
            raise OptionError(f"the inner norm q must be 1, 2 or inf, not {q:g}")
        self.r, self.q = float(r), float(q)
        self.key = f"l{self.r:g}/l{self.q:g}"  # type: ignore[misc]
        self.groups = checked_groups(groups)
        self._labels = labels(self.groups.ptr)
        #: Whether some coordinate is in two groups.
        self.overlapping = bool(gathered(self.groups, np.ones(len(self._labels))).max(initial=0.0) > 1)
        #: Where the next residual starts: the subgradients of the copies at the last one.
        self.parts = np.zeros(len(self._labels))
        #: The last multipliers of ADMM: like parts in the dual ball of radius λ, but not subgradients at any weights.
        self.multipliers = self.parts

    def as_overlapping(self) -> OverlappingGroups | None:
        """The same penalty for solvers that are quicker with the sum of ℓ2 norms of groups that overlap; else None."""
        if not self.overlapping or (self.r, self.q) != (1.0, 2.0):
            return None
        return OverlappingGroups(self.lam, self.groups)

    def by_group(self, copies: Vector) -> Vector:
        """The ℓ_q norm of each group of copies, which stand group after group."""
        return self._inner_norms(copies, self.q)

    def group_norms(self, w: Vector) -> Vector:
        """‖w_g‖_q of each group."""
        return self.by_group(w[self.groups.members])

    def _inner_norms(self, values: Vector, q: float) -> Vector:
        n = len(self.groups.weights)
        if q == np.inf:
            found = np.zeros(n)
            np.maximum.at(found, self._labels, np.abs(values))
            return found
        if q == 1.0:
            return np.asarray(np.bincount(self._labels, np.abs(values), n), dtype=np.float64)
        return np.sqrt(np.bincount(self._labels, values * values, n))

    def outer_norm(self, norms: Vector) -> float:
        """(Σ_g weights_g·norms_g^r)^(1/r)."""
        largest = float(np.max(norms, initial=0.0)) or 1.0
        total = float(self.groups.weights @ (norms / largest) ** self.r)  # powers of shares do not overflow
        return float(largest * total ** (1.0 / self.r))

    def _norm(self, copies: Vector) -> float:
        return self.outer_norm(self.by_group(copies))

    def _dual_norm(self, copies: Vector) -> float:
        """‖(‖z_g‖_q′ / weights_g^(1/r))_g‖_r′, over groups with a weight; 1/r + 1/r′ = 1/q + 1/q′ = 1."""
        held = self.groups.weights > 0
        inner = self._inner_norms(copies, {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[self.q])[held]
        shares = inner / self.groups.weights[held] ** (1.0 / self.r)
        largest = float(np.max(shares, initial=0.0))
        if self.r == 1.0 or largest == 0.0:
            return largest
        conjugate = self.r / (self.r - 1.0)
        return float(largest * np.sum((shares / largest) ** conjugate) ** (1.0 / conjugate))

    def value(self, w: Vector) -> float:
        return self.lam * self._norm(w[self.groups.members])

    def prox_of_copies(self, copies: Vector, step: float) -> Vector:
        """argmin_v ½‖v − copies‖² + step·λ(Σ_g weights_g‖v_g‖_q^r)^(1/r), where nothing is shared."""
        from spinney.optim.penalties._composite_kernels import composite_prox

        groups = self.groups
        found = composite_prox(
            np.abs(copies), groups.ptr, groups.weights, self.q, self.r,
            self._norm(copies), self._dual_norm(copies), float(step * self.lam),
        )  # fmt: skip
        return np.asarray(np.copysign(found, copies) + 0.0)  # no negative zeros

    def prox(self, w: Vector, step: float) -> None:
        if self.overlapping:
            w[:] = self._nearest(w, step * self.lam, NEAREST, MAX_ADMM)[0]
        else:
            w[self.groups.members] = self.prox_of_copies(w[self.groups.members], step)

    def _nearest(self, z: Vector, lam: float, tol: float, max_iter: int) -> tuple[Vector, Self]:
        """The prox at ``z`` under the strength ``lam``, by ADMM; and the penalty, which has the multipliers."""
        from spinney.optim.losses import SquaredLoss
        from spinney.optim.problem import Monitor, Problem
        from spinney.optim.solvers.admm_groups import admm_groups

        largest, near = float(np.max(np.abs(z), initial=0.0)), self.with_lam(lam)
        if largest == 0.0 or lam == 0.0:
            return z.copy(), near
        problem = Problem(SquaredLoss(scipy.sparse.identity(len(z), format="csc"), z, intercept=False), near)
        return admm_groups(problem, near, z, Monitor(problem, tol, max_iter, largest)), near

    def _roughly_nearest(self, z: Vector, lam: float, before: Self) -> tuple[Vector, Self]:
        """The same to some digits: with r = 1 by a few sweeps, which go on from a penalty of another strength."""
        if self.r > 1.0:
            return self._nearest(z, lam, ROUGHLY_NEAREST, ROUGH_ADMM)
        near = self.with_lam(lam)
        near.parts = before.parts
        accuracy = SETTLED * float(np.max(np.abs(z), initial=0.0))
        return -near.residual(np.zeros_like(z), -z, accuracy), near

    def slopes(self, norms: Vector) -> Vector:
        """By how much λΩ grows with the norm of each group; at 0 with r > 1 it has no slopes."""
        norm = self.outer_norm(norms) or 1.0
        return np.asarray(self.lam * self.groups.weights * (norms / norm) ** (self.r - 1.0))

    def residual(self, w: Vector, grad: Vector, accuracy: float = 0.0) -> Vector:
        """At 0 the prox tells it; elsewhere the inner norm of each group counts by a slope of the outer norm.

        Where groups overlap it is found by descent, group by group, and to the ``accuracy``, if there is one, only
        roughly. Whatever it is, it is in ``grad + ∂λΩ(w)``.
        """
        norms = self.group_norms(w)
        empty = not norms.any()
        if empty and not self.overlapping:
            rest = -grad
            self.prox(rest, 1.0)
            return -rest
        if empty and self.r > 1.0:
            return self._settle_at_zero(grad, accuracy)
        return self._settle(w, grad, self.slopes(norms), accuracy)

    def _settle(self, w: Vector, grad: Vector, slopes: Vector, accuracy: float) -> Vector:
        """The residual where what each group may contribute does not depend on the others."""
        from spinney.optim.penalties._composite_kernels import settle

        groups, parts = self.groups, np.zeros(len(self._labels))
        if self.overlapping:
            parts = np.where(slopes[self._labels] > 0, self.parts, 0.0)
        rest = grad + gathered(groups, parts)
        tol = max(accuracy, SETTLED * float(np.max(np.abs(grad), initial=0.0)))
        sweeps = (ROUGH_SWEEPS if accuracy else MAX_SWEEPS) if self.overlapping else 1
        settle(rest, parts, w, groups.ptr, groups.members, slopes, self.q, tol, sweeps)
        self.parts = parts
        return rest

    def _settle_at_zero(self, grad: Vector, accuracy: float) -> Vector:
        """The residual at 0 for r > 1, where the groups share one ball: by accelerated projected gradient."""
        groups = self.groups
        curvature = float(gathered(groups, np.ones(len(self._labels))).max())
        tol = max(accuracy, SETTLED * float(np.max(np.abs(grad), initial=0.0)))
        parts = ahead = self.parts - self.prox_of_copies(
            self.parts, 1.0
        )  # what the prox takes off is in the ball
        for t in range(0 if accuracy == np.inf else MAX_STEPS):
            rest = grad + gathered(groups, ahead)
            target = ahead - rest[groups.members] / curvature
            before, parts = parts, target - self.prox_of_copies(target, 1.0)
            moved = parts - before
            if float(np.max(np.abs(moved))) <= tol:
                break
            ahead = parts + t / (t + 3.0) * moved
        self.parts = parts
        return grad + gathered(groups, parts)

    def bound(self, rest: float, grad: Vector, residual: Vector) -> float:
        if not self.overlapping:
            return super().bound(rest, grad, residual)
        if self.lam == 0.0 or not hardly_any(residual[self._held_times == 0], grad):
            return -np.inf
        # residual − grad is a subgradient, and thus in the dual ball of radius λ; so the dual norm of the residual
        # tells how far the gradient is outside. The multipliers know of a ball, too, whatever the weights are.
        outside = min(
            self.lam + self._dual_norm(self._shared(residual)), max(self.lam, self.dual_bound(-grad))
        )
        return max(0.0, rest * self.lam / outside)

    def dual_bound(self, x: Vector) -> float:
        """An upper bound of the dual norm of x, where coordinates in no group do not count.

        Any split of x among the copies gives one: here that of the multipliers or of the last residual, with equal
        shares of what is left.
        """
        splits = (self.multipliers, self.parts)
        return min(
            self._dual_norm(split + self._shared(x - gathered(self.groups, split))) for split in splits
        )

    @cached_property
    def _held_times(self) -> Vector:
        """In how many groups with a weight each coordinate is."""
        return gathered(self.groups, (self.groups.weights > 0)[self._labels].astype(np.float64))

    def _shared(self, x: Vector) -> Vector:
        """x in equal shares for each of its copies in a group with a weight."""
        share = x / np.maximum(self._held_times, 1.0)
        return np.where((self.groups.weights > 0)[self._labels], share[self.groups.members], 0.0)

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of the gradient; for groups that overlap, an upper bound of it.

        ⟨grad, u⟩/Ω(u) is a lower bound for every u, and grad split among the groups gives an upper one. The prox at the
        lower bound tells a better u and a better split (as for
        :meth:`OverlappingGroups.lambda_max <spinney.optim.OverlappingGroups.lambda_max>`).
        """
        if not self.overlapping:
            return self._dual_norm(grad[self.groups.members])
        target = np.where(self._held_times > 0, grad, 0.0)
        near, u, lower, upper = self, target, 0.0, self._dual_norm(self._shared(target))
        for _ in range(MAX_SWEPT if self.r == 1.0 else MAX_BOUNDS):
            norm = self._norm(u[self.groups.members])
            if norm > 0.0:
                lower = max(lower, float(target @ u) / norm)
            if norm == 0.0 or upper <= (1.0 + CLOSE) * lower:
                break
            u, near = self._roughly_nearest(target, lower, near)
            upper = min(upper, near.dual_bound(target))
        return upper

    def describe(self) -> str:
        inner = "∞" if self.q == np.inf else f"{self.q:g}"
        return f"{self.name} ℓ{self.r:g}/ℓ{inner}, {len(self.groups.weights):,} groups, λ = {self.lam:g}"
