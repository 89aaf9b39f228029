"""Eigenwords and states of tokens against dense one-hot views of every token."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from spinney.corpus import TokenArrays, Vocabulary, sentence_arrays
from spinney.embed import eigenwords as module
from spinney.embed.counts import count_contexts, window
from spinney.embed.eigenwords import (
    Decomposition,
    Learned,
    one_step_cca,
    plain_svd,
    pmi_svd,
    rescaled_svd,
    sampled_pieces,
    two_step_cca,
)
from spinney.embed.states import SmoothedStates, WindowStates, smoothed
from spinney.embed.weighting import TRANSFORMS, pmi
from spinney.errors import OptionError

G = {"raw": lambda n: n, "sqrt": np.sqrt, "log": np.log1p, "two-thirds": lambda n: n ** (2 / 3)}


def as_arrays(sentences, size):
    vocabulary = Vocabulary(tuple(f"w{i}" for i in range(size)), np.ones(size, np.int64))
    ids = np.array([w for sentence in sentences for w in sentence], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    return TokenArrays(ids, offsets, vocabulary)


def sentences_of(seed, n, size, length=9):
    """Words of three classes that follow each other in turn: contexts tell something of words."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n):
        classes = (rng.integers(3) + np.arange(rng.integers(0, length))) % 3
        words = (classes + 3 * np.minimum(rng.geometric(0.4, len(classes)) - 1, size // 3 - 1)).tolist()
        noisy = rng.random(len(words)) < 0.2
        sentences.append([int(rng.integers(size)) if z else w for w, z in zip(words, noisy)])
    return sentences


def bag(sentences, around, n_contexts, edges=False):
    """The view of every token, dense: its contexts, weighted, in their columns."""
    block = n_contexts + edges
    rows = []
    for sentence in sentences:
        for t in range(len(sentence)):
            row = np.zeros(around.n_blocks * block)
            for offset, b, weight in zip(*around):
                p = t + offset
                if 0 <= p < len(sentence):
                    if sentence[p] < n_contexts:
                        row[b * block + sentence[p]] += weight
                elif edges:
                    row[b * block + n_contexts] += weight
            rows.append(row)
    return np.array(rows).reshape(-1, around.n_blocks * block)


def one_hot(sentences, size):
    return np.eye(size)[[w for sentence in sentences for w in sentence]]


def same_span(A, B):
    return subspace_angles(A, B).max() < 1e-3


# -- states of tokens -------------------------------------------------------------------------------------

texts = st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=5)


@given(
    texts,
    st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any),
    st.booleans(),
    st.booleans(),
    st.integers(1, 5),
)
@settings(max_examples=80, deadline=None)
def test_window_states_are_projections_of_the_views(sentences, reach, positional, edges, n_contexts):
    around = window(*reach, positional=positional, weighting="harmonic")
    view = bag(sentences, around, n_contexts, edges)
    projection = np.random.default_rng(0).standard_normal((view.shape[1], 3)).astype(np.float32)
    states = WindowStates(around, projection, n_contexts, edges)
    found = states(as_arrays(sentences, 5))
    assert found.dtype == np.float32
    assert states.dimension == 3
    np.testing.assert_allclose(found, view @ projection, atol=1e-5)


@given(texts, st.lists(st.floats(0.05, 1.0), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_smoothed_states_are_sums_with_fading_weights(sentences, rates):
    """Unrolled: word j places before the token has weight a(1 - a)^(j - 1), and the first of all the rest."""
    k = 2
    E = np.random.default_rng(0).standard_normal((5, k)).astype(np.float32)
    expected = {"left": [], "right": []}
    for sentence in sentences:
        for t in range(len(sentence)):
            before, after = sentence[:t][::-1], sentence[t + 1 :]  # the nearest first
            for side, words in (("left", before), ("right", after)):
                rows = []
                for a in rates:
                    weights = [a * (1 - a) ** j for j in range(len(words))]
                    if words:
                        weights[-1] = (1 - a) ** (len(words) - 1)
                    rows.append(sum((w * E[v] for w, v in zip(weights, words)), start=np.zeros(k)))
                expected[side].append(np.concatenate(rows))
    text = as_arrays(sentences, 5)
    rates = np.array(rates, np.float32)
    found = [smoothed(text, np.stack([E] * len(rates)), rates, step, apart=True) for step in (1, -1)]
    for side, states in zip(("left", "right"), found):
        assert states.shape == (text.n_tokens, k * len(rates))
        if text.n_tokens:
            np.testing.assert_allclose(states, expected[side], atol=1e-5)
    left, right = (
        np.random.default_rng(i).standard_normal((k * len(rates), 3)).astype(np.float32) for i in (1, 2)
    )
    states = SmoothedStates(E, rates, left, right)
    assert states.dimension == 6
    np.testing.assert_allclose(states(text), np.hstack([found[0] @ left, found[1] @ right]), atol=1e-5)


def test_a_sentence_without_words_has_no_states_and_spoils_none():
    E, rates = np.arange(10, dtype=np.float32).reshape(5, 2), np.array([0.3, 0.9], np.float32)
    tables = np.stack([E, E])
    plain, with_empty = as_arrays([[1, 2, 3], [4, 1]], 5), as_arrays([[], [1, 2, 3], [], [], [4, 1], []], 5)
    for step in (1, -1):
        np.testing.assert_array_equal(
            smoothed(with_empty, tables, rates, step), smoothed(plain, tables, rates, step)
        )


# -- one decomposition ------------------------------------------------------------------------------------


def counted(seed=0, size=12, n=60, **options):
    around = window(2, 1, **{"positional": True, **options})
    sentences = sentences_of(seed, n, size)
    return count_contexts(as_arrays(sentences, size), around, edges=True), around, sentences


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(("pseudo", "exponent"), [(0.0, 1.0), (2.0, 0.75)])
def test_one_step_cca_is_the_svd_of_scaled_counts(transform, pseudo, exponent):
    counts, around, _ = counted()
    learned = one_step_cca(
        counts, around, Decomposition(5), transform=transform, pseudo=pseudo, context_exponent=exponent
    )
    N, g = counts.matrix.toarray().astype(float), G[transform]
    rows, columns = g(N.sum(axis=1)) + pseudo, g(N.sum(axis=0) ** exponent) + pseudo
    used = columns > 0
    A = np.where(used, g(N) / np.sqrt(rows[:, None] * np.where(used, columns, 1)), 0)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(learned.s, s[:5], rtol=1e-5)
    signs = np.sign(np.sum(learned.U * U[:, :5], axis=0))
    np.testing.assert_allclose(learned.U * signs, U[:, :5], atol=1e-3)
    np.testing.assert_allclose(learned.whitening, 1 / np.sqrt(rows), rtol=1e-6)
    [states] = learned.states
    B = Vt[:5].T * np.where(used, 1 / np.sqrt(np.where(used, columns, 1)), 0)[:, None]
    np.testing.assert_allclose(states.projection * signs, B, atol=1e-3)
    assert (states.n_contexts, states.edges, states.window) == (12, True, around)


def test_the_first_correlation_of_plain_counts_is_trivial_and_centring_takes_it_away():
    counts, around, _ = counted()
    raw = one_step_cca(counts, around, Decomposition(5), transform="raw")
    assert raw.s[0] == pytest.approx(1, abs=1e-6)
    constant = raw.U[:, 0] * raw.whitening
    np.testing.assert_allclose(constant, constant[0], rtol=1e-4)
    for method in ("exact", "lanczos", "randomized"):
        centred = one_step_cca(
            counts, around, Decomposition(4, method, power=50), transform="raw", center=True
        )
        np.testing.assert_allclose(centred.s, raw.s[1:], rtol=1e-4)
        assert same_span(centred.U, raw.U[:, 1:])


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(("pseudo", "exponent"), [(0.0, 1.0), (2.0, 0.75)])
def test_centring_subtracts_the_margins_of_what_is_decomposed(transform, pseudo, exponent):
    """Dense: the transformed counts less the product of their own margins, then scaled."""
    counts, around, _ = counted()
    N, g = counts.matrix.toarray().astype(float), G[transform]
    rows, columns = g(N.sum(axis=1)) + pseudo, g(N.sum(axis=0) ** exponent) + pseudo
    r, c = (np.where(x > 0, 1 / np.sqrt(np.where(x > 0, x, 1)), 0) for x in (rows, columns))
    T = g(N)
    centred = T - np.outer(T.sum(axis=1), T.sum(axis=0)) / T.sum()
    U, s, _ = np.linalg.svd(r[:, None] * centred * c)
    for method in ("exact", "randomized"):
        learned = one_step_cca(
            counts, around, Decomposition(4, method, power=50), transform=transform, pseudo=pseudo,
            context_exponent=exponent, center=True,
        )  # fmt: skip
        np.testing.assert_allclose(learned.s, s[:4], rtol=1e-4)
        assert same_span(learned.U, U[:, :4])
    margins = (learned.U / r[:, None]).sum(axis=0)  # what is left sums to 0 over words
    np.testing.assert_allclose(margins, 0, atol=1e-2)


def test_rescaled_counts_are_cca_of_plain_ones():
    counts, around, _ = counted()
    rescaled = rescaled_svd(counts, around, Decomposition(4), pseudo=7.0)
    cca = one_step_cca(counts, around, Decomposition(4), transform="raw", pseudo=7.0)
    np.testing.assert_array_equal(rescaled.U, cca.U)
    np.testing.assert_array_equal(rescaled.s, cca.s)
    np.testing.assert_array_equal(rescaled.whitening, cca.whitening)


def test_a_pseudo_count_keeps_pairs_of_rare_words_down():
    """Two words that only occur together, once: without it they are a singular vector of their own, of value 1."""
    rng = np.random.default_rng(0)
    sentences = [["abcde"[i] for i in rng.integers(5, size=6)] for _ in range(100)] + [["odd", "pair"]]
    text, around = sentence_arrays(sentences), window(0, 1)
    counts, odd = count_contexts(text, around), text.vocabulary["odd"]
    plain, kept_down = (rescaled_svd(counts, around, Decomposition(2), pseudo=p) for p in (0.0, 50.0))
    assert np.abs(plain.U[odd]).max() > 0.5
    assert np.abs(kept_down.U[odd]).max() < 0.1


def test_cca_of_words_and_the_next_word_is_that_of_one_hot_views():
    """With one place in the window there is nothing in either view but one word: whitening is exact."""
    sentences = sentences_of(0, 80, 9)
    text, around = as_arrays(sentences, 9), window(0, 1)
    learned = one_step_cca(
        count_contexts(text, around), around, Decomposition(4), transform="raw", center=True
    )
    pairs = np.array([pair for s in sentences for pair in itertools.pairwise(s)])
    X, Y = np.eye(9)[pairs[:, 0]], np.eye(9)[pairs[:, 1]]
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    Qx, Qy = (scipy.linalg.orth(view, rcond=1e-9) for view in (X, Y))
    np.testing.assert_allclose(learned.s, np.linalg.svd(Qx.T @ Qy, compute_uv=False)[:4], rtol=1e-5)


def test_plain_and_pmi_decompositions():
    counts, around, _ = counted()
    for learned, matrix in (
        (plain_svd(counts, around, Decomposition(4)), counts.matrix.toarray()),
        (pmi_svd(counts, around, Decomposition(4), shift=0.5), pmi(counts.matrix, shift=0.5).toarray()),
    ):
        np.testing.assert_allclose(learned.s, np.linalg.svd(matrix, compute_uv=False)[:4], rtol=1e-4)
        np.testing.assert_array_equal(learned.whitening, np.ones(12))
        np.testing.assert_allclose(matrix @ learned.states[0].projection, learned.U * learned.s, atol=1e-3)


@pytest.mark.parametrize("transform", G)
def test_plain_and_rescaled_decompositions_of_transformed_counts(transform):
    counts, around, _ = counted()
    C, g = counts.matrix.toarray().astype(float), G[transform]
    plain = plain_svd(counts, around, Decomposition(4), transform=transform)
    np.testing.assert_allclose(plain.s, np.linalg.svd(g(C), compute_uv=False)[:4], rtol=1e-4)
    rescaled = rescaled_svd(counts, around, Decomposition(4), transform=transform, pseudo=3.0)
    scaled = g(C) / np.sqrt(np.outer(g(C.sum(axis=1)) + 3, g(C.sum(axis=0)) + 3))
    np.testing.assert_allclose(rescaled.s, np.linalg.svd(scaled, compute_uv=False)[:4], rtol=1e-4)


# -- two steps --------------------------------------------------------------------------------------------


def naive_two_step(sentences, around, k, n_words, n_contexts, size, whitening="full"):
    """Token by token, dense: CCA of left and right contexts, then of words and the states that it gives."""
    left, right = (module.one_side(around, sign, positional=True) for sign in (-1, +1))
    L, R = bag(sentences, left, n_contexts), bag(sentences, right, n_contexts)
    W = one_hot(sentences, size)[:, :n_words]
    C = L.T @ R
    wl, wr = (
        np.where(total > 0, 1 / np.sqrt(np.where(total > 0, total, 1)), 0)
        for total in (C.sum(axis=1), C.sum(axis=0))
    )
    U, _, Vt = np.linalg.svd(wl[:, None] * C * wr)
    Phi_L, Phi_R = wl[:, None] * U[:, :k], wr[:, None] * Vt[:k].T
    S = np.hstack([L @ Phi_L, R @ Phi_R])
    SS = S.T @ S
    if whitening == "diagonal":
        SS = np.diag(np.diag(SS))
    root = np.real(scipy.linalg.sqrtm(scipy.linalg.inv(SS)))
    U, s, _ = np.linalg.svd((W / np.sqrt(W.sum(axis=0))).T @ S @ root, full_matrices=False)
    return U[:, :k], s[:k], S


@pytest.mark.parametrize("whitening", ["full", "diagonal"])
@pytest.mark.parametrize(("n_words", "n_contexts"), [(12, 12), (7, 12), (12, 8)])
@pytest.mark.parametrize("weighting", ["flat", "harmonic"])
@pytest.mark.parametrize("positional", [False, True])
def test_two_step_cca_is_that_of_every_token(whitening, n_words, n_contexts, weighting, positional):
    sentences = sentences_of(1, 150, 12)
    text, around = as_arrays(sentences, 12), window(2, 3, weighting=weighting, positional=positional)
    learned = two_step_cca(
        text, around, Decomposition(4), transform="raw", whitening=whitening,
        n_words=n_words, n_contexts=n_contexts,
    )  # fmt: skip
    U, s, S = naive_two_step(sentences, around, 4, n_words, n_contexts, 12, whitening)
    np.testing.assert_allclose(learned.s, s, rtol=1e-4)
    assert same_span(learned.U, U)
    if whitening == "full":
        assert learned.s[0] <= 1 + 1e-6
    states = np.hstack([view(text) for view in learned.states])
    assert states.shape == (text.n_tokens, 8)
    for side in (slice(0, 4), slice(4, 8)):
        assert same_span(states[:, side], S[:, side])
    np.testing.assert_allclose(
        learned.whitening, 1 / np.sqrt(np.bincount(text.ids, minlength=12)[:n_words]), rtol=1e-6
    )


def test_lags_count_left_against_right_contexts_of_every_token():
    sentences = sentences_of(2, 40, 9)
    for weighting in ("flat", "harmonic", "linear"):
        around = window(3, 2, weighting=weighting)
        left, right = module.one_side(around, -1), module.one_side(around, +1)
        expected = bag(sentences, left, 9).T @ bag(sentences, right, 9)
        found = count_contexts(as_arrays(sentences, 9), module._lags(left, right)).matrix.toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_signs_of_the_first_step_do_not_matter(monkeypatch):
    """Invariant 4: a pair of singular vectors turned round changes neither correlations nor vectors."""
    text, around = as_arrays(sentences_of(3, 100, 12), 12), window(2)
    plain = two_step_cca(text, around, Decomposition(4))

    class Turned(Decomposition):
        def __call__(self, A):
            U, s, V = super().__call__(A)
            signs = np.array([1, -1, -1, 1])
            return module.SVD(U * signs, s, V * signs)

    turned = two_step_cca(text, around, Turned(4))
    np.testing.assert_allclose(turned.s, plain.s, rtol=1e-5)
    gram = [learned.vectors() @ learned.vectors().T for learned in (plain, turned)]
    np.testing.assert_allclose(gram[0], gram[1], atol=1e-4)


def test_pieces_and_threads_change_nothing(monkeypatch):
    text, around = as_arrays(sentences_of(4, 100, 12), 12), window(2)
    whole = two_step_cca(text, around, Decomposition(4), threads=1)
    monkeypatch.setattr(module, "PIECE", 50)
    assert len(sampled_pieces(text, 10**9)) > 5
    for threads in (1, 2):
        pieces = two_step_cca(text, around, Decomposition(4), threads=threads)
        np.testing.assert_allclose(pieces.s, whole.s, rtol=1e-5)
        np.testing.assert_allclose(np.abs(pieces.U), np.abs(whole.U), atol=1e-4)


def test_samples_are_evenly_spaced(monkeypatch):
    text = as_arrays([[i % 5] * 10 for i in range(100)], 5)
    monkeypatch.setattr(module, "PIECE", 50)
    assert sum(piece.n_tokens for piece in sampled_pieces(text, 10**9)) == 1000
    some = sampled_pieces(text, 300)
    assert sum(piece.n_tokens for piece in some) == 300
    assert len(sampled_pieces(text, 1)) == 1


def test_directions_that_the_states_do_not_have_are_left_out():
    """Three words have three contexts: asked for more, correlations stay correlations."""
    sentences = sentences_of(5, 200, 3)
    learned = two_step_cca(as_arrays(sentences, 3), window(2), Decomposition(9), transform="raw")
    assert np.all(np.isfinite(learned.U))
    assert learned.s.max() <= 1 + 1e-5
    _, s, _ = naive_two_step(sentences, window(2), 3, 3, 3, 3)
    np.testing.assert_allclose(learned.s, s, rtol=1e-3)


# -- vectors ----------------------------------------------------------------------------------------------


def test_vectors_of_words():
    rng = np.random.default_rng(0)
    U, s, whitening = rng.standard_normal((5, 3)), np.array([3.0, 2.0, 0.5]), rng.uniform(1, 2, 5)
    U[2] = 0  # a word that was never seen
    learned = Learned(U, s, whitening, ())
    np.testing.assert_allclose(learned.vectors("plain"), U, rtol=1e-6)
    np.testing.assert_allclose(learned.vectors("plain", exponent=0.5), U * np.sqrt(s), rtol=1e-6)
    np.testing.assert_allclose(learned.vectors("canonical"), U * whitening[:, None], rtol=1e-6)
    unit = learned.vectors("unit", exponent=1.0)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), [1, 1, 0, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(unit[0], (U * s)[0] / np.linalg.norm((U * s)[0]), rtol=1e-5)
    assert unit.dtype == np.float32
    with pytest.raises(OptionError, match="unit, canonical or plain, not 'long'"):
        learned.vectors("long")


def test_decompositions_pass_their_options_on():
    A = np.random.default_rng(0).standard_normal((60, 50))
    plain = Decomposition(5, "randomized", oversampling=3, power=1)
    assert not np.allclose(plain(A).s, dataclasses.replace(plain, random_state=1)(A).s)
    assert plain(A).s.sum() < dataclasses.replace(plain, power=9)(A).s.sum()
    assert plain(A).s.sum() < dataclasses.replace(plain, oversampling=30)(A).s.sum()
    np.testing.assert_allclose(dataclasses.replace(plain, method="lanczos")(A).s, Decomposition(5)(A).s)


def test_bad_options():
    text = as_arrays(sentences_of(0, 20, 6), 6)
    with pytest.raises(OptionError, match="both sides"):
        two_step_cca(text, window(0, 2), Decomposition(2))
    with pytest.raises(OptionError, match="full or diagonal, not 'half'"):
        two_step_cca(text, window(2), Decomposition(2), whitening="half")
    with pytest.raises(OptionError, match="transform must be"):
        two_step_cca(text, window(2), Decomposition(2), transform="cube")
