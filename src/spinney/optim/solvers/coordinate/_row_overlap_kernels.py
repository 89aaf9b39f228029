# mypy: ignore-errors
"""Kernels of descent over rows of the weight matrix under overlapping groups of features.

The model of the loss is that of :mod:`._row_kernels`, separable over outputs; the state of the groups, which hold all
the weights of their features, is that of :mod:`._overlap_kernels`.
"""

from __future__ import annotations

import numpy as np
from numba.types import f8, i8, void

from spinney.compiling import njit
from spinney.optim.solvers.coordinate._kernels import (
    COLUMNS,
    ENDS,
    MATRIX,
    READ,
    REASSOCIATE,
    ROWS,
    WRITE,
    soft_threshold,
)
from spinney.optim.solvers.coordinate._overlap_kernels import (
    ACTIVE,
    BEND,
    HOLDERS,
    RATE,
    SQUARE,
    STRENGTH,
)
from spinney.optim.solvers.coordinate._row_kernels import (
    CALM,
    length_of_prox,
    move_intercepts,
    move_row,
    row_slopes,
)


@njit(void(f8, f8, i8, i8, MATRIX, HOLDERS, i8, i8), cache=True, nogil=True)
def move_row_in_groups(old, new, before, after, groups, held_by, first, last):
    """Tell the groups of a row that its squared norm went from ``old`` to ``new``.

    ``before`` and ``after`` of its weights are not 0.
    """
    for e in range(first, last):
        g = held_by[e]
        groups[g, ACTIVE] += after - before
        if groups[g, ACTIVE] == 0.0:
            groups[g, SQUARE] = groups[g, RATE] = groups[g, BEND] = 0.0
        else:
            # Where one row is all, its square is the sum: no rounding is left from those that have gone.
            square = new if groups[g, ACTIVE] == after else groups[g, SQUARE] + new - old
            square = max(square, 1e-300)
            rate = groups[g, STRENGTH] / np.sqrt(square)
            groups[g, SQUARE], groups[g, RATE], groups[g, BEND] = square, rate, rate / square


@njit(
    f8(
        READ, ROWS, ENDS, COLUMNS, MATRIX, MATRIX, MATRIX, MATRIX, f8, f8, MATRIX, ENDS, HOLDERS, WRITE, f8, i8,
    ),
    cache=True,
    nogil=True,
    fastmath=REASSOCIATE,
)  # fmt: skip
def row_overlap_passes(
    data, indices, indptr, features, curvature, W, h, q, l1, l2, groups, held_ptr, held_by, free_curvature, tol,
    max_passes,
):  # fmt: skip
    """Cyclic descent over rows for the model plus Σ_g λ_g‖W_g‖ + l1‖W‖₁ + ½l2‖W‖².

    A group that is zero but for this row has the corner λ_g‖W_j‖; the norms of the others lie below the parabolas that
    touch them here. Rows that hardly moved, and those that stayed at 0, rest until the next call.
    """
    K = q.shape[1]
    slope, change = np.empty(K), np.empty(K)
    pulls, bends = np.empty((1, K)), np.empty((1, K))
    calm = np.zeros(features.size, np.bool_)
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for a in range(features.size):
            if calm[a]:
                continue
            j = features[a]
            first, last = held_ptr[j], held_ptr[j + 1]
            old, before = 0.0, 0
            for k in range(K):
                old += W[j, k] * W[j, k]
                before += W[j, k] != 0.0
            corner, pull = 0.0, 0.0
            for e in range(first, last):
                g = held_by[e]
                if groups[g, ACTIVE] == before:
                    corner += groups[g, STRENGTH]
                else:
                    pull += groups[g, RATE]
            row_slopes(data, indices, indptr[j], indptr[j + 1], q, slope)
            for k in range(K):
                bends[0, k] = curvature[a, k] + l2 + pull
                pulls[0, k] = soft_threshold(curvature[a, k] * W[j, k] - slope[k], l1)
            length = length_of_prox(pulls, bends, corner) if corner > 0.0 else 1.0
            new, after, farthest = 0.0, 0, 0.0
            for k in range(K):
                value = 0.0
                if length > 0.0 and pulls[0, k] != 0.0:
                    value = pulls[0, k] / (bends[0, k] + corner / length)
                change[k] = value - W[j, k]
                farthest = max(farthest, abs(change[k]) * bends[0, k])
                W[j, k] = value
                new += value * value
                after += value != 0.0
            calm[a] = farthest <= CALM * tol
            if farthest > 0.0:
                worst = max(worst, farthest)
                move_row(data, indices, indptr[j], indptr[j + 1], change, h, q)
                move_row_in_groups(old, new, before, after, groups, held_by, first, last)
        worst = max(worst, move_intercepts(free_curvature, W, h, q))
        if worst <= tol:
            break
    return worst
