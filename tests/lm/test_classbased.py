"""Models on classes: against their formula, and with whatever classes come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Vocabulary, sample_sentences, sentence_arrays
from spinney.errors import InputError, ModelFileError, OptionError
from spinney.lm.cache import CacheModel
from spinney.lm.classbased import (
    ClassModel,
    ClassTargetModel,
    classes_of_words,
    fit_class_model,
    fit_class_targets,
    log_emissions,
)
from spinney.lm.discounts import DiscountWarning
from spinney.lm.mixture import fit_linear
from spinney.lm.model import load_language_model
from spinney.lm.smoothing import fit_ngram
from spinney.structure import WordClasses

TEXT = [["a", "rose"], ["is", "a", "rose"], ["the", "dog", "is", "a", "dog"], ["the", "rose"], []]
CLASSES = WordClasses(["a", "the", "rose", "dog", "cat"], [4, 4, 1, 1, 2])


def fitted(order=2, unknown="<unk>", method="witten-bell"):
    return fit_class_model(sentence_arrays(TEXT, unknown=unknown), CLASSES, method, order=order)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("unknown", ["<unk>", None])
def test_class_then_word(order, unknown):
    model = fitted(order, unknown)
    stream = model.stream([["the", "cat", "is", "a", "rose"], ["dog"], []])
    logprobs = model.event_logprobs(stream)
    of_classes = model.class_model
    for event, logprob in zip(stream.events, logprobs):
        p = model.distribution(stream.ids[:event])
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        predicted = stream.ids[event]
        np.testing.assert_allclose(np.exp(logprob), p[predicted] if predicted >= 0 else 0.0, rtol=1e-10)
    # "the rose": the class of "a" and "the" goes on with that of "rose" and "dog", and 3 of 5 of these are "rose".
    names = {word: str(model.class_of[model.vocabulary[word]]) for word in ("the", "rose")}
    wanted = of_classes.logprob([names["the"], names["rose"]])[1] + np.log(3 / 5)
    assert model.logprob(["the", "rose"])[1] == pytest.approx(wanted)
    np.testing.assert_array_equal(
        model.match_depths(model.stream([["a", "rose"]])), np.minimum([1, 2, 3], order - 1)
    )


# -- classes after words --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("unknown", ["<unk>", None])
def test_class_after_words(order, unknown):
    model = fit_class_targets(sentence_arrays(TEXT, unknown=unknown), CLASSES, order=order)
    stream = model.stream([["the", "cat", "is", "a", "rose"], ["is", "a", "dog"], []])
    for event, logprob in zip(stream.events, model.event_logprobs(stream)):
        p = model.distribution(stream.ids[:event])
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        predicted = stream.ids[event]
        np.testing.assert_allclose(np.exp(logprob), p[predicted] if predicted >= 0 else 0.0, rtol=1e-10)
    assert model.distribution(model.history(["is", "a"], start=False)).sum() == pytest.approx(1.0, abs=1e-12)
    depths = model.match_depths(model.stream([["is", "a", "the"]]))
    np.testing.assert_array_equal(depths, np.minimum([1, 2, 3, 1], order - 1))


@pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")
@pytest.mark.parametrize("order", [1, 3])
def test_one_class_after_words_for_each_word_is_the_model_of_words(order):
    sentences = list(sample_sentences())
    text = sentence_arrays(sentences[:-20], min_count=2, unknown="<unk>")
    words = text.vocabulary.words
    by_class = fit_class_targets(text, WordClasses(list(words), range(len(words))), order=order)
    plain = fit_ngram(text, "modified-kneser-ney", order=order)
    stream = plain.stream(sentences[-20:])
    np.testing.assert_allclose(by_class.event_logprobs(stream), plain.event_logprobs(stream), rtol=1e-10)
    np.testing.assert_array_equal(by_class.match_depths(stream), plain.match_depths(stream))


def test_files_of_class_targets(tmp_path, monkeypatch):
    with pytest.warns(DiscountWarning):
        model = fit_class_targets(sentence_arrays(TEXT, unknown="<unk>"), CLASSES)
    model.save(tmp_path / "m")
    loaded = load_language_model(tmp_path / "m")
    assert isinstance(loaded, ClassTargetModel)
    np.testing.assert_array_equal(loaded.logprob(["a", "cat"]), model.logprob(["a", "cat"]))
    own = model.parts()
    monkeypatch.setattr("spinney.model._refuse_nan", lambda *_: None)  # which would not save it
    for name, value in [
        ("logp", model.logp[1:]),
        ("logp", model.logp + 10),
        ("backoff", model.backoff * np.nan),
    ]:
        monkeypatch.setattr(
            model, "parts", lambda n=name, v=value: own._replace(tensors={**own.tensors, n: v})
        )
        model.save(tmp_path / "m")
        with pytest.raises(ModelFileError, match="damaged"):
            load_language_model(tmp_path / "m")
    for name in ("n_outcomes", "n_symbols"):
        header = {**own.header, name: own.header[name] + 1}
        monkeypatch.setattr(model, "parts", lambda h=header: own._replace(header=h))
        model.save(tmp_path / "m")
        with pytest.raises(ModelFileError, match="damaged"):
            load_language_model(tmp_path / "m")


# -- classes and words ----------------------------------------------------------------------------------------


def test_every_class_has_a_word():
    words = Vocabulary(("a", "is", "rose", "<unk>"), [1] * 4, "<unk>")
    np.testing.assert_array_equal(classes_of_words(words, CLASSES), [1, 2, 0, 2])  # no class: a new one
    known = WordClasses(["<unk>", "rose"], [0, 3])
    np.testing.assert_array_equal(classes_of_words(words, known), [0, 0, 1, 0])
    others = WordClasses(["rose"], [3], unknown=5)
    np.testing.assert_array_equal(classes_of_words(words, others), [1, 1, 0, 1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=20))
def test_words_of_a_class_sum_to_one(pairs):
    counts, raw = np.array(pairs, np.int64).T
    class_of = np.unique(raw, return_inverse=True)[1].astype(np.int32)
    p = np.exp(log_emissions(np.ascontiguousarray(counts), class_of))
    assert np.all(p > 0)
    np.testing.assert_allclose(np.bincount(class_of, p), 1.0, atol=1e-12)
    for c in range(class_of.max() + 1):  # what is seen more often is likelier, and seen than unseen
        own = np.flatnonzero(class_of == c)
        order = own[np.argsort(counts[own])]
        seen = order[counts[order] > 0]
        assert np.all(np.diff(p[seen]) >= -1e-15)


def test_one_class_for_each_word_is_the_model_of_words():
    text = sentence_arrays(TEXT)
    words = text.vocabulary.words
    by_class = fit_class_model(
        text, WordClasses(list(words), range(len(words))), order=3, method="kneser-ney"
    )
    plain = fit_ngram(text, "kneser-ney", order=3)
    np.testing.assert_allclose(by_class.logprob(["the", "rose", "is"]), plain.logprob(["the", "rose", "is"]))


def test_any_model_of_classes_will_do(tmp_path):
    model = fitted()
    cached = ClassModel(
        model.vocabulary, model.class_of, model.log_emission, CacheModel(model.class_model.vocabulary)
    )
    mixed = fit_linear({"classes": model, "cache": cached}, TEXT, "depth", min_events=3)
    mixed.save(tmp_path / "m")
    loaded = load_language_model(tmp_path / "m")
    np.testing.assert_allclose(
        loaded.logprob(["a", "rose"]), mixed.logprob(["a", "rose"]), rtol=1e-7
    )  # single precision
    assert mixed.distribution(mixed.history(["a"], start=True)).sum() == pytest.approx(1.0)


def test_files(tmp_path):
    model = fitted()
    model.save(tmp_path / "m")
    loaded = load_language_model(tmp_path / "m")
    assert isinstance(loaded, ClassModel)
    assert loaded.facts == model.facts
    np.testing.assert_allclose(
        loaded.logprob(["a", "cat"]), model.logprob(["a", "cat"]), rtol=1e-7
    )  # single precision


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("class_of", np.array([0, 9, 0, 0, 0, 0], np.int32)),
        ("class_of", np.array([0], np.int32)),
        ("log_emission", np.zeros(6)),
        ("log_emission", np.full(6, np.nan)),
        ("class_counts", np.array([-1, 2, 3])),
        ("class_counts", np.array([2, 3])),
    ],
)
def test_damaged_files(tmp_path, monkeypatch, name, value):
    monkeypatch.setattr("spinney.model._refuse_nan", lambda *_: None)  # which would not save it
    model = fitted()
    own = model.parts()
    monkeypatch.setattr(model, "parts", lambda: own._replace(tensors={**own.tensors, name: value}))
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="damaged"):
        load_language_model(tmp_path / "m")


def test_bad_input():
    for fit in (fit_class_model, fit_class_targets):
        with pytest.raises(InputError, match="<s>"):
            fit(sentence_arrays([["<s>", "a"]]), CLASSES)
        with pytest.raises(OptionError, match="order"):
            fit(sentence_arrays(TEXT), CLASSES, order=0)
    model = fitted()
    with pytest.raises(OptionError):
        ClassModel(model.vocabulary, model.class_of[:-1], model.log_emission, model.class_model)


@pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")
@pytest.mark.parametrize("text", [[], [[]], [["a"]]])
def test_tiny_texts(text):
    arrays = sentence_arrays(text, unknown="<unk>")
    for model in (
        fit_class_model(arrays, CLASSES, "witten-bell", order=2),
        fit_class_targets(arrays, CLASSES),
    ):
        assert model.distribution(model.history(["a"], start=True)).sum() == pytest.approx(1.0)


def test_classes_help_where_text_is_scarce():
    sentences = list(sample_sentences())
    text = sentence_arrays(sentences[: len(sentences) * 3 // 4], min_count=2, unknown="<unk>")
    frequent = np.argsort(-text.vocabulary.counts, kind="stable")
    ids = np.empty(len(frequent), np.int64)
    ids[frequent] = np.minimum(np.arange(len(frequent)), 100)  # frequent words alone, all others together
    held_out = sentences[len(sentences) * 3 // 4 :]
    by_class = fit_class_model(text, WordClasses(list(text.vocabulary.words), ids), "witten-bell", order=3)
    plain = fit_ngram(text, "witten-bell", order=3)
    mixed = fit_linear({"words": plain, "classes": by_class}, held_out)
    assert mixed.perplexity(held_out).perplexity < 0.98 * plain.perplexity(held_out).perplexity
