"""Rules, lexicons and how counts become probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from parsing_toys import random_numbers, toy_trees

from spinney.corpus import Tree
from spinney.parsing.grammar import Layout, RuleCounts, Rules, pcfg_counts
from spinney.parsing.lexicon import ANY
from spinney.parsing.treearrays import TreeArrays


@pytest.fixture(scope="module")
def trees():
    return toy_trees()


def test_frequencies_equal_those_of_nltk(trees):
    nltk = pytest.importorskip("nltk")
    from parsing_toys import TEXTS

    rules = Rules.of(trees, rare=0)
    grammar = pcfg_counts(trees, rules).grammar()
    productions = [p for text in TEXTS for p in nltk.Tree.fromstring(text).productions()]
    peer = nltk.induce_pcfg(nltk.Nonterminal("S"), productions)
    wanted = {(str(p.lhs()), *map(str, p.rhs())): p.prob() for p in peer.productions()}
    found = {}
    labels, lexicon = rules.labels, rules.lexicon
    for rule, p in zip(rules.binary.tolist(), grammar.binary, strict=True):
        found[tuple(labels[i] for i in rule)] = p
    for rule, p in zip(rules.unary.tolist(), grammar.unary, strict=True):
        found[tuple(labels[i] for i in rule)] = p
    for row, tag, p in zip(lexicon.entry_row, lexicon.tag, grammar.lexical, strict=True):
        if row < lexicon.n_words:
            found[labels[tag], lexicon.rows[row]] = p
    assert found == pytest.approx(wanted)


def test_every_state_has_a_law(trees):
    grammar = random_numbers(Rules.of(trees, rare=0), [2] * 8, np.random.default_rng(0))
    numbers = RuleCounts(grammar.layout, grammar.root, grammar.binary, grammar.unary, grammar.lexical)
    np.testing.assert_allclose(numbers.mass(), 1.0)


def test_uses_name_the_rule_of_each_node(trees):
    rules = Rules.of(trees, rare=1)
    uses = rules.used(trees)
    for n in range(len(trees.label)):
        if trees.left[n] < 0:
            entry = int(uses.rule[n])
            assert rules.lexicon.tag[entry] == trees.label[n]
        elif trees.right[n] < 0:
            assert rules.unary[uses.rule[n]].tolist() == [trees.label[n], trees.label[trees.left[n]]]
        else:
            wanted = [trees.label[n], trees.label[trees.left[n]], trees.label[trees.right[n]]]
            assert rules.binary[uses.rule[n]].tolist() == wanted


def test_rules_that_are_unknown():
    rules = Rules.of(toy_trees(["(S (N dogs) (V bark))"]), rare=0)
    other = TreeArrays.of([Tree.parse("(S (V bark) (A (N cats)))")], rules.labels)
    uses = rules.used(other)
    assert [other.labels[other.label[n]] for n in np.flatnonzero(uses.rule < 0)] == ["A", "S"]
    assert (
        rules.lexicon.rows[rules.lexicon.row("cats", False)] == ANY
    )  # where there are no rare words, it has all tags


def test_words_known_and_unknown():
    texts = ["(S (NN dog) (VB runs))"] * 3 + ["(S (NN walking) (VB barks))", "(S (VB Walked) (NN dog))"]
    rules = Rules.of(toy_trees(texts), rare=2)
    lexicon = rules.lexicon
    assert lexicon.rows[lexicon.row("dog", False)] == "dog"
    assert lexicon.rows[lexicon.row("talking", False)].startswith("UNK")
    assert lexicon.rows[lexicon.row("talking", False)] != ANY
    assert lexicon.rows[lexicon.row("3.5", False)] == ANY  # no rare word looks like that
    assert lexicon.count[lexicon.row("dog", False)] == 4
    tags = {rules.labels[t] for t in lexicon.tag[lexicon.start[-2] : lexicon.start[-1]]}
    assert tags == {"NN", "VB"}


@pytest.mark.parametrize("m", [1, 3])
def test_rare_words_are_helped_by_their_signature(m):
    """The formulas of `smoothed_words`, one entry at a time."""
    texts = ["(S (NN dog) (VB runs))"] * 4 + ["(S (NN walking) (VB talking))", "(S (VB cutting) (NN sing))"]
    trees = toy_trees(texts)
    rules = Rules.of(trees, rare=1)
    lexicon, own = rules.lexicon, 0.7
    rng = np.random.default_rng(0)
    counts = RuleCounts.zeros(Layout.uniform(rules, m))
    uses = rules.used(trees)
    shares = rng.dirichlet(np.ones(m), len(trees.label))
    for n in trees.leaves.tolist():
        for entry in (int(uses.rule[n]), int(uses.rare[n])):
            if entry >= 0:
                counts.vector(entry)[:] += shares[n]
    mass = np.ones(counts.layout.state_start[-1])
    grammar = counts.grammar(mass, own=own)

    def c(row, tag):
        entry = lexicon.entries(np.array([row]), np.array([tag]))[0]
        return counts.vector(int(entry)) if entry >= 0 else np.zeros(m)

    any_row = len(lexicon.rows) - 1
    signatures = range(lexicon.n_words, any_row)

    def law(row, tag):  # p(tag, state | signature)
        rare = sum(lexicon.count[s] for s in signatures)
        every = sum(c(s, tag) for s in signatures) / rare
        if row == any_row:
            return every
        return (c(row, tag) + own * every) / (lexicon.count[row] + own)

    for entry, (row, tag) in enumerate(zip(lexicon.entry_row.tolist(), lexicon.tag.tolist(), strict=True)):
        if row >= lexicon.n_words:
            wanted = law(row, tag)
        elif lexicon.count[row] > 1:
            wanted = c(row, tag)
        else:
            n = lexicon.count[row]
            wanted = (c(row, tag) + own * law(int(lexicon.signature_row[row]), tag)) * n / (n + own)
        np.testing.assert_allclose(
            grammar.vector(entry), wanted, atol=1e-12, err_msg=f"{lexicon.rows[row]} {tag}"
        )


def test_states_are_moved_to_their_mean():
    trees = toy_trees()
    rules = Rules.of(trees, rare=0)
    counts = RuleCounts.zeros(Layout.uniform(rules, 2))
    rng = np.random.default_rng(0)
    for values in (counts.root, counts.binary, counts.unary, counts.lexical):
        values[:] = rng.gamma(1.0, size=len(values))
    plain, smooth = counts.grammar(), counts.grammar(alpha=(0.3, 0.5))
    for rule in range(len(rules.binary)):
        wanted = 0.7 * plain.tensor(rule) + 0.3 * plain.tensor(rule).mean(axis=0)
        np.testing.assert_allclose(smooth.tensor(rule), wanted)
    for entry in range(len(rules.lexicon.tag)):
        wanted = 0.5 * plain.vector(entry) + 0.5 * plain.vector(entry).mean()
        np.testing.assert_allclose(smooth.vector(entry), wanted)
