"""The kernel of multinomial coordinate descent."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.types import f8, i8

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
    curvature = np.zeros(features.size)
    for c in range(features.size):
        j, k = features[c], classes[c]
        for e in range(indptr[j], indptr[j + 1]):
            i = indices[e] if indices.size else e - indptr[j]
            curvature[c] += data[e] * data[e] * s[i] * P[k, i] * (1.0 - P[k, i])
    n_classes, n = P.shape
    p = indptr.size - 1
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for c in range(features.size):
            total = curvature[c] + l2[c]
            if total <= 0.0:
                continue
            j, k = features[c], classes[c]
            slope = start_slope[c]
            for e in range(indptr[j], indptr[j + 1]):
                i = indices[e] if indices.size else e - indptr[j]
                slope += data[e] * s[i] * P[k, i] * (D[k, i] - S[i])
            old = W[j, k]
            new = soft_threshold(old * curvature[c] - slope, l1[c]) / total
            new = min(max(new, start[c] - reach[c]), start[c] + reach[c])
            if new != old:
                W[j, k] = new
                for e in range(indptr[j], indptr[j + 1]):
                    i = indices[e] if indices.size else e - indptr[j]
                    change = (new - old) * data[e]
                    D[k, i] += change
                    S[i] += P[k, i] * change
                worst = max(worst, abs(new - old) * total)
        if intercept.size:
            for k in range(n_classes):
                slope, total = intercept[k], 1e-12
                for i in range(n):
                    slope += s[i] * P[k, i] * (D[k, i] - S[i])
                    total += s[i] * P[k, i] * (1.0 - P[k, i])
                change = -slope / total
                W[p, k] += change
                for i in range(n):
                    D[k, i] += change
                    S[i] += P[k, i] * change
                worst = max(worst, abs(slope))
        if worst <= tol:
            break
    return worst
