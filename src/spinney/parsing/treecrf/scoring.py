"""Scores of tree CRFs on treebanks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.cluster import spread
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport
from spinney.errors import InputError, SettingError, about
from spinney.evaluate.attachment import attachment, attachment_counts, las_of_counts, uas_of_counts
from spinney.evaluate.significance import paired_bootstrap
from spinney.kinds import load_task
from spinney.parsing.treebanks import dependency_trees, named
from spinney.parsing.treecrf.applying import refuse_for_tree_crfs
from spinney.parsing.treecrf.problem import check_tags
from spinney.views import Facts, Share, Table, View

if TYPE_CHECKING:
    from spinney.parsing.treecrf.parser import TreeParser

_NAMES = {
    "sentences": "sentences", "tokens": "tokens", "uas": "heads (UAS)", "las": "heads and relations (LAS)",
    "las_low": "  95 % interval: from", "las_high": "  to", "exact": "sentences with all heads right",
    "root": "roots", "tokens_per_second": "tokens per second", "long": "longer sentences left out",
    "skipped": "bad trees skipped",
}  # fmt: skip


@spread
def evaluated(parser: TreeParser, data: Any, s: Any) -> list[View]:
    """UAS and LAS with an interval, scores by relation, and comparisons with other models."""
    refuse_for_tree_crfs(s)
    if s.gold_tags:
        raise SettingError("{gold_tags} is not for tree CRFs, which always look at the tags: leave it out")
    report = ReadReport()
    with about(named(data)):
        trees = dependency_trees(data, s, report)
        if parser.needs_tags:
            check_tags(trees)
        kept = [tree for tree in trees if s.max_length is None or len(tree) <= s.max_length]
        if not kept:
            raise InputError(f"no sentence has at most {s.max_length} words")
        started = time.perf_counter()
        found = parser.parse(kept, threads=s.threads)
        seconds = time.perf_counter() - started
        scores = attachment(kept, found, punctuation=s.punctuation)
        counts = attachment_counts(kept, found, punctuation=s.punctuation)
    none = np.zeros_like(counts)
    none[:, 0] = counts[:, 0]
    interval = paired_bootstrap(none, counts, las_of_counts, random_state=s.seed)
    facts = {
        "sentences": len(kept), "tokens": scores.words, "uas": Share(scores.uas), "las": Share(scores.las),
        "las_low": Share(interval.low), "las_high": Share(interval.high), "exact": Share(scores.exact),
        "root": Share(scores.root), "seconds": seconds,
        "tokens_per_second": sum(map(len, kept)) / max(seconds, 1e-9), "long": len(trees) - len(kept),
        "skipped": report.skipped,
    }  # fmt: skip
    views: list[View] = [Facts("facts", "", facts, _NAMES), by_relation(kept, found)]
    rows = []
    for path in s.against:
        other = load_task(path, "parse")
        if type(other) is not type(parser):
            raise InputError("a tree CRF can be compared with another tree CRF only", path=path)
        theirs = attachment_counts(kept, other.parse(kept), punctuation=s.punctuation)
        compared = paired_bootstrap(theirs, counts, uas_of_counts, random_state=s.seed)
        labelled = paired_bootstrap(theirs, counts, las_of_counts, random_state=s.seed)
        rows += [
            [path, what, *map(Share, one[:-1]), one.p_value]
            for what, one in (("UAS", compared), ("LAS", labelled))
        ]
    if rows:
        header = ["against", "score", "its", "ours", "difference", "from", "to", "p"]
        keys = ["model", "score", *compared._fields]
        title = "Difference, with a 95 % interval (bootstrap over sentences)"
        views.append(Table("against", title, header, rows, keys))
    return views


def by_relation(gold: list[Sentence], found: list[Sentence]) -> Table:
    """Precision, recall and F1 of each relation: arcs with the right head and this relation."""
    counts: dict[str, list[int]] = {}
    for truth, answer in zip(gold, found):
        for h, g, a, b in zip(answer.heads, truth.heads, answer.deprels, truth.deprels or ["_"] * len(truth)):
            counts.setdefault(b, [0, 0, 0])[0] += 1
            counts.setdefault(a, [0, 0, 0])[1] += 1
            counts[a][2] += h == g and a == b
    rows = []
    for name, (n_gold, n_found, right) in sorted(counts.items(), key=lambda item: -item[1][0]):
        precision, recall = right / max(n_found, 1), right / max(n_gold, 1)
        f1 = 2 * right / max(n_gold + n_found, 1)
        rows.append([name, n_gold, n_found, Share(precision), Share(recall), Share(f1)])
    header = ["relation", "treebank", "parser", "precision", "recall", "F1"]
    keys = ["relation", "gold", "found", "precision", "recall", "f1"]
    return Table("relations", "By relation (with the right head)", header, rows, keys)
