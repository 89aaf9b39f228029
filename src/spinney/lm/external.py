"""The suffix trie of a text that is larger than memory: counted in runs on disk that are merged.

At each level the keys of the events (their context so far and one symbol more) are sorted chunk by chunk. Each chunk
gives a *run* of distinct keys with their counts, and remembers for each event its place in the run. Merging the runs
numbers the distinct keys, and with them the entries of the runs; so an event finds its number without any search.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinney.corpus import TokenArrays
from spinney.errors import InputError, OptionError
from spinney.lm.diskcolumns import Column, scratch_folder
from spinney.lm.stream import Ids, Stream, stream_of
from spinney.lm.suffixtrie import Counts, SuffixTrie

_BYTES_OF_AN_EVENT = 160  # what sorting a chunk, or merging blocks, needs at most for each key in memory
_LARGEST = np.iinfo(np.int32).max


def external_trie(
    text: Stream | TokenArrays,
    n_words: int,
    max_context: int | None,
    *,
    memory: int = 1 << 28,
    folder: str | os.PathLike[str] | None = None,
) -> SuffixTrie:
    """The trie of :func:`~spinney.lm.suffixtrie.suffix_trie`, array for array, in bounded memory.

    The arrays of the trie are mapped from files that have already lost their names: their space on disk comes back
    when nobody uses them any more.

    Parameters
    ----------
    text
        A stream, or arrays that may be memory-mapped (:meth:`~spinney.corpus.TokenArrays.load`).
    n_words
        The size of the vocabulary.
    max_context
        The longest context; None: as long as the sentence.
    memory
        About how many bytes to use.
    folder
        Where to put temporary files; None: where the system does. At most about 60 bytes per event are needed, and 70
        for each distinct gram.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> trie = external_trie(sentence_arrays([["a", "rose"], ["is", "a", "rose"]]), 3, 1)
    >>> trie.n_contexts, trie.n_grams, trie.count[:4]
    (5, 9, array([2, 2, 1, 2]))
    """
    if memory < 1:
        raise OptionError(f"memory must be at least 1 byte, not {memory}")
    if max_context is not None and max_context < 0:
        raise OptionError(f"max_context must be at least 0, not {max_context}")
    with scratch_folder(folder) as work:
        return _Counting(n_words, max_context, max(1, memory // _BYTES_OF_AN_EVENT), work).trie(text)


class _Merged(NamedTuple):
    """A block of distinct keys, from all runs, in their order."""

    keys: Counts
    counts: Counts
    #: What the first of the events with each key brought along.
    first: Counts


class _Runs:
    """Sorted runs of distinct keys, one after the other, with the number that each entry has in the end."""

    def __init__(self, column: Callable[[str, DTypeLike], Column]) -> None:
        self.keys = column("run_keys", np.int64)
        self.counts = column("run_counts", np.int64)
        self.first = column("run_first", np.int64)
        self.number = column("run_number", np.int32)
        self.starts = [0]

    def clear(self) -> None:
        for column in (self.keys, self.counts, self.first, self.number):
            column.clear()
        self.starts = [0]

    def add(self, keys: Counts, n_bits: int, first: NDArray[Any]) -> Ids:
        """One more run; gives the place in it of each key."""
        from spinney.lm._trie_kernels import number_keys

        number: Ids
        number, example, counts = number_keys(keys, n_bits)
        self.keys.append(keys[example])
        self.counts.append(counts)
        self.first.append(first[example])
        self.starts.append(len(self.keys))
        return number

    def numbers_of_run(self, run: int) -> Ids:
        return self.number.read(self.starts[run], self.starts[run + 1])

    def merged(self, room: int) -> Iterator[_Merged]:
        """Merge all runs, with about ``room`` entries in memory; each entry's ``number`` is written on the way."""
        place, ends = np.array(self.starts[:-1]), np.array(self.starts[1:])
        block = max(1, room // max(1, len(place)))
        total = 0
        while np.any(place < ends):
            held = [(run, int(place[run]), self.keys.read(place[run], min(place[run] + block, ends[run])))
                    for run in np.flatnonzero(place < ends).tolist()]  # fmt: skip
            # Beyond the smallest last key of a block that does not end its run, another block may have more.
            limit = min((int(keys[-1]) for run, at, keys in held if at + len(keys) < ends[run]), default=None)
            held = [(run, at, keys if limit is None else keys[: np.searchsorted(keys, limit, "right")])
                    for run, at, keys in held]  # fmt: skip
            keys = np.concatenate([part for *_, part in held])
            counts = np.concatenate([self.counts.read(at, at + len(part)) for _, at, part in held])
            first = np.concatenate([self.first.read(at, at + len(part)) for _, at, part in held])
            order = np.argsort(keys, kind="stable")  # equal keys stay in the order of the runs
            new = np.append(True, np.diff(keys[order]) > 0)
            number = np.empty(len(keys), np.int64)
            number[order] = total + np.cumsum(new) - 1
            start = 0
            for run, at, part in held:
                self.number.write(at, number[start : start + len(part)])
                start += len(part)
                place[run] += len(part)
            heads = np.flatnonzero(new)
            total += len(heads)
            yield _Merged(keys[order[heads]], np.add.reduceat(counts[order], heads), first[order[heads]])


class _Counting:
    """The levels of the trie, one after the other."""

    def __init__(self, n_words: int, max_context: int | None, room: int, folder: str) -> None:
        self._folder = folder
        self._open: list[Column] = []
        self.n_outcomes, self.n_symbols, self.max_context, self.chunk = (
            n_words + 1,
            n_words + 2,
            max_context,
            room,
        )
        column = self._column
        # Of each place of the stream: its symbol, room before it, context and gram so far, place in a run.
        self.ids, self.room = column("ids", np.int32), column("room", np.int32)
        self.context_at, self.gram_at = column("context", np.int32), column("gram", np.int32)
        self.local = column("local", np.int32)
        self.runs = _Runs(column)
        # Of contexts.
        self.parent, self.older = column("parent", np.int32), column("older", np.int32)
        self.depth, self.length = column("depth", np.int32), column("length", np.int32)
        self.place, self.occurrences = column("place", np.int64), column("occurrences", np.int64)
        self.ends, self.n_grams = column("ends", np.int64), column("n_grams", np.int64)
        # Of grams.
        self.symbol, self.up = column("symbol", np.int32), column("up", np.int32)
        self.count = column("count", np.int64)

    def _column(self, name: str, dtype: DTypeLike) -> Column:
        self._open.append(Column(self._folder, name, dtype))
        return self._open[-1]

    def _write_stream(self, text: Stream | TokenArrays) -> int:
        """Write the stream, and give the length of its longest context."""
        if isinstance(text, TokenArrays):
            pieces = (stream_of(part) for part in text.shards(1 + 2 * text.n_tokens // self.chunk))
        else:
            pieces = (
                Stream(text.ids[start : start + self.chunk], text.room[start : start + self.chunk])
                for start in range(0, len(text.ids), self.chunk)
            )
        deepest = 0
        for piece in pieces:
            self.ids.append(piece.ids)
            self.room.append(piece.room)
            deepest = max(deepest, int(piece.room.max(initial=0)))
        return deepest if self.max_context is None else min(deepest, self.max_context)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for start in range(0, len(self.ids), self.chunk):
            yield start, min(start + self.chunk, len(self.ids))

    def trie(self, text: Stream | TokenArrays) -> SuffixTrie:
        try:
            deepest = self._write_stream(text)
            self._add_root()
            self._add_grams(0)
            for k in range(1, deepest + 1):
                self._add_contexts(k)
                self._add_grams(k)
            return self._finished()
        finally:
            for column in self._open:
                column.close()

    def _add_root(self) -> None:
        n_events, first = 0, -1
        for start, stop in self._chunks():
            events = np.flatnonzero(self.room.read(start, stop))
            if first < 0 and events.size:
                first = start + int(events[0])
            n_events += len(events)
            self.context_at.append(np.zeros(stop - start))
            self.gram_at.append(np.full(stop - start, -1))
        self._write_contexts(_Merged(np.array([-1]), np.array([n_events]), np.array([first])), 0)

    def _add_contexts(self, k: int) -> None:
        """The contexts of k symbols."""
        base = len(self.parent)

        def keys(start: int, stop: int, active: Counts) -> tuple[Counts, NDArray[Any]]:
            begin = max(0, start - k)
            older = self.ids.read(begin, stop)[start + active - k - begin]
            above = self.context_at.read(start, stop)[active].astype(np.int64)
            return above * self.n_symbols + older, start + active

        for block in self._numbered(k, keys, base * self.n_symbols, self.context_at, base):
            self._write_contexts(block, k)

    def _write_contexts(self, block: _Merged, k: int) -> None:
        n = len(block.keys)
        parent, older = np.divmod(block.keys, self.n_symbols) if k else (np.array([-1]), np.array([-1]))
        self.parent.append(parent)
        self.older.append(older)
        self.depth.append(np.full(n, k))
        self.length.append(np.ones(n))
        self.place.append(block.first)
        self.occurrences.append(block.counts)
        self.ends.append(block.counts)
        self.n_grams.append(np.zeros(n))
        if k:
            self._add_to(self.ends, parent, -block.counts)

    def _add_grams(self, k: int) -> None:
        """The grams of the contexts of k symbols."""
        base = len(self.symbol)

        def keys(start: int, stop: int, active: Counts) -> tuple[Counts, NDArray[Any]]:
            above = self.context_at.read(start, stop)[active].astype(np.int64)
            outcome = self.ids.read(start, stop)[active]
            return above * self.n_outcomes + outcome, self.gram_at.read(start, stop)[active]

        for block in self._numbered(max(k, 1), keys, len(self.parent) * self.n_outcomes, self.gram_at, base):
            context, symbol = np.divmod(block.keys, self.n_outcomes)
            self.symbol.append(symbol)
            self.up.append(block.first)
            self.count.append(block.counts)
            self._add_to(self.n_grams, context, np.ones(len(context), np.int64))

    def _numbered(
        self,
        depth: int,
        keys_of: Callable[[int, int, Counts], tuple[Counts, NDArray[Any]]],
        n_keys: int,
        target: Column,
        base: int,
    ) -> Iterator[_Merged]:
        """Number the keys of all events with ``depth`` symbols before them, from ``base`` on, into ``target``.

        Gives the distinct keys, block by block; ``target`` has the new numbers when they are exhausted.
        """
        self.runs.clear()
        n_bits = max(1, (n_keys - 1).bit_length())
        for start, stop in self._chunks():
            active = np.flatnonzero(self.room.read(start, stop) >= depth)
            keys, first = keys_of(start, stop, active)
            local = np.zeros(stop - start, np.int32)
            local[active] = self.runs.add(keys, n_bits, first)
            self.local.write(start, local)
        n_distinct = 0
        for block in self.runs.merged(self.chunk):
            n_distinct += len(block.keys)
            if base + n_distinct > _LARGEST:
                raise InputError(
                    f"more than {_LARGEST:,} different n-grams", remedy="use a lower order or less text"
                )
            yield block
        for run, (start, stop) in enumerate(self._chunks()):
            active = np.flatnonzero(self.room.read(start, stop) >= depth)
            number = target.read(start, stop)
            number[active] = base + self.runs.numbers_of_run(run)[self.local.read(start, stop)[active]]
            target.write(start, number)

    def _add_to(self, column: Column, places: Counts, values: Counts) -> None:
        """Add to entries of a column; the places never fall, so they are few blocks."""
        at = 0
        while at < len(places):
            first = int(places[at])
            until = at + int(np.searchsorted(places[at:], first + self.chunk))
            held = column.read(first, int(places[until - 1]) + 1)
            np.add.at(held, places[at:until] - first, values[at:until])
            column.write(first, held)
            at = until

    def _finished(self) -> SuffixTrie:
        column = self._column
        gram_ptr = column("gram_ptr", np.int64)
        gram_ptr.append(np.zeros(1))
        total = 0
        for start in range(0, len(self.n_grams), self.chunk):
            sums = total + np.cumsum(self.n_grams.read(start, start + self.chunk))
            gram_ptr.append(sums)
            total = int(sums[-1])
        event_context, event_gram = column("event_context", np.int32), column("event_gram", np.int32)
        for start, stop in self._chunks():
            events = np.flatnonzero(self.room.read(start, stop))
            event_context.append(self.context_at.read(start, stop)[events])
            event_gram.append(self.gram_at.read(start, stop)[events])
        return SuffixTrie(
            self.n_outcomes,
            self.n_symbols,
            self.parent.mapped(),
            self.older.mapped(),
            self.depth.mapped(),
            self.length.mapped(),
            self.place.mapped(),
            self.occurrences.mapped(),
            self.ends.mapped(),
            gram_ptr.mapped(),
            self.symbol.mapped(),
            self.up.mapped(),
            self.count.mapped(),
            event_context.mapped(),
            event_gram.mapped(),
        )
