"""The output of a tagger: labels of sentences and, where the true labels are known, errors and scores."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney import progress
from spinney.corpus import ReadReport
from spinney.errors import InputError
from spinney.evaluate import conlleval_report
from spinney.model import Applied
from spinney.tagging.columns import Columns
from spinney.tagging.reading import is_pair, labelled_data, read_batches_of
from spinney.views import Extra, Facts, Lines, Table, View

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger


def applied(tagger: Tagger, data: Any, s: Any) -> Applied:
    """The labels of each sentence, with probabilities or the next best labellings on request."""
    tagger = _set(tagger, s)
    report = ReadReport()
    facts: dict[str, Any] = {}

    def records() -> Iterator[dict[str, Any]]:
        for columns in _batches(tagger, data, s, report):
            cells = [columns.strings(d) for d in range(columns.width)]
            bounds = pairwise(columns.offsets.tolist())
            for (a, b), record in zip(bounds, _labelled(tagger, columns, s)):
                yield {"columns": [column[a:b] for column in cells], **record}
        facts["skipped"] = report.skipped
        if report.skipped:
            progress.log.warning("%d sentences were skipped; the first: %s", report.skipped, report.errors[0])

    return Applied("sentences", records(), _written, facts)


def _set(tagger: Tagger, s: Any) -> Tagger:
    """The tagger, with the labelling settings applied."""
    wanted = {"decoding": s.decoding, "threads": s.threads} | ({"scheme": s.scheme} if s.scheme else {})
    changed: Tagger = copy.copy(tagger).set_params(**wanted)
    return changed


def _batches(tagger: Tagger, data: Any, s: Any, report: ReadReport) -> Iterable[Columns]:
    if not isinstance(data, str):
        return [data if isinstance(data, Columns) else tagger.columns(data)]
    how = {"encoding": s.encoding, "on_error": s.on_error, "docstart": s.docstart}
    return read_batches_of(data, s.format, report=report, **how)


def _labelled(tagger: Tagger, columns: Columns, s: Any) -> Iterator[dict[str, Any]]:
    if s.force and columns.width < 2:
        raise InputError(
            "only one column, so there are no labels to force",
            remedy="put the known labels into the last column",
        )
    inputs, allowed = tagger.force(columns) if s.force else (columns, None)
    if s.nbest > 1:
        for paths in tagger.kbest_columns(inputs, s.nbest, allowed):
            ways = [
                {"labels": tagger.names_of(way.labels), "score": way.score, "probability": way.probability}
                for way in paths
            ]
            yield {"labels": ways[0]["labels"], "nbest": ways}
    elif s.proba:
        for labels, chances in tagger.label_columns_with_probabilities(inputs, allowed):
            yield {"labels": labels, "probabilities": chances}
    else:
        yield from ({"labels": labels} for labels in tagger.label_columns(inputs, allowed))


def _written(record: dict[str, Any]) -> str:
    """One sentence as lines: its columns, the label and, on request, the probability."""
    lines = []
    for rank, way in enumerate(record.get("nbest", [record])):
        if "score" in way:
            lines.append(f"# {rank + 1} {way['score']:.6f} {way['probability']:.6f}")
        columns = [*record["columns"], way["labels"]]
        if "probabilities" in way:
            columns.append([f"{chance:.6f}" for chance in way["probabilities"]])
        lines += ["\t".join(row) for row in zip(*columns)]
        lines.append("")
    return "\n".join(lines) + "\n"


def evaluated(tagger: Tagger, data: Any, s: Any) -> list[View]:
    """Errors of tokens and sentences, and precision and recall of phrases."""
    tagger = _set(tagger, s)
    report = ReadReport()
    columns = tagger.columns(*data) if is_pair(data) else labelled_data(data, s, report)
    scores = tagger.score_columns(columns)
    texts = list(columns.pool)
    seen = {texts[symbol] for symbol in np.unique(columns.symbols[-1]).tolist()}
    unseen = sorted(seen - set(tagger.written_labels))
    scores |= {"active": tagger.facts.get("active"), "unseen_labels": unseen, "skipped": report.skipped}
    if s.conlleval:
        if "f1" not in scores:
            raise InputError("conlleval needs phrase labels (B-X, I-X, O)")
        lines = conlleval_report(scores).splitlines()
        return [Lines("", "", lines), *(Extra(name, "", value) for name, value in scores.items())]
    shown = {"unseen labels": ", ".join(unseen)} if unseen else {}
    views: list[View] = (
        [Facts("facts", "", scores), Facts("", "", shown)] if shown else [Facts("facts", "", scores)]
    )
    if "types" in scores:
        keys = ("precision", "recall", "f1", "phrases", "found")
        rows = [[kind, *(row[key] for key in keys)] for kind, row in scores["types"].items()]
        views.append(Table("", "By type", ["type", *keys], rows))
    return views
