"""The modifiers of each head: their tags on either side, from the nearest outwards.

A head automaton reads such a sequence. There is one automaton for each tag and side, and one for the artificial root,
which has modifiers on its right only; `automaton_of` numbers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, unknown_choice

Floats = NDArray[np.float64]
Column = Literal["upos", "xpos"]
LEFT, RIGHT = 0, 1


def automaton_of(tag: int, direction: int) -> int:
    """The number of the automaton of a tag and a side (``LEFT`` or ``RIGHT``).

    The tags of the alphabet are 0 to V - 1, an unknown tag is V; the root is V + 1, with a right side that is never
    read: its automaton is ``automaton_of(V + 1, LEFT)``, the last.

    Examples
    --------
    >>> automaton_of(0, LEFT), automaton_of(0, RIGHT), automaton_of(3, LEFT)
    (0, 1, 6)
    """
    return 2 * tag + direction


def tags_of(sentence: Sentence, column: Column) -> list[str]:
    """The tags of the given column; an error if the sentence does not have it.

    Examples
    --------
    >>> tags_of(Sentence(["Dogs", "bark"], upos=["NOUN", "VERB"]), "upos")
    ['NOUN', 'VERB']
    """
    if column not in ("upos", "xpos"):
        raise unknown_choice("column must be", column, ("upos", "xpos"))
    tags = sentence.upos if column == "upos" else sentence.xpos
    if len(tags) != len(sentence):
        raise InputError(f"a sentence of {len(sentence)} words has {len(tags)} tags in the column {column}")
    return tags


def checked_heads(heads: ArrayLike, n: int) -> NDArray[np.int64]:
    """Heads of n words that make a tree, or several below the artificial root; an error if they do not.

    Examples
    --------
    >>> checked_heads([2, 1], 2)
    Traceback (most recent call last):
    spinney.errors.InputError: the head of word 1 is part of a cycle
    """
    above = np.asarray(heads, np.int64)
    if above.shape != (n,):
        raise InputError(f"a sentence of {n} words has {above.size} heads", remedy="give dependency trees")
    words = np.arange(1, n + 1)
    if ((above < 0) | (above > n) | (above == words)).any():
        raise InputError("a head must be 0 or the number of another word of the sentence")
    up = np.concatenate([[0], above])
    for _ in range(n.bit_length()):  # after k rounds, the ancestor 2^k steps above
        up = up[up]
    if up.any():
        raise InputError(f"the head of word {int(np.flatnonzero(up)[0])} is part of a cycle")
    return above


class Tables(NamedTuple):
    """Expected numbers of pairs and triples in a sequence, whose ends are symbols like any other.

    Attributes
    ----------
    pairs : array [V + 1, V + 1]
        ``pairs[b, a]``: how often b follows a. The last row is the end, the last column the beginning.
    triples : array [V, V + 1, V + 1]
        ``triples[m, c, b]``: how often m occurs between b and c.
    """

    pairs: Floats
    triples: Floats

    def mixed(self, weight: float, other: Tables) -> Tables:
        """The mixture of these tables, with the weight ``weight``, and ``other``."""
        rest = 1.0 - weight
        return Tables(weight * self.pairs + rest * other.pairs, weight * self.triples + rest * other.triples)


@dataclass(frozen=True, eq=False)
class ModifierSequences:
    """The sequences of modifiers of all heads of a treebank, each once with its count.

    Attributes
    ----------
    n_tags : int
        V.
    offsets : int64 array [S + 1]
    modifiers : int32 array
        Sequence s is ``modifiers[offsets[s]:offsets[s + 1]]``; it may be empty.
    counts : float64 array [S]
        How often it occurred.
    owners : int64 array [K + 1]
        Automaton k has the sequences ``owners[k]`` up to ``owners[k + 1]``.

    Examples
    --------
    >>> sequences = ModifierSequences.of([np.array([0, 1, 0])], [np.array([2, 0, 2])], 2)
    >>> sequences.modifiers, sequences.tables(automaton_of(1, LEFT)).pairs  # before a verb: one noun, then the end
    (array([0, 0, 1], dtype=int32), array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]]))
    """

    n_tags: int
    offsets: NDArray[np.int64]
    modifiers: NDArray[np.int32]
    counts: Floats
    owners: NDArray[np.int64]

    @classmethod
    def of(
        cls, tags: Sequence[NDArray[np.integer]], heads: Sequence[NDArray[np.integer]], n_tags: int
    ) -> ModifierSequences:
        """Read trees: the number of each word's tag, and of its head (from 1, 0 for the artificial root)."""
        seen: list[dict[tuple[int, ...], int]] = [{} for _ in range(automaton_of(n_tags + 1, LEFT) + 1)]
        for sentence, above in zip(tags, heads, strict=True):
            numbers = [n_tags + 1, *sentence.tolist()]
            sides: list[list[int]] = [[] for _ in range(2 * len(numbers))]
            for m, h in enumerate(above.tolist(), start=1):
                sides[2 * h + (RIGHT if m > h > 0 else LEFT)].append(numbers[m])
            for place, tag in enumerate(numbers):
                for direction in (LEFT, RIGHT) if place else (LEFT,):
                    found = sides[2 * place + direction]
                    sequence = tuple(found[::-1] if place and direction == LEFT else found)
                    counter = seen[automaton_of(tag, direction)]
                    counter[sequence] = counter.get(sequence, 0) + 1
        ordered = [sorted(counter.items()) for counter in seen]
        sequences = [sequence for found in ordered for sequence, _ in found]
        lengths = np.array([len(sequence) for sequence in sequences], np.int64)
        return cls(
            n_tags,
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.array([m for sequence in sequences for m in sequence], np.int32),
            np.array([count for found in ordered for _, count in found], float),
            np.concatenate([[0], np.cumsum([len(found) for found in ordered])]).astype(np.int64),
        )

    @property
    def n_automata(self) -> int:
        """K: two for each tag and for an unknown one, and one for the root."""
        return len(self.owners) - 1

    @property
    def root(self) -> int:
        """The automaton of the artificial root."""
        return self.n_automata - 1

    def total(self, automaton: int) -> float:
        """How many sequences the automaton has, counted as often as they were seen."""
        return float(self.counts[self.owners[automaton] : self.owners[automaton + 1]].sum())

    def tables(self, automaton: int) -> Tables:
        """The statistics of one automaton; zeros if it was never seen."""
        return self._tables(self._owner == automaton)

    def shared_tables(self, automaton: int) -> Tables:
        """The tables for smoothing sparse automata: all heads of its side.

        The artificial root has no peers; its substitute is one modifier, whichever word of the treebank.
        """
        return self._shared[2 if automaton == self.root else automaton % 2]

    @cached_property
    def frequencies(self) -> Floats:
        """How often each tag is a modifier: once for each word."""
        weights = np.repeat(self.counts, np.diff(self.offsets))
        return np.bincount(self.modifiers, weights, self.n_tags).astype(float)

    @cached_property
    def _owner(self) -> NDArray[np.int64]:
        """The automaton of each sequence."""
        return np.repeat(np.arange(self.n_automata), np.diff(self.owners))

    @cached_property
    def _shared(self) -> tuple[Tables, Tables, Tables]:
        own = self._owner != self.root
        left, right = (self._tables((self._owner % 2 == side) & own) for side in (LEFT, RIGHT))
        V = self.n_tags
        pairs, triples = np.zeros((V + 1, V + 1)), np.zeros((V, V + 1, V + 1))
        pairs[:V, V] = pairs[V, :V] = triples[:, V, V] = self.frequencies / max(self.frequencies.sum(), 1.0)
        return left, right, Tables(pairs, triples)

    @cached_property
    def _line(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All sequences in a line, V before and after each, and the number of the sequence at each place."""
        lengths = np.diff(self.offsets)
        numbers = np.arange(len(lengths))
        sequence = np.repeat(numbers, lengths + 2)
        symbols = np.full(len(sequence), self.n_tags, np.int64)
        symbols[np.arange(len(self.modifiers)) + 2 * np.repeat(numbers, lengths) + 1] = self.modifiers
        return symbols, sequence

    def _tables(self, chosen: NDArray[np.bool_]) -> Tables:
        """Averages over some of the sequences."""
        V = self.n_tags
        here = chosen[self._line[1]]
        symbols, sequence = (column[here] for column in self._line)
        weights = (self.counts / max(self.counts[chosen].sum(), 1.0))[sequence]
        b = np.flatnonzero(sequence[1:] == sequence[:-1]) + 1
        m = np.flatnonzero(sequence[2:] == sequence[:-2]) + 1
        pair = symbols[b] * (V + 1) + symbols[b - 1]
        triple = (symbols[m] * (V + 1) + symbols[m + 1]) * (V + 1) + symbols[m - 1]
        return Tables(
            np.bincount(pair, weights[b], (V + 1) ** 2).astype(float).reshape(V + 1, V + 1),
            np.bincount(triple, weights[m], V * (V + 1) ** 2).astype(float).reshape(V, V + 1, V + 1),
        )
