"""A support vector machine for distributions: Hellinger kernels by square roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney.errors import InputError, OptionError


class HellingerClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear support vector machine on square roots of rows that are made to sum to one.

    This is the machine with the kernel ``K(p, q) = Σ √(p·q)`` (Grave 2014, supersense tagging), and with several
    blocks of columns, each a distribution of its own, that with the sum of the blocks' kernels. A block without
    counts in some row stays zero there. More than two classes are told apart one against the rest.

    Parameters
    ----------
    C : float
        Weight of the losses against ½‖w‖².
    blocks : sequence of int, optional
        The widths of the blocks, in the order of the columns; by default all columns are one.
    loss : {"squared_hinge", "hinge"}
        The plain hinge is that of kernel machines; it is slow to fit, and was weaker where there were many classes.
    intercept_scaling : float
        The intercept is penalised as the weight of a column of this value: the larger, the less.
    tol, max_iter, random_state
        As in :class:`sklearn.svm.LinearSVC`.

    Attributes
    ----------
    classes_, coef_, intercept_ : the model; ``coef_`` has one row a class, or one in all if there are two.
    n_iter_ : int

    Examples
    --------
    >>> X = [[8, 1, 1], [7, 2, 1], [1, 1, 8], [0, 2, 8]]
    >>> model = HellingerClassifier().fit(X, ["animal", "animal", "food", "food"])
    >>> model.predict([[40, 5, 5], [0, 1, 3]]).tolist()
    ['animal', 'food']
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        blocks: Sequence[int] | None = None,
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        random_state: int | None = 0,
    ) -> None:
        self.C = C
        self.blocks = blocks
        self.loss = loss
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine to non-negative rows, dense or sparse."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        machine = LinearSVC(
            C=self.C,
            loss=self.loss,
            dual=True,
            tol=self.tol,
            max_iter=self.max_iter,
            intercept_scaling=self.intercept_scaling,
            random_state=self.random_state,
        )
        machine.fit(hellinger_rows(X, self.blocks), y, sample_weight)
        self.classes_, self.coef_, self.intercept_ = machine.classes_, machine.coef_, machine.intercept_
        self.n_iter_ = int(machine.n_iter_)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The margin of the second class (two classes), or of each."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        margins = np.asarray(hellinger_rows(X, self.blocks) @ self.coef_.T + self.intercept_)
        return margins.ravel() if len(self.classes_) == 2 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        margins = self.decision_function(X)
        codes = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # on data whose classes differ in the sums of their rows
        return tags


def hellinger_rows(X: Any, blocks: Sequence[int] | None = None) -> Any:
    """Square roots of the shares that the values have in their block of the row: scalar products are Hellinger kernels.

    Examples
    --------
    >>> hellinger_rows(np.array([[1.0, 3.0, 5.0, 0.0]]), [2, 2]).round(3).tolist()
    [[0.5, 0.866, 1.0, 0.0]]
    """
    p = X.shape[1]
    widths = [p] if blocks is None else list(blocks)
    if sum(widths) != p or min(widths, default=0) < 1:
        raise OptionError(f"the widths of the blocks must be at least 1 and sum to {p} columns, not {widths}")
    values = X.data if sparse.issparse(X) else X
    if np.any(values < 0):
        raise InputError(
            "Negative values in data passed to HellingerClassifier", remedy="give counts or shares"
        )
    if sparse.issparse(X):
        # One sum for each row and block: entry e is in cell[e] of that table.
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        cell = row * len(widths) + np.repeat(np.arange(len(widths)), widths)[X.indices]
        sums = np.bincount(cell, weights=X.data, minlength=X.shape[0] * len(widths))
        shares = X.data / np.where(sums > 0, sums, 1.0)[cell]
        return sparse.csr_matrix((np.sqrt(shares), X.indices, X.indptr), shape=X.shape)
    sums = np.add.reduceat(X, np.cumsum([0, *widths[:-1]]), axis=1)
    return np.sqrt(X / np.repeat(np.where(sums > 0, sums, 1.0), widths, axis=1))
