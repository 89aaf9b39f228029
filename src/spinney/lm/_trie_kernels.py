"""Numbering equal keys, and finding them again."""

from __future__ import annotations

import numpy as np
from numba import njit

_DIGIT = 11  # bits of a radix pass: the counters stay in the first cache


@njit(cache=True, nogil=True)
def number_keys(keys, n_bits):
    """Number the distinct keys (≥ 0, below 2^n_bits) in their order.

    Returns (number of each key, a place of each distinct key, how often each comes). Radix sort, low digits first.
    """
    n = keys.size
    order = np.arange(n).astype(np.int32)
    other = np.empty(n, np.int32)
    mask = (np.int64(1) << _DIGIT) - 1
    start = np.empty((1 << _DIGIT) + 1, np.int64)
    for shift in range(0, n_bits, _DIGIT):
        start[:] = 0
        for i in range(n):
            start[((keys[i] >> shift) & mask) + 1] += 1
        for digit in range(1 << _DIGIT):
            start[digit + 1] += start[digit]
        for j in range(n):
            i = order[j]
            digit = (keys[i] >> shift) & mask
            other[start[digit]] = i
            start[digit] += 1
        order, other = other, order
    number = np.empty(n, np.int32)
    distinct = 0
    for j in range(n):
        if j == 0 or keys[order[j]] != keys[order[j - 1]]:
            distinct += 1
        number[order[j]] = distinct - 1
    place = np.empty(distinct, np.int64)
    count = np.zeros(distinct, np.int64)
    for j in range(n - 1, -1, -1):
        place[number[order[j]]] = order[j]
        count[number[order[j]]] += 1
    return number, place, count


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
