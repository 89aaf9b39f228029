"""Forecasts of a trend for documents, and their scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from spinney import progress
from spinney.corpus import ReadReport
from spinney.errors import InputError, SettingError, about
from spinney.model import Applied
from spinney.settings.trend import Apply, Evaluate
from spinney.trend.dates import binned, parse_time
from spinney.trend.model import TrendModel
from spinney.trend.sources import Columns, Read, dated_batches, paths_of, read_dated
from spinney.trend.views import score_views
from spinney.views import View


def applied(model: TrendModel, data: Any, s: Apply) -> Applied:
    """One record per document: its number or class or, for a model of text, nats (−ln p), words, and nats per word."""
    if s.proba and model.task != "classification":
        raise SettingError("{proba} needs a model of classes, which this is not")
    columns = replace(Columns.of(model.settings).other(s), time=s.time, target=None)
    at = None if s.at is None else binned([parse_time(s.at)], model.every)
    names = _columns(model, s.proba)
    report, facts = ReadReport(), dict[str, Any]()

    def records() -> Iterator[dict[str, Any]]:
        for read in dated_batches(data, columns, s, model.every, report):
            if at is not None:
                times = np.repeat(at, len(read.ids))
                read = replace(read, documents=replace(read.documents, times=times))
            with about(_named(data)):
                yield from (dict(zip(names, row)) for row in _forecasts(model, read, s.proba))
        facts["skipped"] = report.skipped
        if report.skipped:
            progress.log.warning("%s: %d documents were skipped", _named(data), report.skipped)

    header = "\t".join(names) + "\n" if s.proba or model.task == "text" else ""
    return Applied("predictions", records(), _line, facts, header)


def _line(record: dict[str, Any]) -> str:
    cells = (f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in record.values())
    return "\t".join(cells) + "\n"


def _columns(model: TrendModel, proba: bool) -> list[str]:
    if model.task == "text":
        return ["id", "nats", "words", "nats_per_word"]
    classes = [str(label) for label in model.series.classes_] if proba else []
    return ["id", "value" if model.task == "regression" else "label", *classes]


def _forecasts(model: TrendModel, read: Read, proba: bool) -> Iterator[list[Any]]:
    """One row per document."""
    documents = read.documents
    if model.task == "text":
        losses, lengths = model.losses(documents).tolist(), model.lengths(documents).tolist()
        for id, loss, n in zip(read.ids, losses, lengths):
            yield [id, loss, int(n), loss / n if n else None]
        return
    chances = model.predict_proba(documents).tolist() if proba else [[]] * len(documents)
    for id, found, chance in zip(read.ids, model.predict(documents).tolist(), chances):
        yield [id, found, *chance]


def evaluated(model: TrendModel, data: Any, s: Evaluate) -> list[View]:
    """The scores of dated documents, overall and by time."""
    columns = Columns.of(model.settings).other(s, time=s.time, target=s.target)
    read = read_dated(data, columns, s, model.every, numeric=model.task == "regression", classes=s.classes)
    with about(_named(data)):
        _refuse_unseen(model, read)
        scores = model.scores(read.documents)
    if scores["not_later"]:
        progress.log.warning(
            "%s: %d of %d documents are not later than the last time of the model, %s: they are not forecasts",
            _named(data), scores["not_later"], len(read.ids), model.labels[-1],
        )  # fmt: skip
    return score_views({**scores, "active": model.facts.get("active"), "skipped": read.skipped})


def _refuse_unseen(model: TrendModel, read: Read) -> None:
    if model.task != "classification":
        return
    known = [str(label) for label in model.series.classes_]
    assert read.documents.targets is not None
    for id, label in zip(read.ids, read.documents.targets):
        if str(label) not in known:
            raise InputError(
                f"document {id}: the model knows {' and '.join(known)}, not {label}",
                remedy="keep only documents of its classes",
            )


def _named(data: Any) -> str:
    return ", ".join(paths_of(data) or ["the documents"])
