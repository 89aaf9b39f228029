"""Choice of the strength by cross-validation along the regularisation path."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight

from spinney.classify.linear import LinearClassifier, LinearRegressor, LinearSettings
from spinney.errors import OptionError
from spinney.optim import lambda_grid, lambda_max
from spinney.optim.base import Penalty, PenaltySpec, Vector
from spinney.parallel import map_reduce


@dataclass(eq=False, repr=False)
class _CrossValidated(LinearSettings):
    """Adds the choice of λ to a linear model: the best mean score over folds, ties going to the larger λ."""

    penalty: str | PenaltySpec | Penalty = "l1"
    _: KW_ONLY
    n_lams: int = 20
    lam_min_ratio: float = 1e-2
    cv: Any = 5
    threads: int = 1

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
            raise OptionError("n_lams must be at least 1, and lam_min_ratio between 0 and 1")
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
        best = int(np.argmax(self.scores_.mean(axis=0)))  # the first, as λ decreases along the grid
        final = self._plain().set_params(lam=float(self.lams_[best])).fit(X, y, sample_weight)
        for name, value in vars(final).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.score_ = float(self.scores_.mean(axis=0)[best])
        return self

    def _plain(self) -> Any:
        """The model without the choice of λ."""
        plain = LinearClassifier if isinstance(self, LinearClassifier) else LinearRegressor
        return plain(**{field.name: getattr(self, field.name) for field in fields(LinearSettings)})


class LinearClassifierCV(_CrossValidated, LinearClassifier):
    """A :class:`LinearClassifier` whose λ is chosen by cross-validated accuracy.

    Parameters
    ----------
    penalty, l1, l2, groups, feature_weights, solver, fit_intercept, tol, max_iter
        As in :class:`LinearClassifier`.
    n_lams, lam_min_ratio : int, float
        The grid: this many strengths from λ_max down to this fraction of it.
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
