# mypy: ignore-errors
"""The variances of the labels of chains, and coordinate descent on the models of a quasi-Newton method."""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def chain_variances(offsets, kinds, psi, M, weights, pair_variance):
    """Turn potentials ``psi[t, y]`` into weight·p(1 − p), p the probability of y at t, and add up those of pairs.

    Given x, the labels are a Markov chain, whose transitions P_t(y | y') = ψ_t(y) M_t(y', y) β_t(y) / Σ come out of one
    backward pass. ``pair_variance[kind, y', y]`` gains weight·q(1 − q), q the probability of the pair at a token.
    """
    Y = psi.shape[1]
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    P = np.zeros((longest, Y + 1, Y))
    p, before, total, beta = np.zeros(Y), np.zeros(Y + 1), np.zeros(Y), np.zeros(Y)
    for i in range(len(offsets) - 1):
        a, T, c = offsets[i], offsets[i + 1] - offsets[i], weights[i]
        beta[:] = 1.0
        for t in range(T - 1, -1, -1):
            matrix, highest = M[kinds[a + t]], 0.0
            for x in range(0 if t > 0 else Y, Y if t > 0 else Y + 1):
                z, into, row = 0.0, P[t, x], matrix[x]
                for y in range(Y):
                    into[y] = psi[a + t, y] * row[y] * beta[y]
                    z += into[y]
                if z > 0.0:
                    for y in range(Y):
                        into[y] /= z
                if t > 0:
                    total[x] = z
                    highest = max(highest, z)
            if t > 0 and highest > 0.0:
                for y in range(Y):
                    beta[y] = total[y] / highest
        before[:] = 0.0
        before[Y] = 1.0
        for t in range(T):
            spread = pair_variance[kinds[a + t]]
            p[:] = 0.0
            for x in range(0 if t > 0 else Y, Y if t > 0 else Y + 1):
                for y in range(Y):
                    q = before[x] * P[t, x, y]
                    p[y] += q
                    spread[x, y] += c * q * (1.0 - q)
            for y in range(Y):
                before[y] = p[y]
                psi[a + t, y] = c * p[y] * (1.0 - p[y])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def minimise_low_rank(g, w, l1, l2, base, A, C, new, tol, sweeps):
    """Coordinate descent on g·d + ½d'(diag(base) − C A')d + Σ l1_j|w_j + d_j| + ½l2‖w + d‖², with w + d in ``new``.

    A coordinate costs as much as a row of A and C has columns, for A'd is kept up to date. Ends when no coordinate of a
    full sweep moves by more than ``tol``, in the units of the gradient; between full sweeps only the coordinates that
    are not 0 are visited. Returns the number of sweeps.
    """
    k, m = A.shape
    along, curvature = np.zeros(m), np.empty(k)  # A'd
    for j in range(k):
        fallen = 0.0
        for i in range(m):
            fallen += A[j, i] * C[j, i]
        curvature[j] = max(base[j] - fallen, 1e-8 * base[j])
    whole = True
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(k):
            if not whole and new[j] == 0.0:
                continue
            learned, row, h = 0.0, C[j], curvature[j]
            for i in range(m):
                learned += row[i] * along[i]
            x = h * new[j] - (g[j] + base[j] * (new[j] - w[j]) - learned)
            z = 0.0
            if x > l1[j]:
                z = (x - l1[j]) / (h + l2)
            elif x < -l1[j]:
                z = (x + l1[j]) / (h + l2)
            delta = z - new[j]
            if delta != 0.0:
                worst = max(worst, abs(delta) * (h + l2))
                new[j] = z
                change = A[j]
                for i in range(m):
                    along[i] += delta * change[i]
        if worst <= tol:
            if whole:
                return sweep + 1
            whole = True
        else:
            whole = sweep % 5 == 4
    return sweeps
