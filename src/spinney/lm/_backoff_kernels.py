# mypy: ignore-errors
"""Walking along the grams of a model."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit
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
        for d in range(known):
            contexts[e, d] = state[d]
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
def row_of(key, n_symbols, rows):
    """The row of a gram by its key, or the empty row where it would be."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    n_slots = np.uint64(rows.shape[0] - n_symbols)  # any number below 2^32
    row = n_symbols + np.int64(((mixed >> np.uint64(32)) * n_slots) >> np.uint64(32))
    while rows[row, 0] >= 0 and rows[row, 0] != key:
        row = row + 1 if row + 1 < rows.shape[0] else n_symbols
    return row


@njit(cache=True, nogil=True)
def fill_rows(keys, n_symbols, logp, following, backoff, rows, values):
    """Put all that a query asks of a gram in one place: the unigrams in order, then a hash table of the others.

    ``values`` is the same memory as ``rows``, as floats: key | log p(gram) | its back-off weight | its context.
    """
    for g in range(keys.size):
        row = row_of(keys[g], n_symbols, rows) if g >= n_symbols else g
        rows[row, 0] = keys[g]
        values[row, 1] = logp[g]
        values[row, 2] = backoff[following[g]] if following[g] >= 0 else 0.0
        rows[row, 3] = following[g]


@njit(cache=True, nogil=True)
def backoff_scores(ids, scores, order, n_symbols, rows, values):
    """log p of each event: the longest seen gram, and the back-off weights of the longer contexts. Returns the sum."""
    context = np.empty(order, np.int64)  # known contexts of 1, 2, … symbols
    weight = np.empty(order, np.float64)
    known = 0
    e = 0
    total = 0.0
    for i in range(ids.size):
        y = np.int64(ids[i])
        if y < 0:
            scores[e] = -np.inf
            total += scores[e]
            e += 1
            known = 0
            continue
        p, w, c = values[y, 1], values[y, 2], rows[y, 3]  # of the longest gram so far
        if y == n_symbols - 1:
            known = 0
        longest = 0
        while longest < known:
            row = row_of(context[longest] * n_symbols + y, n_symbols, rows)
            if rows[row, 0] < 0:
                break
            context[longest], weight[longest] = c, w
            p, w, c = values[row, 1], values[row, 2], rows[row, 3]
            longest += 1
        for k in range(longest, known):
            p += weight[k]
        known = longest
        if c >= 0:
            context[known], weight[known] = c, w
            known += 1
        if y < n_symbols - 1:
            scores[e] = p
            total += p
            e += 1
    return total
