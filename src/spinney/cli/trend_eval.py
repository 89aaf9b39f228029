"""``spinney trend eval``: a fitted model on later documents, or several methods by rolling origin."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.trend_inputs import Read, Reading, Source, named_columns
from spinney.cli.trend_options import (
    Alpha,
    Classes,
    Covariates,
    Every,
    Extra,
    Features,
    Format,
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
    Tol,
    Value,
)
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    from spinney.trend import TrendModel

_METHODS = "adaptive,ridge-ts,lasso-one,lasso-all"


def evaluate(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] DATA",
            help="A model and documents to score it on; or dated documents alone, to compare methods on.",
            show_default=False,
        ),
    ],
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"The methods to compare; the first is tested against the others.  [default: {_METHODS}]"
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from", help="The first test time, where settings are chosen.  [default: the fourth last]"
        ),
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Train on no more than so many times before.")
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(
            help='The settings to try, as JSON or a file of it: {"adaptive": {"tau": [0.1, 1]}}; {} tries none.'
        ),
    ] = None,
    value: Value = None,
    label: Label = None,
    classes: Classes = None,
    covariates: Covariates = None,
    extra: Extra = None,
    text: Annotated[
        str | None, typer.Option(help="The column of the text.  [default: text, or that of the model]")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="The column of times.  [default: time, or that of the model]")
    ] = None,
    every: Every = None,
    format: Format = "auto",
    header: Annotated[
        bool | None, typer.Option(help="Whether tables have column names.  [default: yes, or as in fit]")
    ] = None,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    features: Features = None,
    min_count: MinCount = 2,
    skip_top: SkipTop = 0,
    max_features: MaxFeatures = 5000,
    ngrams: Ngrams = 1,
    lowercase: Lowercase = True,
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
) -> None:
    """Score a model on later documents (MODEL DATA), or compare methods by rolling origin (DATA).

    Rolling origin: each test time is forecast from strictly earlier ones. The first test time also chooses each
    method's settings, so the line without it is the fair one. An option such as --tau is then not varied.
    """
    begin(quiet)
    if len(paths) > 2:
        raise OptionError("give DATA to compare methods on, or MODEL DATA to score a model")
    source = Source(paths[-1], format, encoding, on_error)
    if len(paths) == 2:
        if methods or start or window or space or every:
            raise OptionError("--methods, --from, --window, --space and --every go without a model")
        given = {"text": text, "time": time, "header": header, "target": value if value is not None else label,
                 "covariates": named_columns(covariates), "extra": named_columns(extra)}  # fmt: skip
        kept = None if classes is None else [name.strip() for name in classes.split(",")]
        scores = _scores_of_model(paths[0], source, given, kept)
        emit(as_json, scores, lambda: _show_scores(scores))
        return
    wanted = Settings(value, label, classes, covariates, extra, every)
    reading = wanted.reading(text or "text", time or "time", header is not False)
    options = {"tau": tau, "lam": lam, "alpha": alpha, "noise_variance": noise_variance, "logdet": logdet,
               "solver": solver, "init": init, "tol": tol, "max_iter": max_iter}  # fmt: skip
    fixed = [name for name, option in options.items() if option is not None]
    grids = _grids(wanted.task, methods or _METHODS, space, fixed)
    model = wanted.model(
        wanted.series(**options), wanted.words(features, min_count, skip_top, max_features, ngrams, lowercase)
    )
    read = source.read(reading, wanted.every, numeric=value is not None, classes=wanted.classes)
    from spinney.trend import compare

    first = None if start is None else _bin_of(start, wanted)
    with about(source.path):
        found = compare(model, read.documents, grids, first_test=first, window=window, threads=threads)

    def show() -> None:
        from spinney.report.trend import show_comparison

        show_comparison(found)

    emit(as_json, {**found.as_dict(), "skipped": read.skipped}, show)


def _bin_of(text: str, wanted: Settings) -> Any:
    from spinney.trend.dates import binned, parse_time

    try:
        return binned([parse_time(text)], wanted.every).tolist()[0]
    except InputError as error:
        raise OptionError(f"--from: {error}") from None


def _grids(task: Any, methods: str, space: str | None, fixed: list[str]) -> dict[str, dict[str, list[Any]]]:
    """What to try of each method: what the user says, or what is built in, less what the user fixed."""
    from spinney.trend import built_in_grid

    names = [name.strip() for name in methods.split(",")]
    if len(set(names)) < len(names):
        raise OptionError(f"--methods: one is there twice in {methods!r}")
    told = _space(space)
    if told is not None and (unknown := set(told) - set(names)):
        what = f"--space: {', '.join(sorted(unknown))} not among the --methods"
        raise OptionError(what, given=min(unknown), known=names)
    grids = {}
    for name in names:
        grid = built_in_grid(task, name)
        if told is not None:
            grid = told.get(name, {})
        grids[name] = {option: values for option, values in grid.items() if option not in fixed}
    return grids


def _space(text: str | None) -> dict[str, dict[str, list[Any]]] | None:
    if text is None:
        return None
    try:
        if os.path.isfile(text):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        space = json.loads(text)
    except (OSError, ValueError) as error:
        raise OptionError(f"--space is JSON, or a file of JSON: {error}") from None
    plain = isinstance(space, dict) and all(
        isinstance(grid, dict) and all(isinstance(values, list) and values for values in grid.values())
        for grid in space.values()
    )
    if not plain:
        raise OptionError('--space is like {"ridge-ts": {"lam": [1, 10], "alpha": [1]}}')
    return space  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------ a fitted model


def _scores_of_model(
    path: str, source: Source, given: dict[str, Any], kept: list[str] | None
) -> dict[str, Any]:
    from spinney.trend import TrendModel

    fitted = TrendModel.load(path)
    with about(path):
        reading = Reading.of(fitted.facts).other(**given)
    read = source.read(reading, fitted.every, numeric=fitted.task == "regression", classes=kept)
    with about(source.path):
        _refuse_unseen(fitted, read)
        scores = fitted.scores(read.documents)
    early = scores["not_later"]
    if early:
        from spinney import progress

        progress.log.warning(
            "%s: %d of %d documents are not later than the last of the model, %s: of these it is no forecast",
            source.path, early, len(read.ids), fitted.labels[-1],
        )  # fmt: skip
    return {**scores, "active": fitted.facts.get("n_active"), "skipped": read.skipped}


def _refuse_unseen(fitted: TrendModel, read: Read) -> None:
    if fitted.task != "classification":
        return
    known = [str(label) for label in fitted.series.classes_]
    assert read.documents.targets is not None
    for id, label in zip(read.ids, read.documents.targets):
        if str(label) not in known:
            raise InputError(
                f"document {id}: the model knows {' and '.join(known)}, not {label}",
                remedy="keep those with --classes",
            )


def _show_scores(scores: dict[str, Any]) -> None:
    from spinney.report.tables import show_facts, show_rows

    apart = ("by_time", "classes")
    show_facts(
        "Scores", {name.replace("_", " "): value for name, value in scores.items() if name not in apart}
    )
    rows = [[row["time"], row["documents"], row["loss"]] for row in scores["by_time"]]
    show_rows("By time", ["time", "documents", scores["measure"]], rows)
