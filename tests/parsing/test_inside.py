from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing_derivations import WORDS, derivations, edge_names, item_names, totals, toy_grammar, toy_rules

from spinney.errors import OptionError
from spinney.parsing.coarse import Pruner
from spinney.parsing.grammar import Grammar
from spinney.parsing.inside import inside_outside

SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
STATES = st.lists(st.integers(1, 3), min_size=4, max_size=4)


def toy(seed: int, states, *, signed: bool = False, unaries: bool = True):
    """A PCFG and a grammar with states, of the same rules."""
    rng = np.random.default_rng(seed)
    rules = toy_rules(rng, unaries=unaries)
    return toy_grammar(rules, 1, rng), toy_grammar(rules, states, rng, signed=signed)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, STATES, st.integers(0, 10_000), st.booleans())
def test_sums_over_all_derivations(words, states, seed, signed):
    coarse, grammar = toy(seed, states, signed=signed)
    forest = Pruner(coarse, 0.0).forest(words)
    if forest is None:
        return
    ways = derivations(grammar, words)
    Z, items, edges = totals(ways)
    found = inside_outside(grammar, forest)
    total = sum(abs(way.weight) for way in ways)
    if abs(Z) < 1e-6 * total:
        return  # everything cancels: nothing to compare
    tolerance = 1e-11 * (total / abs(Z)) ** 2
    assert found.sign == np.sign(Z)
    assert found.log_z == pytest.approx(np.log(abs(Z)), abs=tolerance)
    assert found.items == pytest.approx(np.array([items[name] for name in item_names(forest)]), abs=tolerance)
    for values, names in zip((found.binary, found.unary, found.lexical), edge_names(forest), strict=True):
        assert values == pytest.approx(np.array([edges[name] for name in names]), abs=tolerance)


@settings(max_examples=20, deadline=None)
@given(SENTENCES, st.integers(0, 10_000))
def test_every_place_has_its_share(words, seed):
    coarse, grammar = toy(seed, [2, 3, 1, 2])
    forest = Pruner(coarse, 0.0).forest(words)
    if forest is None:
        return
    found, n = inside_outside(grammar, forest), len(words)
    f = forest.arrays
    assert found.items[f.root].sum() == pytest.approx(1.0)
    assert found.lexical.sum() == pytest.approx(n)
    assert found.binary.sum() == pytest.approx(n - 1)
    assert found.unary.sum() == pytest.approx(2 * n - 1)
    # Marginals of labels over spans: n words and n - 1 wider ones in each tree; one for each word.
    bottoms = ~forest.top
    assert found.items[bottoms].sum() == pytest.approx(2 * n - 1)
    for i in range(n):
        word = bottoms & (f.begin[f.span] == i) & (f.end[f.span] == i + 1)
        assert found.items[word].sum() == pytest.approx(1.0)


def changed_basis(grammar: Grammar, rng: np.random.Generator) -> Grammar:
    """The same grammar after an invertible linear map of the states of each label."""
    layout, rules = grammar.layout, grammar.rules
    bases = [rng.normal(size=(m, m)) + 2 * np.eye(m) for m in layout.n_states]
    inverses = [np.linalg.inv(G) for G in bases]
    new = replace(
        grammar,
        **{k: getattr(grammar, k).copy() for k in ("root", "binary", "unary", "lexical")},
        signed=True,
    )
    for a, start in enumerate(layout.state_start[:-1]):
        new.root[start : start + layout.n_states[a]] = (
            grammar.root[start : start + layout.n_states[a]] @ inverses[a]
        )
    for r, (a, b, c) in enumerate(rules.binary):
        new.tensor(r)[:] = np.einsum(
            "ijk,xi,jy,kz->xyz", grammar.tensor(r), bases[a], inverses[b], inverses[c]
        )
    for r, (a, b) in enumerate(rules.unary):
        new.matrix(r)[:] = bases[a] @ grammar.matrix(r) @ inverses[b]
    for e, a in enumerate(rules.lexicon.tag):
        new.vector(e)[:] = bases[a] @ grammar.vector(e)
    return new


def test_a_change_of_basis_changes_nothing():
    words = list("abcabcab")
    rng = np.random.default_rng(5)
    coarse, grammar = toy(5, [3, 2, 4, 2])
    forest = Pruner(coarse, 0.0).forest(words)
    one, other = inside_outside(grammar, forest), inside_outside(changed_basis(grammar, rng), forest)
    assert other.log_z == pytest.approx(one.log_z, rel=1e-10)
    for name in ("items", "binary", "unary", "lexical"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-8)


def test_the_coarse_grammar_finds_its_own_posteriors():
    coarse, _ = toy(11, 1)
    words = list("abcabcab")
    everything, some = Pruner(coarse, 0.0).forest(words), Pruner(coarse, 0.01).forest(words)
    found = inside_outside(coarse, everything)
    kept = {name for name, p in zip(item_names(everything), found.items, strict=True) if p >= 0.01}
    assert set(item_names(some)) <= kept
    assert some.n_items > 0.9 * len(kept)


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1.0, 1e20, 1e200])
@pytest.mark.parametrize("signed", [False, True])
def test_no_number_is_too_small_or_too_large(scale, signed):
    coarse, grammar = toy(2, [2, 3, 2, 2], signed=signed)
    words = [WORDS[i] for i in np.random.default_rng(0).integers(0, 3, 60)]
    forest = Pruner(coarse, 1e-4).forest(words)
    plain = inside_outside(grammar, forest)
    scaled = inside_outside(replace(grammar, lexical=grammar.lexical * scale), forest)
    assert scaled.sign == plain.sign != 0
    assert scaled.log_z == pytest.approx(plain.log_z + 60 * np.log(scale), rel=1e-12)
    assert scaled.items == pytest.approx(plain.items, rel=1e-6, abs=1e-9)
    assert scaled.lexical == pytest.approx(plain.lexical, rel=1e-6, abs=1e-9)


def test_a_grammar_that_derives_nothing():
    coarse, grammar = toy(2, 2)
    forest = Pruner(coarse).forest(list("abc"))
    found = inside_outside(replace(grammar, root=np.zeros_like(grammar.root)), forest)
    assert found.sign == 0
    assert found.log_z == -np.inf
    assert not found.items.any()


def test_read_only_numbers_and_other_rules():
    coarse, grammar = toy(2, 2)
    forest = Pruner(coarse).forest(list("abc"))
    expected = inside_outside(grammar, forest).items
    for array in (grammar.root, grammar.binary, grammar.unary, grammar.lexical):
        array.flags.writeable = False
    assert (inside_outside(grammar, forest).items == expected).all()
    with pytest.raises(OptionError, match="different rules"):
        inside_outside(toy(3, 2)[1], forest)
