"""Views of the estimators themselves, which know their features by the names of a table's columns at best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.errors import OptionError
from spinney.optim.paths import Path
from spinney.structure.words import largest
from spinney.views import Bars, Columns, Facts, Note, View, Views

if TYPE_CHECKING:
    from spinney.classify.hierarchical import TreeClassifier
    from spinney.classify.linear import PathPoint

_CLASSES = 8  # classes whose weights are shown: as many as there are colours
_WEIGHTS = 10  # weights of each
_SHARED = {"objective": "objective_", "gap": "gap_", "violation": "violation_", "iterations": "n_iter_",
           "converged": "converged_"}  # fmt: skip


def linear_views(estimator: Any, names: Sequence[str] | None = None) -> Views:
    """The facts of a fitted linear model, and its largest weights; by default, it knows the names of its features.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier
    >>> model = LinearClassifier("l1", lam=0.1).fit([[0.0, 1.0], [0.2, 1.0], [1.0, 1.0]], ["no", "no", "yes"])
    >>> [list(view.data()) for view in linear_views(model) if isinstance(view, Bars)]
    [['x0']]
    """
    coef = np.atleast_2d(estimator.coef_)
    names = _feature_names(estimator, coef.shape[1]) if names is None else names
    known = {"features": coef.shape[1], "active": int(np.count_nonzero(coef))}
    known |= _facts(estimator, {"lam": "lam_", "solver": "solver_"})
    if hasattr(estimator, "penalty_"):
        known["penalty"] = estimator.penalty_.describe()
    labels = {"active": "non-zero weights", "lam": "λ"}
    views: list[View] = [Facts("facts", "", known, {name: labels.get(name, name) for name in known})]
    classes = [str(label) for label in getattr(estimator, "classes_", ())]
    if len(coef) == 1:
        what = f": above 0, evidence for {classes[1]}; below 0, for {classes[0]}" if classes else ""
        return Views([*views, Note(f"The largest weights{what}."), _bars("", names, coef[0], 0)])
    shown = [_bars(label, names, row, k) for k, (label, row) in enumerate(zip(classes[:_CLASSES], coef))]
    more = len(classes) - len(shown)
    left = [Note(f"{more:,} more classes are not shown.", faint=True)] if more else []
    return Views([*views, Note("The largest weights of each class."), Columns(shown), *left])


def tree_classifier_views(estimator: TreeClassifier) -> Views:
    """The facts of a fitted classifier along a tree, and the tree."""
    from spinney.classify.views import tree_views

    known = {"classes": len(estimator.classes_), "active": estimator.n_active_, **_facts(estimator, {})}
    return Views([Facts("facts", "", known), *tree_views(estimator.tree_)])


def semisupervised_views(estimator: Any) -> Views:
    """How a fitted classifier used unlabelled examples, and the weights of the linear model within it."""
    from spinney.classify.linear import LinearClassifier

    known = {"criterion": estimator.criterion, "effective sample": float(estimator.effective_sample_)}
    inner, views = estimator.estimator_, Views([Facts("", "", known)])
    if isinstance(inner, LinearClassifier):  # it was fitted to a matrix, without the names of a table
        views += linear_views(inner, _feature_names(estimator, inner.n_features_in_))
    return views


def path_of(estimator: Any, points: Sequence[PathPoint], names: Sequence[str] | None = None) -> Path:
    """The path of an estimator, for a figure."""
    from spinney.classify.views import weight_path

    width = points[0].coef.shape[1] if points else 0
    if names is not None and len(names) != width:
        raise OptionError(f"names must have one name for each of {width} features, not {len(names)}")
    outputs = [str(label) for label in getattr(estimator, "classes_", ["value"])]
    return weight_path(points, _feature_names(estimator, width) if names is None else names, outputs, {})


def _facts(estimator: Any, more: dict[str, str]) -> dict[str, Any]:
    found = {name: getattr(estimator, attribute, None) for name, attribute in {**more, **_SHARED}.items()}
    return {name: value for name, value in found.items() if value is not None}


def _feature_names(estimator: Any, width: int) -> Sequence[str]:
    """The names of a table's columns, or numbers as scikit-learn writes them."""
    known = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(width)] if known is None else [str(name) for name in known]


def _bars(title: str, names: Sequence[str], row: Any, colour: int) -> View:
    order = [j for j in largest(np.abs(row), _WEIGHTS) if row[j]]
    return Bars("", title, [(names[j], float(row[j])) for j in order], colour)
