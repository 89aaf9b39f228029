"""Sokolovska (2010), Tables 3.2, 6.3 and 7.2: NETtalk, which features, and sparse blockwise descent."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sokolovska_common import active, data_folder, error, fitted, markdown, thresholded
from studies import Kept

from spinney.tagging.columns import Columns
from spinney.tagging.g2p import Rows, nettalk_sentences
from spinney.tagging.tagger import Tagger

WORDS, PARTS = 16_280, 10
QUICK_PARTS = 4  # of nine to train on
RHO_2 = 0.02
KAPPA_2 = 1.2  # of the thesis for this task
BEST = "*x:%x[0,0]\nUw:%x[-2,0]%x[-1,0]%x[1,0]%x[2,0]\nBw:%x[-1,0]%x[1,0]"
TRIGRAM = "U3:%x[-1,0]%x[0,0]%x[1,0]"
FIVE = "U5:" + "".join(f"%x[{at},0]" for at in range(-2, 3))
WINDOW = "\n".join(f"U{at}:%x[{at},0]" for at in range(-2, 3))


class Features(NamedTuple):
    """A row of the study: patterns, what was published (train %, test %), and how it is trained."""

    name: str
    patterns: str
    published: tuple[float | None, float | None]
    options: dict[str, Any]
    big: bool = False  # trained on observed labels only in a quick run
    stress: bool = False


FEATURES = (
    Features("(y,x)", "U:%x[0,0]", (38.7, 38.7), {}),
    Features("(y',y,x), no start label", "B:%x[0,0]", (27.2, 27.8), {"start_label": False}),
    Features("(y',y,x)", "B:%x[0,0]", (17.9, 18.5), {}),
    Features("(y,x)+(y',y,x)", "*:%x[0,0]", (13.9, 14.8), {}),
    Features("(y,x-1,x,x+1)", "U:%x[-1,0]%x[0,0]%x[1,0]", (12.5, 13.9), {}),
    Features("(y,x-1,x,x+1)+(y,x)", f"{TRIGRAM}\nUx:%x[0,0]", (13.8, 13.9), {}),
    Features("(y,x-1,x,x+1)+(y',y,x)+(y,x)", f"{TRIGRAM}\n*x:%x[0,0]", (10.5, 11.4), {}),
    Features("(y',y,x-1,x,x+1)", f"B{TRIGRAM[1:]}", (7.6, 9.6), {"weights": "observed"}),
    Features("(y,x-2..x+2)", FIVE, (3.1, 20.6), {}),
    Features("(y,x-2..x+2)+(y,x-1,x,x+1)+(y,x)", f"{FIVE}\n{TRIGRAM}\nUx:%x[0,0]", (5.3, 9.6), {}),
    Features("(y,x-2)+(y,x-1)+(y,x)+(y,x+1)+(y,x+2)", WINDOW, (10.7, 11.7), {}),
    Features("(y,x-2,x-1,x+1,x+2)+(y',y,x-1,x+1)+(y,x)+(y',y,x)", BEST, (4.0, 7.3), {"lam": 0.1}, True),
    Features("preset g2p", "g2p", (None, 7.3), {"lam": 0.5, "weights": "observed"}),
    Features(
        "preset g2p, phoneme and stress", "g2p", (None, 7.3), {"solver": "pa", "passes": 6}, stress=True
    ),
)


class Fold(NamedTuple):
    """One of ten ways to cut the words."""

    train: Columns
    test: Columns


def folds(seed: int, count: int, parts: int, stress: bool = False) -> list[Fold]:
    """The first ``count`` folds, trained on ``parts`` of the nine other parts."""
    words = nettalk_sentences(data_folder() / "nettalk" / "nettalk.data.xz", joint_stress=stress)
    order = np.random.default_rng(seed).permutation(len(words))[:WORDS]
    cuts = [[words[i] for i in part] for part in np.split(order, PARTS)]
    found = []
    for test in range(count):
        rest: list[Rows] = [row for step in range(1, parts + 1) for row in cuts[(test + step) % PARTS]]
        found.append(Fold(Columns.from_sentences(rest), Columns.from_sentences(cuts[test])))
    return found


def phoneme_error(tagger: Tagger, columns: Columns) -> float:
    """Percentage of wrong phonemes, where labels are phonemes with their stress."""
    inputs = Columns(columns.offsets, columns.symbols[:-1], columns.pool)
    guess = [label[0] for labels in tagger.label_columns(inputs) for label in labels]
    truth = [label[0] for label in columns.strings(-1)]
    return 100.0 * float(np.mean([a != b for a, b in zip(guess, truth)]))


def lookup_error(columns: Columns, reach: int) -> float:
    """Percentage of tokens whose label is not the most frequent one of the letters up to ``reach`` places around."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    letters, labels, edge = "".join(columns.strings(0)), columns.strings(-1), "#" * reach
    for a, b in pairwise(columns.offsets.tolist()):
        word = edge + letters[a:b] + edge
        for t, label in enumerate(labels[a:b]):
            counts[word[t : t + 2 * reach + 1]][label] += 1
    right = sum(max(seen.values()) for seen in counts.values())
    return 100.0 * (1.0 - right / columns.n_tokens)


def features(quick: bool, seed: int, cache: Path) -> str:
    """Table 3.2: the error of several sets of features."""
    count, parts = (1, QUICK_PARTS) if quick else (3, 9)
    kept = Kept(cache / f"features-{'quick' if quick else 'full'}-{seed}.json")
    rows = [
        kept.get(row.name, lambda row=row: _features_row(row, folds(seed, count, parts, row.stress), quick))
        for row in FEATURES
    ]
    words = folds(seed, 1, parts)[0].train
    note = (
        f"Tested on {count} of 10 parts in turn, trained on {parts} of the 9 others ({parts * WORDS // PARTS:,} "
        f"words). A table of the most frequent sound of each letter errs on {lookup_error(words, 0):.1f} % of its own "
        f"training letters, one of each letter between its neighbours on {lookup_error(words, 1):.1f} %: on this "
        "dictionary no model of (y,x) or of (y,x-1,x,x+1) can have a lower train error. The last two rows are ours; "
        "beside them is the best number of the thesis. In the last, labels are phoneme and stress, the phoneme is "
        "scored, and passive-aggressive learning saves time."
    )
    if quick:
        note += " Quick: one fold, fewer words, L-BFGS stopped early, observed labels only in large models."
    header = ["features", "trained by", "weights", "train %, thesis", "ours", "test %, thesis", "ours", "s"]
    return markdown("NETtalk: features (Table 3.2)", note, header, rows)


def _features_row(row: Features, cuts: list[Fold], quick: bool) -> list[Any]:
    """Means over the folds."""
    how: dict[str, Any] = {"tol": 1e-2, **row.options}
    if "solver" not in row.options:
        how = {"lam": RHO_2, "max_iter": 30 if quick else 200} | how
    if row.big and quick:
        how["weights"] = "observed"
    measure = phoneme_error if row.stress else error
    found = []
    for train, test in cuts:
        tagger = fitted(train, row.patterns, **how)
        facts = tagger.facts_
        found.append([measure(tagger, train), measure(tagger, test), facts["parameters"], facts["seconds"]])
    mean = np.mean(found, axis=0).tolist()
    trained = f"{facts['solver']} {facts['iterations']}"
    trained += "" if facts["solver"] == "pa" else f", λ = {how['lam']:g}"
    trained += ", observed labels" if how.get("weights") == "observed" else ""
    return [row.name, trained, round(mean[2]), row.published[0], mean[0], row.published[1], mean[1], mean[3]]


VOWELS = set("aeiou")
SOUNDS_OF_VOWELS = set("aceiouxAEIOUWYR@^|")  # of NETtalk; x is schwa
SCHWA = "x"
SHOWN = 20


def confusions(quick: bool, seed: int) -> str:
    """Table 3.3: the most frequent confusions of two models, and how many are of vowels and of schwa."""
    train, test = folds(seed, 1, QUICK_PARTS if quick else 9)[0]
    gold, parts = test.strings(-1), []
    inputs = Columns(test.offsets, test.symbols[:-1], test.pool)
    for name, patterns in (("(y',y,x)", "B:%x[0,0]"), ("(y,x)+(y',y,x)", "*:%x[0,0]")):
        tagger = fitted(train, patterns, lam=RHO_2, tol=1e-2, max_iter=200)
        said = [label for labels in tagger.label_columns(inputs) for label in labels]
        wrong = Counter((a, b) for a, b in zip(said, gold) if a != b)
        total, common = sum(wrong.values()), wrong.most_common(SHOWN)
        some = sum(n for _, n in common)
        vowels = sum(n for (a, b), n in common if {a, b} <= SOUNDS_OF_VOWELS)
        with_schwa = sum(n for (a, b), n in common if SCHWA in (a, b))
        parts.append(
            f"{name}: {total:,} errors; of the {some:,} in the {SHOWN} most frequent confusions, {vowels / some:.0%} "
            f"are between two vowels and {with_schwa / some:.0%} have schwa (x) on one side. "
            + ", ".join(f"{a} for {b} {n}" for (a, b), n in common)
            + "."
        )
    head = (
        f"## NETtalk: confusions (Table 3.3)\n\nTrained on {len(train):,} words, {len(test):,} to test on. The sound "
        "that was said, and the right one, in the symbols of NETtalk (- is silence). The thesis (British): most are of "
        "vowels, above all with schwa; of its 20 pairs with (y',y,x), 13 have schwa.\n\n"
    )
    return head + "\n\n".join(parts) + "\n"


def _ambiguity(tagger: Tagger) -> str:
    """How many labels have a positive weight with a letter, on average, for vowels and for consonants (Figure 7.7)."""
    mu = tagger.weights_.shape.mu(tagger.weights_.full())
    letters = [name[-1] for name in tagger.extractor_.names("u")]
    labels = (mu > 0).sum(axis=1)
    of_vowels = [int(n) for letter, n in zip(letters, labels) if letter in VOWELS]
    of_others = [int(n) for letter, n in zip(letters, labels) if letter.isalpha() and letter not in VOWELS]
    return (
        f" With ρ₁ = 0.2, {np.mean(of_vowels):.1f} labels have a positive weight with a vowel letter on average, and "
        f"{np.mean(of_others):.1f} with another (Figure 7.7: vowels are ambiguous, consonants nearly determined)."
    )


def _by_blocks(rho_1: float, **options: Any) -> dict[str, Any]:
    """Thirty sweeps of blockwise descent, as in the thesis."""
    how: dict[str, Any] = {"solver": "sbcd", "solver_options": {"kappa2": KAPPA_2} | options, "max_iter": 30}
    return how | {"penalty": "elasticnet", "lam": rho_1, "l2": 0.001, "tol": 1e-3}


# Published: iterations, minutes, train %, test %, K_μ, K_λ.
SBCD: dict[float, tuple[Any, ...]] = {
    0.0: (30, 125, 13.3, 14.0, 1378, 73034),
    0.1: (30, 76, 13.5, 14.2, 1155, 4171),
    0.2: (30, 70, 14.0, 14.2, 1089, 3598),
    0.5: (30, 63, 13.7, 14.3, 957, 3077),
    1.0: (30, 55, 16.3, 16.8, 858, 3111),
    2.0: (30, 43, 16.4, 16.9, 760, 2275),
    10.0: (30, 25, 17.3, 17.7, 267, 997),
}
OTHERS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "OWL-QN ρ₁ = 0.1": (
        {"solver": "owlqn", "penalty": "l1", "lam": 0.1, "max_iter": 50},
        (50, 165, 13.5, 14.2, 1864, 4079),
    ),
    "L-BFGS ρ₂ = 0.02": ({"lam": RHO_2, "max_iter": 90}, (90, 302, 13.5, 14.1, None, 74412)),
    "SGD ρ₂ = 0.02": ({"solver": "sgd", "passes": 30, "lam": RHO_2}, (30, 17, 18.5, 19.1, None, 74412)),
}
THRESHOLDS: dict[float, tuple[int, float]] = {0.25: (5446, 14.02), 0.5: (4005, 14.11), 1.0: (2585, 14.91)}


def blockwise(quick: bool, seed: int) -> str:
    """Table 7.2: blockwise descent against the others, all with (y,x)+(y',y,x); and Table 6.3, cut after training."""
    parts = QUICK_PARTS if quick else 9
    train, test = folds(seed, 1, parts)[0]
    runs: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {}
    for rho_1, published in SBCD.items():
        if not quick or rho_1 in (0.1, 0.2):
            runs[f"SBCD ρ₁ = {rho_1}"] = _by_blocks(rho_1), published
    rows, letters = [], ""
    for name, (how, published) in (runs | OTHERS).items():
        if quick and name.startswith("SGD"):
            how = how | {"passes": 10}
        tagger = fitted(train, "*:%x[0,0]", **{"tol": 1e-3} | how)
        facts = tagger.facts_
        if name == "SBCD ρ₁ = 0.2":
            letters = _ambiguity(tagger)
        ours = [error(tagger, train), error(tagger, test), *active(tagger)]
        pairs = [cell for pair in zip(published[2:], ours) for cell in pair]
        rows.append([name, published[0], facts["iterations"], *pairs, published[1], facts["seconds"]])
        if name.startswith("L-BFGS"):
            for tau, (kept, wrong) in THRESHOLDS.items():
                cut = thresholded(tagger, tau)
                mu, lam = active(cut)
                numbers = [None, error(cut, train), wrong, error(cut, test), None, mu, kept, lam]
                rows.append([f"the same without weights in ±{tau}", None, None, *numbers, None, None])
    note = (
        f"Trained on {parts} of 9 parts, tested on the first. Features (y,x)+(y',y,x). SBCD has ρ₂ = 0.001 and κ₂ = "
        "1.2, as in the thesis, and stops after 30 sweeps at the latest. Of models cut after training the thesis gives "
        "the sum of both counts, here under λ."
        + letters
        + (" Quick: two of seven ρ₁, fewer words, SGD of 10 passes." if quick else "")
    )
    header = ["method", "sweeps, thesis", "ours", "train %, thesis", "ours", "test %, thesis", "ours"]
    header += ["K_μ, thesis", "ours", "K_λ, thesis", "ours", "min, thesis", "s, ours"]
    return markdown("NETtalk: blockwise descent (Tables 7.2 and 6.3)", note, header, rows)


def recursions(quick: bool, seed: int) -> str:
    """Figure 7.8: time by active weights, with sparse forward-backward recursions and with dense ones."""
    parts = QUICK_PARTS if quick else 9
    train, _ = folds(seed, 1, parts)[0]
    fitted(train, "*:%x[0,0]", **_by_blocks(10.0) | {"max_iter": 1})  # compiles
    rows = []
    for rho_1, published in SBCD.items():
        if rho_1 > 0 and (not quick or rho_1 in (0.1, 10.0)):
            seconds = []
            for sparse in (True, False, "auto"):
                started = time.process_time()
                tagger = fitted(train, "*:%x[0,0]", threads=1, **_by_blocks(rho_1, sparse=sparse))
                seconds.append(time.process_time() - started)
            rows.append([f"{rho_1:g}", sum(published[4:]), published[1], sum(active(tagger)), *seconds])
    note = (
        f"Blockwise descent with (y,x)+(y',y,x), 30 sweeps, {len(train):,} words; seconds of the processor, one "
        "thread. By default, a kind of token has the sparse recursion where fewer than a tenth of its label pairs have "
        "weights. The thesis (curve): with fewer than 10,000 active weights, time falls in proportion to them."
    )
    if quick:
        note += " Quick: fewer words, two of six ρ₁."
    header = ["ρ₁", "active, thesis", "min", "active, ours", "sparse, s", "dense, s", "by default, s"]
    return markdown("NETtalk: sparse recursions (Figure 7.8)", note, header, rows)
