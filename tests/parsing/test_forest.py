from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_derivations import WORDS, derivations, edge_names, item_names, totals, toy_grammar, toy_rules

from spinney.corpus import Tree
from spinney.errors import InputError, OptionError
from spinney.parsing.coarse import Pruner
from spinney.parsing.grammar import Rules, pcfg_counts
from spinney.parsing.treearrays import TreeArrays

SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)


def toy_pcfg(seed: int):
    rng = np.random.default_rng(seed)
    return toy_grammar(toy_rules(rng), 1, rng)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(0, 10_000))
def test_a_forest_without_threshold_holds_exactly_what_is_possible(words, seed):
    grammar = toy_pcfg(seed)
    ways = derivations(grammar, words)
    forest = Pruner(grammar, 0.0).forest(words)
    if not ways:
        assert forest is None
        return
    _, items, edges = totals(ways)
    assert sorted(item_names(forest)) == sorted(items)
    assert sorted(name for names in edge_names(forest) for name in names) == sorted(edges)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(0, 10_000), st.floats(0.001, 0.3))
def test_items_below_the_threshold_go(words, seed, threshold):
    grammar = toy_pcfg(seed)
    ways = derivations(grammar, words)
    forest = Pruner(grammar, threshold).forest(words)
    if not ways:
        return
    _, items, _ = totals(ways)
    kept = set(item_names(forest))
    if max(min(items[name] for name in way.items) for way in ways) >= threshold * (1 + 1e-9):
        assert all(items[name] >= threshold * (1 - 1e-9) for name in kept)
        # Nothing is lost but items that are rare, or all of whose parts are: so the best tree is there.
        for way in ways:
            if min(items[name] for name in way.items) >= 1.1 * threshold:
                assert kept.issuperset(way.items)
    else:
        assert forest is not None  # the threshold was lowered


@settings(max_examples=20, deadline=None)
@given(SENTENCES, st.integers(0, 10_000))
def test_children_stand_before_parents_and_splits_together(words, seed):
    forest = Pruner(toy_pcfg(seed), 0.0).forest(words)
    if forest is None:
        return
    f = forest.arrays
    assert (f.left < forest.parent).all()
    assert (f.right < forest.parent).all()
    assert (f.unary_child < f.unary_parent).all()
    for parents in (forest.parent, f.unary_parent, f.lexical_parent):
        assert (np.diff(parents) >= 0).all()
    groups = list(zip(f.group_parent.tolist(), f.group_rule.tolist(), strict=True))
    assert groups == sorted(set(groups))
    assert (np.diff(f.group_start) > 0).all()
    top = forest.top
    assert top[f.left].all()
    assert top[f.right].all()
    assert top[f.root].all()
    assert not top[forest.parent].any()


def test_a_sentence_that_cannot_be_derived_has_no_forest_but_a_flat_tree():
    trees = TreeArrays.of([Tree.parse("(S (N dogs) (V bark))"), Tree.parse("(S (N dogs) (V howl))")])
    pruner = Pruner(pcfg_counts(trees, Rules.of(trees, rare=1)).grammar())
    assert pruner.forest(["howl", "dogs"]) is None
    assert str(pruner.flat_tree(["howl", "dogs"])) == "(S (V howl) (N dogs))"
    # Rare words had the tag V alone, so every word may have that, and no other.
    assert pruner.forest(["dogs", "dogs"]) is None
    forest = pruner.forest(["dogs", "dogs"], wide=True)
    assert [forest.label(i) for i in forest.arrays.lexical_parent] == ["N", "V"]


def test_long_sentences():
    rng = np.random.default_rng(3)
    grammar = toy_grammar(toy_rules(rng), 1, rng)
    for array in (grammar.binary, grammar.lexical):
        array *= 1e-3  # a sentence of probability 1e-1200 or so
    words = [WORDS[i] for i in rng.integers(0, 3, 200)]
    forest = Pruner(grammar).forest(words)
    assert forest.words == tuple(words)
    assert len(forest.arrays.root)
    assert (np.diff(forest.arrays.end - forest.arrays.begin) >= 0).all()


def test_bad_input():
    grammar = toy_pcfg(0)
    with pytest.raises(InputError, match="without words"):
        Pruner(grammar).forest([])
    with pytest.raises(OptionError, match="threshold"):
        Pruner(grammar, 1.5)
    rng = np.random.default_rng(0)
    with pytest.raises(OptionError, match="one state"):
        Pruner(toy_grammar(toy_rules(rng), 2, rng))
