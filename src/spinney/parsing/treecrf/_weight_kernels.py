# mypy: ignore-errors
"""Scores of parts straight from their hashes, without numbers for features in between.

Most features of a part have no weight. A sieve, a few bits for each slot of the table, tells so of nearly all of them;
it stays in the processor's cache where the table does not.
"""

import numpy as np

from spinney.compiling import njit
from spinney.parsing.treecrf._feature_kernels import (
    BLOCK,
    SEVERAL,
    block_end,
    block_keys,
    fill_between,
    room,
    see,
    slot_of,
)


@njit(cache=True, nogil=True)
def fill_sieve(keys, sieve):
    """Set the bit of each key; ``sieve`` has a power of two of words."""
    shift = np.uint64(58 - _bits(len(sieve)))
    for key in keys:
        bit = key >> shift
        sieve[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@njit(cache=True, nogil=True)
def _bits(n):
    """The logarithm of a power of two."""
    found = 0
    while 1 << found < n:
        found += 1
    return found


@njit(cache=True, nogil=True)
def _known(n, keys, owner, table, sieve, slots):
    """Which of the hashes are in the table: their slots, and in the same places of ``owner`` what they are of."""
    shift = np.uint64(58 - _bits(len(sieve)))
    left = 0
    for i in range(n):
        key, own = keys[i], owner[i]
        bit = key >> shift
        keys[left], owner[left] = key, own
        left += np.int64((sieve[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1))
    found = 0
    last, slot = np.uint64(0), np.int64(0)
    for i in range(left):
        if keys[i] != last:  # features of the modifier alone come once for each head
            last = keys[i]
            slot = slot_of(last, table)
        slots[found], owner[found] = slot, owner[i]
        found += table[slot] == last
    return found


@njit(cache=True, nogil=True)
def add_scores(
    base, length, place,
    columns, feat_ptr, feat_attribute, feat_value,
    atoms, atom_ptr, atom_list, several, seeds,
    beyond,
    table, sieve, row, label, w,
    out,
):  # fmt: skip
    """Add to ``out[p, l]`` the weights, for each outcome l, of the features of part p, in the order of templates.

    The arguments up to ``beyond`` are those of `number_features`. The feature in a slot of the table has the weights
    ``w[row[slot, 0]:row[slot, 1]]`` for the outcomes ``label``: arcs and siblings have one outcome, relations are many.
    """
    seen, values, where, count = room(atoms, length)
    plain, keys = np.empty(BLOCK, np.uint64), np.empty(BLOCK * SEVERAL, np.uint64)
    owner, slots = np.empty(BLOCK * SEVERAL, np.int64), np.empty(BLOCK * SEVERAL, np.int64)
    p = 0
    while p < len(base):
        if p == 0 or base[p] != base[p - 1]:
            fill_between(base[p], length[p], columns, atoms, where, count)
        end = block_end(p, len(base), base)
        see(p, end, base, length, place, columns, atoms, beyond, seen)
        for t in range(len(seeds)):
            own = atom_list[atom_ptr[t] : atom_ptr[t + 1]]
            n = block_keys(
                p, end, base, place, columns, feat_ptr, feat_attribute, feat_value, atoms, own, several[t], seeds[t],
                seen, values, where, count, plain, keys, owner,
            )  # fmt: skip
            n = _known(n, keys, owner, table, sieve, slots)
            for i in range(n):
                for k in range(row[slots[i], 0], row[slots[i], 1]):
                    out[p + owner[i], label[k]] += w[k]
        p = end
