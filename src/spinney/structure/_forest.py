"""Forests as parent arrays: -1 marks a root. Everything here is linear or sorts, and nothing recurses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError

Ints = NDArray[np.int32] | NDArray[np.int64]


def depths(parent: Ints) -> NDArray[np.int64]:
    """The number of ancestors of each node.

    Each round doubles the length of the jump, so that a chain of a million nodes takes twenty rounds.

    Examples
    --------
    >>> depths(np.array([2, 2, -1, 0]))
    array([1, 1, 0, 2])
    """
    n = len(parent)
    if n and (parent.min() < -1 or parent.max() >= n):
        raise OptionError(f"a parent is not among the {n} nodes")
    above = parent.astype(np.int64)
    depth = (above >= 0).astype(np.int64)
    for _ in range(n.bit_length() + 1):
        inside = above >= 0
        if not inside.any():
            return depth
        depth[inside] += depth[above[inside]]
        above[inside] = above[above[inside]]
    raise OptionError(f"node {np.flatnonzero(above >= 0)[0]} is its own ancestor")


class Nesting(NamedTuple):
    """How sets lie in each other: the forest of sets, and each feature's smallest set; or two that cross."""

    parent: NDArray[np.int32]
    node_of: NDArray[np.int32]
    crossing: tuple[int, int] | None


def nesting(ptr: NDArray[np.int64], members: NDArray[np.int32], n_features: int) -> Nesting:
    """Whether any two of many sets, none empty, are disjoint or one inside the other; the forest they form.

    Line up the sets of each feature from the largest to the smallest. The sets are nested if and only if each
    set has the same predecessor in the lines of all its members; that predecessor is its parent.

    Examples
    --------
    >>> nested = nesting(np.array([0, 3, 5, 6]), np.array([0, 1, 2, 0, 1, 3], dtype=np.int32), n_features=5)
    >>> nested.parent.tolist(), nested.node_of.tolist(), nested.crossing
    ([-1, 0, -1], [1, 1, 0, 2, -1], None)
    """
    sizes = np.diff(ptr)
    n_sets = len(sizes)
    by_size = np.argsort(-sizes, kind="stable").astype(np.int32)
    rank = np.empty(n_sets, dtype=np.int64)
    rank[by_size] = np.arange(n_sets)

    entries = np.sort(members.astype(np.int64) * n_sets + np.repeat(rank, sizes))
    feature, line = np.divmod(entries, max(n_sets, 1))  # the lines one after the other, as ranks
    ends = np.append(feature[1:] != feature[:-1], True)[: len(line)]
    before = np.full(len(line), -1)
    before[1:] = np.where(ends[:-1], -1, line[:-1])

    node_of = np.full(n_features, -1, dtype=np.int32)
    node_of[feature[ends]] = by_size[line[ends]]
    predecessor = np.empty(n_sets, dtype=np.int64)
    predecessor[line] = before  # that of one member: whether the others agree is to be seen
    parent = np.full(n_sets, -1, dtype=np.int32)
    inner = predecessor >= 0
    parent[by_size[inner]] = by_size[predecessor[inner]]
    parent.flags.writeable = node_of.flags.writeable = False
    disagree = np.flatnonzero(predecessor[line] != before)
    if len(disagree) == 0:
        return Nesting(parent, node_of, None)
    # A member whose predecessor is another one lies outside of the last predecessor, which is no smaller.
    one = line[disagree[0]]
    other = before[line == one].max()
    g, h = sorted((int(by_size[one]), int(by_size[other])))
    return Nesting(parent, node_of, (g, h))
