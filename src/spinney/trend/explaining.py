"""Why a trend forecasts what it does for a document: the contributions of its words, which add up to the forecast."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from spinney.corpus import ReadReport
from spinney.errors import InputError
from spinney.settings.trend import Explain
from spinney.trend.dates import bin_label, binned, parse_time
from spinney.trend.model import Documents, TrendModel
from spinney.trend.sources import Columns, dated_batches
from spinney.trend.timeline import Timeline
from spinney.views import Extra, Note, Table, View, summed_rows

_WHAT = {
    "regression": "The forecast is the sum of the intercept and the contributions of words at that time.",
    "classification": "The sum of the intercept and the contributions of words is the log-odds of {}.",
    "text": "The contributions are nats (−ln p): how surprising the occurrences of each word are at that time.",
}


class Forecast(NamedTuple):
    """A forecast: the time whose weights it has, what it says, and the parts whose sum that is."""

    time: str
    value: float
    contributions: list[tuple[str, float]]


def forecasts(model: TrendModel, documents: Documents) -> list[Forecast]:
    """Where the forecast of each document comes from, the largest contributions first.

    ``value`` is a number, the log-odds of the second class, or the nats of all words.
    """
    times = model._times(documents)
    X, known = model.data(documents)
    X, names = csr_array(X), model.names
    found: list[Forecast | None] = [None] * len(documents)
    for step, rows in Timeline(model.series.times_).rows(times, len(documents)):
        called = bin_label(model.series.times_[step].item(), model.every)
        for d in np.arange(len(documents))[rows].tolist():
            part = slice(int(X.indptr[d]), int(X.indptr[d + 1]))
            columns, counts = X.indices[part], X.data[part]
            if model.task == "text":
                scores = model.series.theta_[step] + model.series.coef_[step] @ known[d]
                added, before = -counts * (scores - logsumexp(scores))[columns], []
            else:
                added = counts * model.series.coef_[step][columns]
                before = [("(intercept)", float(model.series.intercept_[step]))]
            order = [i for i in np.argsort(-np.abs(added), kind="stable").tolist() if added[i]]
            parts = [*before, *((names[columns[i]], float(added[i])) for i in order)]
            found[d] = Forecast(called, sum(value for _, value in parts), parts)
    return [one for one in found if one is not None]


def explained(model: TrendModel, data: Any, s: Explain) -> list[View]:
    """A table for each document: what its words add to the forecast."""
    columns = replace(Columns.of(model.settings).other(s), time=s.time, target=None)
    at = None if s.at is None else binned([parse_time(s.at)], model.every)
    views: list[View] = [Note(_WHAT[model.task].format(model.effects[0]))]
    found: list[dict[str, Any]] = []
    for read in dated_batches(data, columns, s, model.every, ReadReport()):
        documents = (
            read.documents if at is None else replace(read.documents, times=np.repeat(at, len(read.ids)))
        )
        for id, one in zip(read.ids, forecasts(model, documents)):
            rows = summed_rows(one.contributions, s.top + (model.task != "text"))
            views.append(Table("", f"Document {id}, at {one.time}", ["word", "contribution"], rows))
            found.append({"id": id, **one._asdict(), "contributions": one.contributions[: s.top + 1]})
            if len(found) == s.documents:
                return [*views, Extra("explained", "", found)]
    if not found:
        raise InputError("no documents to explain")
    return [*views, Extra("explained", "", found)]
