"""Walking along the grams of a model."""

from __future__ import annotations

import numpy as np
from numba import njit

from spinney.lm._trie_kernels import find


@njit(cache=True, nogil=True)
def link_contexts(event_context, event_gram, parent, depth, up, symbol, end):
    """The context that each gram is, or -1: before an event stand the grams of the event before it."""
    following = np.full(symbol.size, np.int32(-1))
    for e in range(1, event_context.size):
        g, c = event_gram[e - 1], event_context[e]
        if symbol[g] == end:
            continue
        if depth[event_context[e - 1]] == depth[c]:  # as long as contexts can be
            g = up[g]
        while c > 0 and following[g] < 0:  # where one is linked, all its suffixes are
            following[g] = c
            g, c = up[g], parent[c]
    return following


@njit(cache=True, nogil=True)
def walk(ids, n_events, order, n_symbols, following, table_keys, table_grams):
    """Contexts before each event by their length, and the grams that they make with it; -1: never seen."""
    contexts = np.full((n_events, order), np.int32(-1))
    grams = np.full((n_events, order), np.int32(-1))
    state = np.zeros(order, np.int32)  # state[d]: the context of d symbols
    known = 1
    e = 0
    for i in range(ids.size):
        y = ids[i]
        if y == n_symbols - 1:
            known = 1
            if following[y] >= 0:
                state[1] = following[y]
                known = 2
            continue
        contexts[e, :known] = state[:known]
        seen = 0
        while y >= 0 and seen < known:
            g = find(np.int64(state[seen]) * n_symbols + y, table_keys, table_grams)
            if g < 0:
                break
            grams[e, seen] = g
            seen += 1
        known = 1
        while known <= seen and following[grams[e, known - 1]] >= 0:
            state[known] = following[grams[e, known - 1]]
            known += 1
        e += 1
    return contexts, grams


@njit(cache=True, nogil=True)
def slot_in(key, n_slots):
    """Where to look for a key first; any number of slots below 2^32."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(((mixed >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def fill_rows(keys, first, logp, following, backoff, rows, values):
    """An open-addressing table of the grams from ``first`` on; all that a query asks of one lies together.

    ``values`` is the same memory as ``rows``, as floats: key | log p(gram) | its back-off weight | its context.
    """
    for g in range(first, keys.size):
        slot = slot_in(keys[g], rows.shape[0])
        while rows[slot, 0] >= 0:
            slot = slot + 1 if slot + 1 < rows.shape[0] else 0
        rows[slot, 0] = keys[g]
        values[slot, 1] = logp[g]
        values[slot, 2] = backoff[following[g]] if following[g] >= 0 else 0.0
        rows[slot, 3] = following[g]


@njit(cache=True, nogil=True)
def backoff_scores(ids, scores, order, n_symbols, logp, following, backoff, rows, values):
    """log p of each event: the longest seen gram, and the back-off weights of the longer contexts."""
    context = np.empty(order, np.int64)  # known contexts of 1, 2, … symbols
    weight = np.empty(order, np.float64)
    known = 0
    e = 0
    for i in range(ids.size):
        y = ids[i]
        if y < 0:
            scores[e] = -np.inf
            e += 1
            known = 0
            continue
        p = logp[y]
        c = np.int64(following[y])  # the context that the gram found last is, and its weight
        w = backoff[c] if c >= 0 else 0.0
        if y == n_symbols - 1:
            known = 0
        longest = 0
        while longest < known:
            key = context[longest] * n_symbols + y
            slot = slot_in(key, rows.shape[0])
            while rows[slot, 0] >= 0 and rows[slot, 0] != key:
                slot = slot + 1 if slot + 1 < rows.shape[0] else 0
            if rows[slot, 0] < 0:
                break
            context[longest], weight[longest] = c, w
            p, w, c = values[slot, 1], values[slot, 2], rows[slot, 3]
            longest += 1
        for k in range(longest, known):
            p += weight[k]
        known = longest
        if c >= 0:
            context[known], weight[known] = c, w
            known += 1
        if y < n_symbols - 1:
            scores[e] = p
            e += 1
