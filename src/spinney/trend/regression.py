"""Linear models whose coefficients change over time: regression, and classification into two classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from spinney.checking import our_errors, validated
from spinney.errors import InputError
from spinney.files import ModelFile, Parts
from spinney.optim import LogisticLoss, Loss, SquaredLoss
from spinney.optim.base import Vector
from spinney.settings import takes
from spinney.settings.trend import LinearSeries, NumberSeries
from spinney.trend.alpha import mean_alpha
from spinney.trend.fitting import SeriesFit, fit_series
from spinney.trend.likelihoods import Steps, gaussian, logistic
from spinney.trend.storage import SeriesModel, linear_from_parts, linear_parts
from spinney.trend.timeline import Timeline


class _LinearProblem:
    """Documents with features and a response."""

    replicates = 1

    def __init__(self, X: Any, y: Vector, steps: Steps, n_times: int, bias: bool, weights: Vector) -> None:
        self.X, self.y, self.steps, self.n_times, self.bias = X, y, steps, n_times, bias
        self.weights = weights
        self.n_series = X.shape[1] + bias

    def _rows(self, which: str) -> tuple[Any, Vector, Vector]:
        last = self.steps == self.n_times - 1
        if which == "one":
            return self.X[last], self.y[last], self.weights[last]
        return self.X, self.y, self.weights


class _RegressionProblem(_LinearProblem):
    noise: float | Literal["residual"] = 0.5

    def by_time(self, start: Vector | None = None) -> Loss:
        unit = gaussian(
            self.X, self.y, self.steps, self.n_times,
            noise_variance=1.0, bias=self.bias, sample_weight=self.weights,
        )  # fmt: skip
        if start is None:
            return unit
        if self.noise == "residual":
            total = float(self.weights.sum()) or 1.0
            squares = 2.0 * unit.value_and_grad(start.ravel())[0] / total
            spread = float(self.weights @ (self.y - self.weights @ self.y / total) ** 2) / total
            self.noise = max(squares, 1e-6 * spread, 1e-12)
        unit.sample_weight /= float(self.noise)
        return unit

    def one_copy(self, which: str) -> Loss:
        return SquaredLoss(*self._rows(which), intercept=self.bias)


class _ClassificationProblem(_LinearProblem):
    def by_time(self, start: Vector | None = None) -> Loss:
        return logistic(self.X, self.y, self.steps, self.n_times, bias=self.bias, sample_weight=self.weights)

    def one_copy(self, which: str) -> Loss:
        X, y, weights = self._rows(which)
        if np.all(y == y[0]):
            raise InputError(
                "all documents of the last time are of the same class",
                remedy="use lasso-all or ridge-all as method or init",
            )
        return LogisticLoss(X, y, weights, intercept=self.bias)


class _TimeSeriesModel(SeriesModel):
    """What both share: fitting, the copy of the coefficients for a time, files."""

    def _fit(self, problem: _RegressionProblem | _ClassificationProblem, timeline: Timeline) -> None:
        found = fit_series(problem, self._settings())
        W, I = found.fit.W, self.n_features_in_
        self.times_ = timeline.labels
        self.coef_: Vector = W[:, :I]
        self.intercept_: Vector = W[:, I] if self.fit_intercept else np.zeros(len(W))
        self.lam_ = found.lam
        note_fit(self, found)
        if found.prior is not None:
            self.kappa_, self.e_alpha_, self.shrinkage_ = (
                of_group[:I] for of_group in hyperparameters(found)
            )
        self.n_active_ = int(np.count_nonzero(np.any(self.coef_ != 0, axis=0)))
        if found.fit.interrupted:
            raise KeyboardInterrupt

    def _checked(
        self, X: Any, y: Any, times: Any, numeric: bool
    ) -> tuple[Any, NDArray[Any], Timeline, Steps]:
        X, y = validated(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=numeric)
        return X, y, *Timeline.given(times, len(y))

    def _margins(self, X: Any, times: Any) -> Vector:
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        margins = np.empty(X.shape[0])
        for step, rows in Timeline(self.times_).rows(times, X.shape[0]):
            margins[rows] = X[rows] @ self.coef_[step] + self.intercept_[step]
        return margins

    def parts(self, names: Sequence[str] | None = None) -> Parts:
        """For a model file."""
        check_is_fitted(self)
        return linear_parts(self, names)

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """Out of a model file."""
        model: Self = linear_from_parts(cls, file)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _weights(given: Any, X: Any) -> Vector:
    with our_errors():
        return np.asarray(_check_sample_weight(given, X, dtype=np.float64))


def note_fit(model: Any, found: SeriesFit) -> None:
    """What the fit did, as attributes."""
    fit = found.fit
    model.objective_, model.violation_, model.converged_ = fit.objective, fit.violation, fit.converged
    model.trace_, model.n_iter_ = fit.trace, max(1, len(fit.trace) - 1)
    model.floor_ = None if found.prior is None else found.prior.floor


def hyperparameters(found: SeriesFit) -> tuple[Vector, Vector, Vector]:
    """κ, E[α] and E[1/λ] of each group."""
    assert found.prior is not None
    Q = found.prior.norms(found.fit.W, found.fit.kappa)
    return found.fit.kappa, mean_alpha(found.fit.kappa), found.prior.shrinkage(Q)


@takes(NumberSeries, "method")
class TimeSeriesRegressor(RegressorMixin, _TimeSeriesModel):  # type: ignore[misc]
    """Regression with a copy of the coefficients for each time, tied by a prior (Yogatama 2015, ch. 3).

    Parameters
    ----------
    method : str
        ``adaptive``: the sparse, adaptive time-series prior, each feature with its own strength and stiffness.
        ``sparse``: the same with exact zeros (:mod:`spinney.trend.sparse`). ``ridge-ts``: one strength λ and one
        stiffness α for all. ``ridge-one``, ``lasso-one``: one copy, from the last time. ``ridge-all``, ``lasso-all``:
        one copy, from all times.
    tau : float
        Of the adaptive prior: how strongly series are drawn to stiffness beforehand.
    lam : float, optional
        Of the other methods, and of the start: λ in ½Σ(y − ŷ)² + λ‖w‖₁, or + ½λ‖w‖², or + ½λ Σ w_t² +
        ½λα Σ (w_{t+1} − w_t)². By default a 20th of the λ from which on a Lasso is empty; of a ridge, the
        average curvature of a coefficient. (``spinney.trend.fit`` chooses it by forecasts.)
    alpha : float
        α of ``ridge-ts``.
    noise_variance : float or "residual"
        σ² in the likelihood Σ(y − ŷ)²/(2σ²) of the adaptive prior; the thesis implicitly has ½. "residual" is the mean
        squared residual of the initial fit. It matters: features whose evidence does not outweigh the prior are
        removed.
    logdet, kappa_sign : str
        See :class:`spinney.trend.prior.AdaptivePrior`.
    solver : "alternating" or "lbfgs"
        Of ``adaptive``. The thesis used L-BFGS; alternating reaches a better objective in less time.
    init : str
        The method of the initial fit, on which the result depends: the objective is not convex, and a series that
        starts at zero stays there. ``ridge-ts`` sees all times and has no zeros; the thesis starts at ``lasso-one``.
    floor : float, optional
        ε in ln(Q + ε), as a fraction of the median Q of the initial fit; by default 1e-8, for ``sparse`` 1e-2. A series
        that is not zero needs evidence in proportion to the number of times under a small floor (ŵ²/v ≥ 4T); a large
        one makes the prior a ridge in which each series has a stiffness of its own.
    prune : bool
        Whether the alternating solver sets series to zero when they fall below the floor.
    l1 : float
        Of ``adaptive``: the strength of Σ|w_t| over single times (not the intercept), beside the prior. Series and κ
        are then found by OWL-QN, whatever the ``solver``. The thesis tried this and dropped it (§3.3.3).
    fit_intercept : bool
        An intercept for each time. In ``adaptive`` and ``sparse`` it is a series like any other, as in the thesis (a
        large one is hardly shrunk); in ``ridge-ts`` only its changes are penalised; otherwise it is free.
    tol : float
        Largest violation of the optimality conditions, relative to the gradient at zero.
    max_iter : int

    Attributes
    ----------
    coef_ : array of shape (T, I)
    intercept_ : array of shape (T,)
    times_ : the label of each step; integers between the first and the last time that have no documents are steps too.
    e_alpha_, shrinkage_, kappa_ : E[α], E[1/λ] and κ of each feature (``adaptive`` and ``sparse``).
    n_active_ : the number of features that are not zero at all times.
    objective_, violation_, converged_, n_iter_, trace_, lam_, floor_, noise_variance_ : facts about the fit.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]] * 3)
    >>> years = np.repeat([2001, 2002, 2003], 4)
    >>> y = X[:, 0] * (years - 2000)  # the first feature counts more and more
    >>> model = TimeSeriesRegressor("ridge-ts", lam=0.01, alpha=0.1).fit(X, y, years)
    >>> model.coef_[:, 0].round(1).tolist()
    [1.0, 2.0, 3.0]
    >>> model.predict([[1.0, 0.0], [1.0, 0.0]], [2001, 2004]).round(1).tolist()
    [1.0, 3.0]
    """

    kind = "trend/TimeSeriesRegressor"
    takes = NumberSeries

    def fit(self, X: Any, y: Any, times: Any = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the series. An interrupt (Ctrl-C) keeps what was learned, and is raised again.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, I)
        y : array of shape (n,)
        times : array of shape (n,), optional
            Years or other labels that can be sorted; by default all the same.
        sample_weight : array of shape (n,), optional
            What each document counts in the loss, 1 by default.
        """
        self._settings()
        X, y, timeline, steps = self._checked(X, y, times, numeric=True)
        weights = _weights(sample_weight, X)
        problem = _RegressionProblem(
            X, y.astype(np.float64), steps, len(timeline), self.fit_intercept, weights
        )
        problem.noise = self.noise_variance
        try:
            self._fit(problem, timeline)
        finally:
            # Methods without the prior have no use for it, and leave "residual" unresolved.
            self.noise_variance_ = None if problem.noise == "residual" else problem.noise
        return self

    def predict(self, X: Any, times: Any = None) -> Vector:
        """Responses by the coefficients of each document's time; after the last time, or without times, by the last."""
        return self._margins(X, times)

    def losses(self, X: Any, y: Any, times: Any = None) -> Vector:
        """The squared error of each document at its time, or at the next one."""
        return np.asarray((np.asarray(y, dtype=np.float64) - self.predict(X, times)) ** 2)


@takes(LinearSeries, "method")
class TimeSeriesClassifier(ClassifierMixin, _TimeSeriesModel):  # type: ignore[misc]
    """Logistic regression with a copy of the coefficients for each time.

    Has the parameters (except ``noise_variance``) and attributes of :class:`TimeSeriesRegressor`, and the two
    ``classes_``.

    Examples
    --------
    >>> X, years = np.array([[1.0], [-1.0]] * 4), np.repeat([2001, 2002], 4)
    >>> model = TimeSeriesClassifier("ridge-ts", lam=0.1).fit(X, ["yes", "no"] * 4, years)
    >>> model.predict([[2.0], [-2.0]]).tolist()
    ['yes', 'no']
    """

    kind = "trend/TimeSeriesClassifier"
    takes = LinearSeries

    def fit(self, X: Any, y: Any, times: Any = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the series; parameters as in :meth:`TimeSeriesRegressor.fit`."""
        X, y, timeline, steps = self._checked(X, y, times, numeric=False)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            what = f"Only binary classification is supported. There are {len(self.classes_)} classes"
            raise InputError(what, remedy="give labels of two classes")
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        weights = _weights(sample_weight, X)
        problem = _ClassificationProblem(X, signs, steps, len(timeline), self.fit_intercept, weights)
        self._fit(problem, timeline)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Any, times: Any = None) -> Vector:
        """The log-odds of the second class."""
        return self._margins(X, times)

    def predict(self, X: Any, times: Any = None) -> NDArray[Any]:
        """The more probable class of each document, at its time or at that to come."""
        above = (self._margins(X, times) > 0).astype(np.intp)
        return np.asarray(self.classes_[above])

    def predict_proba(self, X: Any, times: Any = None) -> Vector:
        """The probability of each class, one row per document."""
        positive = expit(self._margins(X, times))
        return np.column_stack([1.0 - positive, positive])

    def losses(self, X: Any, y: Any, times: Any = None) -> Vector:
        """−ln of the probability of each document's class at its time, or at the next one."""
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        return np.asarray(np.logaddexp(0.0, -signs * self._margins(X, times)))
