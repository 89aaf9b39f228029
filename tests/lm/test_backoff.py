"""Back-off tables: queries, files, and files made to harm."""

from __future__ import annotations

import pickle
from itertools import pairwise

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


def test_a_model_that_was_asked_can_be_sent_elsewhere(model, sentences):
    line = " ".join(sentences[0])
    asked = model.score(line), model.score(sentences[0])
    again = pickle.loads(pickle.dumps(model))
    assert (again.score(line), again.score(sentences[0])) == asked


def test_sentences_of_many_blocks(model, sentences):
    words = [word for sentence in sentences for word in sentence][:2000]
    assert model.score(" ".join(words)) == pytest.approx(model.logprob(words).sum() / np.log(10), rel=1e-12)


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
    path, second = tmp_path / "model.spinney", tmp_path / "again.spinney"
    model.save(path)
    again = load_language_model(path)
    assert again.kind == model.kind
    assert again.facts == model.facts
    assert again.vocabulary == model.vocabulary
    assert again.table.is_sound()
    stream = model.stream(text)
    if method == "additive":
        np.testing.assert_array_equal(again.event_logprobs(stream), model.event_logprobs(stream))
    else:  # files are in single precision, here and in KenLM
        assert again.perplexity(text).perplexity == pytest.approx(model.perplexity(text).perplexity, rel=1e-6)
        np.testing.assert_array_equal(again.match_depths(stream), model.match_depths(stream))
        logs, weights = strings(model)
        stored, stored_weights = strings(again)
        assert set(stored) == set(logs)
        assert set(stored_weights) == set(weights)
        np.testing.assert_allclose([stored[g] for g in logs], list(logs.values()), rtol=1e-7)
        np.testing.assert_allclose([stored_weights[c] for c in weights], list(weights.values()), rtol=1e-7)
    again.save(second)
    assert second.read_bytes() == path.read_bytes()


def test_a_file_takes_no_more_than_kenlm_s_trie(tmp_path, model):
    """Its bits: word, probability (31), back-off weight (32), pointer; of the highest order the first two."""
    table = model.table
    n = [table.grams_of(k).stop - table.grams_of(k).start for k in range(1, 5)]
    word = (table.n_symbols - 1).bit_length()
    bits = (
        128 * n[0] + sum(a * (word + 63 + b.bit_length()) for a, b in pairwise(n[1:])) + n[-1] * (word + 31)
    )
    model.save(tmp_path / "m.spinney")
    tensors = read_model(tmp_path / "m.spinney").tensors
    assert sum(array.nbytes for name, array in tensors.items() if name != "word_counts") <= bits / 8


def test_files_of_earlier_versions(tmp_path, model, sentences):
    table = model.table
    old = {
        "levels": table.levels,
        "gram_ptr": table.gram_ptr,
        "symbol": table.symbol,
        "following": table.following,
    }
    old |= {"logp": model.logp, "backoff": model.backoff, "word_counts": model.vocabulary.counts}
    path = tmp_path / "old.spinney"
    header = {"facts": model.facts, "unknown": "<unk>"}
    write_model(path, "lm/BackoffModel", header, old, {"words": model.vocabulary.words})
    again = load_language_model(path)
    np.testing.assert_array_equal(again.logprob(sentences[3]), model.logprob(sentences[3]))
    write_model(
        path,
        "lm/BackoffModel",
        header,
        {**old, "following": np.roll(table.following, 1)},
        {"words": model.vocabulary.words},
    )
    with pytest.raises(ModelFileError, match="damaged"):
        load_language_model(path)


def test_many_symbols_and_many_grams(tmp_path):
    """More than 65,536 symbols take three bytes, and a context with 255 grams and more takes a list."""
    words = [f"w{i}" for i in range(66_000)]
    model = fit_ngram(
        sentence_arrays([words, *([word, "w0"] for word in words[:400])]), "witten-bell", order=2
    )
    model.save(tmp_path / "m.spinney")
    again = load_language_model(tmp_path / "m.spinney")
    for sentence in ([words[65_999], "w1"], ["w5", "w0", "w1"]):
        np.testing.assert_allclose(again.logprob(sentence), model.logprob(sentence), rtol=1e-6)


def test_sentences_as_strings(model, sentences):
    """A string is split at white space as a reader would; what cannot be joined goes word by word."""
    lines = [" ".join(words) for words in sentences[:50]]
    wanted = [model.logprob(words).sum() / np.log(10) for words in sentences[:50]]
    np.testing.assert_allclose([model.score(line) for line in lines], wanted, rtol=1e-12)
    np.testing.assert_allclose(model.scores(lines), wanted, rtol=1e-12)
    np.testing.assert_allclose(model.scores(sentences[:50]), wanted, rtol=1e-12)
    spaced = "\t " + lines[0].replace(" ", " \x1c\n") + "\r\n"
    assert model.score(spaced) == model.score(sentences[0])
    np.testing.assert_array_equal(
        model.scores([spaced, "", lines[1]]), [model.score(t) for t in (lines[0], [], lines[1])]
    )
    assert model.scores([]).size == 0
    odd = ["the", "", "a b", "the\xa0end", "\ud800"]
    assert model.score(odd) == pytest.approx(model.logprob(odd).sum() / np.log(10), rel=1e-12)
    assert model.score(["a b", ""], end=False) == pytest.approx(
        model.logprob(["a b", ""])[:-1].sum() / np.log(10)
    )
    assert model.score(lines[0], end=False) == pytest.approx(model.score(sentences[0], end=False), rel=1e-12)


def test_a_closed_vocabulary_has_no_number_for_other_words():
    model = fit_ngram(sentence_arrays([["a", "b"], ["b", "a"]]), "witten-bell", order=2)
    assert model.score("a zz b") == -np.inf
    assert model.score("a b") == pytest.approx(model.logprob(["a", "b"]).sum() / np.log(10))


def test_blocks_of_a_long_text(model, sentences):
    """A sentence that is longer than a block of the kernel, and blocks that begin anywhere in a sentence."""
    long = [word for words in sentences[:60] for word in words]
    assert len(long) > 3 * 256
    tables = strings(model)
    np.testing.assert_allclose(model.logprob(long), by_definition(model, *tables, long), rtol=1e-13)


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
        ("sizes", lambda a: a[:-1]),
        ("sizes", lambda a: a + 1),
        ("sizes", lambda a: np.full_like(a, 255)),
        ("sizes", lambda a: a.astype(np.int64)),
        ("sizes.many", lambda a: np.append(a, 10**9)),
        ("symbol.low", lambda a: a + 100),
        ("symbol.low", lambda a: a[:-1]),
        ("linked", lambda a: a[:-1]),
        ("linked", lambda a: np.zeros_like(a)),
        ("linked", lambda a: np.full_like(a, 255)),
        ("linked", lambda a: np.roll(a, 1)),
        ("log10p.single", lambda a: a + np.float32(100)),
        ("log10p.single", lambda a: a * np.float32(np.nan)),
        ("log10p.single", lambda a: a[1:]),
        ("log10p.single", lambda a: a.astype(np.float64)),
        ("log10_backoff.single", lambda a: a + np.float32(np.inf)),
        ("log10_backoff.single", lambda a: a[1:]),
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


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_no_damage_crashes(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("hostile")
    model = fit_ngram(sentence_arrays([["a", "b", "a"], ["b", "c"]]), "witten-bell", order=3)
    model.save(folder / "good")
    tensors = {k: np.array(v) for k, v in read_model(folder / "good").tensors.items()}
    for _ in range(data.draw(st.integers(1, 3))):
        array = tensors[data.draw(st.sampled_from(sorted(k for k, v in tensors.items() if v.size)))]
        value = np.array(data.draw(st.integers(-3, 30)))
        array[data.draw(st.integers(0, len(array) - 1))] = value.astype(array.dtype)
    rewritten(folder / "good", folder / "bad", tensors)
    try:
        bad = load_language_model(folder / "bad")
    except ModelFileError:
        return
    assert bad.kind == "lm/BackoffModel"
    bad.logprob(["a", "b", "c", "x", "a"])
    bad.next_words(["a", "b"])
    bad.match_depths(bad.stream([["a", "b", "c"]]))
