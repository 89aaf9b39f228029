"""Sokolovska (2010), chapter 8: what the thesis leaves open, unlabelled sentences for sequences.

Two studies: the labelled and the unlabelled sentences are of one kind (CoNLL-2000), or of two (English Web Treebank:
labels for newsgroups and blogs, none for the reviews that the tagger is for).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sokolovska_common import data_folder, error, markdown
from sokolovska_conll import conll2000

from spinney.corpus import read_conllu
from spinney.tagging.columns import Columns
from spinney.tagging.semisupervised import STRENGTHS
from spinney.tagging.tagger import Tagger

Draw = Callable[[int], tuple[Columns, Columns, Columns]]
CHUNKS = "Uw:%x[0,0]\nUp:%x[0,1]\nUq:%x[-1,1]\nUr:%x[1,1]\nB"
#: Criteria with their strengths, besides those that are compared by default: entropies of the thesis's size.
OTHERS = (("entropy", 0.001),)


def unlabelled(quick: bool, seed: int) -> str:
    """Both studies."""
    draws = range(seed, seed + (1 if quick else 3))
    both = (
        _study(
            "Unlabelled sentences of the same kind: CoNLL-2000",
            "{labelled} labelled sentences of CoNLL-2000 and {more} without labels, drawn at random from the training "
            "set; tested on all 2,012 test sentences. Words, parts of speech around, label pairs.",
            CHUNKS, _chunks(300, 1000), draws,
        ),
        _study(
            "Unlabelled sentences of another kind: English Web Treebank",
            "{labelled} labelled sentences of newsgroups and blogs and {more} of reviews without labels, drawn at "
            "random from the training set; tested on the {tested} sentences of reviews of dev and test. Preset pos.",
            "pos", _shifted(600, 2000), draws,
        ),
    )  # fmt: skip
    return "\n".join(both)


def _study(title: str, note: str, patterns: str, draw: Draw, draws: Sequence[int]) -> str:
    ways = [(None, None), *((name, s) for name in STRENGTHS for s in STRENGTHS[name]), *OTHERS]
    found: list[list[Any]] = [[] for _ in ways]
    chosen = []
    for number in draws:
        known, more, test = draw(number)
        for k, (criterion, strength) in enumerate(ways):
            tagger = Tagger(patterns, criterion=criterion, criterion_strength=strength, tol=1e-3)
            tagger.fit_columns(known, unlabelled=None if criterion is None else more)
            found[k].append(
                (error(tagger, test), tagger.facts_.get("effective_sample"), tagger.facts_["seconds"])
            )
        tagger = Tagger(patterns, tol=1e-3).fit_columns(known, unlabelled=more)
        used = tagger.facts_
        name = used["criterion"] + (
            "" if used["criterion_strength"] is None else f" {used['criterion_strength']:g}"
        )
        chosen.append((name, error(tagger, test), used["seconds"]))
    rows = []
    for (criterion, strength), runs in zip(ways, found):
        sample = None if runs[0][1] is None else round(float(np.mean([run[1] for run in runs])))
        mean = float(np.mean([run[0] for run in runs]))
        rows.append(
            [criterion or "supervised", strength, sample, f"{mean:.2f}", float(np.mean([r[2] for r in runs]))]
        )
    names = ", ".join(name for name, _, _ in chosen)
    mean = float(np.mean([wrong for _, wrong, _ in chosen]))
    rows.append(
        [f"the default: {names}", None, None, f"{mean:.2f}", float(np.mean([s for _, _, s in chosen]))]
    )
    told = note.format(labelled=len(known), more=f"{len(more):,}", tested=f"{len(test):,}")
    told += (
        f" λ = 1. Means over {len(draws)} draw{'s' * (len(draws) > 1)}. The default compares all rows but the last of "
        "entropy with supervised training on held-out parts of the labelled sentences, and never sees the test set. "
        "Nothing is published."
    )
    return markdown(title, told, ["criterion", "strength", "effective sample", "error %", "s"], rows)


def _chunks(labelled: int, more: int) -> Draw:
    def draw(number: int) -> tuple[Columns, Columns, Columns]:
        train, test = conll2000()
        order = np.random.default_rng(number).permutation(len(train))
        rest = _taken(train, order[labelled : labelled + more])
        return _taken(train, order[:labelled]), rest.without_last(), test

    return draw


def _shifted(labelled: int, more: int) -> Draw:
    def draw(number: int) -> tuple[Columns, Columns, Columns]:
        rng = np.random.default_rng(number)
        train = _web("train")
        ours = [rows for kind, rows in train if kind in ("newsgroup", "weblog")]
        theirs = [rows for kind, rows in train if kind == "reviews"]
        test = [rows for part in ("dev", "test") for kind, rows in _web(part) if kind == "reviews"]
        known = Columns.from_sentences([ours[i] for i in rng.permutation(len(ours))[:labelled]])
        rest = Columns.from_sentences([theirs[i] for i in rng.permutation(len(theirs))[:more]], known.pool)
        return known, rest.without_last(), Columns.from_sentences(test, known.pool)

    return draw


def _web(part: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """The sentences of a part of the English Web Treebank, each with its kind."""
    found = []
    for sentence in read_conllu(data_folder() / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.xz"):
        number = next(line for line in sentence.comments if line.startswith("# sent_id"))
        kind = number.partition("= ")[2].partition("-")[0]
        found.append((kind, list(zip(sentence.forms, sentence.upos))))
    return found


def _taken(columns: Columns, chosen: Any) -> Columns:
    """These sentences."""
    bounds = [(columns.offsets[i], columns.offsets[i + 1]) for i in chosen.tolist()]
    tokens = np.concatenate([np.arange(a, b) for a, b in bounds])
    offsets = np.concatenate([[0], np.cumsum([b - a for a, b in bounds])])
    return Columns(offsets, columns.symbols[:, tokens], columns.pool)
