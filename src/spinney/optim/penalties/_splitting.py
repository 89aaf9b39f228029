"""Splitting a vector among groups that overlap: what the proxes of two norms have in common.

The norms are opposites. The overlapping norm makes the *zeros* a union of groups (one zero group silences its members
everywhere); the latent norm makes the *support* a union of groups. Both proxes split w into a part for each group and a
rest, and differ in what they ask of the parts. The split is found by block coordinate descent and, where that is
slow, by ADMM on copies of the coordinates (Yogatama 2015, §5.3.1).
"""

from __future__ import annotations

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.penalties.groups import FlatGroups, labels

#: A split is found when nothing moves by more than this fraction of the largest entry. Sweeps that do not get there
#: give way to ADMM, for so many iterations at most and so many updates of a copy in all.
TOLERANCE, MAX_SWEEPS = 1e-14, 1_000
TOLERANCE_ADMM, MAX_ADMM, MAX_UPDATES = 1e-13, 10_000, 300_000_000
#: Sweeps of a rough split between two looks at how far it is, and looks after which a rest that is so many times the
#: accuracy is taken as it is.
ROUGH_SWEEPS, ENOUGH_LOOKS, FAR = 5, 2, 100.0
#: Entries of a prox under this fraction of the largest entry of its argument are taken for zeros.
TINY = 1e-10


def gathered(groups: FlatGroups, copies: Vector) -> Vector:
    """Sum of the copies of each coordinate."""
    total = np.bincount(groups.members, weights=copies, minlength=groups.n_features)
    return np.asarray(total, dtype=np.float64)


def norms_of_copies(groups: FlatGroups, copies: Vector) -> Vector:
    """‖·‖ of each group, from one value for each member."""
    squares = np.bincount(labels(groups.ptr), weights=copies**2, minlength=groups.weights.size)
    return np.sqrt(squares)


def split(
    w: Vector, parts: Vector, groups: FlatGroups, radius: Vector, latent: bool, tol: float = 0.0
) -> Vector:
    """w − Σ parts_g at the best parts, which replace the ones given: those are where to start.

    With a ``tol``, they are found when nothing moves by more than that.
    """
    from spinney.optim.penalties._overlap_kernels import group_admm, group_sweeps

    arrays = (groups.ptr, groups.members, radius, latent)
    largest = float(np.max(np.abs(w), initial=0.0))
    tol, tol_admm = max(TOLERANCE * largest, tol), max(TOLERANCE_ADMM * largest, tol)
    if group_sweeps(w - gathered(groups, parts), parts, *arrays, tol, MAX_SWEEPS) > tol:
        other = parts.copy()
        max_iter = min(MAX_ADMM, MAX_UPDATES // parts.size)
        found = group_admm(w, other, *arrays, tol_admm, max_iter) <= tol_admm
        if found or _cost(w, other, groups, radius, latent) < _cost(w, parts, groups, radius, latent):
            parts[:] = other
    return w - gathered(groups, parts)


def rough_split(w: Vector, parts: Vector, groups: FlatGroups, radius: Vector, accuracy: float) -> Vector:
    """A feasible split under the overlapping norm: swept until a sweep changes the rest by a hundredth, or nothing.

    ``accuracy`` is the size of the rest under which it is nothing. A rest that is far larger after some sweeps will
    not go away, and need not be known any better.
    """
    from spinney.optim.penalties._overlap_kernels import group_sweeps

    rest = w - gathered(groups, parts)
    for looks in range(1, MAX_SWEEPS // ROUGH_SWEEPS):
        moved = group_sweeps(rest, parts, groups.ptr, groups.members, radius, False, 0.0, ROUGH_SWEEPS)
        size = max(float(np.max(np.abs(rest), initial=0.0)), accuracy)
        if moved <= 0.01 * size or (looks >= ENOUGH_LOOKS and size > FAR * accuracy):
            break
    return rest


def _cost(w: Vector, parts: Vector, groups: FlatGroups, radius: Vector, latent: bool) -> float:
    rest = w - gathered(groups, parts)
    return 0.5 * float(rest @ rest) + (float(radius @ norms_of_copies(groups, parts)) if latent else 0.0)


def tidy(u: Vector, w: Vector) -> Vector:
    """``u``, a prox of ``w``, with the zeros that rounding hides: what is tiny, and what has not the sign of ``w``."""
    largest = np.max(np.abs(w), initial=0.0)
    return np.where((u * w > 0) & (np.abs(u) > TINY * largest), u, 0.0)
