"""A chart of projective trees as a hypergraph: how each part of a sentence's trees can be made."""

from __future__ import annotations

import numpy as np

from spinney.inference.arc_batch import Batch, Floats
from spinney.inference.lazy import Edge

Item = tuple[str, int, int]
TREE: Item = ("tree", 0, 0)


class ProjectiveChart:
    """The best scores of all parts of a sentence's trees, as the kernels left them, and how each part can be made.

    The parts are ``TREE`` and those of `_projective_kernels`: ("half", h, x), ("pair", i, j), ("link", arc, 0).

    Parameters
    ----------
    batch, second, sentence
        The arrays of a batch, whether it is of second order, and the number of the sentence.
    total
        The score of the best tree.
    tables
        The tables ``half``, ``pair`` and ``link`` of the best scores.
    """

    def __init__(
        self,
        batch: Batch,
        second: bool,
        sentence: int,
        total: float,
        tables: tuple[Floats, ...],
    ) -> None:
        words, ptr, head, score, *self.siblings = batch
        w0, self.n = int(words[sentence]), int(words[sentence + 1] - words[sentence])
        self.first = int(ptr[w0])
        arcs = slice(self.first, int(ptr[w0 + self.n]))
        self.second, self.total, self.score = second, total, score
        self.head = head[arcs].tolist()
        self.modifier = np.repeat(np.arange(1, self.n + 1), np.diff(ptr[w0 : w0 + self.n + 1])).tolist()
        self.half, self.pair, links = tables
        order = np.lexsort((self.modifier, self.head))
        self.link = np.empty(len(order))  # of an arc from the root, its weight
        self.link[order] = links[: len(order)]
        self.below: list[list[int]] = [[] for _ in range(self.n + 1)]
        for a, h in enumerate(self.head):
            self.below[h].append(a)

    def best(self, item: Item) -> float:
        """The best score of a part."""
        kind, a, b = item
        if kind == "link":
            return float(self.link[a - self.first])
        return self.total if kind == "tree" else float(self.half[a, b] if kind == "half" else self.pair[a, b])

    def edges(self, item: Item) -> list[Edge[Item]]:
        """The ways to make a part; those that take an arc have it as their label."""
        kind, a, b = item
        if kind == "half":
            return self._of_half(a, b)
        if kind == "pair":
            return [Edge((("half", a, u), ("half", b, u + 1)), 0.0) for u in range(a, b)]
        if kind == "link":
            return self._of_link(a)
        return self._of_tree()

    def _of_tree(self) -> list[Edge[Item]]:
        """The word below the root with its two halves; a sentence without words has one tree."""
        below = [(self.modifier[i], i) for i in self.below[0]]
        made = [
            Edge((("half", m, 1), ("half", m, self.n)), float(self.link[i]), self.first + i) for m, i in below
        ]
        return made if self.n else [Edge((), 0.0)]

    def _of_half(self, h: int, x: int) -> list[Edge[Item]]:
        """The outermost arc of h towards x, and what is beyond it."""
        if h == x:
            return [Edge((), 0.0)]
        lo, hi = (h + 1, x) if h < x else (x, h - 1)
        below = [(self.modifier[i], i) for i in self.below[h] if lo <= self.modifier[i] <= hi]
        return [Edge((("link", self.first + i, 0), ("half", u, x)), 0.0) for u, i in below]

    def _of_link(self, arc: int) -> list[Edge[Item]]:
        """The sibling before an arc, if there is one, and what is between."""
        h, m = self.head[arc - self.first], self.modifier[arc - self.first]
        score = float(self.score[arc])
        if not self.second:
            return [Edge((("pair", min(h, m), max(h, m)),), score, arc)]
        sib_ptr, sib, sib_score = self.siblings
        made: list[Edge[Item]] = []
        for k in range(sib_ptr[arc], sib_ptr[arc + 1]):
            parts: tuple[Item, ...] = (("half", m, h + 1 if h < m else h - 1),)
            if sib[k] >= 0:
                u = self.modifier[sib[k] - self.first]
                parts = (("link", int(sib[k]), 0), ("pair", min(u, m), max(u, m)))
            made.append(Edge(parts, score + float(sib_score[k]), arc))
        return made
