"""What a reader hands over on the way to flat arrays: some sentences as numbers."""

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
    """

    lengths: NDArray[np.int64]
    columns: dict[ColumnName, NDArray[np.int32]]
    heads: NDArray[np.int32] | None = None


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
        return np.fromiter((number.get(value, -1) for value in values), np.int32, len(values))


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
