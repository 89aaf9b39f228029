from __future__ import annotations

import itertools
import logging
import math
import zipfile
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, NotFittedError, OptionError
from spinney.tagging._g2p_kernels import expected_counts
from spinney.tagging.g2p import Aligner, cmudict_sentences, nettalk_sentences, read_cmudict, read_nettalk

TOY = [
    (word, sound.split())
    for word, sound in [
        ("tax", "T AE K S"),
        ("fax", "F AE K S"),
        ("fox", "F AA K S"),
        ("cat", "K AE T"),
        ("cot", "K AA T"),
        ("fat", "F AE T"),
        ("at", "AE T"),
        ("ox", "AA K S"),
        ("knot", "N AA T"),
        ("not", "N AA T"),
        ("knack", "N AE K"),
        ("can", "K AE N"),
    ]
]


def every_alignment(word, phonemes, most):
    """All ways to share out the phonemes, as tuples of tuples of phonemes."""
    for taken in itertools.product(range(most + 1), repeat=len(word)):
        if sum(taken) == len(phonemes):
            cuts = [0, *itertools.accumulate(taken)]
            yield [tuple(phonemes[a:b]) for a, b in itertools.pairwise(cuts)]


def number(emission, n_symbols):
    """As the kernels number emissions: none, then the single phonemes, then the pairs."""
    if not emission:
        return 0
    return 1 + emission[0] if len(emission) == 1 else 1 + n_symbols + emission[0] * n_symbols + emission[1]


@given(st.data(), st.sampled_from([1, 2]))
@settings(max_examples=60, deadline=None)
def test_posteriors_are_those_of_all_alignments(data, most):
    n_letters, n_symbols = 3, 2
    words = data.draw(
        st.lists(st.lists(st.integers(0, n_letters - 1), min_size=1, max_size=4), min_size=1, max_size=3)
    )
    sounds = [data.draw(st.lists(st.integers(0, n_symbols - 1), max_size=most * len(word))) for word in words]
    size = 1 + n_symbols + (n_symbols**2 if most == 2 else 0)
    emit = np.random.default_rng(data.draw(st.integers(0, 99))).dirichlet(np.ones(size), n_letters)
    counts = np.zeros_like(emit)
    log_likelihood = expected_counts(
        np.array([*itertools.chain(*words)], np.int64),
        np.cumsum([0, *map(len, words)]),
        np.array([*itertools.chain(*sounds)], np.int64),
        np.cumsum([0, *map(len, sounds)]),
        emit,
        n_symbols,
        most,
        counts,
    )
    expected, expected_log_likelihood = np.zeros_like(emit), 0.0
    for word, sound in zip(words, sounds):
        weighted = []
        for alignment in every_alignment(word, sound, most):
            edges = [(letter, number(emission, n_symbols)) for letter, emission in zip(word, alignment)]
            weighted.append((math.prod(emit[edge] for edge in edges), edges))
        likelihood = sum(weight for weight, _ in weighted)
        expected_log_likelihood += math.log(likelihood)
        for weight, edges in weighted:
            for edge in edges:
                expected[edge] += weight / likelihood
    np.testing.assert_allclose(counts, expected, rtol=1e-12, atol=1e-14)
    assert log_likelihood == pytest.approx(expected_log_likelihood, rel=1e-12)


def test_the_best_alignment_is_the_best_of_all():
    aligner = Aligner().fit(TOY)
    n_symbols = len(aligner.phonemes_) + 1

    def score(word, emissions):
        numbers = [number([aligner.phonemes_[p] for p in emission], n_symbols) for emission in emissions]
        rows = [aligner.letters_[letter] for letter in word]
        return sum(math.log(max(aligner.emit_[edge], 1e-20)) for edge in zip(rows, numbers))

    for word, sound in [*TOY, ("xxo", ["T", "K", "S"]), ("kkk", ["AE", "N", "T", "S", "F"])]:
        labels = aligner.align(word, sound)
        emissions = [() if label == "_" else tuple(label.split("|")) for label in labels]
        assert sum(emissions, ()) == tuple(sound)
        best = max(score(word, alignment) for alignment in every_alignment(word, sound, 2))
        assert score(word, emissions) == pytest.approx(best, rel=1e-12)


def test_toy_alignments_are_found():
    aligner = Aligner(tol=0).fit(TOY)
    assert aligner.align("fox", ["F", "AA", "K", "S"]) == ["F", "AA", "K|S"]
    assert aligner.align("knot", ["N", "AA", "T"]) == ["_", "N", "AA", "T"]
    assert aligner.align("knox", ["N", "AA", "K", "S"]) == ["_", "N", "AA", "K|S"]
    np.testing.assert_allclose(aligner.emit_[:-1].sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("most", [1, 2])
def test_the_likelihood_rises(most):
    values = Aligner(most, tol=-1, max_iter=30).fit(TOY).log_likelihoods_
    assert len(values) == 30
    assert np.all(np.diff(values) >= -1e-12 * np.abs(values[:-1]))
    assert values[-1] > values[0]


def test_words_that_cannot_be_aligned_are_counted_and_dropped(caplog):
    pairs = [*TOY, ("w", ["D", "AH", "B"]), ("", ["T"])]
    with caplog.at_level(logging.INFO, "spinney"):
        aligner = Aligner().fit(pairs)
    assert aligner.n_dropped_ == 2
    assert "2 of 14 words were dropped" in caplog.text
    aligned = aligner.align_all(pairs)
    assert aligned[-2:] == [None, None]
    assert aligned[:-2] == aligner.align_all(TOY)
    with pytest.raises(InputError, match="'w' cannot be aligned with D AH B"):
        aligner.align("w", ["D", "AH", "B"])
    assert Aligner(1).fit(pairs).n_dropped_ == 6  # tax, fax, fox and ox as well
    assert aligner.align_all([]) == []


def test_unknown_letters_and_phonemes_are_aligned_too():
    aligner = Aligner().fit(TOY)
    assert aligner.align("coß", ["K", "AA", "ZH"]) == ["K", "AA", "ZH"]
    assert aligner.align("ß", []) == ["_"]


def test_long_words_do_not_underflow():
    word, sound = "tax" * 33, ["T", "AE", "K", "S"] * 33
    aligner = Aligner().fit([*TOY, (word, sound), (word * 2, sound * 2)])
    assert aligner.n_dropped_ == 1
    assert np.isfinite(aligner.log_likelihoods_).all()
    assert aligner.align(word, sound) == ["T", "AE", "K|S"] * 33


def test_what_is_refused():
    with pytest.raises(OptionError, match="1 or 2, not 3"):
        Aligner(3).fit(TOY)
    with pytest.raises(InputError, match="no word can be aligned"):
        Aligner().fit([])
    with pytest.raises(NotFittedError):
        Aligner().align("a", ["A"])


def test_cmudict_formats(tmp_path):
    own = ";;; comment\nABACK  AH0 B AE1 K\nABACK(1)  AH0 B AA1 K\n\n"
    nltk = "ABACK 1 AH0 B AE1 K\nABACK 2 AH0 B AA1 K\n"
    package = "aback AH0 B AE1 K\naback(2) AH0 B AA1 K # a comment\n"
    expected = [("aback", ["AH0", "B", "AE1", "K"]), ("aback", ["AH0", "B", "AA1", "K"])]
    for text in (own, nltk, package):
        assert read_cmudict(text.splitlines(), stress=True) == expected
    path = tmp_path / "cmudict.dict"
    path.write_text(package)
    assert read_cmudict(path, stress=True) == expected
    with zipfile.ZipFile(tmp_path / "cmudict.zip", "w") as archive:
        archive.writestr("cmudict/README", "about")
        archive.writestr("cmudict/cmudict", nltk)
    assert read_cmudict(tmp_path / "cmudict.zip") == read_cmudict(path)
    assert read_cmudict(path)[0] == ("aback", ["AH", "B", "AE", "K"])
    assert len(cmudict_sentences(path)) == 2
    assert cmudict_sentences(path, aligner=Aligner(1).fit(read_cmudict(path)))[0][0] == ("a", "AH")


def test_bad_dictionaries_are_named(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("A  AH0\nB\n")
    with pytest.raises(InputError, match=r"bad.txt:2: a word without phonemes"):
        read_cmudict(path)
    path.write_text("abc\txyz\t0>1\t0\nabc\txy\t0>1\t0\n")
    with pytest.raises(InputError, match=r"bad.txt:2: not a NETtalk line"):
        read_nettalk(path)
    (tmp_path / "bad.zip").write_bytes(b"PK, or not")
    with pytest.raises(InputError, match=r"not a valid .zip file"):
        read_cmudict(tmp_path / "bad.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("README", "about")
    with pytest.raises(InputError, match="the archive has no file cmudict"):
        read_cmudict(tmp_path / "other.zip")
    with pytest.raises(InputError, match="no such file"):
        read_cmudict(tmp_path / "none.zip")


def test_nettalk(data):
    path = data / "nettalk" / "nettalk.data.xz"
    words = read_nettalk(path)
    assert len(words) == 20_007
    assert words[1] == ("aback", "xb@k-", "0>1<<")
    assert len({phoneme for word in words for phoneme in word.phonemes}) == 51
    assert nettalk_sentences(path)[1] == list(zip("aback", "xb@k-"))
    assert nettalk_sentences(path, joint_stress=True)[1][:2] == [("a", "x0"), ("b", "b>")]


def test_nettalk_alignments_are_found_again(data):
    """With the silent letters taken out of the sound, EM puts most phonemes back on the letter they came from."""
    words = read_nettalk(data / "nettalk" / "nettalk.data.xz")
    pairs = [(word.letters, list(word.phonemes.replace("-", ""))) for word in words]
    aligner = Aligner(1).fit(pairs)
    assert aligner.n_dropped_ == 0
    right = total = 0
    for word, labels in zip(words, aligner.align_all(pairs)):
        right += sum(a == b.replace("_", "-") for a, b in zip(word.phonemes, labels))
        total += len(labels)
    assert right / total > 0.95


@pytest.mark.slow
def test_cmudict(data):
    path = data / "nltk" / "cmudict.zip"
    pairs = read_cmudict(path)
    assert len(pairs) == 133_737
    assert len({phoneme for _, sound in pairs for phoneme in sound}) == 39
    aligner = Aligner().fit(pairs)
    assert aligner.n_dropped_ < 100
    assert np.all(np.diff(aligner.log_likelihoods_) > 0)
    assert aligner.align("exhaust", ["IH", "G", "Z", "AO", "S", "T"]) == [
        "IH",
        "G|Z",
        "_",
        "AO",
        "_",
        "S",
        "T",
    ]
    assert aligner.align("knight", ["N", "AY", "T"]) == ["_", "N", "AY", "_", "_", "T"]
    sentences = cmudict_sentences(path, aligner=aligner)
    assert len(sentences) == len(pairs) - aligner.n_dropped_
    labels = Counter(label for sentence in sentences for _, label in sentence)
    assert sum(n for label, n in labels.items() if "|" in label) < 0.02 * labels.total()
