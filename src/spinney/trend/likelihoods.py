"""Negative log-likelihoods of models with a copy of the coefficients for each time.

The parameters are the flat array of W of shape (T, I), or (T, V, F) for text. Linear models are those of
:mod:`spinney.optim` over a design matrix with a block of columns for each time.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.optim import LinearLoss, LogisticLoss, Loss, SquaredLoss
from spinney.optim.base import Vector

Steps = NDArray[np.intp]


def design_by_time(X: Any, steps: Steps, n_times: int, bias: bool) -> Any:
    """The matrix of shape (N, T·I) whose row n has xₙ in the columns of its time, and zeros elsewhere.

    ``bias`` adds a feature that is always 1.

    Examples
    --------
    >>> design_by_time(np.array([[5.0], [7.0]]), np.array([1, 0]), 2, bias=True).toarray().tolist()
    [[0.0, 0.0, 5.0, 1.0], [7.0, 1.0, 0.0, 0.0]]
    """
    X = sparse.csr_array(X, dtype=np.float64)
    if bias:
        X = sparse.csr_array(sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr"))
    width = X.shape[1]
    columns = X.indices + np.repeat(steps, np.diff(X.indptr)) * np.int64(width)
    return sparse.csr_array((X.data, columns, X.indptr), shape=(X.shape[0], n_times * width))


def gaussian(
    X: Any,
    y: Vector,
    steps: Steps,
    n_times: int,
    *,
    noise_variance: float = 0.5,
    bias: bool = True,
    sample_weight: Vector | None = None,
) -> SquaredLoss:
    """Σ s·(y − w⁽ᵗ⁾·x)² / (2σ²), s = 1 by default; the thesis has no σ², which is equivalent to ½.

    Examples
    --------
    >>> loss = gaussian(np.array([[1.0], [2.0]]), np.array([3.0, 1.0]), np.array([0, 1]), 2, bias=False)
    >>> loss.value_and_grad(np.array([1.0, 1.0]))[0]
    5.0
    """
    weights = (np.ones(len(y)) if sample_weight is None else sample_weight) / noise_variance
    return SquaredLoss(design_by_time(X, steps, n_times, bias), y, weights, intercept=False)


def logistic(
    X: Any,
    y: Vector,
    steps: Steps,
    n_times: int,
    *,
    bias: bool = True,
    sample_weight: Vector | None = None,
) -> LogisticLoss:
    """Σ s·ln(1 + exp(−y·w⁽ᵗ⁾·x)), y in {−1, +1}, s = 1 by default."""
    return LogisticLoss(design_by_time(X, steps, n_times, bias), y, sample_weight, intercept=False)


def restricted(loss: Loss, columns: NDArray[np.intp]) -> Loss:
    """The loss of some of the parameters, where all others are zero."""
    if isinstance(loss, LinearLoss):
        return type(loss)(loss.X[:, columns], loss.y, loss.sample_weight, intercept=False)
    if isinstance(loss, SageLoss):
        words, columns = loss.words_of(columns)
        return _Embedded(loss.of_words(words), columns)
    return _Embedded(loss, columns)


class _Embedded:
    """A loss of some coordinates of a longer vector that is zero elsewhere."""

    n_free = 0

    def __init__(self, loss: Any, columns: NDArray[np.intp]) -> None:
        self.loss, self.columns, self.n_params = loss, columns, len(columns)

    def _whole(self, w: Vector) -> Vector:
        whole = np.zeros(self.loss.n_params)
        whole[self.columns] = w
        return whole

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        value, grad = self.loss.value_and_grad(self._whole(w))
        return value, grad[self.columns]

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        product = self.loss.hess_vec(self._whole(w))
        return lambda v: product(self._whole(v))[self.columns]

    def hess_diag(self, w: Vector) -> Vector:
        return np.asarray(self.loss.hess_diag(self._whole(w))[self.columns])


# ---------------------------------------------------------------------------------------------------- text


def background(counts: Any, steps: Steps, n_times: int, smoothing: float = 0.5) -> Vector:
    """θ of shape (T, V): the logarithms of the relative frequencies of words at each time.

    ``smoothing`` is added to each count, since a word may be absent in one year and occur in the next. A time without
    words has the frequencies of all times.

    Examples
    --------
    >>> np.exp(background(np.array([[3, 0], [1, 1]]), np.array([0, 1]), 2)).round(6).tolist()
    [[0.875, 0.125], [0.5, 0.5]]
    """
    counts = sparse.csr_array(counts, dtype=np.float64)
    members = sparse.csr_array(
        (np.ones(len(steps)), (steps, np.arange(len(steps)))), shape=(n_times, len(steps))
    )
    totals = (members @ counts).toarray()
    totals[totals.sum(axis=1) == 0] = totals.sum(axis=0)
    totals += smoothing
    with np.errstate(divide="ignore"):  # a word that never occurs, without smoothing
        return np.asarray(np.log(totals) - np.log(totals.sum(axis=1, keepdims=True)))


class _Year(NamedTuple):
    """Documents of one time: covariates [G, F], numbers of words [G], Σ counts·fᵀ [V, F].

    ``rest`` is the background probability of words that have no coefficients here.
    """

    step: int
    F: Vector
    totals: Vector
    moments: Vector
    rest: float = 0.0


class _At(NamedTuple):
    """Values computed once per point: by year, probabilities [G, V] and logarithms of normalisers [G]."""

    w: Vector
    probabilities: list[Vector]
    log_z: list[Vector]


class SageLoss:
    """−ln of the probability of all words, p(v | t, f) ∝ exp(θ_v⁽ᵗ⁾ + W_v⁽ᵗ⁾·f) (Yogatama 2015, §3.4.3; SAGE).

    The parameters are W of shape (T, V, F). Documents with the same covariates at the same time are one: the sum over
    the vocabulary is computed once for all of them (``aggregate=False`` is for tests).

    Parameters
    ----------
    counts : array or sparse matrix of shape (D, V)
    covariates : array or sparse matrix of shape (D, F)
    steps : array of shape (D,)
        The time of each document, from 0.
    theta : array of shape (T, V)
        Logarithms of the background frequencies.

    Examples
    --------
    >>> loss = SageLoss([[2, 1]], [[1.0]], np.array([0]), np.log([[0.5, 0.5]]))
    >>> round(loss.value_and_grad(np.zeros(2))[0], 4)  # three coins
    2.0794
    """

    n_free = 0

    def __init__(
        self, counts: Any, covariates: Any, steps: Steps, theta: Vector, *, aggregate: bool = True
    ) -> None:
        counts = sparse.csr_array(counts, dtype=np.float64)
        covariates = covariates.toarray() if sparse.issparse(covariates) else covariates
        covariates = np.ascontiguousarray(covariates, dtype=np.float64)
        self.theta = np.asarray(theta, dtype=np.float64)
        self.shape = (*self.theta.shape, covariates.shape[1])
        self.n_params = int(np.prod(self.shape))
        seen = counts.tocoo()
        self.of_background = float(seen.data @ self.theta[steps[seen.row], seen.col])
        totals = np.asarray(counts.sum(axis=1)).ravel()
        self.years = []
        for step in np.unique(steps).tolist():
            rows = np.flatnonzero(steps == step)
            F, n = covariates[rows], totals[rows]
            moments = np.asarray(counts[rows].T @ F)
            if aggregate:
                F, of_row = np.unique(F, axis=0, return_inverse=True)
                n = np.bincount(of_row.ravel(), weights=n)
            self.years.append(_Year(step, F, n, moments))
        self._last: _At | None = None

    # -- some of the words -----------------------------------------------------------------------------------

    def words_of(self, columns: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The words that some coordinates belong to, and these coordinates in the loss of those words alone."""
        step, word, effect = np.unravel_index(columns, self.shape)
        words, of_column = np.unique(word, return_inverse=True)
        shape = (self.shape[0], len(words), self.shape[2])
        return words, np.asarray(np.ravel_multi_index((step, of_column.ravel(), effect), shape))

    def of_words(self, words: NDArray[np.intp]) -> SageLoss:
        """The same loss where all other words have no deviations: they are one number in the normaliser.

        Examples
        --------
        >>> loss = SageLoss([[2, 1, 0]], [[1.0]], np.array([0]), np.log([[0.5, 0.3, 0.2]]))
        >>> some = loss.of_words(np.array([1]))
        >>> bool(np.isclose(some.value_and_grad(np.ones(1))[0], loss.value_and_grad(np.array([0, 1.0, 0]))[0]))
        True
        """
        some = copy(self)
        some._last = None
        some.theta = np.ascontiguousarray(self.theta[:, words])
        some.shape = (self.shape[0], len(words), self.shape[2])
        some.n_params = int(np.prod(some.shape))
        others = np.ones(self.shape[1], dtype=bool)
        others[words] = False
        some.years = [
            year._replace(
                moments=year.moments[words],
                rest=year.rest + float(np.exp(self.theta[year.step, others]).sum()),
            )
            for year in self.years
        ]
        return some

    # -- values and derivatives --------------------------------------------------------------------------------

    def _at(self, w: Vector) -> _At:
        """Probabilities at a point; cached, since Newton's method needs several values at each point."""
        last = self._last
        if last is not None and np.array_equal(last.w, w):
            return last
        W = w.reshape(self.shape)
        probabilities, log_z = [], []
        for year in self.years:
            scores = year.F @ W[year.step].T
            scores += self.theta[year.step]
            top = np.maximum(
                scores.max(axis=1, initial=-np.inf), np.log(year.rest) if year.rest > 0 else -np.inf
            )
            scores -= top[:, None]
            P = np.exp(scores, out=scores)
            z = P.sum(axis=1) + year.rest * np.exp(-top)
            P /= z[:, None]
            probabilities.append(P)
            log_z.append(np.log(z) + top)
        self._last = last = _At(w.copy(), probabilities, log_z)
        return last

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        W, grad = w.reshape(self.shape), np.zeros(self.shape)
        value = -self.of_background
        point = self._at(w)
        for year, P, log_z in zip(self.years, point.probabilities, point.log_z):
            value += float(year.totals @ log_z) - float(np.vdot(W[year.step], year.moments))
            grad[year.step] = P.T @ (year.totals[:, None] * year.F)
            grad[year.step] -= year.moments
        return value, grad.ravel()

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        """The map d ↦ ∇²·d."""
        probabilities = self._at(w).probabilities

        def product(d: Vector) -> Vector:
            D, out = d.reshape(self.shape), np.zeros(self.shape)
            for year, P in zip(self.years, probabilities):
                change = year.F @ D[year.step].T
                change -= np.einsum("gv,gv->g", P, change)[:, None]
                change *= P
                out[year.step] = change.T @ (year.totals[:, None] * year.F)
            return out.ravel()

        return product

    def hess_diag(self, w: Vector) -> Vector:
        """The diagonal of the Hessian."""
        out = np.zeros(self.shape)
        for year, P in zip(self.years, self._at(w).probabilities):
            out[year.step] = (P * (1.0 - P)).T @ (year.totals[:, None] * year.F**2)
        return out.ravel()
