"""EM for latent-variable grammars, against sums over all states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from parsing_toys import brute_force, random_numbers, toy_trees

from spinney.parsing.em import (
    Sample,
    Smoothing,
    beliefs,
    expected_counts,
    random_grammar,
    run_em,
    tree_log_probabilities,
)
from spinney.parsing.grammar import RuleCounts, Rules, pcfg_counts

PLAIN = Smoothing(own=0.0, rules=0.0, words=0.0)


@pytest.fixture(scope="module")
def trees():
    return toy_trees()


@pytest.fixture(scope="module")
def rules(trees):
    return Rules.of(trees, rare=1)


@pytest.fixture(scope="module")
def grammar(rules):
    n_states = [1 + i % 3 for i in range(rules.n_labels)]
    return random_numbers(rules, n_states, np.random.default_rng(0))


def test_probabilities_of_trees_are_sums_over_states(trees, rules, grammar):
    found = tree_log_probabilities(trees, grammar)
    uses = rules.used(trees)
    for tree in (0, 1, 4):
        assert found[tree] == pytest.approx(
            math.log(sum(brute_force(trees, uses, grammar, tree).values())), abs=1e-12
        )


def test_expected_counts_are_sums_over_states(rules, grammar):
    texts = ("(S (NP (N cats)) (VP (V saw) (NP (D the) (N dog))))", "(S (NP (N cats)) (V bark))")
    trees = toy_trees(texts)
    # Labels are numbered as they come: number them as the rules do.
    from spinney.corpus import Tree
    from spinney.parsing.treearrays import TreeArrays

    trees = TreeArrays.of([Tree.parse(text) for text in texts], rules.labels)
    sample = Sample.of(trees, rules)
    counts = expected_counts(sample, grammar, beliefs(sample, grammar))
    wanted = RuleCounts.zeros(grammar.layout)
    for tree in range(2):
        first = int(trees.tree_start[tree])
        found = brute_force(trees, sample.uses, grammar, tree)
        total = sum(found.values())
        for states, p in found.items():
            wanted.root[grammar.layout.state_start[trees.label[trees.roots[tree]]] + states[-1]] += p / total
            for n in range(first, int(trees.tree_start[tree + 1])):
                h, rule = states[n - first], int(sample.uses.rule[n])
                if trees.left[n] < 0:
                    wanted.vector(rule)[h] += p / total
                    if sample.uses.rare[n] >= 0:
                        wanted.vector(int(sample.uses.rare[n]))[h] += p / total
                elif trees.right[n] < 0:
                    wanted.matrix(rule)[h, states[trees.left[n] - first]] += p / total
                else:
                    children = states[trees.left[n] - first], states[trees.right[n] - first]
                    wanted.tensor(rule)[(h, *children)] += p / total
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_allclose(getattr(counts, name), getattr(wanted, name), atol=1e-12)


@pytest.mark.parametrize("name", ["root", "binary", "unary", "lexical"])
def test_counts_are_the_gradient(trees, rules, grammar, name):
    """∂ log p / ∂ log θ is the expected count of θ: checked by finite differences."""
    sample = Sample.of(trees, rules)
    counts = expected_counts(sample, grammar, beliefs(sample, grammar))
    values = getattr(grammar, name)
    expected = getattr(counts, name)
    if name == "lexical":  # rows of signatures count tokens again: no tree uses them
        start = grammar.layout.entry_start[rules.lexicon.start[rules.lexicon.n_words]]
        expected = expected[:start]
    rng = np.random.default_rng(1)
    for i in rng.choice(len(expected), min(20, len(expected)), replace=False).tolist():
        kept, step, log_p = values[i], 1e-5, []
        for sign in (1, -1):
            values[i] = kept * math.exp(sign * step)
            log_p.append(float(tree_log_probabilities(trees, grammar).sum()))
        values[i] = kept
        assert (log_p[0] - log_p[1]) / (2 * step) == pytest.approx(expected[i], abs=1e-8)


def test_one_state_is_the_pcfg(trees, rules):
    sample = Sample.of(trees, rules)
    pcfg = pcfg_counts(trees, rules)
    grammar, counts, _ = run_em(sample, pcfg.grammar(), 3, PLAIN)
    for name in ("root", "binary", "unary", "lexical"):
        np.testing.assert_allclose(getattr(counts, name), getattr(pcfg, name), atol=1e-12)
        np.testing.assert_allclose(getattr(grammar, name), getattr(pcfg.grammar(own=0.0), name), atol=1e-12)


def test_likelihood_rises(trees, rules):
    sample = Sample.of(trees, rules)
    start = random_grammar(rules, pcfg_counts(trees, rules), 3, np.random.default_rng(0))
    _, _, trace = run_em(sample, start, 40, PLAIN)
    assert trace[-1] > trace[0] + 1
    assert np.all(np.diff(trace[1:]) > -1e-9)


def test_laws_sum_to_one(trees, rules):
    sample = Sample.of(trees, rules)
    start = random_grammar(rules, pcfg_counts(trees, rules), 2, np.random.default_rng(0))
    grammar, _, _ = run_em(sample, start, 3, PLAIN)
    mass = RuleCounts(grammar.layout, grammar.root, grammar.binary, grammar.unary, grammar.lexical).mass()
    np.testing.assert_allclose(mass, 1.0)
    assert grammar.root.sum() == pytest.approx(1.0)


def test_threads_do_not_change_anything(trees, rules, grammar):
    sample = Sample.of(trees, rules)
    one, two = (expected_counts(sample, grammar, beliefs(sample, grammar, t), t) for t in (1, 2))
    np.testing.assert_array_equal(one.binary, two.binary)


def test_a_tree_with_an_unknown_rule_has_no_probability(trees, rules, grammar):
    from spinney.corpus import Tree
    from spinney.parsing.treearrays import TreeArrays

    other = TreeArrays.of([Tree.parse("(S (V saw) (V saw))")], rules.labels)
    assert tree_log_probabilities(other, grammar).tolist() == [-math.inf]
