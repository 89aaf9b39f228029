"""Estimating in passes gives the very model that a suffix trie gives, on disk as in memory, and has no bound of 2³¹."""

import errno
import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import TokenArrays, Vocabulary, sample_sentences, sentence_arrays
from spinney.errors import InputError, OptionError
from spinney.lm import streamed_kneser_ney as module
from spinney.lm.diskcolumns import Column
from spinney.lm.levels import highest_level, level_below
from spinney.lm.runs import Packing, Rows, Runs, events
from spinney.lm.smoothing import METHODS, fit_ngram
from spinney.lm.stream import stream_of
from spinney.lm.streamed_kneser_ney import STREAMED, streamed_kneser_ney
from spinney.lm.suffixtrie import suffix_trie

VOCABULARY = Vocabulary(tuple("abcd"), [1] * 4)  # d never comes
pytestmark = pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")


def from_trie(text, order, method="modified-kneser-ney", **options):
    trie = suffix_trie(stream_of(text), len(text.vocabulary), order - 1)
    return METHODS[method](trie, text.vocabulary, **options)


def assert_same(found, wanted):
    for name in ("levels", "gram_ptr", "symbol", "following"):
        left, right = getattr(found.table, name), getattr(wanted.table, name)
        np.testing.assert_array_equal(left, right, err_msg=name)
        assert left.dtype == right.dtype, name
    np.testing.assert_array_equal(found.logp, wanted.logp)
    np.testing.assert_array_equal(found.backoff, wanted.backoff)
    assert found.facts["discounts"] == wanted.facts["discounts"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=7), min_size=1, max_size=10),
    st.integers(1, 6),
    st.one_of(st.none(), st.integers(1, 3000)),
    st.sampled_from(STREAMED),
)
def test_equal_to_the_model_of_the_trie(text, order, memory, method):
    arrays = sentence_arrays(text, vocabulary=VOCABULARY)
    found = streamed_kneser_ney(arrays, order, method=method, memory=memory)
    assert_same(found, from_trie(arrays, order, method))


@pytest.mark.parametrize("order", [2, 3, 5, 12])  # rows of one number, and of several
def test_many_words_in_many_runs(tmp_path, order):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(3000)]
    text = [[words[i] for i in rng.zipf(1.3, n) % 3000] for n in rng.integers(0, 25, 300)]
    sentence_arrays(text).save(tmp_path / "arrays")
    arrays = TokenArrays.load(tmp_path / "arrays")
    assert Packing.of(order, 3002).width == -(-order // 5)
    (tmp_path / "work").mkdir()
    found = streamed_kneser_ney(arrays, order, memory=5000, folder=tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []  # and yet the arrays are there
    assert_same(found, from_trie(arrays, order))
    assert_same(fit_ngram(arrays, order=order), found)


def test_discount_is_taken():
    text = sentence_arrays(sample_sentences(), unknown="<unk>")
    for discount in (0.4, (0.3, 0.5, 0.8)):
        found = streamed_kneser_ney(text, 3, method="kneser-ney", discount=discount, memory=10_000)
        assert_same(found, from_trie(text, 3, "kneser-ney", discount=discount))
    with pytest.raises(TypeError):
        fit_ngram(text, discount=0.4)  # modified Kneser-Ney has three of its own


def test_counts_beyond_32_bits(tmp_path):
    """A run with counts as a text of 10¹⁰ words would have them, merged with another."""
    packing, n_symbols = Packing.of(2, 5), 5  # a b c </s> <s>
    runs = Runs(partial(Column, tmp_path), packing, 1 << 20)
    grams = np.array([[0, 1], [0, 2], [4, 0]])  # a b, a c, <s> a
    keys = (grams[:, :1] << packing.bits) | grams[:, 1:]
    runs.add(keys, np.array([5_000_000_000, 3, 6_000_000_000]))
    runs.add(keys[:1], np.array([4_000_000_000]))
    rows = list(runs.merged())
    assert np.concatenate([counts for _, counts in rows]).tolist() == [9_000_000_000, 3, 6_000_000_000]
    level = highest_level(partial(Column, tmp_path), rows, packing, n_symbols)
    below = level_below(partial(Column, tmp_path), level, n_symbols, 10, ways=False)
    assert below.symbol.read(0, 9).tolist() == [0, 1, 2]
    assert below.count.read(0, 9).tolist() == [6_000_000_000, 9_000_000_000, 3]


def test_places_beyond_32_bits():
    """The last events of a text of more than 2³¹ words, which takes no memory here."""
    n = 2**31 + 10
    text = TokenArrays(np.broadcast_to(np.int32(7), n), np.array([0, 2**31 + 5, n]), VOCABULARY)
    ids, ends = events(text, n - 8, n + 2)
    assert ids.tolist() == [7] * 8
    assert ends.tolist() == [3, 8]


def test_numbers_of_grams_beyond_32_bits(tmp_path):
    estimate = module._Estimate(partial(Column, tmp_path), 5, 10)
    estimate._n_grams = 3_000_000_000  # as if that many were before
    p = Column(tmp_path, "p", np.float64)
    estimate._append(
        np.array([2]), np.array([0.5]), np.arange(2), np.array([-1, -1]), np.array([0.5, 0.5]), p
    )
    assert estimate.finished()[0].gram_ptr.tolist() == [0, 3_000_000_002]


def test_too_many_contexts_are_refused_before_they_are_numbered(monkeypatch):
    monkeypatch.setattr(module, "_MOST_CONTEXTS", 100)
    text = sentence_arrays(sample_sentences(), unknown="<unk>")
    with pytest.raises(InputError, match="more than 100 contexts"):
        streamed_kneser_ney(text, 3)


@pytest.mark.parametrize("fails_at", [0, 5, 40])
def test_a_full_disk_is_one_line_and_nothing_stays(monkeypatch, tmp_path, fails_at):
    write, calls = Column.write, iter(range(10**6))

    def full(self, start, values):
        if next(calls) >= fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, start, values)

    monkeypatch.setattr(Column, "write", full)
    text = sentence_arrays(sample_sentences(), unknown="<unk>")
    with pytest.raises(InputError, match=r"No space left on device.*give another folder"):
        streamed_kneser_ney(text, 3, memory=3000, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_stays_after_an_interrupt(monkeypatch, tmp_path):
    def interrupted(self):
        yield Rows(np.zeros((0, 1), np.int64), np.zeros(0, np.int64))
        raise KeyboardInterrupt

    monkeypatch.setattr(Runs, "merged", interrupted)
    with pytest.raises(KeyboardInterrupt):
        streamed_kneser_ney(sentence_arrays(sample_sentences()), 3, memory=10_000, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"memory": 0}, "memory"), ({"order": 0}, "order"), ({"discount": 1.5}, "discount")],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(OptionError, match=message):
        streamed_kneser_ney(sentence_arrays([["a"]]), **({"order": 2} | wrong))


def test_saving_from_disk_writes_the_same_file_in_little_memory(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    text = sentence_arrays([[words[i] for i in rng.integers(0, 300, 20)] for _ in range(5000)])
    monkeypatch.setattr("spinney.lm.diskcolumns._PIECE", 1 << 12)
    monkeypatch.setattr("spinney.lm.storedgrams._GRAMS", 1 << 12)
    held, on_disk = (
        streamed_kneser_ney(text, 4),
        streamed_kneser_ney(text, 4, memory=100_000, folder=tmp_path),
    )
    held.save(tmp_path / "held.spinney")
    tracemalloc.start()
    on_disk.save(tmp_path / "disk.spinney")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "disk.spinney").read_bytes() == (tmp_path / "held.spinney").read_bytes()
    assert held.table.n_grams > 200_000
    assert peak < 8 * held.table.n_grams  # whole arrays took more than 50 bytes for each n-gram
    assert {path.name for path in tmp_path.iterdir()} == {"held.spinney", "disk.spinney"}
