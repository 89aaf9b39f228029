from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import Vocabulary
from spinney.errors import InputError, OptionError

WORDS = st.text(st.characters(exclude_characters="\t\n\0", exclude_categories=["Cs"]), min_size=1, max_size=4)
TOKENS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=50)


def test_order_is_by_count_and_then_by_first_occurrence():
    vocabulary = Vocabulary.from_tokens(["b", "c", "a", "c", "b", "d"])
    assert vocabulary.words == ("b", "c", "a", "d")
    assert vocabulary.counts.tolist() == [2, 2, 1, 1]
    assert vocabulary.counts.dtype == np.int64


@given(TOKENS, st.integers(1, 4), st.none() | st.integers(1, 8), st.sampled_from([None, "<unk>", "a"]))
def test_cuts(tokens, min_count, max_size, unknown):
    vocabulary = Vocabulary.from_tokens(tokens, min_count=min_count, max_size=max_size, unknown=unknown)
    count = Counter(tokens)
    assert max_size is None or len(vocabulary) <= max_size
    known = [word for word in vocabulary if word != unknown]
    assert all(count[word] >= min_count for word in known)
    assert [count[word] for word in known] == sorted((count[word] for word in known), reverse=True)
    left_out = set(tokens) - set(vocabulary)
    if max_size is None or len(vocabulary) < max_size:
        assert all(count[word] < min_count for word in left_out)
    if unknown is not None:
        assert vocabulary[unknown] == 0
        assert vocabulary.counts.sum() == len(tokens)
        ids = vocabulary.encode(tokens)
        assert np.array_equal(np.bincount(ids, minlength=len(vocabulary)), vocabulary.counts)
        assert vocabulary.decode(ids) == [token if token in known else unknown for token in tokens]


def test_words_that_are_not_there():
    plain = Vocabulary.from_tokens(["a", "a", "b"])
    assert "z" not in plain
    with pytest.raises(InputError, match="'z' is not in the vocabulary"):
        plain.encode(["a", "z"])
    with pytest.raises(InputError, match="'z'"):
        plain["z"]
    assert plain.encode(["z", "b"], missing=-1).tolist() == [-1, 1]
    symbol = Vocabulary.from_tokens(["a", "a", "b"], unknown="?")
    assert symbol.encode(["z", "b"], missing=-1).tolist() == [0, 2]
    assert symbol["z"] == 0
    assert "z" not in symbol
    assert len(symbol) == 3
    assert symbol.encode([]).dtype == np.int32


def test_never_changes():
    vocabulary = Vocabulary.from_tokens(["a", "b"])
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.counts[0] = 7
    with pytest.raises(dataclasses.FrozenInstanceError):
        vocabulary.words = ("z",)
    source = np.array([2, 1])
    taken = Vocabulary(("a", "b"), source)
    source[0] = 9
    assert taken.counts.tolist() == [2, 1]


def test_equality():
    one, same, other = (Vocabulary.from_tokens(text.split()) for text in ("a b a", "a a b", "a b b"))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "a b"
    assert list(one) == ["a", "b"]


def test_bad_parts():
    with pytest.raises(OptionError, match="at least 1"):
        Vocabulary.from_counts({"a": 1}, min_count=0)
    with pytest.raises(OptionError, match="at least 1"):
        Vocabulary.from_counts({"a": 1}, max_size=0)
    with pytest.raises(OptionError, match="2 words, but 1 counts"):
        Vocabulary(("a", "b"), np.array([1]))
    with pytest.raises(OptionError, match="unknown symbol"):
        Vocabulary(("a",), np.array([1]), "?")


@given(st.dictionaries(WORDS, st.integers(0, 2**40)))
def test_file_and_array_round_trips(tmp_path_factory, counts):
    vocabulary = Vocabulary(tuple(counts), np.array(list(counts.values()), np.int64))
    assert Vocabulary.from_arrays(vocabulary.to_arrays()) == vocabulary
    if not any(word.startswith("\ufeff") for word in counts):
        path = tmp_path_factory.mktemp("vocabulary") / "words.tsv.gz"
        vocabulary.save(path)
        assert Vocabulary.load(path) == vocabulary


def test_arrays_hold_any_string():
    vocabulary = Vocabulary.from_tokens(["", "a\tb\n", "\ud800", "\ufeff"])
    assert Vocabulary.from_arrays(vocabulary.to_arrays()) == vocabulary


def test_damaged_arrays():
    whole = Vocabulary.from_tokens(["ab", "b", "c"]).to_arrays()
    damages = [
        {"ends": np.array([2, 1, 4])},
        {"ends": np.array([2, 3, 9])},
        {"words": np.frombuffer(b"bbbb", np.uint8), "ends": np.array([1, 2, 4])},
        {"words": np.frombuffer(b"\xff\xff\xff\xff", np.uint8)},
        {"counts": np.array([1, 2])},
    ]
    for damage in damages:
        with pytest.raises(InputError, match="do not contain a vocabulary"):
            Vocabulary.from_arrays(whole | damage)
    with pytest.raises(InputError):
        Vocabulary.from_arrays({})
    with pytest.raises(InputError):
        Vocabulary.from_arrays(whole, unknown="?")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\t2\nb 1\n", r"words.tsv:2: not a word, a tab and a count"),
        ("a\t2\nb\t-1\n", r"words.tsv:2: not a word"),
        ("a\t99999999999999999999\n", r"words.tsv:1: not a word"),
        ("a\t2\nb\t1\na\t1\n", r"words.tsv:3: the word 'a' appears twice"),
    ],
)
def test_bad_files(make, text, message):
    with pytest.raises(InputError, match=message):
        Vocabulary.load(make(text, "words.tsv"))


def test_unknown_symbol_must_be_in_the_file(make, tmp_path):
    path = make("?\t0\na\t2\n", "words.tsv")
    assert Vocabulary.load(path, unknown="?").encode(["z"]).tolist() == [0]
    with pytest.raises(InputError, match=r"words.tsv: the unknown symbol '<unk>' is not in this file"):
        Vocabulary.load(path, unknown="<unk>")
    with pytest.raises(InputError, match="tab or a line break"):
        Vocabulary.from_tokens(["a\tb"]).save(tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()
