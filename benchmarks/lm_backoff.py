"""Smoothed n-gram models on the Penn Treebank text: estimation, queries beside KenLM, perplexities beside lmplz."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.comparisons import Comparison, judge
from benchmarks.data import corpus
from spinney.corpus import TokenArrays, read_text
from spinney.lm.arpa import read_arpa, write_arpa
from spinney.lm.backoff import BackoffModel
from spinney.lm.deploying import stored_bytes
from spinney.lm.kneser_ney import modified_kneser_ney
from spinney.lm.model import load_language_model
from spinney.lm.pruning import prune_entropy, quantised
from spinney.lm.smoothing import METHODS, fit_ngram
from spinney.lm.stream import stream_of
from spinney.lm.suffixtrie import suffix_trie

ORDER = 5
ROUNDS = 7
# KenLM's lmplz, no pruning, <unk> an ordinary word, ends scored: measured once on a machine of the same kind.
PEER = {2: 185.7049, 3: 148.2815, 4: 142.7156, 5: 141.1862, 6: 140.8369}


def measured(quick: bool) -> tuple[list[str], list[Comparison]]:
    """All parts, in words and as comparisons; ``quick``: two orders, and the methods that have no peer left out."""
    train, test = read_ptb()
    model = fit_ngram(train, order=ORDER)  # compile
    assert isinstance(model, BackoffModel)
    asked, rows = queries(model, test)
    stored, files = deployment(model, test)
    compared, row = perplexities(train, test, (3, 5) if quick else tuple(PEER))
    sections = [estimation(train), asked, stored, compared]
    return (sections if quick else [*sections, methods(train, test)]), [*rows, *files, row]


def read_ptb() -> tuple[TokenArrays, TokenArrays]:
    """Training and test text; ``<unk>`` is an ordinary word of both, as in the reference run."""
    train = read_text(corpus("ptb_lm", "ptb.train.txt.xz"), unknown="<oov>")
    return train, read_text(corpus("ptb_lm", "ptb.test.txt.xz"), vocabulary=train.vocabulary)


def estimation(train: TokenArrays) -> str:
    """Tokens a second of counting and of smoothing, one thread."""
    n_words = len(train.vocabulary)
    stream = stream_of(train)
    trie = suffix_trie(stream, n_words, ORDER - 1)
    seconds = interleaved(
        {
            "counting": lambda: suffix_trie(stream, n_words, ORDER - 1),
            "modified Kneser-Ney": lambda: modified_kneser_ney(trie, train.vocabulary),
        }
    )
    seconds["both"] = sum(seconds.values())
    rows = [f"| {name} | {s:.2f} | {train.n_tokens / s:,.0f} |" for name, s in seconds.items()]
    return "\n".join(
        [
            f"### Order {ORDER}, {train.n_tokens:,} tokens, {trie.n_grams:,} grams, one thread",
            "",
            "| | seconds | tokens a second |",
            "|---|---:|---:|",
            *rows,
            "",
        ]
    )


def queries(model: BackoffModel, test: TokenArrays) -> tuple[str, list[Comparison]]:
    """Words a second, beside KenLM reading the same model, in one process on one core."""
    import kenlm

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.arpa")
        write_arpa(model, path)
        peer = kenlm.Model(path)
    sentences = [model.vocabulary.decode(sentence) for sentence in test]
    lines = [" ".join(words) for words in sentences]
    stream = model.stream(test)

    def word_by_word() -> None:
        for words in sentences:
            state, following = kenlm.State(), kenlm.State()
            peer.BeginSentenceWrite(state)
            for word in (*words, "</s>"):
                peer.BaseScore(state, word, following)
                state, following = following, state

    def one_by_one(score: Callable[[Any], float], texts: list[Any]) -> Callable[[], None]:
        def run() -> None:
            for text in texts:
                score(text)

        return run

    seconds = interleaved(
        {
            "KenLM, `score` of each sentence": one_by_one(peer.score, lines),
            "KenLM, `BaseScore` of each word": word_by_word,
            "Spinney, `score` of each sentence": one_by_one(model.score, lines),
            "Spinney, `score` of each list of words": one_by_one(model.score, sentences),
            "Spinney, `scores` of all sentences": lambda: model.scores(lines),
            "Spinney, all lists of words at once": lambda: model.event_logprobs(model.stream(sentences)),
            "Spinney, all sentences at once, from numbers": lambda: model.event_logprobs(stream),
        }
    )
    best = seconds["KenLM, `score` of each sentence"]
    n = len(stream.events)
    differences = [
        abs(peer.score(line) - model.score(line)) / (len(words) + 1) for line, words in zip(lines, sentences)
    ]
    rows = [
        Comparison(
            "Language models", f"queries of a model of order {ORDER}, {how}, one thread",
            f"Penn Treebank test, {n:,} words and ends", "KenLM, sentence by sentence", "words/s", n / seconds[name],
            n / best, "same" if max(differences) < 1e-5 else "worse",
            f"log10 of a word differs by {max(differences):.0e} at most",
        )
        for how, name in (
            ("sentence by sentence", "Spinney, `score` of each sentence"),
            ("all sentences at once", "Spinney, `scores` of all sentences"),
        )
    ]  # fmt: skip
    section = "\n".join(
        [
            f"### Queries, order {ORDER}, {n:,} words and ends of the test text",
            "",
            "| | words a second | ratio to KenLM's `score` |",
            "|---|---:|---:|",
            *(f"| {name} | {n / s:,.0f} | {best / s:.2f} |" for name, s in seconds.items()),
            f"\nLargest difference of a sentence, a word: {max(differences):.1e} in log10.\n",
        ]
    )
    return section, rows


def deployment(model: BackoffModel, test: TokenArrays) -> tuple[str, list[Comparison]]:
    """Bytes a gram and perplexities of smaller models, and grams a second of ARPA files beside KenLM's loading."""
    import kenlm

    n, grams = model.table.n_grams, f"{model.table.n_grams:,} grams"
    trie, byte_trie = kenlm_trie(model, 31, 32) / n, kenlm_trie(model, 8, 8) / n
    variants = {
        "as fitted": model,
        "8 bits": quantised(model, 8),
        **{f"entropy {at:g}": prune_entropy(model, at).model for at in (1e-8, 1e-7, 1e-6)},
        "entropy 1e-07, 8 bits": quantised(prune_entropy(model, 1e-7).model, 8),
    }
    lines = []
    for name, variant in variants.items():
        stored, own = stored_bytes(variant), variant.table.n_grams
        perplexity = variant.perplexity(test).perplexity
        lines.append(f"| {name} | {own:,} | {stored / 1e6:.2f} | {stored / own:.2f} | {perplexity:.3f} |")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.arpa")
        write_arpa(model, path)
        binary = os.path.join(folder, "model.spinney")
        model.save(binary)
        seconds = interleaved(
            {
                "KenLM, `kenlm.Model` of an ARPA file": lambda: kenlm.Model(path),
                "Spinney, `read_arpa`": lambda: read_arpa(path),
                "Spinney, `write_arpa`": lambda: write_arpa(model, path),
                "Spinney, loading a model file": lambda: load_language_model(binary),
            }
        )
        same = read_arpa(path).perplexity(test).perplexity
        saved = load_language_model(binary).perplexity(test).perplexity
    mine = model.perplexity(test).perplexity
    reading = Comparison(
        "Language models", f"reading an ARPA file of order {ORDER}, one thread", grams, "KenLM's loading of the file",
        "grams/s", n / seconds["Spinney, `read_arpa`"], n / seconds["KenLM, `kenlm.Model` of an ARPA file"],
        judge(same, mine, higher=False, tolerance=1e-6), f"perplexity {same:.4f}, before {mine:.4f}",
    )  # fmt: skip
    ours, ours_byte = stored_bytes(model) / n, stored_bytes(variants["8 bits"]) / n
    size = Comparison(
        "Language models", f"size of a model of order {ORDER}", grams, "KenLM's trie, by its formula", "", None, None,
        judge(ours, trie, higher=False, tolerance=0.01),
        f"{ours:.2f} bytes a gram, the peer {trie:.2f}; with 8 bits {ours_byte:.2f}, the peer {byte_trie:.2f}",
        "reference",
    )  # fmt: skip
    section = "\n".join(
        [
            f"### Smaller models, order {ORDER}, Penn Treebank test",
            "",
            "| | grams | megabytes | bytes a gram | perplexity |",
            "|---|---:|---:|---:|---:|",
            *lines,
            "",
            f"KenLM's trie takes {trie:.2f} bytes a gram by its formula, with 8 bits {byte_trie:.2f}. "
            f"A file in single precision changes the perplexity by {abs(saved / mine - 1):.0e} of itself.",
            "",
            "| | seconds | grams a second |",
            "|---|---:|---:|",
            *(f"| {name} | {s:.2f} | {n / s:,.0f} |" for name, s in seconds.items()),
            "",
        ]
    )
    return section, [reading, size]


def kenlm_trie(model: BackoffModel, probability: int, backoff: int) -> float:
    """The bytes of KenLM's trie without its words: bit-packed but for the unigrams, which are never quantised."""
    table = model.table
    n = [table.grams_of(k).stop - table.grams_of(k).start for k in range(1, table.order + 1)]
    word = (table.n_symbols - 1).bit_length()
    middle = sum(a * (word + probability + backoff + b.bit_length()) for a, b in pairwise(n[1:]))
    return float(16 * n[0] + (middle + n[-1] * (word + probability)) / 8)


def perplexities(train: TokenArrays, test: TokenArrays, orders: tuple[int, ...]) -> tuple[str, Comparison]:
    """Modified Kneser-Ney beside the figures of lmplz."""
    rows, ours = [], {}
    for order in orders:
        found = fit_ngram(train, order=order).perplexity(test)
        ours[order] = found.perplexity
        rows.append(f"| {order} | {found.perplexity:.4f} | {PEER[order]} |")
    away = max(orders, key=lambda order: abs(ours[order] - PEER[order]))
    row = Comparison(
        "Language models", f"modified Kneser-Ney, the one of orders {', '.join(map(str, orders))} that differs most",
        f"Penn Treebank, {train.n_tokens:,} tokens", "KenLM lmplz", "", None, None,
        judge(ours[away], PEER[away], higher=False, tolerance=1e-5),
        f"test perplexity {ours[away]:.4f}, the peer {PEER[away]:.4f}, order {away}", "reference",
    )  # fmt: skip
    section = "\n".join(
        [
            f"### Test perplexity of modified Kneser-Ney, {found.scored:,} words and ends",
            "",
            "| order | Spinney | lmplz (reference figure) |",
            "|---:|---:|---:|",
            *rows,
            "",
        ]
    )
    return section, row


def methods(train: TokenArrays, test: TokenArrays) -> str:
    """All estimators."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in METHODS:
            _say(method)
            values = [
                fit_ngram(train, method, order=order).perplexity(test).perplexity for order in (1, 2, 3, 5)
            ]
            rows.append(f"| {method} | {' | '.join(f'{value:,.1f}' for value in values)} |")
    return "\n".join(
        [
            "### Test perplexity by method and order",
            "",
            "| | 1 | 2 | 3 | 5 |",
            "|---|---:|---:|---:|---:|",
            *rows,
            "",
        ]
    )


def interleaved(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least processor seconds of each, over rounds that go around all: a slow minute hits everybody."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            _say(name)
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    return best


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)
