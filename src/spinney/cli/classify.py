"""``spinney classify``: linear classifiers and regressors of documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli import classify_apply, classify_inspect
from spinney.cli import classify_options as opt
from spinney.cli.classify_data import Data, prepare
from spinney.cli.classify_groups import GroupOptions
from spinney.cli.classify_tree import check_tree, tree_classifier
from spinney.cli.classify_tuning import (
    Search,
    cv_facts,
    overlap_strengths,
    show_trials,
    trial_rows,
    tuning_facts,
)
from spinney.cli.inputs import InputOptions, check_target, renaming
from spinney.cli.options import Encoding, Json, OnError, Quiet, ReportOut, Seed, Threads, begin, emit
from spinney.cli.paths import write_path
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.classify import TextModel, Tuned
    from spinney.structure import Groups

app = typer.Typer(
    help="Text classifiers and regressors: sparse linear models with any penalty.", no_args_is_help=True
)


@app.command()
def fit(
    train: opt.Train,
    model: Annotated[str, typer.Option(help="Where to write the model.")],
    format: opt.Format = "auto",
    text: opt.Text = "text",
    label: opt.Label = "label",
    labels: opt.Labels = None,
    header: opt.Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    features: opt.Features = "tfidf",
    tokens: opt.Tokens = None,
    ngrams: opt.Ngrams = 1,
    min_count: opt.MinCount = 1,
    lowercase: opt.Lowercase = True,
    stop_words: opt.StopWords = None,
    penalty: opt.PenaltyName = None,
    lam: Annotated[
        float | None,
        typer.Option(
            help="The strength λ (sum of losses).  [default: 1; with --groups alone what suits them]"
        ),
    ] = None,
    lam_ratio: Annotated[
        float | None, typer.Option(help="λ as a share of the λ that empties the model.")
    ] = None,
    cv: Annotated[int | None, typer.Option(help="Choose λ by cross-validation with so many folds.")] = None,
    l1: opt.L1 = None,
    l2: opt.L2 = None,
    groups: opt.GroupsSpec = None,
    group_weights: opt.GroupWeights = None,
    strengths: opt.Strengths = None,
    neighbours: opt.Neighbours = None,
    keep: opt.Keep = None,
    parses: opt.Parses = None,
    parser: opt.ParserFile = None,
    dev: Annotated[
        str | None,
        typer.Option(help="Choose λ, l1 and l2 on these documents, or on a share of the training data: 0.2."),
    ] = None,
    tune: Annotated[str | None, typer.Option(help="How: grid, random or optuna.  [default: grid]")] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="How many settings random and optuna try.  [default: 30]")
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(help='What to try: "lam=0.001,0.01;l1=0.1,1;l2=1", or ranges: "lam=0.001..1".'),
    ] = None,
    solver: opt.SolverName = "auto",
    rho: opt.Rho = None,
    tol: opt.Tol = 1e-5,
    max_iter: opt.MaxIter = 1000,
    regression: opt.Regression = False,
    tree: opt.ClassTreeSpec = None,
    init: Annotated[
        str | None, typer.Option(help="Start from this model (resume, or continue on more data).")
    ] = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train a classifier (or, with --regression, a regressor) and write it to --model."""
    begin(quiet)
    if tree is not None:
        others = {
            "--regression": regression, "--lam-ratio": lam_ratio, "--cv": cv, "--dev": dev, "--tune": tune,
            "--trials": trials, "--space": space, "--rho": rho, "--init": init,
        }  # fmt: skip
        check_tree(tree, others)
    ways = {"--lam": lam, "--lam-ratio": lam_ratio, "--cv": cv}
    if sum(way is not None for way in ways.values()) > 1:
        raise OptionError("--lam, --lam-ratio and --cv are three ways to one λ: give one")
    search = Search.of(dev, tune, trials, space)
    for option, value in {"--cv": cv, "--init": init}.items():
        if search is not None and value is not None:
            raise OptionError(f"{option} does not go with --dev, which chooses by fitting from nothing")
    grouping = GroupOptions.of(groups, group_weights, strengths, neighbours, keep, parses, parser)
    names = renaming(labels)
    how = InputOptions(format, text, label, header, encoding, on_error, names)
    check_target(model)
    started = time.perf_counter()
    from spinney.classify import TextModel
    from spinney.parallel import default_threads

    wanted = _features(features, tokens, ngrams, min_count, lowercase, stop_words)
    workers = threads or default_threads()
    data = prepare(train, dev, how, wanted, grouping, regression=regression, threads=workers, seed=seed)
    ready = time.perf_counter()
    given = {"lam": lam, "lam_ratio": lam_ratio, "l1": l1, "l2": l2}
    kind = penalty or ("overlap" if grouping else "l1")
    chosen = given if search or penalty else _assumed(given, data)
    solving = _solving(solver, rho, tol, max_iter, workers)
    if tree is not None:
        estimator = tree_classifier(tree, data, seed, {"penalty": kind, **chosen, **solving})
    else:
        estimator = _estimator(regression, cv, seed, kind, data.groups, **chosen, **solving)
    fitted = TextModel(estimator, data.features)
    begun = time.perf_counter()
    tuned, interrupted = None, False
    try:
        if search is not None:
            tried = search.space_for(kind, data, given)
            tuned = search.run(estimator, tried, data, threads=workers, seed=seed)
            fitted.estimator, interrupted = tuned.estimator, tuned.interrupted
            fitted.note_facts(data.X)
        if not interrupted:
            fitted.fit_matrix(data.X, data.y, init=TextModel.load(init) if init else None)
    except KeyboardInterrupt:
        if not hasattr(fitted.estimator, "coef_"):
            raise
        interrupted = True
    seconds = time.perf_counter() - ready
    if search is not None and tuned is not None:
        fitted.facts["tuning"] = tuning_facts(search, tuned, data)
    if cv is not None and hasattr(fitted.estimator, "scores_"):
        fitted.facts["cross_validation"] = cv_facts(fitted.estimator)
    fitted.facts |= {"skipped": data.read.skipped, "dropped": data.read.dropped}
    fitted.facts |= {"labels": names} if names else {}
    fitted.facts |= {"tree": tree, "tree_seconds": begun - ready} if tree is not None else {}
    fitted.facts |= {"seconds": seconds, "reading_seconds": ready - started}
    fitted.facts["entries_per_second"] = data.X.nnz / max(seconds, 1e-9)
    fitted.save(model)
    told = {"model": model, **fitted.facts} | ({"trials": trial_rows(tuned)} if tuned else {})
    emit(as_json, told, lambda: _show_fit(fitted, model, tuned))
    return 130 if interrupted else 0


app.command()(classify_apply.apply)
app.command()(classify_apply.eval)
app.command()(classify_inspect.inspect)


@app.command()
def path(
    train: opt.Train,
    dev: Annotated[
        str | None,
        typer.Option(help="Documents to score each model on, or a share of the training data: 0.2."),
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="How many strengths.")] = 20,
    ratio: Annotated[float, typer.Option(help="The last strength, as a share of the first.")] = 1e-2,
    report: ReportOut = None,
    format: opt.Format = "auto",
    text: opt.Text = "text",
    label: opt.Label = "label",
    labels: opt.Labels = None,
    header: opt.Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    features: opt.Features = "tfidf",
    tokens: opt.Tokens = None,
    ngrams: opt.Ngrams = 1,
    min_count: opt.MinCount = 1,
    lowercase: opt.Lowercase = True,
    stop_words: opt.StopWords = None,
    penalty: opt.PenaltyName = None,
    l1: opt.L1 = None,
    l2: opt.L2 = None,
    groups: opt.GroupsSpec = None,
    group_weights: opt.GroupWeights = None,
    strengths: opt.Strengths = None,
    neighbours: opt.Neighbours = None,
    keep: opt.Keep = None,
    parses: opt.Parses = None,
    parser: opt.ParserFile = None,
    solver: opt.SolverName = "auto",
    rho: opt.Rho = None,
    tol: opt.Tol = 1e-4,
    max_iter: opt.MaxIter = 1000,
    regression: opt.Regression = False,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The regularisation path: active weights, objective and (with --dev) score at each strength λ."""
    begin(quiet)
    if not 0 < ratio < 1:
        raise OptionError(f"--ratio lies between 0 and 1, not {ratio:g}")
    if report is not None:
        check_target(report)
    grouping = GroupOptions.of(groups, group_weights, strengths, neighbours, keep, parses, parser)
    how = InputOptions(format, text, label, header, encoding, on_error, renaming(labels))
    from spinney.parallel import default_threads

    wanted = _features(features, tokens, ngrams, min_count, lowercase, stop_words)
    workers = threads or default_threads()
    data = prepare(train, dev, how, wanted, grouping, regression=regression, threads=workers, seed=seed)
    kind = penalty or ("overlap" if grouping else "l1")
    given = {"lam": None, "lam_ratio": None, "l1": l1, "l2": l2}
    chosen = given if penalty else _assumed(given, data)
    solving = _solving(solver, rho, tol, max_iter, workers)
    estimator = _estimator(regression, None, seed, kind, data.groups, **chosen, **solving)
    found = estimator.path(data.X, data.y, n=points, ratio=ratio)
    scores = _path_scores(estimator, found, data)
    rows = [
        {
            "lam": p.lam,
            "active": p.active,
            "objective": p.objective,
            "violation": p.violation,
            "seconds": p.seconds,
            "dev": s,
        }
        for p, s in zip(found, scores)
    ]
    facts: dict[str, Any] = {"points": rows}
    if report is not None:
        _report_path(report, train, kind, estimator, found, data)
        facts["report"] = report

    def show() -> None:
        from spinney.report.tables import show_path

        show_path(found, scores)

    emit(as_json, facts, show)


def _report_path(report: str, train: str, penalty: str, estimator: Any, found: list[Any], data: Data) -> None:
    """The page of the path: weights by their words, and scores on training and held-out documents."""
    from spinney.classify import TextModel
    from spinney.report.path_page import classifier_path

    measure = "accuracy" if hasattr(estimator, "predict_proba") else "r2"
    scores = {}
    for of, X, y in (("dev", data.dev_X, data.dev_y), ("training", data.X, data.y)):
        if X is not None:
            scores[f"{of} {measure}"] = [float(estimator.at(point).score(X, y)) for point in found]
    model = TextModel(estimator, data.features)
    path = classifier_path(found, model.names_of(data.X.shape[1]), model.outputs, scores)
    known = {"documents": data.X.shape[0], "features": data.X.shape[1], "penalty": penalty}
    if len(model.outputs) == 2:
        known["weights above 0 speak for"] = model.outputs[1]
    write_path(
        report, path, train, "The regularisation path of a linear model: λ falls, weights come in.", known
    )


def _path_scores(estimator: Any, found: list[Any], data: Data) -> list[float | None]:
    if data.dev_X is None:
        return [None] * len(found)
    return [float(estimator.at(point).score(data.dev_X, data.dev_y)) for point in found]


def _features(
    weighting: str, tokens: str | None, ngrams: int, min_count: int, lowercase: bool, stop_words: str | None
) -> dict[str, Any]:
    return {
        "weighting": weighting,
        "tokens": tokens,
        "ngrams": ngrams,
        "min_count": min_count,
        "lowercase": lowercase,
        "stop_words": stop_words,
    }


def _solving(solver: str, rho: float | None, tol: float, max_iter: int, threads: int) -> dict[str, Any]:
    if not tol > 0 or max_iter < 1:
        raise OptionError("--tol must be > 0 and --max-iter ≥ 1")
    return {"solver": solver, "rho": rho, "tol": tol, "max_iter": max_iter, "threads": threads}


def _assumed(given: dict[str, float | None], data: Data) -> dict[str, float | None]:
    """The strengths of a penalty that nobody named: of groups, what suits them where nothing was given."""
    if data.groups is None:
        return given
    assumed = overlap_strengths(data.weighting, data.groups)
    return {name: assumed.get(name) if value is None else value for name, value in given.items()}


def _estimator(
    regression: bool, cv: int | None, seed: int, penalty: str, groups: Groups | None, **parameters: Any
) -> Any:
    from spinney.classify import LinearClassifier, LinearClassifierCV, LinearRegressor, LinearRegressorCV

    for name, value in {"lam": 1.0, "l1": 0.0, "l2": 0.0}.items():
        parameters[name] = value if parameters[name] is None else parameters[name]
    parameters |= {"penalty": penalty, "groups": groups}
    if cv is None:
        return (LinearRegressor if regression else LinearClassifier)(**parameters)
    if cv < 2:
        raise OptionError(f"--cv needs at least 2 folds, not {cv}")
    if parameters["rho"] is not None:
        raise OptionError("--rho does not go with --cv: choose λ by --dev")
    from sklearn.model_selection import KFold, StratifiedKFold

    folds = (KFold if regression else StratifiedKFold)(cv, shuffle=True, random_state=seed)
    others = {name: value for name, value in parameters.items() if name not in ("lam", "lam_ratio", "rho")}
    return (LinearRegressorCV if regression else LinearClassifierCV)(cv=folds, **others)


def _show_fit(fitted: TextModel, path: str, tuned: Tuned | None) -> None:
    from spinney.report.tables import show_facts

    show_facts(f"Wrote {path}", classify_inspect.told_facts(fitted))
    if tuned is not None:
        show_trials(tuned)
