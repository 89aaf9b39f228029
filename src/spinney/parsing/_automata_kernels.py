# mypy: ignore-errors
"""Kernels of head automata: inside-outside over all projective trees, and expectations of EM.

A half tree is a head i, all its modifiers on one side d (0 left, 1 right) and theirs, up to place j. The automaton of
the head has a vector for it, ``comp[d, i, j]``; ``half[d, i, j] = stop · comp[d, i, j]`` is its score when no modifier
follows. ``inc[i, m]`` is the vector right after the head i has taken m, before m's modifiers on the far side.
"""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def _dot(x, y):
    total = 0.0
    for a in range(len(x)):
        total += x[a] * y[a]
    return total


@njit(cache=True, nogil=True)
def _link(i, j, step, d, A, factor, comp, half, inc, pre):
    """inc[i, j] = A_j Σ_k comp[d, i, k] half[1 - d, j, k + step], k from i on, short of j."""
    n = len(pre)
    for a in range(n):
        pre[a] = 0.0
    k = i
    while k != j:
        weight = half[1 - d, j, k + step]
        for a in range(n):
            pre[a] += weight * comp[d, i, k, a]
        k += step
    for a in range(n):
        for b in range(n):
            inc[i, j, a] += A[a, b] * pre[b] * factor


@njit(cache=True, nogil=True)
def _complete(i, j, step, d, stop, comp, half, inc):
    """comp[d, i, j] = Σ_m inc[i, m] half[d, m, j], m after i up to j."""
    m = i
    while m != j:
        m += step
        weight = half[d, m, j]
        for a in range(len(stop)):
            comp[d, i, j, a] += weight * inc[i, m, a]
    for a in range(len(stop)):
        half[d, i, j] += stop[a] * comp[d, i, j, a]


@njit(cache=True, nogil=True)
def _complete_back(i, j, step, d, stop, half, inc, comp_out, half_out, inc_out):
    """The derivatives of `_complete`."""
    for a in range(len(stop)):
        comp_out[d, i, j, a] += stop[a] * half_out[d, i, j]
    m = i
    while m != j:
        m += step
        weight, total = half[d, m, j], 0.0
        for a in range(len(stop)):
            inc_out[i, m, a] += weight * comp_out[d, i, j, a]
            total += comp_out[d, i, j, a] * inc[i, m, a]
        half_out[d, m, j] += total


@njit(cache=True, nogil=True)
def _link_back(i, j, step, d, A, factor, comp, half, comp_out, half_out, inc_out, pre):
    """The derivatives of `_link`."""
    n = len(pre)
    for b in range(n):
        pre[b] = 0.0
    for a in range(n):
        for b in range(n):
            pre[b] += A[a, b] * inc_out[i, j, a] * factor
    k = i
    while k != j:
        weight, total = half[1 - d, j, k + step], 0.0
        for a in range(n):
            comp_out[d, i, k, a] += weight * pre[a]
            total += pre[a] * comp[d, i, k, a]
        half_out[1 - d, j, k + step] += total
        k += step


@njit(cache=True, nogil=True)
def inside_outside(tags, factors, start, matrices, stop, single_root, mu):
    """The total Z of all projective trees; ``mu[h, m]`` becomes the share of the trees with that edge in it.

    ``tags[1:]`` are those of the words. Automaton 2t + d is that of tag t on side d, the last that of the root, place
    0. ``matrices[k, t]`` is A of automaton k for the modifier t. Word m is worth ``factors[m]`` times as much, which
    keeps numbers in range and changes no share. Outside quantities are the derivatives of log Z.
    """
    L, n = len(tags) - 1, start.shape[1]
    root = len(start) - 1
    first = 1 if single_root else 0
    comp, half = np.zeros((2, L + 1, L + 1, n)), np.zeros((2, L + 1, L + 1))
    inc, pre = np.zeros((L + 1, L + 1, n)), np.empty(n)
    owner = np.empty((2, L + 1), np.int64)  # the automaton of each place and side
    for d in range(2):
        for i in range(L + 1):
            owner[d, i] = 2 * tags[i] + d if i > 0 else root
            comp[d, i, i] = start[owner[d, i]]
            half[d, i, i] = _dot(stop[owner[d, i]], start[owner[d, i]])
    for width in range(1, L + 1 - first):
        for i in range(first, L + 1 - width):
            for d in range(1 if i == 0 else 0, 2):  # the head at the right end, then at the left one
                h, m = (i, i + width) if d == 1 else (i + width, i)
                k = owner[d, h]
                _link(h, m, 2 * d - 1, d, matrices[k, tags[m]], factors[m], comp, half, inc, pre)
                _complete(h, m, 2 * d - 1, d, stop[k], comp, half, inc)

    Z = half[1, 0, L]
    taken = np.zeros(L + 1)  # what the root gives to each word as its only modifier
    if single_root:
        Z = 0.0
        for m in range(1, L + 1):
            for a in range(n):
                taken[m] += stop[root, a] * _dot(matrices[root, tags[m], a], start[root]) * factors[m]
            Z += taken[m] * half[0, m, 1] * half[1, m, L]
    if Z == 0.0 or not np.isfinite(Z):
        return Z
    comp_out, half_out, inc_out = np.zeros_like(comp), np.zeros_like(half), np.zeros_like(inc)
    if single_root:
        for m in range(1, L + 1):
            half_out[0, m, 1] = taken[m] * half[1, m, L] / Z
            half_out[1, m, L] = taken[m] * half[0, m, 1] / Z
            mu[0, m] = half_out[0, m, 1] * half[0, m, 1]
    else:
        half_out[1, 0, L] = 1.0 / Z
    for width in range(L - first, 0, -1):
        for i in range(first, L + 1 - width):
            for d in range(1 if i == 0 else 0, 2):
                h, m = (i, i + width) if d == 1 else (i + width, i)
                k, step = owner[d, h], 2 * d - 1
                _complete_back(h, m, step, d, stop[k], half, inc, comp_out, half_out, inc_out)
                mu[h, m] = _dot(inc_out[h, m], inc[h, m])
                A = matrices[k, tags[m]]
                _link_back(h, m, step, d, A, factors[m], comp, half, comp_out, half_out, inc_out, pre)
    return Z


@njit(cache=True, nogil=True)
def expectations(
    modifiers, offsets, counts, first, end, start, matrices, stop, start_sum, matrix_sum, stop_sum
):
    """The E-step of one automaton over its sequences: expected numbers are added up; log-likelihood.

    Forward vectors are scaled to sum to 1, backward ones alike, so that no sequence is too long.
    """
    n = len(start)
    longest = 0
    for s in range(first, end):
        longest = max(longest, offsets[s + 1] - offsets[s])
    ahead, scale = np.empty((longest + 1, n)), np.empty(longest + 1)
    behind, before = np.empty(n), np.empty(n)
    log_likelihood = 0.0
    for s in range(first, end):
        word, length = offsets[s], offsets[s + 1] - offsets[s]
        for a in range(n):
            ahead[0, a] = start[a]
        for t in range(length):
            A = matrices[modifiers[word + t]]
            total = 0.0
            for a in range(n):
                ahead[t + 1, a] = _dot(A[a], ahead[t])
                total += ahead[t + 1, a]
            for a in range(n):
                ahead[t + 1, a] /= total
            scale[t] = total
            log_likelihood += counts[s] * np.log(total)
        total = _dot(stop, ahead[length])
        log_likelihood += counts[s] * np.log(total)
        for a in range(n):
            behind[a] = stop[a] / total
            stop_sum[a] += counts[s] * behind[a] * ahead[length, a]
        for t in range(length - 1, -1, -1):
            A, sums = matrices[modifiers[word + t]], matrix_sum[modifiers[word + t]]
            before[:] = 0.0
            for a in range(n):
                for b in range(n):
                    value = A[a, b] * behind[a] / scale[t]
                    before[b] += value
                    sums[a, b] += counts[s] * value * ahead[t, b]
            behind, before = before, behind
        for a in range(n):
            start_sum[a] += counts[s] * behind[a] * start[a]
    return log_likelihood
