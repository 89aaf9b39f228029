"""Categorisation: do the vectors of words of one category form one cluster?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.compressed import FilePath
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.evaluate._tables import read_columns_named
from spinney.evaluate.measures import Measure, distances
from spinney.evaluate.wordsim import Find, common_pos, lookup
from spinney.settings.words import Linkage
from spinney.structure import WordVectors


@dataclass(frozen=True)
class CategorisationResult:
    """What :func:`categorise` found.

    Attributes
    ----------
    words, gold : list of str
        The words that have vectors, and their categories.
    clusters : array of int
        The cluster of each word, from 0.
    purity, entropy : float
        See :func:`purity_and_entropy`.
    categories : list of str
        The distinct categories, in their order of appearance.
    confusion : array of int
        Words by cluster (rows) and category (columns).
    missing : list of str
        The words without a vector.
    linkage : array
        The dendrogram over ``words``, as :func:`scipy.cluster.hierarchy.dendrogram` takes it.
    """

    words: list[str]
    gold: list[str]
    clusters: NDArray[np.int64]
    purity: float
    entropy: float
    categories: list[str]
    confusion: NDArray[np.int64]
    missing: list[str]
    linkage: NDArray[np.float64]


def read_categories(path: FilePath, level: int | None = None) -> list[tuple[str, str]]:
    """Words with their categories, from a table with the columns ``word`` and ``category``.

    Rows without a word are skipped: some sets have one per category. A word may be in several categories.

    Parameters
    ----------
    path
        A CSV file with a header.
    level
        Which part of a category that is written with a hyphen, from 0: of the two levels of the ESSLLI verbs,
        ``communication-cognition`` and the like, 0 gives the nine classes and 1 the five. By default the whole.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "verbs.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write(",category,word\\n0,communication-cognition,talk\\n")
    >>> read_categories(path), read_categories(path, level=1)
    ([('talk', 'communication-cognition')], [('talk', 'cognition')])
    """
    pairs = []
    for line, (word, category) in read_columns_named(path, ["word", "category"]):
        if level is not None:
            parts = category.split("-")
            if not 0 <= level < len(parts):
                what = f"the category {category!r} has no level {level}"
                raise InputError(what, path=os.fspath(path), line=line)
            category = parts[level]
        if word:
            pairs.append((word, category))
    return pairs


def categorise(
    vectors: WordVectors,
    words: Sequence[str],
    gold: Sequence[str],
    measure: Measure = "hellinger",
    linkage: Linkage = "complete",
    n_clusters: int | None = None,
    *,
    find: Find | None = None,
) -> CategorisationResult:
    """Cluster words by the distances of their vectors, and compare with their categories.

    Agglomerative clustering, cut at as many clusters as there are categories among the words with vectors
    (Grave 2014, chapter 3). Words without a vector are left out. A word that is given twice, with two
    categories, counts twice.

    Parameters
    ----------
    vectors
        Vectors of words.
    words, gold
        Words and the category of each.
    measure
        One of :data:`~spinney.evaluate.MEASURES` that makes a distance.
    linkage
        How far apart two clusters are: as their farthest members, the mean, or the nearest.
    n_clusters
        How many clusters, if not as many as categories.
    find
        How a word is looked up; by default :func:`lookup`, as the part of speech under which the vocabulary has the
        most of ``words``, if it has parts of speech: a set of verbs is one of verbs.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog", "pen", "cup"], [[0.9, 0.1], [0.8, 0.2], [0.0, 1.0], [0.1, 0.9]])
    >>> words, gold = ["cat", "dog", "pen", "cup", "owl"], ["animal", "animal", "thing", "thing", "animal"]
    >>> result = categorise(vectors, words, gold)
    >>> result.purity, result.entropy, result.clusters.tolist(), result.missing
    (1.0, 0.0, [0, 0, 1, 1], ['owl'])
    """
    from scipy.cluster.hierarchy import cut_tree
    from scipy.cluster.hierarchy import linkage as agglomerate
    from scipy.spatial.distance import squareform

    if len(words) != len(gold):
        raise OptionError(f"{len(words)} words but {len(gold)} categories")
    if linkage not in get_args(Linkage):
        raise unknown_choice("linkage must be", linkage, get_args(Linkage))
    find = find or lookup(vectors, common_pos(vectors, words))
    found = [(word, key, category) for word, category in zip(words, gold) if (key := find(word)) is not None]
    if len(found) < 2:
        raise InputError(f"{len(found)} of {len(words)} words have a vector: nothing to cluster")
    categories = list(dict.fromkeys(category for _, _, category in found))
    n_clusters = len(categories) if n_clusters is None else n_clusters
    if not 1 <= n_clusters <= len(found):
        raise OptionError(f"{n_clusters} clusters cannot be made of {len(found)} words")
    apart = distances(vectors.rows([key for _, key, _ in found]), measure=measure)
    tree = agglomerate(squareform(apart, checks=False), method=linkage)
    clusters = cut_tree(tree, n_clusters=n_clusters)[:, 0].astype(np.int64)
    place = {category: i for i, category in enumerate(categories)}
    confusion = np.zeros((n_clusters, len(categories)), dtype=np.int64)
    np.add.at(confusion, (clusters, [place[category] for _, _, category in found]), 1)
    purity, entropy = purity_and_entropy(confusion)
    return CategorisationResult(
        words=[word for word, _, _ in found],
        gold=[category for _, _, category in found],
        clusters=clusters,
        purity=purity,
        entropy=entropy,
        categories=categories,
        confusion=confusion,
        missing=[word for word in words if find(word) is None],
        linkage=tree,
    )


def purity_and_entropy(confusion: ArrayLike) -> tuple[float, float]:
    """Purity and entropy of clusters, averaged with the clusters' sizes as weights.

    With f the shares of the C categories in a cluster, its purity is max f (higher is better) and its
    entropy −Σ f log f / log C (lower is better).

    Parameters
    ----------
    confusion
        Counts by cluster (rows) and category (columns).

    Examples
    --------
    >>> purity, entropy = purity_and_entropy([[14, 1], [0, 13]])
    >>> round(purity, 3), round(entropy, 2)
    (0.964, 0.19)
    """
    from scipy.special import entr

    counts = np.asarray(confusion, dtype=np.float64)
    sizes = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, sizes, out=np.zeros_like(counts), where=sizes > 0)
    weights = sizes[:, 0] / sizes.sum()
    categories = counts.shape[1]
    entropy = entr(shares).sum(axis=1) / np.log(categories) if categories > 1 else np.zeros(len(counts))
    return float(weights @ shares.max(axis=1)), float(weights @ entropy)
