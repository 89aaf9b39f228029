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
from spinney.parsing.inside import inside_outside
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
def test_items_and_edges_below_the_threshold_go(words, seed, threshold):
    grammar = toy_pcfg(seed)
    ways = derivations(grammar, words)
    forest = Pruner(grammar, threshold).forest(words)
    if not ways:
        return
    _, items, edges = totals(ways)
    kept = set(item_names(forest))
    rarest = [min([items[name] for name in way.items] + [edges[name] for name in way.edges]) for way in ways]
    if max(rarest) >= threshold * (1 + 1e-9):
        assert all(items[name] >= threshold * (1 - 1e-9) for name in kept)
        assert all(edges[name] >= threshold * (1 - 1e-9) for name in edge_names(forest)[0])
        edges_kept = {name for names in edge_names(forest) for name in names}
        # Nothing is lost but items and edges that are rare, or all of whose parts are: so the best tree is there.
        for way, least in zip(ways, rarest, strict=True):
            if least >= 1.1 * threshold:
                assert kept.issuperset(way.items)
                assert edges_kept.issuperset(way.edges)
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


def plain_log_z(grammar, words):
    """log Z of a sentence by the textbook's recursion, one span and one rule after another."""
    rules, n = grammar.rules, len(words)
    rows, lexicon = rules.lexicon.encode(words), rules.lexicon
    top = np.zeros((n + 1, n + 1, rules.n_labels))
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j, bottom = i + width, np.zeros(rules.n_labels)
            if width == 1:
                entries = slice(lexicon.start[rows[i]], lexicon.start[rows[i] + 1])
                bottom[lexicon.tag[entries]] = grammar.lexical[entries]
            for (a, b, c), p in zip(rules.binary.tolist(), grammar.binary.tolist(), strict=True):
                bottom[a] += p * (top[i, i + 1 : j, b] @ top[i + 1 : j, j, c])
            top[i, j] = bottom
            for (a, b), p in zip(rules.unary.tolist(), grammar.unary.tolist(), strict=True):
                top[i, j, a] += p * bottom[b]
    return float(np.log(grammar.root @ top[0, n]))


def test_more_words_than_there_are_bits_in_a_number():
    rng = np.random.default_rng(5)
    grammar = toy_grammar(toy_rules(rng), 1, rng)
    words = [WORDS[i] for i in rng.integers(0, 3, 70)]
    exact = Pruner(grammar, 0.0).forest(words)
    whole = inside_outside(grammar, exact)
    assert whole.log_z == pytest.approx(plain_log_z(grammar, words))
    some = Pruner(grammar, 1e-3).forest(words)
    posterior = dict(zip(edge_names(exact)[0], whole.binary.tolist(), strict=True))
    kept = set(edge_names(some)[0])
    # What comes from many parents, each of them a hundred times below the threshold, may be underrated.
    assert {name for name, p in posterior.items() if p > 0.05} <= kept
    assert min(posterior[name] for name in kept) > 0.999e-3


def test_bad_input():
    grammar = toy_pcfg(0)
    with pytest.raises(InputError, match="without words"):
        Pruner(grammar).forest([])
    with pytest.raises(OptionError, match="threshold"):
        Pruner(grammar, 1.5)
    rng = np.random.default_rng(0)
    with pytest.raises(OptionError, match="one state"):
        Pruner(toy_grammar(toy_rules(rng), 2, rng))
