# mypy: ignore-errors
"""Kernels for what stands around each token: sums over a window, and exponentially smoothed sums."""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def window_states(ids, offsets, places, blocks, weights, n_contexts, edge, projection, out):
    """out[t] = Σ_j weights[j] · projection[the column of the word at t + places[j]] (see ``count_rows``)."""
    block_size = n_contexts + (1 if edge >= 0 else 0)
    width = projection.shape[1]
    for s in range(len(offsets) - 1):
        for t in range(offsets[s], offsets[s + 1]):
            for j in range(len(places)):
                p = t + places[j]
                c = edge
                if offsets[s] <= p < offsets[s + 1]:
                    c = ids[p]
                    if c >= n_contexts:
                        continue
                if c < 0:
                    continue
                row = projection[blocks[j] * block_size + c]
                for i in range(width):
                    out[t, i] += weights[j] * row[i]


@njit(cache=True, nogil=True)
def smoothed_states(ids, offsets, tables, rates, step, out):
    """Smoothed vectors of the words before each token (``step`` 1) or after it (``step`` -1), one block a rate.

    out[t, r] = (1 - a) out[t-1, r] + a tables[r][w_{t-1}] with a = rates[r], beginning with tables[r][w_1] at the
    second token. The first token of a sentence has nothing before it: zeros. Where ``out`` has one block only, the
    rates are added up in it.
    """
    width = tables.shape[2]
    running = np.zeros((len(rates), width), np.float32)
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        if last < first:
            continue
        if step < 0:
            first, last = last, first
        running[:] = 0
        t = first
        for n in range(offsets[s + 1] - offsets[s] - 1):
            w = ids[t]
            t += step
            for r in range(len(rates)):
                a = rates[r] if n else np.float32(1)
                block = r if out.shape[1] > 1 else 0
                for i in range(width):
                    running[r, i] += a * (tables[r, w, i] - running[r, i])
                    out[t, block, i] += running[r, i]


@njit(cache=True, nogil=True)
def add_by_word(ids, states, sums):
    """sums[w] += the states of all tokens of w."""
    for t in range(len(ids)):
        for i in range(states.shape[1]):
            sums[ids[t], i] += states[t, i]
