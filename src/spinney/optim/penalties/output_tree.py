"""The tree-guided group Lasso: for each feature, one group of its weights for each node of a tree of outputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.penalties.elastic import checked_weights
from spinney.optim.penalties.tree import TreeL2, _indices, _sorted_nodes


class OutputTree(TreeL2):
    """λ Σ_i Σ_v weights_v‖w_i,below(v)‖₂ over features i and nodes v of a tree of outputs (Kim and Xing 2010).

    The weights of one feature on the outputs below a node vanish together, so that related outputs choose related
    features (Nelakanti 2014, section 2.2). The norm is that of a forest with one copy of the tree for each feature,
    and so is its prox.

    Parameters
    ----------
    lam : float
    parent : array of int
        The parent of each node of the tree, -1 for the root; any order.
    node_of : array of int
        The node of each output, in the order of the outputs.
    weights : array, optional
        One factor ≥ 0 for each node; by default those of :func:`node_weights`.
    n_features : int
        The weights are a row-major matrix, features × outputs.

    Examples
    --------
    >>> w = np.array([3.0, 4.0, 0.3, 0.2, 0.1, 2.0])  # two features; outputs 0 and 1 are related
    >>> penalty = OutputTree(1.0, [3, 3, 4, 4, -1], [0, 1, 2], n_features=2)
    >>> penalty.prox(w, step=1.0)
    >>> w.round(3).tolist()
    [2.317, 3.151, 0.0, 0.0, 0.0, 1.0]
    """

    name: ClassVar[str] = "tree of outputs"
    key: ClassVar[str] = "tree-output"

    def __init__(
        self,
        lam: float,
        parent: ArrayLike,
        node_of: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        n_features: int,
    ) -> None:
        tree, at = _indices("parent", parent), _indices("node_of", node_of)
        self._n_nodes, self._n_features = tree.size, n_features
        if at.min(initial=0) < 0 or at.max(initial=-1) >= tree.size:
            raise OptionError(f"node_of must be nodes from 0 to {tree.size - 1}")
        if tree.size * n_features > np.iinfo(np.int32).max:
            raise OptionError(f"a tree of {tree.size} nodes for each of {n_features} features is too large")
        each = node_weights(tree) if weights is None else checked_weights(weights, tree.size, "node weights")
        copies = np.arange(n_features, dtype=np.int32)[:, None] * np.int32(tree.size)
        super().__init__(
            lam,
            np.where(tree < 0, np.int32(-1), tree + copies).ravel(),
            (at + copies).ravel(),
            np.tile(each, n_features),
        )

    def describe(self) -> str:
        return f"{self.name}, {self._n_nodes:,} nodes for each of {self._n_features:,} features, λ = {self.lam:g}"


def node_weights(parent: ArrayLike) -> Vector:
    """Weights of nodes that add up to 1 on the way from the root to any leaf, after Kim and Xing (2010).

    A node of height h hands the share s = h/(H + 1) down to its children, H being the height of the root, and keeps
    1 − s: the weights of leaves below a low node are penalised more as one group, those below a high node more
    one by one. With one level, this is a sparse group Lasso with equal parts.

    Examples
    --------
    >>> node_weights([2, 2, -1]).tolist()
    [0.5, 0.5, 0.5]
    >>> node_weights([3, 3, 4, 4, -1]).round(3).tolist()
    [0.222, 0.222, 0.667, 0.444, 0.333]
    """
    tree = _indices("parent", parent)
    order, _ = _sorted_nodes(tree)
    height = np.zeros(tree.size)
    for v in order[::-1]:
        if tree[v] >= 0:
            height[tree[v]] = max(height[tree[v]], height[v] + 1)
    handed = height / (height.max(initial=0.0) + 1)
    share = np.ones(tree.size)
    for v in order:
        if tree[v] >= 0:
            share[v] = share[tree[v]] * handed[tree[v]]
    return np.asarray(share * (1 - handed))
