"""Sparse coding of words with a forest of code dimensions: beside SPAMS, and at the size of a vocabulary.

SPAMS wants its matrix dense, so the race is on a part of the Penn Treebank's. Its objective has a factor ½ and is a
mean over words; dictionaries of both are judged by ours, with codes solved to a duality gap below a millionth.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison
from benchmarks.data import corpus, review_sentences
from benchmarks.harness import publish
from spinney.corpus import TokenArrays, read_arrays, sentence_arrays
from spinney.embed.code_trees import as_code_forest, code_forest
from spinney.embed.counts import count_contexts, window
from spinney.embed.sparse_coding import Coder, SparseCoding
from spinney.embed.stochastic_coding import StochasticCoding
from spinney.embed.weighting import pmi
from spinney.parallel import default_threads

LAM, TREES = 0.1, 4
PART = 3000  # words and contexts of the race
SPAMS_BATCHES = (60, 240, 600)  # of 512 words each
LADDER: tuple[dict[str, Any], ...] = (
    {"rounds": 1, "passes": 2, "span_passes": 0},
    {"rounds": 1, "passes": 5, "span_passes": 0},
    {"rounds": 1},
    {"rounds": 2},
    {"rounds": 3},
    {"rounds": 6},
)


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick`` leaves out all but the first figure of the race."""
    SparseCoding(13 * TREES, rounds=1, passes=1, span_passes=1).fit(np.eye(60))  # compile
    arrays = read_arrays(corpus("ptb_lm", "ptb.train.txt.xz"), "lines", min_count=10, unknown="#rare#")
    section, comparisons = _race(_pmi(arrays, PART), SPAMS_BATCHES[:1] if quick else SPAMS_BATCHES)
    sections = [section]
    if not quick:
        sections.append(_vocabulary())
    publish("embed_coding", sections, comparisons, quick, "one run each")


def _pmi(arrays: TokenArrays, size: int) -> Any:
    return pmi(count_contexts(arrays, window(5), n_words=size, n_contexts=size).matrix, floor=None)


def _race(X: Any, ladder: tuple[int, ...]) -> tuple[str, list[Comparison]]:
    forest = as_code_forest(code_forest(TREES))

    def objective(D: Any) -> float:
        D, codes = np.ascontiguousarray(D), np.zeros((X.shape[0], forest.n_codes))
        loss, gap = Coder(forest, LAM, default_threads()).solve(X, codes, D, D.T @ D, 1e-9, 5000)
        value = loss + LAM * forest.value(codes)
        assert gap < 1e-6 * value
        return value

    ours = []
    for options in LADDER:
        _say(f"Spinney with {options}")
        started = time.perf_counter()
        model = SparseCoding(13 * TREES, lam=LAM, **options).fit(X)
        ours.append((time.perf_counter() - started, objective(model.dictionary_.T), options))
    rows = [
        f"### {X.shape[0]:,} words × {X.shape[1]:,} contexts, {X.nnz:,} entries, M = {13 * TREES}, λ = {LAM}",
        "",
        "| SPAMS: batches of 512 | seconds | objective | Spinney, at least as low: seconds | objective | ratio |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    comparisons = []
    for batches in ladder:
        _say(f"SPAMS, {batches} batches")
        seconds, value = _spams(X, batches, objective)
        reached = [(s, v) for s, v, _ in ours if v <= value]
        answer = (
            f"{reached[0][0]:.2f} | {reached[0][1]:,.0f} | {seconds / reached[0][0]:.1f}"
            if reached
            else "| |"
        )
        rows.append(f"| {batches} | {seconds:.2f} | {value:,.0f} | {answer} |")
        own_seconds, own_value = reached[0] if reached else ours[-1][:2]
        comparisons.append(
            Comparison(
                "Sparse coding", f"a dictionary of {13 * TREES} atoms under a forest, to the peer's objective",
                f"Penn Treebank, {X.shape[0]:,} words × {X.shape[1]:,} contexts",
                f"SPAMS structTrainDL, {batches} batches", "s", own_seconds, seconds, "same" if reached else "worse",
                f"objective {own_value:,.0f}, the peer's {value:,.0f}",
            )
        )  # fmt: skip
    rows += ["", "| Spinney | seconds | objective |", "|---|---:|---:|"]
    rows += [f"| {_told(options)} | {s:.2f} | {value:,.0f} |" for s, value, options in ours]
    rows.append(
        "\nOne run each. Spinney's seconds include the final solution of all codes, SPAMS's do not. Both may use all "
        "processors; SPAMS has inner tolerance 10⁻³ and the same kind of start, random rows of the matrix.\n"
    )
    return "\n".join(rows), comparisons


def _spams(X: Any, batches: int, objective: Any) -> tuple[float, float]:
    import spams

    dense = np.asfortranarray(X.toarray().T.astype(np.float64))
    first = dense[:, np.random.default_rng(0).permutation(X.shape[0])[: 13 * TREES]]
    first = np.asfortranarray(first / np.linalg.norm(first, axis=0))
    started = time.perf_counter()
    D = spams.structTrainDL(
        dense, D=first, tree=_spams_tree(), lambda1=LAM / 2, iter=batches, batchsize=512, regul="tree-l2",
        numThreads=default_threads(), tol=1e-3, verbose=False,
    )  # fmt: skip
    return time.perf_counter() - started, objective(D)


def _spams_tree() -> dict[str, Any]:
    """The forest under one further root, which has no weight and no dimension of its own."""
    from scipy.sparse import csc_matrix

    parent = code_forest(TREES)
    n = len(parent) + 1
    children = np.zeros((n, n), bool)
    children[np.arange(1, n), parent + 1] = True
    return {
        "eta_g": np.r_[0.0, np.ones(n - 1)],
        "groups": csc_matrix(children, dtype=bool),
        "own_variables": np.r_[0, np.arange(n - 1)].astype(np.int32),
        "N_own_variables": np.r_[0, np.ones(n - 1)].astype(np.int32),
    }


def _vocabulary() -> str:
    """Twenty thousand words of the film reviews."""
    _say("reading")
    arrays = sentence_arrays(review_sentences(), min_count=10, max_size=20_000, unknown="#rare#")
    X = _pmi(arrays, 20_000)
    rows = [
        f"### {X.shape[0]:,} words × {X.shape[1]:,} contexts, {X.nnz:,} entries, M = {13 * TREES}, λ = {LAM}",
        "",
        "| learner | seconds | objective | duality gap | non-zero share |",
        "|---|---:|---:|---:|---:|",
    ]
    for penalty in ("forest", "lasso"):
        _say(f"dictionary learning, {penalty}")
        started = time.perf_counter()
        model = SparseCoding(13 * TREES, penalty, lam=LAM).fit(X)
        seconds = time.perf_counter() - started
        rows.append(
            f"| SparseCoding, {penalty} | {seconds:.1f} | {model.objective_:,.0f} | {model.gap_:.1e} | "
            f"{model.nonzero_share_:.4f} |"
        )
    _say("stochastic coding")
    started = time.perf_counter()
    other = StochasticCoding(13 * TREES, lam=LAM, epochs=5).fit(X)
    seconds = time.perf_counter() - started
    rows += [
        f"| StochasticCoding, forest, 5 epochs | {seconds:.1f} | | | {other.nonzero_share_:.4f} |",
        f"\nStochasticCoding minimises another objective; its held-out errors were "
        f"{', '.join(format(one['held_out'], '.3f') for one in other.trace_)}.\n",
    ]
    return "\n".join(rows)


def _told(options: dict[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items())


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)
