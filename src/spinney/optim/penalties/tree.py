"""Tree-structured norms: one group for each node of a forest, holding its coordinates and those of all descendants.

A node is zero only together with its descendants, so supports are rooted subtrees: a long context may be active only
if its suffixes are (Nelakanti 2014; Jenatton et al. 2011). The prox of the sum is the composition of the group
proxes, children before parents; the kernels do that in O(n) for ℓ2 and O(n log n) for ℓ∞, at any depth.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector, checked_strength
from spinney.optim.penalties.elastic import checked_weights, for_kernels, hardly_any

Index = NDArray[np.int32]
_ROUNDING = 1e-12  # of a dual norm that Newton's method finds from below


class NestedGroups(Protocol):
    """Groups that nest, such as a nested :class:`spinney.structure.Groups`: node g of the forest is group g."""

    weights: Vector

    def to_forest(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """(parent of each group or -1, smallest group of each coordinate or -1)."""
        ...


class Forest(Penalty):
    """What the norms on a forest share: the nodes, sorted so that parents come before children."""

    own_structure = "nodes"

    def __init__(
        self,
        lam: float,
        parent: ArrayLike,
        node_of: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        multiplicity: ArrayLike | None = None,
    ) -> None:
        self.lam = checked_strength("lam", lam)
        parents = _indices("parent", parent)
        n = parents.size
        nodes = np.arange(n, dtype=np.int32) if node_of is None else _indices("node_of", node_of)
        if max(parents.max(initial=-1), nodes.max(initial=-1)) >= n:
            raise OptionError(f"parent and node_of must be nodes from 0 to {n - 1}, or -1")
        node_weights = np.ones(n) if weights is None else checked_weights(weights, n, "node weights")
        copies = np.ones(n) if multiplicity is None else checked_weights(multiplicity, n, "multiplicity")
        if np.any(copies < 1):
            raise OptionError("multiplicity must be at least 1")
        if not np.all(parents < np.arange(n)):
            order, rank = _sorted_nodes(parents)
            parents = np.where(parents[order] < 0, np.int32(-1), rank[parents[order]])
            nodes = np.where(nodes < 0, np.int32(-1), rank[nodes])
            node_weights, copies = node_weights[order], copies[order]
        # Sorted: the caller's numbering of the nodes is not kept.
        self._parent, self._node, self._weights, self._copies = parents, nodes, node_weights, copies

    def gauge(self, x: Vector) -> float:
        """From the dual norm, which is known; infinite where a coordinate in no group has a gradient."""
        covered = np.append(self._covered, False)[self._node]
        if self.lam == 0.0 or not hardly_any(x[~covered], x):
            return np.inf
        return max(1.0, (1.0 + _ROUNDING) * self.lambda_max(x) / self.lam)

    @cached_property
    def _covered(self) -> NDArray[np.bool_]:
        """Whether each node is in a group with a weight, its own or one above."""
        from spinney.optim.penalties._kernels import sums_to_root

        weight = self._weights.copy()
        sums_to_root(weight, self._parent)
        return weight > 0

    @property
    def takes_metric(self) -> bool:
        return True

    def prox_in_metric(self, metric: Vector) -> Callable[[Vector, Any], None]:
        """For a metric that is constant on each tree, where it only rescales the weights of the groups.

        On a collapsed tree the metric counts a coordinate as often as it stands.
        """
        root = np.where(self._parent < 0, np.arange(self._parent.size), self._parent)
        while not np.array_equal(above := root[root], root):
            root = above
        held = self._node >= 0
        of, each = root[self._node[held]], metric[held] / self._copies[self._node[held]]
        of_root = np.ones(self._parent.size)
        of_root[of] = each
        if not np.allclose(of_root[of], each, rtol=1e-12, atol=0.0):
            raise OptionError("a tree norm has a prox only in a metric that is constant on each tree")
        other = copy.copy(self)
        other._weights = self._weights / of_root[root]
        return other.prox

    def describe(self) -> str:
        return f"{self.name}, {self._parent.size:,} nodes, λ = {self.lam:g}"


class TreeL2(Forest):
    """λ Σ_v weights_v‖w_subtree(v)‖₂, the norm ℓT2, with its prox in two passes (Nelakanti 2014, Alg. 6).

    Parameters
    ----------
    lam : float
    parent : array of int
        The parent of each node, -1 for a root; any order.
    node_of : array of int, optional
        The node of each coordinate, -1 for one in no group; by default coordinate i is at node i.
    weights : array, optional
        One factor ≥ 0 for each group; 1 by default.

    Examples
    --------
    >>> w = np.array([3.0, 4.0, 0.5])
    >>> penalty = TreeL2(1.0, parent=[-1, 0, 0])
    >>> penalty.prox(w, step=1.0)
    >>> w.round(4).tolist()
    [2.2929, 2.2929, 0.0]
    """

    name: ClassVar[str] = "tree ℓ2"
    key: ClassVar[str] = "tree-l2"

    def __init__(
        self,
        lam: float,
        parent: ArrayLike,
        node_of: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        super().__init__(lam, parent, node_of, weights)

    @classmethod
    def from_groups(cls, lam: float, groups: NestedGroups) -> Self:
        """The norm of nested groups, with their weights."""
        return cls(lam, *groups.to_forest(), groups.weights)

    def value(self, w: Vector) -> float:
        from spinney.optim.penalties._kernels import subtree_sums

        return self.lam * float(self._weights @ np.sqrt(subtree_sums(w * w, self._node, self._parent)))

    def prox(self, w: Vector, step: float) -> None:
        from spinney.optim.penalties._kernels import tree_l2_prox

        tree_l2_prox(w, self._node, self._parent, step * self.lam * self._weights)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """On a maximal zero subtree, the prox of the gradient: it is what projecting on the dual ball leaves."""
        from spinney.optim.penalties._kernels import tree_l2_residual

        return np.asarray(tree_l2_residual(w, grad, self._node, self._parent, self.lam * self._weights))

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of the gradient, by Newton's method on a convex function of one variable.

        Coordinates under no group of positive weight are left out.
        """
        from spinney.optim.penalties._kernels import tree_l2_dual

        squares = grad * grad
        return _dual_norm(lambda lam: tree_l2_dual(squares, self._node, self._parent, self._weights, lam))


class LinfForest(Forest):
    """Sums of ℓ∞ norms over the subtrees of a forest: the common part of TreeLinf and GroupLinf."""

    @property
    def _radius(self) -> Vector:
        return self.lam * self._weights * self._copies

    def value(self, w: Vector) -> float:
        from spinney.optim.penalties._kernels import subtree_maxima

        return float(self._radius @ subtree_maxima(np.abs(w), self._node, self._parent))

    def prox(self, w: Vector, step: float) -> None:
        from spinney.optim.penalties._kernels import tree_linf_caps

        size = np.abs(w)
        caps = tree_linf_caps(
            size, self._copies, self._node, self._parent, step * self._radius, np.zeros_like(self._weights)
        )
        w[:] = np.copysign(np.minimum(size, caps[self._node]), w)
        w += 0.0  # no negative zeros

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """−prox(−grad) of the directional derivative at ``w``, which is again a sum of maxima over a tree.

        A zero subtree keeps its norm. For the others only the entries that attain the maximum count, with their
        signs: the sets of these for a node and its child are nested when the maxima are equal and disjoint
        otherwise, so that cutting the links between unequal maxima leaves a forest. Entries count as
        attaining the maximum when they equal it exactly, as they do after the prox.
        """
        from spinney.optim.penalties._kernels import subtree_maxima, tree_linf_caps

        size = np.abs(w)
        largest = subtree_maxima(size, self._node, self._parent)
        above = np.where(self._parent >= 0, largest[self._parent], np.nan)
        parent = np.where(above == largest, self._parent, np.int32(-1))
        node = np.where(np.append(largest, np.nan)[self._node] == size, self._node, np.int32(-1))
        copies = np.append(self._copies, 1.0)[self._node]
        sign = np.where(w == 0, np.sign(-grad), np.sign(w))
        towards = -sign * grad / copies
        lowest = np.where(largest == 0, 0.0, -np.inf)
        caps = tree_linf_caps(towards, self._copies, node, parent, self._radius, lowest)
        return np.asarray(-sign * copies * np.minimum(towards, caps[node]))

    def lambda_max(self, grad: Vector) -> float:
        """The dual norm of the gradient, by Newton's method on a piecewise linear function: exact.

        Coordinates under no group of positive weight are left out.
        """
        from spinney.optim.penalties._kernels import tree_linf_dual

        weights, sizes = self._weights * self._copies, np.abs(grad)
        return _dual_norm(lambda lam: tree_linf_dual(sizes, self._node, self._parent, weights, lam))


class TreeLinf(LinfForest):
    """λ Σ_v weights_v‖w_subtree(v)‖∞, the norm ℓT∞, with its prox by mergeable heaps (Nelakanti 2014, Alg. 8).

    Parameters
    ----------
    lam : float
    parent, node_of, weights
        As for :class:`TreeL2`.
    multiplicity : array, optional
        For a collapsed tree: node v stands for a path of ``multiplicity[v]`` nodes whose coordinates have one value.
        Such paths stay constant under this prox (and not under that of ℓT2). Value and prox are then those of the
        expanded tree: distances count a coordinate as often as it stands. Gradients are those with respect to the
        shared value.

    Examples
    --------
    >>> w = np.array([3.0, 4.0, 0.5])
    >>> penalty = TreeLinf(1.0, parent=[-1, 0, 0])
    >>> penalty.prox(w, step=1.0)
    >>> w.tolist()
    [2.5, 2.5, 0.0]
    """

    name: ClassVar[str] = "tree ℓ∞"
    key: ClassVar[str] = "tree-linf"

    @classmethod
    def from_groups(cls, lam: float, groups: NestedGroups) -> Self:
        """The norm of nested groups, with their weights."""
        return cls(lam, *groups.to_forest(), groups.weights)


def _dual_norm(excess: Callable[[float], tuple[float, float]]) -> float:
    """The root of a convex decreasing function given with its slope: Newton's method from the left never overshoots."""
    lam = 0.0
    while True:
        height, slope = excess(lam)
        further = lam - height / slope
        if not further > lam:
            return lam
        lam = further


def _indices(what: str, values: ArrayLike) -> Index:
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise OptionError(f"{what} must be a vector of whole numbers")
    if given.size and given.min() < -1:
        raise OptionError(f"{what} must be ≥ -1")
    return for_kernels(given, np.int32)


def _sorted_nodes(parent: Index) -> tuple[Index, Index]:
    """The nodes, parents first, and the rank of each; an OptionError when some node is its own ancestor."""
    from spinney.optim.penalties._kernels import preorder

    order: Index = preorder(parent)
    rank = np.full(parent.size, -1, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    if order.size < parent.size:
        raise OptionError(f"parent has a cycle: node {np.flatnonzero(rank < 0)[0]} leads to no root")
    return order, rank
