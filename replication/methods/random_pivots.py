"""The prox of ℓT∞ with random pivots (Nelakanti 2014, Alg. 7), which heaps are to replace.

Each node looks at its whole subtree for the threshold of its group, so a deep trie is paid for again at every depth.
Spinney itself has mergeable heaps (Alg. 8); this is here to compare them with, and to count how many of its largest
values a group needs.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from spinney.optim.penalties._kernels import preorder


class PivotTree:
    """A tree of groups, put in an order in which each subtree is a run.

    Parameters
    ----------
    parent
        Of each node; -1 for roots.
    copies
        In a collapsed tree, how many nodes with the same value each node stands for.

    Examples
    --------
    >>> w = np.array([3.0, 4.0, 0.5])
    >>> PivotTree([-1, 0, 0]).prox(w, 1.0).tolist(), w.tolist()
    ([2, 1], [2.5, 2.5, 0.0])
    """

    def __init__(self, parent: ArrayLike, copies: ArrayLike | None = None) -> None:
        above = np.asarray(parent, np.int32)
        self.order = preorder(above)
        rank = np.empty(self.order.size, np.int64)
        rank[self.order] = np.arange(self.order.size)
        above = above[self.order]
        self.parent = np.where(above >= 0, rank[above], -1)
        self.copies = np.ones(above.size) if copies is None else np.asarray(copies, np.float64)[self.order]

    def prox(self, w: NDArray[np.float64], radius: float, seed: int = 0) -> NDArray[np.int64]:
        """Prox of ``radius · Σ_v max(w_subtree(v))`` in place, at a point without negative values.

        Returns how many values each group lowers, of those that lower some and do not set all of theirs to zero.
        """
        values = w[self.order]
        lowered: NDArray[np.int64] = _pivots(values, self.copies, self.parent, radius, seed)
        w[self.order] = values
        return lowered[lowered > 0]


@njit(cache=True, nogil=True)
def _pivots(
    values: NDArray[np.float64],
    counts: NDArray[np.float64],
    parent: NDArray[np.int64],
    radius: float,
    seed: int,
) -> NDArray[np.int64]:
    """In place, on nodes in preorder, where a subtree is a run; returns how many values each group lowered."""
    np.random.seed(seed)
    n = values.size
    end = np.arange(1, n + 1)
    lowered = np.zeros(n, np.int64)
    some = np.empty(n, np.int64)
    for v in range(n - 1, -1, -1):
        if parent[v] >= 0 and end[v] > end[parent[v]]:
            end[parent[v]] = end[v]
        kappa = radius * counts[v]
        mass = 0.0
        for i in range(v, end[v]):
            mass += values[i] * counts[i]
        if mass <= kappa:
            values[v : end[v]] = 0.0
            continue
        left = 0
        for i in range(v, end[v]):
            if values[i] > 0.0:
                some[left] = i
                left += 1
        total, many = 0.0, 0.0  # of the values known to be above the threshold
        while left > 0:
            pivot = some[np.random.randint(left)]
            height = values[pivot]
            more, further, upper = 0.0, 0.0, 0
            for k in range(left):  # those at least as high come first
                i = some[k]
                if values[i] >= height:
                    more += values[i] * counts[i]
                    further += counts[i]
                    some[k], some[upper] = some[upper], i
                    upper += 1
            if total + more - (many + further) * height < kappa:
                total += more
                many += further
                left -= upper
                for k in range(left):
                    some[k] = some[k + upper]
            else:
                left = 0
                for k in range(upper):
                    if some[k] != pivot:
                        some[left] = some[k]
                        left += 1
        cap = (total - kappa) / many
        for i in range(v, end[v]):
            if values[i] > cap:
                values[i] = cap
                lowered[v] += 1
    return lowered
