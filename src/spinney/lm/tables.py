"""The grams of a model, numbered, and how a text walks along them.

A gram that something follows is a context as well: the link from the one to the other means that a reader of text never
looks up a context. The grams that end at one word are, in the next step, the contexts of the next word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.files import ModelFile
from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import Counts, SuffixTrie, hash_table


@dataclass(frozen=True, eq=False)
class GramTable:
    """Grams in flat arrays, those of a context in a row, contexts by length.

    The first grams are those of the empty context, all symbols in their order: gram ``y`` is the unigram ``y``, even if
    it was never seen. The last of them is the start of a sentence, which has a number but is never predicted.

    Attributes
    ----------
    n_symbols : int
        Words, the end and the start of a sentence.
    levels : int64 [order + 1]
        Contexts of ``d`` symbols are ``levels[d]:levels[d + 1]``; context 0 is the empty one.
    gram_ptr : int64 [contexts + 1]
        The grams of context ``u`` are ``gram_ptr[u]:gram_ptr[u + 1]``.
    symbol : int32 [grams]
        The last symbol of a gram.
    following : int32 [grams]
        The context that is the same string, or -1.
    """

    n_symbols: int
    levels: Counts
    gram_ptr: Counts
    symbol: Ids
    following: Ids

    @property
    def order(self) -> int:
        """The length of the longest grams."""
        return len(self.levels) - 1

    @property
    def n_contexts(self) -> int:
        """Contexts, the empty one included."""
        return len(self.gram_ptr) - 1

    @property
    def n_grams(self) -> int:
        """Grams of all orders."""
        return len(self.symbol)

    @property
    def n_outcomes(self) -> int:
        """Symbols that are predicted."""
        return self.n_symbols - 1

    def grams_of(self, order: int) -> slice:
        """Where the grams of an order are."""
        return slice(int(self.gram_ptr[self.levels[order - 1]]), int(self.gram_ptr[self.levels[order]]))

    @cached_property
    def context(self) -> Ids:
        """The context of each gram."""
        return np.repeat(np.arange(self.n_contexts, dtype=np.int32), np.diff(self.gram_ptr))

    @cached_property
    def owner(self) -> Ids:
        """The gram that is the same string as each context; -1 for the empty one."""
        owner = np.full(self.n_contexts, -1, np.int32)
        linked = np.flatnonzero(self.following >= 0)
        owner[self.following[linked]] = linked
        return owner

    @cached_property
    def keys(self) -> Counts:
        """A number of its own for each gram: its context and symbol."""
        return self.context.astype(np.int64) * self.n_symbols + self.symbol

    def strings(self, order: int) -> Ids:
        """``[gram, place]``: the symbols of the grams of an order, oldest first."""
        gram = np.arange(self.n_grams, dtype=np.int32)[self.grams_of(order)]
        symbols = np.empty((len(gram), order), np.int32)
        for place in range(order - 1, -1, -1):
            symbols[:, place] = self.symbol[gram]
            gram = self.owner[self.context[gram]]
        return symbols

    def walk(self, ids: Ids) -> tuple[Ids, Ids]:
        """``[event, depth]``: the known contexts before each event of a stream, and their grams with it; -1: none."""
        from spinney.lm._backoff_kernels import walk

        check_ids(ids, self.n_symbols)
        n_events = int(np.count_nonzero(ids != self.n_outcomes))
        contexts, grams = walk(ids, n_events, self.order, self.n_symbols, self.following, *self._hashed)
        return contexts, grams

    @cached_property
    def _hashed(self) -> tuple[Counts, Ids]:
        return hash_table(self.keys)

    @cached_property
    def suffix(self) -> Ids:
        """Each gram without its oldest symbol; -1 for unigrams, and where it is not in the table."""
        from spinney.lm._backoff_kernels import suffix_grams

        found: Ids = suffix_grams(self.gram_ptr, self.symbol, self.following, self.n_symbols, *self._hashed)
        return found

    def contexts_after(self, history: Ids) -> list[int]:
        """The known contexts that a history ends with, the empty one first."""
        recent = history[max(0, len(history) - self.order + 1) :]
        contexts, _ = self.walk(np.append(recent, -1).astype(np.int32))
        return [c for c in contexts[-1].tolist() if c >= 0]

    # -- files ----------------------------------------------------------------------------------------

    @classmethod
    def from_file(cls, file: ModelFile, n_words: int) -> Self:
        """The table that earlier versions put into a file as it is, every number checked: kernels do not look."""
        # Copies: kernels are compiled for arrays that can be written to.
        table = cls(
            n_words + 2,
            np.array(file.tensor("levels", np.int64)),
            np.array(file.offsets("gram_ptr", len(file.tensor("symbol", np.int32)))),
            np.array(file.tensor("symbol", np.int32)),
            np.array(file.tensor("following", np.int32)),
        )
        if not table.is_sound():
            raise file.error("damaged: the arrays of its n-grams do not match")
        return table

    def is_sound(self) -> bool:
        """Whether all numbers are in their ranges, and each context is a gram of its length (or empty)."""
        levels, ptr, n = self.levels, self.gram_ptr, self.n_symbols
        if len(ptr) < 2 or ptr[0] != 0 or ptr[1] != n or ptr[-1] != self.n_grams or np.any(np.diff(ptr) < 0):
            return False
        if len(levels) < 2 or levels[:2].tolist() != [0, 1] or levels[-1] != self.n_contexts:
            return False
        if np.any(np.diff(levels) < 1) or len(self.following) != self.n_grams:
            return False
        if np.any(self.symbol[:n] != np.arange(n)) or np.any((self.symbol < 0) | (self.symbol >= n)):
            return False
        if np.any((self.following < -1) | (self.following >= self.n_contexts)):
            return False
        linked = self.following[self.following >= 0]
        if np.any(np.bincount(linked, minlength=self.n_contexts)[1:] != 1) or np.any(linked == 0):
            return False
        depth = np.repeat(np.arange(self.order), np.diff(levels))
        return bool(np.all(depth[self.context[self.owner[1:]]] + 1 == depth[1:]))


@dataclass(frozen=True, eq=False)
class TrieCounts:
    """The counts of a suffix trie on a table of its grams: what every estimator starts from.

    Attributes
    ----------
    table : GramTable
        The grams.
    parent : int32 [contexts]
        The context without its oldest symbol; -1 for the empty one.
    first : bool [contexts]
        Whether a context begins with the start of a sentence, so that nothing can stand before it.
    up : int32 [grams]
        The gram without its oldest symbol; -1 for unigrams.
    count : int64 [grams]
        How often.
    """

    table: GramTable
    parent: Ids
    first: NDArray[np.bool_]
    up: Ids
    count: Counts

    def per_context(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Sums over the grams of each context, which has at least one."""
        return np.add.reduceat(values, self.table.gram_ptr[:-1]).astype(np.float64)

    def continuations(self) -> Counts:
        """N1+(• x y) below the highest order; counts there, and where nothing can stand before x y."""
        table = self.table
        below = table.grams_of(table.order).start if table.order > 1 else 0
        adjusted = self.count.copy()
        ways = np.bincount(self.up[table.n_symbols :], minlength=table.n_grams)
        inner = ~self.first[table.context[:below]]
        adjusted[:below][inner] = ways[:below][inner]
        return adjusted


def trie_counts(trie: SuffixTrie) -> TrieCounts:
    """The table of a trie's grams, with their counts; every symbol gets a unigram."""
    from spinney.lm._backoff_kernels import link_contexts

    if trie.collapsed:
        raise OptionError("n-gram models need a trie that is not collapsed")
    n_symbols, n_roots = trie.n_symbols, int(trie.gram_ptr[1])
    shift = n_symbols - n_roots
    place = np.arange(trie.n_grams, dtype=np.int32) + np.int32(shift)  # of the trie's grams in the table
    place[:n_roots] = trie.symbol[:n_roots]
    symbol = np.concatenate((np.arange(n_symbols, dtype=np.int32), trie.symbol[n_roots:]))
    count = np.zeros(len(symbol), np.int64)
    count[place] = trie.count
    up = np.full(len(symbol), -1, np.int32)
    up[n_symbols:] = place[trie.up[n_roots:]]
    gram_ptr = trie.gram_ptr + shift
    gram_ptr[0] = 0
    following = link_contexts(
        trie.event_context,
        place[trie.event_gram],
        trie.parent,
        trie.depth,
        up,
        symbol,
        np.int32(trie.n_outcomes - 1),
    )
    start = np.flatnonzero((trie.parent == 0) & (trie.older == trie.n_outcomes))
    following[trie.n_outcomes] = start[0] if len(start) else -1
    table = GramTable(n_symbols, trie.levels(), gram_ptr, symbol, following)
    return TrieCounts(table, trie.parent, trie.older == trie.n_outcomes, up, count)


def gram_bounds(table: GramTable) -> Counts:
    """Where the grams of each order begin, and the end."""
    return table.gram_ptr[table.levels]


def longer_contexts(table: GramTable) -> Counts:
    """Where the contexts of two symbols, of three and so on begin, and the end."""
    return table.levels[min(2, table.order) :]


def check_ids(ids: Ids, n_symbols: int) -> None:
    """Refuse a stream of another vocabulary."""
    if ids.size and int(ids.max()) >= n_symbols:
        raise OptionError("the stream contains numbers outside the vocabulary of the model")
