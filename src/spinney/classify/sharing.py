"""Which classes share a feature, under the penalty on a tree of classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.structure import ClassTree
from spinney.structure.words import largest


class Shared(NamedTuple):
    """The features of a node of a tree of classes: those with weights on classes below it, and on no others.

    A feature belongs to the smallest such node. ``features`` are the first of them by norm.
    """

    node: int
    classes: list[str]
    n_features: int
    features: list[int]


def smallest_nodes(tree: ClassTree, coef: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each feature, the smallest node above all classes on which it has a weight; -1 for one without weights.

    Parameters
    ----------
    tree
        Its leaves are the rows of ``coef``.
    coef
        The weights, classes × features.

    Examples
    --------
    >>> tree = ClassTree.from_newick("((cat,dog),oak);")
    >>> smallest_nodes(tree, np.array([[1.0, 2, 3, 0], [1, 0, 3, 0], [1, 0, 0, 0]])).tolist()
    [3, 0, 4, -1]
    """
    n_nodes = len(tree.parent)
    below = np.zeros((n_nodes, coef.shape[1]), dtype=np.int32)  # non-zero weights on the classes below a node
    below[: len(tree)] = coef != 0
    order = [int(np.argmin(tree.parent))]
    ptr, children = tree.children()
    for v in order:  # grows while it is read: parents come before their children
        order += children[ptr[v] : ptr[v + 1]].tolist()
    for v in reversed(order):
        if tree.parent[v] >= 0:
            below[tree.parent[v]] += below[v]
    total = below[order[0]]
    found = np.full(coef.shape[1], -1)
    for v in order:
        found[(below[v] == total) & (total > 0)] = v
    return found


def shared_features(tree: ClassTree, coef: Any, top: int) -> list[Shared]:
    """The nodes with features of their own, from the root down, and the ``top`` features of each by norm."""
    nodes, norms = smallest_nodes(tree, coef), np.linalg.norm(coef, axis=0)
    ptr, children = tree.children()
    found, todo = [], [int(np.argmin(tree.parent))]
    for v in todo:
        todo += children[ptr[v] : ptr[v + 1]].tolist()
        own = np.flatnonzero(nodes == v)
        if len(own):
            first = own[largest(norms[own], top)].tolist()
            found.append(Shared(v, _leaves(tree, v), len(own), first))
    return found


def _leaves(tree: ClassTree, node: int) -> list[str]:
    """The classes below a node."""
    ptr, children = tree.children()
    names, todo = [], [node]
    while todo:
        v = todo.pop()
        if v < len(tree):
            names.append(tree.names[v])
        todo += children[ptr[v] : ptr[v + 1]].tolist()[::-1]
    return names
