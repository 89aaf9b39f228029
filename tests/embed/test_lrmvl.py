"""LR-MVL against itself written out token by token with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from spinney.corpus import sentence_arrays
from spinney.embed.counts import window
from spinney.embed.lrmvl import lrmvl
from spinney.errors import OptionError

RATES = (0.3, 0.9)
WEIGHTS = (1.0, 0.5)


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


def largest_one(E):
    return E / np.abs(E).max(axis=1, keepdims=True)


def windows(ids, E, weights):
    """The sum of the vectors of the words before each token, by their distance."""
    rows = np.zeros((len(ids), E.shape[1]))
    for t in range(len(ids)):
        for d, weight in enumerate(weights, 1):
            if t >= d:
                rows[t] += weight * E[ids[t - d]]
    return rows


def canonical(C, kept, ridge):
    """Canonical directions of two views from their joint covariance, the ridge where variances are 1."""
    scale = np.diag(1 / np.sqrt(np.diag(C)))
    half = len(C) // 2
    D_L, D_R = scale[:half, :half], scale[half:, half:]
    whiten_L = D_L @ inverse_root(D_L @ C[:half, :half] @ D_L + ridge * np.eye(half))
    whiten_R = D_R @ inverse_root(D_R @ C[half:, half:] @ D_R + ridge * np.eye(half))
    U, _, Vt = np.linalg.svd(whiten_L.T @ C[:half, half:] @ whiten_R)
    return whiten_L @ U[:, :kept], whiten_R @ Vt[:kept].T


def naive(arrays, k, variant, ridge, seed, passes=1, transform=np.asarray):
    """As the authors' program, token by token with dense matrices: U and s of the last pass."""
    V = len(arrays.vocabulary)
    E = largest_one(np.random.default_rng(seed).standard_normal((V, k)))
    W = np.eye(V)[arrays.ids]
    whiten = transform(W.sum(axis=0)) ** -0.5
    for _ in range(passes):
        side = (
            (lambda s, E=E: windows(s, E, WEIGHTS))
            if variant == "I"
            else lambda s, E=E: contexts(s, E, RATES)
        )
        L = np.vstack([side(s) for s in arrays])
        R = np.vstack([side(s[::-1])[::-1] for s in arrays])
        X = np.hstack([L, R])
        moment = X.T @ X if variant == "I" else np.cov(X.T, bias=True)
        left, right = canonical(moment, k if variant == "I" else k // 2, ridge)
        S = np.hstack([L @ left, R @ right])
        if variant == "mean":
            U, s = W.T @ S / W.sum(axis=0)[:, None], np.ones(k)
            E = largest_one(U)
        else:
            U, s, _ = np.linalg.svd(np.diag(whiten) @ (W.T @ S) @ inverse_root(S.T @ S), full_matrices=False)
            U, s = U[:, :k], s[:k]
            E = largest_one(whiten[:, None] * U)
    return U, s


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("variant", ["I", "II", "mean"])
def test_what_the_authors_do_written_out(variant, passes):
    arrays = text()
    places = window(2, weighting="harmonic") if variant == "I" else None
    how = {"variant": variant, "rates": RATES, "places": places, "passes": passes, "ridge": 0.01}
    learned = lrmvl(arrays, 4, random_state=7, threads=2, **how)
    U, s = naive(arrays, 4, variant, 0.01, 7, passes)
    np.testing.assert_allclose(learned.s, s, rtol=1e-3)
    signs = np.sign(np.sum(learned.U * U, axis=0))
    assert_allclose(learned.U * signs, U, atol=5e-3)


def test_square_roots_are_of_the_counts_that_whiten_words():
    learned = lrmvl(text(), 4, rates=RATES, passes=2, ridge=0.01, random_state=7, transform="sqrt")
    U, s = naive(text(), 4, "II", 0.01, 7, 2, np.sqrt)
    assert_allclose(learned.s, s, rtol=1e-3)
    signs = np.sign(np.sum(learned.U * U, axis=0))
    assert_allclose(learned.U * signs, U, atol=5e-3)


def test_states_are_those_that_the_vectors_came_from():
    """The vector of a word is the mean of the states of its tokens."""
    arrays = text()
    learned = lrmvl(arrays, 4, variant="mean", rates=RATES, passes=3)
    (states,) = learned.states
    sums = np.zeros((len(arrays.vocabulary), 4))
    np.add.at(sums, arrays.ids, states(arrays))
    assert_allclose(sums / np.bincount(arrays.ids)[:, None], learned.U, atol=1e-4)


def test_windows_give_each_token_a_state_from_either_side():
    arrays = text()
    learned = lrmvl(arrays, 3, variant="I", passes=2)
    assert [view(arrays).shape for view in learned.states] == [(arrays.n_tokens, 3)] * 2


def test_rare_words_do_not_dominate_contexts():
    """Every word weighs as much in a context: its vector is divided by its largest number before the next pass."""
    (states,) = lrmvl(text(), 4, passes=3).states
    assert_allclose(np.abs(states.dictionary).max(axis=1), 1, rtol=1e-6)


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
        ({"k": 4, "variant": "III"}, "I, II or mean"),
        ({"k": 4, "passes": 0}, "passes"),
        ({"k": 4, "rates": ()}, "rates"),
        ({"k": 4, "rates": (0.0,)}, "rates"),
        ({"k": 4, "rates": (1.5,)}, "rates"),
    ],
)
def test_options_are_checked(options, says):
    with pytest.raises(OptionError, match=says):
        lrmvl(text(5), **options)


@pytest.mark.parametrize("variant", ["I", "II"])
def test_a_pseudo_count_is_added_to_what_words_are_whitened_by(variant):
    sentences = [["a", "b", "c", "d"], ["a", "c", "b"], ["d", "b", "a", "c"]] * 20
    text = sentence_arrays(sentences)
    learned = lrmvl(text, 2, variant=variant, transform="sqrt", pseudo=7.0, passes=2)
    counts = np.bincount(text.ids, minlength=len(text.vocabulary))
    np.testing.assert_allclose(learned.whitening, 1 / np.sqrt(np.sqrt(counts) + 7))
