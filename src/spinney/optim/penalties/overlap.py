"""Groups that overlap: the sum of their norms. The zeros of w become a union of groups."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties._splitting import gathered, norms_of_copies, rough_split, split, tidy
from spinney.optim.penalties.elastic import soft_threshold
from spinney.optim.penalties.groups import FlatGroups, GroupL2, checked_groups, labels

MAX_BOUNDS = 50


class _Parts(NamedTuple):
    """A split of the last residual: its non-zero parts and the memberships that they belong to, in rising order."""

    places: NDArray[np.int64]
    values: Vector

    def at(self, places: NDArray[np.int64]) -> Vector:
        """The parts at these memberships, 0 where there was none."""
        where = np.minimum(np.searchsorted(self.places, places), max(len(self.places) - 1, 0))
        if not len(self.places):
            return np.zeros(len(places))
        return np.where(self.places[where] == places, self.values[where], 0.0)


class OverlappingGroups(Penalty):
    """λ Σ_g weights_g‖w_g‖₂ + l1‖w‖₁ + ½·l2·‖w‖², where groups may share coordinates.

    Coordinates in no group are left to ``l1`` and ``l2``. The prox has, as a rule, no duality gap but rounding. Where
    very many groups are nearly but not quite zero it may stop at its limit of iterations, with a relative gap
    of about 1e-9.

    Parameters
    ----------
    lam : float
    groups : GroupArrays
    l1, l2 : float
    n_outputs : int
        With more than one, ``w`` is the row-major matrix of that many weights a feature, the groups are sets of
        features, and a group holds all the weights of its features. Memory stays that of the groups of features.

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
    key: ClassVar[str] = "overlap"
    knobs: ClassVar[tuple[str, ...]] = ("lam", "l1", "l2")
    own_structure = "groups"

    def __init__(
        self, lam: float, groups: GroupArrays, l1: float = 0.0, l2: float = 0.0, n_outputs: int = 1
    ) -> None:
        self.lam = checked_strength("lam", lam)
        self.groups = checked_groups(groups)
        self.l1 = checked_strength("l1", l1)
        self.l2 = checked_strength("l2", l2)
        if n_outputs < 1:
            raise OptionError(f"n_outputs must be ≥ 1, not {n_outputs}")
        self.n_outputs = int(n_outputs)
        self._start: Vector | None = None  # the parts of the last prox, where the next one starts
        self._norms = (np.empty(0), np.zeros(self.groups.weights.size))  # of the last w asked for
        self._last = _Parts(np.empty(0, np.int64), np.empty(0))

    def with_lam(self, lam: float) -> Self:
        other = super().with_lam(lam)
        other._start = None if self._start is None else self._start.copy()
        return other

    @property
    def strengths(self) -> Vector:
        """λ_g = λ·weights_g of each group."""
        return self.lam * self.groups.weights

    @cached_property
    def _flat(self) -> FlatGroups:
        """The groups over coordinates: those over features, when there is one output."""
        K, groups = self.n_outputs, self.groups
        if K == 1:
            return groups
        members = (groups.members[:, None].astype(np.int64) * K + np.arange(K)).ravel()
        if groups.n_features * K > np.iinfo(np.int32).max:
            raise OptionError("too many coordinates for a prox: use the solvers cd or admm")
        return FlatGroups(groups.ptr * K, members.astype(np.int32), groups.weights, groups.n_features * K)

    def as_disjoint(self) -> GroupL2 | None:
        """The same penalty for solvers that are quicker where no two groups share a coordinate; None where some do."""
        members = self.groups.members
        if self.n_outputs > 1 or (members.size and np.bincount(members).max() > 1):
            return None
        return GroupL2(self.lam, self.groups, l1=self.l1, l2=self.l2)

    def group_norms(self, w: Vector) -> Vector:
        """‖w_g‖ of each group."""
        from spinney.optim.penalties._overlap_kernels import group_squares

        w_before, norms = self._norms
        if np.array_equal(w, w_before):  # the solvers ask several times at one point
            return norms
        squares = w * w if self.n_outputs == 1 else np.square(w.reshape(-1, self.n_outputs)).sum(axis=1)
        norms = np.asarray(np.sqrt(group_squares(self.groups.ptr, self.groups.members, squares)))
        self._norms = (w.copy(), norms)
        return norms

    def value(self, w: Vector) -> float:
        return (
            float(self.strengths @ self.group_norms(w))
            + self.l1 * float(np.abs(w).sum())
            + 0.5 * self.l2 * float(w @ w)
        )

    def prox(self, w: Vector, step: float, accuracy: float = 0.0) -> None:
        """Soft threshold, then the groups (both keep signs and zeros, so the composition is exact), then ℓ2².

        With an ``accuracy``, the groups are split until nothing moves by more than that share of the largest weight.
        """
        if self._start is None:
            self._start = np.zeros(self._flat.members.size)
        x = soft_threshold(w, step * self.l1)
        tol = accuracy * float(np.max(np.abs(x), initial=0.0))
        u = split(x, self._start, self._flat, step * self.strengths, latent=False, tol=tol)
        w[:] = tidy(u, x) / (1.0 + step * self.l2)

    def residual(self, w: Vector, grad: Vector, accuracy: float = 0.0, tol: float = 0.0) -> Vector:
        """Closed form but for the zero groups, where it is the prox of their norms alone: a small quadratic program.

        That program is over the zero coordinates where the gradient is steeper than ``l1``. It is solved to about
        1e-9 of the gradient, unless the zero groups hold by a hair: when they do so by less than a thousandth of λ,
        the residual may come out too large, by up to 1e-4 of the gradient. With an ``accuracy`` it is solved roughly,
        to a hundredth of the residual or of the accuracy: the result is in ``grad + ∂λΩ(w)``, but not its smallest
        element. With a ``tol`` instead, the program is solved until nothing moves by more than that.
        """
        from spinney.optim.penalties._overlap_kernels import group_pull

        norms, strengths = self.group_norms(w), self.strengths
        rate = np.divide(strengths, norms, out=np.zeros_like(norms), where=norms > 0)
        pull = group_pull(self.groups.ptr, self.groups.members, rate, self.groups.n_features)
        if self.n_outputs > 1:
            pull = np.repeat(pull, self.n_outputs)
        zero = w == 0
        smooth = np.where(
            zero, soft_threshold(grad, self.l1), grad + (self.l2 + pull) * w + self.l1 * np.sign(w)
        )
        steep, radius = np.flatnonzero(zero & (smooth != 0)), np.where(norms == 0, strengths, 0.0)
        self._settle_zeros(smooth, steep, radius, accuracy, tol)
        return smooth

    def bound(self, rest: float, grad: Vector, residual: Vector) -> float:
        if self.l2 > 0:
            return (
                -np.inf
            )  # the parabola of the ridge is a better bound, and the exact prox costs far more than a look
        # grad − residual is in the dual ball of the norms, so that the dual norm of the residual is enough.
        outside = self._outside(residual)
        return max(0.0, rest / (1.0 + outside)) if np.isfinite(outside) else -np.inf

    def _outside(self, u: Vector) -> float:
        """An upper bound of the dual norm of u, in which the ball has radius 1; infinite where none is known."""
        held = self.strengths > 0
        times = gathered(self._flat, np.repeat(held, np.diff(self._flat.ptr)).astype(np.float64))
        of_groups = self.group_norms(u / np.maximum(times, 1.0))[held] / self.strengths[held]
        alone = float(np.max(np.abs(u[times == 0]), initial=0.0))
        by_l1 = alone / self.l1 if self.l1 > 0 else (np.inf if alone > 0 else 0.0)
        found = max(float(np.max(of_groups, initial=0.0)), by_l1)
        return min(found, float(np.max(np.abs(u), initial=0.0)) / self.l1) if self.l1 > 0 else found

    def _settle_zeros(
        self, smooth: Vector, steep: NDArray[np.intp], radius: Vector, accuracy: float, tol: float
    ) -> None:
        """Take off ``smooth`` what the groups of positive radius can bear at the ``steep`` coordinates, in place."""
        from spinney.optim.penalties._overlap_kernels import open_groups

        number = np.full(smooth.size, -1, np.int32)
        number[steep] = np.arange(len(steep), dtype=np.int32)
        ends, members, places, which = open_groups(
            self.groups.ptr, self.groups.members, radius, number, self.n_outputs
        )
        groups = FlatGroups(ends, members, np.ones(len(which)), len(steep))
        target, parts = smooth[steep], self._last.at(places)
        if accuracy > 0:
            # Parts of another point may be too long here: they are shortened to what is allowed.
            length = norms_of_copies(groups, parts)
            share = np.divide(radius[which], length, out=np.ones(len(which)), where=length > radius[which])
            parts *= share[labels(ends)]
            rest = rough_split(target, parts, groups, radius[which], accuracy)
        else:
            rest = split(target, parts, groups, radius[which], latent=False, tol=tol)
        smooth[steep] = tidy(rest, target)
        kept = parts != 0
        self._last = _Parts(places[kept], parts[kept])

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of soft(grad, l1): an upper bound that is within 1e-6 of a lower one.

        ⟨grad, u⟩/Ω(u) is a lower bound for every u. With u the prox at λ it is λ + ‖u‖²/Ω(u), better than λ: climbing
        from bound to bound is Newton's method. Splitting the gradient among the groups, as the prox does, gives
        upper bounds. Coordinates in no group of positive weight are left out.
        """
        groups = self._flat
        members, of = groups.members, labels(groups.ptr)
        positive = groups.weights > 0
        weights = groups.weights[positive]
        times = gathered(groups, positive[of].astype(np.float64))
        target = np.where(times > 0, soft_threshold(grad, self.l1), 0.0)
        u, parts = target, np.zeros(members.size)
        lower, upper = 0.0, np.inf
        for _ in range(MAX_BOUNDS):
            if not np.any(u):
                break
            lower = max(lower, float(target @ u) / float(weights @ self.group_norms(u)[positive]))
            u = split(target, parts, groups, lower * groups.weights, latent=False)
            share = u / np.maximum(times, 1.0)
            whole = np.where(positive[of], parts + share[members], 0.0)
            bound = float(np.max(norms_of_copies(groups, whole)[positive] / weights, initial=0.0))
            if bound < upper:
                upper, held = bound, np.flatnonzero(whole)
                # The split that shows that w = 0 is optimal from here on: the next residual starts with it.
                self._last = _Parts(held, whole[held])
            if upper - lower <= 1e-6 * upper:
                break
        return upper if np.any(target) else 0.0

    def describe(self) -> str:
        more = "".join(f", {name} = {value:g}" for name, value in (("ℓ1", self.l1), ("ℓ2", self.l2)) if value)
        return f"{self.name}, {self.groups.weights.size:,} groups, λ = {self.lam:g}{more}"
