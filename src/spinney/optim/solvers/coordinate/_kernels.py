# mypy: ignore-errors
"""Kernels of coordinate descent: columns of a design matrix, and elastic-net steps over them.

A design is three flat arrays. Sparse (CSC): the entries of column j are ``data[indptr[j]:indptr[j+1]]`` at rows
``indices[...]``. Dense (column-major): the same slice is the whole column and ``indices`` is empty, which is how
the loops below tell the two apart.

A Newton step minimises the quadratic model of the loss at the current point plus the penalty. With r the
derivative and h the curvature of the loss in the margins, and d the change of the margins so far, the model's
derivative q = r + h∘d is kept up to date, so that one coordinate costs one pass over its column.
"""

from __future__ import annotations

import numpy as np
from numba.types import Array, boolean, f8, i4, i8, void

from spinney.compiling import njit

# The types that kernels take, so that each is compiled once: what is only read may be read-only (a mapped file).
READ = Array(f8, 1, "C", readonly=True)
WRITE = f8[::1]
MATRIX = f8[:, ::1]
ROWS = Array(i4, 1, "C", readonly=True)
ENDS = COLUMNS = Array(i8, 1, "C", readonly=True)
REASSOCIATE = {
    "reassoc",
    "contract",
    "nsz",
    "arcp",
}  # lets dot products use SIMD; NaN and inf keep their meaning


@njit(f8(f8, f8), cache=True, nogil=True)
def soft_threshold(a, r):
    if a > r:
        return a - r
    if a < -r:
        return a + r
    return 0.0


@njit(f8(READ, ROWS, i8, i8, READ), cache=True, nogil=True, fastmath=REASSOCIATE)
def column_dot(data, indices, start, end, q):
    """x_j · q"""
    total = 0.0
    if indices.size == 0:
        for i in range(end - start):
            total += data[start + i] * q[i]
    else:
        for k in range(start, end):
            total += data[k] * q[indices[k]]
    return total


@njit(f8(READ, ROWS, i8, i8, READ), cache=True, nogil=True, fastmath=REASSOCIATE)
def column_square_dot(data, indices, start, end, h):
    """Σ x_ij² h_i: the curvature of the model along coordinate j."""
    total = 0.0
    if indices.size == 0:
        for i in range(end - start):
            total += data[start + i] * data[start + i] * h[i]
    else:
        for k in range(start, end):
            total += data[k] * data[k] * h[indices[k]]
    return total


@njit(void(READ, ROWS, i8, i8, f8, READ, WRITE), cache=True, nogil=True, fastmath=REASSOCIATE)
def move_along_column(data, indices, start, end, delta, h, q):
    """q += δ·h∘x_j"""
    if indices.size == 0:
        for i in range(end - start):
            q[i] += delta * h[i] * data[start + i]
    else:
        for k in range(start, end):
            i = indices[k]
            q[i] += delta * h[i] * data[k]


@njit(void(READ, ROWS, ENDS, COLUMNS, READ, READ, WRITE), cache=True, nogil=True)
def move_along_columns(data, indices, indptr, columns, delta, h, q):
    """q += h∘(X_A·δ)"""
    for a in range(columns.size):
        if delta[a] != 0.0:
            j = columns[a]
            move_along_column(data, indices, indptr[j], indptr[j + 1], delta[a], h, q)


@njit(void(f8, READ, WRITE), cache=True, nogil=True, fastmath=REASSOCIATE)
def move_intercept(delta, h, q):
    """q += δ·h"""
    for i in range(q.size):
        q[i] += delta * h[i]


@njit(
    f8(READ, ROWS, ENDS, COLUMNS, READ, WRITE, READ, WRITE, READ, READ, READ, f8, f8, i8),
    cache=True,
    nogil=True,
)
def elastic_net_passes(
    data, indices, indptr, columns, curvature, w, h, q, l1, l2, tilt, intercept_curvature, tol, max_passes
):
    """Cyclic descent over ``columns`` for the model plus Σ l1_j|w_j| + ½l2_j·w_j² + tilt_j·w_j.

    ``w`` ends with the intercept when ``intercept_curvature`` (Σh) is positive. Stops when the largest first-order
    violation met in a pass is at most ``tol``, and returns the violation met in the last pass.
    """
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for a in range(columns.size):
            j = columns[a]
            if curvature[a] <= 0.0:
                continue
            old = w[j]
            slope = column_dot(data, indices, indptr[j], indptr[j + 1], q) + l2[j] * old + tilt[j]
            new = soft_threshold(old * curvature[a] - slope, l1[j]) / curvature[a]
            if new != old:
                w[j] = new
                move_along_column(data, indices, indptr[j], indptr[j + 1], new - old, h, q)
                worst = max(worst, abs(new - old) * curvature[a])
        if intercept_curvature > 0.0:
            slope = q.sum()
            w[w.size - 1] -= slope / intercept_curvature
            move_intercept(-slope / intercept_curvature, h, q)
            worst = max(worst, abs(slope))
        if worst <= tol:
            break
    return worst


@njit(WRITE(READ, ROWS, ENDS, COLUMNS, READ), cache=True, nogil=True)
def column_slopes(data, indices, indptr, columns, q):
    """X_Aᵀ·q"""
    out = np.empty(columns.size)
    for a in range(columns.size):
        j = columns[a]
        out[a] = column_dot(data, indices, indptr[j], indptr[j + 1], q)
    return out


@njit(WRITE(READ, ROWS, ENDS, COLUMNS, READ), cache=True, nogil=True)
def column_curvatures(data, indices, indptr, columns, h):
    """diag(X_Aᵀ·diag(h)·X_A)"""
    out = np.empty(columns.size)
    for a in range(columns.size):
        j = columns[a]
        out[a] = column_square_dot(data, indices, indptr[j], indptr[j + 1], h)
    return out


@njit(MATRIX(READ, ROWS, ENDS, COLUMNS, READ), cache=True, nogil=True, fastmath=REASSOCIATE)
def sparse_gram(data, indices, indptr, columns, h):
    """G = X_Aᵀ·diag(h)·X_A, by adding the outer product of each example's few entries in A."""
    n, size = h.size, columns.size
    row_start = np.zeros(n + 1, np.int64)
    for a in range(size):
        for k in range(indptr[columns[a]], indptr[columns[a] + 1]):
            row_start[indices[k] + 1] += 1
    for i in range(n):
        row_start[i + 1] += row_start[i]
    position = row_start[:-1].copy()
    column_of = np.empty(row_start[n], np.int32)
    entry_of = np.empty(row_start[n])
    for a in range(size):
        for k in range(indptr[columns[a]], indptr[columns[a] + 1]):
            i = indices[k]
            column_of[position[i]] = a
            entry_of[position[i]] = data[k]
            position[i] += 1
    G = np.zeros((size, size))
    for i in range(n):
        for k in range(row_start[i], row_start[i + 1]):
            a, scaled = column_of[k], h[i] * entry_of[k]
            for l in range(row_start[i], k + 1):
                G[a, column_of[l]] += scaled * entry_of[l]
    for a in range(size):
        for b in range(a):
            G[b, a] = G[a, b]
    return G


@njit(boolean(MATRIX, WRITE, WRITE, READ, READ, f8, i8), cache=True, nogil=True, fastmath=REASSOCIATE)
def gram_descent(G, slope, w, l1, l2, tol, max_passes):
    """Descent for ½(w−w₀)ᵀG(w−w₀) + slopeᵀ(w−w₀) + Σ l1|w| + ½Σ l2·w², keeping ``slope`` the model's gradient.

    Returns whether the last pass moved no coordinate by more than ``tol``, in the units of the gradient.
    """
    for _ in range(max_passes):
        worst = 0.0
        for a in range(w.size):
            curvature = G[a, a] + l2[a]
            if curvature <= 0.0:
                continue
            old = w[a]
            new = soft_threshold(old * G[a, a] - slope[a], l1[a]) / curvature
            if new != old:
                w[a] = new
                row = G[a]
                for b in range(w.size):
                    slope[b] += (new - old) * row[b]
                worst = max(worst, abs(new - old) * curvature)
        if worst <= tol:
            return True
    return False
