"""Evaluation of parsers on treebanks: brackets, heads and tags."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.cluster import spread
from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport
from spinney.errors import InputError, SettingError, about
from spinney.evaluate.attachment import (
    PTB_PUNCTUATION,
    Attachment,
    attachment,
    attachment_counts,
    uas_of_counts,
)
from spinney.evaluate.parseval import COLUMNS, SCORED, bracket_counts, bracket_f1, f1_interval, parseval
from spinney.evaluate.significance import Statistic, paired_bootstrap
from spinney.kinds import load_task
from spinney.parsing.applying import refuse_for_automata, with_decoder
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.binarising import label_parts
from spinney.parsing.dependencies import to_dependencies
from spinney.parsing.headrules import HeadRules, head_rules
from spinney.parsing.parser import Parser
from spinney.parsing.treebanks import dependency_trees, named, paths_of, phrase_trees
from spinney.settings.parse import Evaluate
from spinney.views import Extra, Facts, Note, Share, Table, View


@dataclass(frozen=True)
class _Scores:
    """The scores of a model: facts, counts per sentence, and the statistic of these counts."""

    facts: dict[str, Any]
    counts: NDArray[np.int64]
    statistic: Statistic
    labels: Sequence[Sequence[Any]] = ()
    unseen: Sequence[str] = ()


_NAMES = {
    "sentences": "sentences", "tokens": "tokens", "f1": "F1", "f1_low": "  95 % interval: from", "f1_high": "  to",
    "precision": "precision", "recall": "recall", "exact": "exact trees",
    "crossing": "crossing brackets per sentence", "no_crossing": "without crossing brackets",
    "tagging_accuracy": "tags", "uas": "heads (UAS)", "uas_low": "  95 % interval: from", "uas_high": "  to",
    "las": "heads and relations (LAS)", "root": "roots", "failed": "sentences without a parse",
    "mismatched": "trees with different words (traces)", "sentences_per_second": "sentences per second",
    "long": "longer sentences left out", "skipped": "bad trees skipped",
}  # fmt: skip


@spread
def evaluated(model: Parser | HeadAutomata, data: Any, s: Evaluate) -> list[View]:
    """F1 of brackets as evalb counts it, tags, and dependencies by head rules; for head automata, heads."""
    files = paths_of(data)
    if s.against and files is not None and "-" in files:
        raise SettingError("{against} reads the trees twice: give a file instead of standard input")
    ours = _scores(model, data, s)
    main = "f1" if "f1" in ours.facts else "uas"
    compared = []
    for path in s.against:
        other = load_task(path, "parse")
        if type(other) is not type(model):
            raise InputError("a grammar and head automata cannot be compared", path=path)
        theirs = _scores(other, data, s)
        if len(theirs.counts) != len(ours.counts):
            raise InputError(
                "reads different trees: was one of the two models fitted without cleaning?", path=path
            )
        found = paired_bootstrap(theirs.counts, ours.counts, ours.statistic, random_state=s.seed)
        compared.append([path, *map(Share, found[:-1]), found.p_value])
    views: list[View] = [Facts("facts", "", ours.facts, _NAMES)]
    if ours.labels:
        keys = ["label", "gold", "guessed", "matched", "precision", "recall", "f1"]
        header = ["label", "treebank", "parser", "both", "precision", "recall", "F1"]
        views.append(Table("labels", "By label", header, ours.labels, keys))
    views.append(Extra("unseen_labels", "", ours.unseen))
    if ours.unseen:
        views.append(Note(f"Never seen in training: {', '.join(ours.unseen)}"))
    if compared:
        header = ["against", f"its {main.upper()}", "ours", "difference", "from", "to", "p"]
        keys = ["model", *found._fields]
        views.append(
            Table(
                "against",
                "Difference, with a 95 % interval (bootstrap over sentences)",
                header,
                compared,
                keys,
            )
        )
    return views


def _scores(model: Parser | HeadAutomata, data: Any, s: Evaluate) -> _Scores:
    with about(named(data)):
        return _of_parser(model, data, s) if isinstance(model, Parser) else _of_automata(model, data, s)


def _short_enough(trees: list[Any], lengths: list[int], longest: int | None) -> list[Any]:
    kept = [tree for tree, length in zip(trees, lengths) if longest is None or length <= longest]
    if not kept:
        raise InputError(f"no sentence has at most {longest} words")
    return kept


# ---------------------------------------------------------------------------------------------- trees


def _of_parser(parser: Parser, data: Any, s: Evaluate) -> _Scores:
    report = ReadReport()
    how = {"clean": parser.settings.clean, "functions": parser.settings.keep_functions}
    trees = phrase_trees(data, s, report, **how)
    kept = _short_enough(trees, [len(tree.leaves()) for tree in trees], s.max_length)
    started = time.perf_counter()
    found = with_decoder(parser, s).parse(
        [tree.leaves() for tree in kept], [tree.tags() for tree in kept] if s.gold_tags else None
    )
    seconds = time.perf_counter() - started
    scores, counts = parseval(kept, found), bracket_counts(kept, found)
    low, high = f1_interval(counts, random_state=s.seed)
    words, status = (counts[:, COLUMNS.index(name)] for name in ("words", "status"))
    attached = _attachment(kept, found, head_rules(s.head_rules), s.punctuation)
    facts = {
        "sentences": scores.sentences,
        "tokens": sum(len(tree.leaves()) for tree in kept),
        "f1": Share(scores.f1),
        "f1_low": Share(low),
        "f1_high": Share(high),
        "precision": Share(scores.precision),
        "recall": Share(scores.recall),
        "exact": Share(scores.exact),
        "crossing": scores.crossing,
        "no_crossing": Share(scores.no_crossing),
        "few_crossing": Share(scores.few_crossing),
        "tagging_accuracy": Share(scores.tagging),
        "uas": None if attached is None else Share(attached.uas),
        "las": None if attached is None else Share(attached.las),
        "failed": len(scores.failed),
        "mismatched": int(np.count_nonzero((status != SCORED) & (words > 0))) - len(scores.failed),
        "seconds": seconds,
        "sentences_per_second": len(kept) / max(seconds, 1e-9),
        "long": len(trees) - len(kept),
        "skipped": report.skipped,
    }
    labels = [
        [label, one.gold, one.guessed, one.matched, Share(one.precision), Share(one.recall), Share(one.f1)]
        for label, one in scores.labels.items()
    ]
    # The parser cannot find labels that it has never seen.
    seen = {plain for label in parser.rules_.labels for plain in label_parts(label)[1]}
    unseen = sorted({node.label for tree in kept for node in tree.nodes()} - seen)
    return _Scores(facts, counts, bracket_f1, labels, unseen)


def _attachment(
    gold: list[Tree], found: list[Tree], rules: HeadRules, punctuation: bool
) -> Attachment | None:
    """Heads by head rules; None if the words differ, as in trees with traces."""
    try:
        ours, theirs = ([to_dependencies(tree, rules) for tree in trees] for trees in (found, gold))
        tags = {tag for sentence in theirs for tag in sentence.xpos}
        marks = None if PTB_PUNCTUATION.isdisjoint(tags) else PTB_PUNCTUATION
        return attachment(theirs, ours, punctuation=punctuation, punctuation_tags=marks)
    except InputError:
        return None


# --------------------------------------------------------------------------------------- dependencies


def _of_automata(model: HeadAutomata, data: Any, s: Evaluate) -> _Scores:
    refuse_for_automata(s)
    report = ReadReport()
    trees = dependency_trees(data, s, report, column=model.column)
    kept: list[Sentence] = _short_enough(trees, [len(tree) for tree in trees], s.max_length)
    started = time.perf_counter()
    found = [replace(tree, heads=heads.tolist()) for tree, heads in zip(kept, model.predict(kept))]
    seconds = time.perf_counter() - started
    scores = attachment(kept, found, punctuation=s.punctuation)
    counts = attachment_counts(kept, found, punctuation=s.punctuation)
    low, high = _interval(counts, uas_of_counts, s.seed)
    facts = {
        "sentences": len(kept),
        "tokens": scores.words,
        "uas": Share(scores.uas),
        "uas_low": Share(low),
        "uas_high": Share(high),
        "exact": Share(scores.exact),
        "root": Share(scores.root),
        "failed": 0,
        "seconds": seconds,
        "sentences_per_second": len(kept) / max(seconds, 1e-9),
        "long": len(trees) - len(kept),
        "skipped": report.skipped,
    }
    unseen = sorted({tag for tree in kept for tag in getattr(tree, model.column)} - set(model.tags_))
    return _Scores(facts, counts, uas_of_counts, unseen=unseen)


def _interval(counts: NDArray[np.int64], statistic: Statistic, seed: int) -> tuple[float, float]:
    """The 95 % bootstrap interval of a share: its difference from that of a model that is always wrong."""
    none = np.zeros_like(counts)
    none[:, 0] = counts[:, 0]
    found = paired_bootstrap(none, counts, statistic, random_state=seed)
    return found.low, found.high
