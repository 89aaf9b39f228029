# mypy: ignore-errors
"""From the bytes of sentences to the numbers of their words, and to their probabilities."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit
from spinney.lm._backoff_kernels import backoff_scores


@njit(cache=True, nogil=True)
def hashed(h, byte):
    """The hash (FNV-1a) of a word that goes on with a byte; that of the empty word is the seed."""
    return (h ^ np.uint64(byte)) * np.uint64(0x100000001B3)


@njit(cache=True, nogil=True)
def mixed(h):
    """A hash all of whose bits depend on all bytes, and that is not negative."""
    h ^= h >> np.uint64(32)
    return np.int64((h * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(1))


@njit(cache=True, nogil=True)
def fill_words(utf8, offsets, seed, slots):
    """A hash table of words, ``[slot, (hash, number)]``, whose length is a power of two; hash -1: empty.

    Returns whether no two words have the same hash: then the hash stands for the word.
    """
    last = slots.shape[0] - 1
    for word in range(offsets.size - 1):
        h = np.uint64(seed)
        for i in range(offsets[word], offsets[word + 1]):
            h = hashed(h, utf8[i])
        key = mixed(h)
        slot = key & last
        while slots[slot, 0] >= 0:
            if slots[slot, 0] == key:
                return False
            slot = (slot + 1) & last
        slots[slot, 0], slots[slot, 1] = key, word
    return True


@njit(cache=True, nogil=True)
def number_words(text, by_line, start, with_end, slots, seed, unknown, ids, hashes):
    """The numbers of the words of a sentence between its marks; ``by_line``: of a sentence on each line.

    Returns how many numbers there are, and how many bytes are white space. All bytes take the same few steps, without
    a branch that depends on where words end, which no processor could foresee.
    """
    ids[0] = start
    n = 1
    white = 0
    inside = 0
    h = np.uint64(seed)
    for i in range(len(text)):
        byte = text[i]
        space = (byte <= 32) & (
            (byte == 32) | ((byte >= 9) & (byte <= 13)) | (byte >= 28)
        )  # as `fields` has it
        hashes[n], ids[n] = h, -1
        n += space & inside
        white += space
        inside = 1 - space
        h = np.uint64(seed) if space else hashed(h, byte)
        if by_line and byte == 10:
            ids[n], ids[n + 1] = start - 1, start
            n += 2
    if inside:
        hashes[n], ids[n] = h, -1
        n += 1
    last = slots.shape[0] - 1
    for i in range(n):
        if ids[i] < 0:
            key = mixed(hashes[i])
            slot = key & last
            while slots[slot, 0] >= 0 and slots[slot, 0] != key:
                slot = (slot + 1) & last
            ids[i] = slots[slot, 1] if slots[slot, 0] >= 0 else unknown
    if with_end:
        ids[n] = start - 1
        n += 1
    return n, white


@njit(cache=True, nogil=True)
def sentence_score(slots, seed, unknown, order, n_symbols, rows, with_end, text):
    """log p of one sentence, and nothing else, so that a call costs little beside it."""
    room = len(text) // 2 + 4  # words are at least a byte, and one apart
    ids, hashes = np.empty(room, np.int32), np.empty(room, np.uint64)
    n, _ = number_words(text, False, n_symbols - 1, with_end, slots, seed, unknown, ids, hashes)
    return backoff_scores(ids[:n], hashes.view(np.float64), order, n_symbols, rows)


@njit(cache=True, nogil=True)
def text_scores(text, totals, with_end, slots, seed, unknown, order, n_symbols, rows):
    """log p of a sentence; or of several, each on a line, which are as many as ``totals`` has places.

    Returns also how many numbers the words and marks have, and how many bytes are white space.
    """
    by_line = totals.size > 0
    room = len(text) // 2 + 2 * totals.size + 4  # words are at least a byte, and one apart
    ids, hashes = np.empty(room, np.int32), np.empty(room, np.uint64)
    n, white = number_words(text, by_line, n_symbols - 1, with_end, slots, seed, unknown, ids, hashes)
    scores = hashes.view(np.float64)
    total = backoff_scores(ids[:n], scores, order, n_symbols, rows)
    if by_line:
        line = -1
        e = 0
        for i in range(n):
            if ids[i] == n_symbols - 1:
                line += 1
                totals[line] = 0.0
            else:
                totals[line] += scores[e]
                e += 1
    return total, n, white
