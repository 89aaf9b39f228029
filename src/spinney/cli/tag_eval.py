"""``spinney tag eval``: error of tokens and sequences, precision and recall of phrases."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.tag_data import load_tagger, read_labelled, used_texts
from spinney.cli.tag_options import Data, DocStart, Format, ModelIn, Scheme
from spinney.errors import InputError


def eval(
    model: ModelIn,
    data: Data,
    conlleval: Annotated[
        bool, typer.Option("--conlleval", help="Print the scores as conlleval does.")
    ] = False,
    decoding: Annotated[str, typer.Option(help="viterbi or posterior.")] = "viterbi",
    scheme: Scheme = None,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Token error, sequence error and phrase scores on labelled sentences."""
    begin(quiet)
    from spinney.evaluate import conlleval_report

    tagger = load_tagger(model, decoding, scheme, threads)
    columns, skipped = read_labelled([data], format, encoding, on_error, docstart)
    with about(data):
        scores = tagger.score_columns(columns)
    seen = {text for text, used in zip(columns.pool, used_texts(columns)) if used}
    unseen = sorted(seen - set(tagger.written_labels))
    scores |= {"active": tagger.facts_.get("active"), "unseen_labels": unseen, "skipped": skipped}
    if conlleval and not as_json:
        if "f1" not in scores:
            raise InputError(
                "the labels are not of phrases (B-X, I-X, O)", path=data, remedy="leave out --conlleval"
            )
        print(conlleval_report(scores), end="")
        return
    emit(as_json, scores, lambda: _show_scores(scores))


def _show_scores(scores: dict[str, Any]) -> None:
    from spinney.report.tables import show_facts, show_rows

    show_facts("Scores", {name.replace("_", " "): value for name, value in scores.items() if name != "types"})
    if "types" in scores:
        keys = ("precision", "recall", "f1", "phrases", "found")
        rows = [[kind, *(row[key] for key in keys)] for kind, row in scores["types"].items()]
        show_rows("By type", ["type", *keys], rows)
