"""The suffix trie of a text: its contexts, and which symbols followed each of them how often.

A *context* is a run of symbols that something followed; its parent is the context without its oldest symbol, and the
root is the empty context. A *gram* is a context with a symbol that followed it, that is, an n-gram; its parent is the
gram of the parent context with the same symbol. Smoothed n-gram models are tables on the grams, log-linear models have
a weight for each gram, and the trie of a word v in Nelakanti (2014), S_v, is the grams with that symbol.

Where the text always goes on in the same way, contexts of several lengths stand for the same places of the text. In a
**collapsed** trie they are one node with a length above 1, which makes room for contexts of any length: its size grows
with that of the text, not with its square (the trees M_v).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.lm.stream import Ids, Stream

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SuffixTrie:
    """Contexts and grams as flat arrays, parents before children, the grams of a context in a row.

    Attributes
    ----------
    n_outcomes, n_symbols : int
        Symbols that can be predicted are below ``n_outcomes``, those that stand in contexts below ``n_symbols``.
    parent : int32 [contexts]
        The context without its oldest symbol; -1 for roots.
    older : int32 [contexts]
        The symbol by which a context is longer than its parent; in a collapsed node, the first of them.
    depth, length : int32 [contexts]
        A node stands for the contexts of ``depth - length + 1`` to ``depth`` symbols; ``length`` is 1 unless collapsed.
    place : int64 [contexts]
        A place of the stream with that context before it: where the symbols of a collapsed node can be read.
    occurrences, ends : int64 [contexts]
        Events with this context before them, and those for which it is the longest.
    gram_ptr : int64 [contexts + 1]
        The grams of context ``u`` are ``gram_ptr[u]:gram_ptr[u+1]``, by symbol.
    symbol, up : int32 [grams]
        The symbol that follows, and the parent gram (-1 at roots).
    count : int64 [grams]
        How often.
    event_context : int32 [events]
        The longest context of each event.
    event_gram : int32 [events]
        And its gram.
    """

    n_outcomes: int
    n_symbols: int
    parent: Ids
    older: Ids
    depth: Ids
    length: Ids
    place: Counts
    occurrences: Counts
    ends: Counts
    gram_ptr: Counts
    symbol: Ids
    up: Ids
    count: Counts
    event_context: Ids
    event_gram: Ids

    @property
    def n_contexts(self) -> int:
        """Nodes of the trie."""
        return len(self.parent)

    @property
    def n_grams(self) -> int:
        """Pairs of a context and a symbol: the parameters of a log-linear model."""
        return len(self.symbol)

    @property
    def collapsed(self) -> bool:
        """Whether some node stands for several contexts."""
        return bool(np.any(self.length > 1))

    @cached_property
    def context(self) -> Ids:
        """The context of each gram."""
        return np.repeat(np.arange(self.n_contexts, dtype=np.int32), np.diff(self.gram_ptr))

    @cached_property
    def n_extensions(self) -> Counts:
        """N1+(• x y) of each gram: in how many ways it is preceded."""
        return np.bincount(self.up[self.up >= 0], minlength=self.n_grams)

    @cached_property
    def context_table(self) -> tuple[Counts, Ids]:
        """Hash table of ``parent * n_symbols + older``, for :func:`spinney.lm._trie_kernels.find`."""
        keys = self.parent.astype(np.int64) * self.n_symbols + self.older
        roots = self.parent < 0
        # A root is never looked up: a key of its own keeps the table's places equal to the nodes.
        keys[roots] = self.n_contexts * self.n_symbols + np.arange(np.count_nonzero(roots))
        return hash_table(keys)

    @cached_property
    def gram_table(self) -> tuple[Counts, Ids]:
        """Hash table of ``context * n_outcomes + symbol``."""
        return hash_table(self.context.astype(np.int64) * self.n_outcomes + self.symbol)

    def levels(self) -> Counts:
        """Where the contexts of each depth begin, and the end; only for tries that are not collapsed."""
        return np.searchsorted(self.depth, np.arange(int(self.depth.max(initial=0)) + 2))

    def kept(self, wanted: NDArray[np.bool_]) -> tuple[SuffixTrie, NDArray[np.bool_]]:
        """The trie of the grams that are wanted, with all that lead to them; and which grams these are.

        It has no events: what it was made from is no longer all there.
        """
        from spinney.lm._trie_kernels import mark_ancestors

        grams = wanted.copy()
        mark_ancestors(grams, self.up)
        contexts = np.bincount(self.context[grams], minlength=self.n_contexts) > 0
        contexts |= self.parent < 0
        number = np.cumsum(contexts) - 1
        gram_number = np.append(np.cumsum(grams) - 1, -1)
        parent, up = self.parent[contexts], self.up[grams]
        nothing = np.empty(0, np.int32)
        return (
            SuffixTrie(
                self.n_outcomes,
                self.n_symbols,
                np.where(parent < 0, -1, number[parent]).astype(np.int32),
                self.older[contexts],
                self.depth[contexts],
                self.length[contexts],
                self.place[contexts],
                self.occurrences[contexts],
                self.ends[contexts],
                np.searchsorted(number[self.context[grams]], np.arange(np.count_nonzero(contexts) + 1)),
                self.symbol[grams],
                gram_number[up].astype(np.int32),
                self.count[grams],
                nothing,
                nothing,
            ),
            grams,
        )


def hash_table(keys: Counts) -> tuple[Counts, Ids]:
    """A table from key to place, at most half full."""
    from spinney.lm._trie_kernels import fill_table

    n_slots = 1 << max(1, int(2 * len(keys)).bit_length())
    table: tuple[Counts, Ids] = fill_table(np.ascontiguousarray(keys, np.int64), n_slots)
    return table


def suffix_trie(
    stream: Stream,
    n_words: int,
    max_context: int | None,
    *,
    collapse: bool = False,
) -> SuffixTrie:
    """The trie of a text, whose contexts have at most ``max_context`` symbols (None: as long as the sentence).

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.stream import stream_of
    >>> trie = suffix_trie(stream_of(sentence_arrays([["a", "rose"], ["is", "a", "rose"]])), 3, 1)
    >>> trie.n_contexts, trie.n_grams, trie.count[:4]
    (5, 9, array([2, 2, 1, 2]))
    """
    events = stream.events
    return trie_of_events(
        stream.ids,
        events,
        stream.room[events],
        np.zeros(len(events), np.int32),
        stream.ids[events],
        n_words + 1,
        n_words + 2,
        max_context,
        collapse=collapse,
    )


def trie_of_events(
    ids: Ids,
    position: Counts,
    room: Ids,
    root: Ids,
    outcome: Ids,
    n_outcomes: int,
    n_symbols: int,
    max_context: int | None,
    *,
    n_roots: int = 1,
    collapse: bool = False,
) -> SuffixTrie:
    """The trie of any events: before event e stand ``ids[position[e] - 1]``, ``ids[position[e] - 2]``, … (``room[e]``
    of them), and it is ``outcome[e]`` that follows. Events of different roots share no context.

    A context is merged into its parent if all that the parent's events have before them is this context (Nelakanti
    2014, §3.3.4): then the two are the same feature.
    """
    from spinney.lm._trie_kernels import number_keys

    number_keys(np.zeros(1, np.int64), 1)  # compiles, and does nothing else
    if max_context is None and not collapse:
        max_context = int(room.max(initial=0))
    if max_context is not None and max_context < 0:
        raise OptionError(f"max_context must be at least 0, not {max_context}")
    room = room if max_context is None else np.minimum(room, max_context).astype(np.int32)
    n_events = len(position)
    grown = _Growth()
    context = root.astype(np.int32)  # of each event
    gram = np.full(n_events, -1, np.int32)
    occurrences = np.bincount(root, minlength=n_roots)
    first = np.full(n_roots, -1, np.int64)
    first[root[::-1]] = position[::-1]
    grown.add_contexts(
        np.full(n_roots, -1), np.full(n_roots, -1), np.zeros(n_roots), np.ones(n_roots), first, occurrences
    )
    grown.add_grams(context, outcome, gram, np.arange(n_events), n_outcomes)
    active = np.flatnonzero(room > 0)
    k = 0
    while active.size:
        k += 1
        base = grown.n_contexts
        above = context[active]
        keys = above.astype(np.int64) * n_symbols + ids[position[active] - k]
        number, example, occurrences = number_keys(keys, _bits(base * n_symbols))
        parent, event = above[example], active[example]
        if collapse:
            same = (occurrences == grown.occurrences_of(parent)) & (parent >= n_roots)
            alone = (occurrences == 1) & ~same
            length = np.where(alone, room[event] - k + 1, 1)
        else:
            same = np.zeros(len(example), bool)
            alone, length = same, np.ones(len(example), np.int64)
        grown.lengthen(parent[same])
        new = ~same
        ids_of_new = np.where(same, parent, base + np.cumsum(new) - 1).astype(np.int32)
        grown.add_contexts(
            parent[new],
            (keys[example] % n_symbols)[new],
            k + length[new] - 1,
            length[new],
            position[event][new],
            occurrences[new],
        )
        context[active] = ids_of_new[number]
        fresh = active[new[number]]
        if fresh.size:
            grown.add_grams(context, outcome, gram, fresh, n_outcomes)
        active = active[(room[active] > k) & ~alone[number]]
    return grown.finished(n_outcomes, n_symbols, context, gram)


class _Growth:
    """A trie in the making, level by level."""

    def __init__(self) -> None:
        self._contexts: list[list[NDArray[np.generic]]] = []
        self._grams: list[list[NDArray[np.generic]]] = []
        self._occurrences = np.empty(0, np.int64)
        self._longer = np.empty(0, np.int32)
        self.n_contexts = self.n_grams = 0

    def add_contexts(
        self,
        parent: NDArray[np.generic],
        older: NDArray[np.generic],
        depth: NDArray[np.generic],
        length: NDArray[np.generic],
        place: Counts,
        occurrences: Counts,
    ) -> None:
        self._contexts.append(
            [
                parent.astype(np.int32),
                older.astype(np.int32),
                depth.astype(np.int32),
                length.astype(np.int32),
                place,
            ]
        )
        self._occurrences = np.concatenate((self._occurrences, occurrences))
        self._longer = np.concatenate((self._longer, np.zeros(len(parent), np.int32)))
        self.n_contexts += len(parent)

    def occurrences_of(self, contexts: Ids) -> Counts:
        return self._occurrences[contexts]

    def lengthen(self, contexts: Ids) -> None:
        """These contexts stand for one that is longer by a symbol as well."""
        self._longer[contexts] += 1

    def add_grams(self, context: Ids, outcome: Ids, gram: Ids, events: Counts, n_outcomes: int) -> None:
        """The grams of events whose contexts are new; ``gram`` holds their parents, and is brought up to date."""
        from spinney.lm._trie_kernels import number_keys

        keys = context[events].astype(np.int64) * n_outcomes + outcome[events]
        number, example, count = number_keys(keys, _bits(self.n_contexts * n_outcomes))
        self._grams.append(
            [(keys[example] // n_outcomes), outcome[events[example]], gram[events[example]], count]
        )
        gram[events] = self.n_grams + number
        self.n_grams += len(example)

    def finished(self, n_outcomes: int, n_symbols: int, event_context: Ids, event_gram: Ids) -> SuffixTrie:
        parent, older, depth, length, place = (np.concatenate(parts) for parts in zip(*self._contexts))
        of, symbol, up, count = (np.concatenate(parts) for parts in zip(*self._grams))
        return SuffixTrie(
            n_outcomes,
            n_symbols,
            parent,
            older,
            depth + self._longer,
            length + self._longer,
            place,
            self._occurrences,
            np.bincount(event_context, minlength=self.n_contexts),
            np.searchsorted(of, np.arange(self.n_contexts + 1)),
            symbol.astype(np.int32),
            up.astype(np.int32),
            count,
            event_context,
            event_gram,
        )


def _bits(n: int) -> int:
    """Bits of the numbers below n."""
    return max(1, int(n - 1).bit_length())
