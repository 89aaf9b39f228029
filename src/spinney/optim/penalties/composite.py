"""Composite absolute penalties ℓ_r/ℓ_q: a norm over the norms of disjoint groups (Yogatama 2015, §2.4)."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import soft_threshold
from spinney.optim.penalties.groups import checked_groups, disjoint_labels, labels

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
    """λ(Σ_g weights_g‖w_g‖_q^r)^(1/r) on disjoint groups (Zhao, Rocha & Yu 2009; Yogatama 2015, §2.4).

    With r = 1 whole groups become zero: q = 2 is the group Lasso, q = ∞ its variant by largest weights. With r > 1 no
    group is dropped unless all are; with q = 1 there are zeros inside each group, whose words compete.

    Parameters
    ----------
    lam : float
    groups : GroupArrays
        No coordinate in two groups; coordinates in none are not penalised.
    r : float
        At least 1: the norm over groups.
    q : float
        1, 2 or ``inf``: the norm inside groups.

    Examples
    --------
    >>> from spinney.optim import FlatGroups
    >>> groups = FlatGroups.of([[0, 1], [2, 3]], n_features=4)
    >>> penalty, w = Composite(1.0, groups, r=2, q=1), np.array([3.0, 1.0, 4.0, 0.1])
    >>> round(penalty.value(np.array([3.0, 0.0, 4.0, 0.0])), 12)
    5.0
    >>> penalty.prox(w, step=1.0)
    >>> w.round(3).tolist()
    [2.357, 0.357, 3.234, 0.0]
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
        disjoint_labels(self.groups)
        self._labels = labels(self.groups.ptr)

    def _by_group(self, values: Vector, q: float) -> Vector:
        """The ℓ_q norm of each group of values, which stand group after group."""
        n = len(self.groups.weights)
        if q == np.inf:
            found = np.zeros(n)
            np.maximum.at(found, self._labels, np.abs(values))
            return found
        if q == 1.0:
            return np.asarray(np.bincount(self._labels, np.abs(values), n), dtype=np.float64)
        return np.sqrt(np.bincount(self._labels, values * values, n))

    def _norm(self, values: Vector) -> float:
        norms = self._by_group(values, self.q)
        largest = float(np.max(norms, initial=0.0)) or 1.0
        total = float(self.groups.weights @ (norms / largest) ** self.r)  # powers of shares do not overflow
        return float(largest * total ** (1.0 / self.r))

    def _dual_norm(self, values: Vector) -> float:
        """‖(‖z_g‖_q′ / weights_g^(1/r))_g‖_r′, over groups with a weight; 1/r + 1/r′ = 1/q + 1/q′ = 1."""
        held = self.groups.weights > 0
        inner = self._by_group(values, {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}[self.q])[held]
        shares = inner / self.groups.weights[held] ** (1.0 / self.r)
        largest = float(np.max(shares, initial=0.0))
        if self.r == 1.0 or largest == 0.0:
            return largest
        conjugate = self.r / (self.r - 1.0)
        return float(largest * np.sum((shares / largest) ** conjugate) ** (1.0 / conjugate))

    def value(self, w: Vector) -> float:
        return self.lam * self._norm(w[self.groups.members])

    def prox(self, w: Vector, step: float) -> None:
        from spinney.optim.penalties._composite_kernels import composite_prox

        groups, inside = self.groups, w[self.groups.members]
        found = composite_prox(
            np.abs(inside), groups.ptr, groups.weights, self.q, self.r,
            self._norm(inside), self._dual_norm(inside), float(step * self.lam),
        )  # fmt: skip
        w[groups.members] = np.copysign(found, inside) + 0.0  # no negative zeros

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """At 0 the prox tells it; elsewhere the inner norm of each group counts by a slope of the outer norm."""
        groups, inside = self.groups, w[self.groups.members]
        norms, norm = self._by_group(inside, self.q), self._norm(inside)
        if norm == 0.0:
            rest = -grad
            self.prox(rest, 1.0)
            return -rest
        slopes = self.lam * groups.weights * (norms / norm) ** (self.r - 1.0)
        rest = grad.copy()
        for g in np.flatnonzero(slopes > 0).tolist():
            members = groups.members[groups.ptr[g] : groups.ptr[g + 1]]
            rest[members] = _inner_residual(w[members], grad[members], self.q, slopes[g])
        return rest

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of the gradient."""
        return self._dual_norm(grad[self.groups.members])

    def describe(self) -> str:
        inner = "∞" if self.q == np.inf else f"{self.q:g}"
        return f"{self.name} ℓ{self.r:g}/ℓ{inner}, {len(self.groups.weights)} groups, λ = {self.lam:g}"


def _inner_residual(w: Vector, grad: Vector, q: float, slope: float) -> Vector:
    """The smallest element of ``grad + slope·∂‖w‖_q``; sizes that are exactly equal are so after the prox, too."""
    from spinney.optim.penalties._composite_kernels import composite_prox

    if not w.any():  # the prox of one group
        ends, one = np.array([0, len(w)], np.int64), np.ones(1)
        found = composite_prox(np.abs(grad), ends, one, q, 1.0, 0.0, 0.0, slope)
        return np.asarray(np.copysign(found, grad))
    if q == 2.0:
        return np.asarray(grad + slope * w / np.linalg.norm(w))
    if q == 1.0:
        return np.where(w == 0, soft_threshold(grad, slope), grad + slope * np.sign(w))
    rest, top = grad.copy(), np.abs(w) == np.abs(w).max()
    # Shares ≥ 0 that add up to the slope: what is nearest to −sign·grad among them.
    towards = -np.sign(w[top]) * grad[top]
    order = np.sort(towards)[::-1]
    caps = (np.cumsum(order) - slope) / np.arange(1, len(order) + 1)
    cap = caps[np.flatnonzero(order > caps)[-1]]
    rest[top] = -np.sign(w[top]) * (towards - np.maximum(towards - cap, 0.0))
    return rest
