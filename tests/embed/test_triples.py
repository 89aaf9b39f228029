"""Mixtures and hidden Markov chains out of three views: exact with exact moments, better with more text."""

import itertools
import warnings

import numpy as np
import pytest

from spinney.embed.triples import hidden_markov, three_views, word_triples
from spinney.errors import OptionError


def aligned(found, true):
    """The columns of ``found`` in the order that fits ``true`` best."""
    orders = itertools.permutations(range(true.shape[1]))
    return list(min(orders, key=lambda order: np.abs(found[:, list(order)] - true).sum()))


@pytest.mark.parametrize("seed", range(5))
def test_exact_moments_give_the_mixture(seed):
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.full(4, 5.0))
    means = [rng.standard_normal((d, 4)) for d in (5, 7, 6)]  # not distributions: any vectors will do
    A, B, C = means
    T = np.einsum("h,ah,bh,ch", w, A, B, C)
    found = three_views(A * w @ B.T, A * w @ C.T, B * w @ C.T, T, 4, probabilities=False)
    order = aligned(found.means[2], C)
    np.testing.assert_allclose(found.weights[order], w, atol=1e-8)
    for ours, true in zip(found.means, means):
        np.testing.assert_allclose(ours[:, order], true, atol=1e-7)


def chain(seed, words=8, classes=3):
    rng = np.random.default_rng(seed)
    start, T = rng.dirichlet(np.ones(classes)), rng.dirichlet(np.ones(classes), classes).T
    return start, T, rng.dirichlet(np.full(words, 0.5), classes).T


@pytest.mark.parametrize("seed", range(5))
def test_exact_moments_give_the_hidden_markov_chain(seed):
    start, T, O = chain(seed)
    P = np.einsum("h,ah,gh,bg,fg,cf->abc", start, O, T, O, T, O)
    found = hidden_markov(three_views(P.sum(2), P.sum(1), P.sum(0), P, 3))
    order = aligned(found.emission, O)
    np.testing.assert_allclose(found.emission[:, order], O, atol=1e-8)
    np.testing.assert_allclose(found.transition[np.ix_(order, order)], T, atol=1e-7)
    np.testing.assert_allclose(found.start[order], start, atol=1e-7)


def sample(start, T, O, n, rng):
    def draw(P, given):
        return (rng.random(len(given))[:, None] > np.cumsum(P[:, given].T, axis=1)[:, :-1]).sum(axis=1)

    h1 = rng.choice(len(start), p=start, size=n)
    h2 = draw(T, h1)
    h3 = draw(T, h2)
    return np.stack([draw(O, h) for h in (h1, h2, h3)], axis=1)


def test_error_falls_with_the_sample():
    start, T, O = np.array([0.5, 0.5]), np.array([[0.8, 0.3], [0.2, 0.7]]), chain(1, classes=2)[2]
    errors = []
    for n in (2_000, 200_000):
        found = hidden_markov(
            three_views(*word_triples(sample(start, T, O, n, np.random.default_rng(0)), 8), 2)
        )
        order = aligned(found.emission, O)
        errors.append(np.abs(found.transition[np.ix_(order, order)] - T).max())
    assert errors[1] < 0.05
    assert errors[1] < errors[0] / 3


def test_triples_of_words_are_those_of_the_dense_table(monkeypatch):
    monkeypatch.setattr("spinney.embed.triples._CHUNK", 40)
    rng = np.random.default_rng(0)
    words = rng.integers(0, 6, (50, 3))
    P = np.zeros((6, 6, 6))
    np.add.at(P, tuple(words.T), 1 / 50)
    P12, P13, P23, triple = word_triples(words, 6)
    for ours, true in [(P12, P.sum(2)), (P13, P.sum(1)), (P23, P.sum(0))]:
        np.testing.assert_allclose(ours.toarray(), true, atol=1e-12)
    maps = [rng.standard_normal((6, k)) for k in (2, 3, 4)]
    np.testing.assert_allclose(triple(*maps), np.einsum("abc,ai,bj,ck", P, *maps), atol=1e-12)


def test_bad_triples_are_refused():
    for words in ([[0, 1]], [[0, 1, 5]], [[0, 1, -1]], [[0.0, 1.0, 2.0]], np.zeros((0, 3), int)):
        with pytest.raises(OptionError):
            word_triples(words, 5)


def test_more_classes_than_the_rank_are_refused():
    start, T, O = chain(0, classes=2)
    P = np.einsum("h,ah,gh,bg,fg,cf->abc", start, O, T, O, T, O)
    with warnings.catch_warnings(), pytest.raises(OptionError, match="rank"):
        three_views(P.sum(2), P.sum(1), P.sum(0), P, 3)
