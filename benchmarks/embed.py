"""Word vectors of 27 million tokens of film reviews: how long they take, beside gensim's, and how good they are.

gensim's skip-gram (5 epochs) and Spinney run on the same tenth of the text, on one core each; on the whole text only
Spinney runs, and gensim's time there is ten times that of the tenth.
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

from benchmarks.data import data_folder, review_sentences
from benchmarks.harness import publish

TENTH = 10  # every so-many-th sentence is in the part that both learn from
WORDS, WINDOW, K = 30_000, 2, 100


def main() -> None:
    """Run all parts and write the tables."""
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.txt", Path(folder) / "part.txt"
        with open(whole, "w") as all_lines, open(part, "w") as some_lines:
            for i, tokens in enumerate(review_sentences()):
                line = " ".join(tokens) + "\n"
                all_lines.write(line)
                if i % TENTH == 0:
                    some_lines.write(line)
        sections = [_race(part), _whole(whole), *_decompositions(whole), _quality(whole)]
    publish("embed", sections, "one run each")


def _eigenwords(path: Path, threads: int) -> dict[str, Any]:
    """Read a text and learn eigenwords of it; the facts of the fit, with the seconds in all."""
    from spinney.corpus import read_text
    from spinney.embed import Embedding

    started = time.perf_counter()
    text = read_text(path, "lines", max_size=WORDS)
    embedding = Embedding("cca", K, window=WINDOW, weighting="flat", threads=threads).fit(text)
    return {**embedding.facts_, "in_all": time.perf_counter() - started}


def _race(part: Path) -> str:
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        _eigenwords(part, 1)  # compile
        ours = _eigenwords(part, 1)["in_all"]
    _say("gensim")
    _, theirs = _timed(
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
    return (
        "### A tenth of the text, from the file to the vectors, one core\n\n"
        "| | seconds | ratio to Spinney |\n|---|---:|---:|\n"
        f"| Spinney, eigenwords, {WORDS:,} words at most, window {WINDOW}, {K} dimensions | {ours:.1f} | 1 |\n"
        f"| gensim skip-gram, {K} dimensions, window 5, 5 negatives, 5 epochs | {theirs:.1f} | {theirs / ours:.1f} |\n"
    )


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


def _decompositions(whole: Path) -> list[str]:
    from scipy.sparse.linalg import svds

    from spinney.corpus import read_text
    from spinney.embed import correlations, count_contexts, window
    from spinney.linalg import truncated_svd

    text = read_text(whole, "lines", max_size=WORDS)
    X = correlations(count_contexts(text, window(5, weighting="harmonic")).matrix)[0]
    truncated_svd(X, 5, "randomized", power=1)  # compile
    rows = []
    for k in (100, 200):
        _say(f"svds, {k} triples")
        (_, exact, _), theirs = _timed(lambda: svds(X, k, random_state=0))  # noqa: B023
        rows.append(f"| {k} | scipy svds (ARPACK) | {theirs:.1f} | 1 | |")
        for power in (8, 10):
            found, ours = _timed(lambda: truncated_svd(X, k, "randomized", power=power))  # noqa: B023
            lost = 1 - float(np.sum(found.s.astype(float) ** 2) / np.sum(exact.astype(float) ** 2))
            rows.append(
                f"| {k} | truncated_svd, {power} passes | {ours:.1f} | {theirs / ours:.1f} | {lost:.3%} |"
            )
    head = (
        f"### The largest singular values of {X.shape[0]:,} × {X.shape[1]:,} correlations, {X.nnz:,} entries\n\n"
        "| k | | seconds | times as fast as svds | energy lost |\n|---:|---|---:|---:|---:|"
    )
    return ["\n".join([head, *rows]) + "\n"]


def _quality(whole: Path) -> str:
    """Similarity and analogies, over the vocabulary that gensim's reference vectors have: words seen ten times."""
    from spinney.corpus import read_text
    from spinney.embed import Embedding

    text = read_text(whole, "lines", min_count=10)
    rows = [
        "| gensim skip-gram, 5 epochs, one worker (measured once, elsewhere) | 612 | .462 | 31.9 % | 15.6 % |"
    ]
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
        told = ", ".join(str(value) if name == "method" else f"{name} {value}" for name, value in one.items())
        rows.append(f"| {told} | {seconds:.1f} | {mean:.3f} | {syntactic:.1%} | {semantic:.1%} |")
    head = (
        f"### {text.n_tokens:,} tokens, {len(text.vocabulary):,} words; 100 dimensions where nothing is said\n\n"
        "| | seconds, without reading | mean Spearman, 12 sets | syntactic | semantic analogies |\n"
        "|---|---:|---:|---:|---:|"
    )
    tail = "\nDefaults were chosen by these very figures: nothing here was held out.\n"
    return "\n".join([head, *rows, tail])


def _scores(vectors: Any) -> tuple[float, float, float]:
    from spinney.evaluate import analogies, read_analogies, read_word_pairs, word_similarity

    folder = data_folder() / "word_similarity"
    scores = [
        word_similarity(vectors, read_word_pairs(path), "cosine")["spearman"]
        for path in sorted((folder / "mfaruqui").iterdir())
    ]
    result = analogies(vectors, read_analogies(folder / "questions-words.txt.xz"))
    return float(np.mean(scores)), result.syntactic.accuracy, result.semantic.accuracy


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    found = function()
    return found, time.perf_counter() - started


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)
