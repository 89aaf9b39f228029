"""``spinney tag path``: taggers along a path of strengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about, check_target
from spinney.cli.options import Encoding, Json, OnError, Quiet, ReportOut, Seed, Threads, begin, emit
from spinney.cli.paths import write_path
from spinney.cli.tag_data import read_labelled, solver_options, tagger_of
from spinney.cli.tag_options import (
    L1,
    L2,
    Classes,
    DocStart,
    Encode,
    Format,
    Labels,
    MaxIter,
    MinCount,
    Option,
    Patterns,
    PenaltyName,
    Preset,
    SolverName,
    Start,
    Tol,
    Train,
    Vectors,
)
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns


def path(
    train: Train,
    dev: Annotated[str | None, typer.Option(help="Sentences to score each model on.")] = None,
    lams: Annotated[
        str | None, typer.Option(help="Strengths, as 4,2,1; by default a grid from the largest.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="How many strengths.")] = 10,
    ratio: Annotated[float, typer.Option(help="The last strength, as a share of the first.")] = 1e-2,
    model: Annotated[
        str | None, typer.Option(help="Where to write the model with the lowest error on --dev.")
    ] = None,
    report: ReportOut = None,
    preset: Preset = None,
    patterns: Patterns = None,
    classes: Classes = None,
    vectors: Vectors = None,
    penalty: PenaltyName = "elasticnet",
    l1: L1 = 0.0,
    l2: L2 = 0.01,
    solver: SolverName = "auto",
    option: Option = None,
    tol: Tol = 1e-3,
    max_iter: MaxIter = 500,
    labels: Labels = "all",
    start: Start = True,
    min_count: MinCount = 1,
    encode: Encode = None,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The regularisation path: error on --dev, active weights and seconds at each strength λ, warm-started."""
    begin(quiet)
    if model is not None:
        check_target(model)
        if dev is None:
            raise OptionError("--model keeps the best model on --dev: give --dev")
    if report is not None:
        check_target(report)
    if not 0 < ratio < 1:
        raise OptionError(f"--ratio lies between 0 and 1, not {ratio:g}")
    tagger = tagger_of(
        preset, patterns, classes, vectors, format, penalty=penalty, l1=l1, l2=l2, solver=solver,
        solver_options=solver_options(option), tol=tol, max_iter=max_iter, labels=labels, start=start,
        min_count=min_count, encode=encode, threads=threads, random_state=seed,
    )  # fmt: skip
    strengths = _numbers(lams)
    columns, _ = read_labelled(train, format, encoding, on_error, docstart)
    held_out = read_labelled([dev], format, encoding, on_error, docstart, columns.width)[0] if dev else None
    from spinney.tagging import Tagger

    rows: list[dict[str, Any]] = []
    collected = None
    if report is not None:
        from spinney.report.path_page import TaggerPath

        collected = TaggerPath()
    with about(", ".join(train)):
        for point in tagger.path(columns, strengths, dev=held_out, n=points, ratio=ratio):
            row = {"lam": point.lam, "active": point.n_active, "seconds": point.seconds}
            row |= {"objective": point.objective, "violation": point.violation}
            row |= {name: point.scores[name] for name in ("token_error", "f1") if name in point.scores}
            if model is not None and all(row["token_error"] < old["token_error"] for old in rows):
                tagger.save(model)
            rows.append(row)
            if collected is not None:
                collected.add(tagger, point, _path_scores(tagger, point, columns))
    if model is not None:  # the best is on disk, and now it is known what it was chosen from
        best = Tagger.load(model)
        best.facts_["tried"] = rows
        best.save(model)
    facts: dict[str, Any] = {"points": rows}
    if report is not None and collected is not None:
        known = {"sentences": len(columns), "tokens": columns.n_tokens, "labels": len(tagger.labels_)}
        what = f"The regularisation path of a tagger: models of one penalty ({penalty}), λ falling."
        write_path(report, collected.path(), ", ".join(train), what, known)
        facts["report"] = report

    def show() -> None:
        from spinney.report.tables import show_rows

        header = list(rows[0]) if rows else []
        show_rows("Regularisation path", header, [list(row.values()) for row in rows])

    emit(as_json, facts, show)


def _path_scores(tagger: Tagger, point: Any, train: Columns) -> dict[str, float]:
    """The scores of a point for its page: on held-out sentences if there are any, and on those of training."""
    known = (("dev", point.scores), ("training", tagger.score_columns(train)))
    names = {"token_error": "token error", "f1": "F1"}
    return {
        f"{of} {name}": scores[key] for key, name in names.items() for of, scores in known if key in scores
    }


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"--lams are numbers parted by commas, not {text!r}") from None
    if not all(0 <= number < float("inf") for number in numbers):
        raise OptionError(f"--lams are finite and not below 0: {text}")
    return numbers
