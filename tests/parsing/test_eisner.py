"""Projective decoding against all projective trees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import InputError
from spinney.parsing.close_trees import close_trees
from spinney.parsing.eisner import eisner, is_projective


def all_trees(n, single_root=True):
    """All projective trees of n words, as heads: every assignment, tested by the definition."""
    for heads in product(range(n + 1), repeat=n):
        if single_root and heads.count(0) != 1:
            continue
        if all(h != m for m, h in enumerate(heads, 1)) and _is_tree(heads) and _nested(heads):
            yield heads


def _is_tree(heads):
    for word in range(1, len(heads) + 1):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = heads[word - 1]
        if word:
            return False
    return True


def _nested(heads):
    """Every word between a head and its modifier descends from the head."""
    for m, h in enumerate(heads, 1):
        for word in range(min(h, m) + 1, max(h, m)):
            while word not in (0, h):
                word = heads[word - 1]
            if word != h:
                return False
    return True


def total(scores, heads):
    return sum(scores[h, m] for m, h in enumerate(heads, 1))


def test_there_are_as_many_trees_as_known():
    assert [len(list(all_trees(n))) for n in range(1, 6)] == [1, 2, 7, 30, 143]  # OEIS A006013
    assert [len(list(all_trees(n, False))) for n in range(1, 6)] == [1, 3, 12, 55, 273]  # OEIS A001764


@pytest.mark.parametrize("single_root", [True, False])
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10_000), st.booleans())
def test_best_of_all_trees(single_root, n, seed, some_forbidden):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n + 1, n + 1))
    if some_forbidden:
        scores[rng.random(scores.shape) < 0.2] = -np.inf
    trees = list(all_trees(n, single_root))
    best = max(total(scores, heads) for heads in trees)
    if best == -np.inf:
        with pytest.raises(InputError, match="no projective tree"):
            eisner(scores, single_root=single_root)
        return
    heads = eisner(scores, single_root=single_root)
    assert tuple(heads.tolist()) in trees
    assert total(scores, heads) == pytest.approx(best)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10_000))
def test_close_trees(n, seed):
    scores = np.random.default_rng(seed).standard_normal((n + 1, n + 1))
    found = [tuple(heads.tolist()) for heads in close_trees(scores, 4)]
    ranked = sorted(all_trees(n), key=lambda heads: -total(scores, heads))
    assert found[:2] == ranked[:2]
    assert len(set(found)) == len(found) <= 4
    assert set(found) <= set(ranked)
    sums = [total(scores, heads) for heads in found]
    assert sums == sorted(sums, reverse=True)


def test_what_is_not_looked_at():
    scores = np.zeros((4, 4))
    scores[:, 0] = np.nan
    np.fill_diagonal(scores, np.nan)
    assert len(eisner(scores)) == 3
    assert len(eisner(np.zeros((1, 1)))) == 0
    scores[1, 2] = np.nan
    with pytest.raises(InputError, match="numbers"):
        eisner(scores)
    with pytest.raises(InputError, match="n \\+ 1"):
        eisner(np.zeros((2, 3)))


def test_is_projective():
    for n in range(1, 5):
        for heads in product(range(n + 1), repeat=n):
            if _is_tree(heads) and all(h != m for m, h in enumerate(heads, 1)):
                assert is_projective(heads) == _nested(heads), heads


def test_long_sentences():
    n = 200
    scores = np.zeros((n + 1, n + 1))
    scores[np.arange(n), np.arange(1, n + 1)] = 1.0
    np.testing.assert_array_equal(eisner(scores), np.arange(n))
