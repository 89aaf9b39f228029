"""Groups of words from language: against plain sets, for any texts, trees, classes, vectors and topics."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spinney.classify import TextFeatures
from spinney.classify.grouping import (
    cluster_groups,
    combined,
    constituent_groups,
    document_groups,
    neighbour_groups,
    sentence_groups,
    topic_groups,
)
from spinney.corpus import Tree, read_trees, split_sentences
from spinney.errors import OptionError
from spinney.structure import Groups, WordClasses, WordVectors

WORDS = ["ab", "cd", "ef", "gh", "ij", "."]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
documents = st.lists(sentences, min_size=1, max_size=4)
many = settings(max_examples=60, deadline=None)


def fitted(texts, **options):
    features = TextFeatures("counts", tokens="spaces", **options)
    features.fit_transform(texts)
    return features


def vocabulary(*words):
    return fitted([" ".join(words)])


def as_words(groups, features):
    return [{features.names[j] for j in groups[g]} for g in range(len(groups))]


def ngrams(words, longest):
    return {" ".join(words[i : i + n]) for n in range(1, longest + 1) for i in range(len(words) - n + 1)}


def brute_merged(sets, weights):
    """Sets in the order of their first appearance, with sums of weights and how many there were."""
    found: dict[frozenset[str], list[float]] = {}
    for members, weight in zip(sets, weights):
        found.setdefault(frozenset(members), []).append(weight)
    return (
        [set(members) for members in found],
        [sum(w) for w in found.values()],
        [len(w) for w in found.values()],
    )


@st.composite
def trees(draw, depth=3):
    label = draw(st.sampled_from(["S", "NP", "2"]))
    if depth == 0 or draw(st.booleans()):
        return Tree(label, word=draw(st.sampled_from(WORDS)))
    return Tree(label, [draw(trees(depth - 1)) for _ in range(draw(st.integers(1, 3)))])


# -- sentences and documents --------------------------------------------------------------------------------------


@many
@given(st.lists(documents, min_size=1, max_size=4), st.integers(1, 2), st.integers(0, 3), st.booleans())
def test_sentences_by_brute_force(texts, longest, min_size, merge):
    features = fitted([" ".join(words) for text in texts for words in text], ngrams=longest)
    given_split = [[" ".join(words) for words in text] for text in texts]
    groups = sentence_groups(given_split, features, merge=merge, min_size=min_size)
    sets = [ngrams(words, longest) for text in texts for words in text]
    sets = [members for members in sets if len(members) >= min_size]
    weights = [np.sqrt(len(members)) for members in sets]
    if merge:
        sets, weights, times = brute_merged(sets, weights)
        assert [1 if "×" not in name else int(name[:-1].split("×")[1]) for name in groups.names] == times
    assert as_words(groups, features) == sets
    np.testing.assert_allclose(groups.weights, weights)


def test_documents_are_split_and_may_be_many(monkeypatch):
    texts = ["Mr. Pym came. He saw\n it!", "", "He saw it! Nobody else."] * 3
    features = TextFeatures()
    features.fit_transform(texts)
    whole = sentence_groups(texts, features)
    assert whole.names == ["Mr. Pym came. (×3)", "He saw it! (×6)", "Nobody else. (×3)"]
    split = sentence_groups([split_sentences(text) for text in texts], features)
    monkeypatch.setattr("spinney.classify.grouping._TEXTS_AT_ONCE", 4)
    in_parts = sentence_groups(iter(texts), features)
    for other in (split, in_parts):
        assert other.names == whole.names
        np.testing.assert_array_equal(other.members, whole.members)
        np.testing.assert_array_equal(other.weights, whole.weights)


def test_long_names_are_cut():
    features = vocabulary("word", "other")
    names = sentence_groups([["word  other " * 30], ["word other"]], features, merge=False).names
    assert len(names[0]) == 160
    assert names[0].startswith("word other word")
    assert names[0].endswith("…")
    assert names[1] == "word other"


def test_weights_of_groups():
    features = vocabulary("a", "b", "c")
    texts = [["a b c", "b c", "c b"]]
    assert sentence_groups(texts, features, weights="unit").weights.tolist() == [1, 2]
    np.testing.assert_allclose(sentence_groups(texts, features).weights, [np.sqrt(3), 2 * np.sqrt(2)])


def test_nothing_left_is_no_groups():
    features = vocabulary("a", "b")
    for groups in (
        sentence_groups([], features),
        sentence_groups(["x y z."], features),
        document_groups(["a", ""], features),
    ):
        assert len(groups) == 0
        assert groups.n_features == 2


@many
@given(st.lists(sentences, min_size=1, max_size=5), st.sampled_from(["tfidf", "counts", "binary"]))
def test_documents_from_texts_and_from_their_matrix(documents, weighting):
    texts = [" ".join(words) for words in documents]
    features = TextFeatures(weighting, tokens="spaces")
    X = features.fit_transform(texts)
    of_texts = document_groups(texts, features, min_size=1)
    of_matrix = document_groups(X, features, min_size=1)
    sets, weights, _ = brute_merged(
        [set(words) for words in documents], [len(set(w)) ** 0.5 for w in documents]
    )
    for groups in (of_texts, of_matrix):
        assert as_words(groups, features) == sets
        np.testing.assert_allclose(groups.weights, weights)


def test_names_of_documents_and_stored_zeros():
    features = vocabulary("a", "b", "c")
    X = sparse.coo_matrix(([1.0, 1.0, 0.0, 2.0, 1.0], ([0, 0, 0, 1, 1], [0, 1, 2, 1, 1])), shape=(2, 3))
    groups = document_groups(X, features, names=["first", "second"], min_size=1)
    assert groups.names == ["first", "second"]
    assert as_words(groups, features) == [{"a", "b"}, {"b"}]
    with pytest.raises(OptionError, match="2 documents, but 1 names"):
        document_groups(X, features, names=["first"])
    with pytest.raises(OptionError, match="1 documents, but 2 names"):
        document_groups(["a"], features, names=["first", "second"])
    with pytest.raises(OptionError, match="2 columns, but 3 features"):
        document_groups(np.ones((4, 2)), features)


# -- trees --------------------------------------------------------------------------------------------------------


def test_the_worked_example():
    """Yogatama 2015, section 5.3.2: nine groups."""
    tree = Tree.parse(
        "(S (NP (DT The) (NNS actors)) (X (VP (VBP are) (JJ fantastic)) (. .)))",
    )
    features = fitted([" ".join(tree.leaves())])
    groups = constituent_groups([tree], features, min_size=1)
    assert as_words(groups, features) == [
        {"the", "actors", "are", "fantastic", "."},
        {"the", "actors"},
        {"the"},
        {"actors"},
        {"are", "fantastic", "."},
        {"are", "fantastic"},
        {"are"},
        {"fantastic"},
        {"."},
    ]
    assert groups.names[4] == "X: are fantastic ."
    assert groups.is_nested
    assert len(constituent_groups([tree], features)) == 4


@many
@given(st.lists(trees(), min_size=1, max_size=3), st.integers(1, 2), st.integers(1, 3))
def test_constituents_by_brute_force(forest, longest, min_size):
    features = fitted([" ".join(tree.leaves()) for tree in forest], ngrams=longest)

    def constituents(wanted):
        for tree in forest:
            for node in tree.nodes():
                members = ngrams(node.leaves(), longest)
                if wanted(node.label) and len(members) >= min_size:
                    yield f"{node.label}: {' '.join(node.leaves())}", members

    for keep, wanted in [
        (None, lambda label: True),
        ("2", lambda label: label == "2"),
        ({"S", "NP"}, lambda label: label != "2"),
        (lambda label: label.startswith("N"), lambda label: label == "NP"),
    ]:
        expected = list(constituents(wanted))
        groups = constituent_groups(forest, features, keep=keep, merge=False, min_size=min_size)
        assert groups.names == [name for name, _ in expected]
        assert as_words(groups, features) == [members for _, members in expected]


def test_a_bare_bracket_is_no_constituent():
    tree = Tree.parse("( (S (NP (NN dogs)) (VP (VB bark))))")
    features = fitted(["dogs bark"])
    assert constituent_groups([tree], features).names == ["S: dogs bark"]
    assert constituent_groups([tree], features, min_size=1, merge=False).names == [
        "S: dogs bark",
        "NP: dogs",
        "NN: dogs",
        "VP: bark",
        "VB: bark",
    ]


def test_neutral_constituents_of_the_sentiment_treebank():
    if "SPINNEY_DATA" not in os.environ:
        pytest.skip("needs the corpora that SPINNEY_DATA points to")
    forest = list(read_trees(Path(os.environ["SPINNEY_DATA"]) / "sst_trees" / "dev.txt.xz"))
    features = fitted([" ".join(tree.leaves()) for tree in forest])
    groups = constituent_groups(forest, features, keep="2", merge=False, min_size=1)
    assert len(groups) == sum(node.label == "2" for tree in forest for node in tree.nodes())
    assert all(name.startswith("2: ") for name in groups.names)
    assert len(constituent_groups(forest, features, merge=False, min_size=1).uncovered) == 0


# -- clusters -----------------------------------------------------------------------------------------------------


@many
@given(st.data())
def test_clusters_by_brute_force(data):
    paths = data.draw(st.lists(st.text("01", max_size=4), min_size=1, max_size=5, unique=True))
    vocab = [f"w{i}" for i in range(8)]
    ids = data.draw(st.lists(st.integers(0, len(paths) - 1), min_size=8, max_size=8))
    counts = data.draw(st.lists(st.integers(0, 99), min_size=8, max_size=8, unique=True))
    chosen = data.draw(st.lists(st.sampled_from(vocab), min_size=1, unique=True))
    min_size = data.draw(st.integers(1, 3))
    # Words without a class of their own have one for unknown words, and must be in no group all the same.
    classes = WordClasses(vocab, ids, paths=paths, counts=counts, unknown=data.draw(st.none() | st.just(0)))
    features = vocabulary(*chosen, "strange")
    groups = cluster_groups(classes, features, merge=False, min_size=min_size)
    nodes = {paths[c][:n] for c in range(len(paths)) for n in range(len(paths[c]) + 1)}
    expected = {}
    for node in nodes:
        members = {w for w in chosen if paths[ids[vocab.index(w)]].startswith(node)}
        if len(members) >= min_size:
            frequent = sorted(members, key=lambda w: -counts[vocab.index(w)])
            tail = " …" if len(frequent) > 5 else ""
            expected[f"{node or 'root'}: {' '.join(frequent[:5])}{tail}"] = members
    assert dict(zip(groups.names, as_words(groups, features))) == expected
    assert groups.is_nested
    merged = cluster_groups(classes, features, min_size=min_size)
    assert merged.is_nested
    np.testing.assert_allclose(merged.weights.sum(), groups.weights.sum())


def test_flat_clusters_and_lengths():
    features = vocabulary("mon", "tue", "red", "x")
    flat = WordClasses(["mon", "tue", "red", "blue"], [2, 2, 0, 0])
    groups = cluster_groups(flat, features)
    assert groups.names == ["class 2: mon tue"]
    assert as_words(groups, features) == [{"mon", "tue"}]
    tree = WordClasses(["mon", "tue", "red", "blue"], [0, 1, 2, 2], paths=["00", "01", "1"], lowercase=True)
    assert cluster_groups(tree, features, lengths=[1]).names == ["0: mon tue"]
    with pytest.raises(OptionError, match="none of the 4 features"):
        cluster_groups(WordClasses(["other"], [0], unknown=0), features)


def test_names_of_clusters_by_idf():
    features = TextFeatures(tokens="spaces")
    features.fit_transform(["a b", "b", "b c", "c"])
    classes = WordClasses(["a", "b", "c"], [0, 0, 0])
    assert cluster_groups(classes, features).names == ["class 0: b c a"]


# -- neighbours ---------------------------------------------------------------------------------------------------


@many
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_neighbours_by_brute_force(seed, k, as_sparse):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(9)]
    matrix = rng.normal(size=(9, 3))
    vectors = WordVectors(words, sparse.csr_array(matrix) if as_sparse else matrix)
    features = vocabulary("w7", "w1", "w3", "w2", "w5", "strange", "w0")
    groups = neighbour_groups(vectors, features, k=k, merge=False)
    chosen = [name for name in features.names if name != "strange"]
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    expected = []
    for word in chosen:
        others = [other for other in chosen if other != word]
        others.sort(key=lambda other: -(unit[words.index(word)] @ unit[words.index(other)]))
        expected.append({word, *others[:k]})
        name = f"near {word}: {' '.join(others[: min(k, 5)])}" + (" …" if k > 5 and len(others) > 5 else "")
        assert name in groups.names
    assert as_words(groups, features) == expected
    merged, weights, _ = brute_merged(expected, [np.sqrt(min(k, 5) + 1)] * len(chosen))
    again = neighbour_groups(vectors, features, k=k)
    assert as_words(again, features) == merged
    np.testing.assert_allclose(again.weights, weights)


def test_neighbours_with_equal_and_zero_vectors():
    same = WordVectors(["a", "b", "c", "d", "e"], [[1.0, 1.0]] * 4 + [[0.0, 0.0]])
    features = vocabulary("a", "b", "c", "d", "e")
    groups = neighbour_groups(same, features, k=2, merge=False)
    for word, members in zip("abcd", as_words(groups, features)):
        assert word in members
        assert len(members) == 3
        assert "e" not in members
    alone = WordVectors(["a"], [[1.0]])
    assert len(neighbour_groups(alone, features)) == 0
    assert as_words(neighbour_groups(alone, features, min_size=1), features) == [{"a"}]
    with pytest.raises(OptionError, match="none of the 5 features"):
        neighbour_groups(WordVectors(["z"], [[1.0]]), features)
    with pytest.raises(OptionError, match="k must be"):
        neighbour_groups(same, features, k=0)


# -- topics -------------------------------------------------------------------------------------------------------


@many
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.none() | st.floats(0.01, 1), st.booleans())
def test_topics_by_brute_force(seed, top, mass, as_sparse):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(8)]
    table = rng.integers(0, 5, size=(4, 8)).astype(float)
    features = vocabulary("w0", "w2", "w3", "w5", "w6", "w7", "strange")
    topics = sparse.csr_array(table) if as_sparse else table
    groups = topic_groups(topics, words, features, top=top, mass=mass, merge=False, min_size=1)
    expected = {}
    for t, row in enumerate(table):
        order = [j for j in sorted(range(8), key=lambda j: -row[j]) if row[j] > 0]
        if mass is None:
            taken = order[:top]
        else:
            sizes = [n for n in range(len(order) + 1) if row[order[:n]].sum() >= mass * row.sum() - 1e-9]
            taken = order[: sizes[0]]
        members = [words[j] for j in taken if words[j] in features.names]
        if members:
            expected[f"topic {t}: {' '.join(members[:5])}{' …' if len(members) > 5 else ''}"] = set(members)
    assert dict(zip(groups.names, as_words(groups, features))) == expected


def test_bad_topics():
    features = vocabulary("a", "b")
    for wrong in ({"top": 0}, {"mass": 0.0}, {"mass": 1.5}):
        with pytest.raises(OptionError, match="top must be at least 1"):
            topic_groups([[1.0, 2.0]], ["a", "b"], features, **wrong)
    with pytest.raises(OptionError, match="each of the 3 words"):
        topic_groups([[1.0, 2.0]], ["a", "b", "c"], features)
    for number in (-1.0, np.inf, np.nan):
        with pytest.raises(OptionError, match="finite numbers"):
            topic_groups([[1.0, number]], ["a", "b"], features)
    with pytest.raises(OptionError, match="each of the 2 words"):
        topic_groups([1.0, 2.0], ["a", "b"], features)


# -- families, and merging ----------------------------------------------------------------------------------------

families_of_sets = st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=25)


@many
@given(families_of_sets, st.integers(0, 2**32 - 1))
def test_merging_keeps_the_penalty(family, seed):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 3, len(family))
    groups = Groups.from_lists([sorted(s) for s in family], 6, weights, [str(i) for i in range(len(family))])
    merged = groups.merged()

    def penalty(of, w):
        return sum(of.weights[g] * np.linalg.norm(w[of[g]]) for g in range(len(of)))

    for w in rng.normal(size=(3, 6)):
        np.testing.assert_allclose(penalty(merged, w), penalty(groups, w), rtol=1e-12)
    found: dict[frozenset[int], list[int]] = {}
    for i, members in enumerate(family):
        found.setdefault(frozenset(members), []).append(i)
    assert [set(merged[g].tolist()) for g in range(len(merged))] == list(map(set, found))
    assert merged.names == [f"{i[0]}" + (f" (×{len(i)})" if len(i) > 1 else "") for i in found.values()]


@many
@given(families_of_sets)
def test_merging_when_hashes_collide(family):
    groups = Groups.from_lists([sorted(s) for s in family], 6)
    expected = groups.merged()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda seed: _Constant())
        found = groups.merged()
    np.testing.assert_array_equal(found.ptr, expected.ptr)
    np.testing.assert_array_equal(found.members, expected.members)
    np.testing.assert_allclose(found.weights, expected.weights)


class _Constant:
    """A generator whose codes are all alike, so that all groups of one size have one hash."""

    def integers(self, low, high, size, dtype):
        return np.full(size, 0, dtype=dtype)


def test_combined():
    one = Groups.from_lists([[0, 1], [1, 2]], 4, names=["x", "y"])
    two = Groups.from_lists([[3], [0, 1], [2, 3]], 4)
    families = combined({"b": one, "a": two}, strengths={"a": 0.5})
    groups = families.groups
    assert families.names == ["b", "a"]
    assert families.ends.tolist() == [2, 5]
    assert families.where() == {"b": slice(0, 2), "a": slice(2, 5)}
    assert groups.names == ["b: x", "b: y", "a: group 0", "a: group 1", "a: group 2"]
    np.testing.assert_allclose(groups.weights, [*one.weights, *(two.weights / 2)])
    assert [groups[g].tolist() for g in range(5)] == [[0, 1], [1, 2], [3], [0, 1], [2, 3]]
    with_none = combined({"none": Groups([0], [], n_features=4), "a": two})
    assert with_none.where() == {"none": slice(0, 0), "a": slice(0, 3)}


def test_bad_families():
    one = Groups.from_lists([[0, 1]], 4)
    with pytest.raises(OptionError, match="at least one family"):
        combined({})
    with pytest.raises(OptionError, match="'lda' for this strength; the families are a"):
        combined({"a": one}, strengths={"lda": 1.0})
    with pytest.raises(OptionError, match="strength of 'a'"):
        combined({"a": one}, strengths={"a": -1.0})
    with pytest.raises(OptionError, match="same features"):
        combined({"a": one, "b": Groups.from_lists([[0, 1]], 5)})
    with pytest.raises(OptionError, match="1 groups but 2 values"):
        one.subset([True, False])
