"""Topics by moments beside scikit-learn's latent Dirichlet allocation (batch variational Bayes): time and perplexity.

Quality is the perplexity of held-out documents by document completion: half of the words of each are seen, and its
proportions found by each model's own ``transform``; the other half is scored.
"""

from __future__ import annotations

import lzma
import sys
import tarfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.comparisons import Comparison, judge
from benchmarks.data import corpus
from benchmarks.harness import publish
from spinney.embed.topics import MomentTopics, completion_score, split_words

ALPHA0 = 1.0  # that of scikit-learn's default prior
ROUNDS = 2


def main(quick: bool) -> None:
    """Run all corpora and write the table; ``quick``: the smaller corpus only."""
    found = [_texts("Associated Press", *_associated_press(), (20, 50))]
    if not quick:
        found.append(_texts("20 Newsgroups, training part", *_newsgroups(), (20, 50)))
    comparisons = [row for _, rows in found for row in rows]
    publish("embed_topics", [section for section, _ in found], comparisons, quick, "one run each")


def _associated_press() -> tuple[Any, list[str]]:
    words = corpus("ap_blei", "vocab.txt").read_text().split("\n")[:-1]
    with lzma.open(corpus("ap_blei", "ap.dat.xz"), "rt") as file:
        rows = [[pair.split(":") for pair in line.split()[1:]] for line in file]
    entries = np.array([pair for row in rows for pair in row], dtype=float)
    indptr = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), len(words))
    return sparse.csr_array((entries[:, 1], entries[:, 0].astype(np.int32), indptr), shape=shape), words


def _newsgroups() -> tuple[Any, list[str]]:
    """Bodies of posts: words of letters in at least 5 posts and at most half of them, without function words."""
    texts = []
    with tarfile.open(corpus("20newsgroups", "20news-bydate.tar.xz")) as archive:
        for member in archive:
            if member.isfile() and member.name.partition("/")[0].endswith("train"):
                stream = archive.extractfile(member)
                assert stream is not None
                texts.append(stream.read().decode("latin-1").partition("\n\n")[2])
    counting = CountVectorizer(stop_words="english", min_df=5, max_df=0.5, token_pattern=r"[a-z]{3,}")
    X = sparse.csr_array(counting.fit_transform(texts), dtype=np.float64)
    return X, counting.get_feature_names_out().tolist()


def _texts(title: str, X: Any, words: list[str], sizes: tuple[int, ...]) -> tuple[str, list[Comparison]]:
    comparisons = []
    held_out = np.random.default_rng(0).random(X.shape[0]) < 0.1
    train, test = X[~held_out], X[held_out]
    seen, unseen = split_words(test)
    MomentTopics(2, alpha0=ALPHA0, polish=1).fit(train[:100]).transform(test)  # compile
    frequencies = np.asarray(train.sum(axis=0)) + 0.01
    alone = completion_score(np.ones((test.shape[0], 1)), (frequencies / frequencies.sum())[None], unseen)
    lines = [
        f"### {title}: {X.shape[0]:,} documents, {X.shape[1]:,} words, {X.sum():,.0f} tokens",
        "",
        "| topics | model | seconds | ratio | perplexity of held-out documents |",
        "|---:|---|---:|---:|---:|",
        f"| | frequencies of words | | | {np.exp(-alone):,.0f} |",
    ]
    for k in sizes:
        rows: list[tuple[str, float, float]] = []
        for name, model, rounds in _contestants(k):
            _say(f"{title}, {k} topics, {name}")
            fitted, seconds = _best(lambda model=model: model().fit(train), rounds)  # type: ignore[misc]
            topics = fitted.components_ / fitted.components_.sum(axis=1, keepdims=True)
            rows.append(
                (name, seconds, float(np.exp(-completion_score(fitted.transform(seen), topics, unseen))))
            )
        (_, ours, perplexity), (_, theirs, peer_perplexity) = rows[-2:]
        comparisons.append(
            Comparison(
                "Topics", f"{k} topics by moments and 20 passes of EM, all cores; the peer by variational Bayes",
                f"{title}, {X.shape[0]:,} documents", "scikit-learn LDA, 10 iterations", "s", ours, theirs,
                judge(perplexity, peer_perplexity, higher=False, tolerance=5e-3),
                f"held-out perplexity {perplexity:,.0f}, the peer {peer_perplexity:,.0f}",
            )
        )  # fmt: skip
        lines += [f"| {k} | {n} | {s:.2f} | {s / rows[0][1]:.1f} | {p:,.0f} |" for n, s, p in rows]
    example = MomentTopics(sizes[0], alpha0=ALPHA0, polish=20).fit(X, words=words)
    lines += ["", f"The ten heaviest of {sizes[0]} topics (all documents, moments and 20 passes of EM):", ""]
    lines += [f"- {', '.join(word for word, _ in example.topic_words(k, 8))}" for k in range(10)]
    return "\n".join(lines) + "\n", comparisons


def _contestants(k: int) -> list[tuple[str, Callable[[], Any], int]]:
    return [
        ("Spinney, one topic a document", lambda: MomentTopics(k), ROUNDS),
        ("Spinney, moments of LDA", lambda: MomentTopics(k, alpha0=ALPHA0), ROUNDS),
        ("Spinney, moments and 20 passes of EM", lambda: MomentTopics(k, alpha0=ALPHA0, polish=20), ROUNDS),
        (
            "scikit-learn, batch, 10 iterations",
            lambda: LatentDirichletAllocation(k, max_iter=10, random_state=0, n_jobs=-1),
            1,
        ),
    ]


def _best(run: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        fitted = run()
        times.append(time.perf_counter() - started)
    return fitted, min(times)


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)
