"""The output of a morphological tagger, as CoNLL-U, and its accuracy on tagged sentences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from spinney import progress
from spinney.corpus import ReadReport, read_conllu
from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu import Sentence
from spinney.corpus.reading import plain_sentences
from spinney.corpus.waiting import in_batches
from spinney.errors import InputError, SettingError
from spinney.model import Applied
from spinney.settings.tag import Evaluate
from spinney.tagging.morphology.labels import Label
from spinney.views import Facts, Note, Section, Table, View

if TYPE_CHECKING:
    from spinney.tagging.morphology.tagger import MorphTagger

_SENTENCES, _TOKENS = 1000, 100_000  # of a batch
_OTHER = ("phrases", "proba", "force", "threshold", "abstain", "scheme", "label", "conlleval")


def applied(tagger: MorphTagger, data: Any, s: Any) -> Applied:
    """Each sentence with its UPOS, XPOS and FEATS; everything else of it is kept."""
    _refuse_other(s)
    report = ReadReport()
    facts: dict[str, Any] = {}

    def records() -> Iterator[dict[str, Any]]:
        path = data if isinstance(data, str) else None
        for some in in_batches(_read(data, s, report), _SENTENCES, path, weigh=len, heaviest=_TOKENS):
            for sentence in filled(tagger, some):
                columns = {name: getattr(sentence, name) for name in ("forms", "upos", "xpos", "feats")}
                yield {**columns, "conllu": str(sentence)}
        facts["skipped"] = report.skipped
        if report.skipped:
            progress.log.warning("%d sentences were skipped; the first: %s", report.skipped, report.errors[0])

    return Applied("sentences", records(), lambda record: record["conllu"] + "\n\n", facts)


def filled(tagger: MorphTagger, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with the tags that the tagger gives them."""
    found = []
    for sentence, tags in zip(sentences, tagger.tag([sentence.forms for sentence in sentences])):
        upos, xpos, feats = (list(column) for column in zip(*tags)) if tags else ([], [], [])
        found.append(replace(sentence, upos=upos, xpos=xpos, feats=feats))
    return found


def _read(data: Any, s: Any, report: ReadReport) -> Iterable[Sentence]:
    """The sentences of CoNLL-U files, of lines of tokens separated by spaces, or in memory."""
    files: list[Any] = [data] if isinstance(data, str | os.PathLike) else list(data)
    if not files or not all(isinstance(file, str | os.PathLike) for file in files):
        return (one if isinstance(one, Sentence) else Sentence(list(one)) for one in files)
    return chain.from_iterable(_file(file, s, report) for file in files)


def _file(path: FilePath, s: Any, report: ReadReport) -> Iterable[Sentence]:
    how = {"encoding": s.encoding, "on_error": s.on_error, "report": report}
    if s.format == "lines":
        return (Sentence(list(tokens)) for tokens in plain_sentences(path, "lines", **how) if tokens)
    if s.format not in ("auto", "conllu"):
        raise SettingError("{format} must be conllu or lines for this tagger, not {given}", given=s.format)
    return read_conllu(path, **how)


def _refuse_other(s: Any) -> None:
    """Refuse what only other taggers can do."""
    for name in _OTHER:
        if getattr(s, name, None) not in (None, False):
            raise SettingError(f"{{{name}}} is not for a morphological tagger: leave it out")
    if getattr(s, "nbest", 1) > 1:
        raise SettingError("{nbest} is not for a morphological tagger: leave it out")


def scores(
    gold: Sequence[Sequence[Label]], found: Sequence[Sequence[Label]], known: Sequence[Sequence[bool]]
) -> dict[str, Any]:
    """Accuracy of UPOS, XPOS, UFeats and all of them together, over all words and those that are not known.

    Examples
    --------
    >>> scores([[("NOUN", "N", "_"), ("VERB", "V", "_")]], [[("NOUN", "N", "_"), ("NOUN", "V", "_")]], [[True, False]])
    {'tokens': 2, 'upos': 0.5, 'xpos': 1.0, 'ufeats': 1.0, 'alltags': 0.5, 'unknown_words': 1, 'unknown_upos': 0.0, \
'unknown_xpos': 1.0, 'unknown_ufeats': 1.0, 'unknown_alltags': 0.0}
    """
    rows = [
        (k, *(a == b for a, b in zip(x, y)), x == y)
        for one, other, of_known in zip(gold, found, known)
        for x, y, k in zip(one, other, of_known)
    ]
    result: dict[str, Any] = {}
    for before, some in (("", rows), ("unknown_", [row for row in rows if not row[0]])):
        result["unknown_words" if before else "tokens"] = len(some)
        for i, name in enumerate(("upos", "xpos", "ufeats", "alltags"), start=1):
            result[before + name] = sum(row[i] for row in some) / len(some) if some else None
    return result


def evaluated(tagger: MorphTagger, data: Any, s: Any) -> list[View]:
    """What ``eval`` shows."""
    from spinney.tagging.morphology.tagger import labels_of

    _refuse_other(s)
    report = ReadReport()
    sentences = list(_read(data, s, report))
    if not any(map(len, sentences)):
        raise InputError("no sentences to score")
    found = tagger.tag([sentence.forms for sentence in sentences])
    known = [[form in tagger.words for form in sentence.forms] for sentence in sentences]
    values = scores([labels_of(sentence) for sentence in sentences], found, known)
    values |= {"accuracy": values["alltags"], "token_error": 1.0 - values["alltags"]}
    values |= {"active": tagger.facts.get("active"), "skipped": report.skipped}
    columns = ("upos", "xpos", "ufeats", "alltags")
    rows = [
        [of, n, *("–" if values[before + name] is None else values[before + name] for name in columns)]
        for of, before, n in (
            ("all", "", values["tokens"]),
            ("unknown", "unknown_", values["unknown_words"]),
        )
    ]
    return [Facts("facts", "", values), Table("", "Accuracy", ["words", "tokens", *columns], rows)]


def first_forms(data: Any, s: Any) -> list[list[str]]:
    """The words of the first ``s.documents`` sentences."""
    found = [sentence.forms for sentence in islice(_read(data, s, ReadReport()), s.documents)]
    if not found:
        raise InputError("no sentences to explain")
    return found


def page(tagger: MorphTagger, data: Any, s: Any) -> list[View]:
    """What the page of a tagger shows."""
    from spinney.tagging.morphology.views import inspection

    said = "A morphological tagger: UPOS, XPOS and FEATS of each word, by a conditional random field."
    facts, *rest = inspection(tagger, s)
    views: list[View] = [Note(said), facts]
    if data is not None:
        views.append(
            Section(
                "Accuracy",
                evaluated(tagger, data, Evaluate(format=s.format))[1:],
            )
        )
    return [*views, *rest]
