# mypy: ignore-errors
"""Kernels that count which words stand near which, row by row of the count matrix."""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def padded(ids, offsets, pad):
    """The sentences with ``pad`` places of -1 before, between and after them."""
    n_sentences = len(offsets) - 1
    text = np.full(offsets[-1] - offsets[0] + pad * (n_sentences + 1), np.int32(-1), np.int32)
    out = pad
    for s in range(n_sentences):
        for i in range(offsets[s], offsets[s + 1]):
            text[out] = ids[i]
            out += 1
        out += pad
    return text


@njit(cache=True, nogil=True)
def places_by_word(text, n_words):
    """The places of the text in the order of their words: word w stands at ``places[starts[w]:starts[w + 1]]``."""
    starts = np.zeros(n_words + 1, np.int64)
    for i in range(len(text)):
        if 0 <= text[i] < n_words:
            starts[text[i] + 1] += 1
    for w in range(n_words):
        starts[w + 1] += starts[w]
    places = np.empty(starts[n_words], np.int32)
    after = starts[:-1].copy()
    for i in range(len(text)):
        w = text[i]
        if 0 <= w < n_words:
            places[after[w]] = i
            after[w] += 1
    return places, starts


@njit(cache=True, nogil=True)
def count_rows(
    text, places, starts, first, last, row_offset, offsets, blocks, weights, n_contexts, edge, n_columns
):
    """Rows ``first`` to ``last - 1`` of the counts, as CSR with sorted columns.

    The word of a row stands at place t + row_offset of a token t; the context at t + offsets[j] falls into column
    blocks[j] * (columns of a block) + (its word), with weight weights[j]. Words from n_contexts on are no contexts; a
    place beyond the sentence is the column ``edge`` of its block, or none if that is -1.
    """
    n_offsets = len(offsets)
    bound = 0
    for w in range(first, last):
        bound += min(n_columns, (starts[w + 1] - starts[w]) * n_offsets)
    columns = np.empty(bound, np.int32)
    values = np.empty(bound, np.float32)
    lengths = np.zeros(last - first, np.int64)
    sums = np.zeros(n_columns)
    seen = np.zeros((n_columns + 63) // 64, np.uint64)  # one bit a column: read off in order
    touched = np.empty(len(seen), np.int32)
    block_size = n_contexts + (1 if edge >= 0 else 0)
    out = 0
    for w in range(first, last):
        few = (starts[w + 1] - starts[w]) * n_offsets <= len(seen)
        n_touched = 0
        for i in range(starts[w], starts[w + 1]):
            t = places[i] - row_offset
            if text[t] < 0:
                continue
            for j in range(n_offsets):
                c = text[t + offsets[j]]
                if c < 0:
                    c = edge
                    if c < 0:
                        continue
                elif c >= n_contexts:
                    continue
                column = blocks[j] * block_size + c
                if few and sums[column] == 0.0:
                    touched[n_touched] = column
                    n_touched += 1
                sums[column] += weights[j]
                if not few:
                    seen[column >> 6] |= np.uint64(1) << np.uint64(column & 63)
        begin = out
        if few:
            for column in np.sort(touched[:n_touched]):
                columns[out] = column
                values[out] = sums[column]
                sums[column] = 0.0
                out += 1
        else:
            for k in range(len(seen)):
                bits = seen[k]
                if bits == 0:
                    continue
                seen[k] = 0
                for b in range(64):
                    if bits & (np.uint64(1) << np.uint64(b)):
                        column = k * 64 + b
                        columns[out] = column
                        values[out] = sums[column]
                        sums[column] = 0.0
                        out += 1
        lengths[w - first] = out - begin
    return columns[:out].copy(), values[:out].copy(), lengths
