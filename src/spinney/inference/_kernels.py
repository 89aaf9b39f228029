# mypy: ignore-errors
"""Sum-product on chains: scaled forward-backward, dense and sparse.

A batch of chains is ``offsets`` (chain i is tokens offsets[i]..offsets[i+1]), potentials ``psi[t, y]`` of labels and,
for each kind of token, a matrix of potentials ``M[kind, y', y]`` of adjacent labels; its row Y stands for the start of
a chain. All potentials are probabilities up to a factor, never logarithms: the caller takes exponentials.
"""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def forward_backward(offsets, kinds, psi, M, weights, alpha, beta, pairs, log_z):
    """Marginals of all chains, and what they say of pairs of labels.

    ``psi`` becomes weight·p(y_t = y); ``pairs[kind, y', y]`` gains Σ_t weight·α_{t−1}(y') v_t(y), which times
    M[kind, y', y] is the expected number of pairs; ``log_z[i]`` becomes the logarithm of the normaliser.
    ``alpha[T, Y+1]`` (the last column holds the scale) and ``beta[2, Y]`` are room to work in.
    """
    Y = psi.shape[1]
    b, v = beta[0], beta[1]
    for i in range(len(offsets) - 1):
        first, end = offsets[i], offsets[i + 1]
        log_z[i] = _forward(first, end, kinds, psi, M, alpha)
        weight = weights[i]
        for y in range(Y):
            b[y] = 1.0
        for t in range(end - 1, first - 1, -1):
            a, p, rescale = alpha[t - first], psi[t], 1.0 / alpha[t - first, Y]
            for y in range(Y):
                v[y] = p[y] * b[y] * rescale  # v_t(y) = ψ_t(y) β_t(y) / c_t
                p[y] = weight * a[y] * b[y]
            into, count = M[kinds[t]], pairs[kinds[t]]
            if t == first:
                for y in range(Y):
                    count[Y, y] += weight * v[y]
            else:
                before = alpha[t - first - 1]
                for z in range(Y):
                    row, counted, c = into[z], count[z], weight * before[z]
                    total = 0.0
                    for y in range(Y):
                        total += row[y] * v[y]
                        counted[y] += c * v[y]
                    b[z] = total  # β_{t−1}(y') = Σ_y M(y', y) v_t(y)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _forward(first, end, kinds, psi, M, alpha):
    """α_t(y) ∝ ψ_t(y) Σ_y' α_{t−1}(y') M(y', y), scaled to sum 1; the scale is in the last column. Returns log Z."""
    Y = psi.shape[1]
    log_z = 0.0
    for t in range(first, end):
        a, p, into = alpha[t - first], psi[t], M[kinds[t]]
        if t == first:
            for y in range(Y):
                a[y] = into[Y, y]
        else:
            before = alpha[t - first - 1]
            for y in range(Y):
                a[y] = 0.0
            for z in range(Y):
                c, row = before[z], into[z]
                for y in range(Y):
                    a[y] += c * row[y]
        log_z += _scale(a, p, Y)
    return log_z


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _scale(a, p, Y):
    """Multiply a by p, scale it to sum 1, keep the scale in a[Y] and return its logarithm."""
    total = 0.0
    for y in range(Y):
        a[y] *= p[y]
        total += a[y]
    if not total > 0.0:
        a[Y] = 1.0
        return (
            np.nan
        )  # every labelling has underflowed: scores are hundreds apart, as after a wild step of a search
    a[Y] = total
    inverse = 1.0 / total
    for y in range(Y):
        a[y] *= inverse
    return np.log(total)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def sparse_forward_backward(
    offsets, kinds, psi, ptr, before, here, excess, weights, alpha, beta, pairs, log_z
):
    """The same where most pairs of labels have potential 1 (Sokolovska 2010, §7.2: exact, not an approximation).

    Kind k has potentials 1 + excess[e] at the pairs (before[e], here[e]), ptr[k] <= e < ptr[k+1], and 1 elsewhere, so
    a step costs Y and the number of its pairs rather than Y². ``pairs[e]`` gains weight·α(y') v(y) of those pairs only.
    """
    Y = psi.shape[1]
    b, v = beta[0], beta[1]
    for i in range(len(offsets) - 1):
        first, end = offsets[i], offsets[i + 1]
        total_log = 0.0
        for t in range(first, end):
            a, p, k = alpha[t - first], psi[t], kinds[t]
            for y in range(Y):
                a[y] = (
                    1.0  # Σ_y' α_{t−1}(y') = 1 after scaling; before the first token, the start label has α = 1
                )
            if t == first:
                for e in range(ptr[k], ptr[k + 1]):
                    if before[e] == Y:
                        a[here[e]] += excess[e]
            else:
                last = alpha[t - first - 1]
                for e in range(ptr[k], ptr[k + 1]):
                    if before[e] < Y:
                        a[here[e]] += last[before[e]] * excess[e]
            total_log += _scale(a, p, Y)
        log_z[i] = total_log
        weight = weights[i]
        for y in range(Y):
            b[y] = 1.0
        for t in range(end - 1, first - 1, -1):
            a, p, k, rescale = alpha[t - first], psi[t], kinds[t], 1.0 / alpha[t - first, Y]
            total = 0.0
            for y in range(Y):
                v[y] = p[y] * b[y] * rescale
                total += v[y]
                p[y] = weight * a[y] * b[y]
            if t == first:
                for e in range(ptr[k], ptr[k + 1]):
                    if before[e] == Y:
                        pairs[e] += weight * v[here[e]]
            else:
                last = alpha[t - first - 1]
                for y in range(Y):
                    b[y] = total
                for e in range(ptr[k], ptr[k + 1]):
                    if before[e] < Y:
                        b[before[e]] += excess[e] * v[here[e]]
                        pairs[e] += weight * last[before[e]] * v[here[e]]
