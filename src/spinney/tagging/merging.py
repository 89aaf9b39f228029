"""Observations that always occur together, merged into one.

Most observations of a tagger occur once, and several of them at the same token. Under an ℓ2 penalty, c observations
that always occur together get equal weights w, so that one weight u = √c·w with value √c stands for all of them: the
score c·w = √c·u and the penalty c·w² = u² stay the same. The smaller problem is exactly equivalent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.tagging.sequences import Floats, Observations


class Merged(NamedTuple):
    """The smaller problem, and the way back."""

    observations: Observations
    group: NDArray[np.int64]  # of each old observation, the new one
    root: Floats  # √c of each new observation

    def spread(self, u: Floats, out: Floats | None = None) -> Floats:
        """Weights of the old observations (rows) out of those of the new ones."""
        w = np.take(u, self.group, axis=0, out=out)
        w /= self.root[self.group, None]
        return w

    def gather(self, w: Floats) -> Floats:
        """Weights of the new observations out of those of the old ones: where these differ, their mean counts."""
        total = np.zeros((len(self.root), w.shape[1]))
        np.add.at(total, self.group, w)
        return total / self.root[:, None]


def merge(seen: Observations) -> Merged:
    """Find the observations that always occur together; those with values are not merged.

    Examples
    --------
    >>> seen = Observations(np.array([0, 3, 4]), np.array([0, 1, 2, 1], np.int32), n=3)
    >>> merged = merge(seen)
    >>> merged.group.tolist(), merged.root.round(3).tolist(), merged.observations.ids.tolist()
    ([0, 1, 0], [1.414, 1.0], [0, 1, 1])
    """
    if seen.values is not None:
        return Merged(seen, np.arange(seen.n), np.ones(seen.n))
    leader = leaders(seen)
    kept_ones, group = np.unique(leader, return_inverse=True)
    root = np.sqrt(np.bincount(group))
    kept = leader[seen.ids] == seen.ids
    ids = group[seen.ids[kept]].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(kept)])[seen.ptr]
    return Merged(Observations(starts, ids, len(kept_ones), root[ids]), group, root)


def leaders(seen: Observations) -> NDArray[np.int64]:
    """For each observation, the first of those that occur at exactly the same tokens; itself, if they have values.

    Examples
    --------
    >>> leaders(Observations(np.array([0, 3, 4]), np.array([0, 1, 2, 1], np.int32), n=3)).tolist()
    [0, 1, 0]
    """
    from scipy.sparse import csr_array

    if seen.values is not None:
        return np.arange(seen.n)
    columns = csr_array(
        (np.ones(len(seen.ids), np.int8), seen.ids, seen.ptr), shape=(seen.n_tokens, seen.n)
    ).tocsc()
    ptr, tokens = columns.indptr.astype(np.int64), columns.indices
    # A random number for each token: observations whose tokens have the same sum have, almost surely, the same tokens.
    signs = np.random.default_rng(0).integers(0, 1 << 63, seen.n_tokens, dtype=np.uint64)
    sums = np.zeros(len(tokens) + 1, np.uint64)
    np.cumsum(signs[tokens], out=sums[1:])
    _, first, group = np.unique(sums[ptr[1:]] - sums[ptr[:-1]], return_index=True, return_inverse=True)
    leader = first[group]
    # To be certain, compare each with the first of its group.
    same = np.diff(ptr) == np.diff(ptr)[leader]
    entries = np.repeat(same, np.diff(ptr))
    owner = np.repeat(np.arange(seen.n), np.diff(ptr))[entries]
    differs = tokens[entries] != tokens[np.flatnonzero(entries) - ptr[owner] + ptr[leader[owner]]]
    same[owner[differs]] = False
    return np.where(same, leader, np.arange(seen.n))
