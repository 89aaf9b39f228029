"""CoNLL-U for text: raw, tokenised, or CoNLL-U whose tokens stay."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu import Sentence, read_conllu
from spinney.corpus.lines import ReadReport, fields, read_lines
from spinney.corpus.opening import open_text
from spinney.corpus.surface import raw_text, surface_tokens
from spinney.errors import InputError, shown
from spinney.model import Applied
from spinney.progress import log

if TYPE_CHECKING:
    from spinney.pipeline.model import Pipeline

_BATCH = 200  # sentences that go through the parts together


@dataclass(frozen=True)
class Annotated:
    """A sentence with its number."""

    number: int
    sentence: Sentence

    def _asdict(self) -> dict[str, Any]:
        """The record for JSON."""
        s = self.sentence
        names = ("forms", "lemmas", "upos", "xpos", "feats", "heads", "deprels", "misc")
        found = {"number": self.number, "sentence": raw_text([s]).rstrip("\n")}
        found |= {name: getattr(s, name) for name in names}
        whole = [token for token in surface_tokens(s) if token.multiword]
        if whole:  # which words, from the first to the last, counted from 1
            found["multiword"] = [[token.start + 1, token.stop, token.form] for token in whole]
        return found


def applied(pipeline: Pipeline, data: Any, s: Any) -> Applied:
    """The sentences of text, annotated."""
    report, facts = ReadReport(), dict[str, Any]()

    def records() -> Iterator[Annotated]:
        sentences, number, size = sentences_of(pipeline, data, s, report), 0, 1
        while some := list(islice(sentences, size)):
            size = min(2 * size, _BATCH)  # the first sentence of a stream is answered at once
            for sentence in pipeline.annotate(some, until=s.until, proba=s.proba, threads=s.threads):
                number += 1
                yield Annotated(number, sentence)
        facts.update(empty=report.empty, skipped=report.skipped)
        if report.skipped:
            log.warning("%d sentences were skipped; the first: %s", report.skipped, report.errors[0])

    return Applied("sentences", records(), lambda record: f"{record.sentence}\n\n", facts)


def sentences_of(pipeline: Pipeline, data: Any, s: Any, report: ReadReport) -> Iterator[Sentence]:
    """The sentences of files or of what is given, in the format of the settings.

    From memory come sentences of CoNLL-U, or lists of words.
    """
    given = [data] if isinstance(data, str | os.PathLike) or not isinstance(data, Iterable) else data
    for one in given:
        if isinstance(one, Sentence):
            yield one
        elif isinstance(one, list | tuple) and all(isinstance(word, str) and word for word in one):
            if one:
                yield Sentence(list(one))
        elif not isinstance(one, str | os.PathLike):
            raise InputError(f"data must be files, sentences or lists of words, not {shown(one)}")
        elif s.format == "conllu":
            yield from read_conllu(one, encoding=s.encoding, on_error=s.on_error, report=report)
        elif s.format == "lines":
            for _, line in read_lines(one, encoding=s.encoding, on_error=s.on_error, report=report):
                if words := fields(line):
                    yield Sentence(words)
                else:
                    report.empty += 1
        else:
            yield from _segmented(pipeline, one, s, report)


def _segmented(pipeline: Pipeline, path: FilePath, s: Any, report: ReadReport) -> Iterator[Sentence]:
    """The sentences of a file of raw text; lines that cannot be decoded are an error, or dropped."""
    if s.on_error == "skip":
        lines = read_lines(path, encoding=s.encoding, on_error=s.on_error, report=report)
        yield from pipeline.segment(f"{line}\n" for _, line in lines)
        return
    with open_text(path, encoding=s.encoding) as stream:
        yield from pipeline.segment(stream)
