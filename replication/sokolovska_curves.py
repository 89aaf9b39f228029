"""Sokolovska (2010), Figures 7.9 to 7.18 and Tables 7.5, 7.6: CoNLL-2003 by strength, by solver and by selection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sokolovska_common import active, fitted, markdown, thresholded
from sokolovska_conll import FAMILIES, Task, chunking, first, names

from spinney.tagging.tagger import Tagger

PATTERNS = "\n".join(FAMILIES)
RHO_2 = 1e-5
RHO_1 = (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5)
QUICK_RHO_1 = (0.1, 1.0)
QUICK = 2000  # sentences
CUTS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)  # of weights after training
COUNTS = (2, 5, 10, 30, 100, 300)  # of observations before it
BEST = (100_000, 30_000, 10_000, 3_000, 1_000)  # weights by mutual information
KAPPA_2 = 2.0  # of the thesis for the CoNLL sets


def strengths(quick: bool) -> str:
    """Error and active weights by ρ₁."""
    task, rows = names(), []
    sentences = first(task.train, QUICK) if quick else task.train
    for rho_1 in QUICK_RHO_1 if quick else RHO_1:
        tagger = _elastic_net(sentences, rho_1)
        counts = tagger.active_by_pattern()
        words = next(sum(found) for name, found in counts.items() if name.startswith("*w"))
        rows.append([f"{rho_1:g}", *active(tagger), words, *_scores(tagger, task), *_end(tagger)])
    note = (
        f"Words, parts of speech and chunks superposed, {len(sentences):,} of {len(task.train):,} sentences to train "
        f"on; ρ₂ = {RHO_2:g}. Active sets of weights to a proof of 1 % or 500 iterations. The thesis (curves): the "
        "error does not change between ρ₁ = 1e-5 and 0.5, while active weights fall, and degrades at 2.5."
    )
    header = ["ρ₁", "active μ", "active λ", "of words", *_heads(task), "proven gap", "s"]
    return markdown("CoNLL-2003: strength (Figures 7.9 to 7.11)", note, header, rows)


def selection(quick: bool) -> str:
    """What is left after each way to choose features, and how good it is."""
    task, rows = names(), []
    sentences = first(task.train, QUICK) if quick else task.train
    full = fitted(sentences, PATTERNS, lam=task.rho_2, tol=1e-3, max_iter=300)
    rows.append(["all weights, ℓ2", full.weights_.n_active, *_scores(full, task)])
    for tau in CUTS[1:4] if quick else CUTS:
        cut = thresholded(full, tau)
        rows.append([f"after training, ±{tau:g} zeroed", cut.weights_.n_active, *_scores(cut, task)])
    for least in COUNTS[1:3] if quick else COUNTS:
        tagger = fitted(sentences, PATTERNS, lam=task.rho_2, tol=1e-3, max_iter=300, min_count=least)
        rows.append([f"seen {least} times or more", tagger.weights_.n_active, *_scores(tagger, task)])
    for k in BEST[2:4] if quick else BEST:
        chosen = fitted(
            sentences, PATTERNS, lam=task.rho_2, tol=1e-3, max_iter=300, select="mi", select_top=k
        )
        rows.append([f"mutual information, best {k:,}", chosen.weights_.n_active, *_scores(chosen, task)])
    for rho_1 in QUICK_RHO_1 if quick else (*RHO_1[3:], 5.0, 10.0):
        sparse = _elastic_net(sentences, rho_1)
        rows.append([f"elastic net, ρ₁ = {rho_1:g}", sparse.weights_.n_active, *_scores(sparse, task)])
    note = (
        f"Words, parts of speech and chunks superposed, {len(sentences):,} of {len(task.train):,} sentences to train "
        f"on; weights that are chosen before training are trained with ℓ2, 1/σ² = {task.rho_2:g}. The thesis (curves): "
        "a cut-off by counts is very poor, a threshold makes no good model of fewer than 10,000 weights, and sparse "
        "training is ahead of all there."
    )
    header = ["features", "active weights", *_heads(task)]
    return markdown("CoNLL-2003: ways to choose features (Figures 7.17 and 7.18)", note, header, rows)


def solvers(quick: bool) -> str:
    """Seconds of the solvers where symbols are words (section 7.3.3)."""
    task, rows = names(), []
    sentences = first(task.train, QUICK) if quick else task.train
    net: dict[str, Any] = {"penalty": "elasticnet", "lam": 1.0, "l2": RHO_2}
    runs: dict[str, tuple[str, dict[str, Any]]] = {
        "blockwise descent, 30 sweeps, ρ₁ = 1": (
            "42",
            {**net, "solver": "sbcd", "solver_options": {"kappa2": KAPPA_2}, "max_iter": 30},
        ),
        "OWL-QN, 50 iterations, ρ₁ = 1": ("5", {**net, "solver": "owlqn", "max_iter": 50}),
        "active sets, ρ₁ = 1": ("–", net),
        "SGD, 10 passes, ρ₂ = 0.02": ("under 4", {"solver": "sgd", "passes": 10, "lam": task.rho_2}),
        "L-BFGS, 90 iterations, ρ₂ = 0.02": (
            "25",
            {"lam": task.rho_2, "max_iter": 90},
        ),
    }
    for name, (minutes, how) in runs.items():
        tagger = fitted(sentences, PATTERNS, tol=1e-2, threads=1, **how)
        facts = tagger.facts_
        row = [name, minutes, facts["seconds"], facts["iterations"], facts["objective"]]
        rows.append([*row, tagger.weights_.n_active, *_scores(tagger, task)])
    note = (
        f"Words, parts of speech and chunks superposed, {len(sentences):,} of {len(task.train):,} sentences to train "
        f"on, one thread. ρ₂ = {RHO_2:g} beside ρ₁, and κ₂ = {KAPPA_2:g}. L-BFGS starts from a few passes of SGD."
    )
    header = ["solver", "min, thesis", "s, ours", "iterations", "objective", "active", *_heads(task)]
    return markdown("CoNLL-2003: solvers (section 7.3.3)", note, header, rows)


def words(quick: bool) -> str:
    """The words with the largest sums of |μ| (Tables 7.5 and 7.6), and the strongest pairs of labels."""
    parts = []
    for task, rho_1 in ((chunking(), 0.5), (names(), 0.1)):
        sentences = first(task.train, QUICK) if quick else task.train
        patterns = "\n".join(list(FAMILIES)[: task.families])
        tagger = fitted(
            sentences, patterns, penalty="elasticnet", lam=rho_1, l2=RHO_2, tol=1e-2, max_iter=500
        )
        found = _heaviest_words(tagger)
        rows = [[word, total, label, weight] for word, total, label, weight in found[: 20 if quick else 40]]
        note = (
            f"Elastic net, ρ₁ = {rho_1:g}, {len(sentences):,} sentences. Σ|μ| over labels, and the label with the "
            "largest |μ| of the word. The thesis: function words for chunks (about, and, of, to, n't); nationalities, "
            "months and nouns of low frequency for names, mostly with negative weights."
        )
        negative = float(np.mean([weight < 0 for *_, weight in found[:40]]))
        note += f" Of the first 40 here, {negative:.0%} have a negative weight of that kind."
        parts.append(
            markdown(
                f"{task.title}: strongest words (Tables 7.5 and 7.6)",
                note,
                ["word", "sum of absolute μ", "label", "μ"],
                rows,
            )
        )
    return "\n".join(parts)


def _heaviest_words(tagger: Tagger) -> list[tuple[str, float, str, float]]:
    """Words by Σ_y |μ(y, word)|, each with its strongest label."""
    weights, extractor = tagger.weights_, tagger.extractor_
    mu = weights.shape.mu(weights.full())
    totals = np.abs(mu).sum(axis=1)
    of_words = extractor.pattern_of("u") == 0
    texts = extractor.names("u")
    order = np.argsort(-np.where(of_words, totals, 0.0), kind="stable")[:40]
    strongest = np.abs(mu).argmax(axis=1)
    return [
        (
            texts[o].partition(":")[2],
            float(totals[o]),
            tagger.labels_[strongest[o]],
            float(mu[o, strongest[o]]),
        )
        for o in order.tolist()
    ]


def _elastic_net(sentences: Any, rho_1: float) -> Tagger:
    return fitted(
        sentences, PATTERNS, penalty="elasticnet", lam=rho_1, l2=RHO_2, tol=1e-2, max_iter=500, threads=1
    )


def _scores(tagger: Tagger, task: Task) -> list[float]:
    found = (tagger.score_columns(columns) for columns in task.tests.values())
    return [100.0 * float(scores[name]) for scores in found for name in ("token_error", "f1")]


def _heads(task: Task) -> list[str]:
    return [f"{what} {part}" for part in task.tests for what in ("error %", "F1")]


def _end(tagger: Tagger) -> list[Any]:
    gap = tagger.facts_["gap"]
    return [None if gap is None else f"{gap:.1%}", tagger.facts_["seconds"]]
