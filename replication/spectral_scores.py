"""How good vectors of words are: similarity, analogies, categories, sentiment, and whether a difference is luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spectral_common import Setting, chance, figure

from spinney.evaluate import (
    AnalogyResult,
    LabelledSentence,
    Question,
    SentimentResult,
    accuracy,
    analogies,
    categorise,
    paired_bootstrap,
    read_analogies,
    read_categories,
    read_sentiment_trees,
    read_word_pairs,
    sentiment_accuracy,
    similarity,
    spearman_of_pairs,
)
from spinney.structure import WordVectors

#: Sets of word pairs as their files and the table call them.
PAIRS = {
    "MC-30": "MC-30", "MEN-TR-3k": "MEN", "MTurk-287": "MTurk-287", "MTurk-771": "MTurk-771", "RG-65": "RG-65",
    "RW-STANFORD": "RW", "SimVerb-3500": "SimVerb", "VERB-143": "Verb-143", "WS-353-ALL": "WS-353",
    "WS-353-REL": "WS-rel", "WS-353-SIM": "WS-sim", "YP-130": "YP-130",
}  # fmt: skip
CATEGORIES = {"ap": "AP", "battig": "Battig", "bless": "BLESS", "essli-2008": "ESSLLI"}
_RESAMPLES = 2000


@dataclass(frozen=True)
class Tests:
    """The sets that vectors are tried on."""

    pairs: dict[str, list[tuple[str, str, float]]]
    google: list[Question]
    msr: list[Question]
    categories: dict[str, list[tuple[str, str]]]
    sentiment: list[list[LabelledSentence]]


@dataclass(frozen=True)
class Scores:
    """What one set of vectors reached.

    Attributes
    ----------
    cosines
        Rows of set number, cosine, people's score; one for each pair whose words have vectors.
    """

    cosines: NDArray[np.float64]
    google: AnalogyResult
    msr: AnalogyResult
    purity: dict[str, float]
    sentiment: SentimentResult

    @property
    def by_set(self) -> list[float]:
        """Spearman's coefficient for each set of pairs."""
        numbers = self.cosines[:, 0]
        return [spearman_of_pairs(self.cosines[numbers == i, 1:]) for i in range(len(PAIRS))]

    @property
    def mean(self) -> float:
        """Spearman's coefficient, averaged over the sets."""
        return _mean_spearman(self.cosines)

    def summary(self) -> list[object]:
        """Cells under :data:`SUMMARY`."""
        shares = [self.google.syntactic, self.google.semantic, self.msr.total]
        return [
            figure(self.mean),
            *(f"{100 * share.accuracy:.1f}" for share in shares),
            *(figure(self.purity[name]) for name in CATEGORIES),
            f"{100 * self.sentiment.accuracy:.1f}",
        ]


SUMMARY = ["similarity", "Google syntactic %", "Google semantic %", "MSR %", *CATEGORIES.values(), "SST %"]


def read_tests(setting: Setting) -> Tests:
    """All sets, from the data folder."""
    folder = setting.data / "word_similarity"
    vecto = folder / "vecto"
    return Tests(
        pairs={name: read_word_pairs(folder / "mfaruqui" / f"EN-{name}.txt") for name in PAIRS},
        google=read_analogies(folder / "questions-words.txt.xz"),
        msr=read_analogies(vecto / "word-analogy" / "msr.csv.xz"),
        categories={
            name: read_categories(vecto / "word-categorization" / f"{name}.csv") for name in CATEGORIES
        },
        sentiment=[
            read_sentiment_trees(setting.data / "sst_trees" / f"{part}.txt.xz")
            for part in ("train", "dev", "test")
        ],
    )


def scored(vectors: WordVectors, tests: Tests) -> Scores:
    """Try vectors of lower-cased words on everything."""
    purity = {}
    train, dev, test = tests.sentiment
    for name, pairs in tests.categories.items():
        words, gold = zip(*pairs)
        purity[name] = categorise(vectors, words, gold, measure="cosine").purity
    return Scores(
        _cosines(vectors, list(tests.pairs.values())),
        analogies(vectors, tests.google),
        analogies(vectors, tests.msr),
        purity,
        sentiment_accuracy(vectors, train, dev, test),
    )


def compared(baseline: Scores, system: Scores, tests: Tests) -> list[list[object]]:
    """Rows of name, both scores, the interval of their difference and its p-value, by paired bootstraps.

    Both have vectors for the same words.
    """
    syntactic = np.array([question.syntactic for question in tests.google])
    google, msr = (
        np.array([answer is not None for answer in result.answers])
        for result in (baseline.google, baseline.msr)
    )
    rows: list[list[object]] = []
    for name, items, statistic in (
        ("similarity", [one.cosines for one in (baseline, system)], _mean_spearman),
        (
            "Google syntactic",
            [one.google.correct[google & syntactic] for one in (baseline, system)],
            accuracy,
        ),
        (
            "Google semantic",
            [one.google.correct[google & ~syntactic] for one in (baseline, system)],
            accuracy,
        ),
        ("MSR", [one.msr.correct[msr] for one in (baseline, system)], accuracy),
        ("SST", [one.sentiment.correct for one in (baseline, system)], accuracy),
    ):
        test = paired_bootstrap(items[0], items[1], statistic, resamples=_RESAMPLES)
        interval = f"{test.low:+.3f} to {test.high:+.3f}"
        rows.append([name, figure(test.baseline), figure(test.system), interval, chance(test.p_value)])
    return rows


def _mean_spearman(cosines: NDArray[Any]) -> float:
    numbers = cosines[:, 0]
    return float(np.mean([spearman_of_pairs(cosines[numbers == i, 1:]) for i in range(len(PAIRS))]))


def _cosines(vectors: WordVectors, sets: Sequence[Sequence[tuple[str, str, float]]]) -> NDArray[np.float64]:
    rows = []
    for number, pairs in enumerate(sets):
        known = [pair for pair in pairs if pair[0] in vectors and pair[1] in vectors]
        first, second, scores = zip(*known)
        found = similarity(vectors.rows(first), vectors.rows(second), "cosine")
        rows.append(np.column_stack([np.full(len(known), number), found, scores]))
    return np.vstack(rows)
