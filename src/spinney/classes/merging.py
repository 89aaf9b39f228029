"""The state of greedy merging, and the tree that merging down to one class gives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.classes.pairs import Ints, PairCounts, fixed_point

CHUNK = 200  # words, or merges, between two checks for an interrupt


def hierarchy(pairs: PairCounts, ids: NDArray[np.int32], n_classes: int, *, root: bool) -> list[str]:
    """The path of each class in the tree of their greedy merging.

    Examples
    --------
    >>> from spinney.classes.pairs import pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> pairs = pair_counts(sentence_arrays([["a", "b"], ["a", "c"], ["b", "d"], ["c", "d"]]))
    >>> hierarchy(pairs, np.arange(4, dtype=np.int32), 4, root=False)
    ['00', '10', '11', '01']
    """
    from spinney.classes._brown_kernels import open_all

    state = State.empty(n_classes, root, pairs)
    counts = pairs.of_classes(ids, n_classes)
    from_root = pairs.roots_of_classes(ids, n_classes)
    ranks = _first_ranks(pairs, ids, n_classes)
    rest = (counts, from_root, ranks, *state)
    open_all(0, 0, *rest)  # compiles, and does nothing else
    with progress.task("comparing classes", n_classes) as task:
        for start in range(0, n_classes, CHUNK):
            stop = min(start + CHUNK, n_classes)
            open_all(start, stop, *rest)
            task.update(stop - start)
    return merge_down(state, ranks)


class State(NamedTuple):
    """The clusters in their slots, as the kernels take them."""

    N: Ints
    NT: Ints
    loss: Ints
    l: Ints
    r: Ints
    first: Ints  # rank of each cluster's most frequent word; -1 for an empty slot
    table: Ints
    scale: float

    @classmethod
    def empty(cls, n_slots: int, root: bool, pairs: PairCounts) -> State:
        phi = fixed_point(pairs.n_pairs + (int(pairs.roots.sum()) if root else 0))
        size = n_slots + root
        never = np.iinfo(np.int64).max
        return cls(
            np.zeros((size, size), np.int64),
            np.zeros((size, size), np.int64),
            np.full((n_slots, n_slots), never),
            np.zeros(n_slots, np.int64),
            np.zeros(n_slots, np.int64),
            np.full(n_slots, -1),
            *phi,
        )


def merge_down(state: State, ranks: Ints) -> list[str]:
    """Merge all clusters into one; the paths of those whose first words have these ranks."""
    from spinney.classes._brown_kernels import merge_all

    merges = np.zeros((len(ranks) - 1, 2), np.int64)
    with progress.task("building the hierarchy", len(merges)) as task:
        for start in range(0, len(merges), CHUNK):
            stop = min(start + CHUNK, len(merges))
            merge_all(start, merges[:stop], *state)
            task.update(stop - start)
    path = {int(ranks.min()): ""}
    for kept, gone in merges[::-1].tolist():
        path[kept], path[gone] = path[kept] + "0", path[kept] + "1"
    return [path[rank] for rank in ranks.tolist()]


def _first_ranks(pairs: PairCounts, ids: NDArray[np.int32], n_classes: int) -> Ints:
    """The rank of each class's most frequent word; classes without words come last."""
    ranks = np.arange(pairs.n_words, pairs.n_words + n_classes)
    in_order = ids[pairs.by_frequency()]
    used, first = np.unique(in_order, return_index=True)
    ranks[used] = first
    return ranks
