"""Linear regressors and classifiers with any penalty, in scikit-learn's conventions.

Objectives are **sums** over examples: ``Σᵢ sᵢ·loss(xᵢ·w + b, yᵢ) + λΩ(w)``, where the intercept is never penalised.
scikit-learn's ``C`` is 1/λ; the ``alpha`` of its Lasso is λ/n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from spinney.checking import our_errors, whole
from spinney.classify.class_trees import class_tree_for, restricted
from spinney.classify.class_weight import ClassWeight, class_weights
from spinney.classify.penalty import Penalised
from spinney.corpus.sparse_tables import sparse_throughout
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.evaluate import confusion_map, plot_confusion
from spinney.memory import check_memory
from spinney.model import ShownEstimator
from spinney.optim import (
    LogisticLoss,
    MultinomialLoss,
    OneVsRestLoss,
    Penalty,
    PenaltySpec,
    Solution,
    SquaredHingeLoss,
    SquaredLoss,
    lambda_grid,
    lambda_max,
    path,
    solve,
    warn_unless_converged,
)
from spinney.optim.base import Vector, checked_strength
from spinney.optim.losses import LinearLoss, check_numbers
from spinney.structure import ClassTree
from spinney.views import Views

_COPIES = 6  # vectors of weights that a solver holds at a time


class PathPoint(NamedTuple):
    """One strength on a regularisation path. ``coef`` has one row per output."""

    lam: float
    coef: Vector
    intercept: Vector
    active: int
    objective: float
    violation: float
    seconds: float


@dataclass(eq=False, repr=False)
class LinearSettings(Penalised):
    """The parameters of all linear models, with a given strength or a chosen one."""

    penalty: str | PenaltySpec | Penalty = "l2"  # may be given by position
    _: KW_ONLY
    loss: str | None = None
    feature_weights: ArrayLike | None = None
    class_weight: ClassWeight | str | None = None
    class_tree: ClassTree | str | None = None


@dataclass(eq=False, repr=False)
class _LinearModel(ShownEstimator, LinearSettings, BaseEstimator):  # type: ignore[misc]
    """What regressors and classifiers share: parameters, fitting and the path."""

    lam: float = 1.0
    _: KW_ONLY
    lam_ratio: float | None = None
    warm_start: bool = False
    rho: float | None = None
    change_tol: float | None = None
    threads: int = 1

    def _loss(self, X: Any, y: Any, sample_weight: Any) -> LinearLoss:
        raise NotImplementedError

    def _checked(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, NDArray[Any]]:
        with our_errors():
            X, y = validate_data(
                self,
                sparse_throughout(X),
                y,
                accept_sparse=["csc", "csr"],
                dtype=np.float64,
                reset=reset,
                y_numeric=False,
            )
        return X, y

    def _example_weights(self, X: Any, y: Any, sample_weight: Any) -> Vector | None:
        """What each example counts, by itself and by its class; None where all count 1."""
        if sample_weight is None:
            return None
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[LinearLoss, Penalty]:
        """The loss and the penalty, the latter at its final strength."""
        loss = self._loss(X, y, self._example_weights(X, y, sample_weight))
        check_memory(
            8.0 * _COPIES * loss.n_params,
            "a linear model of {n} weights",
            "number the features without gaps, or use fewer of them",
            n=f"{loss.n_params:,}",
        )
        weights = None
        if self.feature_weights is not None:
            with our_errors():
                weights = np.asarray(self.feature_weights, dtype=np.float64)
            if weights.shape != (loss.p,):
                raise OptionError(f"feature_weights must have one number for each of {loss.p} features")
            check_numbers("feature_weights", weights)
        for name in ("l1", "l2", "lam"):
            checked_strength(name, getattr(self, name))
        whole("threads", getattr(self, "threads", 1) or 1, 1)
        self.groups_ = self.built_groups()
        self.class_tree_ = self._output_tree(X, y)
        penalty = self.made_penalty(X, loss.n_outputs, self.lam, weights, self.groups_, self.class_tree_)
        if self.lam_ratio is not None:
            if not 0 < self.lam_ratio <= 1:
                raise OptionError(f"lam_ratio must be between 0 and 1, not {self.lam_ratio:g}")
            penalty = penalty.with_lam(self.lam_ratio * lambda_max(loss, penalty))
        return loss, penalty

    def _output_tree(self, X: Any, y: Any) -> ClassTree | None:
        """The tree of outputs, for the penalty on it; here there are no classes."""
        if self.class_tree is not None:
            raise OptionError("a regressor has no classes: leave out class_tree")
        return None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        """
        X, y = self._checked(X, y)
        loss, penalty = self._problem(X, y, sample_weight)
        solution = solve(
            loss,
            penalty,
            self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            w0=self._warm_point(loss),
            **self._solver_options(),
        )
        warn_unless_converged(solution, self.tol)
        self._take(loss, penalty, solution)
        if solution.interrupted:
            raise KeyboardInterrupt
        return self

    def _solver_options(self) -> dict[str, Any]:
        if self.solver == "admm":
            given = {"rho": self.rho, "change_tol": self.change_tol, "threads": self.threads}
            return {name: value for name, value in given.items() if value is not None}
        for name in ("rho", "change_tol"):
            if getattr(self, name) is not None:
                raise OptionError(
                    f"{name} is only for the solver 'admm': give solver='admm', not {self.solver!r}"
                )
        return {}

    def _warm_point(self, loss: LinearLoss) -> Vector | None:
        if not self.warm_start or getattr(self, "coef_", None) is None:
            return None
        coef = np.atleast_2d(self.coef_)
        if coef.shape != (loss.n_outputs, loss.p):
            return None
        return np.append(coef.T.ravel(), self.intercept_) if self.fit_intercept else coef.T.ravel()

    def _take(self, loss: LinearLoss, penalty: Penalty, solution: Solution) -> None:
        coef, intercept = _unpacked(loss, solution.w)
        self._store(coef, intercept)
        self.lam_ = float(getattr(penalty, "lam", 0.0))
        self.penalty_ = penalty
        self.objective_ = solution.objective
        self.gap_ = solution.proven_gap
        self.violation_ = solution.violation
        self.n_iter_ = max(1, solution.n_iter)
        self.solver_ = solution.solver
        self.n_active_ = int(np.count_nonzero(coef))
        self.converged_ = solution.converged
        self.trace_ = solution.trace
        self.copy_norms_ = solution.copy_norms

    def _store(self, coef: Vector, intercept: Vector) -> None:
        raise NotImplementedError

    def path(
        self,
        X: Any,
        y: Any,
        lams: Sequence[float] | None = None,
        *,
        n: int = 50,
        ratio: float = 1e-2,
        sample_weight: ArrayLike | None = None,
        tied: Mapping[str, float] | None = None,
    ) -> list[PathPoint]:
        """Fit along a grid of strengths with warm starts; by default ``n`` values from λ_max down to ``ratio`` of it.

        ``tied`` are further strengths that are multiples of λ: ``{"l2": 1.0}``. The estimator itself is not changed.
        """
        X, y = self._checked(X, y)
        loss, penalty = self._problem(X, y, sample_weight)
        penalty = penalty.tied(**tied) if tied else penalty
        grid = (
            lambda_grid(lambda_max(loss, penalty), n, ratio)
            if lams is None
            else np.asarray(lams, dtype=np.float64)
        )
        points = []
        for lam, solution in path(
            loss,
            penalty,
            grid,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            **self._solver_options(),
        ):
            coef, intercept = _unpacked(loss, solution.w)
            active = int(np.count_nonzero(coef))
            points.append(
                PathPoint(
                    lam, coef, intercept, active, solution.objective, solution.violation, solution.seconds
                )
            )
        return points

    def views(self) -> Views:
        """What a notebook shows of the fitted model: facts, and the largest weights."""
        from spinney.classify.estimator_views import linear_views

        check_is_fitted(self, "coef_")
        return linear_views(self)

    def plot_path(
        self,
        X: Any,
        y: Any,
        lams: Sequence[float] | None = None,
        *,
        names: Sequence[str] | None = None,
        ax: Any = None,
        **how: Any,
    ) -> Any:
        """Draw the largest weights along the path of :meth:`path`, with Matplotlib (extra ``plots``).

        Parameters
        ----------
        X, y, lams
            As in :meth:`path`, which also takes ``how``.
        names : sequence of str, optional
            The names of the features; by default those of a table's columns, or ``x0``, ``x1``, …
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from spinney.classify.estimator_views import path_of

        return path_of(self, self.path(X, y, lams, **how), names).plot_path(ax=ax)

    def at(self, point: PathPoint) -> Self:
        """Take the weights of a point of the path."""
        self._store(point.coef, point.intercept)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _unpacked(loss: LinearLoss, w: Vector) -> tuple[Vector, Vector]:
    """Coefficients, with one row per output, and intercepts (of a softmax, with mean 0: only differences matter)."""
    W = w.reshape(-1, loss.n_outputs)
    coef = np.ascontiguousarray(W[: loss.p].T)
    intercept = W[loss.p].copy() if loss.intercept else np.zeros(loss.n_outputs)
    return coef, intercept - intercept.mean() if isinstance(loss, MultinomialLoss) else intercept


class LinearRegressor(RegressorMixin, _LinearModel):  # type: ignore[misc]
    """Least squares with any penalty: ½Σ sᵢ(yᵢ − xᵢ·w − b)² + λΩ(w).

    Parameters
    ----------
    penalty : str, PenaltySpec or Penalty
        A name in :data:`spinney.optim.PENALTIES`, such as ``l2`` (ridge), ``l1`` (Lasso) or ``elasticnet``, or with
        ``groups`` ``group``, ``tree-l2`` or ``overlap``; or an object of :mod:`spinney.optim`, which brings its own
        strength: then ``lam``, ``l1``, ``l2``, ``groups`` and ``feature_weights`` are not used (``lam_ratio`` is).
    lam : float
        The strength λ, in the units of the sum (not the mean) of losses.
    lam_ratio : float, optional
        λ as a fraction of the smallest λ for which the model is empty; replaces ``lam``.
    l1, l2 : float
        Further strengths: the ℓ1 part of group penalties, the ridge part (½·l2‖w‖²) of the elastic net and groups.
    groups : Groups, WordClasses, str or callable, optional
        Sets of features for the grouped penalties; or what makes them in :meth:`fit` from the names of the features
        (the columns of a DataFrame): word classes, a rule such as ``"prefix:4"`` or ``"suffix:3"``, a file of classes
        or groups, or a function of the list of names. See :func:`spinney.classify.group_rules.groups_in_fit`.
    feature_weights : array, optional
        A weight ≥ 0 for each feature in ``l1``, ``l2`` and ``elasticnet`` (adaptive Lasso).
    solver : str
        ``auto``, or a name in :data:`spinney.optim.SOLVERS`.
    fit_intercept : bool
    tol : float
        Stop when the objective is proven to be within this of the optimum, relative to the objective; where no bound is
        known, when the optimality conditions are violated by no more than this times λ (:func:`spinney.optim.solve`).
    max_iter : int
    loss : str, optional
        Of classifiers: ``"log"`` (the default) or ``"squared-hinge"``.
    class_weight : mapping or "balanced", optional
        Of classifiers: the weight of the examples of each class, 1 if it is not named; ``"balanced"`` gives all classes
        the same total weight, as in scikit-learn. The ``sample_weight`` of :meth:`fit` is multiplied with it.
    class_tree : ClassTree or str, optional
        Of classifiers with the penalty ``tree-output``: the tree whose nodes group the weights of each feature, by
        class; or a name in :data:`spinney.settings.classify.CLASS_TREES` (``"spec"``, …), or a file with a tree.
    warm_start : bool
        Start from the previous fit.
    rho : float, optional
        For the solver ``admm``: a fixed penalty parameter; by default it adapts to the residuals. With overlapping
        groups and a fixed value, the solver is that of Yogatama 2015, which always stops after ``max_iter`` iterations
        (100 in the thesis).
    change_tol : float, optional
        For the solver ``admm`` with groups: also stop when the weights change by less than this share of their norm, as
        in Yogatama 2015. That is no certificate.
    threads : int
        For the solver ``admm``: the number of threads among which groups are divided.

    Attributes
    ----------
    coef_, intercept_ : the model.
    groups_, class_tree_ : the groups and the tree of classes, if there are any.
    n_features_in_, feature_names_in_ : the number of features, and their names if they were the columns of a DataFrame.
    lam_, objective_, gap_, violation_, n_iter_, n_active_, solver_, converged_ : facts about the fit.
    copy_norms_ : of the solver ``admm`` with groups: the norms of the copies v_g, 0 for a group that is removed.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [2.0, 0.1], [3.0, -0.1], [4.0, 0.0]]), np.array([1.0, 2.0, 3.0, 4.0])
    >>> model = LinearRegressor("l1", lam=0.5).fit(X, y)
    >>> model.coef_.round(2).tolist(), round(float(model.intercept_), 2)
    ([0.9, 0.0], 0.25)
    """

    def _loss(self, X: Any, y: Any, sample_weight: Any) -> LinearLoss:
        if self.loss is not None:
            raise OptionError(f"a regressor has the squared loss: leave out loss={self.loss!r}")
        if self.class_weight is not None:
            raise OptionError(
                "a regressor has no classes: leave out class_weight, or give sample_weight to fit"
            )
        return SquaredLoss(X, y.astype(np.float64), sample_weight, self.fit_intercept)

    def _scorer(self, y: Any) -> Callable[[Vector], float]:
        """R² of margins."""
        spread = float(np.var(y)) or 1.0
        return lambda margins: 1.0 - float(np.mean((margins - y) ** 2)) / spread

    def _checked(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, NDArray[Any]]:
        with our_errors():
            X, y = validate_data(
                self,
                sparse_throughout(X),
                y,
                accept_sparse=["csc", "csr"],
                dtype=np.float64,
                reset=reset,
                y_numeric=True,
            )
        return X, y

    def _store(self, coef: Vector, intercept: Vector) -> None:
        self.coef_, self.intercept_ = coef[0], float(intercept[0])

    def predict(self, X: Any) -> Vector:
        """The predicted value of each example."""
        check_is_fitted(self)
        with our_errors():
            X = validate_data(self, sparse_throughout(X), accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_ + self.intercept_)


class LinearClassifier(ClassifierMixin, _LinearModel):  # type: ignore[misc]
    """Logistic regression (two classes) or multinomial regression (more) with any penalty; or a support vector machine.

    Has the parameters and attributes of :class:`LinearRegressor`, with ``penalty="l2"`` and ``lam=1.0`` as they stand:
    like scikit-learn's classifiers, it does not choose its strength (:class:`LinearClassifierCV` does). With more than
    two classes, ``coef_`` has one row per class, and a group of features contains their weights for all classes.

    ``loss="squared-hinge"`` is the loss of scikit-learn's ``LinearSVC``, with ``lam`` = 1/C, each class against all
    others; the intercepts are not penalised. Such a model has no probabilities.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.2, 1.0], [1.0, 1.0], [0.9, 1.0]])
    >>> model = LinearClassifier("l1", lam=0.1).fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[0.1, 1.0], [1.1, 1.0]]).tolist()
    ['no', 'yes']
    """

    def _checked(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, NDArray[Any]]:
        X, y = super()._checked(X, y, reset)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"Classifier can't train when only one class is present: all {len(y)} labels are "
                f"{self.classes_[0]!s}",
                remedy="give examples of at least two classes",
            )
        return X, codes

    def _loss(self, X: Any, y: Any, sample_weight: Any) -> LinearLoss:
        if self.loss not in (None, "log", "squared-hinge"):
            raise unknown_choice("loss must be", self.loss, ("log", "squared-hinge"))
        hinge = self.loss == "squared-hinge"
        if len(self.classes_) == 2:
            two = SquaredHingeLoss if hinge else LogisticLoss
            return two(X, 2.0 * y - 1.0, sample_weight, self.fit_intercept)
        if hinge:
            return OneVsRestLoss(X, y, sample_weight, self.fit_intercept, len(self.classes_))
        return MultinomialLoss(X, y, sample_weight, self.fit_intercept, len(self.classes_))

    def _example_weights(self, X: Any, y: Any, sample_weight: Any) -> Vector | None:
        weights: Vector | None = super()._example_weights(X, y, sample_weight)
        if self.class_weight is None:
            return weights
        of_class: Vector = class_weights(self.class_weight, self.classes_, y, weights)[y]
        return of_class if weights is None else of_class * weights

    def _output_tree(self, X: Any, y: Any) -> ClassTree | None:
        """The tree over the classes of the data, for the penalty on it."""
        if self.class_tree is None:
            return None
        name = self.penalty if isinstance(self.penalty, str) else PenaltySpec.of(self.penalty).name
        if name != "tree-output":
            raise OptionError(f"class_tree is only for the penalty tree-output, not {name}: leave it out")
        if len(self.classes_) == 2:
            raise OptionError("the penalty tree-output needs at least three classes: two share their weights")
        tree = class_tree_for(self.class_tree, X, self.classes_[y])
        assert tree is not None
        return restricted(tree, [str(label) for label in self.classes_])

    def _scorer(self, codes: Any) -> Callable[[Vector], float]:
        """The accuracy of margins."""
        return lambda margins: float(
            np.mean((margins > 0 if margins.ndim == 1 else margins.argmax(axis=1)) == codes)
        )

    def _store(self, coef: Vector, intercept: Vector) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def plot_confusion(self, X: Any, y: Any, ax: Any = None) -> Any:
        """Draw which classes are taken for which, with Matplotlib (extra ``plots``); returns the axes."""
        found = confusion_map(map(str, y), map(str, self.predict(X)), map(str, self.classes_), of="class")
        return plot_confusion(found, ax, of="class")

    def decision_function(self, X: Any) -> Vector:
        """The margin of the second class (two classes), or of each."""
        check_is_fitted(self)
        with our_errors():
            X = validate_data(self, sparse_throughout(X), accept_sparse="csr", dtype=np.float64, reset=False)
        M = X @ self.coef_.T + self.intercept_
        M = np.asarray(M.todense()) if sparse.issparse(M) else np.asarray(M)
        return M.ravel() if len(self.classes_) == 2 else M

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each example."""
        M = self.decision_function(X)
        codes = (M > 0).astype(np.intp) if M.ndim == 1 else M.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _has_probabilities(self) -> bool:
        """Whether there are any: scikit-learn asks by hasattr, and takes the decision function where there are none."""
        return self.loss != "squared-hinge"

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Vector:
        """The probability of each class, with one row per example."""
        M = self.decision_function(X)
        if M.ndim == 1:
            positive = expit(M)
            return np.column_stack([1.0 - positive, positive])
        return np.asarray(softmax(M, axis=1))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Vector:
        """Logarithms of :meth:`predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))
