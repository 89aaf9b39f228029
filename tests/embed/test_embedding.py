"""The estimator: every method end to end, files, and what a user may get wrong."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spinney.corpus import sample_sentences, sentence_arrays
from spinney.embed import Embedding
from spinney.embed.embedding import METHODS
from spinney.errors import ModelFileError, NotFittedError, OptionError
from spinney.files import read_model, write_model

SMALL = {"sparse": 13, "lasso": 6}


@pytest.fixture(scope="module")
def text():
    return sentence_arrays(sample_sentences(), min_count=3, unknown="<unk>")


@pytest.fixture(scope="module")
def fitted(text):
    passes = {"lrmvl": {"passes": 2}}
    return {
        method: Embedding(method, SMALL.get(method, 10), **passes.get(method, {})).fit(text)
        for method in METHODS
    }


def dense(vectors):
    return vectors.toarray() if hasattr(vectors, "toarray") else vectors


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_vector_to_each_word(fitted, text, method):
    embedding = fitted[method]
    vectors = embedding.word_vectors()
    assert vectors.words == list(text.vocabulary.words)
    assert vectors.dimension == SMALL.get(method, 10)
    assert np.all(np.isfinite(dense(embedding.vectors_)))
    if method not in SMALL:
        lengths = np.linalg.norm(embedding.vectors_, axis=1)
        assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    assert embedding.facts["tokens"] == text.n_tokens
    assert embedding.facts["method"] == method


@pytest.mark.parametrize("method", METHODS)
def test_a_file_brings_back_the_same(fitted, text, method, tmp_path):
    embedding = fitted[method]
    path = tmp_path / "model.spinney"
    embedding.save(path)
    again = Embedding.load(path)
    assert_array_equal(dense(again.vectors_), dense(embedding.vectors_))
    assert_array_equal(again.singular_values_, embedding.singular_values_)
    assert again.facts == embedding.facts
    assert again.vocabulary_.words == embedding.vocabulary_.words
    assert_array_equal(again.token_vectors(text), embedding.token_vectors(text))
    if method in SMALL:
        with pytest.raises(OptionError, match="no states"):
            again.token_states(text)
    else:
        assert_array_equal(again.token_states(text), embedding.token_states(text))
    assert (again.parent_ is None) == (method != "sparse")


def test_codes_are_zero_below_a_zero(fitted):
    codes, parent = fitted["sparse"].vectors_.toarray(), fitted["sparse"].parent_
    for child, above in enumerate(parent):
        if above >= 0:
            assert np.all(codes[codes[:, above] == 0, child] == 0)


def test_dimensions_of_codes_count_alike_unless_plain(text, fitted):
    equal = fitted["sparse"].vectors_.toarray()
    plain = Embedding("sparse", SMALL["sparse"], columns="plain", random_state=0).fit(text).vectors_.toarray()
    used = plain.any(axis=0)
    squares = np.mean(np.square(equal, dtype=np.float64), axis=0)
    np.testing.assert_allclose(squares[used], 1.0, rtol=1e-5)
    ratios = plain[:, used] / np.sqrt(np.mean(np.square(plain, dtype=np.float64), axis=0))[used]
    np.testing.assert_allclose(equal[:, used], ratios, rtol=1e-4)
    assert not np.any(equal[:, ~used])


def test_codes_of_files_from_before_there_was_a_choice_are_plain(text, fitted, tmp_path):
    path = tmp_path / "old.spinney"
    fitted["sparse"].save(path)
    damaged(path, lambda header, tensors: header["settings"].pop("columns"))
    again = Embedding.load(path)
    assert again.how.columns == "plain"
    assert_array_equal(again.vectors_.toarray(), fitted["sparse"].vectors_.toarray())


def test_codes_entry_by_entry(text):
    embedding = Embedding("sparse", 13, coding="stochastic", passes=2).fit(text)
    assert embedding.vectors_.shape == (len(text.vocabulary), 13)
    assert "gap" not in embedding.facts
    with pytest.raises(OptionError, match="dictionary or stochastic"):
        Embedding("sparse", 13, coding="magic").fit(text)


def test_states_look_at_the_context_alone(fitted, text):
    """The same context around two words gives them the same state."""
    words = text.vocabulary.words
    around = [words[5], words[6], words[7], words[8]]
    both = sentence_arrays(
        [[*around[:2], words[i], *around[2:]] for i in (9, 10)], vocabulary=text.vocabulary
    )
    for method in ("cca", "tscca", "lrmvl", "pmi"):
        states = fitted[method].token_states(both)
        assert_array_equal(states[2], states[7])
        assert np.any(states[2] != states[1])


def test_options_reach_the_method(text):
    plain = Embedding("cca", 5).fit(text)
    for options in (
        {"window": 2}, {"window": (0, 1)}, {"weighting": "flat"}, {"positional": True}, {"edges": True},
        {"contexts": 50}, {"transform": "log"}, {"pseudo": 5.0}, {"context_exponent": 0.75}, {"center": True},
        {"exponent": 1.0}, {"rows": "plain"}, {"rows": "canonical"},
    ):  # fmt: skip
        other = Embedding("cca", 5, **options).fit(text)
        assert not np.allclose(plain.vectors_, other.vectors_), options
    for options in ({"floor": 1.0}, {"shift": 1.0}, {"min_pair": 3}):
        other = Embedding("pmi", 5, **options).fit(text)
        assert not np.allclose(Embedding("pmi", 5).fit(text).vectors_, other.vectors_), options


def test_more_dimensions_than_words():
    arrays = sentence_arrays([["a", "b"], ["b", "a", "c"]])
    assert Embedding("cca", 50).fit(arrays).vectors_.shape[0] == 3


def test_one_word():
    arrays = sentence_arrays([["a"], ["a"]])
    assert np.all(np.isfinite(Embedding("cca", 2).fit(arrays).vectors_))


def test_vectors_of_lower_cased_text_are_found_for_capitals(text):
    embedding = Embedding("cca", 5).fit(text, reading={"lowercase": True})
    assert embedding.word_vectors().lowercase


def test_mistakes(text):
    with pytest.raises(OptionError, match="method must be one of"):
        Embedding("word2vec").fit(text)
    with pytest.raises(OptionError, match="dimensions"):
        Embedding("cca", -1).fit(text)
    with pytest.raises(OptionError, match="positional is a setting of"):
        Embedding("lrmvl", positional=True).fit(text)
    with pytest.raises(OptionError, match="no words"):
        Embedding("cca").fit(sentence_arrays([]))
    with pytest.raises(NotFittedError):
        Embedding("cca").word_vectors()
    other = sentence_arrays([["another", "vocabulary"]])
    with pytest.raises(OptionError, match="another vocabulary"):
        Embedding("cca", 3).fit(text).token_states(other)


def damaged(path, change):
    model = read_model(path, Embedding.kind)
    header, tensors = dict(model.header), dict(model.tensors)
    change(header, tensors)
    write_model(path, Embedding.kind, header, tensors, {"words": model.texts("words")})


@pytest.mark.parametrize(
    "change",
    [
        lambda h, t: h["settings"].pop("method"),
        lambda h, t: h["settings"].update(method="magic"),
        lambda h, t: h["facts"].pop("reading"),
        lambda h, t: h["states"][0].update(kind="other"),
        lambda h, t: h["states"][0].update(n_contexts=10**6),
        lambda h, t: t.update({"states0.blocks": t["states0.blocks"] + 3}),
        lambda h, t: t.update({"states0.blocks": t["states0.blocks"] - 1}),
        lambda h, t: t.update({"states0.offsets": t["states0.offsets"][:-1]}),
        lambda h, t: t.update({"vectors": t["vectors"][:-1]}),
        lambda h, t: t.update({"vectors": t["vectors"].astype(float)}),
        lambda h, t: t.pop("counts"),
    ],
)
def test_a_damaged_file_is_refused(fitted, tmp_path, change):
    path = tmp_path / "model.spinney"
    fitted["cca"].save(path)
    damaged(path, change)
    with pytest.raises(ModelFileError):
        Embedding.load(path)


@pytest.mark.slow
@pytest.mark.skipif("SPINNEY_DATA" not in os.environ, reason="SPINNEY_DATA is not set: no real corpora")
def test_eigenwords_of_real_text_follow_what_people_say():
    """Brown and PTB, two million tokens: above .3 on frequent words, where chance is 0."""
    from pathlib import Path

    from spinney.corpus import read_text
    from spinney.evaluate import read_word_pairs, word_similarity

    data = Path(os.environ["SPINNEY_DATA"])
    text = read_text(
        [data / "parsed" / "imdb.conllu.xz"] if (data / "parsed" / "imdb.conllu.xz").exists()
        else [data / "parsed" / "reuters.conllu.xz", data / "parsed" / "brown.conllu.xz"],
        lowercase=True, min_count=5,
    )  # fmt: skip
    vectors = Embedding("cca").fit(text, reading={"lowercase": True}).word_vectors()
    pairs = read_word_pairs(data / "word_similarity" / "mfaruqui" / "EN-MEN-TR-3k.txt")
    assert word_similarity(vectors, pairs, "cosine")["spearman"] > 0.3
