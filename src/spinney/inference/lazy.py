"""The k best derivations of a weighted hypergraph, found one after another (Huang and Chiang 2005, algorithm 3).

An item is made in one of several ways: by an edge with a weight of its own from other items, each of which has its own
derivations. The best score of every item is known, from a chart; of the others, only those are made that some of the k
best derivations ask for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class Edge(Generic[Item]):
    """A way to make an item: the items it is made of, the score it adds, and what it stands for (or −1)."""

    parts: tuple[Item, ...]
    score: float
    label: int = -1


@dataclass
class _Ranked(Generic[Item]):
    """The derivations of an item that were found so far, best first, and those that may be next.

    A derivation is an edge, by its number, with the rank of the derivation of each part.
    """

    edges: list[Edge[Item]]
    found: list[tuple[float, int, tuple[int, ...]]] = field(default_factory=list)
    waiting: list[tuple[float, int, tuple[int, ...]]] = field(default_factory=list)
    followed: int = 0  # of how many found derivations the neighbours are waiting
    complete: bool = False


class Derivations(Generic[Item]):
    """The derivations of items by rank.

    Parameters
    ----------
    edges
        All ways to make an item. An item with one edge of no parts is a leaf. Items must not be made of themselves.
    best
        The score of the best derivation of an item, −inf where there is none.

    Examples
    --------
    Numbers as sums of ones and twos, where a two costs more than a one, but less than two of them:

    >>> def edges(n):
    ...     steps = [(step, cost) for step, cost in ((1, 2.0), (2, 3.0)) if step <= n]
    ...     return [Edge((n - step,), -cost, step) for step, cost in steps] or [Edge((), 0.0)]
    >>> def best(n):
    ...     return -3.0 * (n // 2) - 2.0 * (n % 2)
    >>> derivations = Derivations(edges, best)
    >>> for rank in range(3):
    ...     print(derivations.score(3, rank), derivations.labels(3, rank))
    -5.0 [1, 2]
    -5.0 [2, 1]
    -6.0 [1, 1, 1]
    >>> derivations.score(3, 3)
    -inf
    """

    def __init__(self, edges: Callable[[Item], list[Edge[Item]]], best: Callable[[Item], float]) -> None:
        self._edges, self._best = edges, best
        self._ranked: dict[Item, _Ranked[Item]] = {}

    def score(self, item: Item, rank: int) -> float:
        """The score of the derivation of this rank, 0 the best; −inf where there are fewer."""
        self._find(item, rank)
        found = self._ranked[item].found
        return found[rank][0] if rank < len(found) else -float("inf")

    def labels(self, item: Item, rank: int) -> list[int]:
        """The labels of all edges of a derivation that have one."""
        made, todo = [], [(item, rank)]
        while todo:
            item, rank = todo.pop()
            self._find(item, rank)
            _, number, ranks = self._ranked[item].found[rank]
            edge = self._ranked[item].edges[number]
            if edge.label >= 0:
                made.append(edge.label)
            todo.extend(zip(edge.parts, ranks))
        return made

    def _find(self, item: Item, rank: int) -> None:
        """Find the derivations of an item up to a rank. The stack is a list: derivations may be thousands deep."""
        todo = [(item, rank)]
        while todo:
            item, rank = todo[-1]
            state = self._ranked.get(item) or self._start(item)
            if rank < len(state.found) or state.complete:
                todo.pop()
                continue
            if state.followed < len(state.found) and (first := self._follow(state)):
                todo.extend(first)
            elif state.waiting:
                cost, number, ranks = heapq.heappop(state.waiting)
                state.found.append((-cost, number, ranks))
            else:
                state.complete = True

    def _start(self, item: Item) -> _Ranked[Item]:
        """Each edge with the best derivation of each part."""
        state = self._ranked[item] = _Ranked(self._edges(item))
        for number, edge in enumerate(state.edges):
            self._wait(state, number, (0,) * len(edge.parts))
        return state

    def _follow(self, state: _Ranked[Item]) -> list[tuple[Item, int]]:
        """Let the neighbours of the last derivation wait: the next rank of one part. Or tell what must be found first.

        A part takes its next rank only while those behind it are at their first, so that each choice comes up once.
        """
        _, number, ranks = state.found[-1]
        parts = state.edges[number].parts
        free = [i for i in range(len(parts)) if not any(ranks[i + 1 :])]
        wanted = [(parts[i], ranks[i] + 1) for i in free]
        first = [pair for pair in wanted if not self._known(*pair)]
        if not first:
            for i in free:
                self._wait(state, number, (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :]))
            state.followed += 1
        return first

    def _known(self, item: Item, rank: int) -> bool:
        state = self._ranked.get(item)
        return state is not None and (state.complete or rank < len(state.found))

    def _wait(self, state: _Ranked[Item], number: int, ranks: tuple[int, ...]) -> None:
        edge = state.edges[number]
        score = edge.score
        for part, rank in zip(edge.parts, ranks):
            if rank == 0:
                score += self._best(part)
                continue
            found = self._ranked[part].found
            score += found[rank][0] if rank < len(found) else -float("inf")
        if score > -float("inf"):
            heapq.heappush(state.waiting, (-score, number, ranks))
