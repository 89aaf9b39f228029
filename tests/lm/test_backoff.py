"""Back-off tables: queries, files, and files made to harm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import sample_sentences, sentence_arrays
from spinney.errors import ModelFileError, OptionError
from spinney.files import read_model, write_model
from spinney.lm.model import load_language_model
from spinney.lm.smoothing import fit_ngram
from spinney.lm.stream import Stream

pytestmark = pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")


@pytest.fixture(scope="module")
def sentences():
    return list(sample_sentences())


@pytest.fixture(scope="module")
def model(sentences):
    return fit_ngram(sentence_arrays(sentences, min_count=2, unknown="<unk>"), order=4)


def strings(model):
    """log p and back-off weights by string."""
    table = model.table
    grams, weights = {}, {}
    for order in range(1, table.order + 1):
        place = range(table.n_grams)[table.grams_of(order)]
        for g, symbols in zip(place, map(tuple, table.strings(order).tolist())):
            grams[symbols] = model.logp[g]
            if table.following[g] >= 0:
                weights[symbols] = model.backoff[table.following[g]]
    return grams, weights


def by_definition(model, grams, weights, words):
    """log p of each event: the longest gram that was seen, and the weights above it."""
    seq = [model.start, *model.vocabulary.encode(words).tolist(), model.start - 1]
    values = []
    for i in range(1, len(seq)):
        x = tuple(seq[max(0, i - model.order + 1) : i])
        total = 0.0
        while (*x, seq[i]) not in grams:
            total += weights.get(x, 0.0)
            x = x[1:]
        values.append(total + grams[(*x, seq[i])])
    return values


def test_scores_follow_the_definition(model, sentences):
    tables = strings(model)
    for words in [*sentences[:20], [*sentences[0][:3], "nowhere", *sentences[1]], []]:
        np.testing.assert_allclose(model.logprob(words), by_definition(model, *tables, words), rtol=1e-13)


def test_batches_equal_single_sentences(model, sentences):
    together = model.event_logprobs(model.stream(sentences))
    np.testing.assert_array_equal(together, np.concatenate([model.logprob(words) for words in sentences]))
    assert model.score(sentences[0]) == pytest.approx(
        model.logprob(sentences[0]).sum() / np.log(10), rel=1e-12
    )
    assert model.score(sentences[0], end=False) == pytest.approx(
        model.logprob(sentences[0])[:-1].sum() / np.log(10), rel=1e-12
    )


def test_match_depths(model, sentences):
    stream = model.stream([sentences[0]])
    assert model.match_depths(stream).tolist() == [min(r, 3) for r in stream.room[stream.events]]
    strange = model.stream([["nowhere", "nowhere", "nowhere"]])
    table = model.table
    known = {
        tuple(row)
        for k in (1, 2, 3)
        for row in table.strings(k)[table.following[table.grams_of(k)] >= 0].tolist()
    }
    seq = strange.ids.tolist()
    wanted = []
    for i in range(1, len(seq)):
        depth = 0
        while depth < min(i, 3) and tuple(seq[i - depth - 1 : i]) in known:
            depth += 1
        wanted.append(depth)
    assert model.match_depths(strange).tolist() == wanted


def test_links_are_the_same_strings(model):
    table = model.table
    assert table.is_sound()
    order_of = {}
    for order in range(1, table.order + 1):
        for symbols in table.strings(order).tolist():
            order_of[tuple(symbols)] = order
    assert len(order_of) == table.n_grams


def test_a_stream_of_another_vocabulary_is_refused(model):
    ids = np.array([model.start, model.start + 1], np.int32)
    with pytest.raises(OptionError, match="numbers"):
        model.event_logprobs(Stream(ids, np.array([0, 1], np.int32)))
    with pytest.raises(OptionError, match="numbers"):
        model.distribution(ids)


@pytest.mark.parametrize("method", ["modified-kneser-ney", "katz", "additive"])
def test_files(tmp_path, sentences, method):
    text = sentence_arrays(sentences, min_count=2, unknown="<unk>")
    model = fit_ngram(text, method, order=3)
    path = tmp_path / "model.spinney"
    model.save(path)
    again = load_language_model(path)
    assert again.kind == model.kind
    assert again.facts == model.facts
    assert again.vocabulary == model.vocabulary
    stream = model.stream(text)
    np.testing.assert_array_equal(again.event_logprobs(stream), model.event_logprobs(stream))


def rewritten(path, changed, tensors):
    file = read_model(path)
    header = dict(file.header)
    write_model(changed, file.kind, header, {**file.tensors, **tensors}, {"words": file.texts("words")})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("levels", lambda a: a[:-1]),
        ("levels", lambda a: np.append(a, a[-1] + 1)),
        ("levels", lambda a: a + 1),
        ("gram_ptr", lambda a: a[::-1].copy()),
        ("gram_ptr", lambda a: a + 1),
        ("gram_ptr", lambda a: a[:1]),
        ("symbol", lambda a: a + 1),
        ("symbol", lambda a: np.where(np.arange(len(a)) == len(a) - 1, -1, a).astype(np.int32)),
        ("symbol", lambda a: a[:-1]),
        ("following", lambda a: np.where(np.arange(len(a)) == 0, 10**6, a).astype(np.int32)),
        ("following", lambda a: np.zeros_like(a)),
        ("following", lambda a: np.full_like(a, -1)),
        ("following", lambda a: np.roll(a, 1)),
        ("following", lambda a: a.astype(np.int64)),
        ("logp", lambda a: a + 100.0),
        ("logp", lambda a: a * np.nan),
        ("logp", lambda a: a[1:]),
        ("backoff", lambda a: a + np.inf),
        ("backoff", lambda a: a[1:]),
        ("floor", lambda a: a + 100.0),
        ("floor", lambda a: a[1:]),
    ],
)
def test_damaged_files(tmp_path, name, change):
    method = "additive" if name == "floor" else "witten-bell"
    model = fit_ngram(sentence_arrays([["a", "b", "a"], ["b", "c"]]), method, order=3)
    path = tmp_path / "model.spinney"
    model.save(path)
    rewritten(path, path, {name: change(np.array(read_model(path).tensors[name]))})
    with pytest.raises(ModelFileError, match="damaged"):
        load_language_model(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_damage_crashes(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("hostile")
    model = fit_ngram(sentence_arrays([["a", "b", "a"], ["b", "c"]]), "witten-bell", order=3)
    model.save(folder / "good")
    tensors = {k: np.array(v) for k, v in read_model(folder / "good").tensors.items()}
    for _ in range(data.draw(st.integers(1, 3))):
        array = tensors[data.draw(st.sampled_from(sorted(tensors)))]
        array[data.draw(st.integers(0, len(array) - 1))] = data.draw(st.integers(-3, 30))
    rewritten(folder / "good", folder / "bad", tensors)
    try:
        bad = load_language_model(folder / "bad")
    except ModelFileError:
        return
    assert bad.kind == "lm/BackoffModel"
    bad.logprob(["a", "b", "c", "x", "a"])
    bad.next_words(["a", "b"])
    bad.match_depths(bad.stream([["a", "b", "c"]]))
