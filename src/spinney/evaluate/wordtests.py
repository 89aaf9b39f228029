"""Vectors of words beside what people say about words: the tests that word classes and embeddings share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spinney.errors import about
from spinney.evaluate.categorisation import categorise, read_categories
from spinney.evaluate.measures import Measure
from spinney.evaluate.wordsim import common_pos, lookup, read_word_pairs, word_similarity
from spinney.settings.words import Linkage
from spinney.structure import WordVectors
from spinney.views import Node, Outline, Table, View, grown


def similarity_scores(vectors: WordVectors, file: str, measure: Measure) -> dict[str, Any]:
    """Word similarity on the pairs of a file."""
    with about(file):
        return word_similarity(vectors, read_word_pairs(file), measure)


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
    (['cluster', 'animal', 'thing', 'words'], [0, 2, 0, 'cat, dog'])
    """
    categories, counts = found["confusion"]["categories"], found["confusion"]["counts"]
    words = [[word for word, _, cluster in found["assigned"] if cluster == i] for i in range(len(counts))]
    rows = [[i, *row, ", ".join(some)] for i, (row, some) in enumerate(zip(counts, words))]
    return [
        Table("", f"Clusters and categories: {name}", ["cluster", *categories, "words"], rows),
        Outline("", f"Dendrogram: {name}, distances at which clusters join", [_joined(found)], "words"),
    ]


def _joined(found: Mapping[str, Any]) -> Node:
    """The dendrogram as a tree: the words with their categories, joined at distances."""
    leaves, joins = len(found["assigned"]), found["dendrogram"]
    nodes = [Node(word, category) for word, category, _ in found["assigned"]]
    nodes += [Node("", f"{distance:.3g}") for _, _, distance, _ in joins]
    parent = [-1] * len(nodes)
    for i, (first, second, *_) in enumerate(joins, leaves):
        parent[int(first)] = parent[int(second)] = i
    return grown(parent, nodes, range(len(nodes)))[0]
