# mypy: ignore-errors
"""From columns of symbols to observation numbers: one hash table of exact tuples."""

import numpy as np

from spinney.compiling import njit

EMPTY = -1  # in slots
NOTHING = -1  # a symbol that makes no observation


# Arrays go with indices rather than as slices: making a slice costs more than the work done on it.


@njit(cache=True, nogil=True)
def _slot(slots, skeleton, symbols, row, width, skeleton_of, records):
    """The slot that holds the observation (skeleton, symbols[row, 1:1+width]), or the one where it belongs."""
    mix = np.uint64(0x9E3779B97F4A7C15)
    h = np.uint64(skeleton) * mix
    for i in range(1, 1 + width):
        h = (h ^ np.uint64(symbols[row, i])) * mix
        h ^= h >> np.uint64(32)
    mask = len(slots) - 1
    slot = np.int64(h & np.uint64(mask))
    while slots[slot] != EMPTY:
        number = slots[slot]
        if skeleton_of[records[number, 0]] == skeleton:
            i = 1
            while i <= width and records[number, i] == symbols[row, i]:
                i += 1
            if i > width:
                return slot
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def fill_slots(slots, n, skeleton_of, width_of, records):
    """Enter the first n observations into empty slots; False if one of them comes twice."""
    for number in range(n):
        pattern = records[number, 0]
        slot = _slot(slots, skeleton_of[pattern], records, number, width_of[pattern], skeleton_of, records)
        if slots[slot] != EMPTY:
            return False
        slots[slot] = number
    return True


@njit(cache=True, nogil=True)
def _look(f, fields, position, begin, end, symbols, views, edges):
    """What field f (column, offset, absolute, view, whether it sees lists) sees from a token."""
    offset = fields[f, 1]
    if fields[f, 2]:
        position = end + offset if offset < 0 else begin + offset - 1
    else:
        position += offset
    if position < begin:
        return edges[f, 0, begin - position - 1]
    if position >= end:
        return edges[f, 1, position - end]
    return views[fields[f, 3], symbols[fields[f, 0], position]]


@njit(cache=True, nogil=True)
def number_observations(
    start, stop, offsets, symbols,  # tokens start to stop; offsets[S+1], symbols[D, T]
    views, edges, fields,  # views[V, P]: symbol seen, or list; edges[F, 2, distance]; fields[F, 5]
    patterns, pattern_fields,  # patterns[K, 4]: number, how many of its fields see lists, its fields from and to
    list_ptr, list_symbols, list_values,
    learn, n, slots, skeleton_of, records,  # records[n, 1+W]: pattern and symbols; room for all that can come
    ptr, ids, values,  # out: ptr[stop-start+1]; values is empty where all are 1
):  # fmt: skip
    """Number the observations of each token; new ones get the next numbers if we learn, else none.

    Returns how many observations are known afterwards.
    """
    seen = np.empty(len(fields), np.int32)
    key = np.empty((1, len(pattern_fields) + 2), np.int32)  # a record
    n_out = 0
    ptr[0] = 0
    sentence = np.searchsorted(offsets, start, side="right") - 1
    for t in range(start, stop):
        while offsets[sentence + 1] <= t:
            sentence += 1
        begin, end = offsets[sentence], offsets[sentence + 1]
        for f in range(len(fields)):
            seen[f] = _look(f, fields, t, begin, end, symbols, views, edges)
        for k in range(len(patterns)):
            pattern, n_lists = patterns[k, 0], patterns[k, 1]
            first, width = patterns[k, 2], patterns[k, 3] - patterns[k, 2]
            skeleton = skeleton_of[pattern]
            complete = True
            one = other = 0  # the places of fields that see lists, in the key
            for f in range(width):
                key[0, 1 + f] = seen[pattern_fields[first + f]]
                complete &= key[0, 1 + f] != NOTHING
                if fields[pattern_fields[first + f], 4]:
                    one, other = (1 + f, other) if one == 0 else (one, 1 + f)
            if not complete:
                continue
            first_item, last_item, first_other, last_other = 0, 1, 0, 1
            if n_lists:
                first_item, last_item = list_ptr[key[0, one]], list_ptr[key[0, one] + 1]
            if n_lists > 1:
                first_other, last_other = list_ptr[key[0, other]], list_ptr[key[0, other] + 1]
            for item in range(first_item, last_item):
                if n_lists:
                    key[0, one] = list_symbols[item]
                    if key[0, one] == NOTHING:
                        continue
                for item_of_other in range(first_other, last_other):
                    if n_lists > 1:
                        key[0, other] = list_symbols[item_of_other]
                        if key[0, other] == NOTHING:
                            continue
                    slot = _slot(slots, skeleton, key, 0, width, skeleton_of, records)
                    number = slots[slot]
                    if number == EMPTY:
                        if not learn:
                            continue
                        number = n
                        slots[slot] = n
                        records[n, 0] = pattern
                        for f in range(width):
                            records[n, 1 + f] = key[0, 1 + f]
                        n += 1
                    ids[n_out] = number
                    if len(values):
                        values[n_out] = list_values[item] if n_lists else 1.0
                        if n_lists > 1:
                            values[n_out] *= list_values[item_of_other]
                    n_out += 1
        ptr[t - start + 1] = n_out
    return n
