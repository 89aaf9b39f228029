"""Disjoint groups: group Lasso, sparse group Lasso and ℓ1/ℓ∞."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError, shown
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import checked_weights, for_kernels, soft_threshold
from spinney.optim.penalties.tree import LinfForest


@dataclass
class FlatGroups:
    """The plainest :class:`~spinney.optim.base.GroupArrays`.

    Examples
    --------
    >>> FlatGroups.of([[0, 1], [2]], n_features=4).members.tolist()
    [0, 1, 2]
    """

    ptr: NDArray[np.int64]
    members: NDArray[np.int32]
    weights: Vector
    n_features: int

    @classmethod
    def of(cls, groups: list[list[int]], n_features: int, weights: ArrayLike | None = None) -> FlatGroups:
        """Groups from lists of coordinates; every weight is 1 unless given."""
        sizes = [len(group) for group in groups]
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.array([i for group in groups for i in group], dtype=np.int32),
            np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=np.float64),
            n_features,
        )


def checked_groups(groups: GroupArrays) -> FlatGroups:
    """The four arrays with the dtypes that kernels expect, or an OptionError when they contradict each other."""
    if not hasattr(groups, "ptr") or not hasattr(groups, "members"):
        raise OptionError(f"groups must be Groups or FlatGroups, not {shown(groups)}")
    ptr = for_kernels(groups.ptr, np.int64)
    members = for_kernels(groups.members, np.int32)
    n = int(groups.n_features)
    if ptr.ndim != 1 or ptr.size == 0 or ptr[0] != 0 or ptr[-1] != members.size or np.any(np.diff(ptr) < 0):
        raise OptionError("groups: ptr must rise from 0 to the number of members")
    if members.size and (members.min() < 0 or members.max() >= n):
        raise OptionError(f"groups: members must lie between 0 and {n - 1}")
    weights = checked_weights(groups.weights, ptr.size - 1, "group weights")
    pairs = labels(ptr) * n + members
    if np.all(pairs[1:] > pairs[:-1]):  # in order, as a rule: then nothing stands twice
        return FlatGroups(ptr, members, weights, n)
    pairs.sort()
    twice = np.flatnonzero(pairs[1:] == pairs[:-1])
    if twice.size:
        group, coordinate = divmod(int(pairs[twice[0]]), n)
        raise OptionError(f"groups: coordinate {coordinate} stands twice in group {group}")
    return FlatGroups(ptr, members, weights, n)


def labels(ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place in ``members``, its group."""
    return np.repeat(np.arange(ptr.size - 1), np.diff(ptr))


def disjoint_labels(groups: FlatGroups) -> NDArray[np.int64]:
    """For each coordinate, its group, or -1; an OptionError when two groups share a coordinate."""
    group_of_copy = labels(groups.ptr)
    group_of = np.full(groups.n_features, -1, dtype=np.int64)
    group_of[groups.members] = group_of_copy
    clash = np.flatnonzero(group_of[groups.members] != group_of_copy)
    if clash.size:
        coordinate = groups.members[clash[0]]
        raise OptionError(
            f"groups {group_of_copy[clash[0]]} and {group_of[coordinate]} share coordinate {coordinate}: "
            "this penalty needs disjoint groups; use OverlappingGroups, LatentGroups or a tree"
        )
    return group_of


class GroupL2(Penalty):
    """λ Σ_g weights_g‖w_g‖₂ + l1‖w‖₁ + ½·l2·‖w‖² on disjoint groups: group Lasso, or sparse group Lasso when l1 > 0.

    Coordinates in no group are left to ``l1`` and ``l2``. Of the knobs, only ``lam`` moves along a path.

    Parameters
    ----------
    lam : float
    groups : GroupArrays
        Anything with ``ptr``, ``members``, ``weights`` and ``n_features``, such as
        :class:`spinney.structure.Groups`; no coordinate in two groups.
    l1, l2 : float

    Examples
    --------
    >>> groups = FlatGroups.of([[0, 1], [2]], n_features=4)
    >>> w = np.array([3.0, 4.0, 0.5, 7.0])
    >>> penalty = GroupL2(1.0, groups)
    >>> penalty.value(w)
    5.5
    >>> penalty.prox(w, step=1.0)
    >>> w.round(12).tolist()
    [2.4, 3.2, 0.0, 7.0]
    """

    name: ClassVar[str] = "group ℓ1/ℓ2"
    key: ClassVar[str] = "group"
    knobs: ClassVar[tuple[str, ...]] = ("lam", "l1", "l2")
    own_structure = "groups"

    def __init__(self, lam: float, groups: GroupArrays, l1: float = 0.0, l2: float = 0.0) -> None:
        self.lam = checked_strength("lam", lam)
        self.l1 = checked_strength("l1", l1)
        self.l2 = checked_strength("l2", l2)
        self.groups = checked_groups(groups)
        # One more group, of weight 0, holds the coordinates that are in none: every vector operation is then plain.
        group_of = disjoint_labels(self.groups)
        self._group_of = np.where(group_of < 0, len(self.groups.weights), group_of)
        self._weights = np.append(self.groups.weights, 0.0)

    def _norms(self, w: Vector) -> Vector:
        return np.sqrt(np.bincount(self._group_of, weights=w * w, minlength=self._weights.size))

    def _block_threshold(self, x: Vector, radius: Vector) -> Vector:
        norms = self._norms(x)
        kept = np.maximum(norms - radius, 0.0)
        scale = np.divide(kept, norms, out=np.zeros_like(norms), where=norms > 0)
        return x * scale[self._group_of]

    def value(self, w: Vector) -> float:
        return (
            self.lam * float(self._weights @ self._norms(w))
            + self.l1 * float(np.abs(w).sum())
            + 0.5 * self.l2 * float(w @ w)
        )

    def prox(self, w: Vector, step: float) -> None:
        shrink = 1.0 / (1.0 + step * self.l2)
        x = soft_threshold(w, step * self.l1) if self.l1 else w
        w[:] = self._block_threshold(x, step * self.lam * self._weights) * shrink + 0.0  # no negative zeros

    def residual(self, w: Vector, grad: Vector) -> Vector:
        norms = self._norms(w)
        rate = np.divide(self.lam * self._weights, norms, out=np.zeros_like(norms), where=norms > 0)
        smooth = grad + (self.l2 + rate[self._group_of]) * w
        if self.l1:
            smooth = np.where(w == 0, soft_threshold(smooth, self.l1), smooth + self.l1 * np.sign(w))
        return self._block_threshold(smooth, np.where(norms == 0, self.lam * self._weights, 0.0))

    def lambda_max(self, grad: Vector) -> float:
        """max_g ‖soft(grad_g, l1)‖/weights_g: closed form, because ``l1`` keeps its value along a path."""
        norms = self._norms(soft_threshold(grad, self.l1))
        held = self._weights > 0
        return float(np.max(norms[held] / self._weights[held], initial=0.0))

    def describe(self) -> str:
        name = f"sparse group, ℓ1 = {self.l1:g}" if self.l1 else self.name
        ridge = f", ℓ2 = {self.l2:g}" if self.l2 else ""
        return f"{name}, {len(self.groups.weights):,} groups, λ = {self.lam:g}{ridge}"


class GroupLinf(LinfForest):
    """λ Σ_g weights_g‖w_g‖∞ on disjoint groups (ℓ1/ℓ∞): a forest of roots alone.

    Examples
    --------
    >>> w = np.array([3.0, 2.0, -4.0, 1.0])
    >>> penalty = GroupLinf(1.5, FlatGroups.of([[0, 1, 2]], n_features=4))
    >>> penalty.value(w)
    6.0
    >>> penalty.prox(w, step=1.0)
    >>> w.tolist()
    [2.75, 2.0, -2.75, 1.0]
    """

    name: ClassVar[str] = "group ℓ1/ℓ∞"
    key: ClassVar[str] = "group-linf"
    own_structure = "groups"

    def __init__(self, lam: float, groups: GroupArrays) -> None:
        self.groups = checked_groups(groups)
        n_groups = len(self.groups.weights)
        super().__init__(lam, np.full(n_groups, -1), disjoint_labels(self.groups), self.groups.weights)

    def describe(self) -> str:
        return f"{self.name}, {len(self.groups.weights):,} groups, λ = {self.lam:g}"
