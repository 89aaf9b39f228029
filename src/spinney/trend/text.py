"""Which words are used, given the covariates of a document and its time (Yogatama 2015, §3.4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.utils.validation import check_array, check_is_fitted

from spinney.errors import InputError
from spinney.files import FilePath, ModelFile, Parts, csr_tensors
from spinney.optim import Loss
from spinney.optim.base import Vector
from spinney.settings import takes
from spinney.settings.trend import WordSeries
from spinney.trend.fitting import fit_series
from spinney.trend.likelihoods import SageLoss, Steps, background
from spinney.trend.regression import hyperparameters, note_fit
from spinney.trend.storage import ADAPTED, SeriesModel, check_names, common_parts, rebuilt
from spinney.trend.timeline import Timeline


class _TextProblem:
    """Documents as counts of words, with covariates."""

    bias = False

    def __init__(
        self,
        counts: Any,
        covariates: Vector,
        steps: Steps,
        n_times: int,
        smoothing: float,
        shared: bool,
        pooled: bool,
    ) -> None:
        self.counts, self.covariates, self.steps, self.n_times = counts, covariates, steps, n_times
        self.smoothing, self.pooled = smoothing, pooled
        self.n_series = counts.shape[1] * covariates.shape[1]
        self.replicates = counts.shape[1] if shared else 1

    def theta(self, pooled: bool) -> Vector:
        """The background of each time, the same for all if it is pooled, shape (T, V)."""
        if not pooled:
            return background(self.counts, self.steps, self.n_times, self.smoothing)
        one = background(self.counts, np.zeros_like(self.steps), 1, self.smoothing)
        return np.broadcast_to(one, (self.n_times, one.shape[1]))

    def by_time(self, start: Vector | None = None) -> Loss:
        return SageLoss(self.counts, self.covariates, self.steps, self.theta(self.pooled))

    def one_copy(self, which: str) -> Loss:
        if which == "all":
            zeros = np.zeros_like(self.steps)
            return SageLoss(self.counts, self.covariates, zeros, self.theta(pooled=True)[:1])
        last = np.flatnonzero(self.steps == self.n_times - 1)
        theta = self.theta(self.pooled)[-1:]
        return SageLoss(self.counts[last], self.covariates[last], np.zeros(len(last), np.intp), theta)


@takes(WordSeries, "method")
class TimeSeriesTextModel(SeriesModel):
    """p(word v | time t, covariates f) ∝ exp(θ_v⁽ᵗ⁾ + W_v⁽ᵗ⁾·f): effects on words that change over time.

    θ⁽ᵗ⁾ are the logarithms of the frequencies of words at time t (of all times in the methods ``ridge-all`` and
    ``lasso-all``); W⁽ᵗ⁾ is the effect of each covariate, such as a place or the state of the economy.
    Covariates should be of comparable size. Words outside of the vocabulary have no column and are not counted.

    Parameters
    ----------
    method, tau, lam, alpha, logdet, kappa_sign, solver, init, floor, prune, l1, tol, max_iter
        As in :class:`spinney.trend.TimeSeriesRegressor`; λ in the units of the negative log-likelihood.
    shared : bool
        Whether the series of all words under one covariate share one strength and one stiffness, or each has its own;
        the thesis ("the same prior") can be read either way. For a covariate that affects few of many words,
        separate strengths are best: if shared, it is removed as a whole unless all words together outweigh the prior.
    background : "time" or "all"
        Whether θ of ``adaptive``, ``sparse``, ``ridge-ts``, ``ridge-one`` and ``lasso-one`` are frequencies of each
        time, as in the thesis, or of all times together. The latter, with a covariate that is always 1, shows how
        words come and go.
    smoothing : float
        Pseudo-count of the background.

    Attributes
    ----------
    coef_ : array of shape (T, V, F)
    theta_ : array of shape (T, V)
    times_, objective_, violation_, converged_, n_iter_, trace_, lam_, floor_ : as in the regressor.
    e_alpha_, shrinkage_, kappa_ : of each series, shape (V, F), or with ``shared`` of each covariate, (F,).
    n_active_ : the number of series, of V·F, that are not zero at all times.

    Examples
    --------
    >>> counts = np.array([[8, 2], [2, 8], [9, 1], [1, 9]])
    >>> north, years = np.array([[1.0], [0.0], [1.0], [0.0]]), np.array([2001, 2001, 2002, 2002])
    >>> model = TimeSeriesTextModel("ridge-ts", lam=0.1).fit(counts, north, years)
    >>> model.log_likelihood([[9, 1]], [[1.0]]) > model.log_likelihood([[1, 9]], [[1.0]])
    True
    """

    kind = "trend/TimeSeriesTextModel"
    takes = WordSeries
    effects_: list[str] | None = None

    def fit(self, counts: Any, covariates: Any, times: Any = None) -> Self:
        """Fit the series. An interrupt (Ctrl-C) keeps what was learned, and is raised again.

        Parameters
        ----------
        counts : array or sparse matrix of shape (D, V)
        covariates : array or sparse matrix of shape (D, F)
        times : array of shape (D,), optional
        """
        settings = self._settings()
        counts, covariates = _checked(counts, covariates)
        timeline, steps = Timeline.given(times, len(covariates))
        T, V, F = len(timeline), counts.shape[1], covariates.shape[1]
        pooled = self.background == "all"
        problem = _TextProblem(counts, covariates, steps, T, self.smoothing, self.shared, pooled)
        found = fit_series(problem, settings)
        self.times_ = timeline.labels
        self.theta_ = problem.theta(pooled or self.method.endswith("-all"))
        self.coef_: Vector = found.fit.W.reshape(T, V, F)
        self.n_features_in_, self.lam_ = V, found.lam
        note_fit(self, found)
        if found.prior is not None:
            shape = (F,) if self.shared else (V, F)
            self.kappa_, self.e_alpha_, self.shrinkage_ = (
                of_group.reshape(shape) for of_group in hyperparameters(found)
            )
        self.n_active_ = int(np.count_nonzero(np.any(self.coef_ != 0, axis=0)))
        if found.fit.interrupted:
            raise KeyboardInterrupt
        return self

    def losses(self, counts: Any, covariates: Any, times: Any = None) -> Vector:
        """−ln of the probability of each document, by θ and W of its time, or of the last time for the next one."""
        check_is_fitted(self)
        counts, covariates = _checked(counts, covariates)
        V, F = self.coef_.shape[1:]
        if counts.shape[1] != V or covariates.shape[1] != F:
            raise InputError(
                f"{counts.shape[1]} words and {covariates.shape[1]} covariates, but the model has {V} and {F}"
            )
        losses = np.empty(len(covariates))
        for step, rows in Timeline(self.times_).rows(times, len(covariates)):
            losses[rows] = self._losses_at(step, counts[rows], covariates[rows])
        return losses

    def _losses_at(self, step: int, counts: Any, covariates: Vector) -> Vector:
        distinct, of_row = np.unique(covariates, axis=0, return_inverse=True)
        scores = self.theta_[step] + distinct @ self.coef_[step].T
        scores = scores - logsumexp(scores, axis=1, keepdims=True)
        seen = counts.tocoo()
        logs = seen.data * scores[of_row.ravel()[seen.row], seen.col]
        return np.asarray(-np.bincount(seen.row, weights=logs, minlength=counts.shape[0]), dtype=np.float64)

    def log_likelihood(self, counts: Any, covariates: Any) -> float:
        """ln of the probability of all words of documents of the next time."""
        return -float(self.losses(counts, covariates).sum())

    # -- files ---------------------------------------------------------------------------------------------

    def save(
        self, path: FilePath, words: Sequence[str] | None = None, effects: Sequence[str] | None = None
    ) -> None:
        """Write a model file, with the words and the names of the covariates if they are given."""
        self.effects_ = self.effects_ if effects is None else list(effects)
        super().save(path, words)

    def parts(self, names: Sequence[str] | None = None) -> Parts:
        """For a model file."""
        check_is_fitted(self)
        T, V, F = self.coef_.shape
        header, tensors, strings = common_parts(self, names, V)
        effects = self.effects_
        if effects is not None and len(effects) != F:
            raise InputError(f"{len(effects)} names for {F} covariates", remedy="give one name per covariate")
        header |= {"effects": F, "effects_named": effects is not None}
        if effects is not None:
            strings["effects"] = list(effects)
        tensors |= {"theta": np.array(self.theta_)}
        tensors |= csr_tensors("coef", sparse.csr_array(self.coef_.reshape(T, V * F)))
        return Parts(header, tensors, strings)

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """The model from a model file."""
        model: Self = rebuilt(cls, file)
        coef, theta, F = (
            file.csr("coef").toarray(),
            np.array(file.tensor("theta", np.float64, ndim=2)),
            file.fact("effects", int),
        )
        T, V = theta.shape
        if not T or len(model.times_) != T or coef.shape != (T, V * F) or F < 1:
            raise file.error("damaged: its arrays do not match")
        check_names(file, model, V)
        model.coef_, model.theta_, model.n_features_in_ = coef.reshape(T, V, F), theta, V
        for name in ADAPTED:
            if hasattr(model, name) and getattr(model, name).shape != ((F,) if model.shared else (V, F)):
                raise file.error(f"damaged: {name[:-1]} does not match the coefficients")
        model.effects_ = file.texts("effects") if file.fact("effects_named", bool) else None
        if model.effects_ is not None and len(model.effects_) != F:
            raise file.error("damaged: the names do not match the covariates")
        return model


def _checked(counts: Any, covariates: Any) -> tuple[Any, Vector]:
    counts = sparse.csr_array(check_array(counts, accept_sparse="csr", dtype=np.float64))
    covariates = check_array(
        covariates.toarray() if sparse.issparse(covariates) else covariates, dtype=np.float64
    )
    if counts.shape[0] != len(covariates):
        raise InputError(f"{counts.shape[0]} documents have words, but {len(covariates)} have covariates")
    if counts.data.size and counts.data.min() < 0:
        raise InputError("word counts must not be negative")
    return counts, covariates
