"""LR-MVL against itself written out token by token with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from spinney.corpus import sentence_arrays
from spinney.embed.lrmvl import lrmvl
from spinney.errors import OptionError

RATES = (0.3, 0.9)


def text(n: int = 300, seed: int = 0):
    rng = np.random.default_rng(seed)
    words = np.array(list("abcdefghij"))
    order = rng.permutation(10)
    sentences = []
    for _ in range(n):
        place, sentence = rng.integers(10), []
        for _ in range(rng.integers(0, 9)):
            sentence.append(str(words[place]))
            place = order[place] if rng.random() < 0.6 else rng.integers(10)
        sentences.append(sentence)
    return sentence_arrays(sentences)


def contexts(ids, E, rates):
    """The left contexts of a sentence, a row a token: l_2 = E[w_1], l_t = (1 - a) l_(t-1) + a E[w_(t-1)]."""
    rows = np.zeros((len(ids), len(rates) * E.shape[1]))
    for r, a in enumerate(rates):
        block = slice(r * E.shape[1], (r + 1) * E.shape[1])
        for t in range(1, len(ids)):
            rows[t, block] = E[ids[0]] if t == 1 else (1 - a) * rows[t - 1, block] + a * E[ids[t - 1]]
    return rows


def inverse_root(M):
    return np.real(scipy.linalg.inv(scipy.linalg.sqrtm(M)))


def naive(arrays, k, variant, ridge, seed):
    """One pass; the vectors of words before normalisation, and the correlations of left and right contexts."""
    V = len(arrays.vocabulary)
    E = np.random.default_rng(seed).standard_normal((V, k))
    E = (E / np.linalg.norm(E, axis=0)).astype(np.float32).astype(float)
    L = np.vstack([contexts(s, E, RATES) for s in arrays])
    R = np.vstack([contexts(s[::-1], E, RATES)[::-1] for s in arrays])
    W = np.eye(V)[arrays.ids]
    C = np.cov(np.hstack([L, R]).T, bias=True)
    scale = np.diag(1 / np.sqrt(np.diag(C)))
    half = len(C) // 2
    D_L, D_R = scale[:half, :half], scale[half:, half:]
    whiten_L = D_L @ inverse_root(D_L @ C[:half, :half] @ D_L + ridge * np.eye(half))
    whiten_R = D_R @ inverse_root(D_R @ C[half:, half:] @ D_R + ridge * np.eye(half))
    U, s, Vt = np.linalg.svd(whiten_L.T @ C[:half, half:] @ whiten_R)
    S = np.hstack([L @ whiten_L @ U[:, : k // 2], R @ whiten_R @ Vt[: k // 2].T])
    if variant == "I":
        sums = W.T @ S
        return sums / np.linalg.norm(sums, axis=0), s[: k // 2]
    counts = W.sum(axis=0)
    M = np.diag(counts**-0.5) @ (W.T @ S) @ inverse_root(S.T @ S)
    return np.linalg.svd(M, full_matrices=False)[:2]


@pytest.mark.parametrize("threads", [1, 2])
def test_one_pass_of_variant_one(threads):
    arrays = text()
    learned = lrmvl(
        arrays, 4, variant="I", rates=RATES, passes=1, ridge=0.01, random_state=7, threads=threads
    )
    expected, _ = naive(arrays, 4, "I", 0.01, 7)
    signs = np.sign(np.sum(learned.U * expected, axis=0))
    assert_allclose(learned.U * signs, expected, atol=2e-4)


def test_one_pass_of_variant_two():
    arrays = text()
    learned = lrmvl(arrays, 4, variant="II", rates=RATES, passes=1, ridge=0.01, random_state=7)
    U, s = naive(arrays, 4, "II", 0.01, 7)
    assert_allclose(learned.s, s, atol=1e-4)
    signs = np.sign(np.sum(learned.U * U, axis=0))
    assert_allclose(learned.U * signs, U, atol=5e-3)


def test_states_are_those_that_the_vectors_came_from():
    """Variant I: the vector of a word is the sum of the states of its tokens, up to the length of the columns."""
    arrays = text()
    learned = lrmvl(arrays, 4, variant="I", rates=RATES, passes=3)
    (states,) = learned.states
    sums = np.zeros((len(arrays.vocabulary), 4))
    np.add.at(sums, arrays.ids, states(arrays))
    assert_allclose(sums / np.linalg.norm(sums, axis=0), learned.U, atol=1e-4)


def test_words_of_one_kind_come_together():
    """Two kinds of words that follow each other: the vectors of a kind are alike, those of two kinds are not."""
    rng = np.random.default_rng(0)
    sentences = [
        ["xyz"[rng.integers(3)] if i % 2 else "abc"[rng.integers(3)] for i in range(8)] for _ in range(400)
    ]
    arrays = sentence_arrays(sentences)
    vectors = lrmvl(arrays, 2, passes=4).vectors("unit")
    same = vectors @ vectors.T
    ids = {word: i for i, word in enumerate(arrays.vocabulary.words)}
    within = [same[ids[a], ids[b]] for kind in ("abc", "xyz") for a in kind for b in kind if a < b]
    across = [same[ids[a], ids[b]] for a in "abc" for b in "xyz"]
    assert min(within) > max(across)


def test_the_same_seed_gives_the_same_vectors():
    one, other = (lrmvl(text(), 4, passes=2, random_state=3, threads=2) for _ in range(2))
    np.testing.assert_array_equal(one.U, other.U)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 3}, "even"),
        ({"k": 0}, "even"),
        ({"k": 4, "variant": "III"}, "I or II"),
        ({"k": 4, "passes": 0}, "passes"),
        ({"k": 4, "rates": ()}, "rates"),
        ({"k": 4, "rates": (0.0,)}, "rates"),
        ({"k": 4, "rates": (1.5,)}, "rates"),
    ],
)
def test_options_are_checked(options, says):
    with pytest.raises(OptionError, match=says):
        lrmvl(text(5), **options)
