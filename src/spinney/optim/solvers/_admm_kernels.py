# mypy: ignore-errors
"""The kernel of ADMM on copies: one copy of a weight for each group that holds it."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def copies_step(first, last, ptr, members, W, U, strength, rho, norms):
    """The v- and u-steps of the groups ``first`` to ``last - 1`` (Yogatama 2015, Alg. 2).

    ``W`` is (features, outputs), ``U`` (memberships, outputs), and ``U`` alone is kept from one iteration to the next:
    v_g = z_g shrunk, with z_g = w_g − u_g/ρ, and the new u_g = ρ(v_g − z_g). Returns the sums over the copies of each
    weight of v and of u, and the square of the primal residual v − w. ``norms`` takes the ‖v_g‖: 0 exactly where
    a group is removed.
    """
    n_features, n_outputs = W.shape
    sum_v, sum_u = np.zeros((n_features, n_outputs)), np.zeros((n_features, n_outputs))
    primal = 0.0
    for g in range(first, last):
        square = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            for k in range(n_outputs):
                z = W[members[e], k] - U[e, k] / rho
                square += z * z
        norm = np.sqrt(square)
        fall = strength[g] / (rho * norm) if rho * norm > strength[g] else 1.0  # what z_g loses, as a share
        norms[g] = (1.0 - fall) * norm if fall < 1.0 else 0.0
        for e in range(ptr[g], ptr[g + 1]):
            j = members[e]
            for k in range(n_outputs):
                z = W[j, k] - U[e, k] / rho
                v = (1.0 - fall) * z
                U[e, k] = -rho * fall * z  # not ρ(v − z), which would round off the edge of the ball
                sum_v[j, k] += v
                sum_u[j, k] += U[e, k]
                primal += (v - W[j, k]) ** 2
    return sum_v, sum_u, primal
