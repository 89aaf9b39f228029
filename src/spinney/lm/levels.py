"""The n-grams of each order in columns, made from those of the highest order without sorting again.

Contexts are sorted by their symbols from the newest to the oldest, and the grams of a context by what follows. So the
contexts that differ in their oldest symbol only are in a row, and what followed any of them is what followed the
context without that symbol: one pass over an order gives the next lower one, with a counter for each symbol as its only
memory. In the same way the probabilities of an order, from which the next higher one is interpolated, are at hand where
they are needed. Nothing but the n-grams of the highest order is ever sorted (in Heafield et al. 2013, who estimate the
same model in the same stages, each stage sorts all orders anew).

A sentence begins with as many starts as the highest order has room for, so that each word has a whole n-gram. A
context with two starts or more stands for the one with a single start; it is not a context of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.lm.diskcolumns import Columns
from spinney.lm.runs import Packing, Rows
from spinney.lm.suffixtrie import Counts


class Block(NamedTuple):
    """Some contexts of a level, with all of their grams."""

    shared: NDArray[np.int32]
    starts: NDArray[np.int32]
    n_grams: NDArray[np.int32]
    symbol: NDArray[np.int32]
    counts: Counts


class Level:
    """The contexts of one length and their grams, in columns.

    Attributes
    ----------
    shared : int32 [contexts]
        How many symbols, from the newest on, a context has in common with the one before it.
    starts : int32 [contexts]
        With how many starts of a sentence it begins.
    n_grams : int32 [contexts]
        How many grams it has.
    symbol : int32 [grams]
        The symbol that follows.
    count : int64 [grams]
        How often, or after how many symbols.
    tally : int64 [5]
        How many grams were seen 0, 1, …, 4 times.
    last_of : int64 [symbols]
        How many grams end with each symbol.
    """

    def __init__(self, column: Columns, depth: int, n_symbols: int) -> None:
        self.depth = depth
        self.shared, self.starts, self.n_grams, self.symbol = (
            column(f"{name}_{depth}", np.int32) for name in ("shared", "starts", "n_grams", "symbol")
        )
        self.count = column(f"count_{depth}", np.int64)
        self.tally = np.zeros(5, np.int64)
        self.last_of = np.zeros(n_symbols, np.int64)

    def append(self, *values: NDArray[Any]) -> None:
        """Add contexts and grams: values of the five columns, in their order."""
        for each, part in zip((self.shared, self.starts, self.n_grams, self.symbol, self.count), values):
            each.append(part)

    def blocks(self, room: int) -> Iterator[Block]:
        """All of it, with about ``room`` grams at a time."""
        context = gram = 0
        while context < len(self.n_grams):
            sizes = self.n_grams.read(context, context + room)
            ends = np.cumsum(sizes, dtype=np.int64)
            n = max(1, int(np.searchsorted(ends, room, "right")))
            until = gram + int(ends[n - 1])
            yield Block(
                self.shared.read(context, context + n),
                self.starts.read(context, context + n),
                sizes[:n],
                self.symbol.read(gram, until),
                self.count.read(gram, until),
            )
            context, gram = context + n, until

    def remove(self) -> None:
        """Give the space on disk back."""
        for column in (self.shared, self.starts, self.n_grams, self.symbol, self.count):
            column.remove()


def highest_level(column: Columns, rows: Iterable[Rows], packing: Packing, n_symbols: int) -> Level:
    """The level of the highest order, from its sorted n-grams."""
    from spinney.lm._level_kernels import unpack_level

    level = Level(column, packing.order - 1, n_symbols)
    last, state = np.full(packing.order, -1, np.int64), np.zeros(2, np.int64)
    for keys, counts in rows:
        n = len(counts)
        shared, starts, n_grams, symbol = (np.empty(n, np.int32) for _ in range(4))
        begun, ended = unpack_level(
            keys, counts, packing.bits, packing.per_word, n_symbols - 1, last, state,
            shared, starts, n_grams, symbol, level.tally,
        )  # fmt: skip
        level.append(shared[:begun], starts[:begun], n_grams[:ended], symbol, counts)
    if state[0]:
        level.n_grams.append(state[:1])
    return level


def level_below(column: Columns, above: Level, n_symbols: int, room: int, *, ways: bool) -> Level:
    """The level of the next lower order; ``ways``: count in how many ways a gram is preceded, not how often."""
    from spinney.lm._level_kernels import close_context, lower_level

    level = Level(column, above.depth - 1, n_symbols)
    state, count_of, touched = (
        np.zeros(4, np.int64),
        np.zeros(n_symbols, np.int64),
        np.empty(n_symbols, np.int32),
    )
    for block in above.blocks(room):
        contexts: list[NDArray[Any]] = [np.empty(len(block.shared) + 1, np.int32) for _ in range(3)]
        n = len(block.symbol) + n_symbols  # those of the context that was open among them
        grams: list[NDArray[Any]] = [np.empty(n, np.int32), np.empty(n, np.int64)]
        n_contexts, n_grams = lower_level(
            *block, level.depth, ways, state, count_of, touched,
            *contexts, *grams, level.tally, level.last_of,
        )  # fmt: skip
        level.append(*(values[:n_contexts] for values in contexts), *(values[:n_grams] for values in grams))
    if state[0]:
        contexts = [np.empty(1, np.int32) for _ in range(3)]
        grams = [np.empty(n_symbols, np.int32), np.empty(n_symbols, np.int64)]
        n = close_context(state, count_of, touched, 0, 0, *contexts, *grams, level.tally, level.last_of)
        level.append(*contexts, *(values[:n] for values in grams))
    return level
