"""Categorisation: purity and entropy as published, clusters against scikit-learn."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from spinney.errors import InputError, OptionError
from spinney.evaluate import categorise, distances, lookup, purity_and_entropy, read_categories
from spinney.structure import WordVectors


def test_published_one_error_in_28_words():
    # Grave 2014: chain, 128 classes, concrete against abstract nouns; printed .96 and .18
    for confusion in ([[14, 1], [0, 13]], [[1, 14], [13, 0]]):
        purity, entropy = purity_and_entropy(confusion)
        assert round(purity, 3) == 0.964
        assert round(entropy, 2) == 0.19
        by_hand = 15 / 28 * -(1 / 15 * math.log2(1 / 15) + 14 / 15 * math.log2(14 / 15))
        assert entropy == pytest.approx(by_hand, abs=1e-15)


def test_published_clusters_of_concrete_nouns():
    # Grave 2014, the best run with 6 clusters of 38 nouns, by their classes:
    # bird, ground animal, fruit tree, green good, tool, vehicle
    clusters = [
        [1, 0, 3, 5, 0, 0],  # chicken, lettuce, pear, onion, potato, mushroom, corn, banana, cherry
        [2, 1, 0, 0, 0, 1],  # eagle, lion, penguin, rocket
        [3, 6, 0, 0, 0, 0],  # duck, dog, cat, cow, swan, owl, elephant, turtle, pig
        [0, 0, 0, 0, 9, 0],  # bottle, spoon, pencil, knife, screwdriver, hammer, pen, cup, bowl
        [0, 0, 0, 0, 1, 0],  # telephone
        [0, 0, 0, 0, 0, 6],  # boat, car, truck, ship, helicopter, motorcycle
    ]
    purity, entropy = purity_and_entropy(clusters)
    assert (round(purity, 2), round(entropy, 2)) == (0.76, 0.27)


def test_ends_of_the_scale():
    assert purity_and_entropy([[3, 0], [0, 2]]) == (1.0, 0.0)
    assert purity_and_entropy([[2, 2, 2]]) == (pytest.approx(1 / 3), pytest.approx(1.0))
    assert purity_and_entropy([[2], [3]]) == (1.0, 0.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("linkage", ["complete", "average", "single"])
@pytest.mark.parametrize("measure", ["hellinger", "cosine", "jensen_shannon"])
def test_clusters_against_scikit_learn(measure, linkage, sparse):
    rng = np.random.default_rng(5)
    matrix = rng.dirichlet(np.full(6, 0.4), 50)
    words = [f"w{i}" for i in range(50)]
    gold = [f"c{i % 4}" for i in range(50)]
    vectors = WordVectors(words, sp.csr_array(matrix) if sparse else matrix)
    result = categorise(vectors, words, gold, measure, linkage)
    theirs = AgglomerativeClustering(4, metric="precomputed", linkage=linkage).fit_predict(
        distances(matrix, measure=measure)
    )
    assert adjusted_rand_score(theirs, result.clusters) == 1
    assert is_valid_linkage(result.linkage)
    assert result.confusion.sum() == 50
    for cluster in range(4):
        inside = Counter(c for c, k in zip(gold, result.clusters) if k == cluster)
        assert dict(inside) == {
            c: n for c, n in zip(result.categories, result.confusion[cluster].tolist()) if n
        }
    assert (result.purity, result.entropy) == purity_and_entropy(result.confusion)


def test_equal_distances_still_make_as_many_clusters():
    vectors = WordVectors(list("abcde"), np.eye(5))
    result = categorise(vectors, list("abcde"), list("xxyyz"))
    assert set(result.clusters.tolist()) == {0, 1, 2}
    assert set(categorise(vectors, list("abcde"), list("xxyyz"), n_clusters=4).clusters.tolist()) == {
        0,
        1,
        2,
        3,
    }


def test_words_without_a_vector_and_words_twice():
    vectors = WordVectors(
        ["run|NOUN", "run|VERB", "walk|VERB", "cat|NOUN"], [[1, 0], [0, 1], [0.1, 1], [1, 0.1]]
    )
    words, gold = ["run", "walk", "cat", "owl", "cat"], ["move", "move", "animal", "animal", "pet"]
    result = categorise(vectors, words, gold, n_clusters=2, find=lookup(vectors))
    assert result.missing == ["owl"]
    assert (result.words, result.gold) == (["run", "walk", "cat", "cat"], ["move", "move", "animal", "pet"])
    assert result.clusters.tolist() == [0, 1, 0, 0]  # run|NOUN comes first
    assert result.confusion.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert result.purity == 0.5


def test_words_are_of_the_part_of_speech_of_their_set():
    """As most verbs are nouns as well, a set of verbs must not be looked up as nouns, nor word by word."""
    words = ["fly|NOUN", "fly|VERB", "walk|NOUN", "walk|VERB", "say|VERB", "ox|NOUN"]
    vectors = WordVectors(words, [[1, 0], [0.1, 1], [1, 0.1], [0, 1], [0.5, 0.5], [1, 0]])
    result = categorise(vectors, ["fly", "walk", "say", "shout"], ["move", "move", "talk", "talk"])
    assert (result.words, result.missing) == (["fly", "walk", "say"], ["shout"])
    assert result.clusters.tolist() == [0, 0, 1]
    assert result.purity == 1
    plain = WordVectors(["fly", "walk"], np.eye(2))
    assert categorise(plain, ["fly", "walk"], ["move", "stay"]).missing == []


def test_what_is_refused(tmp_path):
    vectors = WordVectors(["a", "b"], np.eye(2))
    with pytest.raises(OptionError, match="2 words but 1 categories"):
        categorise(vectors, ["a", "b"], ["x"])
    with pytest.raises(OptionError, match="linkage must be complete, average or single, not 'ward'"):
        categorise(vectors, ["a", "b"], ["x", "y"], linkage="ward")
    with pytest.raises(OptionError, match="3 clusters cannot be made of 2 words"):
        categorise(vectors, ["a", "b"], ["x", "y"], n_clusters=3)
    with pytest.raises(InputError, match="1 of 2 words have a vector: nothing to cluster"):
        categorise(vectors, ["a", "z"], ["x", "y"])
    path = tmp_path / "categories.csv"
    path.write_text("category,word\nx-y,a\nx,b\n")
    with pytest.raises(InputError, match=r"categories.csv:3: the category 'x' has no level 1"):
        read_categories(path, level=1)
    path.write_text("word\na\n")
    with pytest.raises(InputError, match=r"categories.csv:1: no column 'category'"):
        read_categories(path)


@pytest.mark.parametrize(
    ("name", "words", "categories"),
    [("ap", 402, 21), ("battig", 5231, 56), ("bless", 200, 17), ("essli-2008", 45, 9)],
)
def test_real_sets(data, name, words, categories):
    pairs = read_categories(data / "word_similarity/vecto/word-categorization" / f"{name}.csv")
    assert (len(pairs), len({category for _, category in pairs})) == (words, categories)
    assert all(word and category for word, category in pairs)


def test_levels_of_the_essli_verbs(data):
    path = data / "word_similarity/vecto/word-categorization/essli-2008.csv"
    fine, coarse = read_categories(path, 0), read_categories(path, 1)
    assert [word for word, _ in fine] == [word for word, _ in coarse]
    assert set(Counter(category for _, category in fine).values()) == {5}
    assert Counter(category for _, category in coarse) == {
        "cognition": 10,
        "motion": 15,
        "body": 10,
        "exchange": 5,
        "changeState": 5,
    }
