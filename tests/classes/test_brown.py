from __future__ import annotations

import dataclasses
import math
import os
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.classes.brown import brown
from spinney.classes.clustering import Clustering, average_mutual_information
from spinney.classes.merging import hierarchy
from spinney.classes.pairs import PairCounts, fixed_point, pair_counts
from spinney.classes.placing import place
from spinney.corpus import read_arrays, sentence_arrays
from spinney.errors import InputError, ModelFileError, OptionError
from spinney.structure import WordClasses

ROOT = -1
DATA = os.environ.get("SPINNEY_DATA", "")

# With the root, for else nothing is lost by merging first words with last ones. The first word of each class is three
# times as frequent as the others, so that each class has a word among the first four.
CLASSES = (("the", "a"), ("dog", "cat", "cow"), ("sees", "hears"), ("it", "him"))
GRAMMAR = [list(sentence) for sentence in product(*(2 * words[:1] + words for words in CLASSES))]


@st.composite
def corpora(draw):
    """The counts of random sentences, as a chain or with random heads."""
    words = "abcdefghij"[: draw(st.integers(2, 10))]
    text = draw(st.lists(st.lists(st.sampled_from(words), min_size=1, max_size=7), min_size=1, max_size=12))
    arrays = sentence_arrays([[*text[0], words[0], words[1]], *text[1:]])
    tree = draw(st.booleans())
    if tree:
        rng = np.random.default_rng(draw(st.integers(0, 999)))
        heads = np.concatenate([rng.integers(-1, n, size=n) for n in np.diff(arrays.offsets).tolist()])
        heads[-1] = 0  # at least one pair
        arrays = dataclasses.replace(arrays, heads=heads.astype(np.int32))
    return pair_counts(arrays, tree=tree, threads=1), arrays.vocabulary


# -- brute force: every likelihood from scratch, from a plain dictionary of counts ------------------


def table_of(pairs: PairCounts, root: bool) -> Counter:
    """n(parent word, child word); the root is word -1."""
    table = Counter()
    indptr, indices, counts = pairs.children
    for w in range(pairs.n_words):
        for k in range(indptr[w], indptr[w + 1]):
            table[w, int(indices[k])] += int(counts[k])
        if root and pairs.roots[w]:
            table[ROOT, w] += int(pairs.roots[w])
    return table


def likelihood(table: Counter, clusters: list[tuple[int, ...]], phi) -> float:
    """L = Σφ(n(a,b)) − Σφ(l(a)) − Σφ(r(b)), over pairs of words that are in clusters."""
    of = {w: i for i, cluster in enumerate(clusters) for w in cluster} | {ROOT: ROOT}
    n, l, r = Counter(), Counter(), Counter()
    for (v, w), count in table.items():
        if v in of and w in of:
            n[of[v], of[w]] += count
            l[of[v]] += count
            r[of[w]] += count
    return sum(map(phi, n.values())) - sum(map(phi, l.values())) - sum(map(phi, r.values()))


def x_log_x(x: int) -> float:
    return x * math.log(x)


def brute_force(pairs: PairCounts, n_classes: int, root: bool) -> dict[tuple[int, ...], str]:
    """Each cluster's words and path; checks on the way that no other merge would have been better in float64."""
    counts = pairs.counts.tolist()
    order = sorted(range(pairs.n_words), key=lambda w: (-counts[w], w))
    table = table_of(pairs, root)
    exact = fixed_point(table.total()).table.tolist().__getitem__
    clusters = [(w,) for w in order[:n_classes]]  # always by the age of their first words

    def merge_cheapest() -> tuple[int, int]:
        def merged(a: int, b: int) -> list[tuple[int, ...]]:
            rest = [c for i, c in enumerate(clusters) if i != b]
            rest[a] = clusters[a] + clusters[b]
            return rest

        def after(phi):
            return {(a, b): likelihood(table, merged(a, b), phi) for a, b in candidates}

        candidates = list(combinations(range(len(clusters)), 2))
        values, floats = after(exact), after(x_log_x)
        best = max(values.values())
        a, b = next(pair for pair in candidates if values[pair] == best)
        assert floats[a, b] >= max(floats.values()) - 1e-5
        clusters[:] = merged(a, b)
        return a, b

    for w in order[n_classes:]:
        clusters.append((w,))
        merge_cheapest()
    final = list(clusters)
    merges = []
    while len(clusters) > 1:
        merges.append(merge_cheapest())
    paths = [""]
    for a, b in reversed(merges):
        paths.insert(b, paths[a] + "1")
        paths[a] += "0"
    return dict(zip(final, paths))


def found_by(classes: WordClasses, vocabulary) -> dict[frozenset[int], str]:
    assert classes.paths is not None
    return {
        frozenset(vocabulary.encode(classes.words_of(i)).tolist()): path
        for i, path in enumerate(classes.paths)
    }


@settings(max_examples=120, deadline=None)
@given(corpora(), st.booleans(), st.data())
def test_merges_are_those_of_brute_force(corpus, root, data):
    pairs, vocabulary = corpus
    n_classes = data.draw(st.integers(2, pairs.n_words))
    clustering = brown(pairs, vocabulary, n_classes, root=root)
    expected = brute_force(pairs, n_classes, root)
    assert found_by(clustering.classes, vocabulary) == {frozenset(c): path for c, path in expected.items()}
    ids = clustering.classes.ids
    assert np.array_equal(clustering.class_pairs, pairs.of_classes(ids, n_classes))


@settings(max_examples=40, deadline=None)
@given(corpora(), st.booleans())
def test_the_hierarchy_of_given_classes_is_that_of_brute_force(corpus, root):
    pairs, _ = corpus
    expected = brute_force(pairs, pairs.n_words, root)
    paths = hierarchy(pairs, np.arange(pairs.n_words, dtype=np.int32), pairs.n_words, root=root)
    assert {(w,): path for w, path in enumerate(paths)} == expected


def test_larger_random_counts_keep_their_losses_exact():
    """Hundreds of merges; the counts go beyond the table of x log x."""
    rng = np.random.default_rng(0)
    text = [[f"w{i}" for i in rng.zipf(1.3, size=30) % 60] for _ in range(300)]
    arrays = sentence_arrays(text)
    pairs = pair_counts(arrays)
    from spinney.classes._brown_kernels import add_words, open_all
    from spinney.classes.merging import State

    short = fixed_point(pairs.n_pairs).table[:50].copy()
    grown = State.empty(9, True, pairs)._replace(table=short)
    order = pairs.by_frequency()
    rank = np.argsort(order)
    leader, slot = np.zeros(pairs.n_words, np.int64), np.zeros(pairs.n_words, np.int64)
    add_words(
        0, pairs.n_words, 0, order, rank, leader, slot, *pairs.children, *pairs.parents, pairs.roots, *grown
    )
    fresh = State.empty(9, True, pairs)._replace(table=short)
    open_all(0, 9, grown.N[:9, :9].copy(), grown.N[-1, :9].copy(), grown.first, *fresh)
    live = np.flatnonzero(grown.first >= 0)
    assert len(live) == 8
    for a, b in combinations(live.tolist(), 2):
        assert grown.loss[b, a] == fresh.loss[b, a]
    assert np.array_equal(grown.N, grown.NT.T)
    assert grown.N.sum() == pairs.n_pairs + pairs.roots.sum()


def test_obvious_classes():
    arrays = sentence_arrays(GRAMMAR)
    classes = brown(pair_counts(arrays), arrays.vocabulary, 4, root=True).classes
    found = {frozenset(classes.words_of(i)) for i in range(4)}
    assert found == set(map(frozenset, CLASSES))


def test_the_unknown_symbol_is_a_word_and_gives_its_class_to_unknown_words():
    arrays = sentence_arrays([*GRAMMAR, ["the", "unicorn", "sees", "it"]], min_count=2, unknown="?")
    classes = brown(pair_counts(arrays), arrays.vocabulary, 4, root=True).classes
    assert classes["phoenix"] == classes["?"] == classes["dog"]


def test_refined_classes_are_better_and_have_a_hierarchy():
    rng = np.random.default_rng(1)
    arrays = sentence_arrays([[f"w{i}" for i in rng.zipf(1.5, size=20) % 80] for _ in range(200)])
    pairs = pair_counts(arrays)
    greedy, refined = (brown(pairs, arrays.vocabulary, 10, refine=n) for n in (0, 3))
    assert refined.ami > greedy.ami
    assert refined.classes.paths is not None
    assert sorted(map(len, refined.classes.paths))[0] >= 1
    assert np.isclose(sum(2.0 ** -len(path) for path in refined.classes.paths), 1)  # a full binary tree


def test_model_file(tmp_path):
    arrays = sentence_arrays(GRAMMAR)
    clustering = brown(pair_counts(arrays), arrays.vocabulary, 3)
    clustering.save(tmp_path / "c.spinney")
    again = Clustering.load(tmp_path / "c.spinney")
    assert again.classes.words == clustering.classes.words
    assert again.classes.paths == clustering.classes.paths
    assert np.array_equal(again.classes.ids, clustering.classes.ids)
    assert np.array_equal(again.class_pairs, clustering.class_pairs)
    assert again.facts == clustering.facts
    assert again.ami == clustering.ami == clustering.facts["ami"]
    assert np.array_equal(again.class_roots, clustering.class_roots)
    for changes in (
        {"class_pairs": clustering.class_pairs[:2, :2]},
        {"class_roots": -clustering.class_roots},
    ):
        dataclasses.replace(clustering, **changes).save(tmp_path / "bad.spinney")
        with pytest.raises(ModelFileError, match="damaged"):
            Clustering.load(tmp_path / "bad.spinney")


def test_mutual_information_is_scikit_learns():
    from sklearn.metrics import mutual_info_score

    counts = np.random.default_rng(0).integers(0, 5, (6, 6))
    expected = mutual_info_score(None, None, contingency=counts)
    assert average_mutual_information(counts) == pytest.approx(expected, rel=1e-12)
    assert average_mutual_information(np.zeros((2, 2), np.int64)) == 0


def test_refusals():
    arrays = sentence_arrays(GRAMMAR)
    pairs = pair_counts(arrays)
    with pytest.raises(OptionError, match="20 classes for 9 words: ask for at most 9"):
        brown(pairs, arrays.vocabulary, 20)
    with pytest.raises(OptionError, match="at least 2"):
        brown(pairs, arrays.vocabulary, 1)
    with pytest.raises(OptionError, match="use the same text"):
        brown(pairs, sentence_arrays([["a", "b"]]).vocabulary, 2)
    with pytest.raises(OptionError, match="passes"):
        brown(pairs, arrays.vocabulary, 2, refine=-1)
    alone = sentence_arrays([["a"], ["b"], ["c"]])
    with pytest.raises(InputError, match="no two words"):
        brown(pair_counts(alone), alone.vocabulary, 2)


# -- placing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_counts", [True, False])
@pytest.mark.parametrize("word", [word for words in CLASSES for word in words])
def test_a_twin_is_placed_with_its_twin(word, with_counts):
    arrays = sentence_arrays(GRAMMAR)
    clustering = brown(pair_counts(arrays), arrays.vocabulary, 4, root=True)
    classes = clustering.classes
    new = sentence_arrays([["twin" if w == word else w for w in sentence] for sentence in GRAMMAR] + GRAMMAR)
    placed = place(clustering if with_counts else classes, pair_counts(new), new.vocabulary, root=True)
    assert placed["twin"] == classes[word]
    assert all(placed[w] == classes[w] for w in classes.words)
    assert placed.paths == classes.paths
    assert placed.counts is not None
    assert placed.counts[-1] == new.vocabulary.counts[new.vocabulary["twin"]]


def test_words_without_known_neighbours():
    arrays = sentence_arrays(GRAMMAR)
    classes = brown(pair_counts(arrays), arrays.vocabulary, 4, root=True).classes
    new = sentence_arrays([["lorem", "ipsum"], ["the", "pig", "sees", "it"]])
    placed = place(classes, pair_counts(new), new.vocabulary, root=True)
    assert placed["pig"] == classes["dog"]
    assert "lorem" not in placed
    assert "ipsum" not in placed
    with_unknown = WordClasses(classes.words, classes.ids, paths=classes.paths, unknown=2)
    placed = place(with_unknown, pair_counts(new), new.vocabulary, root=True)
    assert placed["pig"] == classes["dog"]
    assert "lorem" in placed
    assert placed["lorem"] == placed["ipsum"] == 2


# -- real data --------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.isdir(DATA), reason="SPINNEY_DATA names no folder of corpora")
def test_penn_treebank_reaches_the_mutual_information_of_wcluster():
    arrays = read_arrays(os.path.join(DATA, "ptb_lm", "ptb.train.txt.xz"), "lines")
    clustering = brown(pair_counts(arrays), arrays.vocabulary, 256)
    assert clustering.ami >= 1.16696  # Liang's wcluster 1.3, pairs inside sentences
    classes = clustering.classes
    assert classes["monday"] == classes["tuesday"] == classes["friday"]


def test_a_file_with_more_pairs_than_any_text_is_refused(tmp_path):
    arrays = sentence_arrays([["a", "b"], ["b", "a"]])
    clustering = brown(pair_counts(arrays), arrays.vocabulary, 2)
    clustering.class_pairs[:] = 2**62
    clustering.save(tmp_path / "huge")
    with pytest.raises(ModelFileError, match="more pairs"):
        Clustering.load(tmp_path / "huge")
