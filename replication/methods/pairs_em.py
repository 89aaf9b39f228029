"""Two small models of pairs of words with a hidden class, learnt by EM: what spectral methods are measured against.

Naive Bayes over pairs, p(x, y) = Σ_h p(h) p(x|h) p(y|h), and the aggregate bigram of Saul and Pereira (1997),
p(y|x) = Σ_h p(h|x) p(y|h). A step takes time in proportion to the number of distinct pairs times that of classes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from spinney.errors import InputError, OptionError
from spinney.parallel import default_threads, map_reduce
from spinney.progress import task
from spinney.structure.wordvectors import WordVectors

Matrix = NDArray[np.float64]


class _Expected(NamedTuple):
    """What an E-step finds: the log-likelihood, and how often each word is first, or second, of each class."""

    log_likelihood: float
    first: Matrix  # [x, class]
    second: Matrix  # [y, class]


class _PairEM(BaseEstimator):  # type: ignore[misc]
    """EM for p ∝ Σ_h A[x, h] B[y, h], B a distribution for each h; subclasses say what A is."""

    def __init__(
        self,
        n_classes: int = 10,
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 5,
        threads: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_classes = n_classes
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.threads = threads
        self.random_state = random_state

    def fit(self, pairs: Any, y: None = None) -> Self:
        """Learn from counts of pairs, an array or sparse matrix [first word, second word]."""
        if min(self.n_classes, self.max_iter, self.n_init) < 1 or not self.tol >= 0:
            raise OptionError("n_classes, max_iter and n_init must be at least 1, tol at least 0")
        counts = _checked(pairs)
        rng = np.random.default_rng(self.random_state)
        best: tuple[Matrix, Matrix, list[float], bool] | None = None
        with task("pairs", total=self.n_init) as fitting:
            for _ in range(self.n_init):
                run = self._run(counts, *self._start(counts, rng))
                if best is None or run[2][-1] > best[2][-1]:
                    best = run
                fitting.update()
        assert best is not None
        self._A, self._B, self.trace_, self.converged_ = best
        self.log_likelihood_, self.n_iter_ = self.trace_[-1], len(self.trace_)
        if not self.converged_:
            warnings.warn(
                f"EM stopped after {self.n_iter_} steps: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _start(self, counts: Any, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
        """Words near their overall frequencies, each class a random multiple of them."""
        frequency = counts.sum(axis=0)[:, None]
        B = frequency * rng.dirichlet(np.ones(self.n_classes), counts.shape[1])
        first = counts.sum(axis=1)[:, None] * rng.dirichlet(np.ones(self.n_classes), counts.shape[0])
        return self._given(first), _columns(B)

    def _run(self, counts: Any, A: Matrix, B: Matrix) -> tuple[Matrix, Matrix, list[float], bool]:
        """The parameters that come back are those of the last entry of the trace."""
        trace: list[float] = []
        while True:
            found = self._expectations(counts, A, B)
            trace.append(found.log_likelihood)
            converged = len(trace) > 1 and trace[-1] - trace[-2] <= self.tol * abs(trace[-1])
            if converged or len(trace) >= self.max_iter:
                return A, B, trace, converged
            A, B = self._given(found.first), _columns(found.second)

    def _given(self, first: Matrix) -> Matrix:
        """A from expected counts of first words and classes."""
        raise NotImplementedError

    def _expectations(self, counts: Any, A: Matrix, B: Matrix) -> _Expected:
        from spinney.embed._topics_kernels import expected_counts

        first = np.empty_like(A)
        indptr, indices = counts.indptr.astype(np.int64), counts.indices.astype(np.int32, copy=False)

        def of_shard(rows: slice) -> tuple[float, Matrix]:
            second = np.zeros_like(B)
            ends = indptr[rows.start : rows.stop + 1]
            return expected_counts(ends, indices, counts.data, A[rows], B, first[rows], second), second

        threads = self.threads or default_threads()
        ends = np.searchsorted(indptr, np.linspace(0, counts.nnz, threads + 1)[1:-1])
        shards = [slice(a, b) for a, b in pairwise([0, *ends.tolist(), counts.shape[0]])]
        log_likelihood, second = map_reduce(
            of_shard, shards, threads=threads, reduce=lambda a, b: (a[0] + b[0], a[1] + b[1])
        )
        return _Expected(log_likelihood, first, second * B)

    def score(self, pairs: Any, y: None = None) -> float:
        """The log-likelihood a pair, in nats; minus infinity if the model excludes one of them."""
        check_is_fitted(self, "trace_")
        counts = _checked(pairs)
        if counts.shape != (len(self._A), len(self._B)):
            raise OptionError(f"pairs of {counts.shape} words for a model of {(len(self._A), len(self._B))}")
        return self._expectations(counts, self._A, self._B).log_likelihood / float(counts.sum())

    def perplexity(self, pairs: Any) -> float:
        """exp of minus :meth:`score`."""
        return math.exp(-self.score(pairs))

    def word_vectors(self, words: Sequence[str]) -> WordVectors:
        """p(h | w) of first words, a row a word; zeros for a word that was never first."""
        check_is_fitted(self, "trace_")
        return WordVectors(words, _rows(self._A))


class PairMixture(_PairEM):
    """Naive Bayes over pairs: p(x, y) = Σ_h p(h) p(x|h) p(y|h), by EM.

    Parameters
    ----------
    n_classes : int
    max_iter : int
        E-steps at most.
    tol : float
        Stop when a step raises the log-likelihood by less than this share of its size.
    n_init : int
        Random restarts, of which the best is kept.
    threads : int or None
    random_state : int

    Attributes
    ----------
    weights_ : array [class]
        p(h).
    first_, second_ : array [word, class]
        p(x | h) and p(y | h), whose columns sum to 1.
    log_likelihood_, trace_ : float, and its values at each E-step of the best run.
    n_iter_, converged_ : what the best run did.

    Examples
    --------
    >>> pairs = np.array([[4, 4, 0, 0], [2, 2, 0, 0], [0, 0, 3, 1]])
    >>> model = PairMixture(2).fit(pairs)
    >>> sorted(model.weights_.round(4).tolist())
    [0.25, 0.75]
    >>> vectors = model.word_vectors(["the", "a", "to"])
    >>> bool(np.allclose(vectors["the"], vectors["a"], atol=1e-3)), vectors["to"].max().round(4)
    (True, np.float64(1.0))
    """

    def _given(self, first: Matrix) -> Matrix:
        return np.asarray(first / first.sum())

    @property
    def weights_(self) -> Matrix:
        check_is_fitted(self, "trace_")
        return np.asarray(self._A.sum(axis=0))

    @property
    def first_(self) -> Matrix:
        check_is_fitted(self, "trace_")
        return _columns(self._A)

    @property
    def second_(self) -> Matrix:
        check_is_fitted(self, "trace_")
        return self._B


class AggregateBigram(_PairEM):
    """The aggregate bigram of Saul and Pereira (1997): p(y|x) = Σ_h p(h|x) p(y|h), by EM.

    Parameters
    ----------
    n_classes, max_iter, tol, n_init, threads, random_state
        As for :class:`PairMixture`, which is the same model with a distribution of first words.

    Attributes
    ----------
    class_given_word_ : array [word, class]
        p(h | x), rows that sum to 1; zeros for a word that was never first.
    word_given_class_ : array [word, class]
        p(y | h), columns that sum to 1.
    log_likelihood_, trace_, n_iter_, converged_

    Examples
    --------
    >>> pairs = np.array([[4, 4, 0, 0], [2, 2, 0, 0], [0, 0, 3, 1]])
    >>> model = AggregateBigram(2).fit(pairs)
    >>> np.abs(model.class_given_word_ @ model.word_given_class_.T).round(3)
    array([[0.5 , 0.5 , 0.  , 0.  ],
           [0.5 , 0.5 , 0.  , 0.  ],
           [0.  , 0.  , 0.75, 0.25]])
    """

    def _given(self, first: Matrix) -> Matrix:
        return _rows(first)

    @property
    def class_given_word_(self) -> Matrix:
        check_is_fitted(self, "trace_")
        return self._A

    @property
    def word_given_class_(self) -> Matrix:
        check_is_fitted(self, "trace_")
        return self._B


def _checked(pairs: Any) -> Any:
    counts = sparse.csr_array(pairs, dtype=np.float64)
    counts.eliminate_zeros()
    if counts.nnz == 0:
        raise InputError("there are no pairs of words to learn from")
    if not np.all(np.isfinite(counts.data)) or counts.data.min() < 0:
        raise InputError("a count of a pair is negative or no number")
    return counts


def _rows(counts: Matrix) -> Matrix:
    """Rows that sum to 1, or to 0."""
    sums = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(sums > 0, sums, 1.0))


def _columns(counts: Matrix) -> Matrix:
    return np.ascontiguousarray(_rows(counts.T).T)
