# mypy: ignore-errors
"""The log-linear model on a suffix trie: scores, normalisers and expectations in one sweep down and one up.

Of context u with parent p, and gram g = (u, v) with parent gram up(g) = (p, v):

    s(g) = s(up(g)) + θ(g)                                   the score of v after u
    Z(u) = Z(p) + Σ_{g of u} exp s(up(g)) · expm1 θ(g)           only what followed u changes the normaliser

Symbols that never followed u keep the score they have after p, so the cost is that of the grams, not of the vocabulary
(Nelakanti 2014, ch. 3; in the spirit of Wu & Khudanpur 2000).
"""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit
from spinney.lm._trie_kernels import find


@njit(cache=True, nogil=True)
def scores_and_normalisers(theta, up, parent, gram_ptr, silent, e, Z, silent_e):
    """Fill e(g) = exp s(g) and Z(u) from θ = x w, scores shifted so that the largest at a root is 0.

    ``silent[r]`` symbols of root r have no gram there: they score 0, shifted exp(0) is ``silent_e[r]``.
    """
    scores_at_roots(theta, gram_ptr, silent, e, Z, silent_e)
    scores_below(silent.size, theta, up, parent, gram_ptr, e, Z)


@njit(cache=True, nogil=True)
def scores_at_roots(theta, gram_ptr, silent, e, Z, silent_e):
    """The same of the roots alone, which come first."""
    for u in range(silent.size):
        top = 0.0 if silent[u] > 0 else -np.inf
        for g in range(gram_ptr[u], gram_ptr[u + 1]):
            top = max(top, theta[g])
        silent_e[u] = np.exp(-top)
        z = silent[u] * silent_e[u]
        for g in range(gram_ptr[u], gram_ptr[u + 1]):
            e[g] = np.exp(theta[g] - top)
            z += e[g]
        Z[u] = z


@njit(cache=True, nogil=True)
def scores_below(first, theta, up, parent, gram_ptr, e, Z):
    """The same of the contexts from ``first`` on, where those of the roots are known."""
    for u in range(first, parent.size):
        above, more = Z[parent[u]], 0.0
        for g in range(gram_ptr[u], gram_ptr[u + 1]):
            before = e[up[g]]
            if theta[g] == 0.0:  # most weights of a sparse model
                e[g] = before
            else:
                e[g] = before * np.exp(theta[g])
                more += e[g] - before
        Z[u] = above + more


@njit(cache=True, nogil=True)
def negative_log_likelihood(e, Z, context, ends_with):
    """−Σ ends_with(g) log(e(g)/Z(u)): ``ends_with[g]`` events have g as their longest gram."""
    total = 0.0
    for g in range(e.size):
        if ends_with[g] > 0:
            total -= ends_with[g] * np.log(e[g] / Z[context[g]])
    return total


@njit(cache=True, nogil=True)
def expected_counts(e, Z, up, context, parent, ends, expected):
    """E(g) = Σ_{events after u} P(v | the event's context): the model's counterpart of the count of g."""
    R = shares(Z, parent, ends)
    rest = np.empty(e.size)
    for g in range(e.size):
        rest[g] = R[context[g]]
    expected_from(0, e, R, up, context, rest, expected)


@njit(cache=True, nogil=True)
def shares(Z, parent, ends):
    """R(u) = Σ_{events after u} 1/Z of their longest context."""
    R = ends / Z
    for u in range(parent.size - 1, -1, -1):
        if parent[u] >= 0:
            R[parent[u]] += R[u]
    return R


@njit(cache=True, nogil=True)
def expected_from(first, e, R, up, context, rest, expected):
    """Fill E of the grams from ``first`` on, and add to those before them what their children there expect.

    Events whose longer contexts know v are counted in the children of g; the others see v with the score e(g), and
    ``rest[g]`` is their share of R. It begins as R of the context of g, and the children take theirs away.
    """
    expected[:] = 0.0
    for g in range(e.size - 1, first - 1, -1):
        # All of R may have gone to the children: what rounding leaves is not a share.
        expected[g] += e[g] * max(rest[g], 0.0)
        if up[g] >= 0:
            rest[up[g]] -= R[context[g]]
            expected[up[g]] += expected[g]


@njit(cache=True, nogil=True)
def top_contexts(parent, n_roots):
    """For each context the one below a root that it is, or that is above it; -1 for roots."""
    top = np.full(parent.size, -1, np.int32)
    for u in range(n_roots, parent.size):
        top[u] = u if parent[u] < n_roots else top[parent[u]]
    return top


@njit(cache=True, nogil=True)
def sums_to_ancestors(values, up):
    """Add to each node what its descendants hold."""
    for g in range(values.size - 1, -1, -1):
        if up[g] >= 0:
            values[up[g]] += values[g]


@njit(cache=True, nogil=True)
def from_roots(values, up):
    """Give each node the value of the root above it."""
    for g in range(values.size):
        if up[g] >= 0:
            values[g] = values[up[g]]


@njit(cache=True, nogil=True)
def sums_from_ancestors(values, up):
    """Add to each node what its ancestors hold."""
    for g in range(values.size):
        if up[g] >= 0:
            values[g] += values[up[g]]


@njit(cache=True, nogil=True)
def match(ids, position, room, root, length, place, text, context_keys, context_places, n_symbols):
    """The deepest node that the symbols before ``position`` reach, and how many of its contexts they match.

    ``text`` is the stream that the trie was made from, in which the symbols of collapsed nodes are read.
    """
    u, matched, k = root, length[root], np.int32(0)
    while k < room and matched == length[u]:
        k += 1
        symbol = ids[position - k]
        if symbol < 0:
            break
        child = find(np.int64(u) * n_symbols + symbol, context_keys, context_places)
        if child < 0:
            break
        u, matched = child, np.int32(1)
        while matched < length[u] and k < room and ids[position - k - 1] == text[place[u] - k - 1]:
            k += 1
            matched += 1
    return u, matched


@njit(cache=True, nogil=True)
def event_scores(
    ids, events, room, roots, outcomes, parent, depth, length, place, text, gram_ptr, up, theta, e, Z, silent_e,
    context_keys, context_places, gram_keys, gram_places, n_symbols, n_outcomes, logs, matches,
):  # fmt: skip
    """Fill the log-probability of each event, and the length of the context that it matches."""
    for i in range(events.size):
        u, matched = match(
            ids, events[i], room[i], roots[i], length, place, text, context_keys, context_places, n_symbols,
        )  # fmt: skip
        matches[i] = depth[u] - length[u] + matched
        y = outcomes[i]
        share = 1.0
        if y < 0:
            logs[i] = -np.inf
            continue
        if matched == length[u]:
            z, above = Z[u], u
        else:  # the context ends inside node u: some of its contexts count
            z, above = Z[parent[u]], parent[u]
            share = matched / length[u]
            for g in range(gram_ptr[u], gram_ptr[u + 1]):
                z += e[up[g]] * np.expm1(theta[g] * share)
        score = silent_e[roots[i]]
        g = np.int32(-1)
        if above != u:
            g = find(np.int64(u) * n_outcomes + y, gram_keys, gram_places)
            if g >= 0:
                score = e[up[g]] * np.exp(theta[g] * share)
        while g < 0 and above >= 0:  # the longest context that y ever followed
            g = find(np.int64(above) * n_outcomes + y, gram_keys, gram_places)
            if g >= 0:
                score = e[g]
            above = parent[above]
        logs[i] = np.log(score / z)
