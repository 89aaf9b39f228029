"""Candidates for a model that re-ranks trees: the best one by the scores of edges, and those close to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spinney.parsing.eisner import Heads, edge_table, eisner


def close_trees(scores: ArrayLike, k: int, *, single_root: bool = True) -> list[Heads]:
    """The best tree, and up to k - 1 that are the best when one of its edges is forbidden; best first.

    The second is the second best of all, since any other tree lacks some edge of the best; those after it need not be
    the next in order, but each does without another edge, so that they differ where the scores leave a doubt.

    Examples
    --------
    >>> scores = np.zeros((3, 3))
    >>> scores[0, 1], scores[1, 2] = 2.0, 1.0
    >>> [tree.tolist() for tree in close_trees(scores, 3)]
    [[0, 1], [2, 0]]
    """
    from spinney.parsing._eisner_kernels import best_projective

    table = edge_table(scores)
    best = eisner(table, single_root=single_root)
    found = {tuple(best.tolist()): np.inf}
    if k > 1:
        for m, h in enumerate(best.tolist(), start=1):
            forbidden = table[h, m]
            table[h, m] = -np.inf
            heads = np.zeros(len(table), np.int32)
            total = best_projective(table, single_root, heads)
            if total > -np.inf:
                found[tuple(heads[1:].tolist())] = float(total)
            table[h, m] = forbidden
    ranked = sorted(found, key=lambda tree: (-found[tree], tree))
    return [np.array(tree, np.int32) for tree in ranked[:k]]
