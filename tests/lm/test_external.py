"""Counting on disk gives what counting in memory gives."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import TokenArrays, Vocabulary, sample_sentences, sentence_arrays
from spinney.errors import InputError, OptionError
from spinney.lm.external import external_trie
from spinney.lm.kneser_ney import modified_kneser_ney
from spinney.lm.stream import stream_of
from spinney.lm.suffixtrie import suffix_trie

VOCABULARY = Vocabulary(tuple("abc"), [1] * 3)


def assert_same(found, wanted):
    for field in fields(wanted):
        left, right = getattr(found, field.name), getattr(wanted, field.name)
        np.testing.assert_array_equal(left, right, err_msg=field.name)
        assert np.asarray(left).dtype == np.asarray(right).dtype, field.name


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=7), max_size=10),
    st.one_of(st.none(), st.integers(0, 4)),
    st.integers(1, 40),
    st.booleans(),
)
def test_equal_to_the_trie_in_memory(text, max_context, events_in_memory, as_stream):
    arrays = sentence_arrays(text, vocabulary=VOCABULARY)
    stream = stream_of(arrays)
    found = external_trie(stream if as_stream else arrays, 3, max_context, memory=160 * events_in_memory)
    assert_same(found, suffix_trie(stream, 3, max_context))


def test_mapped_arrays_of_many_words(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    text = [[words[i] for i in rng.zipf(1.3, n) % 300] for n in rng.integers(0, 25, 400)]
    sentence_arrays(text).save(tmp_path / "arrays")
    arrays = TokenArrays.load(tmp_path / "arrays")
    (tmp_path / "work").mkdir()
    n_words = len(arrays.vocabulary)
    found = external_trie(arrays, n_words, 3, memory=160 * 501, folder=tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []  # and yet the arrays are there
    assert_same(found, suffix_trie(stream_of(arrays), n_words, 3))
    np.testing.assert_array_equal(
        found.context_table[1], suffix_trie(stream_of(arrays), n_words, 3).context_table[1]
    )


def test_estimators_take_it():
    text = sentence_arrays(sample_sentences(), unknown="<unk>")
    n_words, stream = len(text.vocabulary), stream_of(text)
    external, internal = external_trie(text, n_words, 2, memory=10**7), suffix_trie(stream, n_words, 2)
    left, right = (modified_kneser_ney(trie, text.vocabulary) for trie in (external, internal))
    np.testing.assert_array_equal(left.event_logprobs(stream), right.event_logprobs(stream))


def test_nothing_stays_after_an_error(tmp_path):
    class Broken:
        def __init__(self, ids):
            self.ids, self.reads = ids, 0

        def __len__(self):
            return len(self.ids)

        def __getitem__(self, item):
            self.reads += 1
            if self.reads > 2:
                raise RuntimeError("lost")
            return self.ids[item]

    stream = stream_of(sentence_arrays([["a", "b"]] * 50, vocabulary=VOCABULARY))
    with pytest.raises(RuntimeError, match="lost"):
        external_trie(stream._replace(ids=Broken(stream.ids)), 3, 2, memory=160 * 10, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_bad_options(tmp_path):
    arrays = sentence_arrays([["a"]], vocabulary=VOCABULARY)
    with pytest.raises(OptionError, match="memory"):
        external_trie(arrays, 3, 1, memory=0)
    with pytest.raises(OptionError, match="context"):
        external_trie(arrays, 3, -1)
    with pytest.raises(InputError, match="another folder"):
        external_trie(arrays, 3, 1, folder=tmp_path / "none")
