"""The labels of chains: the best, the k best, and the probability of each.

Every function goes through all sentences in shards, on ``threads`` threads (default 1; None for all processors); the
results do not depend on their number. Where the constraints leave no labelling to a sentence, all but
:func:`path_scores` raise an :class:`~spinney.errors.InputError` that names it, counting from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError, OptionError
from spinney.inference.chains import Chains
from spinney.parallel import map_reduce

Labels = NDArray[np.int32]
Floats = NDArray[np.float64]

SHARD_TOKENS = 8192  # enough to hide the call, few enough for the temporaries to stay near the processor
LOW_EDGE = -150.0  # see LOW_MESSAGE among the kernels


class Path(NamedTuple):
    """One labelling of a sentence."""

    labels: Labels
    score: float
    probability: float


def viterbi(chains: Chains, *, threads: int | None = 1) -> tuple[Labels, Floats]:
    """The labelling of highest score of each sentence; of equal ones, that with the smaller labels from the end.

    Returns
    -------
    labels : int32 array [T]
    path_scores : float64 array [N]

    Examples
    --------
    >>> chains = Chains([0, 2], [[1.0, 0.0], [0.0, 0.5]], [0, 0], [[[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]])
    >>> viterbi(chains)
    (array([0, 0], dtype=int32), array([3.]))
    """
    from spinney.inference import _decoding_kernels as kernels

    labels = np.empty(len(chains.scores), np.int32)
    path_scores = np.empty(len(chains))

    def run(shard: Shard) -> None:
        i, t, offsets = shard
        kernels.viterbi(offsets, chains.scores[t], chains.kinds[t], chains.edges, labels[t], path_scores[i])

    for_shards(run, chains, threads)
    check_possible(path_scores, chains)
    return labels, path_scores


def kbest(chains: Chains, k: int, *, threads: int | None = 1) -> list[list[Path]]:
    """The k labellings of highest score of each sentence, best first, exactly; fewer where there are fewer.

    The first is that of :func:`viterbi`. A sentence of T tokens takes time T × Y × (Y + k), memory T × (Y + k).

    Examples
    --------
    >>> chains = Chains([0, 2], [[0.0, 0.0], [0.0, 1.0]], [0, 0], [[[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]])
    >>> for path in kbest(chains, 3)[0]:
    ...     print(path.labels, path.score, round(path.probability, 3))
    [0 0] 2.0 0.534
    [0 1] 1.0 0.197
    [1 1] 1.0 0.197
    """
    labels, scores = _kbest(chains, k, threads)
    _, log_z = marginals(chains, threads=threads)
    probabilities = np.exp(np.minimum(scores - log_z[:, None], 0.0))  # 1 at most, in spite of rounding
    counts = np.sum(scores > -np.inf, axis=1)
    return [
        [
            Path(np.ascontiguousarray(labels[a:b, r]), float(scores[i, r]), float(probabilities[i, r]))
            for r in range(counts[i])
        ]
        for i, (a, b) in enumerate(pairwise(chains.offsets.tolist()))
    ]


def margins(chains: Chains, k: int = 2, *, threads: int | None = 1) -> Floats:
    """By how much the best labelling of each sentence beats the k-th best: small where the model is uncertain.

    Infinite where there are fewer than k.

    Examples
    --------
    >>> chains = Chains([0, 1, 1], [[1.0, 0.25]], [0], np.zeros((1, 3, 2)))
    >>> margins(chains)
    array([0.75,  inf])
    """
    scores = _kbest(chains, k, threads)[1]
    return np.asarray(scores[:, 0] - scores[:, k - 1])


def marginals(chains: Chains, *, threads: int | None = 1) -> tuple[Floats, Floats]:
    """The probability of each label at each token, and log Z of each sentence, by forward-backward.

    Probabilities, scaled, rather than logs go through the recursion (Sokolovska 2010). A sentence where one
    could underflow (finite scores of a token 200 apart, finite edges 150 apart, a message below e⁻³⁴⁵) is done
    in logs instead: right as well, but many times slower, so forbid with ``-inf`` rather than ``-1e4``.

    Returns
    -------
    probabilities : float64 array [T, Y]
    log_normalisers : float64 array [N]

    Examples
    --------
    >>> chains = Chains([0, 2], [[0.0, 0.0], [0.0, 0.0]], [0, 0], [np.log([[3.0, 1.0], [2.0, 2.0], [1.0, 1.0]])])
    >>> probabilities, log_z = marginals(chains)
    >>> probabilities, np.exp(log_z).round(12)
    (array([[0.5  , 0.5  ],
           [0.625, 0.375]]), array([8.]))
    """
    from spinney.inference import _decoding_kernels as kernels

    T, Y = chains.scores.shape
    probabilities, log_z = np.empty((T, Y)), np.empty(len(chains))
    starts, start_shift = _shifted(chains.edges[:, Y, :])
    moves, move_shift = _shifted(chains.edges[:, :Y, :])
    wide = _any_low(starts) | _any_low(moves)
    starts, moves = np.exp(starts), np.exp(moves)
    transposed, log_transposed = _transposed(moves), _transposed(chains.edges)

    def run(shard: Shard) -> None:
        i, t, offsets = shard
        scores, kinds = chains.scores[t], chains.kinds[t]
        potentials, shift = _shifted(scores)
        np.exp(potentials, out=potentials)
        sums, unsafe = np.ones(len(kinds)), np.empty(len(offsets) - 1, np.bool_)
        kernels.scaled_marginals(
            offsets,
            potentials,
            scores,
            kinds,
            starts,
            moves,
            transposed,
            wide,
            probabilities[t],
            sums,
            unsafe,
        )
        first = offsets[:-1][np.diff(offsets) > 0]
        shift += move_shift[kinds]
        shift[first] += (start_shift - move_shift)[kinds[first]]
        with np.errstate(divide="ignore"):  # an unsafe sentence may have had a sum of 0
            log_z[i] = _sums(np.log(sums) + shift, offsets)
        if unsafe.any():
            again = np.flatnonzero(unsafe)
            kernels.log_marginals(
                again, offsets, scores, kinds, chains.edges, log_transposed, probabilities[t], log_z[i]
            )

    for_shards(run, chains, threads)
    check_possible(log_z, chains)
    return probabilities, log_z


def posterior_decode(chains: Chains, *, threads: int | None = 1) -> Labels:
    """The most probable label of each token, the smallest of equals: the fewest wrong tokens to expect.

    Each token decides for itself, so two neighbours may have labels that cannot follow each other.

    Examples
    --------
    >>> edges = np.log([[[0.5, 0.5, 1e-9], [1e-9, 1e-9, 1.0], [1.0, 1e-9, 1e-9], [0.55, 0.45, 1e-9]]])
    >>> posterior_decode(Chains([0, 2], np.zeros((2, 3)), [0, 0], edges))
    array([0, 2], dtype=int32)
    """
    return np.asarray(marginals(chains, threads=threads)[0].argmax(axis=1), dtype=np.int32)


def token_probabilities_of(chains: Chains, labels: ArrayLike, *, threads: int | None = 1) -> Floats:
    """The probability of the given label of each token: how sure the model is of it.

    Examples
    --------
    >>> chains = Chains([0, 1], [np.log([3.0, 1.0])], [0], np.zeros((1, 3, 2)))
    >>> token_probabilities_of(chains, [1])
    array([0.25])
    """
    y = _checked_labels(chains, labels)
    return np.asarray(marginals(chains, threads=threads)[0][np.arange(len(y)), y])


def path_scores(chains: Chains, labels: ArrayLike) -> Floats:
    """The score of the given labelling of each sentence, -inf where it is forbidden.

    Examples
    --------
    >>> chains = Chains([0, 2], [[1.0, 0.0], [0.0, 0.5]], [0, 0], [[[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]])
    >>> path_scores(chains, [0, 1])
    array([1.5])
    """
    y = _checked_labels(chains, labels)
    before = np.empty_like(y)
    before[1:] = y[:-1]
    before[chains.offsets[:-1][np.diff(chains.offsets) > 0]] = chains.n_labels
    tokens = chains.scores[np.arange(len(y)), y] + chains.edges[chains.kinds, before, y]
    return _sums(tokens, chains.offsets)


# ---------------------------------------------------------------------------------------------- in common


class Shard(NamedTuple):
    """Some sentences: which, their tokens, and their offsets within those."""

    sentences: slice
    tokens: slice
    offsets: NDArray[np.int64]


def for_shards(run: Callable[[Shard], None], chains: Chains, threads: int | None) -> None:
    """Run over runs of whole sentences; each writes its own part of the results, so there is nothing to reduce."""
    offsets, N = chains.offsets, len(chains)
    inner = np.searchsorted(offsets, np.arange(SHARD_TOKENS, offsets[-1], SHARD_TOKENS))
    cuts = np.unique(np.concatenate(([0], inner, [N]))).tolist() if N else [0, 0]
    shards = (
        Shard(slice(i, j), slice(offsets[i], offsets[j]), offsets[i : j + 1] - offsets[i])
        for i, j in pairwise(cuts)
    )
    map_reduce(run, shards, threads=threads, reduce=lambda _first, _second: None)


def _kbest(chains: Chains, k: int, threads: int | None) -> tuple[Labels, Floats]:
    """Labels [T, k] and scores [N, k] of the k best paths, -inf where there are fewer."""
    from spinney.inference import _decoding_kernels as kernels

    if k < 1:
        raise OptionError(f"k must be at least 1, not {k}")
    labels = np.empty((len(chains.scores), k), np.int32)
    scores = np.empty((len(chains), k))
    transposed = _transposed(chains.edges)

    def run(shard: Shard) -> None:
        i, t, offsets = shard
        kernels.kbest(
            offsets, chains.scores[t], chains.kinds[t], chains.edges, transposed, labels[t], scores[i]
        )

    for_shards(run, chains, threads)
    check_possible(scores[:, 0], chains)
    return labels, scores


def _shifted(logs: Floats) -> tuple[Floats, Floats]:
    """Each ``logs[i]`` less its maximum, and the maxima; what is all -inf is left so."""
    top = logs.max(axis=tuple(range(1, logs.ndim)), keepdims=True)
    top[top == -np.inf] = 0.0
    return logs - top, top.reshape(len(logs))


def _transposed(edges: Floats) -> Floats:
    """(label here, label before), without the starts."""
    Y = edges.shape[2]
    return np.ascontiguousarray(edges[:, :Y].transpose(0, 2, 1))


def _any_low(edges: Floats) -> NDArray[np.bool_]:
    low = (edges < LOW_EDGE) & (edges > -np.inf)
    return np.asarray(low.reshape(len(edges), -1).any(axis=1))


def _sums(tokens: Floats, offsets: NDArray[np.int64]) -> Floats:
    """The sum over each sentence, 0 over an empty one."""
    sums = np.zeros(len(offsets) - 1)
    full = np.diff(offsets) > 0
    if full.any():
        sums[full] = np.add.reduceat(tokens, offsets[:-1][full])
    return sums


def check_possible(best: Floats, chains: Chains) -> None:
    """Raise an error that names the first sentence whose best score, or log Z, is that of no labelling at all."""
    impossible = np.flatnonzero(best == -np.inf)
    if impossible.size:
        raise InputError(
            f"no labelling of sentence {chains.first + impossible[0] + 1} meets the constraints",
            remedy="allow more labels or transitions",
        )


def _checked_labels(chains: Chains, labels: ArrayLike) -> Labels:
    y = np.asarray(labels, dtype=np.int32)
    if y.shape != (len(chains.scores),):
        raise OptionError(f"labels must have the shape ({len(chains.scores)},), not {y.shape}")
    if y.size and not 0 <= y.min() <= y.max() < chains.n_labels:
        raise OptionError(f"labels must be between 0 and {chains.n_labels - 1}")
    return y
