"""Nelakanti (2014), 3.6: the time of a prox by the size of the tree, and how many values a threshold needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import chain

import numpy as np
from methods.random_pivots import PivotTree
from nelakanti_models import NAMES, THESIS
from nelakanti_text import of_length, table
from nelakanti_text import subsets as subsets_of
from numpy.typing import NDArray
from spectral_common import Setting

from spinney.lm.loglinear import planned, solved
from spinney.lm.stream import stream_of
from spinney.lm.suffixloss import word_scale
from spinney.lm.suffixtrie import SuffixTrie, suffix_trie
from spinney.lm.triepenalty import trie_penalty, trie_spec
from spinney.optim import TreeL2, TreeLinf

_LENGTHS = (3_000, 10_000, 30_000, 100_000, 300_000, 900_000)
_ROUNDS = 4
_NEAR = 1e-2  # the violation at which a point counts as the optimum here


def prox(setting: Setting) -> str:
    """Figure 3.12, and the numbers of 3.6.2."""
    return "\n".join([_by_order(setting), _by_length(setting), _thresholds(setting)])


def _by_order(setting: Setting) -> str:
    rows = []
    part = subsets_of("brown", 1)[0].train
    stream, n_words = stream_of(part), len(part.vocabulary)
    for order in (3, 5, 7, 9) if setting.quick else (3, 5, 7, 9, 12, 20):
        whole = suffix_trie(stream, n_words, order - 1)
        small = suffix_trie(stream, n_words, order - 1, collapse=True)
        w = np.random.default_rng(0).random(whole.n_grams)
        rows.append(
            [
                order, f"{whole.n_grams:,}", f"{small.n_grams:,}", *_told(whole, _seconds(TreeL2(0.1, whole.up), w)),
                *chain.from_iterable(
                    _told(trie, seconds)
                    for trie in (whole, small)
                    for seconds in (_heaps(trie, w[: trie.n_grams]), _pivots(trie, w[: trie.n_grams]))
                ),
            ]
        )  # fmt: skip
    ways = ("ℓT2", "ℓT∞ on S_v, heaps", "pivots", "ℓT∞ on M_v, heaps", "pivots")
    head = ["order", "nodes S_v", "nodes M_v", *chain.from_iterable((f"{way}, ms", "ns") for way in ways)]
    return (
        "## Time of a prox\n\nMilliseconds, and nanoseconds a node, of one prox of all words' trees (first subset of "
        "Brown, random weights): by heaps (Alg. 8), as Spinney does, and by random pivots (Alg. 7).\n\n"
        + table(head, rows)
        + "\n\nThe thesis's curves are lost; it says that the collapsed tree wins with growing depth. A constant "
        "time a node is linear.\n"
    )


def _by_length(setting: Setting) -> str:
    """Figure 3.12(b): unbounded contexts, so that only collapsed trees fit."""
    rows = []
    for length in _LENGTHS[:4] if setting.quick else _LENGTHS:
        text = of_length("brown", length)
        trie = suffix_trie(stream_of(text), len(text.vocabulary), None, collapse=True)
        w = np.random.default_rng(0).random(trie.n_grams)
        heaps, pivots = _heaps(trie, w), _pivots(trie, w)
        times = (*_told(trie, heaps), *_told(trie, pivots), f"{pivots / heaps:.2f}")
        rows.append([f"{text.n_tokens:,}", f"{trie.n_grams:,}", *times])
    head = ["words", "nodes M_v", "heaps, ms", "ns a node", "pivots, ms", "ns a node", "times as fast"]
    return (
        "### By the length of the text (Figure 3.12b)\n\nThe beginning of Brown, contexts of any length, collapsed "
        "trees, random weights.\n\n"
        + table(head, rows)
        + "\n\nThe thesis: heaps are faster than random pivots on long text.\n"
    )


def _thresholds(setting: Setting) -> str:
    """3.6.2: how many of the largest values of a subtree the prox of its group lowers, on real points."""
    part = subsets_of("brown", 1)[0].train
    lam = 1e5 * THESIS["tree-linf"][0]
    rows = []
    for order in (3, 7) if setting.quick else (3, 5, 7, 9):
        trie = suffix_trie(stream_of(part), len(part.vocabulary), order - 1)
        largest = int(np.bincount(_root_of(trie)).max())
        plan = planned(trie, 1.0, "power", 1.0, "kneser-ney")
        penalty = trie_penalty(trie_spec("tree-linf", lam), trie, np.ones(trie.n_grams))
        solution = solved(plan, penalty, None, _NEAR, 2_000, plan.w0, {})
        curvature = word_scale(plan.loss)
        points = {"the start": np.zeros_like(plan.w0), "the optimum": solution.w}
        for name, w in points.items():
            # A step of a word's own length, put so that its prox has the radius λ.
            ahead = np.maximum(curvature * w - plan.loss.value_and_grad(w)[1], 0.0)
            lowered = PivotTree(trie.up).prox(ahead, lam)
            shares = (lowered.mean(), np.median(lowered), np.quantile(lowered, 0.99), lowered.max())
            rows.append(
                [order, name, f"{len(lowered):,}", *(f"{value:.1f}" for value in shares), f"{largest:,}"]
            )
    head = ["order", "point", "groups", "mean", "median", "99 %", "most", "nodes of the largest tree"]
    return (
        "### How many values a threshold needs (3.6.2)\n\nOf one step from the point, on whole tries, the first "
        f"subset of Brown, λ of the thesis for {NAMES['tree-linf']}: values that a group lowers, over the groups that "
        f"lower some but not all to zero. The start is w = 0, the optimum a fit to a violation of {_NEAR:g}.\n\n"
        + table(head, rows)
        + "\n\nThe thesis: about 3, at most 20 to 30, "
        "in vectors of up to 100,000 values.\n"
    )


def _root_of(trie: SuffixTrie) -> NDArray[np.int64]:
    root = np.arange(trie.n_grams)
    for i, above in enumerate(trie.up.tolist()):  # parents come first
        if above >= 0:
            root[i] = root[above]
    return root


def _told(trie: SuffixTrie, seconds: float) -> tuple[str, str]:
    return f"{1e3 * seconds:.1f}", f"{1e9 * seconds / trie.n_grams:.0f}"


def _copies(trie: SuffixTrie) -> NDArray[np.float64]:
    return trie.length[trie.context].astype(np.float64)


def _heaps(trie: SuffixTrie, w: NDArray[np.float64]) -> float:
    return _seconds(TreeLinf(0.1, trie.up, multiplicity=_copies(trie) if trie.collapsed else None), w)


def _seconds(penalty: TreeL2 | TreeLinf, w: NDArray[np.float64]) -> float:
    return _best(lambda: penalty.prox(w.copy(), 1.0))


def _pivots(trie: SuffixTrie, w: NDArray[np.float64]) -> float:
    tree = PivotTree(trie.up, _copies(trie))
    return _best(lambda: tree.prox(w.copy(), 0.1))


def _best(run: Callable[[], object]) -> float:
    best = np.inf
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return float(best)
