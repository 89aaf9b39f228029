"""Forests of code dimensions: which dimension of a code may be used only together with which others.

In a forest-structured code a dimension is non-zero only if all its ancestors are, so that roots come to describe broad
contexts that many words share, and leaves what is particular to a few (Yogatama 2015, ch. 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError
from spinney.structure import Groups

Index = NDArray[np.int32]


class CodeForest(NamedTuple):
    """A forest as the kernels want it: nodes sorted, parents before children."""

    parent: Index  # [nodes], -1 for a root
    node: Index  # [M]: the node of each code dimension
    weights: NDArray[np.float64]  # [nodes]: the factor of each node's norm

    @property
    def n_codes(self) -> int:
        """The number M of code dimensions."""
        return len(self.node)

    @property
    def trees(self) -> Index:
        """The tree of each code dimension, from 0."""
        root = np.arange(len(self.parent), dtype=np.int32)
        for v, p in enumerate(self.parent):
            if p >= 0:
                root[v] = root[p]
        return np.unique(root[self.node], return_inverse=True)[1].astype(np.int32)

    def value(self, codes: NDArray[Any]) -> float:
        """Σ of the tree norms of all rows of ``codes``."""
        squares = np.zeros((len(self.parent), len(codes)))
        np.add.at(squares, self.node, codes.T.astype(np.float64) ** 2)
        for v in range(len(self.parent) - 1, -1, -1):
            if self.parent[v] >= 0:
                squares[self.parent[v]] += squares[v]
        return float(self.weights @ np.sqrt(squares).sum(axis=1))


def tree_size(branching: Sequence[int]) -> int:
    """The number of nodes of a tree whose nodes have these numbers of children, level by level from the root.

    Examples
    --------
    >>> tree_size((4, 2)), tree_size(())
    (13, 1)
    """
    size = 1
    for children in reversed(branching):
        size = 1 + children * size
    return size


def code_forest(trees: int, branching: Sequence[int] = (4, 2)) -> Index:
    """The parent of each node in a forest of equal trees, -1 for a root; depth first, tree after tree.

    Parameters
    ----------
    trees
        Number of trees.
    branching
        Number of children of each node, level by level from the root. The default makes trees of 1 + 4 + 8 = 13
        nodes, as in the thesis; ``()`` makes single nodes, and the norm of the codes is then their ℓ1 norm.

    Examples
    --------
    >>> code_forest(1)
    array([-1,  0,  1,  1,  0,  4,  4,  0,  7,  7,  0, 10, 10], dtype=int32)
    >>> code_forest(2, (2,))
    array([-1,  0,  0, -1,  3,  3], dtype=int32)
    """
    if trees < 1 or any(children < 1 for children in branching):
        raise OptionError(f"trees and branching must be at least 1, not {trees} and {tuple(branching)}")
    tree = [-1]
    for children in reversed(branching):  # from the leaves up: a new root over copies of what there is
        grown = [-1]
        for _ in range(children):
            first = len(grown)
            grown += [0 if p < 0 else p + first for p in tree]
        tree = grown
    one = np.array(tree, np.int32)
    firsts = np.repeat(np.arange(trees, dtype=np.int32) * len(one), len(one))
    return np.where(np.tile(one, trees) < 0, np.int32(-1), np.tile(one, trees) + firsts)


def as_code_forest(forest: ArrayLike | Groups) -> CodeForest:
    """A forest from the parent of each code dimension (-1 for a root; any order), or from nested groups of dimensions.

    Examples
    --------
    >>> as_code_forest([1, -1]).parent
    array([-1,  0], dtype=int32)
    """
    node: NDArray[Any]
    if isinstance(forest, Groups):
        parent, node = forest.to_forest()
        weights = np.asarray(forest.weights, float)
        if np.any(node < 0):
            raise OptionError(f"code dimension {np.flatnonzero(node < 0)[0]} is in no group")
        if np.any(weights <= 0):
            raise OptionError("the group weights of code dimensions must be above 0")
    else:
        parent = np.asarray(forest)
        if parent.ndim != 1 or not parent.size or parent.dtype.kind not in "iu":
            raise OptionError(
                "a forest must be a vector of whole numbers: the parent of each code dimension, or -1"
            )
        if parent.min() < -1 or parent.max() >= len(parent):
            raise OptionError(
                f"the parents of {len(parent)} code dimensions must be from 0 to {len(parent) - 1}, or -1"
            )
        node, weights = np.arange(len(parent)), np.ones(len(parent))
    order = np.argsort(_depths(parent), kind="stable")
    rank = np.argsort(order).astype(np.int32)
    above = parent[order]
    sorted_parent = np.where(above < 0, np.int32(-1), rank[above]).astype(np.int32)
    return CodeForest(sorted_parent, np.ascontiguousarray(rank[node]), np.ascontiguousarray(weights[order]))


def _depths(parent: NDArray[Any]) -> NDArray[np.int64]:
    depth = np.zeros(len(parent), np.int64)
    above = parent
    while np.any(above >= 0):
        depth += above >= 0
        above = np.where(above >= 0, parent[above], -1)
        if depth.max() > len(parent):
            raise OptionError(f"the forest has a cycle: dimension {depth.argmax()} leads to no root")
    return depth
