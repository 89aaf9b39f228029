"""Pairs of words with a hidden class between them, learned by EM.

Naive Bayes over pairs, p(x, y) = Σ_h p(h) p(x|h) p(y|h), and the aggregate bigram of Saul and Pereira (1997),
p(y|x) = Σ_h p(h|x) p(y|h), are one model: with p(x) = the frequency of x, the second is the first given x, and EM takes
the same way in both. A step takes time in proportion to the number of distinct pairs times that of classes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.checking import seed, whole
from spinney.errors import InputError, OptionError
from spinney.parallel import map_reduce
from spinney.progress import task

Matrix = NDArray[np.float64]

_SHARD = 1 << 17  # pairs in a shard


class PairMixture(NamedTuple):
    """What :func:`fit_pairs` learned.

    Attributes
    ----------
    weights : array [class]
        p(h), falling.
    first, second : arrays [word, class]
        p(x|h) and p(y|h), whose columns sum to 1.
    trace : list of float
        The log-likelihood Σ n(x, y) log p(x, y) at each E-step of the best start.
    converged : bool
        Whether that start ended because steps no longer helped.
    interrupted : bool
        Whether learning was interrupted.
    """

    weights: Matrix
    first: Matrix
    second: Matrix
    trace: list[float]
    converged: bool
    interrupted: bool = False

    def given_first(self) -> Matrix:
        """p(h|x), rows that sum to 1: the aggregate bigram is this and ``second``; zeros where x was never first."""
        return _rows(self.first * self.weights)

    def given_second(self) -> Matrix:
        """p(h|y), rows that sum to 1; zeros where y was never second."""
        return _rows(self.second * self.weights)


def fit_pairs(
    pairs: Any,
    n_classes: int,
    *,
    passes: int = 200,
    tol: float = 1e-6,
    restarts: int = 5,
    threads: int | None = None,
    random_state: int = 0,
) -> PairMixture:
    """Learn a hidden class of pairs from their counts.

    Parameters
    ----------
    pairs : array or sparse matrix [first word, second word]
        How often each pair was seen.
    passes
        The most E-steps from a start.
    tol
        A start ends when a step raises the log-likelihood by no more than this share of its size.
    restarts
        Random starts, of which the best is kept: EM has local optima.

    Examples
    --------
    >>> pairs = np.array([[4, 4, 0, 0], [2, 2, 0, 0], [0, 0, 3, 1]])
    >>> found = fit_pairs(pairs, 2)
    >>> found.weights.round(4)
    array([0.75, 0.25])
    >>> (found.given_first() @ found.second.T).round(3)  # the aggregate bigram
    array([[0.5 , 0.5 , 0.  , 0.  ],
           [0.5 , 0.5 , 0.  , 0.  ],
           [0.  , 0.  , 0.75, 0.25]])
    """
    for name, value in (("n_classes", n_classes), ("passes", passes), ("restarts", restarts)):
        whole(name, value, 1)
    if not tol >= 0:
        raise OptionError(f"tol must be at least 0, not {tol}")
    seed(random_state)
    counts = checked_pairs(pairs)
    rng = np.random.default_rng(random_state)
    best: PairMixture | None = None
    with task("pairs", total=restarts) as fitting:
        for _ in range(restarts):
            run = _run(counts, *_start(counts, n_classes, rng), passes, tol, threads, best is None)
            if best is None or run.trace[-1] > best.trace[-1]:
                best = run
            if run.interrupted:
                best = best._replace(interrupted=True)
                break
            fitting.update()
    assert best is not None
    order = np.argsort(-best.weights, kind="stable")
    return best._replace(
        weights=best.weights[order], first=best.first[:, order], second=best.second[:, order]
    )


def checked_pairs(pairs: Any) -> Any:
    """Counts of pairs as CSR, or an error."""
    from scipy.sparse import csr_array

    counts = csr_array(pairs, dtype=np.float64)
    counts.eliminate_zeros()
    if counts.nnz == 0:
        raise InputError("there are no pairs of words to learn from")
    if not np.all(np.isfinite(counts.data)) or counts.data.min() < 0:
        raise InputError("a count of a pair is negative or no number")
    return counts


def _start(counts: Any, n_classes: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Words near their overall frequencies, each class a random multiple of them."""
    second = counts.sum(axis=0)[:, None] * rng.dirichlet(np.ones(n_classes), counts.shape[1])
    first = counts.sum(axis=1)[:, None] * rng.dirichlet(np.ones(n_classes), counts.shape[0])
    return first / first.sum(), _columns(second)


def _run(
    counts: Any, A: Matrix, B: Matrix, passes: int, tol: float, threads: int | None, only: bool
) -> PairMixture:
    """EM from a start, with A = p(x, h) and B = p(y|h): the parameters that come back are those of the last E-step.

    An interrupt ends it; if there is no other start yet (``only``), not before the first E-step.
    """
    trace: list[float] = []
    kept = A, B
    converged = interrupted = False
    try:
        while True:
            log_likelihood, first, second = _expected(counts, A, B, threads)
            trace.append(log_likelihood)
            kept = A, B
            converged = len(trace) > 1 and trace[-1] - trace[-2] <= tol * abs(trace[-1])
            if converged or len(trace) >= passes:
                break
            A, B = first / first.sum(), _columns(second)
    except KeyboardInterrupt:
        if not trace and only:
            raise
        interrupted = True
    A, B = kept
    return PairMixture(A.sum(axis=0), _columns(A), B, trace or [-np.inf], converged, interrupted)


def _expected(counts: Any, A: Matrix, B: Matrix, threads: int | None) -> tuple[float, Matrix, Matrix]:
    """An E-step: the log-likelihood, and how often each word is expected to be first, or second, with each class."""
    from spinney.inference._pair_kernels import expected_counts

    first = np.empty_like(A)
    indptr, indices = counts.indptr.astype(np.int64), counts.indices.astype(np.int32, copy=False)

    def of_shard(rows: slice) -> tuple[float, Matrix]:
        second = np.zeros_like(B)
        ends = indptr[rows.start : rows.stop + 1]
        return expected_counts(ends, indices, counts.data, A[rows], B, first[rows], second), second

    def added(one: tuple[float, Matrix], other: tuple[float, Matrix]) -> tuple[float, Matrix]:
        one[1][:] += other[1]
        return one[0] + other[0], one[1]

    # Shards by the counts, not by the threads, so that sums have the same bits on any number of them.
    cuts = np.searchsorted(indptr, np.arange(_SHARD, counts.nnz, _SHARD))
    shards = [slice(a, b) for a, b in pairwise(np.unique([0, *cuts.tolist(), counts.shape[0]]).tolist())]
    log_likelihood, second = map_reduce(of_shard, shards, threads=threads, reduce=added)
    return log_likelihood, first, second * B


def _rows(counts: Matrix) -> Matrix:
    """Rows that sum to 1, or to 0."""
    sums = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(sums > 0, sums, 1.0))


def _columns(counts: Matrix) -> Matrix:
    return np.ascontiguousarray(_rows(counts.T).T)
