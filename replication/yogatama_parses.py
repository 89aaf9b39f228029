"""Yogatama (2015), chapter 5: constituents of parsed posts as groups of words, replicated with our own parser.

    python replication/yogatama_parses.py [--quick] [--seed S] [--cache DIR] [--out FILE]

The data sets are looked for under SPINNEY_DATA. A run is kept in ``results/yogatama_parses.md``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache

from grave_common import section, table, verdict
from grave_semcor import data_folder
from spectral_common import Setting
from spectral_treebank import sample_treebank
from studies import run_studies
from yogatama_accuracy import COMPARED, PARSE, PUBLISHED, compared
from yogatama_data import PAIRS, task
from yogatama_methods import (
    SENTENCE,
    THREADS,
    Outcome,
    Values,
    by_accuracy_then_loss,
    outcome,
    plain,
    searched,
    structured,
    with_groups,
)

from spinney.classify import constituent_groups
from spinney.corpus import Tree, tokenized_sentences
from spinney.parsing import Parser, trees_of
from spinney.structure import Groups

STATES = 8


@cache
def parser(setting: Setting) -> Parser:
    """Clusters of spectral vectors and a little EM, from the first 159 files of the treebank's sample."""
    method = Parser("clustering", states=STATES, threads=THREADS, seed=setting.seed)
    return method.fit(sample_treebank().train)


def longest(setting: Setting) -> int:
    """Words of the longest sentences that are parsed; longer ones are one group, as among sentences."""
    return 25 if setting.quick else 60


@cache
def parsed(setting: Setting, name: str) -> tuple[list[Tree], float]:
    """Trees of all sentences to learn from, and the seconds that they took."""
    found = parser(setting)
    began = time.perf_counter()
    trees = list(trees_of(found, _tokens(setting, name), longest=longest(setting)))
    return trees, time.perf_counter() - began


def _tokens(setting: Setting, name: str) -> Iterator[list[str]]:
    """The sentences that the sentence groups have, as tokens of a treebank."""
    for document in task(setting, name).train.documents:
        for sentence in document:
            yield [word for part in tokenized_sentences(sentence) for word in part]


@cache
def constituents(setting: Setting, name: str) -> Groups:
    """One group a constituent."""
    return constituent_groups(parsed(setting, name)[0], task(setting, name).features)


def grid(setting: Setting, ridge: bool) -> Values:
    """As that of sentences, and weaker: a word is in several constituents of each of its sentences."""
    lam = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4]
    return {
        "penalty": ["overlap"],
        "l2": [0.1, 1.0, 10.0] if ridge else [0.0],
        "l1": [0.03, 0.3],
        "lam": lam[1:4] if setting.quick else lam,
    }


@cache
def with_constituents(setting: Setting, name: str, ridge: bool) -> Outcome:
    """Constituents and lasso, with or without a ridge."""
    data, estimator = task(setting, name), with_groups(constituents(setting, name))
    return outcome(data, searched(data, estimator, grid(setting, ridge), scoring=by_accuracy_then_loss))


def parses(setting: Setting) -> str:
    """Constituents against sentences and the lasso."""
    rows: list[list[object]] = []
    tests: list[list[object]] = []
    claims = []
    names = ("religion",) if setting.quick else tuple(PAIRS)
    for name in names:
        found = {"lasso": plain(setting, name, "lasso")}
        for ridge in (False, True):
            suffix = ", ridge" if ridge else ""
            found[SENTENCE + suffix] = structured(setting, name, SENTENCE, ridge)
            found[PARSE + suffix] = with_constituents(setting, name, ridge)
        for method, one in found.items():
            thesis = PUBLISHED[name].get(method)
            cells = [
                one.chosen,
                f"{one.dev:.1f}",
                f"{one.test:.2f}",
                thesis,
                f"{one.size:.1f}",
                f"{one.seconds:.0f}",
            ]
            rows.append([f"{name}, {method}", *cells])
        tree, sentence = (
            max((found[m], found[f"{m}, ridge"]), key=lambda one: one.rank) for m in (PARSE, SENTENCE)
        )
        tests.append([name, *compared(sentence.correct, tree.correct)])
        goal = PUBLISHED[name][PARSE]
        assert isinstance(goal, float)
        claims += [
            (f"constituents are ahead of the lasso ({name})", tree.test > found["lasso"].test),
            (f"constituents are ahead of sentences ({name})", tree.test > sentence.test),
            (f"constituents reach the thesis's {goal:g} ({name})", tree.test >= goal - 0.005),
        ]
    return _report(setting, names, rows) + _tested(tests) + verdict(claims)


def _report(setting: Setting, names: Sequence[str], rows: list[list[object]]) -> str:
    counts = ", ".join(f"{name} {len(constituents(setting, name)):,}" for name in names)
    seconds = sum(parsed(setting, name)[1] for name in names)
    note = (
        f"Sentences of posts, parsed by our own parser (clusters of spectral vectors, {STATES} states), from "
        f"{len(sample_treebank().train):,} trees of newspaper text, in {seconds:.0f} s with {THREADS} threads; "
        f"the thesis had the Berkeley parser. {100 * _new_words(setting, names):.0f} % of the tokens of the posts are "
        f"not in those trees. A sentence of more than {longest(setting)} words is one group. Groups of two words or "
        f"more: {counts}. Tuned as in the first study, but with weaker λ, since a word is in more groups."
    )
    if setting.quick:
        note += " Quick: one pair, only shorter sentences parsed, three λ."
    head = ["", "chosen", "dev %", "test %", "thesis", "size %", "s"]
    return section("Constituents of parsed posts", note, head, rows)


def _new_words(setting: Setting, names: Sequence[str]) -> float:
    """The share of tokens that the treebank does not have, in lower case."""
    known = {word.lower() for tree in sample_treebank().train for word in tree.leaves()}
    tokens = [word.lower() for name in names for sentence in _tokens(setting, name) for word in sentence]
    return sum(word not in known for word in tokens) / len(tokens)


def _tested(rows: list[list[object]]) -> str:
    what = "\nThe better of both with constituents (B) against the better of both with sentences (A), by the "
    return what + f"development documents:\n\n{table(['', *COMPARED], rows)}"


ENDING = """\
## What differs from the thesis, and why

- Parser and its treebank are smaller than those of the thesis, and know news, not posts: quoted lines, headers and
  addresses are parsed as if they were sentences.
- Everything else is as in ``yogatama_classify.py``, with its words, its development documents and its solver.
"""


def main() -> None:
    """Run the study."""
    run_studies(
        {"parses": parses},
        lambda quick, seed, cache: Setting(quick, seed, data_folder(), cache),
        title="Yogatama (2015), chapter 5, constituents of parsed posts",
        ending=ENDING,
        name="yogatama_parses",
        about=(__doc__ or "").splitlines()[0],
        quick="one pair, shorter sentences parsed, a shorter grid; minutes",
    )


if __name__ == "__main__":
    main()
