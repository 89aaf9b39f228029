# mypy: ignore-errors
"""From arcs and pairs of siblings to features: each is a 64-bit hash of what its template sees.

Parts are looked at in blocks, none of which reaches beyond a sentence: what all templates see of a block is found
once, and the hashes of one template for all of its parts are computed together, which processors do several at a time.
"""

import numpy as np

from spinney.compiling import njit

# Codes of atoms: those of templates.py.
DIRECTION, DISTANCE, GAP, BETWEEN, FEAT, AGREEMENT, WORD = 0, 1, 2, 3, 4, 5, 6
MOST = 24  # different values of `between`
SEVERAL = 64  # values of what has several, at most
BLOCK = 128  # parts


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
def slot_of(key, table):
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
        slot = slot_of(keys[i], table)
        if keys[i] == np.uint64(0) or table[slot] != np.uint64(0):
            return False
        table[slot] = keys[i]
        number[slot] = i
    return True


@njit(cache=True, nogil=True)
def block_end(start, stop, base):
    """Where the block that begins at a part ends."""
    end = start + 1
    while end < min(stop, start + BLOCK) and base[end] == base[start]:
        end += 1
    return end


@njit(cache=True, nogil=True)
def room(atoms, length):
    """Arrays to work in: what atoms see of a block, values of what has several, and tables of what stands between."""
    n_between = 0
    for a in range(len(atoms)):
        n_between += atoms[a, 0] == BETWEEN
    longest = 0
    for p in range(len(length)):
        longest = max(longest, length[p])
    return (
        np.empty((len(atoms), BLOCK), np.uint64),
        np.empty(SEVERAL, np.uint64),
        np.empty((n_between, longest + 1, MOST), np.int32),
        np.empty((n_between, longest + 1), np.int32),
    )


@njit(cache=True, nogil=True)
def fill_between(first, n, columns, atoms, where, count):
    """For each word of a sentence, where the values after it stand for the first time: the first ``MOST`` of them.

    Those before another word are what stands between the two. The k-th atom of that sort has ``where[k]``.
    """
    k = 0
    for a in range(len(atoms)):
        if atoms[a, 0] != BETWEEN:
            continue
        values = columns[atoms[a, 3]]
        count[k, n] = 0
        for low in range(n - 1, -1, -1):
            where[k, low, 0] = low + 1
            found = 1
            for i in range(count[k, low + 1]):
                at = where[k, low + 1, i]
                if found < MOST and values[first + at] != values[first + low + 1]:
                    where[k, low, found] = at
                    found += 1
            count[k, low] = found
        k += 1


@njit(cache=True, nogil=True)
def see(start, end, base, length, place, columns, atoms, beyond, seen):
    """What atoms with one value see of the parts of a block."""
    first, n = base[start], length[start]
    for a in range(len(atoms)):
        code, role, offset = atoms[a, 0], atoms[a, 1], atoms[a, 2]
        row = seen[a]
        if code == WORD:
            values = columns[atoms[a, 3]]
            lowest = 0 if offset == 0 else 1
            for p in range(start, end):
                where = np.int64(place[p, role])
                at = where + offset
                if where < 0:
                    row[p - start] = beyond[2]
                elif at < lowest:
                    row[p - start] = beyond[0]
                elif at > n:
                    row[p - start] = beyond[1]
                else:
                    row[p - start] = values[first + at]
        elif code <= GAP:
            for p in range(start, end):
                h, m = place[p, 0], place[p, 1]
                side = 0 if h == 0 else (1 if h < m else 2)
                if code == DIRECTION:
                    row[p - start] = np.uint64(side)
                elif code == DISTANCE:
                    row[p - start] = np.uint64(16 * side + (_bucket(abs(h - m)) if h > 0 else 0))
                else:
                    s = place[p, 2]
                    row[p - start] = np.uint64(16 * side + (_bucket(abs(s - m)) if s >= 0 else 11))


@njit(cache=True, nogil=True)
def several_values(
    a, p, base, place, columns, feat_ptr, feat_attribute, feat_value, atoms, where, count, values
):
    """The values that an atom with several has at a part; returns their number."""
    first, h, m = base[p], np.int64(place[p, 0]), np.int64(place[p, 1])
    k = 0
    if atoms[a, 0] == BETWEEN:
        of = 0
        for b in range(a):
            of += atoms[b, 0] == BETWEEN
        low, high = min(h, m), max(h, m)
        while k < count[of, low] and where[of, low, k] < high:
            values[k] = columns[atoms[a, 3], first + where[of, low, k]]
            k += 1
    elif atoms[a, 0] == FEAT:
        at = np.int64(place[p, atoms[a, 1]])
        if at >= 0:
            for f in range(
                feat_ptr[first + at], min(feat_ptr[first + at + 1], feat_ptr[first + at] + SEVERAL)
            ):
                values[k] = feat_value[f]
                k += 1
    else:
        for f in range(feat_ptr[first + h], feat_ptr[first + h + 1]):
            for g in range(feat_ptr[first + m], feat_ptr[first + m + 1]):
                if feat_attribute[f] == feat_attribute[g] and k < SEVERAL:
                    values[k] = _mix(feat_value[f] + np.uint64(1), feat_value[g])
                    k += 1
    return k


@njit(cache=True, nogil=True)
def block_keys(
    start, end, base, place, columns, feat_ptr, feat_attribute, feat_value,
    atoms, own_atoms, several, seed, seen, values, where, count, plain, keys, owner,
):  # fmt: skip
    """The hashes of one template for the parts of a block, and the part, counted from its start, that each is of.

    ``plain`` is room for the hashes without what has several values. Returns the number of hashes.
    """
    n = end - start
    own = keys if several < 0 else plain
    for i in range(n):
        own[i] = seed
    for a in own_atoms:
        row = seen[a]
        for i in range(n):
            own[i] = _mix(own[i], row[i])
    if several < 0:
        for i in range(n):
            owner[i] = i
        total = n
    else:
        total = 0
        for i in range(n):
            k = several_values(
                several, start + i, base, place, columns, feat_ptr, feat_attribute, feat_value, atoms, where, count,
                values,
            )  # fmt: skip
            for j in range(k):
                keys[total + j] = _mix(plain[i], values[j])
                owner[total + j] = i
            total += k
    for i in range(total):
        keys[i] = max(keys[i], np.uint64(1))  # 0 is an empty slot
    return total


@njit(cache=True, nogil=True)
def number_features(
    start, stop, base, length, place,  # parts: the first node of their sentence, its words, place[*, roles] (-1: none)
    columns, feat_ptr, feat_attribute, feat_value,  # nodes
    atoms, atom_ptr, atom_list, several, seeds,  # templates: atoms[*, 4] is code, role, offset, column
    beyond,  # hashes: before, after, no sibling
    gold, table, number, counts, n_known,  # table and number have as many slots
    ptr, ids,  # out: the features of part p are ids[ptr[p]] to ids[ptr[p + 1]]
):  # fmt: skip
    """Number the features of parts from ``start`` until all are done, or ids or the table has no room for another.

    A new feature gets the next number. ``counts`` has, for each, its parts, those of them that are gold, and its
    template. Returns the part at which it stopped. ``ptr[start]`` is where the first id goes.
    """
    seen, values, where, count = room(atoms, length)
    n_out = ptr[start]
    room_per_part = len(seeds) * SEVERAL
    p, end = start, start
    while p < stop:
        if n_out + room_per_part > len(ids) or n_known[0] + room_per_part > len(table) // 2:
            return p
        if p == end:
            if p == start or base[p] != base[p - 1]:
                fill_between(base[p], length[p], columns, atoms, where, count)
            block, end = p, block_end(p, stop, base)
            see(p, end, base, length, place, columns, atoms, beyond, seen)
        for t in range(len(seeds)):
            key = seeds[t]
            for i in range(atom_ptr[t], atom_ptr[t + 1]):
                key = _mix(key, seen[atom_list[i], p - block])
            k = -1
            if several[t] >= 0:
                k = several_values(
                    several[t], p, base, place, columns, feat_ptr, feat_attribute, feat_value, atoms, where, count,
                    values,
                )  # fmt: skip
            for j in range(max(k, 1) if k else 0):
                whole = max(key if k < 0 else _mix(key, values[j]), np.uint64(1))  # 0 is an empty slot
                slot = slot_of(whole, table)
                if table[slot] == np.uint64(0):
                    table[slot] = whole
                    number[slot] = n_known[0]
                    counts[n_known[0], 2] = t
                    n_known[0] += 1
                found = number[slot]
                counts[found, 0] += 1
                counts[found, 1] += gold[p]
                ids[n_out] = found
                n_out += 1
        ptr[p + 1] = n_out
        p += 1
    return stop
