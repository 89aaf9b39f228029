"""From documents and settings to a classifier or regressor, and to a regularisation path."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spinney.classify.choosing import Chosen, chosen, chosen_on_dev
from spinney.classify.class_trees import check_tree, class_tree_for
from spinney.classify.documents import (
    Data,
    named,
    prepared,
    read_documents,
    reading,
    training_data,
)
from spinney.classify.hierarchical import TreeClassifier
from spinney.classify.linear import LinearClassifier, LinearRegressor, PathPoint
from spinney.classify.model import TextModel
from spinney.classify.penalty import REMEDIES
from spinney.classify.strengths import Search, default_penalty, ties, tuning_facts
from spinney.classify.unlabelled import chosen_use, facts_of, fitted, said
from spinney.classify.views import path_views, weight_path
from spinney.cluster import spread
from spinney.corpus.labelled import renaming
from spinney.errors import InputError, SettingError
from spinney.optim import Penalty, check_penalty, check_strengths, lambda_max, warn_if_empty
from spinney.optim.paths import PathViews
from spinney.parallel import default_threads
from spinney.settings import Settings, choose, settings_or
from spinney.settings.classify import FIT, Path


@spread
def fit(train: Any, settings: Settings | None = None, **given: Any) -> TextModel:
    """Train a document classifier or, with ``regression``, a regressor.

    Parameters
    ----------
    train
        A folder with one folder per class, a CSV, TSV or svmlight file, or bracketed trees with labels at their roots;
        or, in memory, a data frame (see :mod:`spinney.corpus.frames`), or a pair of texts (or a matrix) and labels.
    settings
        Settings of :mod:`spinney.settings.classify`; or give them by name, ``method`` among them.

    Examples
    --------
    >>> texts, labels = ["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"]
    >>> model = fit((texts, labels), features="counts", penalty="l1", lam=0.1)
    >>> model.facts["active"], model.predict(["such fun"]).tolist()
    (2, ['+'])
    >>> model = fit((texts, labels), features="counts")  # λ is chosen by cross-validation
    >>> model.facts["choice"]["by"], model.facts["active"] > 0
    ('by 4-fold cross-validation', True)
    >>> model = fit((texts, labels), groups="sentence", dev=0.5, tune="grid", space="lam=0.01,0.1")
    >>> model.facts["tuning"]["trials"]
    2
    """
    settings = settings or choose(FIT, given)
    s: Any = settings
    along_tree = s.method == "tree"
    search = None if along_tree else Search.of(s)
    started = time.perf_counter()
    workers = s.threads or default_threads()
    kind = _checked_penalty(s)
    data = prepared(train, s, regression=not along_tree and s.regression, threads=workers)
    ready = time.perf_counter()
    strengths = {name: getattr(s, name, None) for name in ("lam", "lam_ratio", "l1", "l2")}
    tied = {} if search else ties(kind, s.penalty is not None, data, strengths)
    estimator = (_tree_estimator if along_tree else _estimator)(s, kind, data, strengths, tied, workers)
    if tied and strengths["lam_ratio"] is not None:
        _set_by_ratio(estimator, tied, data)
    begun = time.perf_counter()
    model = TextModel(estimator, data.features, data.added)
    choice: Chosen | None = None
    try:
        if search is not None:
            tried = search.space_for(kind, data, strengths)
            model.tuned = search.run(estimator, tried, data, threads=workers, seed=s.seed)
            model.estimator = model.tuned.estimator
            model.note_facts(data.X)
            if model.tuned.interrupted:
                raise KeyboardInterrupt
        elif not along_tree and strengths["lam"] is None and strengths["lam_ratio"] is None:
            choice = chosen(s, estimator, tied, data, workers)
        elif along_tree and s.dev is not None:
            choice = chosen_on_dev(estimator, tied, data)
        model.notes += [] if choice is None else [choice.line]
        if not along_tree and s.unlabelled is not None:
            _fit_with_unlabelled(model, s, data)
        else:
            model.fit_matrix(data.X, data.y, init=None if along_tree else _start(s.init))
        interrupted = False
    except KeyboardInterrupt:
        if not hasattr(model.estimator, "coef_"):
            raise
        interrupted = True
    seconds = time.perf_counter() - ready
    facts = model.facts
    facts["method"] = s.method
    if named(training_data(train)) is not None:
        facts["train"] = [named(training_data(train))]
    if search is not None and model.tuned is not None:
        facts["tuning"] = tuning_facts(search, model.tuned, data)
    if choice is not None:
        facts["choice"] = choice.facts
    facts |= {"skipped": data.read.skipped, "dropped": data.read.dropped, "interrupted": interrupted}
    facts |= {"labels": renaming(s.labels)} if s.labels else {}
    if s.class_tree is not None:
        called = s.class_tree if isinstance(s.class_tree, str) else "given"
        facts |= {"class_tree": called, "tree_seconds": begun - ready}
    facts |= {"seconds": seconds, "reading_seconds": ready - started}
    facts["entries_per_second"] = data.X.nnz / max(seconds, 1e-9)
    warn_if_empty(facts["active"], "lower lam, or leave it out: then it is chosen")
    model.settings = settings
    return model


def _set_by_ratio(estimator: Any, tied: Mapping[str, float], data: Data) -> None:
    """λ as a share of the λ that empties the model, and the strengths that are multiples of it."""
    X, y = estimator._checked(data.X, data.y)
    loss, penalty = estimator._problem(X, y, None)
    lam = estimator.lam_ratio * lambda_max(loss, penalty.tied(**tied))
    estimator.set_params(lam=lam, lam_ratio=None, **{name: times * lam for name, times in tied.items()})


def _fit_with_unlabelled(model: TextModel, s: Any, data: Data) -> None:
    """Fit with unlabelled documents in the way that does best on held-out labels, and say which that is."""
    read = read_documents(s.unlabelled, reading(s), need_labels=False)
    if read.is_text != (data.features is not None):
        raise InputError(
            "one of text and numbers, the labelled documents the other", path=named(s.unlabelled)
        )
    X = data.matrix(read)
    use, tried = chosen_use(model.estimator, data, X, s.criterion, s.criterion_strength, s.seed, s.clusters)
    taught = fitted(model.estimator, use, data.X, data.y, X, s.seed, s.clusters)
    if taught.sample_weight_ is not None:
        use = replace(use, effective_sample=taught.effective_sample_)
    model.estimator = taught.estimator_
    model.note_facts(data.X)
    model.facts |= facts_of(use, tried, X.shape[0])
    model.notes.append(said(use, tried, data.X.shape[0], X.shape[0]))


def _start(init: Any) -> TextModel | None:
    return TextModel.load(init) if isinstance(init, str) else init


def _checked_penalty(s: Any) -> Any:
    """The penalty of the settings; it and the class tree are checked before any data are read."""
    if s.class_tree is not None:
        check_tree(s.class_tree)
    grouped = s.groups is not None or bool(s.alternatives)
    kind = s.penalty or default_penalty(grouped)
    if not isinstance(kind, Penalty):
        offers = {"design", "matrix", "order", *(("groups", "tree") if grouped else ())}
        offers |= set() if s.class_tree is None else {"output-tree"}
        check_penalty(kind, offers, "a linear model", remedies=REMEDIES)
    if isinstance(kind, str):
        check_strengths(kind, s.l1, s.l2)
    else:
        for name in ("lam", "lam_ratio", "cv", "l1", "l2"):
            if getattr(s, name, None) is not None:
                raise SettingError(f"{{{name}}} has no effect: the penalty brings its own strengths")
    return kind


def _parameters(
    s: Any, kind: Any, data: Data, given: Mapping[str, Any], tied: Mapping[str, float], threads: int
) -> dict[str, Any]:
    """The parameters that all estimators have; strengths that are tied to λ are multiples of it."""
    lam = 1.0 if given["lam"] is None else given["lam"]
    found = {"lam": lam, "l1": 0.0, "l2": 0.0, **{name: times * lam for name, times in tied.items()}}
    found |= {name: value for name, value in given.items() if value is not None}
    return {
        **found, "penalty": kind, "groups": data.groups, "solver": s.solver, "tol": s.tol, "max_iter": s.max_iter,
        "threads": threads, "class_weight": s.class_weight,
    }  # fmt: skip


def _estimator(
    s: Any, kind: Any, data: Data, given: Mapping[str, Any], tied: Mapping[str, float], threads: int
) -> Any:
    parameters = _parameters(s, kind, data, given, tied, threads)
    kind_of = LinearRegressor if s.regression else LinearClassifier
    tree = None if s.class_tree is None else class_tree_for(s.class_tree, data.X, data.y, s.seed)
    return kind_of(**parameters, rho=s.rho, change_tol=s.change_tol, loss=s.loss, class_tree=tree)


# ------------------------------------------------------------------------------------------- trees of classes


def _tree_estimator(
    s: Any, kind: Any, data: Data, given: Mapping[str, Any], tied: Mapping[str, float], threads: int
) -> Any:
    tree = class_tree_for(s.class_tree, data.X, data.y, s.seed, depth=s.depth, delta=s.delta, exact=s.exact)
    fixed = given["lam"] is not None or s.dev is not None or not isinstance(kind, str)
    policy: Any = s.policy or ("single" if fixed else "indep")
    parameters = _parameters(s, kind, data, {**given, "lam_ratio": None}, tied, threads)
    own = {} if s.cv is None else {"folds": s.cv}
    return TreeClassifier(
        tree, policy=policy, tied=dict(tied) if policy == "indep" else None, **own, **parameters
    )


# ------------------------------------------------------------------------------------------------------ path


@spread
def path(train: Any, settings: Settings | None = None, **given: Any) -> PathViews:
    """The regularisation path: active weights, objective and, with ``dev``, the score at each strength λ.

    Takes what :func:`fit` takes, with the settings of :class:`spinney.settings.classify.Path`.

    Examples
    --------
    >>> from spinney.views import as_json
    >>> texts, labels = ["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"]
    >>> [point["active"] for point in as_json(path((texts, labels), points=3, penalty="l1"))["points"]]
    [0, 2, 2]
    """
    s: Any = settings_or(Path, settings, given)
    workers = s.threads or default_threads()
    kind = _checked_penalty(s)
    data = prepared(train, s, regression=s.regression, threads=workers)
    strengths = {"lam": None, "l1": s.l1, "l2": s.l2}
    tied = ties(kind, s.penalty is not None, data, strengths)
    estimator = _estimator(s, kind, data, strengths, tied, workers)
    points = estimator.path(data.X, data.y, n=s.points, ratio=s.ratio, tied=tied)
    model = TextModel(estimator, data.features, data.added)
    measure = "accuracy" if model.is_classifier else "r2"
    scores = {}
    for of, X, y in (("dev", data.dev_X, data.dev_y), ("training", data.X, data.y)):
        if X is not None:
            scores[f"{of} {measure}"] = [_score(estimator, point, X, y) for point in points]
    documents, features = data.X.shape
    known = {"documents": documents, "features": features, "penalty": str(kind)}
    if len(model.outputs) == 2:
        known["weights above 0 are evidence for"] = model.outputs[1]
    return path_views(weight_path(points, model.names_of(features), model.outputs, scores), known)


def _score(estimator: Any, point: PathPoint, X: Any, y: Any) -> float:
    return float(np.float64(estimator.at(point).score(X, y)))
