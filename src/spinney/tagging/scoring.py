"""The output of a tagger: labels of sentences and, where the true labels are known, errors and scores."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.corpus import ReadReport
from spinney.corpus.frames import frame_tokens, is_frame
from spinney.corpus.lines import fields
from spinney.errors import InputError
from spinney.evaluate import confusion_map, conlleval_report, tagging_scores
from spinney.evaluate.calibration import answered_scores, confidence_scores, reliability, reliability_table
from spinney.evaluate.chunks import are_of_phrases, chunks
from spinney.model import Applied
from spinney.tagging.columns import Columns
from spinney.tagging.encoding import is_label_of, scheme_of
from spinney.tagging.labelling import UNKNOWN
from spinney.tagging.reading import (
    check_label,
    format_of,
    is_pair,
    labelled_data,
    read_batches_of,
    read_conllu_batches,
)
from spinney.views import Extra, Facts, Folded, HeatMap, Lines, Table, View

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger

_LINES = 10_000  # lines between two sentences that are kept until the next


def applied(tagger: Tagger, data: Any, s: Any) -> Applied:
    """The labels of each sentence, with probabilities or the next best labellings on request.

    Everything else that the file has is kept: blank lines and ``-DOCSTART-`` lines of columns, so that lines of the
    output match those of the input, and all of CoNLL-U but the universal part of speech, which is the label.
    """
    return labelled_by(_set(tagger, s), data, s)


def labelled_by(tagger: Any, data: Any, s: Any) -> Applied:
    """The same with a tagger that is set already: anything that has its ``answers``."""
    if s.phrases:
        return _phrase_table(tagger, data, s)
    report = ReadReport()
    facts: dict[str, Any] = {}
    in_conllu = isinstance(data, str) and format_of(data, s) == "conllu"

    def records() -> Iterator[dict[str, Any]]:
        if in_conllu:
            yield from _conllu_records(tagger, data, s, report)
        else:
            lines: list[str] = []  # before the next sentence
            for columns in batches_of(tagger, data, s, report):
                lines += [_beside(line, tagger, s) for line in (columns.between or [[]])[0]]
                if len(columns):
                    yield from _records(tagger, columns, s, lines)
                    lines = []
                elif len(lines) > _LINES:  # there may be no sentence at all
                    yield {"columns": [], "labels": [], "before": lines}
                    lines = []
            if lines:
                yield {"columns": [], "labels": [], "before": lines}
        _report_skipped(report, facts)

    return Applied("sentences", records(), _written_conllu if in_conllu else _written, facts)


def _report_skipped(report: ReadReport, facts: dict[str, Any]) -> None:
    facts["skipped"] = report.skipped
    if report.skipped:
        progress.log.warning("%d sentences were skipped; the first: %s", report.skipped, report.errors[0])


_PHRASE = ("sentence", "start", "end", "type", "words", "probability")


def _phrase_table(tagger: Tagger, data: Any, s: Any) -> Applied:
    """A record for each phrase: its sentence, counted from 1, and its tokens, as a slice of Python has them."""
    report = ReadReport()
    facts: dict[str, Any] = {}

    def records() -> Iterator[dict[str, Any]]:
        before = 0
        for columns in batches_of(tagger, data, s, report):
            words, offsets = columns.strings(0), columns.offsets.tolist()
            inputs, allowed = _forced(tagger, columns, s)
            found = tagger.answers(inputs, allowed, phrases=True, threshold=s.threshold or 0.0)
            for i, answer in enumerate(found):
                for start, end, kind, chance in answer.phrases:
                    said = " ".join(words[offsets[i] + start : offsets[i] + end])
                    yield dict(zip(_PHRASE, (before + i + 1, start, end, kind, said, chance)))
            before += len(columns)
        facts["sentences"] = before
        _report_skipped(report, facts)

    def text(record: dict[str, Any]) -> str:
        cells = [str(record[name]) for name in _PHRASE[:-1]]
        return "\t".join([*cells, f"{record['probability']:.6f}"]) + "\n"

    return Applied("phrases", records(), text, facts, "\t".join(_PHRASE) + "\n")


def _records(tagger: Tagger, columns: Columns, s: Any, before: list[str]) -> Iterator[dict[str, Any]]:
    """A record for each sentence of a batch; with the lines around it, where they are more than a blank line."""
    between = iter(columns.between[1:] if columns.between else ())
    cells = [columns.strings(d) for d in range(columns.width)]
    bounds = pairwise(columns.offsets.tolist())
    for (a, b), record in zip(bounds, _labelled(tagger, columns, s)):
        found = {"columns": [column[a:b] for column in cells], **record}
        if before:
            found["before"] = before
        after = [_beside(line, tagger, s) for line in next(between, [""])]
        if after != [""]:
            found["after"] = after
        before = []
        yield found


def _beside(line: str, tagger: Tagger, s: Any) -> str:
    """A line between sentences, in as many columns as those with labels; a ``-DOCSTART-`` line has no label."""
    if not line:
        return ""
    label = "O" if "O" in tagger.written_labels else "-X-"  # as in CoNLL-2003
    return "\t".join([*fields(line), label, *["_"] * s.proba])


def _conllu_records(tagger: Tagger, data: str, s: Any, report: ReadReport) -> Iterator[dict[str, Any]]:
    how = {"encoding": s.encoding, "on_error": s.on_error}
    for columns, sentences in read_conllu_batches(data, report=report, **how):
        for sentence, record in zip(sentences, _labelled(tagger, columns, s)):
            yield {
                "columns": [sentence.forms, sentence.upos],
                **record,
                "conllu": [_relabelled(sentence, way, rank) for rank, way in enumerate(_ways(record))],
            }


def _relabelled(sentence: Any, way: dict[str, Any], rank: int) -> str:
    """A sentence of CoNLL-U with these parts of speech, and all the rest as it was."""
    comments, misc = sentence.comments, sentence.misc
    if "score" in way:
        said = f"# nbest = {rank + 1} score {way['score']:.6f} probability {way['probability']:.6f}"
        comments = [*comments, said]
    if "probabilities" in way:
        each = zip(misc or ["_"] * len(sentence), way["probabilities"])
        misc = [f"{'' if old == '_' else old + '|'}UposProb={chance:.6f}" for old, chance in each]
    return str(replace(sentence, upos=way["labels"], comments=comments, misc=misc))


def _ways(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The labellings of a sentence: one, or the best ones."""
    ways: list[dict[str, Any]] = record.get("nbest", [record])
    return ways


def _written_conllu(record: dict[str, Any]) -> str:
    return "".join(text + "\n\n" for text in record["conllu"])


def _set(tagger: Tagger, s: Any) -> Tagger:
    """The tagger, with the labelling settings applied."""
    wanted = {"decoding": s.decoding, "threads": s.threads} | ({"scheme": s.scheme} if s.scheme else {})
    changed: Tagger = copy.copy(tagger).set_params(**wanted)
    unsure = s.scheme and changed.encoding_ is None and changed.facts.get("label_scheme") is None
    if unsure and all(is_label_of(label, s.scheme) for label in changed.labels_):
        progress.log.warning(
            "the labels that the model learned follow no single scheme: it gives only those sequences of them "
            "that are valid in %s",
            s.scheme,
        )
    return changed


def batches_of(tagger: Any, data: Any, s: Any, report: ReadReport) -> Iterable[Columns]:
    """The sentences of a file in batches, or sentences in memory."""
    if is_frame(data):
        return [tagger.columns(frame_tokens(data))]
    if not isinstance(data, str):
        return [data if isinstance(data, Columns) else tagger.columns(data)]
    format = format_of(data, s)
    check_label(s, format)
    how = {"label": s.label, "encoding": s.encoding, "on_error": s.on_error, "docstart": s.docstart}
    return read_batches_of(data, format, report=report, **how)


def _forced(tagger: Tagger, columns: Columns, s: Any) -> tuple[Columns, NDArray[np.bool_] | None]:
    """The sentences, and the labels that they may have if the last column restricts them."""
    if not s.force:
        return columns, None
    if columns.width < 2:
        raise InputError(
            "only one column, so there are no labels to force",
            remedy="put the known labels into the last column",
        )
    return tagger.force(columns)


def _labelled(tagger: Tagger, columns: Columns, s: Any) -> Iterator[dict[str, Any]]:
    inputs, allowed = _forced(tagger, columns, s)
    if s.nbest > 1:
        for paths in tagger.kbest_columns(inputs, s.nbest, allowed):
            ways = [
                {"labels": tagger.names_of(way.labels), "score": way.score, "probability": way.probability}
                for way in paths
            ]
            yield {"labels": ways[0]["labels"], "nbest": ways}
        return
    sure = s.abstain or 0.0
    for labels, chances, _ in tagger.answers(
        inputs, allowed, proba=s.proba or sure > 0, threshold=s.threshold or 0.0
    ):
        if sure > 0:
            labels = [label if p >= sure else UNKNOWN for label, p in zip(labels, chances)]
        yield {"labels": labels, "probabilities": chances} if s.proba else {"labels": labels}


def _written(record: dict[str, Any]) -> str:
    """One sentence as lines: its columns, the label and, on request, the probability."""
    lines = list(record.get("before", ()))
    ways = _ways(record) if record["columns"] else []
    for rank, way in enumerate(ways):
        if "score" in way:
            lines.append(f"# {rank + 1} {way['score']:.6f} {way['probability']:.6f}")
        columns = [*record["columns"], way["labels"]]
        if "probabilities" in way:
            columns.append([f"{chance:.6f}" for chance in way["probabilities"]])
        lines += ["\t".join(row) for row in zip(*columns)]
        if rank < len(ways) - 1:
            lines.append("")
    lines += record.get("after", [""] if ways else [])
    return "".join(line + "\n" for line in lines)


def confusion(tagger: Tagger, data: Any, s: Any) -> HeatMap:
    """Which labels are taken for which, in labelled sentences."""
    tagger.check_fitted()
    tagger = _set(tagger, s)
    columns = tagger.columns(*data) if is_pair(data) else labelled_data(data, s, ReadReport())
    if not columns.n_tokens:
        raise InputError("no sentences to label")
    truth = columns.strings(-1)
    predicted = tagger.in_scheme_of(columns, tagger.label_columns(columns.without_last()))
    return confusion_map(truth, chain.from_iterable(predicted), tagger.written_labels)


def evaluated(tagger: Tagger, data: Any, s: Any) -> list[View]:
    """Errors of tokens and sentences, and precision and recall of phrases."""
    return judged_by(_set(tagger, s), data, s)


def judged_by(tagger: Any, data: Any, s: Any) -> list[View]:
    """The same with a tagger that is set already: anything that has its ``answers``."""
    report = ReadReport()
    columns = tagger.columns(*data) if is_pair(data) else labelled_data(data, s, report)
    scores, bins = _judged(tagger, columns, s)
    texts = list(columns.pool)
    seen = {texts[symbol] for symbol in np.unique(columns.symbols[-1]).tolist()}
    unseen = sorted(seen - set(tagger.written_labels))
    if tagger.written_scheme != scheme_of(
        columns
    ):  # labels of another scheme are converted: only types count
        kinds = {label.partition("-")[2] for label in tagger.written_labels}
        unseen = [label for label in unseen if label.partition("-")[2] not in kinds]
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
    return views + bins


def _judged(tagger: Tagger, columns: Columns, s: Any) -> tuple[dict[str, Any], list[View]]:
    """All scores of a tagger on sentences, and how far its probabilities can be trusted."""
    if not columns.n_tokens:
        raise InputError("no sentences to score")
    texts, bounds = list(columns.pool), columns.offsets.tolist()
    every = [texts[symbol] for symbol in columns.symbols[-1].tolist()]
    gold = [every[a:b] for a, b in pairwise(bounds)]
    of_phrases = are_of_phrases(tagger.labels_)
    answers = list(
        tagger.answers(columns.without_last(), proba=True, phrases=of_phrases, threshold=s.threshold or 0.0)
    )
    labels = list(tagger.in_scheme_of(columns, (answer.labels for answer in answers)))
    scores = tagging_scores(gold, labels)
    chances = [p for answer in answers for p in answer.probabilities]
    right = [x == y for truth, guess in zip(gold, labels) for x, y in zip(truth, guess)]
    scores |= confidence_scores(chances, right)
    if s.abstain is not None:
        scores |= answered_scores(chances, right, s.abstain)
    views: list[View] = []
    phrases = [phrase.probability for answer in answers for phrase in answer.phrases]
    if phrases and "f1" in scores:
        found = [
            (kind, start, end) in true
            for answer, truth in zip(answers, gold)
            for true in [set(chunks(truth))]
            for start, end, kind, _ in answer.phrases
        ]
        scores |= confidence_scores(phrases, found, before="phrase_")
        bins = reliability(phrases, found)
        views.append(reliability_table(bins, "phrase_reliability", "Phrases by their probability"))
    table = reliability_table(reliability(chances, right), "reliability", "Tokens by their probability")
    return scores, [*views, Folded(table.title, [table]) if views else table]
