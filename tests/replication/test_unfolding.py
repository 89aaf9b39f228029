"""Grammars whose labels are states, against all derivations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.unfolding import folded, unfolded
from parsing_derivations import WORDS, derivations, toy_grammar, toy_rules

from spinney.parsing.coarse import Pruner
from spinney.parsing.decoding import viterbi_scores
from spinney.parsing.inside import inside_outside
from spinney.parsing.kbest import k_best


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.integers(0, 10_000))
def test_states_as_labels(words, seed):
    rng = np.random.default_rng(seed)
    rules = toy_rules(rng)
    coarse, grammar = toy_grammar(rules, 1, rng), toy_grammar(rules, [2, 1, 3, 2], rng)
    forest = Pruner(coarse, 0.0).forest(words)
    if forest is None:
        return
    flat = unfolded(grammar)
    states = Pruner(flat, 0.0).forest(words)
    assert inside_outside(flat, states).log_z == pytest.approx(inside_outside(grammar, forest).log_z)
    # The best derivations with their states, against each tree of the plain grammar with each choice of states.
    weights = sorted((way.weight for way in derivations(flat, words)), reverse=True)[:10]
    found = k_best(viterbi_scores(flat, states), 10)
    assert [np.exp(score) for score, _ in found] == pytest.approx(weights)
    plain = {str(way.tree) for way in derivations(grammar, words)}
    assert {str(folded(tree)) for _, tree in found} <= plain
