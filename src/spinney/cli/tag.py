"""``spinney tag``: labels for the tokens of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spinney.cli import tag_apply, tag_eval, tag_inspect, tag_path
from spinney.cli.inputs import about, check_target
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.tag_data import plain_facts, read_labelled, show_facts, solver_options, tagger_of
from spinney.cli.tag_options import (
    L1,
    L2,
    Classes,
    DocStart,
    Encode,
    Format,
    Kind,
    Labels,
    Lam,
    MaxIter,
    MinCount,
    Option,
    Partial,
    Passes,
    Patterns,
    PenaltyName,
    Preset,
    Scheme,
    SolverName,
    Start,
    Tol,
    Train,
    Vectors,
)

if TYPE_CHECKING:
    pass


app = typer.Typer(
    help="Sequence taggers: conditional random fields with any penalty, sparse and structured.",
    no_args_is_help=True,
)


@app.command()
def fit(
    train: Train,
    model: Annotated[str, typer.Option(help="Where to write the model.")],
    preset: Preset = None,
    patterns: Patterns = None,
    classes: Classes = None,
    vectors: Vectors = None,
    kind: Kind = "crf",
    penalty: PenaltyName = "l2",
    lam: Lam = 1.0,
    l1: L1 = 0.0,
    l2: L2 = 0.0,
    solver: SolverName = "auto",
    option: Option = None,
    tol: Tol = 1e-3,
    max_iter: MaxIter = 500,
    passes: Passes = 10,
    labels: Labels = "all",
    start: Start = True,
    min_count: MinCount = 1,
    partial: Partial = False,
    scheme: Scheme = None,
    encode: Encode = None,
    unlabelled: Annotated[
        str | None,
        typer.Option(help="Sentences without labels to learn from as well (columns as in training)."),
    ] = None,
    criterion: Annotated[
        str, typer.Option(help="How to use --unlabelled: weighted, shift, entropy or self-training.")
    ] = "weighted",
    rho: Annotated[float, typer.Option(help="The strength of --criterion entropy.")] = 1e-3,
    threshold: Annotated[
        float, typer.Option(help="How sure --criterion self-training must be of a sentence.")
    ] = 0.9,
    dev: Annotated[
        str | None, typer.Option(help="Stop when the token error on this file stops falling.")
    ] = None,
    patience: Annotated[
        int, typer.Option(min=1, help="Checks on --dev without progress before stopping.")
    ] = 5,
    init: Annotated[
        str | None, typer.Option(help="Start from this model (resume, or continue on more data).")
    ] = None,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train a tagger and write it to --model."""
    begin(quiet)
    check_target(model)
    from spinney.tagging import Tagger

    tagger = tagger_of(
        preset, patterns, classes, vectors, format, model=kind, penalty=penalty, lam=lam, l1=l1, l2=l2, solver=solver,
        solver_options=solver_options(option), tol=tol, max_iter=max_iter, passes=passes, labels=labels, start=start,
        min_count=min_count, partial=partial, criterion=criterion, rho=rho, threshold=threshold, scheme=scheme,
        encode=encode, patience=patience, threads=threads, random_state=seed,
    )  # fmt: skip
    columns, skipped = read_labelled(train, format, encoding, on_error, docstart)
    held_out = read_labelled([dev], format, encoding, on_error, docstart, columns.width)[0] if dev else None
    more = None
    if unlabelled:
        from spinney.tagging.reading import read_columns_of

        more = read_columns_of(unlabelled, format, encoding=encoding, on_error=on_error, docstart=docstart)  # type: ignore[arg-type]
    interrupted = False
    try:
        with about(", ".join([*train, *([unlabelled] if unlabelled else [])])):
            tagger.fit_columns(
                columns, dev=held_out, init=Tagger.load(init) if init else None, unlabelled=more
            )
    except KeyboardInterrupt:
        if not hasattr(tagger, "facts_"):
            raise
        interrupted = True
    tagger.facts_["skipped"] = skipped
    tagger.save(model)
    emit(as_json, {"path": model, **plain_facts(tagger)}, lambda: show_facts(f"Wrote {model}", tagger))
    return 130 if interrupted else 0


app.command()(tag_apply.apply)
app.command()(tag_eval.eval)
app.command()(tag_inspect.inspect)
app.command()(tag_path.path)
