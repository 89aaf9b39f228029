from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import ReadReport, TokenArrays, Vocabulary, building, read_arrays, sentence_arrays
from spinney.errors import InputError, OptionError

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=8), min_size=1, max_size=20)
COLUMNS = "He PRP\nran VBD\n\nHe PRP\nsat VBD\ndown RP\n"
CONLLU = "1\ta\t_\tX\t_\t_\t2\t_\t_\t_\n2\tb\t_\tY\t_\t_\t0\t_\t_\t_\n\n1\ta\t_\tX\t_\t_\t0\t_\t_\t_\n\n"


def assert_same(one: TokenArrays, other: TokenArrays) -> None:
    assert np.array_equal(one.ids, other.ids)
    assert np.array_equal(one.offsets, other.offsets)
    assert one.vocabulary == other.vocabulary
    assert (one.heads is None) == (other.heads is None)
    assert one.heads is None or np.array_equal(one.heads, other.heads)
    assert list(one.labels) == list(other.labels)
    for name in one.labels:
        assert np.array_equal(one.labels[name].ids, other.labels[name].ids)
        assert one.labels[name].vocabulary == other.labels[name].vocabulary


@given(SENTENCES, st.integers(1, 3), st.booleans())
def test_numbers_are_those_of_the_vocabulary(tmp_path_factory, sentences, min_count, on_disk):
    folder = tmp_path_factory.mktemp("arrays") / "a" if on_disk else None
    arrays = sentence_arrays(sentences, min_count=min_count, unknown="?", folder=folder)
    vocabulary = Vocabulary.from_sentences(sentences, min_count=min_count, unknown="?")
    assert arrays.vocabulary == vocabulary
    assert [sentence.tolist() for sentence in arrays] == [vocabulary.encode(s).tolist() for s in sentences]
    assert arrays.ids.dtype == np.int32
    assert arrays.offsets.dtype == np.int64
    assert len(arrays) == len(sentences)
    assert isinstance(arrays.ids, np.memmap) == on_disk


def test_renumbering_in_steps_is_the_same(monkeypatch, tmp_path):
    sentences = [[f"w{i * j % 17}" for j in range(5)] for i in range(40)]
    whole = sentence_arrays(sentences)
    monkeypatch.setattr(building, "_STEP", 3)
    assert_same(whole, sentence_arrays(sentences))
    assert_same(whole, sentence_arrays(sentences, folder=tmp_path / "a"))


def test_sentences_and_parts():
    arrays = sentence_arrays([["a"], ["b", "c"], [], ["d", "e", "f"]])
    assert arrays[1].tolist() == arrays[-3].tolist()
    assert arrays.vocabulary.decode(arrays[-1]) == ["d", "e", "f"]
    for sentence in (4, -5):
        with pytest.raises(IndexError, match="of 4"):
            arrays[sentence]
    part = arrays.part(1, 3)
    assert [arrays.vocabulary.decode(sentence) for sentence in part] == [["b", "c"], []]
    assert np.shares_memory(part.ids, arrays.ids)
    assert len(arrays.part(3, 1)) == 0
    assert len(arrays.part(-1, 99)) == 1


@given(SENTENCES, st.integers(1, 25))
def test_shards_are_the_whole_in_order(sentences, n):
    arrays = sentence_arrays(sentences)
    shards = arrays.shards(n)
    assert 1 <= len(shards) <= n
    assert all(len(shard) for shard in shards)
    assert [s.tolist() for shard in shards for s in shard] == [s.tolist() for s in arrays]
    longest = max(map(len, sentences))
    assert all(shard.n_tokens <= arrays.n_tokens / n + longest for shard in shards)


def test_shards_carry_heads_and_labels(make):
    arrays = read_arrays(make(CONLLU), "conllu", labels=["upos"], heads=True)
    first, second = arrays.shards(2)
    assert first.heads.tolist() == [1, -1]
    assert second.heads.tolist() == [-1]
    assert second.labels["upos"].ids.tolist() == [0]
    with pytest.raises(OptionError, match="at least 1"):
        arrays.shards(0)


def test_save_and_load(make, tmp_path):
    arrays = read_arrays(make(CONLLU), "conllu", labels=["upos", "form"], words="lemma", heads=True)
    columns = read_arrays(make(COLUMNS), "columns", labels=[-1], min_count=2, unknown="?")
    for saved in (arrays, columns, arrays.part(1, 2)):
        saved.save(tmp_path / "a")
        assert_same(saved, TokenArrays.load(tmp_path / "a"))
        loaded = TokenArrays.load(tmp_path / "a", mmap=False)
        assert_same(saved, loaded)
        assert not isinstance(loaded.ids, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        TokenArrays.load(tmp_path / "a").ids[0] = 1


def test_on_disk_is_the_same_as_in_memory(make, tmp_path):
    path = make(CONLLU * 3)
    options = {"labels": ["upos"], "heads": True, "min_count": 4, "unknown": "?"}
    on_disk = read_arrays([path, path], "conllu", folder=tmp_path / "a", **options)
    assert_same(read_arrays([path, str(path)], "conllu", **options), on_disk)
    assert len(on_disk) == 12
    again = read_arrays(path, "conllu", folder=tmp_path / "a")  # an older folder of arrays may go
    assert len(again) == 6
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".tmp")]


def test_failure_leaves_no_folder(make, tmp_path):
    path = make(CONLLU + "bad\n")
    with pytest.raises(InputError, match=":6: 1 columns"):
        read_arrays(path, "conllu", folder=tmp_path / "a")
    with pytest.raises(InputError, match="no sentences"):
        read_arrays(make("\n"), "conllu", folder=tmp_path / "a")
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_fixed_vocabularies(make):
    train = read_arrays(make(COLUMNS), "columns", labels=[1], min_count=2, unknown="?")
    fixed = {"vocabulary": train.vocabulary, "label_vocabularies": {1: train.labels[1].vocabulary}}
    test = read_arrays(make("He VBD\nfell VBD\n"), "columns", labels=[1], **fixed)
    assert test.vocabulary is train.vocabulary
    assert test.ids.tolist() == [1, 0]
    assert test.labels[1].ids.tolist() == train.labels[1].vocabulary.encode(["VBD", "VBD"]).tolist()

    unseen = make("He PRP\nran VBD\n\nsat VBD\nran XYZ\n\nHe PRP\n")
    with pytest.raises(InputError, match=r":5: 'XYZ' \(column 1\) is not in the vocabulary"):
        read_arrays(unseen, "columns", labels=[1], **fixed)
    report = ReadReport()
    kept = read_arrays(unseen, "columns", labels=[1], on_error="skip", report=report, **fixed)
    assert (len(kept), report.read, report.skipped) == (2, 2, 1)
    assert len(train.labels[1].vocabulary) == 3


def test_fixed_vocabulary_for_conllu_and_lines(make):
    train = read_arrays(make(CONLLU), "conllu", labels=["upos"])
    unseen = make(CONLLU + "1\ta\t_\tZ\t_\t_\t0\t_\t_\t_\n")
    fixed = {"label_vocabularies": {"upos": train.labels["upos"].vocabulary}}
    with pytest.raises(InputError, match=r":6: 'Z' \(upos\) is not in the vocabulary"):
        read_arrays(unseen, "conllu", labels=["upos"], **fixed)
    with pytest.raises(InputError, match="'z' is not in the vocabulary"):
        read_arrays(make("a z\n"), "lines", vocabulary=train.vocabulary)
    assert sentence_arrays([["a"]], vocabulary=train.vocabulary).ids.tolist() == [0]
    nothing = Vocabulary.from_tokens([])
    assert sentence_arrays([[]], vocabulary=nothing).vocabulary is nothing


def test_words_of_skipped_sentences_are_not_in_the_vocabulary(make):
    path = make("good A\n\nbad B\nragged\n\ngood C\n")
    arrays = read_arrays(path, "columns", labels=[1], on_error="skip")
    assert arrays.vocabulary.words == ("good",)
    assert arrays.labels[1].vocabulary.words == ("A", "C")
    assert arrays.labels[1].ids.tolist() == [0, 1]


def test_bad_options(make):
    path = make(COLUMNS)
    with pytest.raises(OptionError, match="format must be"):
        read_arrays(path, "xml")
    with pytest.raises(OptionError, match="need an unknown symbol"):
        read_arrays(path, "columns", min_count=2)
    with pytest.raises(OptionError, match="no label columns in lines"):
        read_arrays(path, "lines", labels=[1])
    with pytest.raises(OptionError, match="only conllu has them"):
        read_arrays(path, "columns", heads=True)
    for labels in ([0], [1, 1]):
        with pytest.raises(OptionError, match="must differ"):
            read_arrays(path, "columns", labels=labels)
    with pytest.raises(InputError, match=r"file.txt: no sentences"):
        read_arrays(make("\n"), "lines")
    with pytest.raises(InputError, match="no such file"):
        read_arrays("nowhere.txt", "lines")


def damage_index(folder):
    index = json.loads((folder / "arrays.json").read_text())
    (folder / "arrays.json").write_text(json.dumps(index | {"version": 99}))


def save(folder, name, array):
    np.save(folder / name, array)


@pytest.mark.parametrize(
    "damage",
    [
        damage_index,
        lambda folder: (folder / "arrays.json").write_text("[1, 2"),
        lambda folder: (folder / "arrays.json").write_text("[1, 2]"),
        lambda folder: (folder / "arrays.json").unlink(),
        lambda folder: (folder / "ids.npy").unlink(),
        lambda folder: (folder / "ids.npy").write_bytes((folder / "ids.npy").read_bytes()[:-1]),
        lambda folder: (folder / "vocabulary.npz").write_bytes(b"PK"),
        lambda folder: save(folder, "ids.npy", np.array([0, 1, 99], np.int32)),
        lambda folder: save(folder, "ids.npy", np.array([0, 1, -1], np.int32)),
        lambda folder: save(folder, "ids.npy", np.array([0, 1, 0], np.int64)),
        lambda folder: save(folder, "ids.npy", np.array([{}], object)),
        lambda folder: save(folder, "heads.npy", np.array([1, -1, 1], np.int32)),
        lambda folder: save(folder, "heads.npy", np.array([1, -2, -1], np.int32)),
        lambda folder: save(folder, "offsets.npy", np.array([0, 2, 9])),
        lambda folder: save(folder, "offsets.npy", np.array([0, 4, 3])),
        lambda folder: save(folder, "offsets.npy", np.array([1, 2, 3])),
        lambda folder: save(folder, "offsets.npy", np.array([], np.int64)),
        lambda folder: save(folder, "label0.npy", np.array([0, 1], np.int32)),
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_damaged_folders(make, tmp_path, damage, mmap):
    folder = tmp_path / "a"
    read_arrays(make(CONLLU), "conllu", labels=["upos"], heads=True, folder=folder)
    damage(folder)
    with pytest.raises(InputError, match=r"a: not a folder of token arrays, or damaged"):
        TokenArrays.load(folder, mmap=mmap)
