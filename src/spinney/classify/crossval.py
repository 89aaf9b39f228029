"""Linear models that choose their strength by cross-validation along the regularisation path."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv

from spinney.checking import our_errors
from spinney.classify.choice import PER_DECADE, ROUGH, Choice, Fold, Rows, choose, split
from spinney.classify.linear import LinearClassifier, LinearRegressor, LinearSettings
from spinney.errors import OptionError
from spinney.optim.base import Penalty, PenaltySpec


def folds_of(model: Any, X: Any, targets: Any, weights: Any, parts: list[tuple[Rows, Rows]]) -> list[Fold]:
    """The losses of a linear model over parts of checked data: to fit, and to judge."""
    rows = X.tocsr() if hasattr(X, "tocsr") else X

    def loss(some: Rows) -> Any:
        return model._loss(rows[some], targets[some], None if weights is None else weights[some])

    return [Fold(loss(train), loss(test), model._scorer(targets[test])) for train, test in parts]


def cross_validated(
    model: Any, X: Any, y: Any, sample_weight: Any, cv: Any, *, per_decade: int, threads: int, tie: Any = None
) -> Choice:
    """The strength of the penalty of a linear model, chosen by cross-validation.

    ``cv`` is a number of folds or a splitter; ``tie`` are strengths that are multiples of λ.
    """
    X, targets = model._checked(X, y)
    weights = model._example_weights(X, targets, sample_weight)
    _, penalty = model._problem(X, targets, sample_weight)
    penalty = penalty.tied(**tie) if tie else penalty
    classifier = isinstance(model, LinearClassifier)
    if isinstance(cv, int):
        if isinstance(cv, bool) or cv < 2:
            raise OptionError(f"cv must be at least 2, not {cv!r}")
        parts = split(targets if classifier else np.zeros(len(targets), np.intp), cv, seed=0)
    else:
        with our_errors():
            splitter = check_cv(cv, targets, classifier=classifier)
            parts = list(splitter.split(np.zeros(len(targets)), targets))
    if not parts:
        raise OptionError(f"of n_samples = {len(targets)} examples none can be held out: give lam")
    return choose(
        folds_of(model, X, targets, weights, parts),
        penalty,
        per_decade=per_decade,
        threads=threads,
        **solving(model),
    )


def solving(model: Any) -> dict[str, Any]:
    """How folds are solved: as the model is, but roughly, and on one thread each, since the folds share the threads."""
    options = {name: value for name, value in model._solver_options().items() if name != "threads"}
    return {"solver": model.solver, "tol": max(model.tol, ROUGH), "max_iter": model.max_iter, **options}


@dataclass(eq=False, repr=False)
class _CrossValidated(LinearSettings):
    """Adds the choice of λ to a linear model: the smallest loss on held-out examples, ties going to the larger λ."""

    penalty: str | PenaltySpec | Penalty = "l1"
    _: KW_ONLY
    per_decade: int = PER_DECADE
    cv: Any = 5
    threads: int = 1

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose λ by cross-validation, then fit at that λ on all data."""
        if self.per_decade < 1:
            raise OptionError("per_decade must be at least 1")
        self._checked(X, y)  # type: ignore[attr-defined]  # notes the number and the names of the features
        model = self._plain()
        choice = cross_validated(
            model, X, y, sample_weight, self.cv, per_decade=self.per_decade, threads=self.threads
        )
        best = choice.best
        final = model.set_params(lam=best.lam).fit(X, y, sample_weight)
        for name, value in vars(final).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.lams_ = np.array([tried.lam for tried in choice.tried])
        self.losses_ = np.array([tried.loss for tried in choice.tried])
        self.scores_ = choice.scores
        self.score_ = best.score
        return self

    def _plain(self) -> Any:
        """The model without the choice of λ."""
        plain = LinearClassifier if isinstance(self, LinearClassifier) else LinearRegressor
        return plain(**{field.name: getattr(self, field.name) for field in fields(LinearSettings)})


class LinearClassifierCV(_CrossValidated, LinearClassifier):
    """A :class:`LinearClassifier` whose λ is chosen by cross-validation: the smallest log-loss on held-out examples.

    Parameters
    ----------
    penalty, l1, l2, groups, feature_weights, class_weight, solver, fit_intercept, tol, max_iter
        As in :class:`LinearClassifier`.
    per_decade : int
        The number of strengths per power of ten; half as many for a ridge, which varies less. The path ends where λ
        is a fifth of the best one, so that the best is never at its edge.
    cv : int or splitter
        Folds.
    threads : int
        Folds that run at the same time.

    Attributes
    ----------
    lam_, score_ : the chosen strength and its mean score (accuracy) over folds.
    lams_, losses_ : the strengths that were tried, and the mean loss of a held-out example at each.
    scores_ : the score of each fold (rows) at each strength (columns).

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
    """A :class:`LinearRegressor` whose λ is chosen by the squared error on held-out examples; ``score_`` is R².

    Everything else is as in :class:`LinearClassifierCV`.
    """
