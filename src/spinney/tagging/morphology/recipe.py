"""From files and settings to a morphological tagger."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from spinney.corpus import ReadReport, read_conllu
from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, shown
from spinney.settings import Settings
from spinney.tagging.morphology.tagger import MorphTagger

#: Strengths of the ℓ1 part that are tried if there are held-out sentences to choose by.
STRENGTHS = (0.1, 0.2, 0.4)


def fit_morphology(train: Any, settings: Settings) -> MorphTagger:
    """Train on CoNLL-U: files, or sentences in memory."""
    s: Any = settings
    report = ReadReport()
    sentences, files = _sentences(train, s, report)
    if not any(map(len, sentences)):
        raise InputError("no sentences", path=", ".join(files) or None)
    tagger = MorphTagger.train(sentences, s) if s.dev is None else _chosen(sentences, s)
    tagger.facts |= {"skipped": report.skipped} | ({"train": files} if files else {})
    return tagger


def _chosen(sentences: list[Sentence], s: Any) -> MorphTagger:
    """The tagger whose tags are right most often on the held-out sentences, among several strengths."""
    dev, files = _sentences(s.dev, s, ReadReport())
    if not any(map(len, dev)):
        raise InputError("no sentences", path=", ".join(files) or None)
    tried: list[tuple[float, float]] = []
    best: MorphTagger | None = None
    for l1 in STRENGTHS:
        tagger = MorphTagger.train(sentences, s.replace(l1=l1, dev=None))
        score = tagger.accuracy(dev)
        if best is None or score > max(old for _, old in tried):
            best = tagger
        tried.append((l1, score))
        if tagger.facts["interrupted"]:
            best.facts["interrupted"] = True
            break
    assert best is not None
    l1, score = max(tried, key=lambda one: one[1])
    best.facts |= {
        "chosen": f"l1 = {l1:g}, with which {score:.2%} of the words of dev are right",
        "tried": tried,
    }
    best.settings = s
    return best


def _sentences(data: Any, s: Any, report: ReadReport) -> tuple[list[Sentence], list[str]]:
    """All sentences, and the files that they come from."""
    alone = isinstance(data, str | os.PathLike) or not isinstance(data, Iterable)
    given: list[Any] = [data] if alone else list(data)
    if given and all(isinstance(one, Sentence) for one in given):
        return given, []
    if not given or not all(isinstance(one, str | os.PathLike) for one in given):
        raise InputError(f"data must be CoNLL-U files or sentences of CoNLL-U, not {shown(data)}")
    files = [os.fspath(one) for one in given]
    how = {"encoding": s.encoding, "on_error": s.on_error, "report": report}
    return [sentence for file in files for sentence in read_conllu(file, **how)], files
