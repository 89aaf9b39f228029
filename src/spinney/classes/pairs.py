"""How often words are next to each other, or below each other in a tree: all that a clustering needs."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.arrays import TokenArrays, checked_text
from spinney.errors import InputError, OptionError
from spinney.parallel import Pure, default_threads, in_order

Ints = NDArray[np.int64]

_TABLE = 1 << 20  # counts whose x log x is looked up; beyond them it is computed
_FINEST = 40  # fractional bits of x log x


class Neighbours(NamedTuple):
    """Rows of counts: word ``w`` has ``counts[indptr[w]:indptr[w + 1]]`` pairs with the words ``indices[…]``."""

    indptr: Ints
    indices: NDArray[np.int32]
    counts: Ints


class Phi(NamedTuple):
    """x log x as whole numbers of 1/scale, so that sums of them are exact; made by :func:`fixed_point`."""

    table: Ints
    scale: float


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How often each word is the parent of each other; :func:`pair_counts` makes it from a corpus.

    Attributes
    ----------
    children : Neighbours
        For each word the words that it is the parent of, in increasing order.
    parents : Neighbours
        For each word its parents: the same counts by child.
    roots : array of int64 [words]
        How often each word has no parent: starts a sentence, or is the root of a tree.
    counts : array of int64 [words]
        How often each word was seen.
    tree : bool
        Whether the pairs are those of trees.
    """

    children: Neighbours
    parents: Neighbours
    roots: Ints
    counts: Ints
    tree: bool

    @property
    def n_words(self) -> int:
        """The number of words in the vocabulary."""
        return len(self.counts)

    @property
    def n_distinct(self) -> int:
        """The number of distinct pairs."""
        return len(self.children.indices)

    @property
    def n_pairs(self) -> int:
        """The total number of pairs, without roots."""
        return int(self.children.counts.sum())

    def __repr__(self) -> str:
        return f"PairCounts({self.n_pairs:,} pairs, {self.n_distinct:,} distinct, {self.n_words:,} words)"

    def by_frequency(self) -> NDArray[np.int64]:
        """The words by falling count; among equals, in the order of the vocabulary."""
        return np.argsort(-self.counts, kind="stable")

    def of_classes(self, ids: NDArray[np.int32], n_classes: int) -> Ints:
        """The counts n(parent class, child class); words of class -1 are left out."""
        parents = np.repeat(ids, np.diff(self.children.indptr))
        children = ids[self.children.indices]
        known = (parents >= 0) & (children >= 0)
        places = parents[known].astype(np.int64) * n_classes + children[known]
        # Sums of whole numbers are exact in float64 up to 2^53.
        table = np.bincount(places, self.children.counts[known], minlength=n_classes * n_classes)
        return table.astype(np.int64).reshape(n_classes, n_classes)

    def roots_of_classes(self, ids: NDArray[np.int32], n_classes: int) -> Ints:
        """How often each class has no parent; words of class -1 are left out."""
        known = ids >= 0
        return np.bincount(ids[known], self.roots[known], minlength=n_classes).astype(np.int64)


def pair_counts(
    arrays: TokenArrays,
    *,
    tree: bool = False,
    max_pairs_in_memory: int = 1 << 24,
    threads: int | None = None,
) -> PairCounts:
    """Count the pairs of words that clusterings are learned from.

    Parameters
    ----------
    arrays
        The corpus, in memory or memory-mapped. All words of its vocabulary take part, the unknown symbol too.
    tree
        False: a word's parent is the word before it in the sentence. True: its head.
    max_pairs_in_memory
        How many tokens of the corpus are worked on at a time, by all threads together. Beyond them, memory
        holds distinct pairs only.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> pairs = pair_counts(sentence_arrays([["a", "rose"], ["is", "a", "rose"]]))
    >>> pairs
    PairCounts(3 pairs, 2 distinct, 3 words)
    >>> pairs.of_classes(np.array([0, 1, 2]), 3)  # a, rose, is
    array([[0, 2, 0],
           [0, 0, 0],
           [1, 0, 0]])
    >>> pairs.roots
    array([1, 0, 1])
    """
    checked_text(arrays)
    if tree and arrays.heads is None:
        raise OptionError("pairs in trees need heads: read CoNLL-U with heads=True")
    if max_pairs_in_memory < 1:
        raise OptionError(f"max_pairs_in_memory must be at least 1, not {max_pairs_in_memory}")
    threads = default_threads() if threads is None else threads
    if threads < 1:
        raise OptionError(f"threads must be at least 1, not {threads}")
    n_words = len(arrays.vocabulary)
    if not n_words or not arrays.n_tokens:
        raise InputError("there are no words to count", remedy="is the corpus empty?")
    # Threads work on one block each while up to twice as many wait to be added up.
    block = max(1, max_pairs_in_memory // (1 if threads == 1 else 3 * threads))

    blocks = (_block(arrays, tree, *tokens) for tokens in _blocks(arrays.n_tokens, block))
    # Sums of whole numbers are exact, so blocks may depend on the threads.
    counted = functools.reduce(_joined, in_order(Pure(_counted, n_words), blocks, threads))
    matrix = counted.total()
    columns = matrix.tocsc()
    return PairCounts(
        Neighbours(_long(matrix.indptr), matrix.indices.astype(np.int32), matrix.data),
        Neighbours(_long(columns.indptr), columns.indices.astype(np.int32), columns.data),
        counted.roots,
        counted.words,
        tree,
    )


def fixed_point(total: int) -> Phi:
    """The finest x log x in whole numbers for which no sum over a corpus of ``total`` pairs overflows.

    The unit is 2⁻³⁵ nats for a million pairs, 2⁻²⁴ for a thousand millions.
    """
    # A loss adds up fewer than 16 sums, each at most φ(total).
    largest = 16 * max(total, 2) * math.log(max(total, 2))
    scale = 2.0 ** min(_FINEST, math.floor(62 - math.log2(largest)))
    x = np.arange(min(total + 1, _TABLE), dtype=np.float64)
    x[0] = 1.0
    table = np.rint(x * np.log(x) * scale).astype(np.int64)
    return Phi(table, scale)


def _blocks(n_tokens: int, block: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n_tokens, block):
        yield start, min(start + block, n_tokens)


class _Counts(NamedTuple):
    """Statistics of some blocks: words, roots, and sparse matrices of pairs whose sizes fall by halves.

    Adding matrices of about equal size only, as a binary counter carries, keeps the whole sum at n log n.
    """

    words: Ints
    roots: Ints
    matrices: list[Any]

    def total(self) -> Any:
        matrices = list(self.matrices)
        while len(matrices) > 1:
            matrices.append(matrices.pop() + matrices.pop())
        return matrices[0]


def _joined(first: _Counts, second: _Counts) -> _Counts:
    first.words[:] += second.words
    first.roots[:] += second.roots
    matrices = first.matrices
    matrices += second.matrices
    while len(matrices) > 1 and matrices[-2].nnz < 2 * matrices[-1].nnz:
        matrices.append(matrices.pop() + matrices.pop())
    return first


class _Block(NamedTuple):
    """Some tokens as children: which of them have a parent, and who that is."""

    ids: NDArray[np.int32]
    has_parent: NDArray[np.bool_]
    parents: NDArray[np.int32]


def _block(arrays: TokenArrays, tree: bool, start: int, stop: int) -> _Block:
    """Tokens ``start`` to ``stop - 1``; a block may cut through a sentence."""
    ids = np.asarray(arrays.ids[start:stop])
    if tree:
        assert arrays.heads is not None
        heads = np.asarray(arrays.heads[start:stop])
        has_parent = heads >= 0
        parents = arrays.ids[(_sentence_starts(arrays.offsets, start, stop) + heads)[has_parent]]
    else:
        first, last = np.searchsorted(arrays.offsets, [start, stop])
        has_parent = np.ones(len(ids), dtype=bool)
        has_parent[arrays.offsets[first:last] - start] = False
        before = np.asarray(arrays.ids[max(start - 1, 0) : stop - 1])
        parents = before[has_parent[len(ids) - len(before) :]]
    return _Block(ids, has_parent, np.asarray(parents))


def _counted(n_words: int, block: _Block) -> _Counts:
    """The counts of a block: a pure function."""
    from scipy.sparse import coo_array

    ids, has_parent, parents = block
    children = ids[has_parent]
    ones = np.ones(len(children), dtype=np.int64)
    matrix = coo_array((ones, (parents, children)), shape=(n_words, n_words)).tocsr()
    matrix.sort_indices()
    roots = np.bincount(ids[~has_parent], minlength=n_words)
    return _Counts(np.bincount(ids, minlength=n_words), roots, [matrix])


def _sentence_starts(offsets: Ints, start: int, stop: int) -> Ints:
    """For each token of a block the place of its sentence's first token."""
    first = int(np.searchsorted(offsets, start, side="right")) - 1
    last = int(np.searchsorted(offsets, stop))
    bounds = np.clip(offsets[first : last + 1], start, stop)
    return np.repeat(offsets[first:last], np.diff(bounds))


def _long(indptr: NDArray[Any]) -> Ints:
    return indptr.astype(np.int64)
