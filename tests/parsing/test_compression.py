from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from parsing_derivations import WORDS, toy_grammar, toy_rules

from spinney.errors import OptionError
from spinney.parsing.coarse import Pruner
from spinney.parsing.compression import compressed
from spinney.parsing.grammar import Grammar
from spinney.parsing.inside import inside_outside


def low_rank(states, rank: int, seed: int = 0, noise: float = 0.0) -> tuple[Grammar, Grammar]:
    """A PCFG and a signed grammar of the same rules whose tensors are sums of few outer products."""
    rng = np.random.default_rng(seed)
    rules = toy_rules(rng)
    coarse, grammar = toy_grammar(rules, 1, rng), toy_grammar(rules, states, rng, signed=True)
    for r in range(len(rules.binary)):
        U, V, W = (rng.normal(size=(m, rank)) for m in grammar.tensor(r).shape)
        grammar.tensor(r)[:] = np.einsum("ir,jr,kr->ijk", U, V, W) + noise * rng.normal(
            size=grammar.tensor(r).shape
        )
    return coarse, grammar


def rebuilt(small, rule: int) -> np.ndarray:
    numbers = small.binary[small.binary_start[rule] : small.binary_start[rule + 1]]
    shape = small.layout.n_states[small.rules.binary[rule]]
    if small.rank[rule] == 0:
        return numbers.reshape(shape)
    ends = np.cumsum(shape) * small.rank[rule]
    U, V, W = (part.reshape(-1, small.rank[rule]) for part in np.split(numbers, ends[:-1]))
    return np.einsum("ir,jr,kr->ijk", U, V, W)


@pytest.mark.parametrize("states", [8, [6, 7, 8, 9]])
def test_sums_of_few_outer_products_are_found(states):
    coarse, grammar = low_rank(states, 3)
    small = compressed(grammar, 3, tolerance=1e-10)
    assert (small.rank == 3).all()
    assert small.error.max() < 1e-8
    for r in range(len(small.rank)):
        assert rebuilt(small, r) == pytest.approx(grammar.tensor(r), abs=1e-6)
    words = [WORDS[i] for i in np.random.default_rng(1).integers(0, 3, 12)]
    forest = Pruner(coarse, 1e-4).forest(words)
    one, other = inside_outside(grammar, forest), inside_outside(small, forest)
    assert (other.sign, other.log_z) == (one.sign, pytest.approx(one.log_z, rel=1e-7))
    for name in ("items", "binary", "unary", "lexical"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-5 * abs(one.items).max())


def test_ranks_are_chosen_by_error():
    _, grammar = low_rank(8, 2)
    small = compressed(grammar, tolerance=1e-6)
    assert (small.rank == 2).all()
    assert len(small.binary) == 2 * 24 * len(small.rank)
    _, noisy = low_rank(8, 2, noise=0.01)
    rough, fine = compressed(noisy, tolerance=0.1), compressed(noisy, tolerance=1e-9)
    assert (rough.rank == 2).all()
    assert (rough.error > 0).all()
    assert (rough.error < 0.1).all()
    assert (fine.rank == 0).all()  # nothing smaller than the tensors is as good
    assert (fine.binary == noisy.binary).all()


def test_the_error_is_that_of_the_tensors():
    _, grammar = low_rank([5, 6, 7, 8], 4, noise=0.1)
    small = compressed(grammar, 2)
    for r in range(len(small.rank)):
        tensor = grammar.tensor(r)
        error = np.linalg.norm(rebuilt(small, r) - tensor) / np.linalg.norm(tensor)
        assert error == pytest.approx(small.error[r], rel=1e-6, abs=1e-12)


def test_a_tensor_that_would_not_become_smaller_stays():
    _, grammar = low_rank([9, 3, 2, 2], 2)
    small = compressed(grammar, 2)
    shapes = small.layout.n_states[small.rules.binary]
    smaller = 2 * shapes.sum(axis=1) < shapes.prod(axis=1)
    assert smaller.any()
    assert not smaller.all()
    assert (small.rank == np.where(smaller, 2, 0)).all()
    for r in np.flatnonzero(~smaller):
        assert (rebuilt(small, r) == grammar.tensor(r)).all()


def test_nothing_and_zeros():
    _, grammar = low_rank(4, 1)
    empty = compressed(replace(grammar, binary=np.zeros_like(grammar.binary)))
    assert (empty.rank == 1).all()
    assert not any(rebuilt(empty, r).any() for r in range(len(empty.rank)))
    with pytest.raises(OptionError, match="rank must be at least 1"):
        compressed(grammar, 0)
