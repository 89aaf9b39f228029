# mypy: ignore-errors
"""Kernels of group coordinate descent."""

from __future__ import annotations

import numpy as np
from numba.types import f8, i8, void

from spinney.compiling import njit
from spinney.optim.solvers.coordinate._kernels import (
    COLUMNS,
    ENDS,
    READ,
    ROWS,
    WRITE,
    column_dot,
    move_along_column,
    move_intercept,
    soft_threshold,
)


@njit(WRITE(READ, ROWS, ENDS, ENDS, COLUMNS, COLUMNS, ENDS, READ), cache=True, nogil=True)
def group_blocks(data, indices, indptr, ptr, members, groups, block_ptr, h):
    """The Gram block X_gᵀ·diag(h)·X_g of each group, one after the other in a flat array."""
    blocks = np.zeros(block_ptr[-1])
    column = np.zeros(h.size)
    for b in range(groups.size):
        if block_ptr[b + 1] == block_ptr[b]:
            continue
        first, last = ptr[groups[b]], ptr[groups[b] + 1]
        d = last - first
        for a in range(d):
            j = members[first + a]
            move_along_column(data, indices, indptr[j], indptr[j + 1], 1.0, h, column)
            for c in range(a + 1):
                k = members[first + c]
                value = column_dot(data, indices, indptr[k], indptr[k + 1], column)
                blocks[block_ptr[b] + a * d + c] = value
                blocks[block_ptr[b] + c * d + a] = value
            if indices.size:
                for e in range(indptr[j], indptr[j + 1]):
                    column[indices[e]] = 0.0
            else:
                column[:] = 0.0
    return blocks


@njit(WRITE(READ, ROWS, ENDS, ENDS, COLUMNS, COLUMNS, READ, ENDS, READ), cache=True, nogil=True)
def group_bounds(data, indices, indptr, ptr, members, groups, blocks, block_ptr, h):
    """An upper estimate of the largest eigenvalue of each X_gᵀ·diag(h)·X_g, by power iteration."""
    bounds = np.zeros(groups.size)
    margins = np.zeros(h.size)
    for b in range(groups.size):
        first, last = ptr[groups[b]], ptr[groups[b] + 1]
        d = last - first
        v = np.ones(d)
        product = np.empty(d)
        for _ in range(30):
            v /= max(np.sqrt((v * v).sum()), 1e-300)
            if block_ptr[b + 1] > block_ptr[b]:
                for a in range(d):
                    product[a] = 0.0
                    for c in range(d):
                        product[a] += blocks[block_ptr[b] + a * d + c] * v[c]
            else:
                margins[:] = 0.0
                for a in range(d):
                    j = members[first + a]
                    move_along_column(data, indices, indptr[j], indptr[j + 1], v[a], h, margins)
                for a in range(d):
                    j = members[first + a]
                    product[a] = column_dot(data, indices, indptr[j], indptr[j + 1], margins)
            norm = np.sqrt((product * product).sum())
            settled = abs(norm - bounds[b]) <= 1e-3 * norm
            bounds[b] = norm
            for a in range(d):
                v[a] = product[a]
            if settled:
                break
        bounds[b] *= 1.02
    return bounds


@njit(void(WRITE, f8, f8), cache=True, nogil=True)
def sparse_group_threshold(v, l1, lam):
    """The prox of l1‖v‖₁ + lam‖v‖₂, in place."""
    norm = 0.0
    for a in range(v.size):
        v[a] = soft_threshold(v[a], l1)
        norm += v[a] * v[a]
    norm = np.sqrt(norm)
    shrink = 1.0 - lam / norm if norm > lam else 0.0
    for a in range(v.size):
        v[a] *= shrink


@njit(
    f8(
        READ,
        ROWS,
        ENDS,
        ENDS,
        COLUMNS,
        COLUMNS,
        READ,
        ENDS,
        READ,
        WRITE,
        READ,
        WRITE,
        READ,
        f8,
        f8,
        f8,
        f8,
        i8,
    ),
    cache=True,
    nogil=True,
)
def group_passes(
    data, indices, indptr, ptr, members, groups, blocks, block_ptr, bounds, w, h, q, lam, l1, l2,
    intercept_curvature, tol, max_passes,
):  # fmt: skip
    """Cyclic descent over whole groups for the model plus Σ_g lam_g‖w_g‖₂ + l1‖w‖₁ + ½l2‖w‖².

    A group with a Gram block is minimised on that block by proximal steps, which cost nothing beside the passes
    over its columns before and after; one without takes a single proximal step.
    """
    widest = 1
    for b in range(groups.size):
        widest = max(widest, ptr[groups[b] + 1] - ptr[groups[b]])
    slope_buffer, new_buffer, trial_buffer = np.empty(widest), np.empty(widest), np.empty(widest)
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for b in range(groups.size):
            g = groups[b]
            L = bounds[b] + l2
            if L <= 0.0:
                continue
            first = ptr[g]
            d = ptr[g + 1] - first
            slope, new, trial = slope_buffer[:d], new_buffer[:d], trial_buffer[:d]
            for a in range(d):
                j = members[first + a]
                slope[a] = column_dot(data, indices, indptr[j], indptr[j + 1], q) + l2 * w[j]
                new[a] = w[j]
            inner_steps = 100 if block_ptr[b + 1] > block_ptr[b] else 1
            for inner in range(inner_steps):
                for a in range(d):
                    gradient = slope[a]
                    if inner > 0:
                        gradient += l2 * (new[a] - w[members[first + a]])
                        for c in range(d):
                            gradient += blocks[block_ptr[b] + a * d + c] * (new[c] - w[members[first + c]])
                    trial[a] = new[a] - gradient / L
                sparse_group_threshold(trial, l1 / L, lam[g] / L)
                change = 0.0
                for a in range(d):
                    change = max(change, abs(trial[a] - new[a]) * L)
                    new[a] = trial[a]
                if inner == 0:
                    worst = max(worst, change)
                if change <= 0.3 * tol:
                    break
            for a in range(d):
                j = members[first + a]
                if new[a] != w[j]:
                    move_along_column(data, indices, indptr[j], indptr[j + 1], new[a] - w[j], h, q)
                    w[j] = new[a]
        if intercept_curvature > 0.0:
            slope_free = q.sum()
            w[w.size - 1] -= slope_free / intercept_curvature
            move_intercept(-slope_free / intercept_curvature, h, q)
            worst = max(worst, abs(slope_free))
        if worst <= tol:
            break
    return worst
