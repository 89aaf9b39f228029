"""Classifiers that learn from unlabelled examples as well: weights for the labelled ones, entropy, self-training.

Sokolovska 2010, chapters 4 and 5 (ICML 2008): where the distribution q of the inputs is known, as from very many
unlabelled examples, the best use of it is to weight each labelled example by q(xᵢ) over the number of labelled examples
with the same input. This helps most where the model is misspecified and labels are nearly certain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from spinney.checking import validated
from spinney.classify.class_weight import class_weights
from spinney.classify.linear import LinearClassifier
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.inference.strata import effective_sample, flattened, row_strata, stratum_weights
from spinney.model import ShownEstimator
from spinney.optim import EntropyRegularised, LogisticLoss, MultinomialLoss, solve, warn_unless_converged
from spinney.optim.base import Vector
from spinney.views import Views

#: How unlabelled examples can be used, and the strength that each has by default.
STRENGTHS = {"weighted": 1.0, "shift": 1.0, "entropy": 1e-3, "self-training": 0.75}
CRITERIA = ("supervised", *STRENGTHS)


def semi_supervised_weights(
    X: Any, unlabelled: Any, *, n_clusters: int | None = None, random_state: Any = None
) -> Vector:
    """Weights of labelled rows, from the share of such rows among unlabelled ones (Sokolovska 2010, §4.2 and §5.2).

    The weights are proportional to :func:`spinney.inference.strata.stratum_weights` and scaled to mean 1, so that
    the strength of a penalty keeps its meaning.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
        The labelled examples.
    unlabelled : array or sparse matrix of shape (m, p)
    n_clusters : int, optional
        Rows in the same cluster of a mixture of this many multinomials, fitted to all rows (which must then be counts),
        are treated as the same; by default, identical rows. A labelled row without such unlabelled rows weighs 0.
    random_state : int, RandomState or None
        For the mixture.

    Examples
    --------
    >>> X, unlabelled = [[1, 0], [1, 0], [0, 1]], [[1, 0], [0, 1], [0, 1], [0, 1]]
    >>> semi_supervised_weights(X, unlabelled).tolist()
    [0.375, 0.375, 2.25]
    """
    rows = _stacked(X, unlabelled)
    if n_clusters is None:
        strata = row_strata(rows)
    else:
        from spinney.inference.mixture import MultinomialMixture  # slow to import, seldom needed

        strata = MultinomialMixture(n_clusters, random_state=random_state).fit(rows).labels_
    n = rows.shape[0] - np.shape(unlabelled)[0]
    population = np.bincount(strata[n:], minlength=strata.max() + 1)
    return _mean_one(stratum_weights(strata[:n], population))


def density_ratio(X: Any, unlabelled: Any) -> Vector:
    """Shimodaira's q_test(xᵢ)/q_train(xᵢ) at labelled rows, scaled to mean 1, where neither distribution is known.

    A logistic regression separates the unlabelled rows (the test distribution) from the labelled ones; its odds are the
    ratio.

    Examples
    --------
    >>> density_ratio([[0.0], [1.0], [2.0]], [[1.0], [2.0], [3.0]]).round(1).tolist()
    [0.5, 0.9, 1.7]
    """
    rows = _stacked(X, unlabelled)
    n, m = rows.shape[0] - np.shape(unlabelled)[0], np.shape(unlabelled)[0]
    margins = LinearClassifier("l2").fit(rows, np.repeat([0, 1], [n, m])).decision_function(rows[:n])
    return _mean_one(np.exp(margins - margins.max()))


@dataclass(eq=False, repr=False)
class SemiSupervisedClassifier(ShownEstimator, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier that takes ``sample_weight``, fitted to labelled and unlabelled examples.

    Parameters
    ----------
    estimator : classifier, optional
        By default :class:`LinearClassifier` with an ℓ2 penalty of strength 1. Penalties are left to the estimator.
    criterion : str
        ``weighted``: labelled examples are weighted by the share of such examples among the unlabelled ones
        (:func:`semi_supervised_weights`). ``shift``: by Shimodaira's ratio of test to training distribution, where
        the unlabelled rows are the test distribution (``q_train`` in :meth:`fit`, else :func:`density_ratio`).
        ``entropy``: adds ρ·n times the mean entropy at the unlabelled examples; a :class:`LinearClassifier` only,
        started at its supervised solution, since the criterion is not convex. ``self-training``: uses its own confident
        predictions as labels until there are no more. ``supervised``: ignores the unlabelled examples.
    strength : float, optional
        ``weighted`` and ``shift``: the power, from 0 to 1, that flattens the weights (default: 1, as they are).
        ``entropy``: ρ, where losses and entropies are means (default: 0.001, which the thesis found best; it found more
        than 0.01 harmful). ``self-training``: the probability above which a prediction becomes a label (default: 0.75).
    n_clusters : int, optional
        For ``weighted``: clusters rather than identical rows; see :func:`semi_supervised_weights`.
    random_state : int, RandomState or None
        For the clusters.

    Attributes
    ----------
    estimator_ : the fitted classifier.
    sample_weight_ : the weights it was given, of mean 1 (``weighted`` and ``shift``).
    effective_sample_ : the number of equally weighted examples that these are worth.
    classes_ : the classes.

    Examples
    --------
    >>> X, y = np.array([[3, 0], [2, 1], [1, 2], [0, 3]]), ["ham", "ham", "spam", "spam"]
    >>> unlabelled = np.array([[3, 0], [2, 1], [2, 1], [1, 2], [0, 3], [0, 3]])
    >>> model = SemiSupervisedClassifier().fit(X, y, unlabelled)
    >>> model.sample_weight_.round(2).tolist(), model.predict([[4, 0]]).tolist()
    ([0.67, 1.33, 0.67, 1.33], ['ham'])
    """

    estimator: Any = None
    criterion: str = "weighted"
    _: KW_ONLY
    strength: float | None = None
    n_clusters: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, unlabelled: Any = None, *, q_train: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        y : array of shape (n,)
        unlabelled : array or sparse matrix of shape (m, p), optional
            A sample of the inputs on which the model will be used; by default the labelled rows themselves.
        q_train : array of shape (n,), optional
            For ``shift``: the probability of each labelled row under the distribution of the labelled rows.
        """
        if self.criterion not in CRITERIA:
            raise unknown_choice("criterion must be", self.criterion, CRITERIA)
        if q_train is not None and self.criterion != "shift":
            raise OptionError(f"q_train is only for the criterion shift, not for {self.criterion}")
        strength = STRENGTHS.get(self.criterion, 0.0) if self.strength is None else self.strength
        X, y = validated(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        if unlabelled is None:
            unlabelled = X
        else:
            unlabelled = validated(self, unlabelled, accept_sparse="csr", dtype=np.float64, reset=False)
        model = LinearClassifier("l2") if self.estimator is None else clone(self.estimator)
        weights = self._weights(X, unlabelled, q_train)
        self.sample_weight_ = None if weights is None else flattened(weights, strength)
        self.effective_sample_ = effective_sample(
            np.ones(len(y)) if self.sample_weight_ is None else self.sample_weight_
        )
        if self.criterion == "self-training":
            self.estimator_ = _self_trained(model, X, y, unlabelled, strength)
        elif self.criterion == "entropy":
            self.estimator_ = _entropy_regularised(model, X, y, unlabelled, strength)
        elif self.sample_weight_ is None:
            self.estimator_ = model.fit(X, y)
        else:
            self.estimator_ = model.fit(X, y, sample_weight=self.sample_weight_)
        self.classes_ = self.estimator_.classes_
        return self

    def _weights(self, X: Any, unlabelled: Any, q_train: ArrayLike | None) -> Vector | None:
        if self.criterion == "weighted":
            return semi_supervised_weights(
                X, unlabelled, n_clusters=self.n_clusters, random_state=self.random_state
            )
        if self.criterion != "shift":
            return None
        if q_train is None:
            return np.ones(X.shape[0]) if unlabelled is X else density_ratio(X, unlabelled)
        q_train = np.asarray(q_train, dtype=np.float64)
        if q_train.shape != (X.shape[0],) or not np.all(q_train > 0):
            raise OptionError(f"q_train must be {X.shape[0]} numbers > 0, one per labelled row")
        strata = row_strata(_stacked(X, unlabelled))
        q_test = np.bincount(strata[X.shape[0] :], minlength=strata.max() + 1)
        return _mean_one(q_test[strata[: X.shape[0]]] / q_train)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each example."""
        return np.asarray(self._fitted().predict(self._rows(X)))

    def predict_proba(self, X: Any) -> Vector:
        """The probability of each class, with one row per example."""
        return np.asarray(self._fitted().predict_proba(self._rows(X)))

    @available_if(lambda self: self.estimator is None or hasattr(self.estimator, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Vector:
        """The margin of the second class (two classes), or of each."""
        return np.asarray(self._fitted().decision_function(self._rows(X)))

    def views(self) -> Views:
        """What a notebook shows of the fitted model: how unlabelled examples were used, and the weights."""
        from spinney.classify.estimator_views import semisupervised_views

        check_is_fitted(self)
        return semisupervised_views(self)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _rows(self, X: Any) -> Any:
        return validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _entropy_regularised(model: Any, X: Any, y: Any, unlabelled: Any, rho: float) -> LinearClassifier:
    if not isinstance(model, LinearClassifier):
        raise OptionError(f"the criterion entropy needs a LinearClassifier, not {type(model).__name__}")
    model.fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    labelled = model._loss(X, codes, model._example_weights(X, codes, None))
    assert isinstance(labelled, LogisticLoss | MultinomialLoss)
    # The thesis averages over the labelled and the unlabelled examples; this is n times that.
    loss = EntropyRegularised(labelled, unlabelled, rho * X.shape[0] / unlabelled.shape[0])
    start = np.hstack([model.coef_, model.intercept_[:, None]]) if model.fit_intercept else model.coef_
    solution = solve(loss, model.penalty_, tol=model.tol, max_iter=model.max_iter, w0=start.T.ravel())
    warn_unless_converged(solution, model.tol)
    model._take(labelled, model.penalty_, solution)
    return model


def _self_trained(model: Any, X: Any, y: Any, unlabelled: Any, threshold: float) -> Any:
    """scikit-learn's self-training, which needs whole numbers for classes and −1 for none."""
    from sklearn.semi_supervised import SelfTrainingClassifier  # slow to import, seldom needed

    classes, codes = np.unique(y, return_inverse=True)
    targets = np.append(codes, np.full(unlabelled.shape[0], -1))
    given = getattr(model, "class_weight", None)
    if isinstance(given, Mapping):  # it names labels, not their numbers
        model.set_params(class_weight=dict(enumerate(class_weights(given, classes, codes).tolist())))
    trained = SelfTrainingClassifier(model, threshold=threshold, max_iter=None)
    fitted = trained.fit(_stacked(X, unlabelled), targets).estimator_
    fitted.classes_ = classes
    if isinstance(given, Mapping):
        fitted.set_params(class_weight=given)
    return fitted


def _stacked(X: Any, unlabelled: Any) -> Any:
    if sparse.issparse(X) or sparse.issparse(unlabelled):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(unlabelled)], format="csr")
    return np.vstack([X, unlabelled])


def _mean_one(weights: Vector) -> Vector:
    total = float(weights.sum())
    if total == 0.0:
        raise InputError(
            "no labelled row occurs among the unlabelled rows, so all weights are 0",
            remedy="compare clusters of rows instead: n_clusters=10",
        )
    return weights * (len(weights) / total)
