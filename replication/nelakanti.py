"""Nelakanti (2014), structured penalties for log-linear language models, and taxonomies, replicated.

    python replication/nelakanti.py [--quick] [--only NAME …] [--missing] [--seed S] [--cache DIR] [--out FILE]

Studies: subsets, starts, orders, laws, breakdown, stopped, examples, parameters, prox, union; of taxonomies synthetic,
policies, splits, newsgroups, words. The data sets are looked for under SPINNEY_DATA. What they find is kept in
``results/nelakanti.md``, study by study.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from nelakanti_models import (
    CORPORA,
    LIMIT,
    NAMES,
    ORDER,
    THESIS,
    TOLERANCE,
    WIDER,
    fitted,
    kneser_ney,
    mixed,
    mixed_with_classes,
    of_subset,
    parts,
    perplexity,
    tuned,
)
from nelakanti_prox import prox
from nelakanti_taxonomy import DIFFERENCES as TAXONOMY_DIFFERENCES
from nelakanti_taxonomy import STUDIES as TAXONOMY
from nelakanti_text import data_folder, table, words_of
from spectral_common import Setting
from studies import Kept, run_studies

from spinney.classes import brown, pair_counts
from spinney.lm import LanguageModel, fit_hierarchical, fit_loglinear, huffman_tree, tree_of_classes
from spinney.lm.stream import stream_of
from spinney.lm.suffixtrie import suffix_trie
from spinney.optim import ConvergenceWarning
from spinney.structure import ClassTree
from spinney.taxonomy.text import text_taxonomy

#: Perplexities of 7-grams (the only three that survive in the thesis's text).
PUBLISHED = {"KN": 217.4, "wℓT2": 213.6, "mixture": 204.1}

DIFFERENCES = """\
## What differs from the thesis, and why

- AP news is not at hand. Four other corpora stand for it, each in four disjoint subsets of 100,000 words to learn from,
  10,000 to choose weights of mixtures by, and 20,000 to test. PTB came with its own preparation (no capitals, rare
  words `<unk>`); proper nouns are found by the tags of Brown, an automatic tagger in Reuters, and capitals in speeches.
- λ and α are chosen on 30,000 and 10,000 words from the end of each corpus, as in the thesis, but from a small grid
  around its values, which goes on while its best λ is at an edge (a quick run has the thesis's α), and kept for all
  orders and subsets. Its λ belong to a mean of losses: here they are times 100,000.
- The thesis reads its mixture's rule off the test set. Here weights are learnt on held-out text, by the length of the
  matched context; the rule with its threshold chosen there is told beside.
- Perplexity does not score ends of sentences, and scores `<unknown>` as a word.
- Kneser-Ney is Spinney's own, with one discount an order, as SRILM's `-ukndiscount -interpolate` with all n-grams
  kept; the modified one is equal to KenLM's.
- Fits begin at modified Kneser-Ney and end at a violation of 1e-4 (those that choose λ and α: 1e-3) or after 3,000
  iterations, which with α = 1.2 are sometimes too few; in a quick run those of the single words of table 3.1 end after
  300. The thesis begins at zero and does not say when it stops: the table of starts tells what that is worth.
"""


def per_cent(value: float, base: float) -> str:
    """By how much a perplexity differs from another."""
    return f"{100 * (value / base - 1):+.1f} %"


def subsets(setting: Setting) -> str:
    """Kneser-Ney, wℓT2 and their mixtures on the four subsets of each corpus."""
    rows, means = [], []
    for corpus in CORPORA:
        found, violations = [], []
        for i, part in enumerate(parts(corpus)[: 1 if setting.quick else 4]):
            tree = of_subset(setting, corpus, i, "tree-l2", True)
            models: list[LanguageModel] = [
                kneser_ney(corpus, i),
                kneser_ney(corpus, i, ORDER, "modified-kneser-ney"),
                tree,
                mixed(tree, corpus, i),
                mixed(tree, corpus, i, "rule"),
                mixed_with_classes(tree, setting.seed, corpus, i),
            ]
            found.append([perplexity(model, part.test) for model in models])
            violations.append(tree.facts["violation"])
        mean = np.mean(found, axis=0)
        means.append(mean)
        vocabulary = words_of([part.train for part in parts(corpus)])
        lam, alpha = tuned(setting, corpus, "tree-l2", True)
        change = [per_cent(mean[k], mean[0]) for k in (1, 2, 3, 5)]
        worst = f"{max(violations):.0e}"
        rows.append([corpus, vocabulary, f"{lam:.2f}, {alpha:g}", *mean.tolist(), *change, worst])
    published = [
        PUBLISHED["KN"],
        "–",
        PUBLISHED["wℓT2"],
        "–",
        PUBLISHED["mixture"],
        "–",
        "–",
        "-1.7 %",
        "-6.1 %",
        "–",
        "–",
    ]
    rows.append(["thesis (AP news)", "8,500", "0.71, 1.1", *published])
    below = sum(mean[2] < mean[0] for mean in means)
    five, more = (sum(mean[k] <= 0.95 * mean[0] for mean in means) for k in (3, 5))
    return (
        f"## 7-grams, {'the first' if setting.quick else 'the mean'} of four subsets of 100,000 words\n\n"
        + table(
            ["corpus", "words", "λ, α", "KN", "modified KN", "wℓT2", "mixture by depth", "by the rule", "with classes",
             "modified KN to KN", "wℓT2 to KN", "mixture to KN", "with classes to KN", "violation at most"],
            rows,
        )
        + "\n\nThe mixture is of KN and wℓT2; with classes, of these and a 4-gram model of 64 word classes learnt from "
        f"the same words. wℓT2 is below Kneser-Ney on {below} of {len(means)} corpora; the mixture is below it by 5 % "
        f"or more on {five}, with classes on {more}.\n"
    )  # fmt: skip


def starts(setting: Setting) -> str:
    """Where a fit begins and where it is stopped: only a fit that has not come to its optimum knows its start."""
    corpus, i = "brown", 0
    part = parts(corpus)[i]
    base = perplexity(kneser_ney(corpus, i), part.test)
    stops: list[tuple[str, dict[str, Any]]] = [
        (f"{n} iterations", {"tol": 0.0, "max_iter": n}) for n in (50, 80, 150, 300)
    ]
    stops += [(f"violation {tol:g}", {"tol": tol}) for tol in (1e-4, 1e-5)]
    rows = []
    for penalty, (lam, alpha) in {"tree-l2": (0.71, 1.1), "l1": (0.85, 1.0)}.items():
        for stop, how in stops if penalty == "tree-l2" else stops[2:5:2]:
            for start in ("zero", "kneser-ney"):
                model = fitted(part, penalty, ORDER, lam, alpha, start=start, **how)
                alone = perplexity(model, part.test)
                both = perplexity(mixed(model, corpus, i), part.test)
                name = ("w" if alpha != 1 else "") + NAMES[penalty]
                facts = (
                    f"{model.facts['objective']:,.1f}",
                    f"{model.facts['violation']:.1g}",
                    f"{model.facts['active']:,}",
                )
                changes = (alone, per_cent(alone, base), both, per_cent(both, base))
                rows.append([f"{name}, {start}", stop, *facts, *changes])
    return (
        "## Starts, and where a fit is stopped\n\n"
        f"The first subset of Brown, 7-grams, the thesis's λ and α; Kneser-Ney has {base:.1f}. The problem is convex: "
        "both starts lead to the same optimum.\n\n"
        + table(
            [
                "model, start",
                "stopped at",
                "objective",
                "violation",
                "active",
                "perplexity",
                "to KN",
                "mixture",
                "to KN",
            ],
            rows,
        )
        + "\n\nThe thesis: wℓT2 alone -1.7 %, in the mixture -6.1 %.\n"
    )


def orders(setting: Setting) -> str:
    """Perplexity by order, with and without weighted features."""
    corpus, i = "brown", 0
    part = parts(corpus)[i]
    some = (2, 3, 7) if setting.quick else tuple(range(2, 13))
    rows: list[list[object]] = [
        ["KN", "", *(perplexity(kneser_ney(corpus, i, order), part.test) for order in some)]
    ]
    for weighted in (False, True):
        for penalty in THESIS:
            lam, alpha = tuned(setting, corpus, penalty, weighted)
            values = [
                perplexity(of_subset(setting, corpus, i, penalty, weighted, order), part.test)
                for order in some
            ]
            rows.append([("w" if weighted else "") + NAMES[penalty], f"{lam:.2f}, {alpha:g}", *values])
    return (
        "## Perplexity by order\n\nThe first subset of Brown.\n\n"
        + table(["model", "λ, α", *map(str, some)], rows)
        + "\n\nThe thesis: ℓ2² and ℓ1 are best at order 3 and then degrade, ℓT2 does not; wℓT2 is best and improves up "
        "to 9; wℓ1 stays above Kneser-Ney.\n"
    )


def laws(setting: Setting) -> str:
    """Section 3.5.4: values of contexts that fall with their length exponentially, linearly, or as a logarithm."""
    rows, kept = [], Kept(setting.cache / f"laws-{setting.size}.json")
    for corpus in CORPORA[1:2] if setting.quick else CORPORA:
        found, worst = [], 0.0
        for law in _LAWS:
            value, lam, alpha, violation = kept.get(
                f"{corpus}, {law}", partial(_of_law, setting, corpus, law)
            )
            worst = max(worst, violation)
            found.append(f"{value:.1f} ({alpha:g}, {lam:.2f})")
        rows.append(
            [corpus, perplexity(kneser_ney(corpus, 0), parts(corpus)[0].test), *found, f"{worst:.0e}"]
        )
    header = ["all 1", "α^k", "1 + (α − 1)k", "1 + (α − 1)ln(1 + k)"]
    return (
        "## Values of long contexts (section 3.5.4)\n\nPerplexity of 7-grams under ℓT2, the first subset of each "
        "corpus. In brackets α and λ: for each law α is chosen on held-out words, with the λ of the first table, and "
        "then λ, of that one and its neighbours; grids go on where the best is at their edge (that of α upwards only); "
        f"fits of the choice end after {_TO_CHOOSE} iterations.\n\n"
        + table(["corpus", "KN", *header, "violation at most"], rows)
        + "\n\nThe same on Brown where all fits, those of the choice too, begin at zero and are stopped early:\n\n"
        + table(["iterations", *header], _laws_stopped(setting, kept))
        + "\n\nThe thesis: values that fall exponentially are better than linear or logarithmic ones.\n"
    )


_LAWS: Final = (None, "power", "linear", "log")
_TO_CHOOSE: Final = 500  # iterations: the objective is then within about 1e-4 of its optimum


def _laws_stopped(setting: Setting, kept: Kept) -> list[list[object]]:
    """What the laws are worth when fits are stopped early, as those of the thesis may have been."""
    rows: list[list[object]] = []
    for stop in (40, 80):
        found = [
            kept.get(f"brown, {law}, {stop}", partial(_of_law, setting, "brown", law, stop)) for law in _LAWS
        ]
        rows.append([stop, *(f"{value:.1f} ({alpha:g}, {lam:.2f})" for value, lam, alpha, _ in found)])
    return rows


def _of_law(
    setting: Setting, corpus: str, law: str | None, stop: int | None = None
) -> tuple[float, float, float, float]:
    """The perplexity of a law on test text, the λ and the α that were chosen for it, and its violation."""
    part = parts(corpus)[0]
    lam, power = tuned(setting, corpus, "tree-l2", True)
    grid = sorted({power, 0.9, 1.1, 1.3}) if law else [1.0]
    model, lam, alpha = _best_of_law(part, lam, grid, law or "power", stop)
    return perplexity(model, part.test), lam, alpha, model.facts["violation"]


def _best_of_law(
    part: Any, lam: float, alphas: Sequence[float], law: str, stop: int | None
) -> tuple[LanguageModel, float, float]:
    """The model of a law, with the λ and the α that were chosen on held-out words; from zero if stopped early."""

    def model(point: tuple[float, float], max_iter: int) -> LanguageModel:
        how: dict[str, Any] = {"penalty": "tree-l2", "lam": point[0], "alpha": point[1], "law": law}
        if stop is not None:
            how |= {"start": "zero", "tol": 0.0, "max_iter": stop}
        else:
            how |= {"tol": TOLERANCE, "max_iter": max_iter}
        return fit_loglinear(part.train, ORDER, **how)

    known: dict[tuple[float, float], float] = {}

    def best_with(*points: tuple[float, float]) -> tuple[float, float]:
        known.update((point, perplexity(model(point, _TO_CHOOSE), part.held_out)) for point in points)
        return min(known, key=lambda point: known[point])

    alpha = best_with(*((lam, alpha) for alpha in alphas))[1]
    while alpha == max(alpha for _, alpha in known) > 1:  # the best is at the edge
        alpha = best_with((lam, alpha + 0.2))[1]
    best = best_with((0.7 * lam, alpha), (1.5 * lam, alpha))
    while best[0] in (min(lam for lam, _ in known), max(lam for lam, _ in known)):
        best = best_with((best[0] * (WIDER if best[0] > lam else 1 / WIDER), alpha))
    return model(best, LIMIT), *best


def breakdown(setting: Setting) -> str:
    """Where models gain on Kneser-Ney: by the length of the matched context, and by the frequency of the word."""
    corpus, i = "brown", 0
    part = parts(corpus)[i]
    stream = stream_of(part.test)
    scored = stream.ids[stream.events] != len(part.test.vocabulary)
    base = kneser_ney(corpus, i)
    depths = base.match_depths(stream)[scored]
    counts = np.append(part.train.vocabulary.counts, 0)[stream.ids[stream.events][scored]]
    losses = {"KN": -base.event_logprobs(stream)[scored]}
    for penalty in THESIS:
        losses["w" + NAMES[penalty]] = -of_subset(setting, corpus, i, penalty, True).event_logprobs(stream)[
            scored
        ]
    by_depth = [(f"{k}" if k < 4 else "4 or more", (depths == k) if k < 4 else depths >= 4) for k in range(5)]
    edges = (3, 10, 100, 1000, 10**9)
    by_count = [
        (
            f"{low:,} to {high - 1:,}" if high < 10**9 else f"{low:,} or more",
            (counts >= low) & (counts < high),
        )
        for low, high in pairwise(edges)
    ]

    def rows(groups: Sequence[tuple[str, np.ndarray]]) -> list[list[object]]:
        return [
            [name, int(mask.sum()), *(f"{loss[mask].mean():.3f}" for loss in losses.values())]
            for name, mask in groups
            if mask.any()
        ]

    return (
        "## Where the gain is\n\nMean −log P (nats) on the first test subset of Brown, 7-grams.\n\n"
        + table(["longest context seen", "words", *losses], rows(by_depth))
        + "\n\n"
        + table(["seen in training", "words", *losses], rows(by_count))
        + "\n\nThe thesis (its Table 3.1 and figures): all penalised models beat Kneser-Ney where contexts are short; "
        "where they are long wℓ1 and wℓ2² fall behind, and wℓT2 stays near.\n"
    )


def stopped(setting: Setting) -> str:
    """What orders of models are worth that come of fits stopped early: weighted features, from zero."""
    del setting
    corpus, i = "brown", 0
    part = parts(corpus)[i]
    stream = stream_of(part.test)
    scored = stream.ids[stream.events] != len(part.test.vocabulary)
    base = kneser_ney(corpus, i)
    depths = np.minimum(base.match_depths(stream)[scored], 4)

    def row(name: str, model: LanguageModel, objective: str = "–") -> list[object]:
        loss = -model.event_logprobs(stream)[scored]
        by_depth = [f"{loss[depths == k].mean():.3f}" for k in range(1, 5)]
        return [name, objective, perplexity(model, part.test), *by_depth]

    rows = [row("KN", base)]
    for iterations in (40, 80, 150):
        for penalty, (lam, alpha) in THESIS.items():
            model = fitted(part, penalty, ORDER, 1e5 * lam, alpha, start="zero", tol=0.0, max_iter=iterations)
            name = f"w{NAMES[penalty]}, {iterations} iterations"
            rows.append(row(name, model, f"{model.facts['objective']:,.0f}"))
    header = ["model", "objective", "perplexity", "1", "2", "3", "4 or more"]
    return (
        "## Fits that are stopped early\n\nThe first subset of Brown, 7-grams, weighted features, the thesis's λ and "
        "α, from zero. The last four columns: mean −log P (nats) of the test words by the longest context seen.\n\n"
        + table(header, rows)
        + "\n\nThe thesis: wℓ1 is behind Kneser-Ney at every order; where contexts are long, wℓ1 and wℓ2² fall far "
        "behind it, and wℓT2 stays near. At the optimum (“Where the gain is”) all are ahead of it.\n"
    )


def examples(setting: Setting) -> str:
    """Table 3.1: single words of the test text, from long matched contexts to short ones, under every model."""
    corpus, i = "ptb", 0
    part = parts(corpus)[i]
    stream, names = stream_of(part.test), [*part.test.vocabulary.words, "</s>"]
    ids, places = stream.ids, stream.events
    base = kneser_ney(corpus, i)
    depths = base.match_depths(stream)
    losses, violations = {"KN": -base.event_logprobs(stream)}, []
    for penalty in ("tree-l2", "tree-linf", "l2", "l1"):
        lam, alpha = THESIS[penalty]
        model = fitted(part, penalty, ORDER, 1e5 * lam, alpha, max_iter=300 if setting.quick else LIMIT)
        losses["w" + NAMES[penalty]] = -model.event_logprobs(stream)
        violations.append(f"{model.facts['violation']:.1g}")
    chosen = _telling_words(part, ids[places], depths)
    rows, best = [], dict.fromkeys(losses, 0)
    for event in chosen:
        found = {name: float(loss[event]) for name, loss in losses.items()}
        least = min(found, key=lambda name: found[name])
        best[least] += 1
        cells = [f"**{value:.4f}**" if name == least else f"{value:.4f}" for name, value in found.items()]
        rows.append([names[ids[places[event]]], int(depths[event]), *cells])
    known = depths[chosen]
    means = [
        [f"mean of m_max {low} to {high}", int(((known >= low) & (known <= high)).sum()),
         *(f"{loss[chosen][(known >= low) & (known <= high)].mean():.3f}" for loss in losses.values())]
        for low, high in ((4, 6), (1, 3))
    ]  # fmt: skip
    return (
        "## Single words (Table 3.1)\n\n−log P of the last word (nats, 7-grams), the first test subset of the Penn "
        f"Treebank, the thesis's λ and α, fits to a violation of {', '.join(violations)}"
        f"{' (after 300 iterations at most)' if setting.quick else ''}. By rule, not by eye: of each length "
        f"m_max of the longest context seen, the first {_EACH} words that were seen 5 to 500 times in training; and "
        "the word of that kind that has the most lengths, once for each.\n\n"
        + table(["word", "m_max", *losses], rows)
        + "\n\n"
        + table(["of these", "words", *losses], means)
        + "\n\nLeast in: "
        + ", ".join(f"{name} {times}" for name, times in best.items())
        + " rows. The thesis, of 19 rows: KN 6, wℓT2 10, wℓT∞ 2, wℓ1 1.\n"
    )


_EACH = 2  # words of each length of context


def _telling_words(part: Any, words: np.ndarray, depths: np.ndarray) -> list[int]:
    """The events of the table: of every depth the first words of middling frequency, and one word at many depths."""
    counts = np.append(part.train.vocabulary.counts, 0)
    alphabetic = np.array([word.isalpha() for word in part.test.vocabulary.words] + [False])
    middling = (counts >= 5) & (counts <= 500) & alphabetic
    fit = np.flatnonzero(middling[words])
    chosen: list[int] = []
    for depth in range(ORDER - 1, 0, -1):
        there = fit[depths[fit] == depth]
        _, first = np.unique(words[there], return_index=True)
        chosen += there[np.sort(first)[:_EACH]].tolist()
    seen: dict[int, dict[int, int]] = {}
    for event in fit.tolist():
        if depths[event] > 0:
            seen.setdefault(int(words[event]), {}).setdefault(int(depths[event]), event)
    often = max(seen, key=lambda word: (len(seen[word]), counts[word]))
    return chosen + [event for _, event in sorted(seen[often].items(), reverse=True)]


def parameters(setting: Setting) -> str:
    """Parameters by order: the tries S_v grow with it, the collapsed trees M_v hardly."""
    del setting
    part = parts("brown")[0].train
    stream, n_words = stream_of(part), len(part.vocabulary)
    rows = []
    for order in (2, 3, 4, 5, 7, 9, 12, 20, None):
        deepest = None if order is None else order - 1
        whole = suffix_trie(stream, n_words, deepest)
        collapsed = suffix_trie(stream, n_words, deepest, collapse=True)
        sizes = (whole.n_contexts * (n_words + 1), whole.n_grams, collapsed.n_grams)
        rows.append([order or "unbounded", *(f"{size:,}" for size in sizes)])
    return (
        "## Parameters by order\n\n"
        "The first subset of Brown: contexts × words, pairs that were seen (S_v), and collapsed (M_v).\n\n"
        + table(["order", "contexts × words", "S_v", "M_v"], rows)
        + "\n\nThe thesis: S_v grows linearly with the order, M_v logarithmically.\n"
    )


def union(setting: Setting) -> str:
    """The two parts of the thesis together: tree norms on contexts, and a tree over the words."""
    corpus, i, order = "brown", 0, 3
    part = parts(corpus)[i]
    lam, alpha = tuned(setting, corpus, "tree-l2", True)
    flat = of_subset(setting, corpus, i, "tree-l2", True, order)
    vocabulary, n = part.train.vocabulary, len(part.train)
    classes = brown(pair_counts(part.train), vocabulary, 256).classes
    names = [*vocabulary.words, "</s>"]
    by_lot = np.random.default_rng(setting.seed).permutation(len(names))
    trees = {
        "by lot": ClassTree.balanced([names[k] for k in by_lot]),
        "Huffman": huffman_tree(vocabulary, n),
        "taxonomy (SPEC, weighted)": text_taxonomy(part.train),
        "Brown, 256 clusters": tree_of_classes(classes, vocabulary, n),
    }
    rows: list[list[object]] = [
        [
            "none: a flat softmax",
            "–",
            f"{flat.n_parameters:,}",
            f"{flat.facts['seconds']:.1f}",
            perplexity(flat, part.test),
        ]
    ]
    for name, tree in trees.items():
        how: dict[str, Any] = {"lam": lam, "alpha": alpha, "tol": TOLERANCE, "max_iter": LIMIT}
        model = fit_hierarchical(part.train, order, tree=tree, **how)
        decisions = f"{model.facts['decisions_per_token']:.1f}"
        rows.append(
            [
                name,
                decisions,
                f"{model.n_parameters:,}",
                f"{model.facts['seconds']:.1f}",
                perplexity(model, part.test),
            ]
        )
    base = perplexity(kneser_ney(corpus, i, order, "modified-kneser-ney"), part.test)
    return (
        "## Tree norms and a tree over words together\n\nThe first subset of Brown, order 3, wℓT2 at every decision of "
        f"a hierarchical softmax. Modified Kneser-Ney has {base:.1f}. The thesis leaves this to future work.\n\n"
        + table(["tree", "decisions a word", "parameters", "seconds", "perplexity"], rows)
        + "\n"
    )


STUDIES: dict[str, Callable[[Setting], str]] = {
    "subsets": subsets,
    "starts": starts,
    "orders": orders,
    "laws": laws,
    "breakdown": breakdown,
    "stopped": stopped,
    "examples": examples,
    "parameters": parameters,
    "prox": prox,
    "union": union,
    **TAXONOMY,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # the tables say how long fits may take
    run_studies(
        STUDIES,
        lambda quick, seed, cache: Setting(quick, seed, data_folder(), cache),
        title="Nelakanti (2014), replicated",
        ending=DIFFERENCES + TAXONOMY_DIFFERENCES.partition("\n\n")[2],
        name="nelakanti",
        about=(__doc__ or "").partition("\n")[0],
        quick="one subset of four, fewer orders, the thesis's α",
    )
