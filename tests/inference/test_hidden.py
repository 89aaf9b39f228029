"""Sum-product, max-product and edge counts against sums over all assignments, on all trees of up to five nodes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hidden_trees import brute_force, forests_of, random_laws
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import OptionError
from spinney.inference import hidden
from spinney.inference.forests import TokenForest, sentence_trees
from spinney.inference.hidden import Laws, max_product, sparse_sum_product, sum_product


def in_token_order(tokens, values):
    ordered = np.empty_like(values)
    ordered[tokens] = values
    return ordered


@pytest.fixture(params=["all levels at once", "level by level"])
def way(request, monkeypatch):
    """Exact messages have two ways, one for few classes and one for many."""
    if request.param == "level by level":
        monkeypatch.setattr(hidden, "FEW_CLASSES", 0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_trees_of_up_to_five_nodes(n, way):
    rng = np.random.default_rng(n)
    C = 3 if n < 5 else 2
    for heads in forests_of(n):
        kinds = rng.integers(0, 2, n).astype(np.int32)
        words = rng.integers(0, 4, n).astype(np.int32)
        laws = random_laws(rng, C, 4, kinds=2)
        expected = brute_force(heads, words, kinds, laws)
        forest, trees = TokenForest.from_heads([0, n], heads, kinds), sentence_trees([0, n], heads, kinds)
        exact = sum_product(forest, words[forest.tokens], laws)
        sparse = sparse_sum_product(trees, words[trees.tokens], laws, k=C)
        mass = sparse_sum_product(trees, words[trees.tokens], laws, k=0, epsilon=0.0)
        for found, tokens in ((exact, forest.tokens), (sparse, trees.tokens), (mass, trees.tokens)):
            np.testing.assert_allclose(found.log_likelihood, expected[0], rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(in_token_order(tokens, found.nodes), expected[1], atol=1e-13)
            np.testing.assert_allclose(found.edges, expected[2], atol=1e-13)
            np.testing.assert_allclose(found.roots, expected[3], atol=1e-13)
        classes, scores = max_product(trees, words[trees.tokens], laws)
        best = max(expected[4].values())  # there are ties: equal words along a chain
        assert expected[4][tuple(in_token_order(trees.tokens, classes).tolist())] == pytest.approx(
            best, abs=1e-12
        )
        np.testing.assert_allclose(scores, [best], rtol=1e-12, atol=1e-13)


sentences = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def random_heads(rng, length):
    """A random tree: each node hangs on an earlier one in a random order."""
    order = rng.permutation(length)
    heads = np.full(length, -1)
    for m in range(1, length):
        heads[order[m]] = order[rng.integers(0, m)] if rng.random() > 0.1 else -1
    return heads


@settings(max_examples=60, deadline=None)
@given(sentences, st.integers(0, 10**6), st.booleans())
def test_a_batch_is_the_sum_of_its_sentences(lengths, seed, chain):
    rng = np.random.default_rng(seed)
    laws = random_laws(rng, 5, 7, kinds=3)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    words = rng.integers(0, 7, offsets[-1]).astype(np.int32)
    heads = None if chain else np.concatenate([random_heads(rng, n) for n in lengths])
    kinds = None if chain else rng.integers(0, 3, len(words))
    forest = TokenForest.from_heads(offsets, heads, kinds)
    together = sum_product(forest, words[forest.tokens], laws)
    alone, nodes = [], []
    for a, b in pairwise(offsets):
        part = TokenForest.from_heads(
            [0, b - a], None if heads is None else heads[a:b], None if kinds is None else kinds[a:b]
        )
        alone.append(sum_product(part, words[a:b][part.tokens], laws))
        nodes.append(in_token_order(part.tokens, alone[-1].nodes))
    np.testing.assert_allclose(together.log_likelihood, sum(one.log_likelihood for one in alone), rtol=1e-12)
    np.testing.assert_allclose(
        in_token_order(forest.tokens, together.nodes), np.concatenate(nodes), atol=1e-12
    )
    np.testing.assert_allclose(together.edges, sum(one.edges for one in alone), atol=1e-12)
    np.testing.assert_allclose(together.edges.sum() + together.roots.sum(), len(words), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_projected_messages_bound_the_likelihood_from_below(seed, k):
    rng = np.random.default_rng(seed)
    laws = random_laws(rng, 8, 6)
    words = rng.integers(0, 6, 12).astype(np.int32)
    heads = np.concatenate([random_heads(rng, 7), random_heads(rng, 5)])
    trees = sentence_trees([0, 7, 12], heads)
    exact = sparse_sum_product(trees, words[trees.tokens], laws, k=8)
    sparse = sparse_sum_product(trees, words[trees.tokens], laws, k=k)
    assert sparse.log_likelihood <= exact.log_likelihood + 1e-12
    np.testing.assert_allclose(sparse.nodes.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(sparse.edges.sum() + sparse.roots.sum(), 12.0, rtol=1e-12)
    assert sparse.support == (k * round(sparse.edges.sum()), round(sparse.edges.sum()))


@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 80))
@settings(max_examples=150, deadline=None)
def test_projections_keep_what_they_promise(seed, n, k):
    from spinney.inference._forest_kernels import _project, k_largest, most_of

    rng = np.random.default_rng(seed)
    x = rng.random(n) ** 4
    x[rng.random(n) < 0.3] = 0.0
    x[rng.random(n) < 0.3] = rng.choice(x)  # ties
    chosen, room = np.empty(n, np.int32), np.empty(n)
    m = k_largest(x, k, room, chosen)
    assert m == min(k, n)
    assert len(set(chosen[:m].tolist())) == m
    assert sorted(x[chosen[:m]]) == sorted(x)[n - m :]
    x += 1e-6
    epsilon = float(rng.random()) * 0.5
    m = _project(x, k, epsilon, room, chosen)
    order = np.sort(x)[::-1]
    enough = 1 + int(np.searchsorted(np.cumsum(order), (1 - epsilon) * x.sum(), side="right"))
    assert m == min(k, enough, n)
    assert sorted(x[chosen[:m]]) == sorted(x)[n - m :]
    assert len(set(chosen[:m].tolist())) == m
    m = most_of(x, epsilon, room, chosen)
    assert sorted(x[chosen[:m]]) == sorted(x)[n - m :]
    assert x[chosen[:m]].sum() > (1 - epsilon) * x.sum() - 1e-12
    assert m == 1 or np.sort(x)[::-1][: m - 1].sum() <= (1 - epsilon) * x.sum() + 1e-12


def test_single_precision_is_close():
    rng = np.random.default_rng(5)
    laws = random_laws(rng, 64, 50)
    offsets = np.arange(0, 401, 20)
    words = rng.integers(0, 50, 400).astype(np.int32)
    heads = np.concatenate([random_heads(rng, 20) for _ in range(20)])
    forest = TokenForest.from_heads(offsets, heads)
    single = Laws(*(np.float32(part) if np.ndim(part) else part for part in laws))
    a = sum_product(forest, words[forest.tokens], laws)
    b = sum_product(forest, words[forest.tokens], single)
    assert b.nodes.dtype == np.float32
    np.testing.assert_allclose(b.log_likelihood, a.log_likelihood, rtol=1e-6)
    np.testing.assert_allclose(b.nodes, a.nodes, atol=1e-5)


def test_a_verb_with_two_hundred_children_does_not_underflow():
    rng = np.random.default_rng(0)
    laws = random_laws(rng, 4, 5, dtype=np.float32)
    heads = np.zeros(201, np.int32)
    heads[0] = -1
    words = rng.integers(0, 5, 201).astype(np.int32)
    forest, trees = TokenForest.from_heads([0, 201], heads), sentence_trees([0, 201], heads)
    exact = sum_product(forest, words[forest.tokens], laws)
    assert np.isfinite(exact.log_likelihood)
    np.testing.assert_allclose(exact.nodes.sum(axis=1), 1.0, rtol=1e-5)
    projected = sparse_sum_product(trees, words[trees.tokens], laws, k=4)
    np.testing.assert_allclose(projected.log_likelihood, exact.log_likelihood, rtol=1e-5)


def test_zero_probabilities_stay_zero():
    counts = np.array([[1.0, 0.0], [0.0, 1.0]])
    laws = Laws(counts, np.ones(2), 0.0, np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.array([1.0, 0.0]))
    forest = TokenForest.from_heads([0, 3])
    beliefs = sum_product(forest, np.array([0, 1, 0], np.int32), laws)
    np.testing.assert_allclose(beliefs.nodes, [[1, 0], [0, 1], [1, 0]], atol=1e-15)
    assert beliefs.log_likelihood == pytest.approx(0.0, abs=1e-15)
    impossible = sum_product(forest, np.array([0, 0, 0], np.int32), laws)
    assert impossible.log_likelihood == -np.inf


def test_heads_that_are_no_trees_are_refused():
    with pytest.raises(OptionError, match="sentence 2, word 1: its head is part of a cycle"):
        TokenForest.from_heads([0, 1, 3], [-1, 1, 0])
    with pytest.raises(OptionError, match="sentence 1, word 2: its head lies outside"):
        sentence_trees([0, 2], [-1, 2])
    with pytest.raises(OptionError, match="2 tokens but 1 heads"):
        TokenForest.from_heads([0, 2], [-1])


def test_an_empty_corpus():
    forest = TokenForest.from_heads([0])
    assert (len(forest), forest.n_roots) == (0, 0)
    laws = random_laws(np.random.default_rng(0), 3, 4)
    assert sum_product(forest, np.empty(0, np.int32), laws).log_likelihood == 0.0


def test_a_chain_agrees_with_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(1)
    laws = random_laws(rng, 6, 20)
    laws = laws._replace(floor=0.0)
    peer = hmm.CategoricalHMM(6, implementation="scaling")
    peer.startprob_, peer.transmat_ = laws.root, laws.transition[0].T
    peer.emissionprob_ = (laws.counts * laws.scale).T
    words = rng.integers(0, 20, 90).astype(np.int32)
    offsets = np.array([0, 30, 50, 90])
    forest = TokenForest.from_heads(offsets)
    ours = sum_product(forest, words[forest.tokens], laws)
    score, posteriors = peer.score_samples(words[:, None], np.diff(offsets))
    assert ours.log_likelihood == pytest.approx(score, rel=1e-12)
    np.testing.assert_allclose(in_token_order(forest.tokens, ours.nodes), posteriors, atol=1e-12)
    trees = sentence_trees(offsets)
    classes, scores = max_product(trees, words[trees.tokens], laws)
    best, path = peer.decode(words[:, None], np.diff(offsets), algorithm="viterbi")
    assert scores.sum() == pytest.approx(best, rel=1e-12)
    assert in_token_order(trees.tokens, classes).tolist() == path.tolist()
