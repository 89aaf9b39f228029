# mypy: ignore-errors
"""Moments of the vectors of nodes and of their children, rule by rule, smoothed by a chain of simpler ones.

A node of label a has ``n_states[a]`` entries in its rows of ``Z`` (outside) and ``Y`` (inside); it was seen
``weight[node]`` times. The nodes of rule r are ``nodes[use_start[r]:use_start[r + 1]]``, what is found goes to
``out[start[r]:start[r + 1]]``. ``mean_Z[a]`` and ``mean_Y[a]`` are means over all nodes of a label, ``count[a]`` is how
often it was seen.
"""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def binary_moments(
    first,
    last,
    use_start,
    nodes,
    label,
    left,
    right,
    n_states,
    weight,
    Z,
    Y,
    mean_Z,
    mean_Y,
    count,
    C,
    start,
    out,
):
    """``P(rule | a) · E[Z ⊗ Y_left ⊗ Y_right]`` of the binary rules first to last - 1, with its back-off chain."""
    most = Z.shape[1]
    pair, zb, zc = np.empty((most, most)), np.empty((most, most)), np.empty((most, most))
    z, yb, yc = np.empty(most), np.empty(most), np.empty(most)
    for r in range(first, last):
        if use_start[r] == use_start[r + 1]:
            continue
        some = nodes[use_start[r]]
        a, b, c = label[some], label[left[some]], label[right[some]]
        ma, mb, mc = n_states[a], n_states[b], n_states[c]
        E = out[start[r] : start[r + 1]].reshape(ma, mb, mc)
        pair[:], zb[:], zc[:], z[:], yb[:], yc[:] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        n = 0.0
        for i in range(use_start[r], use_start[r + 1]):
            at = nodes[i]
            Za, Yb, Yc, w = Z[at], Y[left[at]], Y[right[at]], weight[at]
            n += w
            for h2 in range(mb):
                yb[h2] += w * Yb[h2]
                for h3 in range(mc):
                    pair[h2, h3] += w * Yb[h2] * Yc[h3]
            for h3 in range(mc):
                yc[h3] += w * Yc[h3]
            for h1 in range(ma):
                x = w * Za[h1]
                z[h1] += x
                for h3 in range(mc):
                    zc[h1, h3] += x * Yc[h3]
                for h2 in range(mb):
                    xy = x * Yb[h2]
                    zb[h1, h2] += xy
                    for h3 in range(mc):
                        E[h1, h2, h3] += xy * Yc[h3]
        lam = np.sqrt(n) / (C + np.sqrt(n))
        three, two, one, none = (
            lam,
            (1 - lam) * lam / (3 * n),
            (1 - lam) ** 2 * lam / (n * n),
            (1 - lam) ** 3 * n,
        )
        scale = 1.0 / count[a]
        for h1 in range(ma):
            for h2 in range(mb):
                # every term that is a multiple of yc, of mean_Y[c], of the pair (h1, ·) and of the pair (h2, ·)
                of_yc = scale * (two * zb[h1, h2] + one * z[h1] * yb[h2])
                of_mean = scale * none * mean_Z[a, h1] * mean_Y[b, h2]
                of_zc, of_pair = scale * two * yb[h2], scale * two * z[h1]
                for h3 in range(mc):
                    E[h1, h2, h3] = (
                        scale * three * E[h1, h2, h3]
                        + of_yc * yc[h3]
                        + of_mean * mean_Y[c, h3]
                        + of_zc * zc[h1, h3]
                        + of_pair * pair[h2, h3]
                    )


@njit(cache=True, nogil=True)
def unary_moments(
    use_start, nodes, label, left, n_states, weight, Z, Y, mean_Z, mean_Y, count, C, start, out
):
    """``P(rule | a) · E[Z ⊗ Y_child]`` of all unary rules, with its back-off chain."""
    most = Z.shape[1]
    z, y = np.empty(most), np.empty(most)
    for r in range(len(use_start) - 1):
        if use_start[r] == use_start[r + 1]:
            continue
        some = nodes[use_start[r]]
        a, b = label[some], label[left[some]]
        E = out[start[r] : start[r + 1]].reshape(n_states[a], n_states[b])
        z[:], y[:] = 0.0, 0.0
        n = 0.0
        for i in range(use_start[r], use_start[r + 1]):
            at = nodes[i]
            w = weight[at]
            n += w
            y += w * Y[left[at]]
            for h1 in range(n_states[a]):
                z[h1] += w * Z[at, h1]
                for h2 in range(n_states[b]):
                    E[h1, h2] += w * Z[at, h1] * Y[left[at], h2]
        lam = np.sqrt(n) / (C + np.sqrt(n))
        for h1 in range(n_states[a]):
            for h2 in range(n_states[b]):
                one, none = z[h1] * y[h2] / n, n * mean_Z[a, h1] * mean_Y[b, h2]
                E[h1, h2] = (lam * E[h1, h2] + (1 - lam) * (lam * one + (1 - lam) * none)) / count[a]
