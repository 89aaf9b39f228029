"""Sentences as columns of numbered strings, the input of a tagger's patterns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.batches import numbered
from spinney.corpus.columns import DocStart, column_batches
from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import OnError, ReadReport
from spinney.corpus.vocabulary import Numbering
from spinney.errors import InputError, shown


@dataclass(frozen=True)
class Columns:
    """Sentences of tokens with several columns each, and one pool of strings for all of them.

    Parameters
    ----------
    offsets
        Sentence ``i`` is tokens ``offsets[i]`` to ``offsets[i+1]``.
    symbols
        ``symbols[d, t]`` is the number in ``pool`` of the string in column ``d`` of token ``t``.
    pool
        The strings, numbered; it may contain more than these sentences need, and may grow.
    between
        The lines of the file that are not tokens, before the first sentence and after each, if they were asked for.

    Examples
    --------
    >>> columns = Columns.from_sentences([[("the", "DT"), ("dog", "NN")], [("the", "DT")]])
    >>> columns.symbols
    array([[0, 1, 0],
           [2, 3, 2]], dtype=int32)
    >>> columns.offsets, columns.strings(1)
    (array([0, 2, 3]), ['DT', 'NN', 'DT'])
    """

    offsets: NDArray[np.int64]
    symbols: NDArray[np.int32]
    pool: Numbering
    between: list[list[str]] | None = None

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Sequence[Sequence[str]]], pool: Numbering | None = None
    ) -> Columns:
        """Sentences as lists of rows, each row the strings of one token."""
        pool = Numbering() if pool is None else pool
        sentences = list(sentences)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        rows = list(chain.from_iterable(sentences))
        width = len(rows[0]) if rows else 0
        for place, row in enumerate(rows):
            if len(row) != width or isinstance(row, str):
                what = f"token {place} is {row!r}, not a row of {width} columns like the first token"
                raise InputError(what, remedy="give each token as a tuple of strings")
        # Not zip(*rows), which makes an iterator for each row.
        columns = [numbered([row[d] for row in rows], pool) for d in range(width)]
        symbols = np.array(columns, np.int32).reshape(width, len(rows))
        return cls(np.concatenate([[0], np.cumsum(lengths)]), symbols, pool)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.symbols)

    @property
    def n_tokens(self) -> int:
        """Tokens in all sentences."""
        return int(self.offsets[-1])

    def without_last(self) -> Columns:
        """All columns but the last, which holds the labels."""
        return Columns(self.offsets, self.symbols[:-1], self.pool)

    def strings(self, column: int) -> list[str]:
        """The strings of one column, token by token."""
        texts = list(self.pool)
        return [texts[symbol] for symbol in self.symbols[column].tolist()]


def read_column_batches(
    path: FilePath,
    pool: Numbering,
    *,
    width: int | None = None,
    pool_limit: int | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    docstart: DocStart = "drop",
    between: bool = False,
) -> Iterator[Columns]:
    """The sentences of a column file (``-``: standard input) in batches, all columns in one pool.

    All rows must have ``width`` columns, or as many as the first; otherwise as :func:`spinney.corpus.read_columns`.
    Beyond ``pool_limit`` strings, a new pool is started for the next batches, so that memory stays bounded. With
    ``between``, the lines between sentences come with them, even in a batch without sentences.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("He PRP\\nran\\tVBD\\n\\nStop VB\\n")
    >>> for columns in read_column_batches(path, Numbering()):
    ...     print(len(columns), columns.strings(0))
    1 ['He', 'ran']
    1 ['Stop']
    """

    def current_pool() -> Numbering:
        nonlocal pool
        if pool_limit is not None and len(pool) > pool_limit:
            pool = Numbering()
        return pool

    batches = column_batches(
        path,
        current_pool,
        width=width,
        encoding=encoding,
        on_error=on_error,
        report=report,
        docstart=docstart,
        between=between,
    )
    for batch in batches:
        if batch.columns and len(batch.lengths):
            offsets = np.concatenate([[0], np.cumsum(batch.lengths)])
            yield Columns(offsets, np.stack(list(batch.columns.values())), pool, batch.between)
        elif batch.between:
            yield Columns(np.zeros(1, np.int64), np.empty((0, 0), np.int32), pool, batch.between)


def read_all(
    paths: FilePath | Sequence[FilePath],
    pool: Numbering | None = None,
    *,
    width: int | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    docstart: DocStart = "drop",
) -> Columns:
    """All sentences of one column file or of several, which must have the same number of columns."""
    pool = Numbering() if pool is None else pool
    batches: list[Columns] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        for batch in read_column_batches(
            path, pool, width=width, encoding=encoding, on_error=on_error, report=report, docstart=docstart
        ):
            batches.append(batch)
            width = batch.width
    if not batches:
        return Columns(np.zeros(1, np.int64), np.empty((width or 0, 0), np.int32), pool)
    lengths = np.concatenate([np.diff(batch.offsets) for batch in batches])
    symbols = np.concatenate([batch.symbols for batch in batches], axis=1)
    return Columns(np.concatenate([[0], np.cumsum(lengths)]), symbols, pool)


#: A sentence in memory: words, or rows of columns.
Sentence = Sequence[Sequence[str]] | Sequence[str]


def unlabelled_columns(X: Iterable[Sentence], like: Columns | None = None) -> Columns:
    """Sentences as columns; the pool of strings of ``like`` is shared."""
    return Columns.from_sentences(map(_rows, _iterable("sentences", X)), None if like is None else like.pool)


def labelled_columns(
    X: Iterable[Sentence], y: Iterable[Sequence[str]], like: Columns | None = None
) -> Columns:
    """Sentences and their labels as columns, the labels last; the pool of strings of ``like`` is shared.

    Examples
    --------
    >>> columns = labelled_columns([["the", "dog"]], [["D", "N"]])
    >>> columns.strings(0), columns.strings(-1)
    (['the', 'dog'], ['D', 'N'])
    """
    X, y, sentences = list(_iterable("sentences", X)), list(_iterable("labels", y)), []
    if len(X) != len(y):
        raise InputError(f"{len(X)} sentences, but labels for {len(y)}")
    for i, (sentence, labels) in enumerate(zip(X, y)):
        wrong = next((label for label in _iterable("labels", labels) if not isinstance(label, str)), None)
        if wrong is not None or None in labels:
            raise InputError(f"sentence {i}: a label must be text, not {shown(wrong)}")
        if len(sentence) != len(labels):
            raise InputError(f"sentence {i} has {len(sentence)} tokens, but {len(labels)} labels")
        sentences.append([(*row, label) for row, label in zip(_rows(sentence), labels)])
    return Columns.from_sentences(sentences, None if like is None else like.pool)


def _rows(sentence: Sentence) -> list[tuple[str, ...]]:
    """The tokens of a sentence as rows; a plain word is a row of one column."""
    rows = [
        (token,) if isinstance(token, str) else tuple(_iterable("the columns of a token", token))
        for token in _iterable("a sentence", sentence)
    ]
    for row in rows:
        if not all(isinstance(cell, str) for cell in row):
            raise InputError(f"a token must be text, or a row of texts, not {shown(row)}")
    return rows


def _iterable(what: str, given: Any) -> Any:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"{what} must be a list, not {shown(given)}")
    return given
