"""Spectral HMMs: exact with exact moments, close with counts, sound on any text."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import TokenArrays, Vocabulary, sentence_arrays
from spinney.embed import spectral_hmm
from spinney.embed.operators import Operators
from spinney.embed.spectral_hmm import SpectralHMM
from spinney.embed.trigrams import Trigrams, operator_sums
from spinney.errors import InputError, ModelFileError, NotFittedError, OptionError
from spinney.linalg import SVD

MODELS = st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 10_000))
KINDS = list(product(("full", "reduced"), ("none", "sqrt")))


def random_hmm(m, extra, seed):
    """π, T and O, well conditioned; m ≤ n states."""
    rng = np.random.default_rng(seed)
    n = m + extra
    T = 0.5 * np.eye(m)[rng.permutation(m)] + 0.5 * rng.dirichlet(np.ones(m), m).T
    O = 0.6 * np.eye(n)[rng.permutation(n)[:m]].T + 0.4 * rng.dirichlet(np.ones(n), m).T
    return 0.5 / m + 0.5 * rng.dirichlet(np.ones(m)), T, O


def moments(pi, T, O):
    pairs = O @ T @ np.diag(pi) @ O.T
    return O @ pi, pairs, np.stack([O @ T @ np.diag(o) @ T @ np.diag(pi) @ O.T for o in O])


def forward(pi, T, O, string):
    """The probability of a string, and the law of the state after it."""
    f = pi
    for x in string:
        f = T @ (O[x] * f)
    return f.sum(), f / f.sum()


def arrays_of(strings, n):
    words = Vocabulary(tuple(map(str, range(n))), np.zeros(n, np.int64))
    return sentence_arrays([[str(x) for x in string] for string in strings], vocabulary=words)


def probabilities(model, strings, n):
    found = model.log_likelihood(arrays_of(strings, n))
    return found.sign * np.exp(found.log_magnitude)


@pytest.mark.parametrize(("variant", "scaling"), KINDS)
@settings(max_examples=25, deadline=None)
@given(MODELS)
def test_exact_moments_give_exact_probabilities(variant, scaling, drawn):
    pi, T, O = random_hmm(*drawn)
    n, m = O.shape
    model = SpectralHMM.from_moments(*moments(pi, T, O), m, variant, scaling=scaling)
    rng = np.random.default_rng(1)
    strings = [rng.integers(0, n, length) for length in (0, 1, 2, 3, 5, 8)]
    expected = [forward(pi, T, O, string)[0] for string in strings]
    np.testing.assert_allclose(probabilities(model, strings, n), expected, atol=1e-10)
    # Relative too: rescaling at each step keeps the digits of long strings.
    np.testing.assert_allclose(probabilities(model, strings[-1:], n), expected[-1:], rtol=1e-6)


@pytest.mark.parametrize(("variant", "scaling"), KINDS)
def test_the_strings_of_one_length_have_probability_one(variant, scaling):
    pi, T, O = random_hmm(3, 2, 5)
    model = SpectralHMM.from_moments(*moments(pi, T, O), 3, variant, scaling=scaling)
    p = probabilities(model, list(product(range(5), repeat=3)), 5)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert p.min() > 0


@pytest.mark.parametrize(("variant", "scaling"), KINDS)
def test_filtering_gives_the_conditional_laws_of_the_chain(variant, scaling):
    pi, T, O = random_hmm(3, 3, 2)
    model = SpectralHMM.from_moments(*moments(pi, T, O), 3, variant, scaling=scaling)
    strings = [[0, 4, 2, 2, 1], [3], [], [5, 5]]
    expected = [O @ forward(pi, T, O, s[: t + 1])[1] for s in strings for t in range(len(s))]
    found = model.predict_next(model.filter(arrays_of(strings, 6)))
    np.testing.assert_allclose(found, expected, atol=1e-11)
    total = sum(np.log(forward(pi, T, O, s)[0]) for s in strings)
    assert model.perplexity(arrays_of(strings, 6)) == pytest.approx(np.exp(-total / 8), rel=1e-10)


@pytest.mark.parametrize(("variant", "scaling"), KINDS)
def test_signs_of_singular_pairs_change_nothing(variant, scaling, monkeypatch):
    given = moments(*random_hmm(3, 1, 3))
    strings = list(product(range(4), repeat=3))
    before = probabilities(SpectralHMM.from_moments(*given, 3, variant, scaling=scaling), strings, 4)
    plain = spectral_hmm.truncated_svd

    def flipped(A, k, **options):
        U, s, V = plain(A, k, **options)
        signs = np.array([-1.0, 1.0, -1.0])[: len(s)]
        return SVD(U * signs, s, V * signs)

    monkeypatch.setattr(spectral_hmm, "truncated_svd", flipped)
    after = probabilities(SpectralHMM.from_moments(*given, 3, variant, scaling=scaling), strings, 4)
    np.testing.assert_allclose(after, before, atol=1e-13)


@pytest.mark.parametrize("variant", ["full", "reduced"])
def test_states_above_the_rank_are_left_out(variant):
    pi, T, O = random_hmm(2, 3, 7)
    model = SpectralHMM.from_moments(*moments(pi, T, O), 5, variant, cutoff=1e-8)
    assert len(model.singular_values_) == 2
    p = probabilities(model, list(product(range(5), repeat=4)), 5)
    expected = [forward(pi, T, O, s)[0] for s in product(range(5), repeat=4)]
    np.testing.assert_allclose(p, expected, atol=1e-12)


def sampled(pi, T, O, ends, size, seed):
    """Sentences of a chain that ends, after each word, with a probability that its state has."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(size):
        h, words = rng.choice(len(pi), p=pi), []
        while True:
            words.append(str(rng.choice(len(O), p=O[:, h])))
            if rng.random() < ends[h]:
                break
            h = rng.choice(len(pi), p=T[:, h])
        sentences.append(words)
    return sentences


def test_the_error_falls_like_one_over_the_root_of_the_sample():
    pi, T, O = random_hmm(2, 2, 11)
    ends = np.array([0.3, 0.4])
    words = Vocabulary(tuple("0123"), np.ones(4, np.int64))
    strings = [s for k in (1, 2, 3) for s in product(range(4), repeat=k)]

    def truth(string):
        f = pi
        for i, x in enumerate(string):
            f = f * O[x]
            f = T @ (f * (1 - ends)) if i + 1 < len(string) else f * ends
        return f.sum()

    expected = np.array([truth(s) for s in strings])
    errors = []
    for size in (400, 6400):
        each = []
        for seed in range(8):
            text = sentence_arrays(sampled(pi, T, O, ends, size, seed), vocabulary=words)
            # The end is a state of its own: three in all.
            model = SpectralHMM(3, pseudo=0.0, shrinkage=0.0, interpolation=0.0).fit(text)
            each.append(np.abs(probabilities(model, strings, 4) - expected).sum())
        errors.append(np.mean(each))
    assert errors[0] < 0.35
    assert 2.5 < errors[0] / errors[1] < 7  # 4 = √16


@pytest.mark.parametrize("variant", ["full", "reduced"])
def test_sentences_have_probability_one_together(variant):
    pi, T, O = random_hmm(2, 1, 0)
    text = sentence_arrays(sampled(pi, T, O, np.array([0.6, 0.7]), 3000, 1))
    model = SpectralHMM(3, variant, pseudo=1.0, shrinkage=0.0).fit(text)
    strings = [s for k in range(9) for s in product(range(3), repeat=k)]
    assert probabilities_with_end(model, strings).sum() == pytest.approx(1.0, abs=0.01)


def probabilities_with_end(model, strings):
    words = model.vocabulary_.words
    arrays = sentence_arrays([[words[x] for x in s] for s in strings], vocabulary=model.vocabulary_)
    found = model.log_likelihood(arrays)
    return found.sign * np.exp(found.log_magnitude)


TEXT = [["a", "b", "c"], ["a", "c"], [], ["b"], ["a", "b", "d", "c"]] * 4


def test_operators_are_sums_over_trigrams():
    text = sentence_arrays(TEXT)
    n = len(text.vocabulary) + 1
    stream = [x for s in text for x in [*s.tolist(), n - 1]]
    rng = np.random.default_rng(0)
    U, V, W = rng.standard_normal((n, 3)), rng.standard_normal((n, 2)), rng.standard_normal((n, 4))
    V = np.hstack([V, V[:, :1]])
    expected = np.zeros((n, 3, 3))
    for t in range(len(stream)):
        x1, x2, x3 = (stream[(t + i) % len(stream)] for i in range(3))
        expected[x2] += np.outer(U[x3], V[x1])
    grams = Trigrams.of(text)
    for threads in (1, 2):
        np.testing.assert_allclose(operator_sums(grams, U, V, None, threads), expected, atol=1e-12)
        core = np.einsum("xj,xil->jil", W, expected)
        np.testing.assert_allclose(operator_sums(grams, U, V, W, threads), core, atol=1e-12)
    np.testing.assert_array_equal(grams.counts, np.bincount(stream, minlength=n))
    pairs = np.zeros((n, n))
    np.add.at(pairs, (np.roll(stream, -1), stream), 1)
    np.testing.assert_array_equal(grams.bigrams().toarray(), pairs)
    first = [s[0] if len(s) else n - 1 for s in text]
    np.testing.assert_array_equal(grams.starts(), np.bincount(first, minlength=n))


def test_reduced_operators_are_combinations():
    rng = np.random.default_rng(0)
    C, weights, b = rng.standard_normal((4, 3, 3)), rng.standard_normal((5, 4)), rng.standard_normal((2, 3))
    reduced = Operators(b[0], b[1], b[0], weights[:, :3], C, weights)
    full = Operators(b[0], b[1], b[0], weights[:, :3], np.tensordot(weights, C, 1))
    words = np.array([4, 1])
    np.testing.assert_allclose(reduced.apply(words, b), full.apply(words, b), atol=1e-13)
    np.testing.assert_allclose(reduced.total, full.total, atol=1e-13)


@pytest.mark.parametrize(("variant", "scaling"), KINDS)
@pytest.mark.parametrize("n_states", [1, 2, 50])
def test_any_text_has_a_finite_perplexity(variant, scaling, n_states):
    train = sentence_arrays([s for s in TEXT if s], min_count=5, unknown="?")
    assert train.vocabulary.counts[0]  # "d" is rare
    model = SpectralHMM(n_states, variant, scaling=scaling, pseudo=0.5).fit(train)
    new = sentence_arrays([["c", "c", "never", "a"], [], ["d"]], vocabulary=train.vocabulary)
    assert 1 < model.perplexity(new) < 100
    if n_states == 50:
        assert model.perplexity(train) < 4
    states = model.filter(new)
    assert states.shape == (5, len(model.singular_values_))
    assert np.isfinite(states).all()
    laws = model.predict_next(states)
    assert laws.min() > 0
    np.testing.assert_allclose(laws.sum(axis=1), 1.0, atol=1e-12)
    found = model.log_likelihood(new)
    assert found.log_magnitude.shape == found.sign.shape == (3,)
    assert not np.isnan(found.log_magnitude).any()
    assert 0 <= found.bad_sentences <= 1
    assert 0 <= found.bad_steps <= 1


def test_words_never_seen_are_possible():
    words = Vocabulary(("?", "a", "b"), np.array([0, 1, 1]), "?")
    model = SpectralHMM(2, pseudo=0.0).fit(sentence_arrays([["a", "b"]] * 9, vocabulary=words))
    new = sentence_arrays([["x", "a"]], vocabulary=words)
    assert np.isfinite(model.perplexity(new))
    assert model.log_likelihood(new).sign.tolist() == [0.0]
    assert model.log_likelihood(new).bad_sentences == 1.0


def test_threads_and_pieces_change_nothing(monkeypatch):
    text = sentence_arrays(TEXT)
    one, two = (SpectralHMM(3, pseudo=1.0, threads=t).fit(text) for t in (1, 2))
    np.testing.assert_array_equal(one.operators_.matrices, two.operators_.matrices)
    states, perplexity = one.filter(text), one.perplexity(text)
    monkeypatch.setattr(spectral_hmm, "_PIECE", 8)
    np.testing.assert_allclose(one.filter(text), states, atol=1e-13)
    assert one.perplexity(text) == pytest.approx(perplexity, rel=1e-12)


def test_word_vectors_of_words_with_the_same_neighbours_are_alike():
    lines = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"] * 25
    text = sentence_arrays(line.split() for line in lines)
    model = SpectralHMM(4, pseudo=1.0).fit(text)
    for kind in ("basis", "state"):
        assert model.word_vectors(kind).neighbours("dog", 1)[0][0] == "cat"
    with pytest.raises(OptionError, match="basis or state"):
        model.word_vectors("other")


@pytest.mark.parametrize("variant", ["full", "reduced"])
def test_files(variant, tmp_path):
    text = sentence_arrays(TEXT, unknown="?")
    model = SpectralHMM(3, variant, pseudo=1.0).fit(text)
    model.save(tmp_path / "m")
    again = SpectralHMM.load(tmp_path / "m")
    assert again.perplexity(text) == model.perplexity(text)
    assert again.vocabulary_ == model.vocabulary_
    assert again.facts == model.facts
    np.testing.assert_array_equal(again.log_likelihood(text).sign, model.log_likelihood(text).sign)
    pi, T, O = random_hmm(2, 1, 1)
    exact = SpectralHMM.from_moments(*moments(pi, T, O), 2, variant)
    exact.save(tmp_path / "e")
    again = SpectralHMM.load(tmp_path / "e")
    assert probabilities(again, [[0, 1]], 3) == probabilities(exact, [[0, 1]], 3)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda m: m.operators_.b0.__setitem__(0, np.nan), "not finite"),
        (lambda m: setattr(m, "unigram_", m.unigram_ * 2), "unigram probabilities"),
        (lambda m: setattr(m, "unigram_", m.unigram_[:-2]), "do not match"),
        (lambda m: setattr(m, "basis_", m.basis_[:, 1:]), "do not match"),
        (lambda m: setattr(m, "n_states", 0), "n_states"),
        (lambda m: object.__setattr__(m.how, "variant", "reduced"), "coordinates"),
    ],
)
def test_damaged_files_are_refused(damage, said, tmp_path, monkeypatch):
    monkeypatch.setattr("spinney.model._refuse_nan", lambda *_: None)  # which would not save it
    model = SpectralHMM(3, pseudo=1.0).fit(sentence_arrays(TEXT))
    damage(model)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=said):
        SpectralHMM.load(tmp_path / "m")


def test_what_is_refused():
    text = sentence_arrays(TEXT)
    for options, said in (
        ({"n_states": 0}, "n_states"),
        ({"variant": "half"}, "variant"),
        ({"scaling": "log"}, "scaling"),
        ({"interpolation": 1.0}, "interpolation"),
        ({"shrinkage": -1}, "shrinkage"),
        ({"cutoff": float("nan")}, "cutoff"),
    ):
        with pytest.raises(OptionError, match=said):
            SpectralHMM(**{"n_states": 2, **options}).fit(text)
    with pytest.raises(NotFittedError):
        SpectralHMM(2).perplexity(text)
    with pytest.raises(InputError, match="no words"):
        SpectralHMM(2).fit(text.part(0, 0))
    model = SpectralHMM(2, pseudo=1.0).fit(text)
    with pytest.raises(InputError, match="no words"):
        model.perplexity(text.part(0, 0))
    with pytest.raises(OptionError, match="another vocabulary"):
        model.perplexity(sentence_arrays([["z"]]))
    with pytest.raises(OptionError, match="moments"):
        SpectralHMM.from_moments([1.0], np.ones((2, 2)), np.ones((2, 2, 2)), 1)
    with pytest.raises(OptionError, match="finite"):
        SpectralHMM.from_moments([0.0], [[0.0]], [[[0.0]]], 1)


def test_arrays_of_one_sentence_and_none():
    one = TokenArrays(np.array([0, 0], np.int32), np.array([0, 2]), Vocabulary(("a",), np.array([2])))
    model = SpectralHMM(8, pseudo=0.0).fit(one)
    assert np.isfinite(model.perplexity(one))
    assert model.filter(one.part(0, 0)).shape == (0, len(model.singular_values_))
    assert len(model.log_likelihood(one.part(0, 0)).sign) == 0
