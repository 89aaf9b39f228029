# mypy: ignore-errors
"""Kernels of group descent with several margins an example: whole rows of the weight matrix at a time.

The model of the loss is separable over outputs: q and h, its slope and curvature in the margins, are matrices with one
row per example, so that the weights of a feature for all outputs cost one pass over its column, along rows of memory.
"""

from __future__ import annotations

import numpy as np
from numba.types import f8, i8

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

CALM = 0.3  # a group that moved by less than this share of the tolerance rests until the next call
NEARLY = 1.2  # a group whose rows pull, one by one, with a squared norm of no more than this times λ² may belong at 0


@njit(MATRIX(READ, ROWS, ENDS, COLUMNS, MATRIX), cache=True, nogil=True, fastmath=REASSOCIATE)
def row_curvatures(data, indices, indptr, features, h):
    """Σᵢ x_ij² h_ik of each of these features, for all outputs."""
    K = h.shape[1]
    out = np.zeros((features.size, K))
    for a in range(features.size):
        j = features[a]
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e] if indices.size else e - indptr[j]
            square = data[e] * data[e]
            for k in range(K):
                out[a, k] += square * h[i, k]
    return out


@njit(ENDS(ROWS, ENDS, ENDS, COLUMNS, i8), cache=True, nogil=True)
def crowding(indices, indptr, ptr, members, n_rows):
    """Of each group, in how many of its columns one example stands at most.

    So many times its diagonal bounds a Gram matrix of these columns.
    """
    out = np.ones(ptr.size - 1, np.int64)
    count = np.zeros(n_rows, np.int64)
    for g in range(ptr.size - 1):
        if indices.size == 0:
            out[g] = max(ptr[g + 1] - ptr[g], 1)
            continue
        for a in range(ptr[g], ptr[g + 1]):
            for e in range(indptr[members[a]], indptr[members[a] + 1]):
                count[indices[e]] += 1
                out[g] = max(out[g], count[indices[e]])
        for a in range(ptr[g], ptr[g + 1]):
            for e in range(indptr[members[a]], indptr[members[a] + 1]):
                count[indices[e]] = 0
    return out


@njit(f8(MATRIX, MATRIX, f8), cache=True, nogil=True)
def length_of_prox(pull, bend, lam):
    """‖v‖ at the minimum of −pull·v + ½Σ bend·v² + lam‖v‖: the root of Σ (pull/(bend·ρ + lam))² = 1, by bisection."""
    square, least = 0.0, np.inf
    for a in range(pull.shape[0]):
        for k in range(pull.shape[1]):
            square += pull[a, k] * pull[a, k]
            if pull[a, k] != 0.0:
                least = min(least, bend[a, k])
    norm = np.sqrt(square)
    if norm <= lam:
        return 0.0
    low, high = 0.0, (norm - lam) / max(least, 1e-300)
    for _ in range(60):
        middle = 0.5 * (low + high)
        total = 0.0
        for a in range(pull.shape[0]):
            for k in range(pull.shape[1]):
                part = pull[a, k] / (bend[a, k] * middle + lam)
                total += part * part
        if total > 1.0:
            low = middle
        else:
            high = middle
        if high - low <= 1e-6 * high:
            break
    return 0.5 * (low + high)


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def row_slopes(data, indices, start, end, q, out):
    """x_j · q for all outputs."""
    out[:] = 0.0
    for e in range(start, end):
        i = indices[e] if indices.size else e - start
        x = data[e]
        for k in range(out.size):
            out[k] += x * q[i, k]


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def move_row(data, indices, start, end, change, h, q):
    """Tell the slopes of the model that the weights of a feature have changed."""
    for e in range(start, end):
        i = indices[e] if indices.size else e - start
        x = data[e]
        for k in range(change.size):
            q[i, k] += x * h[i, k] * change[k]


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def move_intercepts(free_curvature, W, h, q):
    """A Newton step of each intercept, in the last row of W, which no penalty holds; the steepest of their slopes."""
    steepest = 0.0
    for k in range(free_curvature.size):
        total = 0.0
        for i in range(q.shape[0]):
            total += q[i, k]
        delta = -total / free_curvature[k]
        W[W.shape[0] - 1, k] += delta
        for i in range(q.shape[0]):
            q[i, k] += delta * h[i, k]
        steepest = max(steepest, abs(total))
    return steepest


@njit(
    f8(
        READ, ROWS, ENDS, ENDS, COLUMNS, COLUMNS, ENDS, MATRIX, ENDS, MATRIX, MATRIX, MATRIX, READ, f8, f8, WRITE, f8,
        i8,
    ),
    cache=True,
    nogil=True,
    fastmath=REASSOCIATE,
)  # fmt: skip
def row_passes(
    data, indices, indptr, ptr, members, groups, places, curvature, crowd, W, h, q, lam, l1, l2, free_curvature, tol,
    max_passes,
):  # fmt: skip
    """Cyclic descent for the model plus Σ_g lam_g‖W_g‖ + l1‖W‖₁ + ½l2‖W‖² over these groups.

    A group leaves 0, in the first pass, and goes there by one proximal step of all its rows. Else rows move one by one,
    with each norm below its parabola λ(‖W_g‖²/ρ + ρ)/2 that touches it at ρ = ‖W_g‖. The rows of ``curvature`` for the
    group in place b begin at ``places[b]``.
    """
    K = q.shape[1]
    widest = 1
    for b in range(groups.size):
        widest = max(widest, ptr[groups[b] + 1] - ptr[groups[b]])
    pulls, bends = np.empty((widest, K)), np.empty((widest, K))
    suspect = np.zeros(groups.size, np.bool_)  # whether a group may be on its way to 0
    calm = np.zeros(groups.size, np.bool_)  # whether it hardly moved when it was last visited
    slope, change = np.empty(K), np.empty(K)
    worst = 0.0
    for turn in range(max_passes):
        worst = 0.0
        for b in range(groups.size):
            if turn > 0 and calm[b]:
                continue
            g = groups[b]
            first, d = ptr[g], ptr[g + 1] - ptr[g]
            square = 0.0
            for a in range(d):
                for k in range(K):
                    square += W[members[first + a], k] * W[members[first + a], k]
            if square == 0.0 and turn > 0:
                continue
            if lam[g] > 0.0 and (square == 0.0 or suspect[b]):
                step, left = float(crowd[g]), 0.0
                for a in range(d):
                    j = members[first + a]
                    row_slopes(data, indices, indptr[j], indptr[j + 1], q, slope)
                    for k in range(K):
                        bend = step * curvature[places[b] + a, k]
                        pulls[a, k] = soft_threshold(bend * W[j, k] - slope[k], l1)
                        left += pulls[a, k] * pulls[a, k]
                        bends[a, k] = bend + l2
                stays = left <= lam[g] * lam[g]
                suspect[b] = False
                if square == 0.0 and stays:
                    continue
                if square == 0.0 or stays:
                    length = 0.0 if stays else length_of_prox(pulls[:d], bends[:d], lam[g])
                    for a in range(d):
                        j = members[first + a]
                        for k in range(K):
                            new = pulls[a, k] / (bends[a, k] + lam[g] / length) if length > 0.0 else 0.0
                            change[k] = new - W[j, k]
                            worst = max(worst, abs(change[k]) * bends[a, k] / step)
                            W[j, k] = new
                        move_row(data, indices, indptr[j], indptr[j + 1], change, h, q)
                    continue
            rate, left, farthest = lam[g] / max(np.sqrt(square), 1e-150) if lam[g] > 0.0 else 0.0, 0.0, 0.0
            for a in range(d):
                j = members[first + a]
                row_slopes(data, indices, indptr[j], indptr[j + 1], q, slope)
                largest = 0.0
                for k in range(K):
                    bend, old = curvature[places[b] + a, k], W[j, k]
                    total = bend + l2 + rate
                    pull = soft_threshold(bend * old - slope[k], l1)
                    left += pull * pull
                    change[k] = pull / total - old if total > 0.0 else 0.0
                    largest = max(largest, abs(change[k]) * total)
                    W[j, k] = old + change[k] if pull != 0.0 else 0.0
                if largest > 0.0:
                    move_row(data, indices, indptr[j], indptr[j + 1], change, h, q)
                    farthest = max(farthest, largest)
            worst = max(worst, farthest)
            calm[b] = farthest <= CALM * tol
            suspect[b] = left <= NEARLY * lam[g] * lam[g]
        worst = max(worst, move_intercepts(free_curvature, W, h, q))
        if worst <= tol:
            break
    return worst
