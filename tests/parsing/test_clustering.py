"""Grammars whose states are clusters of nodes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spinney.corpus import Tree
from spinney.errors import OptionError
from spinney.parsing.clustering import cluster_nodes, fit_clusters, grammar_of_states
from spinney.parsing.em import Sample
from spinney.parsing.features import node_features
from spinney.parsing.grammar import Layout, RuleCounts, Rules, pcfg_counts
from spinney.parsing.moments import Backoff
from spinney.parsing.projection import project
from spinney.parsing.treearrays import TreeArrays

TEXTS = (
    "(S (NP (N dogs)) (VP (V chase) (NP (N cats))))",
    "(S (NP (D the) (N dogs)) (VP (V sleep)))",
    "(S (NP (D the) (N cats)) (VP (V chase) (NP (D the) (N dogs))))",
    "(S (NP (NP (N cats)) (NP (N dogs))) (VP (V sleep)))",
)


@pytest.fixture(scope="module")
def sample() -> Sample:
    trees = TreeArrays.of([Tree.parse(text) for text in TEXTS * 3])
    return Sample.of(trees, Rules.of(trees, rare=2))


def some_states(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n_states = rng.integers(1, 4, len(sample.trees.labels)).astype(np.int32)
    return rng.integers(0, n_states[sample.trees.label]).astype(np.int32), n_states


def hard_counts(sample, state, n_states):
    """How often each rule stands in the trees with each states, if the states of all nodes are known."""
    trees, layout = sample.trees, Layout(sample.rules, n_states)
    counts = RuleCounts.zeros(layout)
    state, m = state.astype(np.int64), n_states.astype(np.int64)[trees.label]

    def add(numbers, places):
        numbers += np.bincount(places, minlength=len(numbers))

    nodes, _ = sample.binary
    b, c = trees.left[nodes], trees.right[nodes]
    inner = (state[nodes] * m[b] + state[b]) * m[c] + state[c]
    add(counts.binary, layout.binary_start[sample.uses.rule[nodes]] + inner)
    nodes, _ = sample.unary
    b = trees.left[nodes]
    add(counts.unary, layout.unary_start[sample.uses.rule[nodes]] + state[nodes] * m[b] + state[b])
    leaves = trees.leaves
    for entries in (sample.uses.rule[leaves], sample.uses.rare[leaves]):
        known = entries >= 0
        add(counts.lexical, layout.entry_start[entries[known]] + state[leaves[known]])
    add(counts.root, layout.state_start[trees.label[trees.roots]] + state[trees.roots])
    return counts


def test_hard_counts_count(sample):
    state, n_states = some_states(sample)
    counts = hard_counts(sample, state, n_states)
    trees, uses, lexicon = sample.trees, sample.uses, sample.rules.lexicon
    binary, unary, words, roots = Counter(), Counter(), Counter(), Counter()
    for n, rule in enumerate(uses.rule.tolist()):
        b, c = trees.left[n], trees.right[n]
        if b < 0:
            words[rule, state[n]] += 1
            if uses.rare[n] >= 0:
                words[int(uses.rare[n]), state[n]] += 1
        elif c < 0:
            unary[rule, state[n], state[b]] += 1
        else:
            binary[rule, state[n], state[b], state[c]] += 1
    for n in trees.roots:
        roots[trees.label[n], state[n]] += 1
    for (r, *states), k in binary.items():
        assert counts.tensor(r)[tuple(states)] == k
    for (r, *states), k in unary.items():
        assert counts.matrix(r)[tuple(states)] == k
    for (r, h), k in words.items():
        assert counts.vector(r)[h] == k
    for (a, h), k in roots.items():
        assert counts.root[counts.layout.state_start[a] + h] == k
    assert counts.binary.sum() == sum(binary.values())
    assert counts.unary.sum() == sum(unary.values())
    assert counts.lexical.sum() == sum(words.values())
    assert len(lexicon.tag) == len(counts.layout.entry_start) - 1


def test_without_smoothing_they_are_relative_frequencies(sample):
    state, n_states = some_states(sample)
    expected = hard_counts(sample, state, n_states).grammar()
    found = grammar_of_states(sample, state, n_states, Backoff(0.0, 0.0))
    assert not found.signed
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)


@pytest.mark.parametrize("C", [0.0, 3.0])
def test_states_have_proper_laws(sample, C):
    grammar = fit_clusters(sample.trees, sample.rules, 3, backoff=Backoff(C, 1.5)).grammar
    layout, rules = grammar.layout, grammar.rules
    assert layout.n_states.max() > 1
    total = np.zeros(layout.state_start[-1])

    def add(a, sums):
        total[layout.state_start[a] : layout.state_start[a + 1]] += sums

    for r, (a, _, _) in enumerate(rules.binary):
        add(a, grammar.tensor(r).sum(axis=(1, 2)))
    for r, (a, _) in enumerate(rules.unary):
        add(a, grammar.matrix(r).sum(axis=1))
    for e in range(rules.lexicon.start[rules.lexicon.n_words]):
        add(rules.lexicon.tag[e], grammar.vector(e))
    np.testing.assert_allclose(total, 1.0)
    assert grammar.root.sum() == pytest.approx(1.0)
    for numbers in (grammar.root, grammar.binary, grammar.unary, grammar.lexical):
        assert (numbers >= 0).all()


def test_one_cluster_is_the_pcfg(sample):
    found = fit_clusters(sample.trees, sample.rules, 1).grammar
    expected = pcfg_counts(sample.trees, sample.rules).grammar()
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)


@pytest.mark.parametrize("view", ["both", "inside", "outside"])
def test_clusters_are_numbered_without_gaps_and_repeatable(sample, view):
    found = project(node_features(sample.trees), 3)
    one, two = (cluster_nodes(sample.trees, found, 3, view=view, threads=t) for t in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    state, n_states = one
    for a, m in enumerate(n_states):
        assert set(state[sample.trees.label == a].tolist()) == set(range(m))


def test_bad_options(sample):
    found = project(node_features(sample.trees), 3)
    with pytest.raises(OptionError, match="view"):
        cluster_nodes(sample.trees, found, 3, view="above")
