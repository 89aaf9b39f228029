"""Check that heads form trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def tree_problem(heads: NDArray[np.int32], lengths: NDArray[np.int64]) -> tuple[int, str] | None:
    """The first word that keeps the heads of some sentence from being a tree with one root, and why.

    Parameters
    ----------
    heads : array [words]
        The number of each word's head in its sentence, from 1; 0 at a root, negative where there is none.
    lengths : array [sentences]
        Words of each sentence; heads are at most that.

    Examples
    --------
    >>> tree_problem(np.array([2, 0, 2], np.int32), np.array([3]))
    >>> tree_problem(np.array([2, 0, 4, 3], np.int32), np.array([4]))
    (2, 'the heads of words 3, 4 form a cycle')
    """
    start = np.repeat(np.cumsum(lengths) - lengths, lengths)
    roots = np.flatnonzero(heads == 0)
    second = roots[1:][start[roots[1:]] == start[roots[:-1]]]
    if second.size:
        return int(second[0]), "a second root, but a sentence has only one"

    # Pointer jumping: after k rounds `up` is the ancestor 2^k steps above, or the root.
    parent = np.where(heads > 0, start + heads - 1, np.arange(len(heads)))
    up = parent
    for _ in range(int(lengths.max(initial=0)).bit_length()):
        up = up[up]
    lost = heads[up] > 0
    if not lost.any():
        return None
    cycle = [int(up[np.argmax(lost)])]
    while (word := int(parent[cycle[-1]])) != cycle[0]:
        cycle.append(word)
    numbers = ", ".join(str(word - int(start[word]) + 1) for word in sorted(cycle))
    return min(cycle), f"the heads of words {numbers} form a cycle"
