"""The distinct n-grams of a text with their counts, sorted, in bounded memory.

Each n-gram is a row of whole numbers: its context from the newest word to the oldest, and then the word that follows.
So are they sorted. The n-grams of a piece of text that fits into memory are sorted and counted there and written as a
*run*; in the end all runs are merged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.corpus import TokenArrays
from spinney.lm.diskcolumns import Columns
from spinney.lm.suffixtrie import Counts
from spinney.parallel import Pure, elsewhere, in_order

_AWAY = 1 << 20  # n-grams that a task of a cluster sorts
_BITS = 63  # of a number, so that none is negative


class Packing(NamedTuple):
    """How an n-gram is a row of whole numbers: ``per_word`` symbols of ``bits`` bits in each, in their order."""

    order: int
    bits: int

    @classmethod
    def of(cls, order: int, n_symbols: int) -> Packing:
        """For symbols below ``n_symbols``.

        Examples
        --------
        >>> Packing.of(5, 100_002), Packing.of(5, 100_002).width
        (Packing(order=5, bits=17), 2)
        """
        return cls(order, max(1, (n_symbols - 1).bit_length()))

    @property
    def per_word(self) -> int:
        """Symbols in a number."""
        return _BITS // self.bits

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return -(-self.order // self.per_word)

    @property
    def bits_of(self) -> Counts:
        """How many bits of each number are used."""
        fields = np.full(self.width, self.per_word)
        fields[-1] = self.order - self.per_word * (self.width - 1)
        return fields * self.bits


class Rows(NamedTuple):
    """Distinct n-grams in their order, and how often each comes."""

    keys: Counts
    counts: Counts


class Runs:
    """Sorted runs of distinct n-grams, one after the other in two columns.

    Parameters
    ----------
    column
        What makes the columns that they are in.
    packing
        How n-grams are rows.
    memory
        About how many bytes to use.
    """

    def __init__(self, column: Columns, packing: Packing, memory: int) -> None:
        self.packing, self._memory = packing, memory
        self._keys, self._counts = column("run_keys", np.int64), column("run_counts", np.int64)
        self.starts = [0]

    @property
    def piece(self) -> int:
        """How many n-grams are sorted at a time: held twice, with their counts and what they are made of."""
        return max(1, self._memory // (16 * self.packing.width + 24))

    def add(self, keys: Counts, counts: Counts) -> None:
        """One more run: distinct rows in their order."""
        self._keys.append(keys.reshape(-1))
        self._counts.append(counts)
        self.starts.append(self.starts[-1] + len(counts))

    def count(self, text: TokenArrays, n_words: int) -> None:
        """Add the runs of a text, whose words are numbers below ``n_words``."""
        if elsewhere():
            self._count_elsewhere(text, n_words)
            return
        recent = np.full(self.packing.order - 1, n_words + 1, np.int32)
        n_events = text.n_tokens + len(text)
        size = max(1, min(self.piece, n_events))
        room = np.empty((2, size, self.packing.width), np.int64)
        with progress.task("counting", n_events) as bar:
            for start in range(0, n_events, size):
                n = min(size, n_events - start)
                self.add(
                    *run_of(self.packing, n_words, (*events(text, start, start + n), recent), room[:, :n])
                )
                bar.update(n)

    def _count_elsewhere(self, text: TokenArrays, n_words: int) -> None:
        """The same on a cluster, with more and shorter runs."""
        n_events = text.n_tokens + len(text)
        size = max(1, min(self.piece, _AWAY))

        def pieces() -> Iterator[tuple[NDArray[np.int32], Counts, NDArray[np.int32]]]:
            for start in range(0, n_events, size):
                before = context(text, start, self.packing.order - 1, n_words + 1)
                yield *events(text, start, min(start + size, n_events)), before

        with progress.task("counting", n_events) as bar:
            for rows in in_order(Pure(run_of, self.packing, n_words), pieces(), 1):
                self.add(*rows)
                bar.update(min(size, n_events - int(bar.done)))

    def merged(self) -> Iterator[Rows]:
        """All runs as one, block by block."""
        from spinney.lm._run_kernels import build_heap, merge_runs

        width, k = self.packing.width, len(self.starts) - 1
        row_bytes = 8 * width + 8
        # As much for the runs as for the block that is merged, with what the caller makes of it.
        half = self._memory * 2 // 5
        size = max(1, half // row_bytes // max(1, k))
        size = min(size, max((b - a for a, b in zip(self.starts, self.starts[1:])), default=1))
        block = max(2, half // (row_bytes + 24))
        keys, counts = np.empty((k * size, width), np.int64), np.empty(k * size, np.int64)
        at, stop, more = np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(k, np.bool_)
        place = np.array(self.starts[:-1])  # on disk

        def fill(run: int) -> None:
            end = self.starts[run + 1]
            upto, first = min(int(place[run]) + size, end), run * size
            part = self._keys.read(int(place[run]) * width, upto * width)
            n = upto - int(place[run])
            keys[first : first + n] = part.reshape(n, width)
            counts[first : first + n] = self._counts.read(int(place[run]), upto)
            place[run], at[run], stop[run], more[run] = upto, first, first + n, upto < end

        for run in range(k):
            fill(run)
        heap = np.flatnonzero(stop > at)
        build_heap(heap, keys, at)
        n_left, n = len(heap), 0
        block = min(block, self.starts[-1] + 1)
        merged, merged_counts = np.empty((block, width), np.int64), np.empty(block, np.int64)
        with progress.task("merging", self.starts[-1]) as bar:
            while True:
                n, n_left, hungry = merge_runs(
                    heap, n_left, keys, counts, at, stop, more, merged, merged_counts, n
                )
                if hungry >= 0:
                    bar.update(size)
                    fill(hungry)
                elif n_left:  # full: the last row may come again
                    yield Rows(merged[: n - 1], merged_counts[: n - 1])
                    merged[0], merged_counts[0], n = merged[n - 1], merged_counts[n - 1], 1
                else:
                    break
        yield Rows(merged[:n], merged_counts[:n])

    def remove(self) -> None:
        """Give the space on disk back."""
        self._keys.remove()
        self._counts.remove()


def run_of(
    packing: Packing,
    n_words: int,
    piece: tuple[NDArray[np.int32], Counts, NDArray[np.int32]],
    room: Counts | None = None,
) -> Rows:
    """The distinct n-grams of a piece of text, sorted: its words, the ends of its sentences, and what is before it.

    With room for the rows, what is before is changed into what is before the next piece; without, nothing is changed.
    """
    from spinney.lm._run_kernels import count_rows, pack_events, sort_rows

    ids, ends, recent = piece
    n = len(ids) + len(ends)
    if room is None:
        recent, room = recent.copy(), np.empty((2, n, packing.width), np.int64)
    keys, other = room
    pack_events(ids, ends, recent, n_words, packing.bits, packing.per_word, keys)
    ordered = sort_rows(keys, other, packing.bits_of)
    counts = np.empty(n, np.int64)
    distinct = count_rows(ordered, counts)
    return Rows(ordered[:distinct], counts[:distinct])


def context(text: TokenArrays, start: int, depth: int, mark: int) -> NDArray[np.int32]:
    """The last words before an event, the newest first; ``mark`` stands before the beginning of a sentence.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]])
    >>> [context(text, start, 2, 9).tolist() for start in (0, 1, 2, 3, 5)]
    [[9, 9], [0, 9], [1, 0], [9, 9], [0, 2]]
    """
    ended = _ended(text, start)
    first = start - ended
    recent = np.full(depth, mark, np.int32)
    own = text.ids[max(first - depth, int(text.offsets[ended])) : first][::-1]
    recent[: len(own)] = own
    return recent


def events(text: TokenArrays, start: int, stop: int) -> tuple[NDArray[np.int32], Counts]:
    """The words among events ``start`` to ``stop`` (words and ends of sentences), and before which of them ends are.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> events(sentence_arrays([["a", "rose"], ["is", "a", "rose"]]), 1, 5)
    (array([1, 2, 0], dtype=int32), array([1]))
    """
    before, after = _ended(text, start), _ended(text, stop)
    first, last = start - before, stop - after
    return np.array(text.ids[first:last]), np.array(text.offsets[before + 1 : after + 1]) - first


def _ended(text: TokenArrays, event: int) -> int:
    """How many sentences have ended before an event."""
    return bisect_left(range(len(text)), event, key=lambda s: int(text.offsets[s + 1]) + s)
