"""Batches of sentences as numbers, which readers produce on the way to flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError

#: A column of a file: its number from 0 (column files), or its name (CoNLL-U).
ColumnName = int | str


class Batch(NamedTuple):
    """Whole sentences as flat arrays.

    Attributes
    ----------
    lengths : array of int64
        Tokens of each sentence.
    columns : dict of column to array of int32
        The number of each token's field.
    heads : array of int32, optional
        The place of each token's head in its sentence, from 0; -1 at the root.
    between : list of list of str, optional
        The lines of a column file that are not tokens (blank lines, or ``-DOCSTART-``): those before the first
        sentence, and those after each. An end of file counts as a blank line.
    """

    lengths: NDArray[np.int64]
    columns: dict[ColumnName, NDArray[np.int32]]
    heads: NDArray[np.int32] | None = None
    between: list[list[str]] | None = None


def numbered(values: Sequence[str], number: Mapping[str, int]) -> NDArray[np.int32]:
    """The numbers of the values; -1 for one that a fixed vocabulary lacks.

    Examples
    --------
    >>> from spinney.corpus.vocabulary import Numbering, Vocabulary
    >>> numbered(["b", "a", "b"], Numbering())
    array([0, 1, 0], dtype=int32)
    >>> numbered(["b", "a", "b"], Vocabulary.from_tokens(["a"]).numbering())
    array([-1,  0, -1], dtype=int32)
    """
    try:
        return np.fromiter(map(number.__getitem__, values), np.int32, len(values))
    except InputError:
        return np.fromiter((_number_or_none(value, number) for value in values), np.int32, len(values))


def _number_or_none(value: str, number: Mapping[str, int]) -> int:
    try:
        return number[value]
    except InputError:
        return -1


def sentence_batches(
    sentences: Iterable[Sequence[str]], number: Mapping[str, int], size: int = 10_000
) -> Iterator[Batch]:
    """Batches of ``size`` sentences, their tokens in column 0.

    Examples
    --------
    >>> from spinney.corpus.vocabulary import Numbering
    >>> [batch] = sentence_batches([["a", "rose"], ["a"]], Numbering())
    >>> batch.lengths, batch.columns
    (array([2, 1]), {0: array([0, 1, 0], dtype=int32)})
    """
    sentences = iter(sentences)
    while some := list(islice(sentences, size)):
        lengths = np.fromiter(map(len, some), np.int64, len(some))
        tokens = map(number.__getitem__, chain.from_iterable(some))
        yield Batch(lengths, {0: np.fromiter(tokens, np.int32, int(lengths.sum()))})


def cut_long(batch: Batch, max_length: int) -> tuple[Batch, int]:
    """Cut sentences of more than ``max_length`` tokens into pieces of about equal length; return how many were cut.

    Examples
    --------
    >>> batch, n = cut_long(Batch(np.array([7, 2]), {0: np.arange(9, dtype=np.int32)}), 3)
    >>> batch.lengths, n
    (array([3, 2, 2, 2]), 1)
    """
    lengths = batch.lengths
    pieces = np.maximum(-(-lengths // max_length), 1)
    in_sentence = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    shorter = np.repeat(lengths // pieces, pieces) + (in_sentence < np.repeat(lengths % pieces, pieces))
    return batch._replace(lengths=shorter), int(np.count_nonzero(pieces > 1))


def drop_long(batch: Batch, max_length: int) -> tuple[Batch, int]:
    """Leave out sentences of more than ``max_length`` tokens; return how many were left out.

    Examples
    --------
    >>> batch, n = drop_long(Batch(np.array([4, 2]), {0: np.arange(6, dtype=np.int32)}), 3)
    >>> batch.lengths, batch.columns[0], n
    (array([2]), array([4, 5], dtype=int32), 1)
    """
    short = batch.lengths <= max_length
    kept = np.repeat(short, batch.lengths)
    columns = {name: column[kept] for name, column in batch.columns.items()}
    heads = None if batch.heads is None else batch.heads[kept]
    return Batch(batch.lengths[short], columns, heads), int(np.count_nonzero(~short))
