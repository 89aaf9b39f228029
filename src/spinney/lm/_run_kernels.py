# mypy: ignore-errors
"""N-grams as rows of packed numbers: made from text, sorted, and merged."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit

_DIGIT = 11  # bits of a radix pass: the counters stay in the first cache


@njit(cache=True, nogil=True)
def pack_events(ids, ends, recent, end, bits, per_row_word, keys):
    """A row of ``keys`` for each word of ``ids`` and each end of a sentence: its context, newest first, and itself.

    ``ends`` are the places in ``ids`` before which a sentence ends. ``recent`` holds the context, newest first; before
    the first word of a sentence it is all starts, whose number is ``end + 1``. It goes on from call to call.
    """
    depth = recent.size
    word, sentence = 0, 0
    for event in range(ids.size + ends.size):
        ends_here = sentence < ends.size and ends[sentence] == word
        if ends_here:
            symbol = end
            sentence += 1
        else:
            symbol = ids[word]
            word += 1
        at, filled, packed = 0, 0, np.int64(0)
        for field in range(depth + 1):
            packed = (packed << bits) | np.int64(recent[field] if field < depth else symbol)
            filled += 1
            if filled == per_row_word or field == depth:
                keys[event, at] = packed
                at, filled, packed = at + 1, 0, np.int64(0)
        if ends_here:
            recent[:] = end + 1
        else:
            for field in range(depth - 1, 0, -1):
                recent[field] = recent[field - 1]
            if depth:
                recent[0] = symbol


@njit(cache=True, nogil=True)
def sort_rows(keys, other, bits_of):
    """Sort rows by their numbers, the first the most significant; ``other`` has room for as many.

    Returns the array that holds the result, which is one of the two. Radix sort, low digits first.
    """
    n, width = keys.shape
    mask = (np.int64(1) << _DIGIT) - 1
    start = np.empty((1 << _DIGIT) + 1, np.int64)
    for at in range(width - 1, -1, -1):
        for shift in range(0, bits_of[at], _DIGIT):
            start[:] = 0
            for i in range(n):
                start[((keys[i, at] >> shift) & mask) + 1] += 1
            if n and start[((keys[0, at] >> shift) & mask) + 1] == n:
                continue  # all the same
            for digit in range(1 << _DIGIT):
                start[digit + 1] += start[digit]
            for i in range(n):
                digit = (keys[i, at] >> shift) & mask
                to = start[digit]
                for k in range(width):
                    other[to, k] = keys[i, k]
                start[digit] = to + 1
            keys, other = other, keys
    return keys


@njit(cache=True, nogil=True)
def count_rows(keys, counts):
    """Move the distinct rows of sorted ``keys`` to the front, with how often each comes; returns how many they are."""
    n, width = keys.shape
    distinct = 0
    for i in range(n):
        new = distinct == 0
        for k in range(width):
            if new or keys[i, k] != keys[distinct - 1, k]:
                new = True
                break
        if new:
            for k in range(width):
                keys[distinct, k] = keys[i, k]
            counts[distinct] = 0
            distinct += 1
        counts[distinct - 1] += 1
    return distinct


@njit(cache=True, nogil=True)
def _before(keys, a, b):
    for k in range(keys.shape[1]):
        if keys[a, k] != keys[b, k]:
            return keys[a, k] < keys[b, k]
    return False


@njit(cache=True, nogil=True)
def _sink(heap, size, keys, at, root):
    """Let a run go down the heap until those below it come later."""
    run = heap[root]
    while True:
        below = 2 * root + 1
        if below >= size:
            break
        if below + 1 < size and _before(keys, at[heap[below + 1]], at[heap[below]]):
            below += 1
        if not _before(keys, at[heap[below]], at[run]):
            break
        heap[root] = heap[below]
        root = below
    heap[root] = run


@njit(cache=True, nogil=True)
def build_heap(heap, keys, at):
    """Order the runs by the rows they are at, the first on top."""
    for root in range(heap.size // 2 - 1, -1, -1):
        _sink(heap, heap.size, keys, at, root)


@njit(cache=True, nogil=True)
def merge_runs(heap, size, keys, counts, at, stop, more, merged, merged_counts, n):
    """Merge runs into ``merged`` until that is full, or a run has no more rows in memory, or all are at their ends.

    ``at`` and ``stop`` are the place of each run in ``keys``, and where what is in memory of it ends; ``more`` tells
    whether the rest is on disk. The run on top of the heap may have been filled anew.

    Returns (rows in ``merged``, runs in the heap, the run that has no more rows in memory, or -1).
    """
    width = keys.shape[1]
    if size:
        _sink(heap, size, keys, at, 0)
    while size:
        run = heap[0]
        row = at[run]
        new = n == 0
        for k in range(width):
            if new or merged[n - 1, k] != keys[row, k]:
                new = True
                break
        if new:
            if n == merged.shape[0]:
                return n, size, -1
            for k in range(width):
                merged[n, k] = keys[row, k]
            merged_counts[n] = 0
            n += 1
        merged_counts[n - 1] += counts[row]
        at[run] = row + 1
        if at[run] == stop[run]:
            if more[run]:
                return n, size, run
            size -= 1
            heap[0] = heap[size]
        if size:
            _sink(heap, size, keys, at, 0)
    return n, 0, -1
