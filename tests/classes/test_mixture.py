"""Soft classes of pairs of words: what they find, the likelihood of text, and their files."""

import json
from itertools import product

import numpy as np
import pytest

import spinney
from spinney.classes import PairClasses, fit, pair_counts
from spinney.classes.mixture import with_start
from spinney.cli.main import run
from spinney.corpus import sentence_arrays
from spinney.errors import ModelFileError, SettingError
from spinney.files import write_model
from spinney.structure.reading import word_classes, word_vectors

KINDS = (["the", "a", "this"], ["dog", "cat", "bird"], ["barks", "sleeps"])
TEXT = [list(words) for words in product(*KINDS)] * 5


@pytest.fixture(scope="module")
def model():
    return fit(TEXT, method="pairs", classes=3, min_count=1)


def test_kinds_of_words_are_found(model):
    found = sorted(sorted(word for word, p in words if p > 0.01) for words in model.class_words(range(3), 5))
    assert found == sorted(sorted(some) for some in KINDS)
    classes = model.word_classes()
    assert classes["dog"] == classes["cat"] != classes["the"]
    determiner, noun, verb = (classes[some[0]] for some in KINDS)
    after = model.transitions()
    assert after[noun, determiner] == pytest.approx(1)
    assert after[verb, noun] == pytest.approx(1)
    assert not after[:, verb].any()
    assert model.classes_of_word("dog") == [(noun, pytest.approx(1))]


def test_a_word_may_have_several_classes():
    """A saw (after an article) and they saw (before one)."""
    text = [["the", "saw"], ["the", "dog"], ["they", "saw", "the", "dog"], ["they", "see", "the", "saw"]] * 20
    model = fit(text, method="pairs", classes=4, restarts=10)
    shares = dict(model.classes_of_word("saw"))
    assert len(shares) == 2
    assert min(shares.values()) == pytest.approx(1 / 3, abs=0.05)
    vectors = model.comparable_vectors()
    assert {word for word, _ in vectors.neighbours("saw", 2, "hellinger")} == {"dog", "see"}


def test_likelihood_is_that_of_the_definition(model):
    text = sentence_arrays([["the", "dog", "sleeps"], ["dog", "a"]], vocabulary=model.vocabulary)
    unigram = (model.vocabulary_.counts + 0.5) / (model.vocabulary_.counts + 0.5).sum()
    expected = 0.0
    for sentence in text:
        before = len(model.vocabulary_)
        for word in sentence:
            law = model.following[before] @ model.emission[word]
            share = model.interpolation if model.following[before].any() else 1.0
            expected += np.log((1 - share) * law + share * unigram[word])
            before = word
    assert model.held_out(text)["log_likelihood"] == pytest.approx(expected)
    # What fit reports is the training text without interpolation.
    whole = sentence_arrays(TEXT, vocabulary=model.vocabulary)
    plain = PairClasses(model.vocabulary_, model.following, model.emission, model.shares, 0.0, model.facts)
    value = plain.held_out(whole)["log_likelihood"] / whole.n_tokens
    assert model.facts["log_likelihood"] == pytest.approx(value)


def test_starts_of_sentences_are_pairs():
    arrays = sentence_arrays([["a", "b"], ["a"]])
    assert with_start(pair_counts(arrays)).toarray().tolist() == [[0, 1], [0, 0], [2, 0]]


def test_command_and_files(model, tmp_path, capsys):
    text, file = tmp_path / "text.txt", str(tmp_path / "m.spinney")
    text.write_text("".join(" ".join(words) + "\n" for words in TEXT))
    assert run(["classes", "fit", str(text), "--method", "pairs", "--classes", "3", "--model", file]) == 0
    assert "log-likelihood per token" in capsys.readouterr().out
    again = spinney.load(file)
    np.testing.assert_allclose(again.emission, model.emission, atol=1e-6)
    assert word_classes(file)["dog"] == word_classes(file)["bird"]
    assert word_vectors(file).dimension == 3
    for command in (["inspect", file], ["inspect", file, "--word", "dog"], ["neighbours", file, "dog"]):
        assert run(["classes", *command]) == 0
    assert run(["classes", "eval", file, str(text), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["perplexity"] < 4
    assert (
        run(["classes", "fit", str(text), "--method", "hmm", "--init", file, "--model", f"{file}.hmm"]) == 0
    )
    assert model.report_views(TEXT[:2])
    assert next(iter(model.apply([["the", "dog", "zzz"]])))["class"][2] == "_"
    noun = model.word_classes()["dog"]
    assert next(iter(model.apply([["dog"]], what="type", top=1)))["type"] == [f"{noun}:1"]


def test_trees(tmp_path):
    path = tmp_path / "trees.conllu"
    row = "{}\t{}\t_\t_\t_\t_\t{}\tdep\t_\t_\n"
    path.write_text(
        "".join(row.format(1, a, 2) + row.format(2, b, 3) + row.format(3, c, 0) + "\n" for a, b, c in TEXT)
    )
    model = fit(str(path), method="pairs", classes=3, tree=True)
    classes = model.word_classes()
    assert model.transitions()[classes["dog"], classes["sleeps"]] == pytest.approx(1)


def test_mistakes(model, tmp_path):
    with pytest.raises(SettingError, match="refine is a setting of"):
        fit(TEXT, method="pairs", refine=2)
    contents = model.contents()
    for name, wrong in [
        ("shares", np.array([0.5, 0.6, -0.1])),
        ("emission", np.zeros((8, 3), np.float32)),
        ("following", np.ones((8, 3), np.float32)),
    ]:
        tensors = {**contents.tensors, name: wrong}
        write_model(tmp_path / "bad", model.kind, contents.header, tensors, contents.strings)
        with pytest.raises(ModelFileError, match="damaged"):
            spinney.load(tmp_path / "bad")
