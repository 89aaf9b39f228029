# mypy: ignore-errors
"""Compiled sums over the labellings that contain a phrase, and the best set of phrases that do not overlap.

The labels of a sentence are a Markov chain: p(y_t | y_{t−1}) = exp(edge + score + log β_t(y_t) − log β_{t−1}(y_{t−1})).
Written in this way, a phrase costs one step per token, and only what is truly improbable underflows. The messages β are
in logs: they are computed once per token, and only for labels of phrases, of which there are few.
"""

import numpy as np

from spinney.compiling import njit
from spinney.inference._decoding_kernels import longest


@njit(cache=True, nogil=True)
def backward(a, b, scores, kinds, edges, beta):
    """log β_t(y): the sum over all ways to label what follows token t, which has label y. Returns log Z."""
    Y = scores.shape[1]
    beta[b - a - 1, :Y] = 0.0
    total = 0.0
    for t in range(b - 1, a - 1, -1):
        into = edges[kinds[t]]
        after = beta[t - a]
        for y in range(Y) if t > a else range(Y, Y + 1):
            top = -np.inf
            for z in range(Y):
                top = max(top, into[y, z] + scores[t, z] + after[z])
            total = 0.0
            if top > -np.inf:
                for z in range(Y):
                    total += np.exp(into[y, z] + scores[t, z] + after[z] - top)
                total = np.log(total) + top
            else:
                total = -np.inf
            if t > a:
                beta[t - a - 1, y] = total
    return total


@njit(cache=True, nogil=True)
def steps(a, b, scores, kinds, edges, starts, breaks, number, beta, marginal, begun, ended, kept):
    """What the phrases of a sentence are made of; returns log Z.

    ``begun[t, y]``: the probability that a phrase starts at t, with label y; ``ended[t, y]``: that a phrase whose
    label at t is y ends there, given all up to t; ``kept[t, c]``: the probability of the second label of pair c at t
    (which continues a phrase), given its first at t − 1. ``number[y, z]`` is the number of the pair, or −1.
    """
    Y = scores.shape[1]
    log_z = backward(a, b, scores, kinds, edges, beta)
    n = b - a
    begun[:n] = 0.0
    ended[:n] = 0.0
    ended[n - 1] = 1.0
    kept[:n] = 0.0
    if log_z == -np.inf:
        return log_z
    before, here = marginal[0], marginal[1]
    for t in range(a, b):
        into, after = edges[kinds[t]], beta[t - a]
        here[:] = 0.0
        for y in range(Y) if t > a else range(Y, Y + 1):
            share = before[y] if t > a else 1.0
            if share <= 0.0:
                continue
            scale = beta[t - a - 1, y] if t > a else log_z
            for z in range(Y):
                p = np.exp(into[y, z] + scores[t, z] + after[z] - scale)
                here[z] += share * p
                if starts[y, z]:
                    begun[t - a, z] += share * p
                if t > a:
                    if breaks[y, z]:
                        ended[t - a - 1, y] += p
                    if number[y, z] >= 0:
                        kept[t - a, number[y, z]] = p
        before, here = here, before
    return log_z


@njit(cache=True, nogil=True)
def follow(running, kept, first, second, after):
    """The labels of a running phrase one token on."""
    after[:] = 0.0
    total = 0.0
    for c in range(first.size):
        p = running[first[c]] * kept[c]
        after[second[c]] += p
        total += p
    return total


@njit(cache=True, nogil=True)
def find(
    offsets, scores, kinds, edges, starts, breaks, kind_of, number, first, second, least,
    counts, start, stop, kind, probability, expected, log_z,
):  # fmt: skip
    """All phrases whose probability is at least ``least``, in the order of their starts, then of their ends.

    From each start, the probability that a phrase is still running bounds that of all longer ones, so the pass ends
    there exactly. Returns how many there are; those beyond the room in the arrays are only counted.
    """
    Y, room, n_found = scores.shape[1], start.size, 0
    n = longest(offsets)
    beta, begun, ended = np.empty((n, Y)), np.empty((n, Y)), np.empty((n, Y))
    kept, marginal, running = np.empty((n, first.size)), np.empty((2, Y)), np.empty((2, Y))
    by_kind = np.empty(kind_of.max() + 1 if Y else 0)
    for i in range(offsets.size - 1):
        a, b = offsets[i], offsets[i + 1]
        expected[i], log_z[i], counts[i] = 0.0, 0.0, 0
        if a == b:
            continue
        log_z[i] = steps(
            a, b, scores, kinds, edges, starts, breaks, number, beta, marginal, begun, ended, kept
        )
        for s in range(b - a):
            here, after = running[0], running[1]
            here[:] = begun[s]
            total = here.sum()
            expected[i] += total
            t = s
            while total > 0.0 and total >= least:
                by_kind[:] = 0.0
                for y in range(Y):
                    if here[y] > 0.0:
                        by_kind[kind_of[y]] += here[y] * ended[t, y]
                for k in range(by_kind.size):
                    if by_kind[k] > 0.0 and by_kind[k] >= least:
                        if n_found < room:
                            start[n_found], stop[n_found], kind[n_found] = s, t + 1, k
                            probability[n_found] = min(by_kind[k], 1.0)
                        n_found += 1
                        counts[i] += 1
                t += 1
                if t == b - a:
                    break
                total = follow(here, kept[t], first, second, after)
                here, after = after, here
    return n_found


@njit(cache=True, nogil=True)
def score(
    offsets, scores, kinds, edges, starts, breaks, kind_of, number, first, second,
    bounds, start, stop, kind, probability, log_z,
):  # fmt: skip
    """The probabilities of given phrases; those of sentence i are numbers bounds[i] up to bounds[i+1]."""
    Y, n = scores.shape[1], longest(offsets)
    beta, begun, ended = np.empty((n, Y)), np.empty((n, Y)), np.empty((n, Y))
    kept, marginal, running = np.empty((n, first.size)), np.empty((2, Y)), np.empty((2, Y))
    for i in range(offsets.size - 1):
        a, b = offsets[i], offsets[i + 1]
        log_z[i] = 0.0
        if a == b:
            continue
        log_z[i] = steps(
            a, b, scores, kinds, edges, starts, breaks, number, beta, marginal, begun, ended, kept
        )
        for j in range(bounds[i], bounds[i + 1]):
            here, after = running[0], running[1]
            for y in range(Y):
                here[y] = begun[start[j], y] if kind_of[y] == kind[j] else 0.0
            for t in range(start[j] + 1, stop[j]):
                follow(here, kept[t], first, second, after)
                here, after = after, here
            p = 0.0
            for y in range(Y):
                p += here[y] * ended[stop[j] - 1, y]
            probability[j] = min(p, 1.0)


@njit(cache=True, nogil=True)
def best_sets(lengths, bounds, start, stop, gain, chosen):
    """For each sentence, the phrases without overlap whose gains have the largest sum; of equal sets, the smaller.

    The phrases of a sentence stand in the order of their starts.
    """
    n = 0
    for i in range(lengths.size):
        n = max(n, lengths[i])
    best, choice = np.empty(n + 1), np.empty(n, np.int64)
    for i in range(lengths.size):
        j = bounds[i + 1] - 1
        best[lengths[i]] = 0.0
        for t in range(lengths[i] - 1, -1, -1):
            best[t], choice[t] = best[t + 1], -1
            while j >= bounds[i] and start[j] == t:
                found = gain[j] + best[stop[j]]
                if found > best[t]:
                    best[t], choice[t] = found, j
                j -= 1
        t = 0
        while t < lengths[i]:
            if choice[t] >= 0:
                chosen[choice[t]] = True
                t = stop[choice[t]]
            else:
                t += 1
