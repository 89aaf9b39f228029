from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_derivations import WORDS, derivations, totals, toy_grammar, toy_rules

from spinney.errors import OptionError
from spinney.parsing.coarse import Pruner
from spinney.parsing.decoding import (
    EdgeScores,
    best_tree,
    free_tree,
    max_rule_scores,
    mbr_scores,
    viterbi_scores,
    with_signs,
)
from spinney.parsing.inside import inside_outside

SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
SIGNS = st.sampled_from(["raw", "abs", "normalise", "clip"])


def toy(seed: int, words, n_grammars: int = 1, signed: bool = False):
    """A PCFG, the forest of a sentence, and grammars with states."""
    rng = np.random.default_rng(seed)
    rules = toy_rules(rng)
    coarse = toy_grammar(rules, 1, rng)
    grammars = [toy_grammar(rules, rng.integers(1, 4, 4), rng, signed=signed) for _ in range(n_grammars)]
    return coarse, Pruner(coarse, 0.0).forest(words), grammars


def log(x: float) -> float:
    return np.log(x) if x > 0 else -np.inf


def check_best(found, scored) -> None:
    """Whether a tree is among the best of those that were scored one by one."""
    best = max(scored.values())
    if found is None:
        assert best == -np.inf
    else:
        assert scored[str(found)] == pytest.approx(best, rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.integers(0, 10_000), st.booleans(), SIGNS)
def test_posteriors_of_rules_and_of_items(words, seed, signed, signs):
    _, forest, (grammar,) = toy(seed, words, signed=signed)
    if forest is None:
        return
    ways = derivations(grammar, words)
    Z, items, edges = totals(ways)
    if abs(Z) < 1e-3 * sum(abs(way.weight) for way in ways):
        return
    sign = int(np.sign(Z))

    def signed_value(x: float) -> float:
        return float(with_signs(np.array([x]), sign, signs)[0])

    def roots(way):
        return [items[name] for name in way.items if name[0] == "top" and name[2:] == (0, len(words))]

    marginals = inside_outside(grammar, forest)
    factors = {
        str(w.tree): [signed_value(x) for x in (*(edges[name] for name in w.edges), *roots(w))] for w in ways
    }
    if all(min(abs(x) for x in some) > 1e-9 for some in factors.values()):  # otherwise rounding decides
        product = {tree: sum(log(x) for x in some) for tree, some in factors.items()}
        check_best(best_tree(max_rule_scores(marginals, signs)), product)
    added = {tree: sum(some) for tree, some in factors.items()}
    check_best(best_tree(max_rule_scores(marginals, signs, combine="sum")), added)
    mu = {str(way.tree): sum(signed_value(items[name]) for name in way.items) for way in ways}
    check_best(best_tree(mbr_scores(marginals, signs)), mu)


@settings(max_examples=30, deadline=None)
@given(SENTENCES, st.integers(0, 10_000))
def test_viterbi_is_the_most_probable_tree_and_mbr_the_best_under_its_own_score(words, seed):
    coarse, forest, _ = toy(seed, words)
    if forest is None:
        return
    ways = derivations(coarse, words)
    tree = best_tree(viterbi_scores(coarse, forest))
    check_best(tree, {str(way.tree): way.weight for way in ways})
    _, items, _ = totals(ways)
    mu = {str(way.tree): sum(items[name] for name in way.items) for way in ways}
    mbr = best_tree(mbr_scores(inside_outside(coarse, forest)))
    assert mu[str(mbr)] >= mu[str(tree)] - 1e-12


@settings(max_examples=15, deadline=None)
@given(SENTENCES, st.integers(0, 10_000))
def test_a_product_of_grammars(words, seed):
    _, forest, grammars = toy(seed, words, 2)
    if forest is None:
        return
    scored: dict[str, float] = {}
    for grammar in grammars:
        ways = derivations(grammar, words)
        _, items, edges = totals(ways)
        for way in ways:
            top = [items[name] for name in way.items if name[0] == "top" and name[2:] == (0, len(words))]
            score = sum(log(edges[name]) for name in way.edges) + sum(map(log, top))
            scored[str(way.tree)] = scored.get(str(way.tree), 0.0) + score
    scores = [max_rule_scores(inside_outside(grammar, forest)) for grammar in grammars]
    check_best(best_tree(EdgeScores.sum(scores)), scored)


def brackets(words, items):
    """The best sum of μ over binary brackets with any bottoms and tops, by trying all."""

    def most(level, i, j):
        return max([p for (at, _, *span), p in items.items() if at == level and span == [i, j]], default=0.0)

    def best(i, j):
        own = most("bottom", i, j) + most("top", i, j)
        return own + max((best(i, k) + best(k, j) for k in range(i + 1, j)), default=0.0)

    return best(0, len(words))


@settings(max_examples=30, deadline=None)
@given(SENTENCES, st.integers(0, 10_000))
def test_free_trees_have_the_best_brackets(words, seed):
    coarse, forest, _ = toy(seed, words)
    if forest is None:
        return
    _, items, _ = totals(derivations(coarse, words))
    tree = free_tree(inside_outside(coarse, forest))
    assert tree.leaves() == words
    labels = coarse.rules.labels
    chosen: dict[tuple[int, int], list[int]] = {}
    for label, i, j in tree.spans():
        chosen.setdefault((i, j), []).append(labels.index(label))
    total = sum(
        items.get(("top", found[0], *span), 0.0) + items.get(("bottom", found[-1], *span), 0.0)
        for span, found in chosen.items()
    )
    assert total == pytest.approx(brackets(words, items))


def test_equal_scores_give_the_same_tree_each_time():
    _, forest, _ = toy(1, list("abcab"))
    f = forest.arrays
    flat = EdgeScores(forest, *(np.zeros(len(x)) for x in (f.left, f.unary_rule, f.entry, f.root)))
    assert len({str(best_tree(flat)) for _ in range(3)}) == 1


def test_a_negative_total_turns_raw_decoding_round():
    coarse, forest, _ = toy(4, list("abca"))
    marginals = inside_outside(coarse, forest)
    flipped = inside_outside(replace(coarse, root=-coarse.root, signed=True), forest)
    assert flipped.sign == -1
    right = str(best_tree(mbr_scores(marginals)))
    for signs in ("abs", "normalise", "clip"):
        assert str(best_tree(mbr_scores(flipped, signs))) == right
    assert str(best_tree(mbr_scores(flipped, "raw"))) != right
    assert best_tree(max_rule_scores(flipped, "raw")) is None


def test_a_grammar_that_derives_nothing_has_no_best_tree():
    coarse, forest, _ = toy(4, list("abca"))
    marginals = inside_outside(replace(coarse, binary=np.zeros_like(coarse.binary)), forest)
    for scores in (
        max_rule_scores(marginals),
        max_rule_scores(marginals, combine="sum"),
        mbr_scores(marginals),
    ):
        assert best_tree(scores) is None
    assert free_tree(marginals).leaves() == list("abca")


def test_bad_options():
    coarse, forest, (grammar,) = toy(4, list("abc"))
    if grammar.layout.n_states.max() == 1:
        grammar = toy_grammar(coarse.rules, 2, np.random.default_rng(0))
    with pytest.raises(OptionError, match="one state"):
        viterbi_scores(grammar, forest)
    with pytest.raises(OptionError, match="signs"):
        max_rule_scores(inside_outside(coarse, forest), "absolute")
    other = Pruner(coarse).forest(["a", "b"])
    with pytest.raises(OptionError, match="different forests"):
        EdgeScores.sum([viterbi_scores(coarse, forest), viterbi_scores(coarse, other)])
