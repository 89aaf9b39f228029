"""The page of a classifier or regressor: its words, groups or tree, scores, documents, and training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import formats
from spinney.classify.documents import documents_for, reading
from spinney.classify.model import TextModel
from spinney.classify.readout import model_groups, model_size, weights_by_class
from spinney.classify.scoring import score_views, scores_of
from spinney.classify.views import (
    DocumentViews,
    branch_name,
    fact_views,
    group_views,
    sharing_views,
    size_views,
    tree_views,
    way_table,
)
from spinney.classify.ways import tree_ways
from spinney.corpus import ReadReport
from spinney.errors import SpinneyError
from spinney.evaluate import confusion_map
from spinney.optim.paths import how_chosen
from spinney.settings.report import Report
from spinney.views import Bars, Columns, Extra, Facts, Note, Section, Table, View

_CLASSES = 50  # classes whose words are shown
_NODES = 30  # nodes of a tree, and branches of a node, whose words are shown
_MATRIX = 40  # maximum number of classes in a confusion matrix
_START = 300  # letters shown of a document with its path


@dataclass(frozen=True)
class Evidence:
    """Documents with a model's predictions and, if their labels are known, its scores."""

    inputs: Any
    ids: Sequence[str]
    labels: Sequence[str] | None
    predicted: list[str]
    proba: NDArray[np.float64] | None
    scores: dict[str, Any] | None


def evidence(model: TextModel, inputs: Any, ids: Sequence[str], labels: Sequence[str] | None) -> Evidence:
    """Try a model on documents; labels that are not among its classes are errors (for a regressor, labels are numbers).

    Examples
    --------
    >>> from spinney.classify import LinearClassifier, TextFeatures
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> evidence(model, ["such fun"], ["1"], ["+"]).scores["accuracy"]
    1.0
    """
    X = model.matrix(inputs)
    predicted = [str(value) for value in model.estimator.predict(X).tolist()]
    proba = model.estimator.predict_proba(X) if model.has_probabilities else None
    scores = None if labels is None else scores_of(model, inputs, labels)
    return Evidence(inputs, ids, labels, predicted, proba, scores)


def report(model: TextModel, data: Any, s: Report) -> list[View]:
    """The views of the page; ``data`` are documents, with or without labels.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier, TextFeatures
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> [view.title for view in report(model, None, Report()) if isinstance(view, Section)]
    ['Words', 'Training and size']
    """
    return page_views(model, None if data is None else _tried(model, data, s), s.documents, s.top)


def page_views(model: TextModel, tried: Evidence | None, documents: int = 10, top: int = 20) -> list[View]:
    """The page of a model, with predictions for documents or on its own."""
    size = model_size(model)
    what = f"classifier with {len(model.outputs)} classes" if model.is_classifier else "regressor"
    what += ", arranged in a tree" if model.tree is not None else ""
    known: dict[str, object] = {
        "trained on": f"{trained:,} documents"
        if (trained := model.facts.get("documents")) is not None
        else None,
        "features": size.features,
        "weights ≠ 0": f"{size.active:,} of {size.parameters:,} ({size.share:.2%})",
        "penalty": model.facts.get("penalty"),
    }
    sections: list[View] = []
    if model.tree is not None:  # for groups, the facts of training say how many were selected
        sections += [Section("Tree", tree_views(model.tree)), _branches(model, top)]
    else:
        sections.append(_words(model, top))
        status = model_groups(model, top=10 * top, words=12)
        if status is not None:
            sections.append(Section("Groups", group_views(model, status)))
        if model.output_tree is not None:
            sections.append(Section("Tree", sharing_views(model, model.output_tree, top)))
    if tried is not None:
        if tried.scores is not None:
            main = "accuracy" if model.is_classifier else "r2"
            known[f"{main} on {len(tried.ids):,} documents"] = tried.scores[main]
            sections.append(_scores(model, tried))
        if model.features is not None and documents:
            sections.append((_documents if model.tree is None else _ways)(model, tried, documents))
        sections += [Extra("documents", "", len(tried.ids)), Extra("scores", "", tried.scores)]
    return [
        Note(f"A linear {what}."),
        Facts("", "", known),
        *sections,
        *choice_views(model),
        _training(model),
    ]


def choice_views(model: TextModel) -> list[View]:
    """How the strengths of a model were chosen, if it records that."""
    measure = "accuracy" if model.is_classifier else "R²"
    found = [model.facts.get(how) for how in ("tuning", "choice")]
    chosen = [
        how_chosen(one.get("tried"), measure, model.facts.get("lam"))
        for one in found
        if isinstance(one, dict)
    ]
    return [view for views in chosen for view in views]


def _training(model: TextModel) -> Section:
    views = fact_views(model)
    if model.features is not None:
        how = model.features
        features: dict[str, Any] = {"weighting": how.weighting, "longest n-gram": how.ngrams}
        features |= {"lower case": how.lowercase, "stop words": how.stop_words or "kept"}
        features["minimum documents per word"] = how.min_count
        views.append(Facts("", "Features", features))
    return Section("Training and size", [*views, *size_views(model)])


def _words(model: TextModel, top: int) -> Section:
    found = weights_by_class(model, top)
    shown = [_bars(label, words, k) for k, (label, words) in enumerate(list(found.items())[:_CLASSES])]
    about = "The features with the largest weights" + (" of each class." if model.is_classifier else ".")
    return Section("Words", [Note(about), Columns(shown), *_left(len(found) - len(shown), "classes")])


def _bars(title: str, words: Sequence[tuple[str, float]], colour: int) -> View:
    return Bars("", title, words, colour) if words else Section(title, [Note("No weights.", faint=True)])


def _left(n: int, of: str) -> list[View]:
    return [Note(f"{n:,} more {of} are not shown.", faint=True)] if n > 0 else []


def _branches(model: TextModel, top: int) -> Section:
    """The words of the branches of the first nodes."""
    views: list[View] = [
        Note(
            "For each branch of a node, the features with the strongest evidence for it, from the root down."
        )
    ]
    for found in model.words_by_node(top, nodes=_NODES):
        sides = [
            _bars(branch_name(branch.classes), branch.words, b)
            for b, branch in enumerate(found.branches[:_NODES])
        ]
        more = _left(len(found.branches) - len(sides), "branches")
        views.append(Section(f"Node {found.node}", [Columns(sides), *more]))
    assert model.tree is not None
    return Section("Words", [*views, *_left(len(model.tree.parent) - len(model.tree) - _NODES, "nodes")])


# ----------------------------------------------------------------------------------------------- documents


def _tried(model: TextModel, data: Any, s: Report) -> Evidence:
    """The model on documents; whether they have labels is detected, unless the settings name a column of labels."""
    labelled = s.label is not None or (
        _has_labels(data, s) if isinstance(data, str) else isinstance(data, tuple)
    )
    read = documents_for(model, data, _Reading(s), need_labels=labelled)
    return evidence(model, read.inputs, read.ids, read.labels if labelled else None)


class _Reading:
    """The settings of a report, in the form that reading documents needs."""

    def __init__(self, s: Report) -> None:
        self.format, self.header, self.encoding, self.on_error = s.format, s.header, s.encoding, s.on_error
        self.text, self.label = s.text or "text", s.label or "label"


def _has_labels(data: str, s: Report) -> bool:
    """Whether documents come with labels. Errors are left to be reported when the documents are read."""
    format = reading(_Reading(s)).format_of(data)
    if format == "folder":
        with suppress(OSError):
            return any(entry.is_dir() and not entry.name.startswith(".") for entry in Path(data).iterdir())
    if data == "-" or not s.header or not formats.FORMATS[format].rows:
        return format in ("svmlight", "trees")
    with suppress(SpinneyError):
        how = {"encoding": s.encoding, "on_error": s.on_error, "report": ReadReport()}
        rows = formats.reader(format, "rows")(data, **how)
        return "label" in next(iter(rows))[1]
    return False


def _scores(model: TextModel, tried: Evidence) -> Section:
    assert tried.scores is not None
    assert tried.labels is not None
    views = [
        Facts("", "", {k: v for k, v in tried.scores.items() if k != "classes"}),
        *score_views(tried.scores)[1:],
    ]
    if model.is_classifier:
        views.append(_confusions(model.outputs, tried.labels, tried.predicted))
    return Section("Scores", views)


def _confusions(outputs: Sequence[str], truth: Sequence[str], predicted: Sequence[str]) -> View:
    """A matrix or, for very many classes, the most frequent errors."""
    if len(outputs) <= _MATRIX:
        return replace(confusion_map(truth, predicted, outputs, of="class"), key="", title="Confusions")
    errors = Counter(pair for pair in zip(truth, predicted) if pair[0] != pair[1])
    rows = [
        [true, label, n] for (true, label), n in sorted(errors.items(), key=lambda row: (-row[1], row[0]))
    ]
    return Table("", "Confusions", ["true class", "predicted", "documents"], rows[:_MATRIX])


def chosen_documents(tried: Evidence, outputs: Sequence[str], n: int) -> list[int]:
    """The documents to show: the most confident errors, up to half of them, then the first ones, in order.

    Examples
    --------
    >>> tried = Evidence([], "abcd", ["x", "y", "y", "y"], ["x", "x", "x", "y"],
    ...     np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.1, 0.9]]), None)
    >>> chosen_documents(tried, ["x", "y"], 2)
    [0, 2]
    """
    wrong: list[int] = []
    if tried.labels is not None and tried.proba is not None:
        errors = [i for i, label in enumerate(tried.labels) if label != tried.predicted[i]]
        place = {label: k for k, label in enumerate(outputs)}
        chances = {
            i: tried.proba[i, place[tried.labels[i]]] if tried.labels[i] in place else 0.0 for i in errors
        }
        wrong = sorted(errors, key=chances.__getitem__)[: n // 2]
    first = [i for i in range(len(tried.ids)) if i not in wrong][: n - len(wrong)]
    return sorted(wrong + first)


def _documents(model: TextModel, tried: Evidence, n: int) -> Section:
    what = "the log-odds log p(class | document) − log p(class | document without the sentence)"
    what = what if model.is_classifier else "what the sentence adds to the predicted number"
    views: list[View] = [
        Note(
            f"The number before each sentence is {what}, unless it is tiny. The colour of a word is that of the "
            "class on which it has the largest weight; evidence against that class is dotted."
        )
    ]
    shown = DocumentViews(model)
    for i in chosen_documents(tried, model.outputs, n):
        odds = shown.odds(tried.inputs[i])
        sentences = model.features.sentences_of(tried.inputs[i]) if model.features else []
        said = Note(f"Predicted: {shown.said(odds)}{_truth(model, tried, i)}")
        left = _left(len(sentences) - len(odds.sentences), "sentences")
        views.append(Section(tried.ids[i], [said, shown.view("", odds), *left]))
    return Section("Documents", views)


def _ways(model: TextModel, tried: Evidence, n: int) -> Section:
    """The paths of documents down a class tree."""
    chosen = chosen_documents(tried, model.outputs, n)
    views: list[View] = [
        Note(
            "The path of a document down the tree: the branch taken at each node, its probability there, and the "
            "words that matter most, with their contributions."
        )
    ]
    for i, way in zip(chosen, tree_ways(model, [tried.inputs[i] for i in chosen])):
        said = f"Predicted: {way.label}, with probability {way.probability:.3f}{_truth(model, tried, i)}"
        text = " ".join(str(tried.inputs[i]).split())
        start = text if len(text) <= _START else text[:_START] + " …"
        views.append(Section(tried.ids[i], [Note(said), Note(start, faint=True), way_table("", way)]))
    return Section("Documents", views)


def _truth(model: TextModel, tried: Evidence, i: int) -> str:
    """Whether a prediction is correct, if the truth is known."""
    if tried.labels is None:
        return ""
    right = model.is_classifier and tried.labels[i] == tried.predicted[i]
    return ", which is correct." if right else f"; the true value is {tried.labels[i]}."
