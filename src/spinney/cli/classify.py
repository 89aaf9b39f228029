"""``spinney classify``: linear classifiers and regressors of documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import Inputs, check_target, read_inputs, refuse_unseen
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    from spinney.classify import TextModel

app = typer.Typer(
    help="Text classifiers and regressors: sparse linear models with any penalty.", no_args_is_help=True
)

Train = Annotated[str, typer.Argument(help="A folder of folders (one a class), a CSV, TSV or svmlight file.")]
Data = Annotated[
    str,
    typer.Argument(help="Documents: a folder, a CSV, TSV or svmlight file, or lines; - is standard input."),
]
ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]
Format = Annotated[str, typer.Option(help="auto, folder, csv, tsv, svmlight or lines.")]
Text = Annotated[
    str, typer.Option(help="The column of the text (its name, or its number from 0 with --no-header).")
]
Label = Annotated[str, typer.Option(help="The column of the label.")]
Header = Annotated[bool, typer.Option(help="Whether tables have a line of column names.")]
Features = Annotated[str, typer.Option(help="tfidf, counts or binary.")]
Ngrams = Annotated[int, typer.Option(help="The longest n-gram of words.")]
MinCount = Annotated[int, typer.Option(help="Leave out words in fewer documents.")]
Lowercase = Annotated[bool, typer.Option(help="Whether to fold case.")]
StopWords = Annotated[str | None, typer.Option(help="english: leave out function words.")]
PenaltyName = Annotated[
    str,
    typer.Option(
        help="none, l1, l2, elasticnet, fused, group, sparse-group, group-linf, tree-l2, tree-linf, overlap, latent, "
        "trace, pairwise or nuclear."
    ),
]
L1 = Annotated[float, typer.Option(help="The ℓ1 part of group penalties.")]
L2 = Annotated[float, typer.Option(help="The ridge part of elasticnet and group penalties.")]
GroupsFile = Annotated[
    str | None, typer.Option(help="A JSON file of groups of words, for the group and tree penalties.")
]
SolverName = Annotated[str, typer.Option(help="auto, cd, lbfgs, owlqn, fista, admm, irls, newton, …")]
Tol = Annotated[float, typer.Option(help="Largest violation of optimality at which a fit counts as done.")]
MaxIter = Annotated[int, typer.Option(help="Iterations at most.")]
Regression = Annotated[bool, typer.Option("--regression", help="Labels are numbers: fit a regressor.")]


@app.command()
def fit(
    train: Train,
    model: Annotated[str, typer.Option(help="Where to write the model.")],
    format: Format = "auto",
    text: Text = "text",
    label: Label = "label",
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    features: Features = "tfidf",
    ngrams: Ngrams = 1,
    min_count: MinCount = 1,
    lowercase: Lowercase = True,
    stop_words: StopWords = None,
    penalty: PenaltyName = "l1",
    lam: Annotated[float | None, typer.Option(help="The strength λ (sum of losses).  [default: 1]")] = None,
    lam_ratio: Annotated[
        float | None, typer.Option(help="λ as a share of the λ that empties the model.")
    ] = None,
    cv: Annotated[int | None, typer.Option(help="Choose λ by cross-validation with so many folds.")] = None,
    l1: L1 = 0.0,
    l2: L2 = 0.0,
    groups: GroupsFile = None,
    solver: SolverName = "auto",
    tol: Tol = 1e-5,
    max_iter: MaxIter = 1000,
    regression: Regression = False,
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
    if sum(option is not None for option in (lam, lam_ratio, cv)) > 1:
        raise OptionError("--lam, --lam-ratio and --cv are three ways to one λ: give one")
    check_target(model)
    started = time.perf_counter()
    from spinney.classify import TextModel

    read = read_inputs(
        train,
        format,
        text=text,
        label=label,
        header=header,
        need_labels=True,
        encoding=encoding,
        on_error=on_error,
    )
    estimator = _estimator(
        regression, cv, threads, seed, penalty, lam, lam_ratio, l1, l2, solver, tol, max_iter
    )
    fitted = TextModel(estimator, _features(read, features, ngrams, min_count, lowercase, stop_words))
    X = fitted.features.fit_transform(read.inputs) if fitted.features else read.inputs
    if groups is not None:
        from spinney.structure import Groups

        estimator.set_params(groups=Groups.read_json(groups, fitted.names_of(X.shape[1])))
    ready = time.perf_counter()
    interrupted = False
    try:
        fitted.fit_matrix(X, _targets(read, regression, train), init=TextModel.load(init) if init else None)
    except KeyboardInterrupt:
        if not hasattr(estimator, "coef_"):
            raise
        interrupted = True
    done = time.perf_counter()
    fitted.facts |= {
        "skipped": read.skipped,
        "seconds": done - ready,
        "reading_seconds": ready - started,
        "entries_per_second": X.nnz / max(done - ready, 1e-9),
    }
    fitted.save(model)
    emit(as_json, {"model": model, **fitted.facts}, lambda: _show_fit(fitted, model))
    return 130 if interrupted else 0


@app.command()
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
    read = read_inputs(
        data,
        format,
        text=text,
        label="",
        header=header,
        need_labels=False,
        encoding=encoding,
        on_error=on_error,
    )
    _check_kind(fitted, read, model, data)
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


@app.command()
def eval(
    model: ModelIn,
    data: Data,
    format: Format = "auto",
    text: Text = "text",
    label: Label = "label",
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Accuracy, F1 and log loss on labelled documents (a regressor: squared and absolute error, R²)."""
    begin(quiet)
    from spinney.classify import TextModel
    from spinney.evaluate import classification_scores, regression_scores

    fitted = TextModel.load(model)
    read = read_inputs(
        data,
        format,
        text=text,
        label=label,
        header=header,
        need_labels=True,
        encoding=encoding,
        on_error=on_error,
    )
    _check_kind(fitted, read, model, data)
    if fitted.is_classifier:
        refuse_unseen(read, fitted.outputs, data, on_error)
        predicted = [str(value) for value in fitted.predict(read.inputs)]
        assert read.labels is not None
        scores = classification_scores(
            read.labels, predicted, fitted.predict_proba(read.inputs), fitted.outputs
        )
    else:
        scores = dict(regression_scores(_targets(read, True, data), fitted.predict(read.inputs)))
    scores |= {"active": fitted.facts.get("n_active"), "skipped": read.skipped}
    emit(as_json, scores, lambda: _show_scores(scores))


@app.command()
def inspect(
    model: ModelIn,
    top: Annotated[int, typer.Option(min=1, help="How many features a class.")] = 10,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What a model learnt: its facts, the words for each class, and the groups that it kept."""
    begin(quiet)
    from spinney.classify import TextModel

    fitted = TextModel.load(model)
    strongest, kept = fitted.strongest(top), fitted.group_norms()
    facts = {**fitted.facts, "strongest": strongest}
    if kept is not None:
        facts["groups"] = dict(kept)

    def show() -> None:
        from spinney.report.tables import show_facts, show_rows, show_words

        show_facts(model, {name.replace("_", " "): value for name, value in fitted.facts.items()})
        show_words(strongest)
        if kept is not None:
            selected = [row for row in kept if row[1] > 0]
            show_rows(
                f"Groups: {len(selected)} selected, {len(kept) - len(selected)} removed",
                ["group", "norm"],
                selected[:top],
            )

    emit(as_json, facts, show)


@app.command()
def path(
    train: Train,
    dev: Annotated[str | None, typer.Option(help="Documents to score each model on.")] = None,
    points: Annotated[int, typer.Option(min=2, help="How many strengths.")] = 20,
    ratio: Annotated[float, typer.Option(help="The last strength, as a share of the first.")] = 1e-2,
    format: Format = "auto",
    text: Text = "text",
    label: Label = "label",
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    features: Features = "tfidf",
    ngrams: Ngrams = 1,
    min_count: MinCount = 1,
    lowercase: Lowercase = True,
    stop_words: StopWords = None,
    penalty: PenaltyName = "l1",
    l1: L1 = 0.0,
    l2: L2 = 0.0,
    solver: SolverName = "auto",
    tol: Tol = 1e-4,
    max_iter: MaxIter = 1000,
    regression: Regression = False,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The regularisation path: active weights, objective and (with --dev) score at each strength λ."""
    begin(quiet)
    from spinney.classify import TextModel

    if not 0 < ratio < 1:
        raise OptionError(f"--ratio lies between 0 and 1, not {ratio:g}")
    how: dict[str, Any] = {
        "text": text, "label": label, "header": header, "need_labels": True, "encoding": encoding, "on_error": on_error
    }  # fmt: skip
    read = read_inputs(train, format, **how)
    held_out = read_inputs(dev, format, **how) if dev else None
    estimator = _estimator(regression, None, threads, seed, penalty, 1.0, None, l1, l2, solver, tol, max_iter)
    fitted = TextModel(estimator, _features(read, features, ngrams, min_count, lowercase, stop_words))
    X = fitted.features.fit_transform(read.inputs) if fitted.features else read.inputs
    found = estimator.path(X, _targets(read, regression, train), n=points, ratio=ratio)
    scores: list[float | None] = [None] * len(found)
    if held_out is not None:
        truth = _targets(held_out, regression, dev or "")
        dev_X = fitted.features.transform(held_out.inputs) if fitted.features else held_out.inputs
        for i, point in enumerate(found):
            scores[i] = float(estimator.at(point).score(dev_X, truth))
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

    def show() -> None:
        from spinney.report.tables import show_path

        show_path(found, scores)

    emit(as_json, {"path": rows}, show)


def _estimator(
    regression: bool,
    cv: int | None,
    threads: int | None,
    seed: int,
    penalty: str,
    lam: float | None,
    lam_ratio: float | None,
    l1: float,
    l2: float,
    solver: str,
    tol: float,
    max_iter: int,
) -> Any:
    from spinney.classify import LinearClassifier, LinearClassifierCV, LinearRegressor, LinearRegressorCV
    from spinney.parallel import default_threads

    if not tol > 0 or max_iter < 1:
        raise OptionError("--tol must be > 0 and --max-iter ≥ 1")
    common: dict[str, Any] = {
        "penalty": penalty,
        "l1": l1,
        "l2": l2,
        "solver": solver,
        "tol": tol,
        "max_iter": max_iter,
    }
    if cv is None:
        plain = LinearRegressor if regression else LinearClassifier
        return plain(lam=1.0 if lam is None else lam, lam_ratio=lam_ratio, **common)
    if cv < 2:
        raise OptionError(f"--cv needs at least 2 folds, not {cv}")
    from sklearn.model_selection import KFold, StratifiedKFold

    folds = (
        KFold(cv, shuffle=True, random_state=seed)
        if regression
        else StratifiedKFold(cv, shuffle=True, random_state=seed)
    )
    chosen = LinearRegressorCV if regression else LinearClassifierCV
    return chosen(cv=folds, threads=threads or default_threads(), **common)


def _features(
    read: Inputs, weighting: Any, ngrams: int, min_count: int, lowercase: bool, stop_words: str | None
) -> Any:
    from spinney.classify import TextFeatures

    if not read.is_text:
        return None
    return TextFeatures(
        weighting, ngrams=ngrams, min_count=min_count, lowercase=lowercase, stop_words=stop_words
    )


def _targets(read: Inputs, regression: bool, path: str) -> Any:
    import numpy as np

    assert read.labels is not None
    if not regression:
        return np.array(read.labels)
    for id, label in zip(read.ids, read.labels):
        try:
            if not np.isfinite(float(label)):
                raise ValueError
        except ValueError:
            raise InputError(
                f"document {id}: {label!r} is not a number", path=path, remedy="drop --regression"
            ) from None
    return np.array(read.labels, dtype=np.float64)


def _check_kind(fitted: TextModel, read: Inputs, model: str, data: str) -> None:
    if (fitted.features is not None) != read.is_text:
        needs, has = ("text", "numbers") if fitted.features else ("svmlight numbers", "text")
        raise InputError(f"holds {has}, but {model} was trained on {needs}", path=data)


def _show_fit(fitted: TextModel, path: str) -> None:
    from spinney.report.tables import show_facts

    show_facts(f"Wrote {path}", {name.replace("_", " "): value for name, value in fitted.facts.items()})


def _show_scores(scores: dict[str, Any]) -> None:
    from spinney.report.tables import show_facts, show_rows

    show_facts("Scores", {name: value for name, value in scores.items() if name != "classes"})
    if "classes" in scores:
        rows = [[label, *row.values()] for label, row in scores["classes"].items()]
        show_rows("By class", ["class", "precision", "recall", "F1", "documents"], rows)
