"""Splitting and merging states."""

from __future__ import annotations

import numpy as np
import pytest
from parsing_toys import random_numbers, toy_trees

from spinney.corpus import Tree
from spinney.parsing.em import Sample, beliefs, expected_counts, tree_log_probabilities
from spinney.parsing.grammar import Grammar, Layout, RuleCounts, Rules, pcfg_counts
from spinney.parsing.splitmerge import Schedule, run_split_merge
from spinney.parsing.states import cheapest_merges, merge_losses, merge_states, split_states
from spinney.parsing.treearrays import TreeArrays


@pytest.fixture(scope="module")
def trees():
    return toy_trees()


@pytest.fixture(scope="module")
def rules(trees):
    return Rules.of(trees, rare=1)


def test_copies_without_noise_change_no_probability(trees, rules):
    pcfg = pcfg_counts(trees, rules)
    n_states = np.arange(1, rules.n_labels + 1, dtype=np.int32) % 3 + 1
    halves, source = split_states(pcfg, n_states, np.random.default_rng(0), 0.0)
    assert halves.binary.sum() == pytest.approx(pcfg.binary.sum())
    assert source.max() == 0
    before, after = (tree_log_probabilities(trees, counts.grammar()) for counts in (pcfg, halves))
    np.testing.assert_allclose(after, before)


def test_merging_undoes_splitting(trees, rules):
    rng = np.random.default_rng(0)
    some = random_numbers(rules, [2] * rules.n_labels, rng)
    counts = RuleCounts(some.layout, some.root, some.binary, some.unary, some.lexical)
    larger, source = split_states(counts, np.full(rules.n_labels, 4, np.int32), rng, 0.0)
    again = merge_states(larger, source, np.full(rules.n_labels, 2, np.int32))
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_allclose(getattr(again, name), getattr(counts, name))


def test_the_loss_of_a_merge_is_exact_where_a_label_stands_at_one_node(rules):
    tree = TreeArrays.of([Tree.parse("(S (NP (D the) (N dog)) (VP (V saw) (N cats)))")])
    rules = Rules.of(tree, rare=0)
    n_states = np.array([2 if label in ("NP", "VP") else 1 for label in rules.labels], np.int32)
    grammar = random_numbers(rules, n_states, np.random.default_rng(0))
    sample = Sample.of(tree, rules)
    found = beliefs(sample, grammar)
    mass = expected_counts(sample, grammar, found).mass()
    losses = merge_losses(sample, grammar, mass)
    for label in ("NP", "VP"):
        a = rules.labels.index(label)
        assert np.isinf(losses[grammar.layout.state_start[a] + 1])
        merged = _merged(grammar, a, mass)
        lost = found.log_probability[0] - tree_log_probabilities(tree, merged)[0]
        assert losses[grammar.layout.state_start[a]] == pytest.approx(lost, abs=1e-12)


def _merged(grammar: Grammar, label: int, mass) -> Grammar:
    """The grammar with the two states of a label as one: parents add up, what they become is averaged."""
    layout = grammar.layout
    n_states = layout.n_states.copy()
    n_states[label] = 1
    first = layout.state_start[label]
    share = mass[first : first + 2] / mass[first : first + 2].sum()
    other = Grammar(*vars(RuleCounts.zeros(Layout(layout.rules, n_states))).values())
    other.root[:] = np.concatenate(
        [
            [part.sum()] if a == label else part
            for a, part in enumerate(np.split(grammar.root, layout.state_start[1:-1]))
        ]
    )
    for r, (a, b, c) in enumerate(layout.rules.binary.tolist()):
        tensor = grammar.tensor(r)
        tensor = np.tensordot(share, tensor, 1)[None] if a == label else tensor
        tensor = tensor.sum(axis=1, keepdims=True) if b == label else tensor
        other.tensor(r)[:] = tensor.sum(axis=2, keepdims=True) if c == label else tensor
    for r, a in enumerate(layout.rules.lexicon.tag.tolist()):
        other.vector(r)[:] = grammar.vector(r) if a != label else share @ grammar.vector(r)
    return other


def test_the_cheapest_pairs_are_merged(rules):
    layout = Layout.uniform(rules, 2)
    losses = np.full(2 * rules.n_labels, np.inf)
    losses[::2] = np.arange(rules.n_labels)[::-1]
    target, n_states = cheapest_merges(losses, layout, 0.5)
    half = rules.n_labels // 2
    assert n_states.tolist() == [2] * (rules.n_labels - half) + [1] * half
    assert target.tolist() == [0, 1] * (rules.n_labels - half) + [0, 0] * half


def test_cycles_raise_the_likelihood(trees, rules):
    sample, seen = Sample.of(trees, rules), []
    pcfg = pcfg_counts(trees, rules, sample.uses)

    def watch(cycle, grammar):
        seen.append(float(tree_log_probabilities(trees, grammar).sum()))
        return False

    grammar = run_split_merge(
        sample, pcfg, 2, np.random.default_rng(0), schedule=Schedule(noise=0.1), watch=watch
    )
    assert seen[-1] > tree_log_probabilities(trees, pcfg.grammar()).sum()
    assert 1 < grammar.layout.n_states.max() <= 4
    again = run_split_merge(sample, pcfg, 2, np.random.default_rng(0), schedule=Schedule(noise=0.1))
    np.testing.assert_array_equal(grammar.binary, again.binary)
