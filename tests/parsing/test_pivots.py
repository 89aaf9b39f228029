"""Pivots: the geometry, the laws they give, and the grammars made of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Tree
from spinney.errors import OptionError
from spinney.parsing.em import Sample, Smoothing, run_em, tree_log_probabilities
from spinney.parsing.features import node_features
from spinney.parsing.grammar import Rules, pcfg_counts
from spinney.parsing.pivots import SINGLE, farthest, fit_pivots, laws_of_pivots, on_simplex
from spinney.parsing.treearrays import TreeArrays

PLAIN = Smoothing(own=0.0, rules=0.0, words=0.0)


def sampled(n: int, rng: np.random.Generator) -> list[Tree]:
    """Trees of a grammar with two states a tag, each with words of its own; sentences go well with like states."""
    trees = []
    for _ in range(n):
        state = rng.integers(2)
        other = state if rng.random() < 0.9 else 1 - state
        noun = ("cat", "it")[state] if rng.random() < 0.6 else "thing"  # "thing" is common to both states
        verb = ("sees", "rains")[other] if rng.random() < 0.6 else "goes"
        pair = [Tree("N", word=noun), Tree("V", word=verb)]
        # Whether the sentence is turned tells of the state of the noun.
        trees.append(Tree("S", pair if rng.random() < (0.9, 0.2)[state] else pair[::-1]))
    return trees


@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=20, deadline=None)
def test_corners_of_a_simplex_are_found(seed, m):
    rng = np.random.default_rng(seed)
    corners = rng.standard_normal((m, 8))
    inner = rng.dirichlet(np.ones(m), 30) @ corners
    found = farthest(np.vstack([inner, corners]), m)
    # The longest point is a corner, and so is the farthest from any flat.
    assert sorted(found.tolist()) == list(range(30, 30 + m))


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_weights_are_the_best_on_the_simplex(seed, m):
    rng = np.random.default_rng(seed)
    corners, points = rng.random((m, 6)), rng.random((5, 6))
    found = on_simplex(corners @ corners.T, points @ corners.T)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    for point, weights in zip(points, found):
        # Least squares with a heavy row for the sum: an independent solver.
        A = np.vstack([corners.T, np.full(m, 1e4)])
        best = scipy.optimize.nnls(A, np.append(point, 1e4))[0]
        loss, least = (np.square(w @ corners - point).sum() for w in (weights, best))
        assert loss <= least + 8 * (corners @ corners.T).max() * np.log(m) / 201**2 + 1e-6  # Tseng 2008


def test_laws_are_laws_and_pivots_are_pure():
    trees = TreeArrays.of(sampled(4000, np.random.default_rng(0)))
    features = node_features(trees, SINGLE)
    laws = laws_of_pivots(features, 2, least=50)
    a = trees.labels.index("N")
    assert laws.n_states[a] == 2
    np.testing.assert_allclose(laws.prior.sum(axis=1), 1)
    word = dict(zip(trees.leaves.tolist(), trees.tokens))
    seen = {word[n]: laws.inside[n] for n in np.flatnonzero(trees.label == a).tolist()}
    np.testing.assert_allclose(sum(seen.values()), 1)  # Σ_f P(f | h) = 1
    shares = {w: p * laws.prior[a] / (p @ laws.prior[a]) for w, p in seen.items()}
    assert shares["cat"].max() > 0.95
    assert shares["it"].max() > 0.95
    assert shares["cat"].argmax() != shares["it"].argmax()
    assert 0.35 < shares["thing"].max() < 0.65


def test_grammar_is_proper_and_nearly_as_likely_as_the_best():
    trees = TreeArrays.of(sampled(4000, np.random.default_rng(1)))
    rules = Rules.of(trees, rare=0)
    found = fit_pivots(trees, rules, 2, least=50, smoothing=PLAIN)
    likelihood, plain = (
        tree_log_probabilities(trees, grammar).mean()
        for grammar in (found, pcfg_counts(trees, rules).grammar(own=0))
    )
    *_, trace = run_em(Sample.of(trees, rules), found, 30, PLAIN)
    best = trace[-1] / trees.n_trees
    assert plain < likelihood <= best
    assert best - likelihood < 0.1 * (best - plain)
    every = TreeArrays.of(
        [Tree.parse(text) for text in sorted({str(t) for t in sampled(9000, np.random.default_rng(2))})]
    )
    assert np.exp(tree_log_probabilities(every, found)).sum() == pytest.approx(1.0, abs=1e-9)


def test_rare_features_are_no_pivots():
    trees = TreeArrays.of(sampled(100, np.random.default_rng(0)))
    laws = laws_of_pivots(node_features(trees, SINGLE), 4, least=1000)
    assert laws.n_states.tolist() == [1, 1, 1]


def test_one_state_is_the_pcfg():
    trees = TreeArrays.of(sampled(50, np.random.default_rng(0)))
    rules = Rules.of(trees)
    found, expected = fit_pivots(trees, rules, 1, smoothing=PLAIN), pcfg_counts(trees, rules).grammar(own=0)
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)


def test_bad_options():
    trees = TreeArrays.of(sampled(10, np.random.default_rng(0)))
    with pytest.raises(OptionError, match="at least 1"):
        fit_pivots(trees, Rules.of(trees), 2, least=0)
    with pytest.raises(OptionError, match="at least one state"):
        fit_pivots(trees, Rules.of(trees), 0)
