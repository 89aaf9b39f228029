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
def suffix_grams(gram_ptr, symbol, following, n_symbols, table_keys, table_grams):
    """Each gram without its oldest symbol; -1 for unigrams, and where a table does not hold it."""
    up = np.full(symbol.size, np.int32(-1))
    parent = np.full(gram_ptr.size - 1, np.int32(-1))  # the context without its oldest symbol
    for g in range(n_symbols):
        if following[g] >= 0:
            parent[following[g]] = 0
    for c in range(1, gram_ptr.size - 1):
        if parent[c] < 0:
            continue
        for g in range(gram_ptr[c], gram_ptr[c + 1]):
            up[g] = find(np.int64(parent[c]) * n_symbols + symbol[g], table_keys, table_grams)
            if following[g] >= 0 and up[g] >= 0:
                parent[following[g]] = following[up[g]]
    return up


# Places of a text that are looked up together: their rows fit into the first cache.
BLOCK = 256


@njit(cache=True, nogil=True)
def first_row(key, n_symbols, n_rows):
    """Where to begin to look for a gram; ``n_rows`` is below 2^32."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return n_symbols + np.int64(((mixed >> np.uint64(32)) * np.uint64(n_rows - n_symbols)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def row_from(row, key, n_symbols, rows):
    """The row of a gram, or the empty row where it would be, from the one on where it may be."""
    while rows[row, 0] >= 0 and rows[row, 0] != key:
        row = row + 1 if row + 1 < rows.shape[0] else n_symbols
    return row


@njit(cache=True, nogil=True)
def fill_rows(gram_ptr, symbol, following, logp, backoff, n_symbols, rows):
    """Put all that a query asks of a gram in one place: the unigrams in order, then a hash table of the others.

    A row is key | log p(gram) | its back-off weight | its context, and those in the middle are floats.
    """
    values = rows.view(np.float64)
    for c in range(gram_ptr.size - 1):
        for g in range(gram_ptr[c], gram_ptr[c + 1]):
            key = np.int64(c) * n_symbols + symbol[g]
            row = g if c == 0 else row_from(first_row(key, n_symbols, rows.shape[0]), key, n_symbols, rows)
            rows[row, 0] = key
            values[row, 1] = logp[g]
            values[row, 2] = backoff[following[g]] if following[g] >= 0 else 0.0
            rows[row, 3] = following[g]


@njit(cache=True, nogil=True)
def lengthen(
    symbols, p, context, weight, longer_context, longer_weight, key, row, place, n_symbols, rows, values
):
    """From the grams of some length that end at the places of a block to those that are longer by one.

    ``context[i]`` and ``weight[i]`` are of the gram that ends before place i, ``key[i]`` is -1 where no gram of
    this length ends at place i. Rows are fetched from memory in a loop of their own, in which no step waits for
    another; looking at each at once takes twice the time. The result of that loop means nothing.
    """
    n = 0  # places where a longer gram may end
    for i in range(symbols.size):
        known = context[i] >= 0
        seen = known & (key[i] >= 0)
        p[i] += weight[i] if known & ~seen else 0.0
        key[i] = context[i] * n_symbols + symbols[i] if seen else -1
        longer_context[i + 1] = -1
        place[n] = i
        n += seen
    for j in range(n):
        row[j] = first_row(key[place[j]], n_symbols, rows.shape[0])
    fetched = np.int64(0)
    for j in range(n):
        fetched ^= rows[row[j], 0]
    for j in range(n):
        i = place[j]
        r = row_from(row[j], key[i], n_symbols, rows)
        if rows[r, 0] >= 0:
            p[i], longer_weight[i + 1], longer_context[i + 1] = values[r, 1], values[r, 2], rows[r, 3]
        else:
            p[i] += weight[i]
            key[i] = -1
    return fetched


@njit(cache=True, nogil=True)
def backoff_scores(ids, scores, order, n_symbols, rows):
    """log p of each event: the longest seen gram, and the back-off weights of the longer contexts. Returns the sum."""
    values = rows.view(np.float64)
    start = n_symbols - 1
    size = min(ids.size, BLOCK)
    wide = max(size + 1, order)
    numbers, floats = (
        np.empty((6, wide), np.int64),
        np.empty((4, wide)),
    )  # one piece each: sentences are short
    key, row, place, last_context = numbers[2], numbers[3], numbers[4], numbers[5]
    p, last_weight = floats[2], floats[3]
    last_context[:] = -1  # of the block before, by length
    fetched = np.int64(0)
    total = 0.0
    e = 0
    for first in range(0, ids.size, size):
        symbols = ids[first : first + size]
        n = symbols.size
        for i in range(n):
            y = symbols[i]
            key[i] = y if y < start else -1
            p[i], floats[0, i + 1], numbers[0, i + 1] = -np.inf, 0.0, -1
            if y >= 0:
                p[i], floats[0, i + 1], numbers[0, i + 1] = values[y, 1], values[y, 2], rows[y, 3]
        for k in range(1, order):
            context, weight = numbers[(k - 1) & 1], floats[(k - 1) & 1]
            context[0], weight[0] = last_context[k], last_weight[k]
            last_context[k], last_weight[k] = context[n], weight[n]
            for i in range(n):
                if symbols[i] == start:  # nothing stands before it
                    context[i] = -1
            fetched ^= lengthen(
                symbols,
                p,
                context,
                weight,
                numbers[k & 1],
                floats[k & 1],
                key,
                row,
                place,
                n_symbols,
                rows,
                values,
            )
        for i in range(n):
            if symbols[i] != start:
                scores[e] = p[i]
                total += p[i]
                e += 1
    last_context[0] = fetched  # it is used, or a compiler would leave it out
    return total
