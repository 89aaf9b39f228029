"""Trees of tokens, many at a time, laid out level by level so that a level is one matrix product."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError


@dataclass(frozen=True, eq=False)
class TokenForest:
    """The nodes of many trees, roots first: by depth, then by the kind of the edge to the father, then by token.

    A chain is a tree in which every token is the only child of the token before it. A sentence may have several roots.

    Attributes
    ----------
    tokens : int64 array [n]
        The place of each node's token in the input.
    parents : int32 array [n]
        The node of the father; -1 at roots.
    kinds : int32 array [n]
        The kind of the edge to the father: which transition matrix it has. 0 at roots.
    levels : int64 array [depth + 1]
        The nodes of depth d are ``levels[d]`` up to ``levels[d + 1]``.
    child_ptr : int64 array [n + 1]
    children : int32 array [n - roots]
        The children of node k are ``children[child_ptr[k]:child_ptr[k + 1]]``, in the order of their nodes.

    Examples
    --------
    "old dogs sleep": the verb is the root, the adjective hangs on the noun.

    >>> forest = TokenForest.from_heads([0, 3], [1, 2, -1])
    >>> forest.tokens, forest.parents, forest.levels
    (array([2, 1, 0]), array([-1,  0,  1], dtype=int32), array([0, 1, 2, 3]))
    >>> TokenForest.from_heads([0, 2, 3]).levels  # two chains: heads are not needed
    array([0, 2, 3])
    """

    tokens: NDArray[np.int64]
    parents: NDArray[np.int32]
    kinds: NDArray[np.int32]
    levels: NDArray[np.int64]
    child_ptr: NDArray[np.int64]
    children: NDArray[np.int32]

    @classmethod
    def from_heads(
        cls, offsets: ArrayLike, heads: ArrayLike | None = None, kinds: ArrayLike | None = None
    ) -> TokenForest:
        """Lay out sentences.

        Parameters
        ----------
        offsets
            Sentence s is tokens ``offsets[s]`` up to ``offsets[s + 1]``; the first offset is 0.
        heads
            The place of each token's head in its sentence, from 0, -1 at roots; by default the token before.
        kinds
            The kind of the edge from each token to its head; by default 0.
        """
        drawn = _drawn(np.asarray(offsets, np.int64), heads, kinds)
        order = np.argsort(drawn.depth * (int(drawn.kind.max(initial=0)) + 1) + drawn.kind, kind="stable")
        parents, ptr, children = _numbered(drawn.father, order)
        levels = np.concatenate(([0], np.cumsum(np.bincount(drawn.depth, minlength=1))))
        return cls(order, parents, drawn.kind[order], levels, ptr, children)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def n_roots(self) -> int:
        """How many nodes have no father."""
        return int(self.levels[1]) if len(self) else 0

    def runs(self, level: int) -> list[tuple[int, int, int]]:
        """The stretches (first node, end, kind) of a level whose edges are of one kind: one matrix product each."""
        first, end = int(self.levels[level]), int(self.levels[level + 1])
        kinds = self.kinds[first:end]
        cuts = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), end - first]
        return [(first + a, first + b, int(kinds[a])) for a, b in pairwise(cuts) if b > a]


class SentenceTrees(NamedTuple):
    """The nodes of one tree after the other, fathers before their children: for kernels that go sentence by sentence.

    As in :class:`TokenForest`, but the nodes of a sentence stand together (``offsets`` separates them), and
    ``parents`` and ``children`` count from the start of the sentence.
    """

    offsets: NDArray[np.int64]
    tokens: NDArray[np.int64]
    parents: NDArray[np.int32]
    kinds: NDArray[np.int32]
    child_ptr: NDArray[np.int64]
    children: NDArray[np.int32]


def sentence_trees(
    offsets: ArrayLike, heads: ArrayLike | None = None, kinds: ArrayLike | None = None
) -> SentenceTrees:
    """Lay out trees one after the other; the parameters are those of :meth:`TokenForest.from_heads`.

    Examples
    --------
    >>> trees = sentence_trees([0, 1, 3], [-1, 1, -1])
    >>> trees.tokens, trees.parents
    (array([0, 2, 1]), array([-1, -1,  0], dtype=int32))
    """
    starts = np.asarray(offsets, np.int64)
    drawn = _drawn(starts, heads, kinds)
    order = np.argsort(drawn.start * (int(drawn.depth.max(initial=0)) + 1) + drawn.depth, kind="stable")
    parents, ptr, children = _numbered(drawn.father, order)
    local = np.where(parents < 0, -1, parents - drawn.start).astype(np.int32)
    children = (children - drawn.start[children]).astype(np.int32)
    return SentenceTrees(starts, order, local, drawn.kind[order], ptr, children)


class _Drawn(NamedTuple):
    start: NDArray[np.int64]  # of the sentence of each token
    depth: NDArray[np.int64]
    father: NDArray[np.int64]  # token, or -1
    kind: NDArray[np.int32]


def _drawn(offsets: NDArray[np.int64], heads: ArrayLike | None, kinds: ArrayLike | None) -> _Drawn:
    lengths = np.diff(offsets)
    n = int(offsets[-1])
    start = np.repeat(offsets[:-1], lengths)
    if heads is None:
        depth = np.arange(n) - start
        father = np.where(depth > 0, np.arange(n) - 1, -1)
    else:
        local = np.asarray(heads, np.int32)
        depth = check_heads(offsets, local)
        father = np.where(local >= 0, start + local, -1)
    kind = np.zeros(n, np.int32) if kinds is None else np.where(father < 0, 0, kinds).astype(np.int32)
    return _Drawn(start, depth, father, kind)


def _numbered(
    father: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Fathers and children by node, where node k is token ``order[k]``."""
    n = len(order)
    place = np.empty(n + 1, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    place[n] = -1  # the father of roots, who have index -1
    parents = place[father[order]]
    ptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(parents[parents >= 0], minlength=n), out=ptr[1:])
    children = np.argsort(parents, kind="stable").astype(np.int32)[n - int(ptr[-1]) :]
    return parents, ptr, children


def check_heads(offsets: NDArray[np.int64], heads: NDArray[np.int32], first: int = 0) -> NDArray[np.int64]:
    """The depth of each token; an error that names the sentence where heads make no tree, counted from ``first``.

    Examples
    --------
    >>> check_heads(np.array([0, 2]), np.array([1, -1], np.int32))
    array([1, 0])
    """
    from spinney.inference._forest_kernels import depths

    lengths = np.repeat(np.diff(offsets), np.diff(offsets))
    if heads.shape != lengths.shape:
        raise OptionError(f"{len(lengths)} tokens but {len(heads)} heads")
    outside = np.flatnonzero((heads < -1) | (heads >= lengths))
    depth = np.empty(len(heads), np.int64)
    wrong, what = (int(outside[0]), "lies outside the sentence") if outside.size else (-1, "")
    if wrong < 0:
        wrong, what = int(depths(offsets, heads, depth)), "is part of a cycle, or below one"
    if wrong >= 0:
        sentence = int(np.searchsorted(offsets, wrong, side="right")) - 1
        word = wrong - int(offsets[sentence]) + 1
        raise OptionError(f"sentence {first + sentence + 1}, word {word}: its head {what}")
    return depth
