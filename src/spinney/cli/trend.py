"""``spinney trend``: models of dated text whose coefficients change over time."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about, check_target
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.trend_eval import evaluate
from spinney.cli.trend_inputs import Read, Reading, Source, named_columns
from spinney.cli.trend_options import (
    Alpha,
    Classes,
    Covariates,
    Every,
    Extra,
    Features,
    Format,
    Header,
    Init,
    Label,
    Lam,
    LogDetName,
    Lowercase,
    MaxFeatures,
    MaxIter,
    MinCount,
    Ngrams,
    NoiseVariance,
    Settings,
    SkipTop,
    SolverName,
    Tau,
    Text,
    Time,
    Tol,
    Value,
)
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.report.page import Page
    from spinney.trend import TrendModel

app = typer.Typer(
    help="Trends: words whose weights change over time, fitted, forecast and shown.", no_args_is_help=True
)

ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]


@app.command()
def fit(
    data: Annotated[
        str,
        typer.Argument(help="Dated documents: a CSV or TSV file, or a folder of years; - is standard input."),
    ],
    model: Annotated[str, typer.Option(help="Where to write the model.")],
    value: Value = None,
    label: Label = None,
    classes: Classes = None,
    covariates: Covariates = None,
    extra: Extra = None,
    text: Text = "text",
    time: Time = "time",
    every: Every = None,
    format: Format = "auto",
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    features: Features = None,
    min_count: MinCount = 2,
    skip_top: SkipTop = 0,
    max_features: MaxFeatures = 5000,
    ngrams: Ngrams = 1,
    lowercase: Lowercase = True,
    method: Annotated[
        str,
        typer.Option(help="adaptive, sparse, ridge-ts, ridge-one, ridge-all, lasso-one or lasso-all."),
    ] = "adaptive",
    tau: Tau = None,
    lam: Lam = None,
    alpha: Alpha = None,
    noise_variance: NoiseVariance = None,
    logdet: LogDetName = None,
    solver: SolverName = None,
    init: Init = None,
    tol: Tol = None,
    max_iter: MaxIter = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Fit series of weights to dated documents, to numbers (--value), two classes (--label) or the words alone."""
    begin(quiet)
    check_target(model)
    started = clock.perf_counter()
    wanted = Settings(value, label, classes, covariates, extra, every)
    reading = wanted.reading(text, time, header)
    read = Source(data, format, encoding, on_error).read(
        reading, wanted.every, numeric=value is not None, classes=wanted.classes
    )
    series = wanted.series(method=method, tau=tau, lam=lam, alpha=alpha, noise_variance=noise_variance,
                           logdet=logdet, solver=solver, init=init, tol=tol, max_iter=max_iter)  # fmt: skip
    words = wanted.words(features, min_count, skip_top, max_features, ngrams, lowercase)
    fitted = wanted.model(series, words)
    ready = clock.perf_counter()
    interrupted = False
    with about(data):
        try:
            fitted.fit(read.documents)
        except KeyboardInterrupt:
            if "objective" not in fitted.facts:
                raise
            interrupted = True
    seconds = clock.perf_counter() - ready
    fitted.facts |= {
        "skipped": read.skipped,
        "seconds": seconds,
        "reading_seconds": ready - started,
        "entries_per_second": fitted.facts["entries"] / max(seconds, 1e-9),
        "reading": reading.facts(),
    }
    fitted.save(model)

    def show() -> None:
        from spinney.report.trend import show_fit

        show_fit(f"Wrote {model}", fitted.facts)

    emit(as_json, {"model": model, **fitted.facts}, show)
    return 130 if interrupted else 0


@app.command()
def apply(
    model: ModelIn,
    data: Annotated[
        str, typer.Argument(help="Documents: a CSV or TSV file, a folder, or lines; - is standard input.")
    ] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    time: Annotated[
        str | None, typer.Option(help="The column of times, to use the weights of each document's time.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="One time for all documents, rather than the last.")] = None,
    text: Annotated[str | None, typer.Option(help="The column of the text.  [default: that of fit]")] = None,
    covariates: Covariates = None,
    extra: Extra = None,
    format: Format = "auto",
    header: Annotated[
        bool | None, typer.Option(help="Whether tables have column names.  [default: as in fit]")
    ] = None,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forecast: one line a document, its number or class; of a model of text, nats (−ln p), words, nats a word."""
    begin(quiet)
    if time is not None and at is not None:
        raise OptionError("--time names a column, --at a time: give one")
    from spinney.trend import TrendModel

    fitted = TrendModel.load(model)
    with about(model):
        reading = Reading.of(fitted.facts)
    reading = reading.other(
        text=text, header=header, covariates=named_columns(covariates), extra=named_columns(extra)
    )
    reading = Reading(reading.text, time, None, reading.covariates, reading.extra, reading.header)
    read = Source(data, format, encoding, on_error).read(reading, fitted.every)
    if at is not None:
        read = _all_at(read, at, fitted)
    with about(data):
        header_line, rows = _forecasts(fitted, read, proba)
    if as_json:
        emit(True, {"predictions": [dict(zip(header_line, row)) for row in rows]}, lambda: None)
        return
    from spinney.corpus import writing

    with writing(output) as file:
        if proba or fitted.task == "text":
            file.write("\t".join(header_line) + "\n")
        for row in rows:
            file.write(
                "\t".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row) + "\n"
            )


def _all_at(read: Read, at: str, fitted: TrendModel) -> Read:
    from dataclasses import replace

    from spinney.trend.dates import binned, parse_time

    times = binned([parse_time(at)] * len(read.ids), fitted.every)
    return replace(read, documents=replace(read.documents, times=times))


def _forecasts(fitted: TrendModel, read: Read, proba: bool) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns, and a row for each document."""
    documents = read.documents
    if fitted.task == "text":
        if proba:
            raise OptionError("--proba: a model of text has no classes")
        losses, lengths = fitted.losses(documents).tolist(), fitted.lengths(documents).tolist()
        each = [[id, loss, int(n), loss / n if n else None] for id, loss, n in zip(read.ids, losses, lengths)]
        return ["id", "nats", "words", "nats_a_word"], each
    name = "value" if fitted.task == "regression" else "label"
    rows: list[list[Any]] = [list(pair) for pair in zip(read.ids, fitted.predict(documents).tolist())]
    if not proba:
        return ["id", name], rows
    chances = fitted.predict_proba(documents).tolist()
    classes = [str(label) for label in fitted.series.classes_]
    return ["id", name, *classes], [[*row, *chance] for row, chance in zip(rows, chances)]


app.command(name="eval")(evaluate)


@app.command()
def inspect(
    model: ModelIn,
    top: Annotated[int, typer.Option(min=1, help="How many series of each kind.")] = 10,
    words: Annotated[str | None, typer.Option(help="Show the series of these words: oil,war.")] = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The strongest series, those that changed most, how stiff they are, and what is expected of them next."""
    begin(quiet)
    from spinney.report import trend as views
    from spinney.trend import TrendModel

    fitted = TrendModel.load(model)
    with about(model):
        found = views.read_out(fitted, top, _asked(words))
    emit(as_json, found.as_dict(), lambda: views.show_read_out(model, found))


def _asked(words: str | None) -> Sequence[str]:
    return [word.strip() for word in words.split(",") if word.strip()] if words else []


def report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of ``spinney report`` for a trend model."""
    import os

    from spinney.report.trend_page import trend_page
    from spinney.trend import TrendModel

    if wanted.data is not None:
        raise OptionError("--data: the page of trend models shows no documents")
    fitted = TrendModel.load(wanted.model)
    return trend_page(fitted, os.path.basename(wanted.model), top=wanted.top), {"labels": fitted.labels}
