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

#: By the number of a draw: labelled and unlabelled sentences, those to test on and, if there are some, those of dev.
Draw = Callable[[int], tuple[Columns, Columns, Columns, Columns | None]]
CHUNKS = "Uw:%x[0,0]\nUp:%x[0,1]\nUq:%x[-1,1]\nUr:%x[1,1]\nB"
#: Criteria with their strengths, besides those that are compared by default: entropies of the thesis's size.
OTHERS = (("self-training", 0.5), ("entropy", 0.001))


def unlabelled(quick: bool, seed: int) -> str:
    """Both studies."""
    draws = range(seed, seed + (2 if quick else 5))
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
            "random from the training set; tested on the {tested} sentences of reviews of the test set. Preset pos.",
            "pos", _shifted(600, 2000), draws,
        ),
    )  # fmt: skip
    return "\n".join(both)


def _study(title: str, note: str, patterns: str, draw: Draw, draws: Sequence[int]) -> str:
    ways = [(None, None), *((name, s) for name in STRENGTHS for s in STRENGTHS[name]), *OTHERS]
    names = [f"{name or 'supervised'}{'' if s is None else f', {s:g}'}" for name, s in ways]
    found: dict[str, list[tuple[float, Any, float]]] = {}
    for number in draws:
        known, more, test, dev = draw(number)
        runs = {
            name: ({"criterion": c, "criterion_strength": s}, {} if c is None else {"unlabelled": more})
            for name, (c, s) in zip(names, ways)
        }
        runs["the default"] = {}, {"unlabelled": more}
        if dev is not None:
            runs["the default, with dev"] = {}, {"unlabelled": more, "dev": dev}
            runs["supervised, with dev"] = {}, {"dev": dev}
        for name, (how, data) in runs.items():
            tagger = Tagger(patterns, **how).fit_columns(known, **data)
            facts = tagger.facts_
            sample = facts.get("effective_sample")
            used = _named(facts) if name.startswith("the default") else None
            found.setdefault(name, []).append((error(tagger, test), used or sample, facts["seconds"]))
    rows = []
    for name, results in found.items():
        wrong, about, seconds = zip(*results)
        said = ", ".join(about) if isinstance(about[0], str) else about[0] and f"{np.mean(about):.0f}"
        rows.append([name, said, f"{np.mean(wrong):.2f}", float(np.mean(seconds))])
    told = note.format(labelled=len(known), more=f"{len(more):,}", tested=f"{len(test):,}")
    told += (
        f" λ = 1. Means over {len(draws)} draw{'s' * (len(draws) > 1)}. The default compares the first "
        f"{len(names) - len(OTHERS)} rows on held-out parts of the labelled sentences, or on dev. Nothing is published."
    )
    if dev is not None:
        told += (
            f" Dev is the {len(dev):,} sentences of reviews of the dev set, which early stopping hears too."
        )
    return markdown(title, told, ["criterion, strength", "effective sample, or chosen", "error %", "s"], rows)


def _named(facts: dict[str, Any]) -> str:
    strength = facts["criterion_strength"]
    return str(facts["criterion"]) + ("" if strength is None else f" {strength:g}")


def _chunks(labelled: int, more: int) -> Draw:
    def draw(number: int) -> tuple[Columns, Columns, Columns, None]:
        train, test = conll2000()
        order = np.random.default_rng(number).permutation(len(train))
        rest = _taken(train, order[labelled : labelled + more])
        return _taken(train, order[:labelled]), rest.without_last(), test, None

    return draw


def _shifted(labelled: int, more: int) -> Draw:
    def draw(number: int) -> tuple[Columns, Columns, Columns, Columns]:
        rng = np.random.default_rng(number)
        train = _web("train")
        ours = [rows for kind, rows in train if kind in ("newsgroup", "weblog")]
        theirs = [rows for kind, rows in train if kind == "reviews"]
        dev, test = ([rows for kind, rows in _web(part) if kind == "reviews"] for part in ("dev", "test"))
        known = Columns.from_sentences([ours[i] for i in rng.permutation(len(ours))[:labelled]])
        rest = Columns.from_sentences([theirs[i] for i in rng.permutation(len(theirs))[:more]], known.pool)
        others = [Columns.from_sentences(part, known.pool) for part in (test, dev)]
        return known, rest.without_last(), others[0], others[1]

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
