"""The k best trees of a forest, exactly and lazily (Huang and Chiang 2005, algorithm 3)."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.errors import OptionError
from spinney.parsing.decoding import EdgeScores


class _Candidate(NamedTuple):
    """A derivation of an item: an edge, and the rank, from 0, of the derivation of each of its children.

    They are compared as tuples: ties go by the number of the edge, then by the ranks.
    """

    cost: float
    edge: int
    ranks: tuple[int, ...]


class _Item:
    """The best derivations of an item that are known, and the candidates for the next one."""

    def __init__(self, candidates: list[_Candidate]) -> None:
        heapq.heapify(candidates)
        self.candidates = candidates
        self.seen = {candidate[1:] for candidate in candidates}
        self.best: list[_Candidate] = []
        self.followed = 0  # how many of the best have added their successors to the candidates

    def add(self, candidate: _Candidate) -> None:
        if candidate[1:] not in self.seen:
            self.seen.add(candidate[1:])
            heapq.heappush(self.candidates, candidate)


def k_best(scores: EdgeScores, k: int) -> list[tuple[float, Tree]]:
    """The k trees with the largest scores, best first; fewer if there are no more.

    Examples
    --------
    >>> from spinney.parsing.coarse import Pruner
    >>> from spinney.parsing.decoding import viterbi_scores
    >>> from spinney.parsing.grammar import Rules, pcfg_counts
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> texts = ["(S (N old) (S (N dogs) (V bark)))", "(S (S (N dogs) (V bark)) (V howl))"]
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> grammar = pcfg_counts(trees, Rules.of(trees, rare=0)).grammar()
    >>> forest = Pruner(grammar).forest("old dogs bark howl".split())
    >>> for score, tree in k_best(viterbi_scores(grammar, forest), 3):
    ...     print(round(float(np.exp(score)), 5), tree)
    0.00154 (S (N old) (S (S (N dogs) (V bark)) (V howl)))
    0.00154 (S (S (N old) (S (N dogs) (V bark))) (V howl))
    """
    if k < 1:
        raise OptionError(f"k must be at least 1, not {k}")
    search = _Search(scores)
    return [(score, search.tree(rank)) for rank, score in enumerate(search.run(k))]


class _Search:
    """Candidates of the items that matter; above the roots stands one more item."""

    def __init__(self, scores: EdgeScores) -> None:
        from spinney.parsing._decoding_kernels import best_edges

        self.scores, self.forest = scores, scores.forest
        f, n = self.forest.arrays, self.forest.n_items
        self.value, self.chosen = np.empty(n), np.empty(n, np.int64)
        best_edges(f, scores.binary, scores.unary, scores.lexical, self.value, self.chosen)
        parents = self.forest.parent, f.unary_parent, f.lexical_parent
        self.starts = [np.searchsorted(parent, np.arange(n + 1)) for parent in parents]
        self.top = self.forest.top
        self.items: dict[int, _Item] = {}

    def run(self, k: int) -> list[float]:
        """The scores of the best derivations; ``items`` then says which they are."""
        root = self.forest.n_items
        stack = [(root, k - 1)]
        while stack:
            name, rank = stack[-1]
            item = self._item(name)
            if not self._unknown(name, rank):
                stack.pop()
                continue
            # The successors of the last best one are candidates for the next: first they must be known themselves.
            missing = []
            if item.followed < len(item.best):
                last = item.best[-1]
                children = self._children(name, last.edge)
                wanted = [(child, one + 1) for child, one in zip(children, last.ranks, strict=True)]
                missing = [(child, one) for child, one in wanted if self._unknown(child, one)]
                if not missing:
                    for place, (child, one) in enumerate(wanted):
                        if len(self._item(child).best) > one:
                            ranks = (*last.ranks[:place], one, *last.ranks[place + 1 :])
                            item.add(self._candidate(name, last.edge, ranks))
                    item.followed += 1
            if missing:
                stack += missing
            elif item.candidates:
                item.best.append(heapq.heappop(item.candidates))
        return [-candidate.cost for candidate in self._item(root).best[:k]]

    def tree(self, rank: int) -> Tree:
        """The tree of a derivation from the root."""
        root = self.items[self.forest.n_items].best[rank]
        chosen = self.chosen.copy()
        stack = [(int(self.forest.arrays.root[root.edge]), root.ranks[0])]
        while stack:
            name, rank = stack.pop()
            if rank == 0 and not (name in self.items and self.items[name].best):
                continue  # ``chosen`` has the best edge, and those of everything below
            best = self.items[name].best[rank]
            chosen[name] = best.edge
            stack += zip(self._children(name, best.edge), best.ranks, strict=True)
        return self.forest.tree(int(self.forest.arrays.root[root.edge]), chosen)

    def _unknown(self, name: int, rank: int) -> bool:
        """Whether an item may have a derivation of that rank, which is not known yet."""
        item = self._item(name)
        return len(item.best) <= rank and (bool(item.candidates) or item.followed < len(item.best))

    def _item(self, name: int) -> _Item:
        """An item, with a candidate for each of its edges when it is first met."""
        if name not in self.items:
            first = [self._candidate(name, edge, ()) for edge in self._edges(name)]
            self.items[name] = _Item([candidate for candidate in first if candidate.cost < np.inf])
        return self.items[name]

    def _edges(self, name: int) -> range:
        if name == self.forest.n_items:
            return range(len(self.forest.arrays.root))
        kind = 1 if self.top[name] else 2 if self._is_word(name) else 0
        return range(self.starts[kind][name], self.starts[kind][name + 1])

    def _is_word(self, name: int) -> bool:
        f = self.forest.arrays
        return bool(f.end[f.span[name]] - f.begin[f.span[name]] == 1)

    def _children(self, name: int, edge: int) -> tuple[int, ...]:
        f = self.forest.arrays
        if name == self.forest.n_items:
            return (int(f.root[edge]),)
        if self.top[name]:
            return (int(f.unary_child[edge]),)
        return () if self._is_word(name) else (int(f.left[edge]), int(f.right[edge]))

    def _candidate(self, name: int, edge: int, ranks: tuple[int, ...]) -> _Candidate:
        """An edge over given derivations of its children; by default the best ones."""
        scores, children = self.scores, self._children(name, edge)
        kinds = {0: scores.lexical, 1: scores.unary, 2: scores.binary}
        total = float((scores.root if name == self.forest.n_items else kinds[len(children)])[edge])
        ranks = ranks or (0,) * len(children)
        for child, rank in zip(children, ranks, strict=True):
            total += -self.items[child].best[rank].cost if rank else float(self.value[child])
        return _Candidate(-total, edge, ranks)
