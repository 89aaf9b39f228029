"""Scores of pipelines: the metrics of the CoNLL 2018 shared task."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.corpus.conllu import Sentence, read_conllu
from spinney.corpus.lines import ReadReport
from spinney.corpus.surface import raw_text
from spinney.errors import InputError, OptionError
from spinney.evaluate.conll18 import METRICS, Scores, conll18
from spinney.evaluate.significance import BootstrapResult, paired_bootstrap_f1
from spinney.kinds import load_task
from spinney.parsing.treebanks import paths_of
from spinney.structure.reading import is_model
from spinney.views import Extra, Facts, Note, Share, Table, View

if TYPE_CHECKING:
    from spinney.pipeline.model import Pipeline

#: The metrics that need trees, and those that need lemmas.
_OF_TREES = ("UAS", "LAS", "CLAS", "MLAS", "BLEX")
_OF_LEMMAS = ("Lemmas", "BLEX")
#: Of these the names without more are those of numbers.
_COUNTED = {"Tokens": "tokens_f1", "Sentences": "sentences_f1", "Words": "words_f1"}
_NAMES = {
    "sentences": "sentences", "tokens": "tokens", "start": "starting from", "seconds": "seconds",
    "tokens_per_second": "tokens per second", "skipped": "bad sentences skipped",
}  # fmt: skip


def treebank(data: Any, s: Any, report: ReadReport) -> list[Sentence]:
    """The sentences of CoNLL-U files, or those that are given; an error if there are none."""
    files = paths_of(data)
    how = {"encoding": s.encoding, "on_error": s.on_error, "report": report}
    found = list(data) if files is None else [one for file in files for one in read_conllu(file, **how)]
    if not all(isinstance(one, Sentence) for one in found):
        raise InputError("a treebank must be CoNLL-U files or sentences of CoNLL-U")
    if not found:
        raise InputError("no sentences", path=", ".join(files or []) or None, remedy="give CoNLL-U")
    return found


def bare(sentence: Sentence) -> Sentence:
    """The words of a sentence, without what is to be found."""
    extras = [(before, line) for before, line in sentence.extras if "-" in line.partition("\t")[0]]
    return Sentence(sentence.forms, misc=sentence.misc, comments=sentence.comments, extras=extras)


def system_output(pipeline: Pipeline, gold: Sequence[Sentence], s: Any) -> list[Sentence]:
    """What the pipeline makes of a treebank's text, tokens or tags."""
    if s.start == "text":
        if pipeline.tokens is None:
            raise OptionError("this pipeline has no tokeniser: start from tokens")
        return pipeline.annotate(list(pipeline.segment([raw_text(gold)])), threads=s.threads)
    if s.start == "tags":
        if pipeline.trees is None:
            raise OptionError(
                f"this pipeline has no parser ({why_not(pipeline, 'trees')}): start from tokens"
            )
        kept = [replace(one, heads=[], deprels=[], deps=[]) for one in gold]
        return pipeline.annotate(kept, start="tags", threads=s.threads)
    return pipeline.annotate([bare(one) for one in gold], threads=s.threads)


def why_not(pipeline: Pipeline, part: str) -> str:
    """Why a pipeline lacks a part, in words."""
    absent = pipeline.facts.get("absent", ())
    return f"its treebank has no {part}" if part in absent else "its training was interrupted"


def measured(scores: Scores, gold: Sequence[Sentence], pipeline: Pipeline) -> dict[str, Scores]:
    """The metrics that say something, each with the scores that it is taken from.

    Without a parser, or trees in the treebank, nothing can be said of trees, and likewise of lemmas. If only some
    sentences of the treebank have trees, the metrics of trees are of those.
    """
    has_tree = np.array([bool(one.heads) for one in gold])
    without: set[str] = set()
    if pipeline.trees is None or not has_tree.any():
        without |= set(_OF_TREES)
    if pipeline.lemmas is None or not any(set(one.lemmas) - {"_"} for one in gold):
        without |= set(_OF_LEMMAS)
    with_trees = scores if has_tree.all() else Scores(scores.counts[has_tree])
    return {
        metric: with_trees if metric in _OF_TREES else scores for metric in METRICS if metric not in without
    }


def left_out(found: Mapping[str, Scores], pipeline: Pipeline) -> list[View]:
    """A note on the metrics that are missing, if any are."""
    missing = [metric for metric in METRICS if metric not in found]
    if not missing:
        return []
    said = [
        f"this pipeline has no {name} ({why_not(pipeline, part)})"
        for part, name in (("lemmas", "lemmatiser"), ("trees", "parser"))
        if getattr(pipeline, part) is None
    ] or ["the treebank does not have what they are about"]
    return [Note(f"Left out: {', '.join(missing)}, since {' and '.join(said)}.")]


def evaluated(pipeline: Pipeline, data: Any, s: Any) -> list[View]:
    """Precision, recall, F1 and aligned accuracy of each metric, with an interval of F1."""
    report = ReadReport()
    gold = treebank(data, s, report)
    started = time.perf_counter()
    found = system_output(pipeline, gold, s)
    seconds = time.perf_counter() - started
    scores = measured(conll18(gold, found), gold, pipeline)
    n = sum(map(len, gold))
    facts = {
        "sentences": len(gold), "tokens": n, "start": s.start, "seconds": seconds,
        "tokens_per_second": n / max(seconds, 1e-9), "skipped": report.skipped,
        **{_COUNTED.get(metric, metric.lower()): Share(of[metric].f1) for metric, of in scores.items()},
    }  # fmt: skip
    views: list[View] = [
        Facts("facts", "", facts, _NAMES),
        metrics_table(scores, s.seed),
        Extra("metrics", "", {metric: of.as_dict()[metric] for metric, of in scores.items()}),
        *left_out(scores, pipeline),
    ]
    rows = []
    for path in s.against:
        theirs = measured(conll18(gold, _other(path, gold, s)), gold, pipeline)
        for metric, one in compared(theirs, scores, s.seed).items():
            rows.append([path, metric, *map(Share, one[:-1]), one.p_value])
    if rows:
        header = ["against", "metric", "its", "ours", "difference", "from", "to", "p"]
        title = "Difference of F1, with a 95 % interval (bootstrap over sentences)"
        views.append(Table("against", title, header, rows, ["model", "metric", *BootstrapResult._fields]))
    return views


def compared(
    theirs: Mapping[str, Scores] | None, ours: Mapping[str, Scores], seed: int
) -> dict[str, BootstrapResult]:
    """For each metric, the difference of F1 from another system, or from none, by a bootstrap over sentences."""
    found: dict[str, BootstrapResult] = {}
    for rows in {len(of.counts) for of in ours.values()}:  # all sentences, and those with trees
        metrics = [metric for metric, of in ours.items() if len(of.counts) == rows]
        items = np.stack([ours[metric].items_of(metric) for metric in metrics], axis=1)
        if theirs is None:
            other = np.stack([0 * items[..., 0], items[..., 1], items[..., 0] + items[..., 2]], axis=2)
        else:
            other = np.stack([theirs[metric].items_of(metric) for metric in metrics], axis=1)
        found |= dict(zip(metrics, paired_bootstrap_f1(other, items, random_state=seed)))
    return {metric: found[metric] for metric in ours}


def _other(path: str, gold: Sequence[Sentence], s: Any) -> list[Sentence]:
    """The output of another pipeline, or the CoNLL-U that some program wrote."""
    if is_model(path):
        return system_output(load_task(path, "pipeline"), gold, s)
    return list(read_conllu(path))


def metrics_table(scores: Mapping[str, Scores], seed: int = 0) -> Table:
    """A row for each metric that was :func:`measured`."""
    rows = []
    intervals = compared(None, scores, seed)
    for metric, of in scores.items():
        one, interval = of[metric], intervals[metric]
        accuracy = None if one.accuracy is None else Share(one.accuracy)
        shares = (one.precision, one.recall, one.f1, interval.low, interval.high)
        rows.append([metric, *map(Share, shares), accuracy])
    header = ["metric", "precision", "recall", "F1", "from", "to", "aligned accuracy"]
    keys = ["metric", "precision", "recall", "f1", "f1_low", "f1_high", "accuracy"]
    return Table(
        "scores", "Scores, with a 95 % interval of F1 (bootstrap over sentences)", header, rows, keys
    )
