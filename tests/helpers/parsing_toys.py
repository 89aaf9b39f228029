"""Small random grammars and trees for the tests of parsing, and sums over everything by brute force."""

from __future__ import annotations

import itertools

import numpy as np

from spinney.corpus import Tree
from spinney.parsing.grammar import Grammar, Layout, RuleCounts, Rules
from spinney.parsing.treearrays import TreeArrays

TEXTS = (
    "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))",
    "(S (NP (N dogs)) (V bark))",
    "(S (NP (NP (D the) (N dog)) (PP (P in) (NP (N parks)))) (VP (V saw) (NP (N cats))))",
    "(S (NP (N cats)) (VP (V saw) (NP (D the) (NP (N dog) (PP (P in) (N parks))))))",
    "(S (VP (V bark)) (N dogs))",
)


def toy_trees(texts=TEXTS) -> TreeArrays:
    return TreeArrays.of([Tree.parse(text) for text in texts])


def random_numbers(rules: Rules, n_states, rng: np.random.Generator, signed: bool = False) -> Grammar:
    """A grammar with random numbers: laws if not signed (but for unknown words)."""
    counts = RuleCounts.zeros(Layout(rules, np.asarray(n_states, np.int32)))
    for values in (counts.root, counts.binary, counts.unary, counts.lexical):
        values[:] = rng.normal(size=len(values)) if signed else rng.gamma(1.0, size=len(values))
    if signed:
        return Grammar(counts.layout, counts.root, counts.binary, counts.unary, counts.lexical, True)
    return counts.grammar()


def brute_force(trees: TreeArrays, uses, grammar: Grammar, tree: int = 0):
    """The probability of each assignment of states to the nodes of a tree."""
    layout, first, last = grammar.layout, int(trees.tree_start[tree]), int(trees.tree_start[tree + 1])
    sizes = [int(layout.n_states[trees.label[n]]) for n in range(first, last)]
    found = {}
    for states in itertools.product(*(range(size) for size in sizes)):
        top = last - 1
        p = grammar.root[layout.state_start[trees.label[top]] + states[-1]]
        for n in range(first, last):
            h, rule = states[n - first], int(uses.rule[n])
            if trees.left[n] < 0:
                p *= grammar.vector(rule)[h]
            elif trees.right[n] < 0:
                p *= grammar.matrix(rule)[h, states[trees.left[n] - first]]
            else:
                p *= grammar.tensor(rule)[h, states[trees.left[n] - first], states[trees.right[n] - first]]
        found[states] = p
    return found
