"""Shards of a suffix trie: the subtrees below some of the shortest contexts, whose weights matter to no other shard.

Below a context of one symbol, scores depend on the weights there and on those of the roots alone. So a shard gets the
weights of its own grams and what the roots make of theirs. It gives the gradient of its own grams and, for the grams
of roots above them, what it adds to their expected counts. Shards are cut by the trie alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import SuffixTrie
from spinney.parallel import Kept

SHARD = 1 << 20  # grams: some fifteen milliseconds of work, and eight megabytes out and back
FEWEST = 4  # shards: so large a trie is faster in pieces, even on one thread; a smaller one is not

Vector = NDArray[np.float64]


class Subtrees(NamedTuple):
    """Contexts and grams of a shard in a numbering of its own: the roots and their grams come first, then its own.

    ``gram_ptr``, ``parent``, ``context`` and ``up`` are those of a :class:`~spinney.lm.suffixtrie.SuffixTrie`.
    """

    root_grams: NDArray[np.int64]  # the grams of roots that are above those of the shard
    gram_ptr: NDArray[np.int64]
    parent: Ids
    ends: Vector
    context: Ids
    up: Ids
    feature: Vector  # of its own grams, as are the next two
    ends_with: Vector
    counts: Vector


class Shard(NamedTuple):
    """Where the grams of a shard are in the trie, and what stays with whoever works on it."""

    runs: list[slice]  # of grams: about one for each length of contexts
    kept: Kept[Subtrees]

    def of(self, values: Vector) -> Vector:
        """The values of its grams."""
        return np.concatenate([values[run] for run in self.runs])

    def put(self, values: Vector, own: Vector) -> None:
        """Write the values of its grams among those of all."""
        at = 0
        for run in self.runs:
            n = run.stop - run.start
            values[run] = own[at : at + n]
            at += n


class ShardGradient(NamedTuple):
    """What a shard adds: to the loss, the gradient of its own grams, and to what the roots expect."""

    value: float
    gradient: Vector
    share: Vector  # R of the roots
    rest: Vector  # of the grams of roots, as is the next
    expected: Vector


def trie_shards(trie: SuffixTrie, feature: Vector, ends_with: NDArray[np.int64], n_roots: int) -> list[Shard]:
    """The shards of a trie; none if it is small.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.stream import stream_of
    >>> from spinney.lm.suffixtrie import suffix_trie
    >>> trie = suffix_trie(stream_of(sentence_arrays([["a", "rose"], ["is", "a", "rose"]])), 3, 1)
    >>> trie_shards(trie, np.ones(trie.n_grams), np.ones(trie.n_grams), 1)
    []
    """
    from spinney.lm._loglinear_kernels import top_contexts

    n = trie.n_grams // SHARD
    if n < FEWEST:
        return []
    top = top_contexts(trie.parent, n_roots)
    size = np.bincount(top[n_roots:], np.diff(trie.gram_ptr)[n_roots:], trie.n_contexts)
    before = np.cumsum(size) - size
    number = np.minimum(before * n // max(size.sum(), 1), n - 1).astype(np.int32)  # of the shard
    of_context = np.where(top >= 0, number[top], -1)
    of_gram = of_context[trie.context]
    local = np.empty(trie.n_contexts, np.int32), np.empty(trie.n_grams, np.int32)
    return [
        _shard(
            trie,
            feature,
            ends_with,
            np.flatnonzero(of_context == i),
            np.flatnonzero(of_gram == i),
            n_roots,
            local,
        )
        for i in np.unique(number[top[n_roots:]]).tolist()
    ]


def _shard(
    trie: SuffixTrie,
    feature: Vector,
    ends_with: NDArray[np.int64],
    contexts: NDArray[np.int64],
    grams: NDArray[np.int64],
    n_roots: int,
    local: tuple[Ids, Ids],
) -> Shard:
    """The shard of some contexts and their grams; ``local`` is memory for the numbers that they get."""
    of_context, of_gram = local
    up, parent = trie.up[grams], trie.parent[contexts]
    root_grams = np.unique(up[up < trie.gram_ptr[n_roots]]).astype(np.int64)
    n = len(root_grams)
    of_context[:n_roots] = np.arange(n_roots)
    of_context[contexts] = np.arange(n_roots, n_roots + len(contexts))
    of_gram[root_grams] = np.arange(n)
    of_gram[grams] = np.arange(n, n + len(grams))
    ends = np.cumsum(np.diff(trie.gram_ptr)[contexts]) + n
    above, nothing = np.full(n_roots, -1, np.int32), np.full(n, -1, np.int32)
    kept = Subtrees(
        root_grams,
        np.concatenate([np.full(n_roots + 1, n), ends]),
        np.concatenate([above, of_context[parent]]),
        np.concatenate([np.zeros(n_roots), trie.ends[contexts]]),
        np.concatenate([np.zeros(n, np.int32), of_context[trie.context[grams]]]),
        np.concatenate([nothing, of_gram[up]]),
        feature[grams],
        ends_with[grams].astype(np.float64),
        trie.count[grams].astype(np.float64),
    )
    begins = np.flatnonzero(np.diff(grams, prepend=-2) != 1)
    ends_of_runs = np.append(grams[begins[1:] - 1], grams[-1]) + 1
    runs = [slice(a, b) for a, b in zip(grams[begins].tolist(), ends_of_runs.tolist(), strict=True)]
    return Shard(runs, Kept(kept))


def shard_value(root_e: Vector, root_Z: Vector, part: Subtrees, w: Vector) -> float:
    """The loss of the events whose longest gram is in a shard: a pure function."""
    return _scored(root_e, root_Z, part, w)[3]


def shard_gradient(root_e: Vector, root_Z: Vector, part: Subtrees, w: Vector) -> ShardGradient:
    """What a shard adds to the loss and its gradient: a pure function."""
    from spinney.lm._loglinear_kernels import expected_from, shares

    theta, e, Z, value = _scored(root_e, root_Z, part, w)
    n, n_roots = len(part.root_grams), len(root_Z)
    R = shares(Z, part.parent, part.ends)
    rest = R[part.context]
    rest[:n] = 0.0
    expected = theta  # which nobody needs any more: large new arrays take time
    expected_from(n, e, R, part.up, part.context, rest, expected)
    gradient = expected[n:]
    gradient -= part.counts
    gradient *= part.feature
    return ShardGradient(value, gradient, R[:n_roots], rest[:n], expected[:n])


def _scored(
    root_e: Vector, root_Z: Vector, part: Subtrees, w: Vector
) -> tuple[Vector, Vector, Vector, float]:
    """By how much each gram raises the score, exp of the score, normalisers of contexts, and the loss of a shard."""
    from spinney.lm._loglinear_kernels import negative_log_likelihood, scores_below

    n, n_roots = len(part.root_grams), len(root_Z)
    theta, e, Z = np.empty(n + len(w)), np.empty(n + len(w)), np.empty(len(part.parent))
    e[:n], Z[:n_roots] = root_e[part.root_grams], root_Z
    np.multiply(part.feature, w, out=theta[n:])
    scores_below(n_roots, theta, part.up, part.parent, part.gram_ptr, e, Z)
    return theta, e, Z, float(negative_log_likelihood(e[n:], Z, part.context[n:], part.ends_with))
