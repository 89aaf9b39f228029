"""Word vectors of 27 million tokens of film reviews: how long they take, beside gensim's, and how good they are.

gensim's skip-gram (5 epochs) and Spinney run on the same tenth of the text, on one core each; on the whole text only
Spinney runs, and gensim's time there is ten times that of the tenth. A quick run has a quarter of the reviews and
every fourth sentence of these.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparisons import Comparison, judge
from benchmarks.data import REVIEWS, corpus, review_sentences
from benchmarks.harness import publish

TENTH = 10  # every so-many-th sentence is in the part that both learn from
PEER_SECONDS, PEER_SPEARMAN = 612.0, 0.462  # gensim on the whole text: measured once, elsewhere
WORDS, WINDOW, K = 30_000, 2, 100


def main(quick: bool) -> None:
    """Run all parts and write the tables; ``quick``: a part of the text, and none of what has no peer."""
    parts, every = (("train",), 4) if quick else (REVIEWS, TENTH)
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.txt", Path(folder) / "part.txt"
        with open(whole, "w") as all_lines, open(part, "w") as some_lines:
            for i, tokens in enumerate(review_sentences(parts)):
                line = " ".join(tokens) + "\n"
                all_lines.write(line)
                if i % every == 0:
                    some_lines.write(line)
        race, row = _race(part)
        decompositions, more = _decompositions(whole, (100,) if quick else (100, 200))
        sections, comparisons = [race, decompositions], [row, *more]
        if not quick:
            quality, reference = _quality(whole)
            sections = [race, _whole(whole), decompositions, quality]
            comparisons.append(reference)
    publish("embed", sections, comparisons, quick, "one run each")


def _eigenwords(path: Path, threads: int) -> tuple[Any, int]:
    """Read a text and learn eigenwords of it; and how many tokens there were."""
    from spinney.corpus import read_text
    from spinney.embed import Embedding

    text = read_text(path, "lines", max_size=WORDS)
    embedding = Embedding("cca", K, window=WINDOW, weighting="flat", threads=threads).fit(text)
    return embedding.word_vectors(), text.n_tokens


def _race(part: Path) -> tuple[str, Comparison]:
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence
    from threadpoolctl import threadpool_limits

    from spinney.structure import WordVectors

    with threadpool_limits(1):
        _eigenwords(part, 1)  # compile
        (vectors, tokens), ours = _timed(lambda: _eigenwords(part, 1))
    _say("gensim")
    peer, theirs = _timed(
        lambda: Word2Vec(
            LineSentence(str(part)),
            vector_size=K,
            window=5,
            min_count=10,
            sg=1,
            negative=5,
            epochs=5,
            workers=1,
        )
    )
    known = set(vectors.words)
    both = [word for word in peer.wv.index_to_key if word in known]
    # Of a small text some sets have ten pairs left: a set counts by its pairs, and chance is told from merit.
    (mean, pairs), (peer_mean, _) = (
        _by_pairs(WordVectors(both, matrix)) for matrix in (vectors.rows(both), peer.wv[both])
    )
    chance = 2 / np.sqrt(pairs)  # two standard errors of a rank correlation
    row = Comparison(
        "Word vectors", f"{K} dimensions, from a file to vectors, one core; eigenwords, the peer by skip-gram",
        f"film reviews, {tokens:,} tokens", "gensim, 5 epochs", "s", ours, theirs,
        judge(mean, peer_mean, higher=True, tolerance=float(chance / abs(peer_mean))),
        f"Spearman of word similarity {mean:.3f}, the peer {peer_mean:.3f} ({pairs:,} pairs; chance is {chance:.3f})",
    )  # fmt: skip
    told = f"{WORDS:,} words at most, window {WINDOW}, {K} dimensions"
    return (
        f"### A part of the text, {tokens:,} tokens, from the file to the vectors, one core\n\n"
        "| | seconds | ratio to Spinney | mean Spearman of 12 sets, by pairs |\n|---|---:|---:|---:|\n"
        f"| Spinney, eigenwords, {told} | {ours:.1f} | 1 | {mean:.3f} |\n"
        f"| gensim skip-gram, {K} dimensions, window 5, 5 negatives, 5 epochs | {theirs:.1f} | {theirs / ours:.1f} "
        f"| {peer_mean:.3f} |\n\nSimilarities are over the {len(both):,} words that both have: "
        f"{pairs:,} pairs.\n"
    ), row


def _whole(whole: Path) -> str:
    """In a process of its own, so that its memory can be told."""
    _say("the whole text")
    code = f"from benchmarks.embed import measured; measured({str(whole)!r})"
    started = time.perf_counter()
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    seconds = time.perf_counter() - started
    reading, learning, counting, tokens, memory = map(float, told.split())
    return (
        f"### The whole text: {tokens:,.0f} tokens, {WORDS:,} words, window {WINDOW}, {K} dimensions\n\n"
        "| | |\n|---|---:|\n"
        f"| seconds in all, a new process from the file to the vectors | {seconds:.1f} |\n"
        f"| reading | {reading:.1f} |\n| counting and decomposing | {learning:.1f} |\n"
        f"| counting alone, one thread | {counting:.1f} |\n"
        f"| tokens counted a second, one thread | {tokens / counting:,.0f} |\n"
        f"| most memory, MiB | {memory:,.0f} |\n"
    )


def measured(path: str) -> None:
    """Print the seconds of reading, learning, and counting on one thread; the tokens; the most memory in MiB."""
    from spinney.corpus import read_text
    from spinney.embed import Embedding, count_contexts, window

    text, reading = _timed(lambda: read_text(path, "lines", max_size=WORDS))
    _, learning = _timed(lambda: Embedding("cca", K, window=WINDOW, weighting="flat").fit(text))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _, counting = _timed(lambda: count_contexts(text, window(WINDOW), threads=1))
    print(reading, learning, counting, text.n_tokens, memory)


def _decompositions(whole: Path, sizes: tuple[int, ...]) -> tuple[str, list[Comparison]]:
    from scipy.sparse.linalg import svds

    from spinney.corpus import read_text
    from spinney.embed import correlations, count_contexts, window
    from spinney.linalg import truncated_svd

    text = read_text(whole, "lines", max_size=WORDS)
    X = correlations(count_contexts(text, window(5, weighting="harmonic")).matrix)[0]
    truncated_svd(X, 5, "randomized", power=1)  # compile
    rows, comparisons = [], []
    for k in sizes:
        _say(f"svds, {k} triples")
        (_, exact, _), theirs = _timed(lambda: svds(X, k, random_state=0))  # noqa: B023
        rows.append(f"| {k} | scipy svds (ARPACK) | {theirs:.1f} | 1 | |")
        for power in (8, 10):
            found, ours = _timed(lambda: truncated_svd(X, k, "randomized", power=power))  # noqa: B023
            lost = 1 - float(np.sum(found.s.astype(float) ** 2) / np.sum(exact.astype(float) ** 2))
            rows.append(
                f"| {k} | truncated_svd, {power} passes | {ours:.1f} | {theirs / ours:.1f} | {lost:.3%} |"
            )
        comparisons.append(
            Comparison(
                "Truncated SVD", f"the {k} largest singular triples by {power} passes; the peer by ARPACK",
                f"{X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} entries", "SciPy svds", "s", ours, theirs,
                judge(1 - lost, 1.0, higher=True, tolerance=5e-4), f"{lost:.3%} of the energy lost",
            )
        )  # fmt: skip
    head = (
        f"### The largest singular values of {X.shape[0]:,} × {X.shape[1]:,} correlations, {X.nnz:,} entries\n\n"
        "| k | | seconds | times as fast as svds | energy lost |\n|---:|---|---:|---:|---:|"
    )
    return "\n".join([head, *rows]) + "\n", comparisons


def _quality(whole: Path) -> tuple[str, Comparison]:
    """Similarity and analogies, over the vocabulary that gensim's reference vectors have: words seen ten times."""
    from spinney.corpus import read_text
    from spinney.embed import Embedding

    text = read_text(whole, "lines", min_count=10)
    rows = [
        "| gensim skip-gram, 5 epochs, one worker (measured once, elsewhere) "
        f"| {PEER_SECONDS:.0f} | {PEER_SPEARMAN:.3f} | 31.9% | 15.6% |"
    ]
    found = []
    options: list[dict[str, Any]] = [
        {"method": "cca"},
        {"method": "cca", "window": 10},
        {"method": "cca", "window": 10, "dimensions": 200},
        {"method": "tscca"},
        {"method": "pmi", "weighting": "harmonic"},
    ]
    for one in options:
        _say(str(one))
        embedding, seconds = _timed(lambda: Embedding(**one).fit(text))  # noqa: B023
        mean, syntactic, semantic = _scores(embedding.word_vectors())
        found.append((seconds, mean))
        told = ", ".join(str(value) if name == "method" else f"{name} {value}" for name, value in one.items())
        rows.append(f"| {told} | {seconds:.1f} | {mean:.3f} | {syntactic:.1%} | {semantic:.1%} |")
    head = (
        f"### {text.n_tokens:,} tokens, {len(text.vocabulary):,} words; 100 dimensions where nothing is said\n\n"
        "| | seconds, without reading | mean Spearman, 12 sets | syntactic | semantic analogies |\n"
        "|---|---:|---:|---:|---:|"
    )
    tail = "\nDefaults were chosen by these very figures: nothing here was held out.\n"
    seconds, mean = found[0]
    row = Comparison(
        "Word vectors", "100 dimensions, without reading; eigenwords on all cores, the peer by skip-gram on one",
        f"film reviews, {text.n_tokens:,} tokens", "gensim, 5 epochs", "s", seconds, PEER_SECONDS,
        judge(mean, PEER_SPEARMAN, higher=True, tolerance=0.02),
        f"mean Spearman of word similarity {mean:.3f}, the peer {PEER_SPEARMAN:.3f} (our defaults were chosen by "
        "these sets)", "reference",
    )  # fmt: skip
    return "\n".join([head, *rows, tail]), row


def _similarity(vectors: Any) -> list[tuple[float, int]]:
    """The rank correlation with human judgements in each set, and the pairs that entered."""
    from spinney.evaluate import read_word_pairs, word_similarity

    files = sorted(corpus("word_similarity", "mfaruqui").iterdir())
    scores = [word_similarity(vectors, read_word_pairs(path), "cosine") for path in files]
    return [(score["spearman"], int(score["n"])) for score in scores]


def _by_pairs(vectors: Any) -> tuple[float, int]:
    """The mean over the sets, each as heavy as it has pairs; and the pairs in all."""
    values, sizes = zip(*_similarity(vectors))
    return float(np.average(values, weights=sizes)), sum(sizes)


def _scores(vectors: Any) -> tuple[float, float, float]:
    from spinney.evaluate import analogies, read_analogies

    result = analogies(vectors, read_analogies(corpus("word_similarity", "questions-words.txt.xz")))
    mean = float(np.mean([value for value, _ in _similarity(vectors)]))
    return mean, result.syntactic.accuracy, result.semantic.accuracy


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    found = function()
    return found, time.perf_counter() - started


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)
