"""Strength chosen by cross-validation along the regularisation path."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight

from spinney.classify.linear import LinearClassifier, LinearRegressor
from spinney.errors import OptionError
from spinney.optim import lambda_grid, lambda_max
from spinney.optim.base import GroupArrays, Penalty, PenaltySpec, Vector
from spinney.parallel import map_reduce


class _CrossValidated:
    """Adds the choice of λ to a linear model: the best mean score over folds, ties going to the larger λ."""

    def __init__(
        self,
        penalty: str | PenaltySpec | Penalty = "l1",
        *,
        n_lams: int = 20,
        lam_min_ratio: float = 1e-2,
        cv: Any = 5,
        threads: int = 1,
        l1: float = 0.0,
        l2: float = 0.0,
        groups: GroupArrays | None = None,
        feature_weights: ArrayLike | None = None,
        solver: str = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-5,
        max_iter: int = 1000,
    ) -> None:
        self.penalty = penalty
        self.n_lams = n_lams
        self.lam_min_ratio = lam_min_ratio
        self.cv = cv
        self.threads = threads
        self.l1 = l1
        self.l2 = l2
        self.groups = groups
        self.feature_weights = feature_weights
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    # The base classes read these; here λ is chosen, not given.
    lam: float = 1.0
    lam_ratio: float | None = None
    warm_start: bool = False
    rho: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose λ by cross-validation, then fit at that λ on all data."""
        checked_X, codes = self._checked(X, y)  # type: ignore[attr-defined]
        weights = (
            None
            if sample_weight is None
            else _check_sample_weight(sample_weight, checked_X, dtype=np.float64)
        )
        loss, penalty = self._problem(checked_X, codes, weights)  # type: ignore[attr-defined]
        if self.n_lams < 1 or not 0 < self.lam_min_ratio < 1:
            raise OptionError("n_lams must be ≥ 1 and lam_min_ratio lie between 0 and 1")
        self.lams_ = lambda_grid(lambda_max(loss, penalty), self.n_lams, self.lam_min_ratio)
        rows = checked_X.tocsr() if hasattr(checked_X, "tocsr") else checked_X
        y = np.asarray(y)
        folds = list(
            check_cv(self.cv, codes, classifier=isinstance(self, LinearClassifier)).split(rows, codes)
        )

        def scores(fold: tuple[Any, Any]) -> Vector:
            train, test = fold
            model = self._plain()
            train_weights = None if weights is None else weights[train]
            points = model.path(rows[train], y[train], self.lams_, sample_weight=train_weights)
            held_out = np.full(self.n_lams, -np.inf)
            for i, point in enumerate(points):
                held_out[i] = model.at(point).score(rows[test], y[test])
            return held_out[None, :]

        self.scores_ = map_reduce(scores, folds, threads=self.threads, reduce=lambda a, b: np.vstack([a, b]))
        best = int(np.argmax(self.scores_.mean(axis=0)))  # the first: λ falls along the grid
        final = self._plain().set_params(lam=float(self.lams_[best])).fit(X, y, sample_weight)
        for name, value in vars(final).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.score_ = float(self.scores_.mean(axis=0)[best])
        return self

    def _plain(self) -> Any:
        """The model without the choice of λ."""
        plain = LinearClassifier if isinstance(self, LinearClassifier) else LinearRegressor
        names = (
            "penalty",
            "l1",
            "l2",
            "groups",
            "feature_weights",
            "solver",
            "fit_intercept",
            "tol",
            "max_iter",
        )
        return plain(**{name: getattr(self, name) for name in names})


class LinearClassifierCV(_CrossValidated, LinearClassifier):
    """A :class:`LinearClassifier` whose λ is chosen by cross-validated accuracy.

    Parameters
    ----------
    penalty, l1, l2, groups, feature_weights, solver, fit_intercept, tol, max_iter
        As in :class:`LinearClassifier`.
    n_lams, lam_min_ratio : int, float
        The grid: so many strengths from λ_max down to this share of it.
    cv : int or splitter
        Folds.
    threads : int
        Folds that run at the same time.

    Attributes
    ----------
    lam_, score_ : the chosen strength and its mean score over folds.
    lams_, scores_ : the grid and the score of each fold (rows) at each strength (columns).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifierCV("l1", cv=3).fit(scale(X), y)
    >>> model.score_ > 0.95, model.n_active_ < 30
    (True, True)
    """


class LinearRegressorCV(_CrossValidated, LinearRegressor):
    """A :class:`LinearRegressor` whose λ is chosen by cross-validated R²; see :class:`LinearClassifierCV`."""
