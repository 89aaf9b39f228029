"""Language models: counting and smoothing, queries against KenLM, and log-linear models on the suffix trie.

Everything is on Mikolov's Penn Treebank, one thread. Kneser-Ney and the queries are in ``lm_backoff``; here are the
costs of the log-linear models: a pass by the size of the text, a prox by the size of the tree, parameters by order, a
whole fit, solvers against each other, and the hierarchical softmax by the size of the vocabulary.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import lm_backoff
from benchmarks.data import corpus
from benchmarks.harness import publish


def main(quick: bool) -> None:
    """Run all parts and write the tables; ``quick``: none of what has no peer."""
    from threadpoolctl import threadpool_limits

    from spinney.optim import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)  # fits are cut to so many iterations on purpose
    with threadpool_limits(1):
        sections, comparisons = lm_backoff.measured(quick)
        if not quick:
            sections += [_passes(), _sizes(), _fits(), _solvers(), _hierarchical()]
        publish("lm", sections, comparisons, quick)


def _text(n_tokens: int | None = None, **cut: Any) -> Any:
    """The training text, or its beginning, or with valid and test behind it where more is asked for."""
    from spinney.corpus import open_text, sentence_arrays

    def sentences() -> Any:
        left = float("inf") if n_tokens is None else n_tokens
        for part in ("train", "valid", "test") if n_tokens else ("train",):
            with open_text(corpus("ptb_lm", f"ptb.{part}.txt.xz")) as file:
                for line in file:
                    words = line.split()
                    left -= len(words)
                    yield words
                    if left <= 0:
                        return

    return sentence_arrays(sentences(), unknown="<unk>", **cut)


def _best(run: Callable[[], Any], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)


def _trie(text: Any, max_context: int | None, collapse: bool = False) -> Any:
    from spinney.lm.stream import stream_of
    from spinney.lm.suffixtrie import suffix_trie

    return suffix_trie(stream_of(text), len(text.vocabulary), max_context, collapse=collapse)


def _passes() -> str:
    from spinney.lm.suffixloss import SuffixTrieLoss

    lines = ["## A pass by the size of the text", "", "Loss and gradient, order 5, milliseconds.", ""]
    lines += ["| tokens | grams | ms | ns a token | ns a gram |", "|---:|---:|---:|---:|---:|"]
    for n in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        text = _text(n)
        trie = _trie(text, 4)
        loss = SuffixTrieLoss(trie, np.ones(trie.n_grams))
        w = np.random.default_rng(0).random(trie.n_grams)
        seconds = _best(lambda loss=loss, w=w: loss.value_and_grad(w))  # type: ignore[misc]
        lines.append(
            f"| {text.n_tokens:,} | {trie.n_grams:,} | {1e3 * seconds:.2f} | {1e9 * seconds / text.n_tokens:.0f} "
            f"| {1e9 * seconds / trie.n_grams:.1f} |"
        )
    return "\n".join(lines) + "\n"


def _sizes() -> str:
    from spinney.optim import TreeL2, TreeLinf

    text = _text(100_000)
    lines = [
        "## Parameters and prox by order",
        "",
        "100,000 tokens; S_v is the trie, M_v the collapsed one.",
        "",
    ]
    lines += ["| order | S_v | M_v | ℓT2 on S_v, ns a node | ℓT∞ on S_v | ℓT∞ on M_v |", "|---:" * 6 + "|"]
    rng = np.random.default_rng(0)
    for order in (2, 3, 5, 7, 9, 12, 20):
        whole, small = _trie(text, order - 1), _trie(text, order - 1, collapse=True)
        copies = small.length[small.context].astype(float)
        cells = []
        for penalty, n in (
            (TreeL2(0.1, whole.up), whole.n_grams),
            (TreeLinf(0.1, whole.up), whole.n_grams),
            (TreeLinf(0.1, small.up, multiplicity=copies), small.n_grams),
        ):
            w = rng.random(n)
            seconds = _best(lambda penalty=penalty, w=w: penalty.prox(w.copy(), 1.0), 3)  # type: ignore[misc]
            cells.append(f"{1e9 * seconds / n:.0f}")
        lines.append(f"| {order} | {whole.n_grams:,} | {small.n_grams:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _fits() -> str:
    from spinney.corpus import read_text
    from spinney.lm import fit_loglinear, fit_ngram

    lines = [
        "## Whole fits",
        "",
        "ℓT2, λ 0.7, α 1.1, from Kneser-Ney to a violation of 1e-4 or 300 iterations.",
        "",
    ]
    head = "| text | order | parameters | iterations | seconds | valid, ends scored | Kneser-Ney |"
    lines += [head, "|---" + "|---:" * 6 + "|"]
    for name, text, order in (("100,000 tokens", _text(100_000), 7), ("all", _text(), 5)):
        valid = read_text(corpus("ptb_lm", "ptb.valid.txt.xz"), vocabulary=text.vocabulary)
        started = time.perf_counter()
        model = fit_loglinear(text, order, max_iter=300)
        seconds = time.perf_counter() - started
        base = fit_ngram(text, "kneser-ney", order=order).perplexity(valid).perplexity
        lines.append(
            f"| {name} | {order} | {model.facts['parameters']:,} | {model.facts['iterations']} | {seconds:.1f} "
            f"| {model.perplexity(valid).perplexity:.2f} | {base:.2f} |"
        )
    return "\n".join(lines) + "\n"


def _solvers() -> str:
    from spinney.lm import fit_loglinear

    text = _text(30_000)
    lines = [
        "## Solvers",
        "",
        "ℓT2, λ 0.7, α 1, order 5, 30,000 tokens, from zero: the objective above the best.",
        "",
    ]
    lines += ["| solver | iterations | seconds | above the best |", "|---|---:|---:|---:|"]
    options: dict[str, Any] = {"alpha": 1.0, "start": "zero", "tol": 1e-12}
    best = fit_loglinear(text, 5, alpha=1.0, max_iter=4000, tol=1e-9).facts["objective"]
    for title, limits, more in (
        ("a step a word, from Kneser-Ney", (50, 200, 800), {"start": "kneser-ney"}),
        ("a step a word", (50, 200, 800), {}),
        ("FISTA", (50, 200, 800), {"solver": "fista"}),
        ("SAGE, batches of 3,000", (5, 20, 80), {"solver": "sage", "batch": 3000}),
    ):
        for limit in limits:
            model = fit_loglinear(text, 5, max_iter=limit, **{**options, **more})
            excess = model.facts["objective"] / best - 1
            lines.append(f"| {title} | {limit} | {model.facts['seconds']:.1f} | {excess:.1e} |")
    return "\n".join(lines) + "\n"


def _hierarchical() -> str:
    from spinney.lm import fit_hierarchical, fit_loglinear, huffman_tree
    from spinney.lm.stream import stream_of
    from spinney.structure import ClassTree

    lines = ["## A hierarchical softmax by the size of the vocabulary", ""]
    lines += [
        "100,000 tokens, order 3, words beyond the most frequent V unknown; ℓT2. The last column is what a flat"
    ]
    lines += ["softmax would need for each token without the sparse recursion.", ""]
    head = "| V | tree | decisions a token | grams | an iteration, µs a token | scoring, µs a token | all words, µs |"
    lines += [head, "|---:|---|" + "---:|" * 5]
    for size in (250, 1000, 4000, None):
        text = _text(100_000, max_size=size)
        names = [*text.vocabulary.words, "</s>"]
        trees = {
            "none": None,
            "balanced": ClassTree.balanced(names),
            "Huffman": huffman_tree(text.vocabulary, len(text)),
        }
        stream = stream_of(text)
        for kind, tree in trees.items():
            model: Any = (
                fit_loglinear(text, 3, max_iter=30)
                if tree is None
                else fit_hierarchical(text, 3, tree=tree, max_iter=30)
            )
            events = len(stream.events)
            training = model.facts["seconds"] / 30 / events
            scoring = _best(lambda model=model, stream=stream: model.event_logprobs(stream), 3) / events  # type: ignore[misc]
            history = model.history(["the"], start=True)
            dense = _best(lambda model=model, history=history: model.distribution(history))  # type: ignore[misc]
            decisions = model.facts.get("decisions_a_token", 1.0)
            lines.append(
                f"| {len(names):,} | {kind} | {decisions:.2f} | {model.facts['parameters']:,} | {1e6 * training:.2f} "
                f"| {1e6 * scoring:.2f} | {1e6 * dense:.0f} |"
            )
    return "\n".join(lines) + "\n"
