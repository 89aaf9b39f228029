# mypy: ignore-errors
"""Kernels of Newton steps among weights of the same signs, where an elastic net is smooth.

A vector over the face has an entry for each column of the support and, if it is longer, one for the intercept.
"""

from __future__ import annotations

import numpy as np
from numba.types import f8, i8, void

from spinney.compiling import njit
from spinney.optim.solvers.coordinate._kernels import (
    COLUMNS,
    ENDS,
    READ,
    REASSOCIATE,
    ROWS,
    WRITE,
    column_dot,
)


@njit(void(READ, ROWS, ENDS, COLUMNS, READ, WRITE), cache=True, nogil=True, fastmath=REASSOCIATE)
def face_margins(data, indices, indptr, support, v, out):
    """out = X_A·v, and the intercept's part of v."""
    out[:] = v[support.size] if v.size > support.size else 0.0
    for a in range(support.size):
        start, end, value = indptr[support[a]], indptr[support[a] + 1], v[a]
        if indices.size == 0:
            for i in range(end - start):
                out[i] += value * data[start + i]
        else:
            for k in range(start, end):
                out[indices[k]] += value * data[k]


@njit(void(READ, ROWS, ENDS, COLUMNS, READ, WRITE), cache=True, nogil=True, fastmath=REASSOCIATE)
def face_slopes(data, indices, indptr, support, q, out):
    """out = X_Aᵀ·q, and Σq for the intercept."""
    for a in range(support.size):
        out[a] = column_dot(data, indices, indptr[support[a]], indptr[support[a] + 1], q)
    if out.size > support.size:
        out[support.size] = q.sum()


@njit(
    i8(READ, ROWS, ENDS, COLUMNS, READ, READ, READ, READ, WRITE, f8, i8),
    cache=True,
    nogil=True,
    fastmath=REASSOCIATE,
)
def newton_direction(data, indices, indptr, support, h, l2, diagonal, gradient, found, tol, max_products):
    """−(X_Aᵀ·diag(h)·X_A + diag(l2))⁻¹·gradient by conjugate gradients, preconditioned by the diagonal.

    ``found`` must be 0. They end when no entry of the residual is larger than ``tol``. Returns the number of products.
    """
    size = gradient.size
    residual, product = -gradient, np.empty(size)
    margins = np.empty(h.size)
    p = residual / diagonal
    rz = (residual * p).sum()
    for n in range(max_products):
        face_margins(data, indices, indptr, support, p, margins)
        margins *= h
        face_slopes(data, indices, indptr, support, margins, product)
        bend = 0.0
        for a in range(size):
            product[a] += l2[a] * p[a]
            bend += p[a] * product[a]
        if bend <= 0.0:
            return n
        step, worst, last, rz = rz / bend, 0.0, rz, 0.0
        for a in range(size):
            found[a] += step * p[a]
            residual[a] -= step * product[a]
            worst = max(worst, abs(residual[a]))
            rz += residual[a] * residual[a] / diagonal[a]
        if worst <= tol:
            return n
        for a in range(size):
            p[a] = residual[a] / diagonal[a] + rz / last * p[a]
    return max_products
