"""Word classes of the Penn Treebank text: Brown clustering beside wcluster's figures, its growth, and exchange.

Quality is the average mutual information of adjacent classes, over the pairs inside sentences.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from benchmarks.comparisons import Comparison, judge
from benchmarks.data import corpus
from benchmarks.harness import publish
from spinney.classes.brown import brown
from spinney.classes.exchange import exchange
from spinney.classes.pairs import PairCounts, pair_counts
from spinney.corpus import TokenArrays, read_arrays

CLASSES = 256
ROUNDS = 3
# Liang's wcluster 1.3: measured once on a machine of the same kind, on one core; its mutual information was
# computed from its output over the pairs inside sentences. It counts the pairs across line ends too.
PEER_SECONDS, PEER_AMI = 55.0, 1.16696

Result = TypeVar("Result")


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick``: none of what has no peer."""
    arrays = _read()
    pairs = pair_counts(arrays, threads=1)
    brown(pairs, arrays.vocabulary, 8, refine=1, threads=1)  # compile
    section, row = _headline(arrays)
    sections = [section]
    if not quick:
        sections += [_growth(arrays, pairs), _exchange(arrays, pairs)]
    publish("brown", sections, [row], quick)


def _read(max_size: int | None = None) -> TokenArrays:
    path = corpus("ptb_lm", "ptb.train.txt.xz")
    unknown = None if max_size is None else "<unk>"
    return read_arrays(path, "lines", max_size=max_size, unknown=unknown)


def _best(run: Callable[[], Result], rounds: int = ROUNDS) -> tuple[Result, float]:
    """A result and the least seconds that it took."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - started)
    return result, min(times)


def _headline(arrays: TokenArrays) -> tuple[str, Comparison]:
    _say("Brown clustering")
    _, reading = _best(_read)
    pairs, counting = _best(lambda: pair_counts(arrays, threads=1))
    clustering, seconds = _best(lambda: brown(pairs, arrays.vocabulary, CLASSES))
    whole = reading + counting + seconds
    refined, longer = _best(lambda: brown(pairs, arrays.vocabulary, CLASSES, refine=2, threads=1))
    rows = [
        f"### {arrays.n_tokens:,} tokens, {len(arrays.vocabulary):,} words, {CLASSES} classes, one thread",
        "",
        "| | seconds | ratio | average mutual information (nats) |",
        "|---|---:|---:|---:|",
        f"| Spinney, from text to classes | {whole:.2f} | {PEER_SECONDS / whole:.0f} | {clustering.ami:.5f} |",
        f"| of these, clustering | {seconds:.2f} | | |",
        f"| Spinney, refined by two passes of exchange | {whole - seconds + longer:.2f} | "
        f"{PEER_SECONDS / (whole - seconds + longer):.0f} | {refined.ami:.5f} |",
        f"| wcluster 1.3 | {PEER_SECONDS:.0f} | 1 | {PEER_AMI} |",
        "\nBest of three rounds. wcluster's figures are reference figures, measured once on a machine of the same kind "
        "and not in this run; its mutual information, too, is that of pairs inside sentences, though it "
        "also counts those across line ends when it clusters.\n",
    ]
    row = Comparison(
        "Word classes", f"Brown clustering into {CLASSES} classes, from text to classes, one thread",
        f"Penn Treebank, {arrays.n_tokens:,} tokens, {len(arrays.vocabulary):,} words", "wcluster 1.3", "s", whole,
        PEER_SECONDS, judge(clustering.ami, PEER_AMI, higher=True, tolerance=1e-3),
        f"mutual information {clustering.ami:.4f} nats, the peer {PEER_AMI:.4f} (which counts pairs across "
        "line ends, too, when it clusters)", "reference",
    )  # fmt: skip
    return "\n".join(rows), row


def _growth(arrays: TokenArrays, pairs: PairCounts) -> str:
    by_words: dict[int, float] = {}
    for size in (2500, 5000, len(arrays.vocabulary)):
        _say(f"{size} words")
        cut = arrays if size == len(arrays.vocabulary) else _read(size)
        counts = pair_counts(cut, threads=1)
        by_words[size] = _best(lambda c=counts, v=cut.vocabulary: brown(c, v, CLASSES))[1]  # type: ignore[misc]
    by_classes: dict[int, float] = {}
    for n in (64, 128, 256, 512):
        _say(f"{n} classes")
        by_classes[n] = _best(lambda n=n: brown(pairs, arrays.vocabulary, n))[1]  # type: ignore[misc]
    return "\n".join(
        ["### Growth of the clustering time", "", "| words | classes | seconds |", "|---:|---:|---:|"]
        + [f"| {size:,} | {CLASSES} | {seconds:.2f} |" for size, seconds in by_words.items()]
        + [f"| {len(arrays.vocabulary):,} | {n} | {seconds:.2f} |" for n, seconds in by_classes.items()]
        + [
            f"\nFitted: words to the power {_exponent(by_words):.2f}, classes to the power {_exponent(by_classes):.2f} "
            "(the worst case is 1 and 2).\n"
        ]
    )


def _exponent(seconds: dict[int, float]) -> float:
    slope, _ = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)
    return float(slope)


def _exchange(arrays: TokenArrays, pairs: PairCounts) -> str:
    rows = [
        f"### Exchange clustering, {CLASSES} classes, dealt out by frequency, without the hierarchy",
        "",
        "| variant | threads | passes | seconds | average mutual information (nats) |",
        "|---|---:|---:|---:|---:|",
    ]
    for variant in ("two-sided", "predictive"):
        exchange(pairs, arrays.vocabulary, 2, variant=variant, passes=1, hierarchy=False)  # compile
        for threads in (1, 2):
            _say(f"{variant} exchange, {threads} threads")
            clustering, seconds = _best(
                lambda variant=variant, threads=threads: exchange(  # type: ignore[misc]
                    pairs, arrays.vocabulary, CLASSES, variant=variant, threads=threads, hierarchy=False
                ),
                rounds=2,
            )
            passes = clustering.facts["passes"]
            rows.append(f"| {variant} | {threads} | {passes} | {seconds:.2f} | {clustering.ami:.5f} |")
    rows.append(
        "\nThe predictive variant maximises another likelihood: its mutual information is told, not sought.\n"
    )
    return "\n".join(rows)


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)
