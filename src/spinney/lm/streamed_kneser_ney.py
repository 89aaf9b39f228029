"""Interpolated Kneser-Ney smoothing and absolute discounting in passes over n-grams, which may be on disk.

The model is the one that :mod:`spinney.lm.kneser_ney` estimates from a suffix trie, to the last bit. See
:mod:`spinney.lm.runs` for how n-grams are counted, and :mod:`spinney.lm.levels` for how the lower orders and the
probabilities follow from these counts. What has to be in memory is a few numbers for each word of the vocabulary, and
blocks that are as large as allowed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinney import progress
from spinney.corpus import TokenArrays
from spinney.errors import InputError, OptionError
from spinney.lm.backoff import BackoffModel
from spinney.lm.discounts import absolute_discount, given_discounts, modified_discounts
from spinney.lm.diskcolumns import Column, Columns, HeldColumn, disk_columns
from spinney.lm.levels import Level, highest_level, level_below
from spinney.lm.runs import Packing, Runs
from spinney.lm.suffixtrie import Counts
from spinney.lm.tables import GramTable

Vector = NDArray[np.float64]

#: The estimators, by their names in :data:`spinney.lm.smoothing.METHODS`.
STREAMED = ("modified-kneser-ney", "kneser-ney", "absolute")

_BLOCK = 1 << 27  # bytes for what is worked on at a time, where all is in memory
_BYTES_OF_A_GRAM = 170  # what a block needs for each of its grams, with contexts and what is made of them
_STEP = 1 << 20  # sentences looked at at a time
_MOST_CONTEXTS = np.iinfo(np.int32).max


def streamed_kneser_ney(
    text: TokenArrays,
    order: int,
    *,
    method: str = "modified-kneser-ney",
    discount: float | Sequence[float] | None = None,
    memory: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> BackoffModel:
    """Estimate a model in passes over its n-grams, in memory or on disk.

    On disk, the arrays of the model are mapped from files that have already lost their names.

    Parameters
    ----------
    text
        Sentences; the arrays may be memory-mapped (:meth:`~spinney.corpus.TokenArrays.load`).
    order
        Length of the longest n-grams.
    method
        ``"modified-kneser-ney"``, ``"kneser-ney"`` or ``"absolute"``, as in :func:`~spinney.lm.smoothing.fit_ngram`.
    discount
        The one discount of the latter two, or one for each order, words first; None: estimated.
    memory
        About how many bytes to use, besides the vocabulary and what is mapped; the rest is on disk. None: all is in
        memory.
    folder
        Where to put temporary files; None: where the system does.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences, sentence_arrays
    >>> text = sentence_arrays(sample_sentences(), min_count=2, unknown="<unk>")
    >>> held, on_disk = streamed_kneser_ney(text, 3), streamed_kneser_ney(text, 3, memory=10_000)
    >>> bool((held.logp == on_disk.logp).all())
    True
    """
    if memory is not None and memory < 1:
        raise OptionError(f"memory must be at least 1 byte, not {memory}")
    if order < 1:
        raise OptionError(f"order must be at least 1, not {order}")
    given = None if discount is None else given_discounts(discount, order)
    order = min(order, _longest(text) + 2)  # a context is no longer than a sentence with its start
    if memory is None:
        return _estimated(text, order, HeldColumn, _BLOCK, method, given)
    with disk_columns(folder) as column:
        model = _estimated(text, order, column, memory, method, given)
    model.columns = partial(disk_columns, folder)
    return model


def _estimated(
    text: TokenArrays, order: int, column: Columns, memory: int, method: str, given: list[float] | None
) -> BackoffModel:
    n_words, room = len(text.vocabulary), max(1, memory // _BYTES_OF_A_GRAM)
    levels = _levels(text, order, n_words, memory, column, ways=method != "absolute")
    discounts = [
        modified_discounts(level.tally, k)
        if method == "modified-kneser-ney"
        else (absolute_discount(level.tally, k) if given is None else given[k - 1],) * 3
        for k, level in enumerate(levels, 1)
    ]
    grams = _Estimate(column, n_words + 2, room)
    try:
        with progress.task("estimating", order) as bar:
            for level, taken in zip(levels, discounts):
                grams.add(level, np.array((0.0, *taken)), highest=level is levels[-1])
                bar.update()
        table, logp, backoff = grams.finished()
    finally:
        grams.close()
    return BackoffModel(text.vocabulary, table, logp, backoff, {"discounts": [list(d) for d in discounts]})


def _longest(text: TokenArrays) -> int:
    """Words of the longest sentence; -1 if there is none."""
    parts = (text.offsets[start : start + _STEP + 1] for start in range(0, len(text), _STEP))
    return max((int(np.diff(part).max()) for part in parts), default=-1)


def _levels(
    text: TokenArrays, order: int, n_words: int, memory: int, column: Columns, *, ways: bool
) -> list[Level]:
    """The grams of all orders, the lowest first."""
    n_symbols = n_words + 2
    packing = Packing.of(order, n_symbols)
    runs = Runs(column, packing, memory)
    runs.count(text, n_words)
    levels = [highest_level(column, runs.merged(), packing, n_symbols)]
    runs.remove()
    room = max(1, memory // _BYTES_OF_A_GRAM)
    while levels[0].depth:
        levels.insert(0, level_below(column, levels[0], n_symbols, room, ways=ways))
    return levels


class _Estimate:
    """Probabilities and weights, order after order from the lowest, and the table of their grams."""

    def __init__(self, make: Columns, n_symbols: int, room: int) -> None:
        self._make, self._n_symbols, self._room = make, n_symbols, room
        self._open: list[Column | HeldColumn] = []
        column = self._column
        self._gram_ptr, self._backoff = column("gram_ptr", np.int64), column("backoff", np.float64)
        self._symbol, self._following = column("table_symbol", np.int32), column("following", np.int32)
        self._logp = column("logp", np.float64)
        self._gram_ptr.append(np.zeros(1))
        self._first_context = [0]  # of each length
        self._n_contexts = 1  # of the present length
        self._n_grams = 0
        self._below: tuple[Level, Column | HeldColumn] | None = (
            None  # the order below, and the probabilities of its grams
        )
        self._lower = np.zeros(n_symbols)

    def _column(self, name: str, dtype: DTypeLike) -> Column | HeldColumn:
        self._open.append(self._make(name, dtype))
        return self._open[-1]

    def add(self, level: Level, discounts: Vector, *, highest: bool) -> None:
        """The next order: its grams, with their discounts."""
        end = self._n_symbols - 2
        self._first_context.append(self._first_context[-1] + self._n_contexts)
        if self._first_context[-1] > _MOST_CONTEXTS:
            raise InputError(
                f"more than {_MOST_CONTEXTS:,} contexts", remedy="use a lower order or less text"
            )
        # A gram is a context of the next length, unless the sentence ends with it. Contexts are sorted by their newest
        # symbol and then as the grams are: so each symbol numbers the grams that end with it one after the other.
        n_ending = level.last_of[:end]
        number = self._first_context[-1] + np.cumsum(n_ending) - n_ending
        p = self._make(f"p_{level.depth}", np.float64)
        if level.depth:
            self._interpolate(level, discounts, number[:0] if highest else number, p)
        else:
            self._add_unigrams(level, discounts, number[:0] if highest else number, p)
        self._n_contexts = int(n_ending.sum()) + (level.depth == 0)  # and the start of a sentence
        self._forget_below()
        self._below = level, p

    def _forget_below(self) -> None:
        if self._below is not None:
            level, p = self._below
            level.remove()
            p.remove()

    def _add_unigrams(self, level: Level, discounts: Vector, number: Counts, p: Column | HeldColumn) -> None:
        """All symbols, seen or not, mixed with the uniform distribution."""
        n = self._n_symbols
        counts = np.zeros(n, np.int64)
        for block in level.blocks(n):
            counts[block.symbol] = block.counts
        times = np.minimum(counts, 3)
        uniform = np.append(np.full(n - 1, 1.0 / (n - 1)), 0.0)  # the start is never predicted
        total, seen = int(counts.sum()), np.bincount(times, minlength=4)
        left = 1.0
        if total:
            left = (discounts[1] * seen[1] + discounts[2] * seen[2] + discounts[3] * seen[3]) / total
        self._lower = (counts - discounts[times]) / max(total, 1) + left * uniform
        following = np.full(n, -1, np.int64)
        if len(number):
            following[: n - 2] = np.where(counts[: n - 2] > 0, number, -1)
            following[n - 1] = self._first_context[-1] + np.count_nonzero(counts[: n - 2])
        self._append(np.array([n]), np.array([left]), np.arange(n), following, self._lower, p)

    def _interpolate(self, level: Level, discounts: Vector, number: Counts, p: Column | HeldColumn) -> None:
        from spinney.lm._level_kernels import interpolate

        parents = _Parents(*self._below) if self._below is not None and level.depth > 1 else None
        first = True
        for block in level.blocks(self._room):
            new_parent = block.shared < level.depth - 1
            new_parent[:1] |= first and parents is not None
            first = False
            above = _NO_PARENTS if parents is None else parents.take(int(np.count_nonzero(new_parent)))
            contexts, grams = len(block.starts), len(block.symbol)
            weight, sizes = np.empty(contexts), np.empty(contexts, np.int32)
            symbol, following, values = np.empty(grams, np.int32), np.empty(grams, np.int64), np.empty(grams)
            n_contexts, n_grams = interpolate(
                new_parent, *block[1:], *above, self._lower, discounts, self._n_symbols - 2, number,
                weight, sizes, symbol, following, values,
            )  # fmt: skip
            self._append(
                sizes[:n_contexts],
                weight[:n_contexts],
                symbol[:n_grams],
                following[:n_grams],
                values[:n_grams],
                p,
            )

    def _append(
        self,
        sizes: NDArray[Any],
        weight: Vector,
        symbol: NDArray[Any],
        following: Counts,
        values: Vector,
        p: Column | HeldColumn,
    ) -> None:
        ends = self._n_grams + np.cumsum(sizes, dtype=np.int64)
        self._n_grams = int(ends[-1]) if len(ends) else self._n_grams
        self._gram_ptr.append(ends)
        self._symbol.append(symbol)
        self._following.append(following)
        p.append(values)
        with np.errstate(divide="ignore"):
            self._backoff.append(np.log(weight))
            self._logp.append(np.minimum(np.log(values), 0.0))

    def finished(self) -> tuple[GramTable, Vector, Vector]:
        """The table, log p of its grams, and the logarithms of the weights of its contexts."""
        self._forget_below()
        self._below = None
        levels = np.array([*self._first_context[:-1], len(self._backoff)])
        table = GramTable(
            self._n_symbols, levels, self._gram_ptr.mapped(), self._symbol.mapped(), self._following.mapped()
        )
        return table, self._logp.mapped(), self._backoff.mapped()

    def close(self) -> None:
        """Close all files; what is mapped stays."""
        for column in self._open:
            column.close()


class _Parents:
    """Reads the order below in step with the order above it."""

    def __init__(self, level: Level, p: Column | HeldColumn) -> None:
        self._level, self._p = level, p
        self._context = self._gram = self._real = 0  # the last: grams that have a probability

    def take(self, n: int) -> tuple[NDArray[Any], ...]:
        """The next n contexts: their starts, their numbers of grams, the symbols and the probabilities of these."""
        level = self._level
        starts = level.starts.read(self._context, self._context + n)
        sizes = level.n_grams.read(self._context, self._context + n)
        grams, real = int(sizes.sum(dtype=np.int64)), int(sizes[starts <= 1].sum(dtype=np.int64))
        symbol = level.symbol.read(self._gram, self._gram + grams)
        p = self._p.read(self._real, self._real + real)
        self._context, self._gram, self._real = self._context + n, self._gram + grams, self._real + real
        return starts, sizes, symbol, p


_NOTHING = np.empty(0, np.int32)
_NO_PARENTS = (_NOTHING, _NOTHING, _NOTHING, np.empty(0))
