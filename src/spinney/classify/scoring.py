"""The output of a classifier for documents: labels and, where the true labels are known, scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from spinney import progress
from spinney.classify.documents import document_batches, documents_for
from spinney.classify.model import TextModel
from spinney.corpus import ReadReport
from spinney.corpus.labelled import unseen_labels
from spinney.errors import InputError
from spinney.evaluate import classification_scores, confusion_map, regression_scores
from spinney.evaluate.calibration import answered_scores, confidence_scores, reliability, reliability_table
from spinney.model import Applied
from spinney.views import Facts, HeatMap, Note, Table, View

UNANSWERED = "_"  # the label of a document on which the model abstains


def applied(model: TextModel, data: Any, s: Any) -> Applied:
    """The label (or number) of each document and, on request, the probabilities of the classes."""
    if s.proba or s.abstain is not None:
        model.check_probabilities()
    header = "\t".join(["id", "label", *model.outputs]) + "\n" if s.proba else ""
    report, facts = ReadReport(), dict[str, Any]()

    def records() -> Iterator[dict[str, Any]]:
        for read in document_batches(model, data, s, report):
            X = model.matrix(read.inputs)
            asked = s.proba or s.abstain is not None
            chances: Any = model.estimator.predict_proba(X) if asked else None
            for i, (id, label) in enumerate(zip(read.ids, model.estimator.predict(X).tolist())):
                if s.abstain is not None and chances[i, model.outputs.index(str(label))] < s.abstain:
                    label = UNANSWERED
                found = {"id": id, "label": label}
                yield found | ({"proba": dict(zip(model.outputs, chances[i].tolist()))} if s.proba else {})
        facts["skipped"] = report.skipped
        if report.skipped:
            progress.log.warning("%d documents were skipped, the first: %s", report.skipped, report.errors[0])

    def text(record: dict[str, Any]) -> str:
        cells = [record["id"], str(record["label"])]
        cells += [f"{chance:.6f}" for chance in record.get("proba", {}).values()]
        return "\t".join(cells) + "\n"

    return Applied("predictions", records(), text, facts, header)


def confusion(model: TextModel, data: Any, s: Any) -> HeatMap:
    """Which classes are taken for which, in labelled documents."""
    if not model.is_classifier:
        raise InputError("a regression model has no classes to confuse")
    read = documents_for(model, data, s, need_labels=True)
    predicted = model.estimator.predict(model.matrix(read.inputs)).tolist()
    assert read.labels is not None
    return confusion_map(map(str, read.labels), map(str, predicted), model.outputs, of="class")


def scores_of(model: TextModel, inputs: Any, labels: Sequence[Any]) -> dict[str, Any]:
    """Accuracy, F1 and log loss (for a regressor, errors and R²); along a tree, also dot products."""
    X = model.matrix(inputs)
    predicted = model.estimator.predict(X)
    if not model.is_classifier:
        found = regression_scores([float(label) for label in labels], predicted)
        return {name: value if math.isfinite(value) else None for name, value in found.items()}
    proba = model.estimator.predict_proba(X) if model.has_probabilities else None
    scores: dict[str, Any] = classification_scores(
        [str(label) for label in labels], [str(value) for value in predicted], proba, model.outputs
    )
    if model.tree is not None:
        scores["dot_products"] = float(model.estimator.dot_products(X).mean())
    return scores


def evaluated(model: TextModel, data: Any, s: Any) -> list[View]:
    """The scores of a model on labelled documents; labels are renamed as for the fit, unless settings say otherwise."""
    read = documents_for(model, data, s, need_labels=True)
    assert read.labels is not None
    if s.abstain is not None:
        model.check_probabilities()
    scores = scores_of(model, read.inputs, read.labels)
    views: list[View] = []
    if model.is_classifier and model.has_probabilities and len(read.labels):
        chances, right = _answers(model, read.inputs, read.labels)
        scores |= confidence_scores(chances, right)
        if s.abstain is not None:
            scores |= answered_scores(chances, right, s.abstain)
        bins = reliability(chances, right)
        views.append(reliability_table(bins, "reliability", "Documents by the probability of their label"))
    more = {"active": model.facts.get("active"), "skipped": read.skipped, "dropped": read.dropped}
    if model.is_classifier:
        more["unseen_labels"] = unseen = sorted(unseen_labels(map(str, read.labels), model.outputs))
        if unseen:
            views.append(Note(f"Never seen in training: {', '.join(unseen)}"))
    return score_views({**scores, **more}) + views


def _answers(model: TextModel, inputs: Any, labels: Sequence[Any]) -> tuple[list[float], list[bool]]:
    """The probability of the predicted label of each document, and whether it is right."""
    X = model.matrix(inputs)
    predicted = [str(label) for label in model.estimator.predict(X).tolist()]
    chances, number = model.estimator.predict_proba(X), {name: k for k, name in enumerate(model.outputs)}
    of_predicted = [float(chances[i, number[label]]) for i, label in enumerate(predicted)]
    return of_predicted, [str(true) == label for true, label in zip(labels, predicted)]


def score_views(scores: dict[str, Any]) -> list[View]:
    """Scores, overall and by class."""
    views: list[View] = [Facts("facts", "", scores)]
    if "classes" in scores:
        rows = [[label, *row.values()] for label, row in scores["classes"].items()]
        views.append(Table("", "By class", ["class", "precision", "recall", "F1", "documents"], rows))
    return views
