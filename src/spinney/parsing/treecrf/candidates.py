"""Candidate arcs of sentences in flat arrays, and the trees of a treebank among them.

The layout is that of :mod:`spinney.inference.arcs`: words of sentence s are ``words[s]`` to ``words[s + 1]``, and the
candidate arcs of word w are ``ptr[w]`` to ``ptr[w + 1]``, their heads ascending, 0 for the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.parsing.treecrf.numbering import Parts


class Candidates(NamedTuple):
    """Arcs that a tree may have."""

    words: NDArray[np.int64]
    ptr: NDArray[np.int64]
    head: NDArray[np.int32]

    @property
    def n_words(self) -> int:
        """The number of words of all sentences."""
        return int(self.words[-1])

    @property
    def modifier(self) -> NDArray[np.int32]:
        """The modifier of each arc, counted from 1 in its sentence."""
        lengths = np.diff(self.words)
        place = np.arange(self.n_words) - np.repeat(self.words[:-1], lengths) + 1
        return np.repeat(place, np.diff(self.ptr)).astype(np.int32)

    def parts(self) -> Parts:
        """The arcs by their places, for features."""
        return Parts.of(self.words, np.diff(self.ptr), self.head, self.modifier)

    def only(self, keep: NDArray[np.bool_]) -> Candidates:
        """Those of the arcs that are kept."""
        before = np.concatenate([[0], np.cumsum(keep)])
        return Candidates(self.words, before[self.ptr], self.head[keep])

    def place(self, heads: NDArray[np.int32]) -> NDArray[np.int64]:
        """The arc of each word that has the given head; -1 where it is no candidate.

        Examples
        --------
        >>> every_arc(np.array([0, 2])).place(np.array([2, 0], np.int32)).tolist()
        [1, 2]
        """
        own = self.head == np.repeat(heads, np.diff(self.ptr))
        found = np.full(self.n_words, -1, np.int64)
        at = np.flatnonzero(own)
        found[np.searchsorted(self.ptr, at, side="right") - 1] = at
        return found


def every_arc(words: NDArray[np.int64]) -> Candidates:
    """All arcs between the words of each sentence, and from the root.

    Examples
    --------
    >>> every_arc(np.array([0, 2])).head.tolist()  # of the first word, then of the second
    [0, 2, 0, 1]
    """
    lengths = np.diff(words)
    of_word = np.repeat(lengths, lengths)
    ptr = np.concatenate([[0], np.cumsum(of_word)])
    modifier = np.arange(int(words[-1])) - np.repeat(words[:-1], lengths) + 1
    place = np.arange(int(ptr[-1])) - np.repeat(ptr[:-1], of_word)
    return Candidates(words, ptr, (place + (place >= np.repeat(modifier, of_word))).astype(np.int32))


def sibling_places(arcs: Candidates, ptr: NDArray[np.int64], sibling: NDArray[np.int32]) -> Parts:
    """Pairs of an arc and the arc of its previous sibling (-1: none), by their places."""
    arc = np.repeat(np.arange(len(arcs.head)), np.diff(ptr))
    own = arcs.parts()
    other = np.where(sibling >= 0, arcs.modifier[np.maximum(sibling, 0)], -1)
    place = np.column_stack([own.place[arc], other]).astype(np.int32)
    return Parts(own.base[arc], own.length[arc], place)


def pairs_in_trees(
    arcs: Candidates, place: NDArray[np.int64], sib_ptr: NDArray[np.int64], sib: NDArray[np.int32]
) -> NDArray[np.int64]:
    """For each word of trees with the arcs ``place``, the pair of its arc and that of the sibling before it."""
    heads = arcs.head[place]
    lengths = np.diff(arcs.words)
    modifier = np.arange(arcs.n_words) - np.repeat(arcs.words[:-1], lengths) + 1
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    # Modifiers of one head on one side, from the nearest to the farthest: each comes after its previous sibling.
    order = np.lexsort((np.abs(modifier - heads), modifier > heads, heads, sentence))
    key = np.stack([sentence, heads, modifier > heads])[:, order]
    follows = np.concatenate([[False], np.all(key[:, 1:] == key[:, :-1], axis=0)])
    previous = np.full(arcs.n_words, -1, np.int64)
    previous[order[1:]] = np.where(follows[1:], place[order[:-1]], -1)
    wanted = np.repeat(previous, np.diff(sib_ptr)[place])
    starts, width = sib_ptr[place], np.diff(sib_ptr)[place]
    ends = np.cumsum(width)
    at = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - ends + width, width)
    found: NDArray[np.int64] = at[sib[at] == wanted]
    assert len(found) == arcs.n_words
    return found


def is_tree(heads: Sequence[int]) -> bool:
    """Whether heads make a tree: one word is below the root (0), and all others below that word.

    Examples
    --------
    >>> is_tree([2, 0, 2]), is_tree([2, 1, 0]), is_tree([0, 0]), is_tree([7])
    (True, False, False, False)
    """
    n = len(heads)
    if list(heads).count(0) != (n > 0) or not all(0 <= head <= n for head in heads):
        return False
    below = [False] * n  # known to be below the root
    for word in range(1, n + 1):
        path = []
        while word and not below[word - 1]:
            path.append(word)
            if len(path) > n:
                return False
            word = heads[word - 1]
        for one in path:
            below[one - 1] = True
    return True


def projective(heads: Sequence[int]) -> list[int]:
    """The heads of a tree made projective: arcs that cross others are lifted, the shortest first, to the head's head.

    As Nivre and Nilsson (2005) do, without marks.

    Examples
    --------
    >>> projective([2, 0, 4, 2])  # nothing crosses
    [2, 0, 4, 2]
    >>> projective([0, 1, 1, 2])  # 4 hangs on 2, across 3, which does not
    [0, 1, 1, 1]
    """
    lifted = list(heads)
    while crossing := _crossing(lifted):
        modifier = min(crossing, key=lambda m: (abs(lifted[m - 1] - m), m))
        lifted[modifier - 1] = lifted[lifted[modifier - 1] - 1]
    return lifted


def _crossing(heads: Sequence[int]) -> list[int]:
    """Words whose arcs are not projective: between them and their heads are words that do not depend on the head."""
    found = []
    for m, h in enumerate(heads, start=1):
        low, high = min(h, m), max(h, m)
        # A word between them that has a head outside would be enough, but for what lies further up.
        if (
            h
            and any(not low <= heads[k - 1] <= high for k in range(low + 1, high))
            and not _all_below(heads, h, low, high)
        ):
            found.append(m)
    return found


def _all_below(heads: Sequence[int], h: int, low: int, high: int) -> bool:
    for k in range(low + 1, high):
        above = k
        while above and above != h:
            above = heads[above - 1]
        if not above:
            return False
    return True
