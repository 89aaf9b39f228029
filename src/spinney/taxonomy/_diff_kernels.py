# mypy: ignore-errors
"""Coordinate updates of DIFF."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def descend(f, L, kappa, decrease, max_sweeps):
    """Lower tr(LᵀML), M = −ffᵀ + κ11ᵀ off its diagonal, one unit row Lᵢ at a time; L is changed in place.

    f [K, d], L [K, r]. Lᵢ ← −Σ_{j≠i} MᵢⱼLⱼ, normalised, is the best row given the others. A = fᵀL and the sum of rows
    follow every change, so that a row costs d·r. Ends when a sweep lowers the objective by less than ``decrease`` times
    its size; gives the number of sweeps.
    """
    n, d = f.shape
    r = L.shape[1]
    A = f.T @ L
    total = L.sum(axis=0)
    g = np.empty(r)
    before = np.inf
    for sweep in range(max_sweeps):
        for i in range(n):
            square = 0.0
            for k in range(r):
                g[k] = -kappa * (total[k] - L[i, k])
            for a in range(d):
                weight = f[i, a]
                square += weight * weight
                for k in range(r):
                    g[k] += weight * A[a, k]
            norm = 0.0
            for k in range(r):
                g[k] -= square * L[i, k]
                norm += g[k] * g[k]
            norm = np.sqrt(norm)
            if norm == 0.0:  # every row is as good as another
                continue
            for k in range(r):
                g[k] = g[k] / norm - L[i, k]  # from here on, the change of the row
                L[i, k] += g[k]
                total[k] += g[k]
            for a in range(d):
                for k in range(r):
                    A[a, k] += f[i, a] * g[k]
        objective = 1.0 - np.sum(A * A) + kappa * np.sum(total * total)
        if before - objective <= decrease * abs(objective):
            return sweep + 1
        before = objective
    return max_sweeps
