# mypy: ignore-errors
"""Kernels of coordinate descent under overlapping groups.

The state of the groups is kept up to date while coordinates move. It is a matrix with a row, one line of the
processor's cache, for each group: the sum of squares ``SQUARE``, how many coordinates are not zero (``ACTIVE``),
λ_g/‖w_g‖ (``RATE``) and λ_g/‖w_g‖³ (``BEND``), both 0 for a zero group, and λ_g (``STRENGTH``). The groups of feature j
are ``held_by[held_ptr[j]:held_ptr[j+1]]``.
"""

from __future__ import annotations

import numpy as np
from numba.types import Array, f8, i4, i8, void

from spinney.compiling import njit
from spinney.optim.solvers.coordinate._kernels import (
    COLUMNS,
    ENDS,
    MATRIX,
    READ,
    REASSOCIATE,
    ROWS,
    WRITE,
    column_dot,
    move_along_column,
    move_intercept,
    soft_threshold,
)
from spinney.optim.solvers.coordinate._multinomial_kernels import (
    move_intercepts,
    move_pair,
    pair_curvatures,
    pair_slope,
)

SQUARE, ACTIVE, RATE, BEND, STRENGTH, WIDTH = 0, 1, 2, 3, 4, 8
HOLDERS = Array(i4, 1, "C", readonly=True)


@njit(void(MATRIX, READ, ENDS, HOLDERS, i8), cache=True, nogil=True)
def set_groups(groups, w, held_ptr, held_by, n_outputs):
    """The state of the groups at these weights, ``n_outputs`` of them for each feature; their strengths stay."""
    for g in range(groups.shape[0]):
        groups[g, SQUARE] = groups[g, ACTIVE] = 0.0
    for j in range(held_ptr.size - 1):
        total, count = 0.0, 0
        for k in range(n_outputs):
            value = w[j * n_outputs + k]
            total += value * value
            count += value != 0.0
        if count > 0:
            for e in range(held_ptr[j], held_ptr[j + 1]):
                groups[held_by[e], SQUARE] += total
                groups[held_by[e], ACTIVE] += count
    for g in range(groups.shape[0]):
        if groups[g, ACTIVE] > 0.0:
            groups[g, SQUARE] = max(groups[g, SQUARE], 1e-300)  # squares of tiny weights vanish
            groups[g, RATE] = groups[g, STRENGTH] / np.sqrt(groups[g, SQUARE])
            groups[g, BEND] = groups[g, RATE] / groups[g, SQUARE]
        else:
            groups[g, RATE] = groups[g, BEND] = 0.0


@njit(f8(f8, f8, f8, f8, MATRIX, HOLDERS, i8, i8), cache=True, nogil=True)
def coordinate_step(old, slope, curvature, l1, groups, held_by, first, last):
    """Where one coordinate should go, on slope·δ + ½curvature·δ² + l1|w| + Σ_g λ_g√(w² + rest_g).

    A group that is zero but for this coordinate has the corner λ_g|w|. The others are bounded by parabolas: on the way
    out, where they bend ever less, by the second derivative here; on the way to 0 by λ_g/‖w_g‖.
    """
    corner, pull, loose = l1, 0.0, 0.0
    mine = 1.0 if old != 0.0 else 0.0
    for e in range(first, last):
        g = held_by[e]
        if groups[g, ACTIVE] == mine:
            corner += groups[g, STRENGTH]
        else:
            pull += groups[g, RATE]
            loose += groups[g, BEND]
    if mine == 0.0:
        return soft_threshold(-slope, corner) / (curvature + pull)
    gradient = slope + pull * old + (corner if old > 0.0 else -corner)
    if gradient * old < 0.0:
        return old - gradient / (curvature + max(pull - loose * old * old, 0.0))
    return soft_threshold(old * curvature - slope, corner) / (curvature + pull)


@njit(f8(f8, f8, MATRIX, HOLDERS, i8, i8), cache=True, nogil=True)
def move_groups(old, new, groups, held_by, first, last):
    """Tell the groups of a coordinate that it went from ``old`` to ``new``; returns what they pull now."""
    gained = new * new - old * old
    born = (1.0 if new != 0.0 else 0.0) - (1.0 if old != 0.0 else 0.0)
    pull = 0.0
    for e in range(first, last):
        g = held_by[e]
        groups[g, ACTIVE] += born
        if groups[g, ACTIVE] == 0.0:
            groups[g, SQUARE] = groups[g, RATE] = groups[g, BEND] = 0.0
        else:
            # Where one coordinate is all, its square is the sum: no rounding is left from those that have gone.
            if groups[g, ACTIVE] == 1.0 and new != 0.0:
                square = new * new
            else:
                square = groups[g, SQUARE] + gained
            square = max(square, 1e-300)
            rate = groups[g, STRENGTH] / np.sqrt(square)
            groups[g, SQUARE], groups[g, RATE], groups[g, BEND] = square, rate, rate / square
            pull += rate
    return pull


@njit(cache=True, nogil=True)
def stuck_coordinates(coordinates, grad, l1, groups, held_ptr, held_by, n_outputs):
    """Which of these coordinates, all 0, the corners of their zero groups hold back one by one."""
    out = np.zeros(coordinates.size, np.bool_)
    for a in range(coordinates.size):
        j = coordinates[a] // n_outputs
        corner = l1
        for e in range(held_ptr[j], held_ptr[j + 1]):
            if groups[held_by[e], ACTIVE] == 0.0:
                corner += groups[held_by[e], STRENGTH]
        out[a] = abs(grad[coordinates[a]]) <= corner
    return out


@njit(
    f8(READ, ROWS, ENDS, COLUMNS, READ, WRITE, READ, WRITE, f8, f8, MATRIX, ENDS, HOLDERS, f8, f8, i8),
    cache=True,
    nogil=True,
)
def overlap_passes(
    data, indices, indptr, columns, curvature, w, h, q, l1, l2, groups, held_ptr, held_by, intercept_curvature, tol,
    max_passes,
):  # fmt: skip
    """Cyclic descent over ``columns`` for the quadratic model plus Σ_g λ_g‖w_g‖ + l1‖w‖₁ + ½l2‖w‖²."""
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for a in range(columns.size):
            j = columns[a]
            if curvature[j] <= 0.0:
                continue
            old, first, last = w[j], held_ptr[j], held_ptr[j + 1]
            slope = column_dot(data, indices, indptr[j], indptr[j + 1], q) + l2 * old
            new = coordinate_step(old, slope, curvature[j], l1, groups, held_by, first, last)
            if new != old:
                w[j] = new
                move_along_column(data, indices, indptr[j], indptr[j + 1], new - old, h, q)
                pull = move_groups(old, new, groups, held_by, first, last)
                worst = max(worst, abs(new - old) * (curvature[j] + pull))
        if intercept_curvature > 0.0:
            slope = q.sum()
            w[w.size - 1] -= slope / intercept_curvature
            move_intercept(-slope / intercept_curvature, h, q)
            worst = max(worst, abs(slope))
        if worst <= tol:
            break
    return worst


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def multinomial_overlap_passes(
    data, indices, indptr, features, classes, start_slope, start, reach, W, P, s, D, S, l1, l2, intercept, groups,
    held_ptr, held_by, tol, max_passes,
):  # fmt: skip
    """:func:`multinomial_passes` with groups of features: of each group all the weights of its features."""
    curvature = pair_curvatures(data, indices, indptr, features, classes, P, s)
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for c in range(features.size):
            total = curvature[c] + l2
            if total <= 0.0:
                continue
            j, k = features[c], classes[c]
            old, first, last = W[j, k], held_ptr[j], held_ptr[j + 1]
            slope = start_slope[c] + l2 * old
            slope += pair_slope(data, indices, indptr[j], indptr[j + 1], k, P, s, D, S)
            new = coordinate_step(old, slope, total, l1, groups, held_by, first, last)
            new = min(max(new, start[c] - reach[c]), start[c] + reach[c])
            if new != old:
                W[j, k] = new
                move_pair(data, indices, indptr[j], indptr[j + 1], k, new - old, P, D, S)
                pull = move_groups(old, new, groups, held_by, first, last)
                worst = max(worst, abs(new - old) * (total + pull))
        worst = max(worst, move_intercepts(W, intercept, P, s, D, S))
        if worst <= tol:
            break
    return worst


@njit(cache=True, nogil=True)
def group_diagonals(support, groups, held_ptr, held_by):
    """Of each coordinate of the support the sums of λ_g/‖w_g‖ and of λ_g/‖w_g‖³ over its groups."""
    pull, loose = np.zeros(support.size), np.zeros(support.size)
    for a in range(support.size):
        for e in range(held_ptr[support[a]], held_ptr[support[a] + 1]):
            pull[a] += groups[held_by[e], RATE]
            loose[a] += groups[held_by[e], BEND]
    return pull, loose


@njit(cache=True, nogil=True)
def less_radial_part(support, w, v, groups, held_ptr, held_by, radial, out):
    """out −= Σ_g λ_g/‖w_g‖³ · w_g(w_g·v_g): a norm does not bend along its own direction. ``radial`` is scratch."""
    for a in range(support.size):
        along = w[a] * v[a]
        for e in range(held_ptr[support[a]], held_ptr[support[a] + 1]):
            radial[held_by[e]] += along
    for g in range(radial.size):
        radial[g] *= groups[g, BEND]
    for a in range(support.size):
        total = 0.0
        for e in range(held_ptr[support[a]], held_ptr[support[a] + 1]):
            total += radial[held_by[e]]
        out[a] -= w[a] * total
    radial[:] = 0.0
