"""A tagger without its small weights, at several thresholds: what remains, what it costs, and where it errs.

Sokolovska 2010, §6.1 (Tables 6.1 to 6.3: weights zeroed after training, bigrams without their unigram) and §3.5.1
(Tables 3.3 and 3.4: confusions, and sentences whose best labelling leads the true one by a wide margin).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import ReadReport
from spinney.errors import OptionError, SettingError, about
from spinney.evaluate import confusions
from spinney.inference.decoding import path_scores, viterbi
from spinney.kinds import load_task
from spinney.settings import Settings, settings_or
from spinney.settings.tag import Prune
from spinney.tagging.columns import Columns
from spinney.tagging.reading import labelled_data
from spinney.tagging.tagger import Tagger
from spinney.views import Extra, Facts, Share, Table, View, Views

_SCORES = ("token_error", "precision", "recall", "f1")
_COUNTS = {
    "threshold": "threshold", "active": "active", "share": "share", "unigrams": "unigram", "bigrams": "bigram",
    "orphans": "orphans", "orphan_share": "share of orphans",
}  # fmt: skip


@dataclass(frozen=True)
class Margin:
    """A sentence whose best labelling is not the true one: the scores of both, and how far the best one leads.

    Scores are logarithms of p(y, x) up to a constant, so that a margin m means that the tagger thinks the wrong
    labelling exp(m) times as probable as the true one.
    """

    sentence: int  # counted from 1
    words: str
    true: float
    best: float

    @property
    def margin(self) -> float:
        """The score of the best labelling minus that of the true one."""
        return self.best - self.true


@dataclass(frozen=True)
class PrunedTagger:
    """The tagger that is left at the last threshold, and what was found at each of them."""

    tagger: Tagger
    rows: list[dict[str, Any]]
    margins: list[Margin] = field(default_factory=list)
    #: (true, predicted, tokens), the most frequent first.
    confusions: list[tuple[str, str, int]] = field(default_factory=list)
    #: Sentences with a label that the tagger does not know, whose true labelling has no score.
    unscored: int = 0
    skipped: int = 0
    margin: float = 0.0

    @property
    def model(self) -> Tagger:
        """What is written to a file."""
        return self.tagger

    def views(self) -> Views:
        """What ``prune`` prints."""
        last = self.rows[-1]
        facts: dict[str, Any] = {"threshold": last["threshold"], "active": last["active"]}
        counts = [[Share(row[key]) if "share" in key else row[key] for key in _COUNTS] for row in self.rows]
        views: list[View] = [
            Facts("facts", "", facts, {}),
            Extra("thresholds", "", self.rows),
            Table("", "Weights left", list(_COUNTS.values()), counts),
        ]
        if "token_error" not in last:
            return Views(views)
        facts |= {"margin": self.margin, "unscored": self.unscored, "skipped": self.skipped}
        at = f"at {last['threshold']:g}"
        keys = ["threshold", *(key for key in last if key not in _COUNTS)]
        names = {"f1": "F1", "beyond": f"margin > {self.margin:g}"}
        scores = [[row[key] for key in keys] for row in self.rows]
        views.append(Table("", "Scores", [names.get(key, key.replace("_", " ")) for key in keys], scores))
        cells = [[one.sentence, one.words, one.true, one.best, one.margin] for one in self.margins]
        header = ["sentence", "words", "true", "best", "margin"]
        errors = [list(one) for one in self.confusions]
        return Views(
            [
                *views,
                Table("margins", f"Margins of wrong labellings {at}", header, cells),
                Table("confusions", f"Confusions {at}", ["true", "predicted", "tokens"], errors),
            ]
        )


def prune(
    model: str | Tagger, data: Any = None, settings: Settings | None = None, **given: Any
) -> PrunedTagger:
    """Zero the small weights of a tagger at each of several thresholds, without training again.

    Parameters
    ----------
    model
        A tagger, or the file of one; it stays as it is.
    data
        Labelled sentences on which each smaller tagger is scored: files, or (sentences, labels). None, or no files:
        only weights are counted.
    settings
        Those of :class:`spinney.settings.tag.Prune`; or give them by name.

    Examples
    --------
    >>> X, y = [["the", "dog"], ["a", "cat"], ["the", "cat"]], [["D", "N"]] * 3
    >>> found = prune(Tagger("*:%x[0,0]", lam=0.1).fit(X, y), (X, y), thresholds=[0.0, 0.2, 9.0])
    >>> [(row["active"], row["orphans"], row["token_error"]) for row in found.rows][1:]
    [(18, 0, 0.0), (0, 0, 0.5)]
    """
    s: Any = settings_or(Prune, settings, given)
    whole = load_task(model, "tag") if isinstance(model, str) else model
    if not isinstance(whole, Tagger):
        raise OptionError(
            f"a model of the kind {whole.kind} has no weights to prune: give one of crf, memm or hmm"
        )
    whole.check_fitted()
    columns, report = None, ReadReport()
    if data is not None and (not isinstance(data, list) or data):
        columns = labelled_data(data, s, report)
    elif s.margin:
        raise SettingError("{margin} is of labelled sentences: name files of them after the model")
    rows, judged = [], _Judged()
    for tau in s.thresholds:
        small = _at(whole, tau, s.rule)
        rows.append(_counted(small, tau, whole.weights_.n_active))
        if columns is not None:
            with about(", ".join(data) if isinstance(data, list) else "the sentences"):
                judged = _judge(small, columns, s.margin, s.top)
            rows[-1] |= judged.scores
    return PrunedTagger(
        small, rows, judged.margins, judged.confusions, judged.unscored, report.skipped, s.margin
    )


def margins(tagger: Tagger, columns: Columns) -> tuple[list[Margin], int]:
    """The sentences whose best labelling is not the true one, the widest margin first; and how many have no score.

    Labels are those that the tagger learned (:attr:`~spinney.tagging.Tagger.labels_`), the last column holds the true
    ones, and a sentence with a label that it does not know, or that its scheme forbids, has no score.

    Examples
    --------
    >>> from spinney.tagging import labelled_columns
    >>> tagger = Tagger("U:%x[0,0]\\nB", lam=0.1).fit([["the", "dog"], ["a", "cat"]], [["D", "N"]] * 2)
    >>> found, unscored = margins(tagger, labelled_columns([["a", "dog"], ["a", "cat"]], [["N", "N"], ["D", "?"]]))
    >>> [(one.sentence, one.words, one.margin > 0) for one in found], unscored
    ([(1, 'a dog', True)], 1)
    """
    if tagger.encoding_ is not None:
        columns = tagger.encoding_.encoded(columns)
    number = {name: i for i, name in enumerate(tagger.labels_)}
    gold = np.array([number.get(text, -1) for text in columns.pool], np.int32)[columns.symbols[-1]]
    sentence = np.repeat(np.arange(len(columns)), np.diff(columns.offsets))
    known = np.bincount(sentence[gold < 0], minlength=len(columns)) == 0
    best, true = _scores(tagger, columns.without_last(), np.maximum(gold, 0))
    scored = known & np.isfinite(true)
    lead = np.where(scored, best - np.where(scored, true, 0.0), 0.0)
    wrong = np.flatnonzero(lead > _NOTHING * np.maximum(np.abs(best), 1.0))
    words, bounds = columns.strings(0), columns.offsets.tolist()
    found = [
        Margin(int(i) + 1, " ".join(words[bounds[i] : bounds[i + 1]]), float(true[i]), float(best[i]))
        for i in wrong[np.argsort(-lead[wrong], kind="stable")]
    ]
    return found, int(np.count_nonzero(~scored))


_NOTHING = 1e-9  # a lead below this, relative to the score, is rounding: two labellings are equally good


def _scores(
    tagger: Tagger, inputs: Columns, gold: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each sentence, the score of its best labelling and that of the true one."""
    best, true, start = [np.empty(0)], [np.empty(0)], 0
    for chains in tagger.chains_of(inputs):
        n = len(chains.scores)
        best.append(viterbi(chains, threads=tagger.threads)[1])
        true.append(path_scores(chains, gold[start : start + n]))
        start += n
    return np.concatenate(best), np.concatenate(true)


@dataclass(frozen=True)
class _Judged:
    scores: dict[str, Any] = field(default_factory=dict)
    margins: list[Margin] = field(default_factory=list)
    confusions: list[tuple[str, str, int]] = field(default_factory=list)
    unscored: int = 0


def _judge(tagger: Tagger, columns: Columns, margin: float, top: int) -> _Judged:
    """Scores of a tagger on labelled sentences, its widest margins and its most frequent confusions."""
    scores = tagger.score_columns(columns)
    found, unscored = margins(tagger, columns)
    beyond = [one for one in found if one.margin > margin]
    labels, bounds = columns.strings(-1), pairwise(columns.offsets.tolist())
    predicted = tagger.in_scheme_of(columns, tagger.label_columns(columns.without_last()))
    pairs = confusions([labels[a:b] for a, b in bounds], predicted, top)
    known = {name: scores[name] for name in _SCORES if name in scores}
    return _Judged(known | {"beyond": len(beyond)}, beyond[:top], pairs, unscored)


def _at(tagger: Tagger, tau: float, rule: Any) -> Tagger:
    """A copy of the tagger without the weights that the rule drops."""
    small = copy.copy(tagger)
    small.facts_ = dict(tagger.facts_)
    before = tagger.weights_.n_active
    small.prune(tau, rule)
    dropped = before - small.weights_.n_active
    if dropped:
        which = f"of at most {tau:.3g}" if rule == "interval" else f"that are not above {tau:.3g}"
        small.facts_ |= {"pruned": f"{dropped:,} weights {which}", "threshold": tau}
    return small


def _counted(tagger: Tagger, tau: float, before: int) -> dict[str, Any]:
    """How many weights there are, and how many bigrams without their unigram."""
    active = tagger.weights_.n_active
    unigrams, bigrams = (sum(pair[i] for pair in tagger.active_by_pattern().values()) for i in (0, 1))
    beside, orphans = tagger.orphans()
    return {
        "threshold": tau,
        "active": active,
        "share": active / max(before, 1),
        "unigrams": unigrams,
        "bigrams": bigrams,
        "orphans": orphans,
        "orphan_share": orphans / max(beside, 1),
    }
