from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_derivations import WORDS, derivations, toy_grammar, toy_rules

from spinney.errors import OptionError
from spinney.parsing.coarse import Pruner
from spinney.parsing.decoding import EdgeScores, best_tree, viterbi_scores
from spinney.parsing.kbest import k_best

SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)


def toy(seed: int, states=1):
    rng = np.random.default_rng(seed)
    rules = toy_rules(rng)
    return toy_grammar(rules, 1, rng), toy_grammar(rules, states, rng)


@settings(max_examples=30, deadline=None)
@given(SENTENCES, st.integers(0, 10_000), st.integers(1, 200))
def test_the_list_of_all_derivations_in_order(words, seed, k):
    coarse, _ = toy(seed)
    forest = Pruner(coarse, 0.0).forest(words)
    if forest is None:
        return
    scores = viterbi_scores(coarse, forest)
    found = k_best(scores, k)
    weights = {str(way.tree): np.log(way.weight) for way in derivations(coarse, words)}
    assert [score for score, _ in found] == pytest.approx(sorted(weights.values(), reverse=True)[:k])
    assert [score for score, _ in found] == pytest.approx([weights[str(tree)] for _, tree in found])
    assert len({str(tree) for _, tree in found}) == len(found)
    assert found[0][1] == best_tree(scores)
    assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)


def test_equal_scores_are_all_found():
    coarse, _ = toy(7)
    words = list("abca")
    forest = Pruner(coarse, 0.0).forest(words)
    f = forest.arrays
    flat = EdgeScores(forest, *(np.zeros(len(x)) for x in (f.left, f.unary_rule, f.entry, f.root)))
    expected = {str(way.tree) for way in derivations(coarse, words)}
    assert {str(tree) for _, tree in k_best(flat, 10**6)} == expected


def test_edges_that_may_not_be_used_are_in_no_tree():
    coarse, _ = toy(7)
    forest = Pruner(coarse, 0.0).forest(list("abc"))
    scores = viterbi_scores(coarse, forest)
    first = k_best(scores, 1)[0][1]
    without = EdgeScores(
        forest, np.full_like(scores.binary, -np.inf), scores.unary, scores.lexical, scores.root
    )
    assert first is not None
    assert k_best(without, 5) == []
    with pytest.raises(OptionError, match="k must be at least 1"):
        k_best(scores, 0)


def test_long_sentences_do_not_recurse():
    coarse, _ = toy(7)
    words = [WORDS[i] for i in np.random.default_rng(1).integers(0, 3, 200)]
    forest = Pruner(coarse, 1e-3).forest(words)
    found = k_best(viterbi_scores(coarse, forest), 20)
    assert len({str(tree) for _, tree in found}) == 20
    assert all(tree.leaves() == words for _, tree in found)
