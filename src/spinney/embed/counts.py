"""How often each word occurs near each other word: sparse counts over a window, from text of any length.

The counts of a word are gathered where the word stands: an index lists the places of each word, and a row of the
matrix is summed up in one array as long as a row. Nothing is sorted but short rows, threads write different rows, and
the memory is that of the result and of the index of one piece of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import NgramCounts, TokenArrays
from spinney.errors import OptionError, unknown_choice
from spinney.parallel import Kept, Pure, default_threads, in_order

Weighting = Literal["flat", "harmonic", "linear"]
WEIGHTINGS = ("flat", "harmonic", "linear")
_PIECE = 1 << 26  # tokens counted at a time: the index of a piece takes 8 bytes per token
_SLICE = 1 << 22  # the most entries that a slice of rows may have


class Window(NamedTuple):
    """Where the contexts of a token stand: at ``offsets`` from it, in ``blocks`` of columns, with ``weights``."""

    offsets: NDArray[np.int64]
    blocks: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def n_blocks(self) -> int:
        """How many times over the columns list the words."""
        return int(self.blocks.max()) + 1


def window(
    left: int, right: int | None = None, *, positional: bool = False, weighting: Weighting = "flat"
) -> Window:
    """A window of ``left`` words before and ``right`` words after a token (by default as many).

    Parameters
    ----------
    positional
        Whether each position has its own columns (from left to right), or all share one bag of words.
    weighting
        The weight of a place at distance d of D: 1, 1/d, or (D - d + 1)/D, the mean of a window whose length is drawn
        from 1 to D, as word2vec's.

    Examples
    --------
    >>> window(2, 1, positional=True, weighting="harmonic")
    Window(offsets=array([-2, -1,  1]), blocks=array([0, 1, 2]), weights=array([0.5, 1. , 1. ]))
    """
    right = left if right is None else right
    if min(left, right) < 0 or left + right == 0:
        raise OptionError(
            f"a window needs at least 0 words on each side and at least 1 in all, not {left} and {right}"
        )
    offsets = np.array([*range(-left, 0), *range(1, right + 1)])
    distance, reach = np.abs(offsets), np.where(offsets < 0, left, right)
    if weighting == "flat":
        weights = np.ones(len(offsets))
    elif weighting == "harmonic":
        weights = 1 / distance
    elif weighting == "linear":
        weights = (reach - distance + 1) / reach
    else:
        raise unknown_choice("weighting must be", weighting, WEIGHTINGS)
    blocks = np.arange(len(offsets)) if positional else np.zeros(len(offsets), np.int64)
    return Window(offsets, blocks, weights)


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Counts of words and their contexts.

    Attributes
    ----------
    matrix : CSR of float32 [words, columns]
        ``columns = blocks × (contexts + 1 if edges)``; the last column of a block is the edge of the sentence.
    word_counts : array [words]
        How often each word stands in the text.
    n_contexts : int
        The words of the vocabulary that count as contexts: this many of the first.
    """

    matrix: Any
    word_counts: NDArray[np.float64]
    n_contexts: int
    n_blocks: int = 1
    edges: bool = False

    @property
    def context_counts(self) -> NDArray[np.float64]:
        """The sum of each column."""
        return np.asarray(self.matrix.T @ np.ones(self.matrix.shape[0]))


def count_contexts(
    arrays: TokenArrays,
    window: Window,
    *,
    n_words: int | None = None,
    n_contexts: int | None = None,
    edges: bool = False,
    row_offset: int = 0,
    threads: int | None = None,
) -> ContextCounts:
    """Count the contexts of each word, inside sentences.

    Parameters
    ----------
    arrays
        Text as numbers.
    window
        Which places are the context, see :func:`window`.
    n_words, n_contexts
        Rows and contexts are this many of the first, most frequent words of the vocabulary; by default all.
    edges
        Whether a place before or after the sentence counts as a context of its own.
    row_offset
        The rows are the words at this distance from the token, not the token itself: with contexts on the other side,
        that counts left contexts against right ones.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([["I", "ate", "ham"], ["You", "ate", "cheese"], ["You", "ate"]])
    >>> counts = count_contexts(arrays, window(0, 1))
    >>> words = arrays.vocabulary.words
    >>> [(words[i], words[j], int(n)) for i, j, n in zip(*counts.matrix.nonzero(), counts.matrix.data)]
    [('ate', 'ham', 1), ('ate', 'cheese', 1), ('You', 'ate', 2), ('I', 'ate', 1)]
    """
    import scipy.sparse

    size = len(arrays.vocabulary)
    for name, value in {"n_words": n_words, "n_contexts": n_contexts, "threads": threads}.items():
        if value is not None and value < 1:
            raise OptionError(f"{name} must be at least 1, not {value}")
    n_words, n_contexts = min(n_words or size, size), min(n_contexts or size, size)
    threads = threads or default_threads()
    matrix, words = None, np.zeros(n_words)
    for piece in _pieces(arrays):
        part, counted = _count_piece(piece, window, n_words, n_contexts, edges, row_offset, threads)
        matrix, words = part if matrix is None else matrix + part, words + counted
    if matrix is None:
        matrix = scipy.sparse.csr_array((n_words, window.n_blocks * (n_contexts + edges)), dtype=np.float32)
    return ContextCounts(matrix, words, n_contexts, window.n_blocks, edges)


def count_ngrams(
    ngrams: NgramCounts, window: Window, *, n_contexts: int | None = None, edges: bool = False
) -> ContextCounts:
    """Count the contexts of the word that each n-gram is about: the other words of the n-gram.

    If the n-grams are all those of a text, with places beyond its sentences, these are the counts of the text.

    Examples
    --------
    >>> import os, tempfile
    >>> from spinney.corpus import read_ngrams
    >>> path = os.path.join(tempfile.mkdtemp(), "2gm.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a rose\\t5\\na thorn\\t3\\nrose </S>\\t4\\nthorn </S>\\t3\\n")
    >>> count_ngrams(read_ngrams(path, unknown=None), window(0, 1)).matrix.toarray()
    array([[0., 5., 3.],
           [0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    import scipy.sparse

    places = ngrams.place + window.offsets
    if places.min() < 0 or places.max() >= ngrams.length:
        raise OptionError(
            f"a window from {window.offsets.min():+d} to {window.offsets.max():+d} does not fit into "
            f"n-grams of {ngrams.length} words"
        )
    size = len(ngrams.vocabulary)
    n_contexts = min(n_contexts or size, size)
    width = n_contexts + edges
    about = ngrams.ids[:, ngrams.place]
    words = np.zeros(size)
    np.add.at(words, about[about >= 0], ngrams.counts[about >= 0])
    matrix: Any = scipy.sparse.csr_array((size, window.n_blocks * width))
    for place, block, weight in zip(places, window.blocks, window.weights):
        context = ngrams.ids[:, place]
        if edges:
            context = np.where(context < 0, n_contexts, context)
            known = (context < n_contexts) | (ngrams.ids[:, place] < 0)
        else:
            known = (context >= 0) & (context < n_contexts)
        known &= about >= 0
        where = (about[known], block * width + context[known].astype(np.int64))
        matrix = matrix + scipy.sparse.csr_array((ngrams.counts[known] * weight, where), shape=matrix.shape)
    matrix.sort_indices()
    return ContextCounts(matrix.astype(np.float32), words, n_contexts, window.n_blocks, edges)


def _pieces(arrays: TokenArrays) -> Iterator[TokenArrays]:
    if arrays.n_tokens:
        yield from arrays.shards(-(-arrays.n_tokens // _PIECE))


def _count_piece(
    piece: TokenArrays,
    window: Window,
    n_words: int,
    n_contexts: int,
    edges: bool,
    row_offset: int,
    threads: int,
) -> tuple[Any, NDArray[np.float64]]:
    """The counts of one piece of the text: (CSR matrix, counts of words)."""
    import scipy.sparse

    from spinney.embed._counts_kernels import padded, places_by_word

    offsets, blocks, weights = window
    reach = [*offsets.tolist(), *(offsets - row_offset).tolist(), row_offset]
    text = padded(np.ascontiguousarray(piece.ids), np.ascontiguousarray(piece.offsets), max(map(abs, reach)))
    if len(text) >= 1 << 31:
        raise OptionError("too many short sentences for such a wide window")
    places, starts = places_by_word(text, n_words)
    n_columns = window.n_blocks * (n_contexts + edges)
    edge = n_contexts if edges else -1

    spans = _row_slices(np.minimum(np.diff(starts) * len(offsets), n_columns))
    index = Kept((text, places, starts))  # all words of a slice of rows are found in all of the piece
    how = (row_offset, offsets, blocks, weights, n_contexts, edge, n_columns)
    if spans:
        _rows(index.value, how, (0, 0))  # an empty slice: it compiles and counts nothing
    parts = list(in_order(Pure(_rows, index, how), spans, threads))
    columns, values, lengths = (np.concatenate(arrays) for arrays in zip(*parts))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    if indptr[-1] < 1 << 31:
        indptr = indptr.astype(np.int32)
    matrix = scipy.sparse.csr_array((values, columns, indptr), shape=(n_words, n_columns))
    return matrix, np.diff(starts).astype(float)


def _rows(index: tuple[Any, ...], how: tuple[Any, ...], span: tuple[int, int]) -> tuple[NDArray[Any], ...]:
    """The counts of the words of a slice, by an index of the text: a pure function."""
    from spinney.embed._counts_kernels import count_rows

    return count_rows(*index, *span, *how)  # type: ignore[no-any-return]


def _row_slices(bounds: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Consecutive rows with at most about ``_SLICE`` entries in all."""
    which = np.cumsum(bounds) // _SLICE
    cuts = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist(), len(bounds)]
    return list(pairwise(cuts))
