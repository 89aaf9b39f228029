# mypy: ignore-errors
"""The kernel of coordinate descent for the pairwise elastic net."""

from __future__ import annotations

from numba.types import f8, i8

from spinney.compiling import njit
from spinney.optim.solvers.coordinate._kernels import MATRIX, REASSOCIATE, WRITE, soft_threshold


@njit(f8(MATRIX, WRITE, MATRIX, WRITE, WRITE, f8, f8, i8), cache=True, nogil=True, fastmath=REASSOCIATE)
def pairwise_passes(G, slope, P, pull, w, lam, tol, max_passes):
    """Cyclic descent for a quadratic with Hessian G plus λ|w|ᵀP|w|; returns the violation met in the last pass.

    ``slope`` is the gradient of the quadratic at w and ``pull`` is P|w|. For one weight the others act as an ℓ1 penalty
    of strength 2λΣ_{j≠i} P_ij|w_j| and a ridge of 2λP_ii (Grave 2014, §6.4.5).
    """
    worst = 0.0
    for _ in range(max_passes):
        worst = 0.0
        for i in range(w.size):
            old = w[i]
            threshold = 2.0 * lam * (pull[i] - P[i, i] * abs(old))
            curvature = G[i, i] + 2.0 * lam * P[i, i]
            if curvature <= 0.0:
                continue
            new = soft_threshold(old * G[i, i] - slope[i], max(threshold, 0.0)) / curvature
            if new != old:
                w[i] = new
                gram, pair = G[i], P[i]
                change, growth = new - old, abs(new) - abs(old)
                for j in range(w.size):
                    slope[j] += change * gram[j]
                    pull[j] += growth * pair[j]
                worst = max(worst, abs(change) * curvature)
        if worst <= tol:
            break
    return worst
