"""Regression on what one view tells of another, and on principal components, to compare with (the tutorial of 2013)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney.checking import seed, whole
from spinney.embed.cca import centred, view_of
from spinney.errors import OptionError
from spinney.linalg import truncated_svd


class CanonicalRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression with canonical shrinkage: what the views do not agree on is shrunk.

    In the projections x_i of the first view, white and correlated λ_i with the second, βᵢ = λᵢ · mean(xᵢ y)
    (Kakade and Foster 2007). That is the least squares fit under the penalty Σ ((1 - λᵢ)/λᵢ) βᵢ². If either view is
    enough to predict y, little is lost, and few labels are needed.

    Parameters
    ----------
    cca : CCA
        Fitted, or to be fitted to unlabelled examples. Take many components: the shrinkage chooses among them.
        There is an intercept if it centres.

    Attributes
    ----------
    cca_ : CCA
        The fitted one.
    shrunk_ : array [k]
        β, the weights of the projections.
    coef_, intercept_ : the same model, in the features.

    Examples
    --------
    >>> from spinney.embed import CCA
    >>> rng = np.random.default_rng(0)
    >>> y = rng.standard_normal(1000)
    >>> X, Y = (y[:, None] + rng.standard_normal((1000, 5)) for _ in range(2))
    >>> model = CanonicalRegression(CCA(5)).fit(X[:20], y[:20], X_unlabelled=X, Y_unlabelled=Y)
    >>> model.coef_.shape, round(model.score(X[20:], y[20:]), 1)
    ((5,), 0.8)
    """

    def __init__(self, cca: Any) -> None:
        self.cca = cca

    def fit(self, X: Any, y: Any, *, X_unlabelled: Any = None, Y_unlabelled: Any = None) -> Self:
        """Fit the weights to labelled examples, and the views to unlabelled ones, unless they are fitted."""
        if (X_unlabelled is None) != (Y_unlabelled is None):
            raise OptionError("X_unlabelled and Y_unlabelled are two views of the same examples: give both")
        if X_unlabelled is not None:
            self.cca_ = clone(self.cca).fit(X_unlabelled, Y_unlabelled)
        elif hasattr(self.cca, "correlations_"):
            self.cca_ = self.cca
        else:
            raise OptionError("the CCA is not fitted: fit it, or give X_unlabelled and Y_unlabelled")
        X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"], dtype=np.float64, y_numeric=True)
        x, y = self.cca_.transform(X), np.asarray(y, float)
        y_mean, x_mean = (y.mean(), x.mean(axis=0)) if self.cca_.center else (0.0, np.zeros(x.shape[1]))
        lam = np.minimum(self.cca_.correlations_, 1.0)
        self.shrunk_ = lam * ((y - y_mean) @ x) / len(y)  # Kakade and Foster 2007
        self.coef_ = self.cca_.x_weights_ @ self.shrunk_
        self.intercept_ = float(y_mean - x_mean @ self.shrunk_ - self.cca_.x_mean_ @ self.coef_)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The expected y of each example."""
        return _predicted(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrincipalRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on principal components: what canonical regression is compared with.

    It keeps the directions that vary most, whether or not another view confirms them, and may miss all signal
    (Foster and Kakade 2006).

    Parameters
    ----------
    n_components : int
        Directions to keep, at most as many as there are features or examples.
    random_state : int
        Where the decomposition of large data begins.

    Attributes
    ----------
    coef_, intercept_ : the model, in the features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3)) * [3, 2, 1]
    >>> model = PrincipalRegression(2).fit(X, X[:, 0] + X[:, 2])
    >>> np.abs(model.coef_).round(1).tolist()  # the third feature varies least: it is not seen
    [1.0, 0.0, 0.0]
    """

    def __init__(self, n_components: int = 2, *, random_state: int = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, X_unlabelled: Any = None) -> Self:
        """Fit the weights to labelled examples; the components, to unlabelled ones if there are any."""
        whole("n_components", self.n_components, 1)
        seed(self.random_state)
        X, y = validate_data(
            self, X, y, accept_sparse=["csr", "csc"], dtype=np.float64, y_numeric=True, ensure_min_samples=2
        )
        source = X
        if X_unlabelled is not None:
            source = validate_data(
                self, X_unlabelled, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False
            )
        examples = centred(view_of(source, center=True))
        V = truncated_svd(examples, self.n_components, random_state=self.random_state).V
        regression = LinearRegression().fit(X @ V, y)
        self.coef_, self.intercept_ = V @ regression.coef_, float(regression.intercept_)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The expected y of each example."""
        return _predicted(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # of few components
        return tags


def _predicted(model: Any, X: Any) -> NDArray[np.float64]:
    check_is_fitted(model)
    X = validate_data(model, X, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
    return np.asarray(X @ model.coef_ + model.intercept_)
