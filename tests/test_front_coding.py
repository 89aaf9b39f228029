"""Lists of strings in little space: every list comes back, and no damage gets through."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import ModelFileError
from spinney.files import read_model, write_model
from spinney.front_coding import BLOCK, MOST_SHARED, Coded, Strings, coded, is_sound

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab\0é"), max_size=9))


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.booleans(), st.integers(0, 80))
def test_every_list_comes_back(texts, in_order, prefix):
    texts = ["x" * prefix + text for text in (sorted(texts) if in_order else texts)]
    found = coded([text.encode() for text in texts])
    assert is_sound(found)
    strings = Strings.of(found)
    assert list(strings) == texts
    assert [strings[i] for i in range(len(texts))] == strings[:] == texts


def test_shared_prefixes_are_as_long_as_they_can_be():
    texts = sorted({f"{a}{b}{c}".encode() for a in ("un", "under", "") for b in range(30) for c in "xyz"})
    shared = coded(texts).shared
    for i, text in enumerate(texts):
        longest = max(n for n in range(len(text) + 1) if texts[i - 1].startswith(text[:n])) if i else 0
        assert shared[i] == (0 if i % BLOCK == 0 else longest)


def test_a_sorted_vocabulary_takes_less_than_half():
    texts = sorted({f"{stem}{ending}" for stem in ("walk", "talk", "stalk") for ending in range(1000)})
    found = coded([text.encode() for text in texts])
    assert found.rest.nbytes + found.lengths.nbytes + found.shared.nbytes < sum(map(len, texts)) / 2


def test_lists_that_share_nothing_have_no_shared_lengths():
    assert coded([b"dog", b"cat", b"eel"]).shared is None


def _sound():
    return coded([f"word{i:03}".encode() for i in range(3 * BLOCK)])


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c._replace(lengths=c.lengths + np.uint8(1)),
        lambda c: c._replace(lengths=c.lengths[:-1]),
        lambda c: c._replace(lengths=c.lengths.astype(np.int64)),
        lambda c: c._replace(lengths=c.lengths.reshape(2, -1)),
        lambda c: c._replace(rest=c.rest[:-1]),
        lambda c: c._replace(rest=c.rest.view(np.int8)),
        lambda c: c._replace(shared=c.shared[:-1]),
        lambda c: c._replace(shared=c.shared.astype(np.uint16)),
        lambda c: c._replace(
            shared=np.where(np.arange(len(c.shared)) == BLOCK, 1, c.shared).astype(np.uint8)
        ),
        lambda c: c._replace(shared=np.where(c.shared > 0, 8, 0).astype(np.uint8)),
        lambda c: c._replace(shared=np.where(c.shared > 0, MOST_SHARED + 1, 0).astype(np.uint8)),
    ],
)
def test_damage_is_noticed(damage, tmp_path):
    assert is_sound(_sound())
    bad = damage(_sound())
    assert not is_sound(bad)
    path = tmp_path / "bad.spinney"
    write_model(path, "a/B", {}, {"s:utf8": bad.rest, "s:lengths": bad.lengths, "s:shared": bad.shared})
    with pytest.raises(ModelFileError, match="damaged: 's' is not a list of strings"):
        read_model(path).texts("s")


def test_strings_that_are_not_text(tmp_path):
    path = tmp_path / "bad.spinney"
    write_model(
        path, "a/B", {}, {"s:utf8": np.array([97, 255], np.uint8), "s:lengths": np.array([1, 1], np.uint8)}
    )
    strings = read_model(path).strings["s"]
    assert strings[0] == "a"
    for decode in (list, lambda s: s[1], lambda s: s[:]):
        with pytest.raises(ModelFileError, match="damaged: a string is not UTF-8"):
            decode(strings)


def test_lengths_that_are_missing(tmp_path):
    path = tmp_path / "bad.spinney"
    write_model(path, "a/B", {}, {"s:utf8": np.array([97], np.uint8)})
    with pytest.raises(ModelFileError, match="'s' is not a list of strings"):
        read_model(path).texts("s")


def test_lengths_whose_sum_overflows():
    lengths = np.array([2**63, 2**63, 1], np.uint64)
    assert not is_sound(Coded(np.zeros(1, np.uint8), lengths, None))
