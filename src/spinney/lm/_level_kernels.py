# mypy: ignore-errors
"""From the sorted n-grams of the highest order to those of lower ones, and from there up again to probabilities."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def _field(keys, i, field, order, bits, per_word):
    """A symbol of a packed n-gram."""
    at = field // per_word
    after = min(per_word, order - at * per_word) - 1 - field % per_word
    return (keys[i, at] >> (bits * after)) & ((np.int64(1) << bits) - 1)


@njit(cache=True, nogil=True)
def unpack_level(keys, counts, bits, per_word, start, last, state, shared, starts, n_grams, symbol, tally):
    """Sorted rows as contexts and their grams, in the form of :class:`spinney.lm.levels.Level`.

    ``last`` is the n-gram before, and ``state`` = [grams of its context so far, starts that this begins with]: a
    context may go on in the next call. ``tally[r]`` counts the grams that were seen r times.

    Returns (contexts that begin here, contexts that end here).
    """
    order = last.size
    begun, ended = 0, 0
    for i in range(keys.shape[0]):
        common = 0
        while common < order - 1 and _field(keys, i, common, order, bits, per_word) == last[common]:
            common += 1
        if state[0] == 0 or common < order - 1:
            if state[0]:
                n_grams[ended] = state[0]
                ended += 1
            for field in range(common, order - 1):
                last[field] = _field(keys, i, field, order, bits, per_word)
            state[0], state[1] = 0, 0
            while state[1] < order - 1 and last[order - 2 - state[1]] == start:
                state[1] += 1
            shared[begun], starts[begun] = common, state[1]
            begun += 1
        symbol[i] = _field(keys, i, order - 1, order, bits, per_word)
        state[0] += 1
        if state[1] <= 1 and counts[i] < tally.size:
            tally[counts[i]] += 1
    return begun, ended


@njit(cache=True, nogil=True)
def lower_level(
    shared, starts, n_grams, symbol, count, depth, ways, state, count_of, touched,
    out_shared, out_starts, out_n_grams, out_symbol, out_count, tally, last_of,
):  # fmt: skip
    """The contexts of ``depth`` symbols, and their grams, from those with a symbol more.

    A gram is counted by how many symbols come before it (``ways``), or by the sum of their counts, as are grams that
    begin a sentence. ``state`` = [contexts in the one that is open, its shared, its starts]; ``count_of`` and the
    first ``state[3]`` of ``touched`` are its grams so far.

    Returns (contexts, grams) that are complete. ``last_of`` counts the grams that end with each symbol.
    """
    n_contexts, n_out, g = 0, 0, 0
    for c in range(shared.size):
        if state[0] == 0 or shared[c] < depth:
            if state[0]:
                n_out = close_context(
                    state, count_of, touched, n_contexts, n_out,
                    out_shared, out_starts, out_n_grams, out_symbol, out_count, tally, last_of,
                )  # fmt: skip
                n_contexts += 1
            state[0], state[1], state[2] = 0, shared[c], max(starts[c] - 1, 0)
        state[0] += 1
        by_ways = ways and state[2] == 0
        for _ in range(n_grams[c]):
            y = symbol[g]
            if count_of[y] == 0:
                touched[state[3]] = y
                state[3] += 1
            count_of[y] += 1 if by_ways else count[g]
            g += 1
    return n_contexts, n_out


@njit(cache=True, nogil=True)
def close_context(
    state, count_of, touched, n_contexts, n_out,
    out_shared, out_starts, out_n_grams, out_symbol, out_count, tally, last_of,
):  # fmt: skip
    """Put the open context of :func:`lower_level` out; returns how many grams are out."""
    n = state[3]
    if state[0] > 1:  # else they came in their order
        touched[:n].sort()
    out_shared[n_contexts], out_starts[n_contexts], out_n_grams[n_contexts] = state[1], state[2], n
    for i in range(n):
        y = touched[i]
        count = count_of[y]
        out_symbol[n_out], out_count[n_out] = y, count
        count_of[y] = 0
        if state[2] <= 1:
            last_of[y] += 1
            if count < tally.size:
                tally[count] += 1
        n_out += 1
    state[0], state[3] = 0, 0
    return n_out


@njit(cache=True, nogil=True)
def interpolate(
    new_parent, starts, n_grams, symbol, count, parent_starts, parent_n_grams, parent_symbol, parent_p,
    lower, discounts, end, number,
    weight, out_n_grams, out_symbol, following, p,
):  # fmt: skip
    """p(y | x) = (c(x y) − D) / c(x) + weight(x) p(y | x without its oldest symbol), context by context.

    ``lower`` holds the probabilities after the parent of the context before, and goes on from call to call. ``number``
    has for each symbol y the number that the next x y has as a context; it is empty at the highest order.

    Returns (contexts, grams), those left out that begin with two starts: they stand for shorter ones.
    """
    n_contexts, n_out, g = 0, 0, 0
    parent, parent_g, at = 0, 0, 0
    for c in range(starts.size):
        if new_parent[c]:
            n = parent_n_grams[parent]
            if parent_starts[parent] <= 1:
                for h in range(parent_g, parent_g + n):
                    lower[parent_symbol[h]] = parent_p[at]
                    at += 1
            parent_g += n
            parent += 1
        if starts[c] > 1:
            g += n_grams[c]
            continue
        total, n1, n2, n3 = 0, 0, 0, 0
        for h in range(g, g + n_grams[c]):
            total += count[h]
            n1 += count[h] == 1
            n2 += count[h] == 2
            n3 += count[h] > 2
        left = (discounts[1] * n1 + discounts[2] * n2 + discounts[3] * n3) / total
        for _ in range(n_grams[c]):
            y = symbol[g]
            p[n_out] = (count[g] - discounts[min(count[g], 3)]) / total + left * lower[y]
            out_symbol[n_out], following[n_out] = y, -1
            if number.size and y < end:
                following[n_out] = number[y]
                number[y] += 1
            n_out += 1
            g += 1
        weight[n_contexts], out_n_grams[n_contexts] = left, n_grams[c]
        n_contexts += 1
    return n_contexts, n_out
