"""``spinney tag apply``: labels for sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.tag_data import load_tagger
from spinney.cli.tag_options import Data, DocStart, Format, ModelIn, Scheme
from spinney.errors import InputError

if TYPE_CHECKING:
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns


def apply(
    model: ModelIn,
    data: Data = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each label given.")] = False,
    nbest: Annotated[
        int, typer.Option(min=1, help="Give so many labellings of each sentence, best first.")
    ] = 1,
    decoding: Annotated[
        str, typer.Option(help="viterbi (best labelling) or posterior (best labels).")
    ] = "viterbi",
    scheme: Scheme = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="The last column says what is known of the labels: A, A|B, or _ for any."
        ),
    ] = False,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label sentences: each line comes back with its label added. Reads endless input as it comes."""
    begin(quiet)
    from spinney import progress
    from spinney.corpus import ReadReport, writing
    from spinney.tagging.reading import read_batches_of

    tagger = load_tagger(model, decoding, scheme, threads)
    report = ReadReport()
    batches = read_batches_of(
        data, format, encoding=encoding, on_error=on_error, report=report, docstart=docstart  # type: ignore[arg-type]
    )  # fmt: skip
    if as_json:
        with about(data):
            labelled = [
                entry for columns in batches for entry in _entries(tagger, columns, proba, nbest, force)
            ]
        emit(True, {"sentences": labelled, "skipped": report.skipped}, lambda: None)
        return
    with about(data), writing(output) as file:
        for columns in batches:
            rows = [columns.strings(d) for d in range(columns.width)]
            bounds = columns.offsets.tolist()
            for i, entry in enumerate(_entries(tagger, columns, proba, nbest, force)):
                cells = [column[bounds[i] : bounds[i + 1]] for column in rows]
                file.write(_written(cells, entry, nbest))
            file.flush()
    if report.skipped:
        progress.log.warning("%d sentences passed over, the first: %s", report.skipped, report.errors[0])


def _entries(tagger: Tagger, columns: Columns, proba: bool, nbest: int, force: bool) -> list[dict[str, Any]]:
    """The labels of each sentence, with probabilities or with the next best if wanted."""
    if force and columns.width < 2:
        raise InputError("one column only: nothing to force", remedy="put what is known into a last column")
    inputs, allowed = tagger.force(columns) if force else (columns, None)
    if nbest > 1:
        return [
            {
                "labels": tagger.names_of(paths[0].labels),
                "nbest": [
                    {
                        "labels": tagger.names_of(path.labels),
                        "score": path.score,
                        "probability": path.probability,
                    }
                    for path in paths
                ],
            }
            for paths in tagger.kbest_columns(inputs, nbest, allowed)
        ]
    if proba:
        return [
            {"labels": labels, "probabilities": chances}
            for labels, chances in tagger.label_columns_with_probabilities(inputs, allowed)
        ]
    return [{"labels": labels} for labels in tagger.label_columns(inputs, allowed)]


def _written(cells: list[list[str]], entry: dict[str, Any], nbest: int) -> str:
    """One sentence as lines: its columns, the label and, if wanted, the probability."""
    ways = entry["nbest"] if nbest > 1 else [entry]
    lines = []
    for rank, way in enumerate(ways):
        if nbest > 1:
            lines.append(f"# {rank + 1} {way['score']:.6f} {way['probability']:.6f}")
        columns = [*cells, way["labels"]]
        if "probabilities" in way:
            columns.append([f"{chance:.6f}" for chance in way["probabilities"]])
        lines += ["\t".join(row) for row in zip(*columns)]
        lines.append("")
    return "\n".join(lines) + "\n"
