"""EM for hidden Markov chains and trees: against hmmlearn, and the speeds of exact and sparse messages.

hmmlearn's CategoricalHMM and Spinney make one pass of EM from the same parameters over the same sentences of the Penn
Treebank, one thread each. Then larger models, chains against trees on the same text, what sparse messages cost in
held-out likelihood, and the memory that a large vocabulary takes.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison
from benchmarks.data import corpus
from benchmarks.harness import publish

TOKENS_OF_THE_THESIS = 310_000_000


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick``: none of what has no peer."""
    from spinney.corpus import read_arrays

    train = read_arrays(corpus("ptb_lm", "ptb.train.txt.xz"), "lines")
    section, comparisons = _peer(train)
    sections = [section]
    if not quick:
        dev = read_arrays(corpus("ptb_lm", "ptb.valid.txt.xz"), "lines", vocabulary=train.vocabulary)
        sections += [_speeds(), _sparse(train, dev), _memory()]
    publish("hmm", sections, comparisons, quick)


def _begun(text: Any, n_classes: int, dtype: Any, seed: int = 0) -> Any:
    """The parameters after two passes of online EM: neither flat nor learnt."""
    from spinney.classes import HiddenMarkov

    options: dict[str, Any] = {
        "finish": False,
        "passes": 1,
        "start": max(2, n_classes // 8),
        "random_state": seed,
    }
    return HiddenMarkov(n_classes, dtype=dtype, **options).fit(text.part(0, min(len(text), 10_000)))


def _peer(train: Any) -> tuple[str, list[Comparison]]:
    from spinney.classes import HiddenMarkov

    comparisons = []
    rows = [
        "### One pass of batch EM, double precision, one thread: Penn Treebank",
        "",
        "hmmlearn has two ways: logarithms (its default) and scaling. It sees the first tokens only; Spinney all "
        f"{train.n_tokens:,}. The log-likelihoods are those of the same tokens.",
        "",
        "| states | hmmlearn | its tokens | its tokens a second | Spinney's | ratio | log-likelihoods differ by |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for states in (32, 128):
        model = _begun(train, states, "float64")
        model.how = model.how.replace(smoothing=0.0)
        again = HiddenMarkov(states, em="batch", passes=1, dtype="float64", smoothing=0.0, threads=1)
        rate = train.n_tokens / min(_pass_seconds(again, train, model) for _ in range(2))
        for implementation, tokens in (("log", 10_000), ("scaling", 50_000)):
            text = train.part(0, int(np.searchsorted(train.offsets, tokens)))
            expected, seconds = _hmmlearn(model.laws_, text, implementation)
            peer_rate = text.n_tokens / seconds
            again.fit(text, init=model)
            found = again.facts["trace"][0]["log_likelihood"] * text.n_tokens
            rows.append(
                f"| {states} | {implementation} | {text.n_tokens:,} | {peer_rate:,.0f} | {rate:,.0f} "
                f"| **{rate / peer_rate:.0f}** | {abs(found - expected):.0e} of {-expected:,.0f} |"
            )
            away = abs(found / expected - 1)
            way = "logarithms, its default" if implementation == "log" else "scaling"
            comparisons.append(
                Comparison(
                    "Hidden Markov models", f"a pass of EM, {states} states, double precision, one thread",
                    f"Penn Treebank, {train.n_tokens:,} tokens; the peer the first {text.n_tokens:,}",
                    f"hmmlearn ({way})", "tokens/s", rate, peer_rate, "same" if away < 1e-9 else "worse",
                    f"log-likelihoods differ by {away:.0e} of their size",
                )
            )  # fmt: skip
    return "\n".join(rows) + "\n", comparisons


def _hmmlearn(laws: Any, text: Any, implementation: str) -> tuple[float, float]:
    """The log-likelihood of the text before a pass of EM, and the seconds that the pass took."""
    from hmmlearn.hmm import CategoricalHMM

    emission = (laws.counts * laws.scale).T
    peer = CategoricalHMM(len(emission), n_iter=1, init_params="", implementation=implementation)
    peer.startprob_, peer.transmat_ = laws.root, laws.transition[0].T
    peer.emissionprob_, peer.n_features = emission, emission.shape[1]
    print(f"hmmlearn, {len(emission)} states, {implementation} …", file=sys.stderr, flush=True)
    started = time.perf_counter()
    peer.fit(np.asarray(text.ids)[:, None], np.diff(text.offsets))
    return float(peer.monitor_.history[0]), time.perf_counter() - started


def _pass_seconds(model: Any, text: Any, init: Any) -> float:
    model.fit(text, init=init)
    return float(model.facts["trace"][0]["seconds"])


def _speeds() -> str:
    """Tokens a second of an E-step, by structure, number of classes and messages."""
    from spinney.classes import HiddenMarkov
    from spinney.corpus import read_text

    path = corpus("parsed", "brown.conllu.xz")
    text = read_text(path, "conllu", tree=True, relations=True, max_size=20_000)
    rows = [
        f"### A pass of online EM, single precision, two threads: Brown corpus, {text.n_tokens:,} tokens, 20,000 words",
        "",
        "| classes | messages | chain, tokens a second | tree | tree, 12 typed relations | chain / tree |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    projected = ""
    for classes, messages in ((128, "none"), *product((256, 512, 1024), ("none", 16))):
        rates = []
        for structure, typed in (("chain", 0), ("tree", 0), ("tree", 12)):
            sample = text.part(0, len(text) * 128 // max(classes, 128))
            options: dict[str, Any] = {"typed": typed, "finish": False, "passes": 1, "threads": 2}
            model = HiddenMarkov(classes, structure, k_best=messages, **options)  # type: ignore[arg-type]
            first = HiddenMarkov(classes, structure, k_best=messages, start=classes // 8, **options)  # type: ignore[arg-type]
            first.fit(text.part(0, len(text) // 12))
            print(f"{structure}, {classes} classes, k = {messages} …", file=sys.stderr, flush=True)
            seconds = min(_pass_seconds(model, sample, first) for _ in range(2))
            rates.append(sample.n_tokens / seconds)
        name = "exact" if messages == "none" else f"{messages}-best"
        cells = " | ".join(f"{rate:,.0f}" for rate in rates)
        rows.append(f"| {classes} | {name} | {cells} | {rates[0] / rates[1]:.2f} |")
        if (classes, messages) == (512, 16):
            hours = TOKENS_OF_THE_THESIS / rates[1] / 3600
            projected = (
                f"\nThe thesis trained trees of 512 classes on {TOKENS_OF_THE_THESIS / 1e6:.0f} million tokens in less "
                f"than two days; at this rate a pass over as many, 16-best, takes {hours:.1f} hours on two cores.\n"
            )
    return "\n".join(rows) + "\n" + projected


def _sparse(train: Any, dev: Any) -> str:
    """Held-out likelihood, by exact inference, of models learnt with sparse messages."""
    from spinney.classes import HiddenMarkov

    rows = [
        "### Held-out log-likelihood a token after the same passes: Penn Treebank, 128 classes, 2 splits and 4 passes",
        "",
        "| messages | held out | worse than exact by | entries kept | seconds of training |",
        "|---|---:|---:|---:|---:|",
    ]
    exact = 0.0
    settings: list[tuple[str, dict[str, Any]]] = [("exact", {"k_best": "none"})]
    settings += [(f"{k}-best", {"k_best": k}) for k in (4, 8, 16, 32)]
    settings += [(f"ε = {epsilon}", {"k_best": "none", "epsilon": epsilon}) for epsilon in (0.1, 0.01)]
    for name, options in settings:
        print(f"{name} …", file=sys.stderr, flush=True)
        model = HiddenMarkov(128, passes=4, start=32, threads=2, **options).fit(train)
        value = model.log_likelihood(dev) / dev.n_tokens
        exact = exact or value
        trace = model.facts["trace"]
        kept, seconds = trace[-1]["support"], sum(row["seconds"] for row in trace)
        rows.append(f"| {name} | {value:.4f} | {value / exact - 1:.2%} | {kept:.1f} | {seconds:.1f} |")
    return "\n".join(rows) + "\n"


def _memory() -> str:
    """The most memory of a process that learns from a corpus on disk, of two lengths."""
    from spinney.corpus import TokenArrays, Vocabulary

    rows = [
        "### Memory: 100,000 words, 512 classes, random text streamed from disk, one online pass and one batch pass",
        "",
        "| tokens | most memory, MiB |",
        "|---:|---:|",
    ]
    V = 100_000
    for tokens in (1_000_000, 4_000_000):
        ids = np.minimum(np.random.default_rng(0).zipf(1.2, tokens) - 1, V - 1).astype(np.int32)
        words = Vocabulary(tuple(f"w{i}" for i in range(V)), np.bincount(ids, minlength=V))
        with tempfile.TemporaryDirectory() as folder:
            TokenArrays(ids, np.arange(0, tokens + 1, 20), words).save(f"{folder}/text")
            code = f"from benchmarks.hmm import learn_from_disk; learn_from_disk('{folder}/text')"
            print(f"memory, {tokens:,} tokens …", file=sys.stderr, flush=True)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        rows.append(f"| {tokens:,} | {float(done.stdout):,.0f} |")
    return "\n".join(rows) + "\n"


def learn_from_disk(folder: str) -> None:
    """Learn from text that is memory-mapped, and print the most memory that took, in MiB; run in its own process."""
    from spinney.classes import HiddenMarkov
    from spinney.corpus import TokenArrays

    HiddenMarkov(512, passes=1, threads=2).fit(TokenArrays.load(folder))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
