# mypy: ignore-errors
"""The kernel of multinomial coordinate descent."""

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


@njit(WRITE(READ, ROWS, ENDS, COLUMNS, COLUMNS, MATRIX, READ), cache=True, nogil=True, fastmath=REASSOCIATE)
def pair_curvatures(data, indices, indptr, features, classes, P, s):
    """Of each pair (j, k) the curvature Σᵢ x_ij² sᵢ p_ik(1 − p_ik).

    Never quite 0, so that a weight which makes its examples certain can come back.
    """
    out = np.zeros(features.size)
    for c in range(features.size):
        j, k = features[c], classes[c]
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e] if indices.size else e - indptr[j]
            out[c] += data[e] * data[e] * s[i] * max(P[k, i] * (1.0 - P[k, i]), 1e-100)
    return out


@njit(f8(READ, ROWS, i8, i8, i8, MATRIX, READ, MATRIX, READ), cache=True, nogil=True, fastmath=REASSOCIATE)
def pair_slope(data, indices, start, end, k, P, s, D, S):
    """How far the slope at a pair has changed: Σᵢ x_ij sᵢ p_ik (d_ik − Sᵢ)."""
    total = 0.0
    for e in range(start, end):
        i = indices[e] if indices.size else e - start
        total += data[e] * s[i] * P[k, i] * (D[k, i] - S[i])
    return total


@njit(void(READ, ROWS, i8, i8, i8, f8, MATRIX, MATRIX, WRITE), cache=True, nogil=True, fastmath=REASSOCIATE)
def move_pair(data, indices, start, end, k, delta, P, D, S):
    """Tell the margins that the weight of a pair has changed by ``delta``."""
    for e in range(start, end):
        i = indices[e] if indices.size else e - start
        change = delta * data[e]
        D[k, i] += change
        S[i] += P[k, i] * change


@njit(void(READ, ROWS, ENDS, COLUMNS, COLUMNS, READ, MATRIX), cache=True, nogil=True, fastmath=REASSOCIATE)
def pair_margins(data, indices, indptr, features, classes, v, out):
    """Add to the margins [K, n] what the weights ``v`` of these pairs make of the examples."""
    for c in range(features.size):
        j, k = features[c], classes[c]
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e] if indices.size else e - indptr[j]
            out[k, i] += v[c] * data[e]


@njit(WRITE(READ, ROWS, ENDS, COLUMNS, COLUMNS, MATRIX), cache=True, nogil=True, fastmath=REASSOCIATE)
def pair_slopes(data, indices, indptr, features, classes, slopes):
    """Σᵢ x_ij·slopes_ik of each pair."""
    out = np.zeros(features.size)
    for c in range(features.size):
        j, k = features[c], classes[c]
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e] if indices.size else e - indptr[j]
            out[c] += data[e] * slopes[k, i]
    return out


@njit(MATRIX(MATRIX, READ, MATRIX), cache=True, nogil=True, fastmath=REASSOCIATE)
def bent(P, s, D):
    """The Hessian of each example times the change of its margins: sᵢ p_ik (d_ik − Σ_l p_il·d_il), all [K, n]."""
    K, n = P.shape
    out, mean = np.empty((K, n)), np.zeros(n)
    for k in range(K):
        for i in range(n):
            mean[i] += P[k, i] * D[k, i]
    for k in range(K):
        for i in range(n):
            out[k, i] = s[i] * P[k, i] * (D[k, i] - mean[i])
    return out


@njit(f8(MATRIX, READ, MATRIX, READ, MATRIX, WRITE), cache=True, nogil=True, fastmath=REASSOCIATE)
def move_intercepts(W, slopes, P, s, D, S):
    """Descend over the intercepts, the last row of ``W``, if there are ``slopes``; returns the largest slope met."""
    worst = 0.0
    for k in range(slopes.size):
        slope, total = slopes[k], 1e-12
        for i in range(S.size):
            slope += s[i] * P[k, i] * (D[k, i] - S[i])
            total += s[i] * P[k, i] * (1.0 - P[k, i])
        change = -slope / total
        W[W.shape[0] - 1, k] += change
        for i in range(S.size):
            D[k, i] += change
            S[i] += P[k, i] * change
        worst = max(worst, abs(slope))
    return worst


@njit(
    f8(
        READ,
        ROWS,
        ENDS,
        COLUMNS,
        COLUMNS,
        READ,
        READ,
        READ,
        MATRIX,
        MATRIX,
        READ,
        MATRIX,
        WRITE,
        READ,
        READ,
        READ,
        f8,
        i8,
    ),
    cache=True,
    nogil=True,
    fastmath=REASSOCIATE,
)
def multinomial_passes(
    data, indices, indptr, features, classes, start_slope, start, reach, W, P, s, D, S, l1, l2, intercept, tol,
    max_passes,
):  # fmt: skip
    """Cyclic descent over pairs (feature, class) for the quadratic model of the multinomial loss.

    The Hessian of example i is sᵢ(diag(pᵢ) − pᵢpᵢᵀ), so with D the change of the margins [K, n] and
    Sᵢ = Σ_l p_il·d_il, the model's gradient at (j, k) is start_slope + Σᵢ x_ij sᵢ p_ik (d_ik − Sᵢ): one pass over
    column j, whatever the number of classes. ``W`` is (p + intercept, K). No weight moves further than ``reach``
    from ``start``: where a class is all but impossible the curvature is tiny and the model trusted too far.
    """
    curvature = pair_curvatures(data, indices, indptr, features, classes, P, s)
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for c in range(features.size):
            total = curvature[c] + l2[c]
            if total <= 0.0:
                continue
            j, k = features[c], classes[c]
            slope = start_slope[c] + pair_slope(data, indices, indptr[j], indptr[j + 1], k, P, s, D, S)
            old = W[j, k]
            new = soft_threshold(old * curvature[c] - slope, l1[c]) / total
            new = min(max(new, start[c] - reach[c]), start[c] + reach[c])
            if new != old:
                W[j, k] = new
                move_pair(data, indices, indptr[j], indptr[j + 1], k, new - old, P, D, S)
                worst = max(worst, abs(new - old) * total)
        worst = max(worst, move_intercepts(W, intercept, P, s, D, S))
        if worst <= tol:
            break
    return worst
