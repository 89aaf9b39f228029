"""The best projective dependency tree for given edge scores (Eisner 1996)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError

Heads = NDArray[np.int32]


def eisner(scores: ArrayLike, *, single_root: bool = True) -> Heads:
    """The heads of the projective tree whose edges have the highest sum of scores, in O(n³).

    Parameters
    ----------
    scores : array [n + 1, n + 1]
        ``scores[h, m]`` of the edge from head h to modifier m. Words are numbered from 1; 0 is the artificial root,
        which is never a modifier: column 0 and the diagonal are ignored. -inf forbids an edge.
    single_root
        Whether the artificial root has exactly one modifier.

    Returns
    -------
    int32 array [n]
        The head of each word: 0 or the number of a word.

    Examples
    --------
    >>> scores = np.zeros((4, 4))
    >>> scores[0, 2] = scores[2, 1] = scores[2, 3] = 1.0
    >>> eisner(scores)
    array([2, 0, 2], dtype=int32)
    """
    from spinney.parsing._eisner_kernels import best_projective

    table = edge_table(scores)
    heads = np.zeros(len(table), np.int32)
    if len(table) > 1 and best_projective(table, single_root, heads) == -np.inf:
        raise InputError("no projective tree is possible: every one has an edge with score -inf")
    return heads[1:]


def is_projective(heads: ArrayLike) -> bool:
    """Whether no two edges cross, those from the artificial root at the left end included.

    Examples
    --------
    >>> is_projective([2, 0, 2]), is_projective([3, 4, 0, 3])
    (True, False)
    """
    above = np.asarray(heads, np.int64)
    words = np.arange(1, len(above) + 1)
    left, right = np.minimum(above, words), np.maximum(above, words)
    # An edge begins strictly within another and ends strictly beyond it.
    starts_within = (left[:, None] < left) & (left < right[:, None])
    return not bool((starts_within & (right > right[:, None])).any())


def edge_table(scores: ArrayLike) -> NDArray[np.float64]:
    """A copy in the form that the kernel needs."""
    table = np.array(scores, np.float64, order="C")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table):
        raise InputError(f"edge scores must be a table of shape [n + 1, n + 1], not {list(table.shape)}")
    looked_at = table[:, 1:][~np.eye(len(table), dtype=bool)[:, 1:]]
    if np.isnan(looked_at).any() or (looked_at == np.inf).any():
        raise InputError("edge scores must be numbers or -inf")
    return table
