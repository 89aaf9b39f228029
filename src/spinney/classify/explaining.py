"""Why a model gives a document its label: the contributions of words to the log-odds, which add up to the margin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spinney.classify.documents import documents_for
from spinney.classify.model import TextModel
from spinney.classify.selection import Floats
from spinney.classify.views import DocumentViews, way_views
from spinney.classify.ways import tree_ways
from spinney.errors import InputError
from spinney.structure import Groups
from spinney.views import Extra, Facts, Table, View, summed_rows


class Judgement(NamedTuple):
    """What a model says of a document, and why.

    ``margin`` is the log-odds of the label against the ``rival``, the next best class; of a regressor, it is the
    predicted number. It is the sum of the intercept and of all contributions, the largest of which come first.
    """

    label: Any
    rival: str
    margin: float
    intercept: float
    contributions: list[tuple[str, float]]
    groups: list[tuple[str, float]]


def judgements(model: TextModel, inputs: Any) -> list[Judgement]:
    """What speaks for the predicted label of each document, word by word.

    Groups have the sum of the contributions of their members; a word may be in several.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier, TextFeatures
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> [found] = judgements(model, ["fun fun, never dull"])
    >>> found.label, [(word, round(value, 2)) for word, value in found.contributions]
    ('+', [('fun', 5.89), ('dull', -2.94)])
    """
    from scipy.sparse import csr_array

    X = csr_array(model.matrix(inputs))
    estimator, names = model.estimator, model.names
    predicted = estimator.predict(X).tolist()
    margins = estimator.decision_function(X) if model.is_classifier else np.zeros(len(predicted))
    groups = estimator.groups if isinstance(estimator.groups, Groups) else None
    found = []
    for d, label in enumerate(predicted):
        row, intercept, rival = _direction(model, label, margins[d])
        start, stop = X.indptr[d : d + 2]
        columns = X.indices[start:stop]
        added = X.data[start:stop] * row[columns]
        order = [i for i in np.argsort(-np.abs(added), kind="stable").tolist() if added[i]]
        words = [(str(names[columns[i]]), float(added[i])) for i in order]
        by_group = [] if groups is None else _by_group(groups, columns, added)
        found.append(Judgement(label, rival, float(added.sum() + intercept), intercept, words, by_group))
    return found


def _direction(model: TextModel, label: Any, margin: Any) -> tuple[Floats, float, str]:
    """The weights whose sum over a document is the margin, the intercept, and the class that the label is ahead of."""
    coef, intercept = model.coef, np.atleast_1d(model.estimator.intercept_)
    if not model.is_classifier:
        return coef[0], float(intercept[0]), ""
    y = model.outputs.index(str(label))
    if len(coef) == 1:
        sign = 1.0 if y else -1.0
        return sign * coef[0], sign * float(intercept[0]), model.outputs[1 - y]
    z = int(np.where(np.arange(len(coef)) == y, -np.inf, margin).argmax())
    return coef[y] - coef[z], float(intercept[y] - intercept[z]), model.outputs[z]


def _by_group(groups: Groups, columns: Any, added: Floats) -> list[tuple[str, float]]:
    of_feature = np.zeros(groups.n_features)
    of_feature[columns] = added
    sizes = np.diff(groups.ptr)
    which = np.repeat(np.arange(len(sizes)), sizes)
    sums = np.bincount(which, of_feature[groups.members], minlength=len(sizes))
    called = groups.names
    order = [g for g in np.argsort(-np.abs(sums), kind="stable").tolist() if sums[g]]
    return [(called[g] if called else f"group {g}", float(sums[g])) for g in order]


def explained(model: TextModel, data: Any, s: Any) -> list[View]:
    """For each document, what speaks for its label: words, groups and sentences, or its path down a tree."""
    read = documents_for(model, data, s, need_labels=False)
    inputs, ids = read.inputs[: s.documents], read.ids[: s.documents]
    if not len(ids):
        raise InputError("no documents to explain")
    if model.tree is not None:
        return way_views(ids, tree_ways(model, inputs, s.top))
    views: list[View] = []
    found = []
    shown = DocumentViews(model) if model.features is not None else None
    for i, (id, one) in enumerate(zip(ids, judgements(model, inputs))):
        views += _views(str(id), one, s.top)
        if shown is not None:
            odds = shown.odds(inputs[i])
            views.append(shown.view(f"Document {id}, by sentences: {shown.said(odds)}", odds))
        top = {name: getattr(one, name)[: s.top] for name in ("contributions", "groups")}
        found.append({"id": id, **one._asdict(), **top})
    return [*views, Extra("explained", "", found)]


def _views(id: str, one: Judgement, top: int) -> list[View]:
    """The words of a document, and its groups, with their contributions."""
    rows = summed_rows([("(intercept)", one.intercept), *one.contributions], top + 1)
    against = f" against {one.rival}" if one.rival else ""
    title = f"Document {id}: {one.label}{against}"
    views: list[View] = [Table("", title, ["word", "log-odds" if one.rival else "contribution"], rows)]
    if one.groups:
        views.append(Facts("", "Groups", dict(one.groups[:top])))
    return views
