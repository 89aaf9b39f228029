"""``spinney classify apply`` and ``eval``: a model on other documents."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from spinney.cli.classify_options import Data, Format, Header, Label, Labels, ModelIn, Text
from spinney.cli.inputs import (
    InputOptions,
    check_kind,
    check_labels,
    labels_of,
    numbers,
    read_inputs,
    renaming,
)
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit


def apply(
    model: ModelIn,
    data: Data = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    format: Format = "auto",
    text: Text = "text",
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label documents: one line each, its id, its label (or number) and, with --proba, the probabilities."""
    begin(quiet)
    from spinney.classify import TextModel

    fitted = TextModel.load(model)
    how = InputOptions(format, text, header=header, encoding=encoding, on_error=on_error)
    read = read_inputs(data, how, need_labels=False)
    check_kind(fitted, read, model, data)
    predicted = fitted.predict(read.inputs)
    chances = fitted.predict_proba(read.inputs) if proba else None
    if as_json:
        rows: list[dict[str, Any]] = [
            {"id": id, "label": value} for id, value in zip(read.ids, predicted.tolist())
        ]
        if chances is not None:
            for row, chance in zip(rows, chances.tolist()):
                row["proba"] = dict(zip(fitted.outputs, chance))
        emit(True, {"predictions": rows}, lambda: None)
        return
    from spinney.corpus import writing

    with writing(output) as file:
        if chances is not None:
            file.write("\t".join(["id", "label", *fitted.outputs]) + "\n")
        for i, id in enumerate(read.ids):
            cells = [id, str(predicted[i])]
            if chances is not None:
                cells += [f"{chance:.6f}" for chance in chances[i]]
            file.write("\t".join(cells) + "\n")


def eval(
    model: ModelIn,
    data: Data,
    format: Format = "auto",
    text: Text = "text",
    label: Label = "label",
    labels: Labels = None,
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Accuracy, F1 and log loss on labelled documents (a regressor: squared and absolute error, R²).

    Of a tree of classes also dot_products: how many weight vectors it takes to label a document, on average.
    Labels are renamed as they were for fit, unless --labels says otherwise.
    """
    begin(quiet)
    from spinney.classify import TextModel
    from spinney.evaluate import classification_scores, regression_scores

    fitted = TextModel.load(model)
    names = labels_of(fitted) if labels is None else renaming(labels)
    how = InputOptions(format, text, label, header, encoding, on_error, names)
    read = read_inputs(data, how, need_labels=True)
    check_kind(fitted, read, model, data)
    read = check_labels(fitted, read, data, on_error)
    scores: dict[str, Any]
    if fitted.is_classifier:
        assert read.labels is not None
        X = fitted.matrix(read.inputs)
        predicted = [str(value) for value in fitted.estimator.predict(X)]
        scores = classification_scores(
            read.labels, predicted, fitted.estimator.predict_proba(X), fitted.outputs
        )
        if fitted.tree is not None:
            scores["dot_products"] = float(fitted.estimator.dot_products(X).mean())
    else:
        found = regression_scores(numbers(read, data), fitted.predict(read.inputs))
        scores = {name: value if math.isfinite(value) else None for name, value in found.items()}
    scores |= {
        "active": fitted.facts.get("n_active"),
        "skipped": read.skipped,
        "dropped": read.dropped,
    }
    emit(as_json, scores, lambda: _show_scores(scores))


def _show_scores(scores: dict[str, Any]) -> None:
    from spinney.report.tables import show_facts, show_rows

    show_facts("Scores", {name: value for name, value in scores.items() if name != "classes"})
    if "classes" in scores:
        rows = [[label, *row.values()] for label, row in scores["classes"].items()]
        show_rows("By class", ["class", "precision", "recall", "F1", "documents"], rows)
