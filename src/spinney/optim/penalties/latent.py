"""The latent norm of overlapping groups: the support is a union of groups."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties._splitting import gathered, norms_of_copies, split, tidy
from spinney.optim.penalties.groups import FlatGroups, GroupL2, checked_groups, labels

MAX_BOUNDS = 50


class Duplication(NamedTuple):
    """A latent penalty as an ordinary one: w_i is the sum of the copies v_k with members[k] = i."""

    members: NDArray[np.int32]
    penalty: GroupL2


class LatentGroups(Penalty):
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
    key: ClassVar[str] = "latent"
    own_structure = "groups"

    def __init__(self, lam: float, groups: GroupArrays) -> None:
        self.lam = checked_strength("lam", lam)
        self.groups = checked_groups(groups)
        # The parts found by the last prox and by the last residual, where the next ones start.
        self._start = np.zeros(self.groups.members.size)
        self._residual_start = np.zeros(self.groups.members.size)
        if np.any(self.groups.weights == 0):
            raise OptionError(
                "latent groups need positive weights: one of weight 0 would carry anything for free"
            )
        self._times = self._gather(np.ones(self.groups.members.size))  # how many groups hold each coordinate
        self._covered = self._times > 0

    def with_lam(self, lam: float) -> Self:
        other = super().with_lam(lam)
        other._start, other._residual_start = self._start.copy(), self._residual_start.copy()
        return other

    def _gather(self, copies: Vector) -> Vector:
        return gathered(self.groups, copies)

    def _norms(self, copies: Vector) -> Vector:
        return norms_of_copies(self.groups, copies)

    def _split(self, w: Vector, parts: Vector, radius: Vector) -> Vector:
        return split(w, parts, self.groups, radius, latent=True)

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
        w[:] = np.where(self._covered, tidy(self._gather(self._start), w), w)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """On the groups that carry w the subgradient is unique; elsewhere it is free in what is left of the cylinders.

        Accurate to about 1e-8 of the gradient, from the decomposition of w.
        """
        v, u, _ = self._decomposition(w)
        carried = self._gather((self._norms(v) > 0)[labels(self.groups.ptr)].astype(np.float64)) > 0
        u = np.where(carried, self.lam * u, 0.0)
        spent = self._norms(u[self.groups.members])
        radius = np.sqrt(np.maximum((self.lam * self.groups.weights) ** 2 - spent**2, 0.0))
        free = np.where(carried, 0.0, grad)
        self._split(free, self._residual_start, radius)
        return np.where(self._covered & ~carried, tidy(self._gather(self._residual_start), free), grad + u)

    def lambda_max(self, grad: Vector) -> float:
        """max_g ‖grad_g‖/weights_g."""
        norms = self._norms(grad[self.groups.members])
        return float(np.max(norms / self.groups.weights, initial=0.0))

    def describe(self) -> str:
        return f"{self.name}, {self.groups.weights.size:,} groups, λ = {self.lam:g}"
