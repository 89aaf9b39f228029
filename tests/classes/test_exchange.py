from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.classes.exchange import exchange, improve
from spinney.classes.pairs import PairCounts, fixed_point, pair_counts
from spinney.corpus import sentence_arrays
from spinney.errors import OptionError
from spinney.structure import WordClasses

ROOT = -1
CLASSES = (("the", "a"), ("dog", "cat", "cow"), ("sees", "hears"), ("it", "him"))
VARIANTS = ("two-sided", "predictive")


@st.composite
def corpora(draw):
    """The counts of random sentences, as a chain or with random heads."""
    words = "abcdefghijkl"[: draw(st.integers(3, 12))]
    text = draw(st.lists(st.lists(st.sampled_from(words), min_size=1, max_size=7), min_size=1, max_size=12))
    arrays = sentence_arrays([[*text[0], *words[:3]], *text[1:]])
    tree = draw(st.booleans())
    if tree:
        rng = np.random.default_rng(draw(st.integers(0, 999)))
        heads = np.concatenate([rng.integers(-1, n, size=n) for n in np.diff(arrays.offsets).tolist()])
        heads[-1] = 0  # at least one pair
        arrays = dataclasses.replace(arrays, heads=heads.astype(np.int32))
    return pair_counts(arrays, tree=tree, threads=1), arrays.vocabulary


def zipf_corpus():
    rng = np.random.default_rng(3)
    arrays = sentence_arrays([[f"w{i}" for i in rng.zipf(1.3, size=25) % 900] for _ in range(400)])
    return pair_counts(arrays), arrays.vocabulary


def likelihood(pairs: PairCounts, ids, root: bool, variant: str) -> int:
    """L from scratch, in the fixed point of the kernels."""
    phi = fixed_point(pairs.n_pairs + root * int(pairs.roots.sum())).table.tolist()
    indptr, indices, counts = pairs.children
    edges = [
        (w, int(indices[k]), int(counts[k]))
        for w in range(pairs.n_words)
        for k in range(indptr[w], indptr[w + 1])
    ]
    if root:
        edges += [(ROOT, w, int(count)) for w, count in enumerate(pairs.roots) if count]
    n, l, r = Counter(), Counter(), Counter()
    for parent, child, count in edges:
        before = parent if variant == "predictive" or parent == ROOT else int(ids[parent])
        n[before, int(ids[child])] += count
        l[before] += count
        r[int(ids[child])] += count
    # Σφ(l) does not change in the predictive variant, nor does the root's part of it.
    del l[ROOT]
    left = 0 if variant == "predictive" else sum(phi[x] for x in l.values())
    return sum(phi[x] for x in n.values()) - left - sum(phi[x] for x in r.values())


@settings(max_examples=80, deadline=None)
@given(corpora(), st.sampled_from(VARIANTS), st.booleans(), st.integers(0, 99), st.data())
def test_gains_are_true_and_the_end_is_a_local_optimum(corpus, variant, root, seed, data):
    pairs, _ = corpus
    n_classes = data.draw(st.integers(2, min(5, pairs.n_words)))
    start = (np.random.default_rng(seed).permutation(pairs.n_words) % n_classes).astype(np.int32)
    ids, gains = improve(pairs, start, n_classes, root=root, variant=variant, passes=200, threads=1)

    total = pairs.n_pairs + root * int(pairs.roots.sum())
    scale = fixed_point(total).scale
    before, after = (likelihood(pairs, x, root, variant) for x in (start, ids))
    assert sum(gains) * total * scale == pytest.approx(after - before, abs=1, rel=1e-12)
    assert all(gain > 0 for gain in gains[:-1])
    assert gains[-1] == 0
    sizes = np.bincount(ids, minlength=n_classes)
    assert sizes.min() >= 1
    for word, target in product(range(pairs.n_words), range(n_classes)):
        if sizes[ids[word]] > 1:
            moved = ids.copy()
            moved[word] = target
            assert likelihood(pairs, moved, root, variant) <= after


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("root", [False, True])
def test_many_words_and_moves(variant, root):
    """More words than one block holds; the tables end as they would be from scratch, or the gains were wrong."""
    pairs, _ = zipf_corpus()
    start = (np.arange(pairs.n_words) % 12).astype(np.int32)
    results = [
        improve(pairs, start, 12, root=root, variant=variant, passes=4, threads=threads)
        for threads in (1, 2, 3)
    ]
    ids, gains = results[0]
    for other_ids, other_gains in results[1:]:
        assert np.array_equal(ids, other_ids)
        assert gains == other_gains
    total = pairs.n_pairs + root * int(pairs.roots.sum())
    difference = likelihood(pairs, ids, root, variant) - likelihood(pairs, start, root, variant)
    assert sum(gains) * total * fixed_point(total).scale == pytest.approx(difference, rel=1e-12)
    assert min(gains) > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_obvious_classes(variant):
    arrays = sentence_arrays([list(sentence) for sentence in product(*CLASSES)])
    pairs = pair_counts(arrays)
    found = [
        exchange(pairs, arrays.vocabulary, 4, variant=variant, init="random", random_state=seed, root=True)
        for seed in range(5)
    ]
    classes = max(found, key=lambda clustering: clustering.ami).classes
    assert {frozenset(classes.words_of(i)) for i in range(4)} == set(map(frozenset, CLASSES))


def test_what_is_told_about_the_run():
    pairs, vocabulary = zipf_corpus()
    flat = exchange(pairs, vocabulary, 6, passes=3, hierarchy=False)
    assert flat.classes.paths is None
    assert flat.facts["passes"] == 3
    assert flat.facts["method"] == "exchange"
    deep = exchange(pairs, vocabulary, 6, passes=3)
    assert deep.classes.paths == sorted(deep.classes.paths)
    assert deep.ami == pytest.approx(flat.ami)
    assert np.array_equal(flat.classes.counts, pairs.counts)


def test_other_classes_are_improved():
    pairs, vocabulary = zipf_corpus()
    first = exchange(pairs, vocabulary, 6, passes=1)
    second = exchange(pairs, vocabulary, 6, init=first.classes, passes=5)
    assert second.ami > first.ami
    assert exchange(pairs, vocabulary, 6, init="random", random_state=1).ami > 0


def test_refusals():
    pairs, vocabulary = zipf_corpus()
    for options, message in [
        ({"variant": "one-sided"}, "variant must be"),
        ({"init": "zeros"}, "init must be"),
        ({"passes": 0}, "passes must be at least 1"),
        ({"tol": -1.0}, "tol"),
        ({"threads": 0}, "threads must be"),
        ({"init": WordClasses(["w1"], [0], n_classes=4)}, "has 4 classes"),
        ({"init": WordClasses(["w1"], [0], n_classes=5)}, "no class for"),
    ]:
        with pytest.raises(OptionError, match=message):
            exchange(pairs, vocabulary, 5, **options)
