# mypy: ignore-errors
"""Numbering equal keys, and finding them again."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit

_DIGIT = 11  # bits of a radix pass: the counters stay in the first cache


@njit(cache=True, nogil=True)
def sort_keys(keys, n_bits):
    """The keys in their order, and where each was; equal keys stay in line. Radix sort, low digits first."""
    n = keys.size
    place = np.arange(n).astype(np.int32)
    other_keys, other_place = np.empty(n, np.int64), np.empty(n, np.int32)
    mask = (np.int64(1) << _DIGIT) - 1
    start = np.empty((1 << _DIGIT) + 1, np.int64)
    keys = keys.copy()
    for shift in range(0, n_bits, _DIGIT):
        start[:] = 0
        for i in range(n):
            start[((keys[i] >> shift) & mask) + 1] += 1
        for digit in range(1 << _DIGIT):
            start[digit + 1] += start[digit]
        for i in range(n):
            digit = (keys[i] >> shift) & mask
            to = start[digit]
            other_keys[to], other_place[to] = keys[i], place[i]
            start[digit] = to + 1
        keys, other_keys = other_keys, keys
        place, other_place = other_place, place
    return keys, place


@njit(cache=True, nogil=True)
def number_keys(keys, n_bits):
    """Number the distinct keys (≥ 0, below 2^n_bits) in their order.

    Returns (number of each key, the first place of each distinct key, how often each comes).
    """
    ordered, place = sort_keys(keys, n_bits)
    n = keys.size
    number = np.empty(n, np.int32)
    first = np.empty(n, np.int64)
    begin = np.empty(n + 1, np.int64)
    distinct = 0
    for j in range(n):
        if j == 0 or ordered[j] != ordered[j - 1]:
            first[distinct], begin[distinct] = place[j], j
            distinct += 1
        number[place[j]] = distinct - 1
    begin[distinct] = n
    times = np.empty(distinct, np.int64)  # `np.diff` would take two seconds to compile
    for k in range(distinct):
        times[k] = begin[k + 1] - begin[k]
    return number, first[:distinct].copy(), times


@njit(cache=True, nogil=True)
def slot_of(key, n_slots):
    """Fibonacci hashing; ``n_slots`` is a power of two."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(20)) & (n_slots - 1)


@njit(cache=True, nogil=True)
def fill_table(keys, n_slots):
    """An open-addressing table from key to its place in ``keys``; (-1, -1) is an empty slot."""
    table_keys = np.full(n_slots, np.int64(-1))
    table_places = np.full(n_slots, np.int32(-1))
    for i in range(keys.size):
        slot = slot_of(keys[i], n_slots)
        while table_keys[slot] >= 0:
            slot = (slot + 1) & (n_slots - 1)
        table_keys[slot] = keys[i]
        table_places[slot] = i
    return table_keys, table_places


@njit(cache=True, nogil=True)
def find(key, table_keys, table_places):
    """The place of a key, or -1."""
    n_slots = table_keys.size
    slot = slot_of(key, n_slots)
    while table_keys[slot] >= 0:
        if table_keys[slot] == key:
            return table_places[slot]
        slot = (slot + 1) & (n_slots - 1)
    return np.int32(-1)


@njit(cache=True, nogil=True)
def mark_ancestors(marked, up):
    """Mark what lies on the way from a marked node to its root."""
    for g in range(marked.size - 1, -1, -1):
        if marked[g] and up[g] >= 0:
            marked[up[g]] = True


@njit(cache=True, nogil=True)
def parent_grams(parent, gram_ptr, symbol, n_outcomes, table_keys, table_places):
    """The gram of the parent context with the same symbol; -1 at roots, and where there is none."""
    up = np.full(symbol.size, np.int32(-1))
    for context in range(parent.size):
        if parent[context] >= 0:
            for g in range(gram_ptr[context], gram_ptr[context + 1]):
                up[g] = find(np.int64(parent[context]) * n_outcomes + symbol[g], table_keys, table_places)
    return up
