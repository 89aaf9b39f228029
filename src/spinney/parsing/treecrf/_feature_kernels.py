# mypy: ignore-errors
"""From arcs and pairs of siblings to numbered features: each is a 64-bit hash of what its template sees."""

import numpy as np

from spinney.compiling import njit

# Codes of atoms: those of templates.py.
DIRECTION, DISTANCE, GAP, BETWEEN, FEAT, AGREEMENT, WORD = 0, 1, 2, 3, 4, 5, 6
MOST = 24  # different values of `between`


@njit(cache=True, nogil=True)
def _mix(h, value):
    """Take one more value into a hash."""
    h = (h ^ value) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(32))


@njit(cache=True, nogil=True)
def _bucket(d):
    """Distances in steps that grow."""
    if d <= 5:
        return d
    if d <= 7:
        return 6
    if d <= 10:
        return 7
    if d <= 15:
        return 8
    return 9 if d <= 25 else 10


@njit(cache=True, nogil=True)
def _slot(key, table):
    """Where a key is in the table, or the empty slot (0) where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = (key ^ (key >> np.uint64(29))) & mask
    while table[slot] != np.uint64(0) and table[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@njit(cache=True, nogil=True)
def fill_table(keys, table, number):
    """Enter keys, numbered as they come, into an empty table; False if one comes twice or is 0."""
    for i in range(len(keys)):
        slot = _slot(keys[i], table)
        if keys[i] == np.uint64(0) or table[slot] != np.uint64(0):
            return False
        table[slot] = keys[i]
        number[slot] = i
    return True


@njit(cache=True, nogil=True)
def _number(key, template, learn, gold, table, number, counts, n_known):
    """The number of a feature; a new one gets the next if we learn, else -1.

    ``counts`` has, for each feature, its parts, those of them that are gold, and its template.
    """
    if key == np.uint64(0):
        key = np.uint64(1)
    slot = _slot(key, table)
    if table[slot] == np.uint64(0):
        if not learn:
            return np.int32(-1)
        table[slot] = key
        number[slot] = n_known[0]
        counts[n_known[0], 2] = template
        n_known[0] += 1
    found = number[slot]
    if learn:
        counts[found, 0] += 1
        counts[found, 1] += gold
    return found


@njit(cache=True, nogil=True)
def number_features(
    start, stop, base, length, place,  # parts: the first node of their sentence, its words, place[*, roles] (-1: none)
    columns, feat_ptr, feat_attribute, feat_value,  # nodes
    atoms, atom_ptr, atom_list, several, seeds,  # templates: atoms[*, 4] is code, role, offset, column
    beyond,  # hashes: before, after, no sibling
    learn, gold, table, number, counts, n_known,  # table and number have as many slots
    ptr, ids,  # out: the features of part p are ids[ptr[p]] to ids[ptr[p + 1]]
):  # fmt: skip
    """Number the features of parts from ``start`` until all are done, or ids or the table has no room for another.

    Returns the part at which it stopped. ``ptr[start]`` is where the first id goes.
    """
    one = np.uint64(1)
    seen = np.empty(len(atoms), np.uint64)
    values = np.empty(256, np.uint64)
    n_out = ptr[start]
    room_per_part = len(seeds) * 64
    for p in range(start, stop):
        if n_out + room_per_part > len(ids) or (learn and n_known[0] + room_per_part > len(table) // 2):
            return p
        first, n = base[p], length[p]
        h, m = place[p, 0], place[p, 1]
        s = place[p, 2] if place.shape[1] > 2 else -1
        side = 0 if h == 0 else (1 if h < m else 2)
        for a in range(len(atoms)):
            code = atoms[a, 0]
            if code == WORD:
                where = np.int64(place[p, atoms[a, 1]])
                at = where + atoms[a, 2]
                if where < 0:
                    seen[a] = beyond[2]
                elif at < (0 if atoms[a, 2] == 0 else 1):
                    seen[a] = beyond[0]
                elif at > n:
                    seen[a] = beyond[1]
                else:
                    seen[a] = columns[atoms[a, 3], first + at]
            elif code == DIRECTION:
                seen[a] = np.uint64(side)
            elif code == DISTANCE:
                seen[a] = np.uint64(16 * side + (_bucket(abs(h - m)) if h > 0 else 0))
            elif code == GAP:
                seen[a] = np.uint64(16 * side + (_bucket(abs(s - m)) if s >= 0 else 11))
        for t in range(len(seeds)):
            key = seeds[t]
            for i in range(atom_ptr[t], atom_ptr[t + 1]):
                key = _mix(key, seen[atom_list[i]])
            if several[t] < 0:
                found = _number(key, t, learn, gold[p], table, number, counts, n_known)
                if found >= 0:
                    ids[n_out] = found
                    n_out += 1
                continue
            a = several[t]
            k = 0
            if atoms[a, 0] == BETWEEN:
                low, high = (h, m) if h < m else (m, h)
                for i in range(low + 1, high):
                    value = columns[atoms[a, 3], first + i]
                    j = 0
                    while j < k and values[j] != value:
                        j += 1
                    if j == k:
                        values[k] = value
                        k += 1
                        if k == MOST:
                            break
            elif atoms[a, 0] == FEAT:
                where = np.int64(place[p, atoms[a, 1]])
                if where >= 0:
                    for f in range(
                        feat_ptr[first + where],
                        min(feat_ptr[first + where + 1], feat_ptr[first + where] + 64),
                    ):
                        values[k] = feat_value[f]
                        k += 1
            else:
                for f in range(feat_ptr[first + h], feat_ptr[first + h + 1]):
                    for g in range(feat_ptr[first + m], feat_ptr[first + m + 1]):
                        if feat_attribute[f] == feat_attribute[g] and k < 64:
                            values[k] = _mix(feat_value[f] + one, feat_value[g])
                            k += 1
            for j in range(k):
                found = _number(_mix(key, values[j]), t, learn, gold[p], table, number, counts, n_known)
                if found >= 0:
                    ids[n_out] = found
                    n_out += 1
        ptr[p + 1] = n_out
    return stop
