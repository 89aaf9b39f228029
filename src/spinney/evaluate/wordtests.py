"""Vectors of words beside what people say about words: the tests that word classes and embeddings share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, about
from spinney.evaluate.categorisation import categorise, read_categories
from spinney.evaluate.measures import Measure, similarity
from spinney.evaluate.significance import BootstrapResult, Statistic, paired_bootstrap
from spinney.evaluate.wordsim import common_pos, lookup, read_word_pairs, word_similarity
from spinney.settings.words import Linkage
from spinney.structure import WordVectors
from spinney.views import Node, Outline, Table, View, grown

_RESAMPLES = 2000  # draws of the bootstrap: p-values down to 0.001


def similarity_scores(vectors: WordVectors, file: str, measure: Measure) -> dict[str, Any]:
    """Word similarity on the pairs of a file."""
    with about(file):
        return word_similarity(vectors, read_word_pairs(file), measure)


def pair_items(
    vectors: WordVectors, file: str, measure: Measure
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Of each pair of a file whether both words are known, and its similarity beside the score of people."""
    find = lookup(vectors)
    pairs = [(find(first), find(second), score) for first, second, score in read_word_pairs(file)]
    known = np.array([None not in (first, second) for first, second, _ in pairs], bool)
    # A word that is not known has a vector of zeros; such pairs are left out of comparisons.
    left = vectors.rows([first or "" for first, _, _ in pairs])
    right = vectors.rows([second or "" for _, second, _ in pairs])
    return known, np.column_stack([similarity(left, right, measure), [score for _, _, score in pairs]])


def paired_difference(
    baseline: tuple[NDArray[np.bool_], NDArray[Any]],
    system: tuple[NDArray[np.bool_], NDArray[Any]],
    statistic: Statistic,
    seed: int,
) -> dict[str, Any]:
    """A paired bootstrap on the items that both models know; only their number ``n`` where these are too few.

    Examples
    --------
    >>> known, right = np.ones(40, bool), np.arange(40) % 2 == 0
    >>> found = paired_difference((known, right), (known, known), lambda items: float(items.mean()), 0)
    >>> found["n"], found["difference"], found["p_value"] < 0.01
    (40, 0.5, True)
    """
    both = system[0] & baseline[0]
    result: BootstrapResult | None = None
    if both.any():
        try:
            result = paired_bootstrap(
                baseline[1][both], system[1][both], statistic, resamples=_RESAMPLES, random_state=seed
            )
        except InputError:
            result = None
    return {"n": int(both.sum()), **(result._asdict() if result else {})}


def category_scores(
    vectors: WordVectors,
    file: str,
    measure: Measure,
    level: int | None,
    pos: str = "auto",
    linkage: Linkage = "complete",
) -> dict[str, Any]:
    """Categorisation of the words of a file, looked up as one part of speech where the vocabulary has them.

    ``pos`` is that part of speech; ``auto`` takes the one under which the vocabulary has the most words of the file,
    and ``any`` takes for each word the most frequent. Beside the scores there are the category and the cluster of each
    word (``assigned``), the numbers of words by cluster and category (``confusion``), and the ``dendrogram``, whose
    rows are those of :func:`scipy.cluster.hierarchy.linkage`.
    """
    with about(file):
        pairs = read_categories(file, level)
        words, gold = [word for word, _ in pairs], [category for _, category in pairs]
        known = common_pos(vectors, words)  # None where the vocabulary has none
        used = None if known is None or pos == "any" else known if pos == "auto" else pos.upper()
        found = categorise(vectors, words, gold, measure, find=lookup(vectors, used), linkage=linkage)
    return {
        "purity": found.purity,
        "entropy": found.entropy,
        "clusters": len(found.confusion),
        "n": len(found.words),
        "words": len(pairs),
        "pos": used and used.lower(),
        "linkage": linkage,
        "missing": found.missing,
        "assigned": [list(one) for one in zip(found.words, found.gold, found.clusters.tolist())],
        "confusion": {"categories": found.categories, "counts": found.confusion.tolist()},
        "dendrogram": found.linkage.tolist(),
    }


def cluster_views(name: str, found: Mapping[str, Any]) -> list[View]:
    """The clusters that :func:`category_scores` found, what is in them, and how they were put together.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "kinds.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("word,category\\ncat,animal\\ndog,animal\\npen,thing\\n")
    >>> vectors = WordVectors(["cat", "dog", "pen"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> table, tree = cluster_views("kinds", category_scores(vectors, path, "hellinger", None))
    >>> table.header, table.rows[0]
    (['cluster', 'categories', 'words'], [0, 'animal 2', 'cat, dog'])
    """
    categories, counts = found["confusion"]["categories"], found["confusion"]["counts"]
    words = [[word for word, _, cluster in found["assigned"] if cluster == i] for i in range(len(counts))]
    rows = [[i, _told(categories, row), ", ".join(some)] for i, (row, some) in enumerate(zip(counts, words))]
    return [
        Table("", f"Clusters and categories: {name}", ["cluster", "categories", "words"], rows),
        Outline("", f"Dendrogram: {name}, distances at which clusters join", [_joined(found)], "words"),
    ]


def _told(categories: Sequence[str], counts: Sequence[int]) -> str:
    """The categories in a cluster, the most frequent first: one column, however many categories there are."""
    some = sorted((-count, category) for category, count in zip(categories, counts) if count)
    return ", ".join(f"{category} {-count}" for count, category in some)


def _joined(found: Mapping[str, Any]) -> Node:
    """The dendrogram as a tree: the words with their categories, joined at distances."""
    leaves, joins = len(found["assigned"]), found["dendrogram"]
    nodes = [Node(word, category) for word, category, _ in found["assigned"]]
    nodes += [Node("", f"{distance:.3g}") for _, _, distance, _ in joins]
    parent = [-1] * len(nodes)
    for i, (first, second, *_) in enumerate(joins, leaves):
        parent[int(first)] = parent[int(second)] = i
    return grown(parent, nodes, range(len(nodes)))[0]
