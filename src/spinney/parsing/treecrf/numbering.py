"""Numbers for features: templates as a program for the kernels, and the table from hashes to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.parsing.treecrf.nodes import AFTER, BEFORE, NO_SIBLING, Hashes, Nodes, hashed
from spinney.parsing.treecrf.templates import BETWEEN, WORD, Atom, Template

#: What is seen where there is no word, as kernels take it.
BEYOND = np.array([BEFORE, AFTER, NO_SIBLING], np.uint64)
_ROOM = 1 << 22  # features that are numbered at a time


class Program(NamedTuple):
    """The templates of one kind as arrays; see ``number_features``."""

    atoms: NDArray[np.int32]
    atom_ptr: NDArray[np.int64]
    atom_list: NDArray[np.int64]
    several: NDArray[np.int64]
    seeds: Hashes

    @classmethod
    def of(cls, templates: Sequence[Template], columns: Sequence[str]) -> Program:
        """The program of templates whose columns have these numbers."""
        atoms: dict[Atom, int] = {}
        lists: list[list[int]] = []
        several = []
        for template in templates:
            numbers = {atom: atoms.setdefault(atom, len(atoms)) for atom in template.atoms}
            lists.append([number for atom, number in numbers.items() if not atom.several])
            several.append(next((number for atom, number in numbers.items() if atom.several), -1))
        rows = [
            (atom.code, atom.role, atom.offset, columns.index(atom.column) if atom.column else 0)
            for atom in atoms
        ]
        return cls(
            np.array(rows, np.int32).reshape(-1, 4),
            np.cumsum([0, *map(len, lists)]).astype(np.int64),
            np.array([number for one in lists for number in one], np.int64),
            np.array(several, np.int64),
            np.array([hashed(template.text) for template in templates], np.uint64),
        )


def columns_of(templates: Sequence[Template]) -> list[str]:
    """The columns that templates look at, each once."""
    seen = {atom.column for template in templates for atom in template.atoms if atom.code in (WORD, BETWEEN)}
    return sorted(seen)


class Parts(NamedTuple):
    """Arcs, pairs of siblings or arcs in their trees, by their places.

    Attributes
    ----------
    base, length : arrays [parts]
        The first node of the sentence, and its number of words.
    place : int32 array [parts, roles]
        The word in each of the first roles of :data:`~spinney.parsing.treecrf.templates.ROLES`: 0 is the root, -1 none.
    """

    base: NDArray[np.int64]
    length: NDArray[np.int32]
    place: NDArray[np.int32]

    @classmethod
    def of(cls, words: NDArray[np.int64], counts: NDArray[np.int64], *place: NDArray[np.int32]) -> Parts:
        """Parts in the order of the words of sentences, of which each has so many."""
        lengths = np.diff(words)
        base = np.repeat(np.repeat(words[:-1] + np.arange(len(lengths)), lengths), counts)
        length = np.repeat(np.repeat(lengths, lengths), counts).astype(np.int32)
        return cls(base, length, np.stack(place, axis=1).astype(np.int32))


class Features(NamedTuple):
    """Which features each part has: those of part p are ``ids[ptr[p]:ptr[p + 1]]``."""

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]


@dataclass
class Table:
    """Feature hashes and their numbers, in the order of the numbers."""

    slots: Hashes
    number: NDArray[np.int32]
    n: int = 0

    @classmethod
    def empty(cls, bits: int = 16) -> Table:
        """A table without features."""
        return cls(np.zeros(1 << bits, np.uint64), np.zeros(1 << bits, np.int32))

    @classmethod
    def of(cls, keys: Hashes) -> Table | None:
        """The table of these hashes; None if one comes twice."""
        from spinney.parsing.treecrf._feature_kernels import fill_table

        table = cls.empty(max(4, int(2 * len(keys)).bit_length()))
        ok = fill_table(np.ascontiguousarray(keys), table.slots, table.number)
        table.n = len(keys)
        return table if ok else None

    @property
    def keys(self) -> Hashes:
        """The hashes, in the order of their numbers."""
        used = np.flatnonzero(self.slots)
        keys = np.zeros(self.n, np.uint64)
        keys[self.number[used]] = self.slots[used]
        return keys


def learned(
    parts: Parts, nodes: Nodes, program: Program, gold: NDArray[np.int8]
) -> tuple[Features, Table, NDArray[np.int32]]:
    """The features of parts, the table of all of them, and for each its parts, its gold parts and its template."""
    from spinney.parsing.treecrf._feature_kernels import SEVERAL, number_features

    table = Table.empty()
    n = len(parts.base)
    ptr = np.zeros(n + 1, np.int64)
    pieces: list[NDArray[np.int32]] = []
    counts = np.zeros((len(table.slots), 3), np.int32)
    known = np.array([0], np.int64)
    room = SEVERAL * max(len(program.seeds), 1)
    ids = np.empty(min(_ROOM, n * room) + room, np.int32)
    done, before = 0, 0
    while done < n:
        ptr[done] = 0
        stop = number_features(
            done, n, *parts, nodes.columns, nodes.feat_ptr, nodes.feat_attribute, nodes.feat_value, *program,
            BEYOND, gold, table.slots, table.number, counts, known, ptr, ids,
        )  # fmt: skip
        pieces.append(ids[: ptr[stop]].copy())
        ptr[done : stop + 1] += before
        before = int(ptr[stop])
        table.n = int(known[0])
        if stop < n and table.n + room > len(table.slots) // 2:
            larger = Table.empty(len(table.slots).bit_length() + 1)
            _refill(table, larger)
            table.slots, table.number = larger.slots, larger.number
            counts = np.concatenate([counts, np.zeros((len(table.slots) - len(counts), 3), np.int32)])
        done = stop
    ids = np.concatenate(pieces) if pieces else np.empty(0, np.int32)
    return Features(ptr, ids), table, counts[: table.n]


def _refill(old: Table, new: Table) -> None:
    from spinney.parsing.treecrf._feature_kernels import fill_table

    fill_table(old.keys, new.slots, new.number)


def kept(features: Features, keep: NDArray[np.bool_]) -> tuple[Features, NDArray[np.int64]]:
    """The features without those that are not kept, numbered anew; and the old numbers of those that are."""
    new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    ids = new[features.ids]
    there = ids >= 0
    before = np.concatenate([[0], np.cumsum(there)])
    return Features(before[features.ptr], ids[there]), np.flatnonzero(keep)
