"""Mixtures of multinomials: clusters of documents by the words that they count."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative

from spinney.checking import validated
from spinney.errors import OptionError

Vector = NDArray[np.float64]


class Expectations(NamedTuple):
    """What an E-step finds in some rows; the expectations of two shards add up."""

    log_likelihood: float
    sizes: Vector  # Σᵢ r_ic, [k]
    counts: Vector  # Σᵢ r_ic x_iw, [k, p]


class _Run(NamedTuple):
    """Where EM went from one start."""

    weights: Vector
    beta: Vector
    trace: list[float]
    converged: bool


@dataclass(eq=False, repr=False)
class MultinomialMixture(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A mixture of multinomials over counts, by EM: p(x) ∝ Σ_c π_c Π_w β_cw^{x_w}.

    The criterion is Σᵢ log p(xᵢ) + smooth·Σ_cw log β_cw, so that ``smooth`` is a count added to every word of every
    component, as in Nigam et al. (2000). Multinomial coefficients, which no parameter touches, are left out.

    Parameters
    ----------
    n_components : int
    smooth : float
        Added to the expected count of each word in each component.
    max_iter : int
        Maximum number of E-steps.
    tol : float
        Stop when a step raises the criterion by less than this share of its size.
    n_init : int
        Restarts, the best of which is kept. Each starts from rows far apart in Hellinger's distance (k-means++).
    random_state : int, RandomState or None

    Attributes
    ----------
    weights_ : the π_c, [k].
    components_ : the β_cw, [k, p], whose rows sum to 1.
    labels_ : the most probable component of each training row.
    objective_, trace_ : the criterion at the end, and at each E-step of the best run.
    n_iter_, converged_ : what the best run did.

    Examples
    --------
    >>> X = [[5, 0, 1], [7, 1, 0], [0, 4, 4], [1, 6, 5]]
    >>> mixture = MultinomialMixture(2, random_state=0).fit(X)
    >>> a, b, c, d = mixture.labels_
    >>> bool(a == b != c == d), mixture.weights_.round(2).tolist()
    (True, [0.5, 0.5])
    """

    n_components: int = 10
    _: KW_ONLY
    smooth: float = 0.01
    max_iter: int = 200
    tol: float = 1e-6
    n_init: int = 5
    random_state: Any = None

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit the mixture to counts ``X``, an array or sparse matrix of shape (n, p)."""
        X = self._checked(X, reset=True)
        if min(self.n_components, self.max_iter, self.n_init) < 1 or self.smooth < 0 or self.tol < 0:
            raise OptionError(
                "n_components, max_iter and n_init must be at least 1, smooth and tol at least 0"
            )
        if self.n_components > X.shape[0]:
            raise OptionError(
                f"{self.n_components} components need at least as many rows: n_samples={X.shape[0]}"
            )
        rng = check_random_state(self.random_state)
        runs = (self._run(X, *self._start(X, rng)) for _ in range(self.n_init))
        best = max(runs, key=lambda run: run.trace[-1])
        self.weights_, self.components_, self.trace_, self.converged_ = best
        self.objective_, self.n_iter_ = best.trace[-1], len(best.trace)
        if not self.converged_:
            warnings.warn(
                f"EM stopped after {self.n_iter_} steps: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.labels_ = self.predict(X)
        return self

    def _start(self, X: Any, rng: np.random.RandomState) -> tuple[Vector, Vector]:
        """Equal weights; each component half a row and half the average document."""
        totals = np.maximum(np.asarray(X.sum(axis=1)).reshape(-1, 1), 1e-300)
        frequencies = X.multiply(1.0 / totals).tocsr() if sparse.issparse(X) else X / totals
        with warnings.catch_warnings():  # identical rows: fewer distinct starts than components, no harm
            warnings.simplefilter("ignore", RuntimeWarning)
            _, rows = kmeans_plusplus(np.sqrt(frequencies), self.n_components, random_state=rng)
        seeds = frequencies[rows].toarray() if sparse.issparse(X) else frequencies[rows]
        average = np.asarray(X.sum(axis=0), dtype=np.float64).ravel() + max(self.smooth, 1e-10)
        beta = 0.5 * seeds + 0.5 * average / average.sum()
        return np.full(self.n_components, 1.0 / self.n_components), beta / beta.sum(axis=1, keepdims=True)

    def _run(self, X: Any, weights: Vector, beta: Vector) -> _Run:
        """EM from one start; the trace holds the criterion at the parameters before each M-step, the last ones kept."""
        trace: list[float] = []
        while True:
            found = expectations(X, weights, beta)
            prior = self.smooth * float(np.log(beta).sum()) if self.smooth else 0.0
            trace.append(found.log_likelihood + prior)
            converged = len(trace) > 1 and trace[-1] - trace[-2] <= self.tol * abs(trace[-1])
            if converged or len(trace) >= self.max_iter:
                return _Run(weights, beta, trace, converged)
            weights = found.sizes / found.sizes.sum()
            beta = _normalised(found.counts + self.smooth)

    def _checked(self, X: Any, reset: bool = False) -> Any:
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        check_non_negative(X, "MultinomialMixture")
        return X

    def _joint(self, X: Any) -> Vector:
        check_is_fitted(self)
        return log_joint(self._checked(X), self.weights_, self.components_)

    def predict_proba(self, X: Any) -> Vector:
        """The posterior r_ic of each component, one row an example."""
        joint = self._joint(X)
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The most probable component of each row."""
        return np.asarray(self._joint(X).argmax(axis=1))

    def score_samples(self, X: Any) -> Vector:
        """log p(x) of each row, without multinomial coefficients."""
        return np.asarray(logsumexp(self._joint(X), axis=1))

    def score(self, X: Any, y: None = None) -> float:
        """The mean of :meth:`score_samples`."""
        return float(self.score_samples(X).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def log_joint(X: Any, weights: Vector, beta: Vector) -> Vector:
    """log π_c + Σ_w x_iw log β_cw, [n, k]. A word that a component cannot emit costs 690 nats, not infinity."""
    log_beta = np.log(np.maximum(beta, 1e-300))
    return np.asarray(X @ log_beta.T) + np.log(np.maximum(weights, 1e-300))


def expectations(X: Any, weights: Vector, beta: Vector) -> Expectations:
    """The E-step over some rows: a pure function of them and of the parameters."""
    joint = log_joint(X, weights, beta)
    log_p = logsumexp(joint, axis=1)
    r = np.exp(joint - log_p[:, None])
    return Expectations(float(log_p.sum()), r.sum(axis=0), np.asarray((X.T @ r).T))


def _normalised(counts: Vector) -> Vector:
    """Rows that sum to 1; an empty one becomes uniform."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(totals > 0, counts / np.maximum(totals, 1e-300), 1.0 / counts.shape[1]))
