"""Kernels for what stands around each token: sums over a window, and exponentially smoothed sums."""

from numba import njit


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
def smoothed_states(ids, offsets, vectors, rates, left, right):
    """Exponentially smoothed vectors of the words before and after each token, one block of columns a rate.

    left[t] = (1 - a) left[t-1] + a E[w_{t-1}], beginning with E[w_1] at the second token; right is its mirror image.
    The first token has no left context and the last no right one: zeros.
    """
    k = vectors.shape[1]
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for r in range(len(rates)):
            a = rates[r]
            for t in range(first + 1, last + 1):
                old = 1 - a if t > first + 1 else 0.0
                new = a if t > first + 1 else 1.0
                for i in range(k):
                    left[t, r * k + i] = old * left[t - 1, r * k + i] + new * vectors[ids[t - 1], i]
            for t in range(last - 1, first - 1, -1):
                old = 1 - a if t < last - 1 else 0.0
                new = a if t < last - 1 else 1.0
                for i in range(k):
                    right[t, r * k + i] = old * right[t + 1, r * k + i] + new * vectors[ids[t + 1], i]


@njit(cache=True, nogil=True)
def add_by_word(ids, states, sums):
    """sums[w] += the states of all tokens of w."""
    for t in range(len(ids)):
        for i in range(states.shape[1]):
            sums[ids[t], i] += states[t, i]
