"""Word classes: look-ups against a dict, files there and back, and the clusters of a real corpus."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import read_model, write_model
from spinney.structure import WordClasses

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
tame_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"), max_size=6)


@st.composite
def word_classes(draw, words=words, paths=None):
    chosen = draw(st.lists(words, unique=True, min_size=1, max_size=8))
    n_classes = draw(st.integers(1, 4))
    ids = draw(st.lists(st.integers(0, n_classes - 1), min_size=len(chosen), max_size=len(chosen)))
    bits = st.lists(st.text("01", max_size=5), unique=True, min_size=n_classes, max_size=n_classes)
    counts = st.lists(st.integers(0, 10**12), min_size=len(chosen), max_size=len(chosen))
    return WordClasses(
        chosen,
        ids,
        paths=draw(bits if paths else st.none() | bits),
        counts=draw(st.none() | counts),
        unknown=draw(st.none() | st.integers(0, n_classes - 1)),
        n_classes=n_classes,
    )


def known(classes: WordClasses, path: bool = False) -> dict[str, object]:
    """What is known of each word, whatever the order of words and the numbers of classes."""
    counts = [None] * len(classes) if classes.counts is None else classes.counts.tolist()
    kind = classes.paths.__getitem__ if path else int
    return {word: (kind(classes[word]), count) for word, count in zip(classes.words, counts)}


@pytest.fixture
def brown() -> WordClasses:
    paths = ["0010", "0011", "01", "1"]
    return WordClasses(
        ["the", "a", "dog", "runs", "of"], [0, 0, 2, 3, 1], paths=paths, counts=[9, 5, 2, 1, 7]
    )


def test_looking_up(brown):
    assert (brown["the"], brown["of"], brown.get("of"), brown.get("cat"), brown.get("cat", "?")) == (
        0,
        1,
        1,
        None,
        "?",
    )
    assert "dog" in brown
    assert "cat" not in brown
    with pytest.raises(KeyError, match="cat"):
        brown["cat"]
    assert brown.encode(["runs", "cat", "a"]).tolist() == [3, -1, 0]
    assert brown.encode(["runs"]).dtype == np.int32
    assert brown.encode([]).tolist() == []
    assert [brown.words_of(c) for c in range(4)] == [["the", "a"], ["of"], ["dog"], ["runs"]]
    with pytest.raises(OptionError, match="no class 4: there are 4"):
        brown.words_of(4)
    assert repr(brown) == "WordClasses(5 words, 4 classes)"


def test_unknown_words_may_have_a_class():
    classes = WordClasses(["a", "b"], [0, 1], unknown=2)
    assert (classes["zzz"], classes.get("zzz"), classes.n_classes) == (2, 2, 3)
    assert classes.encode(["b", "zzz"]).tolist() == [1, 2]
    assert "zzz" not in classes
    assert WordClasses([], [], unknown=0).encode(["x"]).tolist() == [0]


def test_prefixes(brown):
    assert [brown.prefix("the", n) for n in (0, 2, 4, 9)] == ["", "00", "0010", "0010"]
    coarse = brown.prefix_classes(2)
    assert coarse.paths == ["00", "01", "1"]
    assert coarse.encode(["the", "of", "dog", "runs"]).tolist() == [0, 0, 1, 2]
    assert coarse.counts is not None
    assert brown.prefix_classes(0).n_classes == 1
    with pytest.raises(OptionError, match="at least 0, not -1"):
        brown.prefix_classes(-1)
    with pytest.raises(OptionError, match="these classes are flat: they have no paths"):
        WordClasses(["a"], [0]).prefix("a", 1)


@given(word_classes(paths=True), st.integers(0, 6))
def test_prefix_classes_agree_with_prefixes(classes, length):
    coarse = classes.prefix_classes(length)
    for word in classes.words:
        assert coarse.paths[coarse[word]] == classes.prefix(word, length)
    if classes.unknown is not None:
        assert coarse.paths[coarse.unknown] == classes.paths[classes.unknown][:length]


def test_nothing_changes(brown):
    for array in (brown.ids, brown.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    ids = np.array([0, 1], dtype=np.int32)
    classes = WordClasses(["a", "b"], ids)
    ids[0] = 1
    assert classes.ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WordClasses(["a", "b", "a"], [0, 0, 0]), "the word 'a' appears twice"),
        (lambda: WordClasses(["a"], [0, 1]), "1 words but 2 classes of words"),
        (lambda: WordClasses(["a"], [-1]), "the numbers of classes must be at least 0"),
        (lambda: WordClasses(["a"], [0], unknown=-1), "the numbers of classes must be at least 0"),
        (lambda: WordClasses(["a"], [0.5]), "classes of words: whole numbers up to 2147483647 are needed"),
        (lambda: WordClasses(["a"], [2**40]), "classes of words: whole numbers up to 2147483647 are needed"),
        (lambda: WordClasses(["a"], [[0]]), "classes of words: a flat list is needed, not 2 dimensions"),
        (lambda: WordClasses(["a"], [0], counts=[1, 2]), "1 words but 2 counts"),
        (lambda: WordClasses(["a"], [0], counts=[-1]), "a count is negative"),
        (lambda: WordClasses(["a"], [1], paths=["0"]), "class 1, but there are only 1 classes"),
        (lambda: WordClasses(["a"], [0], paths=["0"], n_classes=2), "2 classes but 1 paths"),
        (lambda: WordClasses(["a"], [0], paths=["0x"]), "the path '0x' has characters other than 0 and 1"),
        (lambda: WordClasses(["a"], [0], paths=["0", "0"]), "two classes have the same path"),
    ],
)
def test_bad_classes(make, message):
    with pytest.raises(OptionError) as caught:
        make()
    assert str(caught.value) == message


# -- files ------------------------------------------------------------------------------------------------


@files
@given(word_classes())
def test_round_trips(tmp_path, classes):
    classes.save(tmp_path / "classes.spinney")
    loaded = WordClasses.load(tmp_path / "classes.spinney")
    assert loaded.words == classes.words
    classes.write_json(tmp_path / "classes.json.xz")
    for back in (loaded, WordClasses.read_json(tmp_path / "classes.json.xz")):
        assert known(back) == known(classes)
        assert (back.n_classes, back.unknown) == (classes.n_classes, classes.unknown)
        assert back.paths == classes.paths


@files
@given(word_classes(tame_words, paths=True))
def test_brown_round_trip(tmp_path, classes):
    path = tmp_path / "paths"
    classes.write_paths(path)
    back = known(WordClasses.read_paths(path), path=True)
    expected = known(classes, path=True)
    if classes.counts is None:
        expected = {word: (bits, 0) for word, (bits, _) in expected.items()}
    assert back == expected


def test_a_part_of_another_model(tmp_path, brown):
    write_model(tmp_path / "tagger", "tag/Tagger", {}, {}, {}, {"classes": brown.parts()})
    assert known(WordClasses.from_parts(read_model(tmp_path / "tagger").part("classes"))) == known(brown)


def test_brown_file(tmp_path, brown):
    path = tmp_path / "paths"
    brown.write_paths(path)
    assert path.read_text() == "0010\tthe\t9\n0010\ta\t5\n0011\tof\t7\n01\tdog\t2\n1\truns\t1\n"
    path.write_text("1\tb\n0\ta\n1\tc\n")
    without_counts = WordClasses.read_paths(path)
    assert (without_counts.paths, without_counts.counts) == (["0", "1"], None)
    assert without_counts.encode(["a", "b", "c"]).tolist() == [0, 1, 1]
    with pytest.raises(
        OptionError, match=r"'a\\tb' cannot be written to a table with tabs: write JSON instead"
    ):
        WordClasses(["a\tb"], [0], paths=["0"]).write_paths(path)
    with pytest.raises(OptionError, match="these classes are flat"):
        WordClasses(["a"], [0]).write_paths(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": no word classes"),
        ("0 a 3\n", ":1: 1 tab-separated fields (each line needs a path, a word and a count)"),
        ("0\ta\t3\n0\tb\t3\tx\n", ":2: 4 tab-separated fields (each line needs a path, a word and a count)"),
        ("0\ta\t3\n02\tb\t3\n", ":2: '02' is not a path of 0 and 1"),
        ("0\ta\t3\n\n1\tb\tmany\n", ":3: 'many' is not a count"),
        ("0\ta\t-3\n", ":1: '-3' is not a count"),
        ("0\ta\t" + "9" * 30, f":1: '{'9' * 30}' is not a count"),
        ("0\ta\t3\n1\tb\n", ":2: a count on some lines but not on others"),
        ("0\ta\n1\tb\t3\n", ":2: a count on some lines but not on others"),
        ("0\ta\t3\n1\tb\t3\n1\ta\t3\n", ":3: the word 'a' again (first on line 1)"),
    ],
)
def test_bad_brown_files(tmp_path, text, message):
    path = tmp_path / "paths"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        WordClasses.read_paths(path)
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", ': no "classes"'),
        ('{"classes": [{"words": ["a"]}, {"words": "b"}]}', ': class 1: "words" must be a list'),
        ('{"classes": [{"words": ["a", 3]}]}', ': class 0: "words" must hold strings only'),
        ('{"classes": [{"words": [], "counts": [1.5]}]}', ': class 0: "counts" must hold whole numbers only'),
        ('{"classes": [{"words": ["a"]}, {"words": ["a"]}]}', ": the word 'a' appears twice"),
        (
            '{"classes": [{"words": ["a"], "path": "0"}, {"words": []}]}',
            ': a "path" for some classes but not for others',
        ),
        ('{"unknown": 7, "classes": [{"words": ["a"]}]}', ": class 7, but there are only 1 classes"),
    ],
)
def test_bad_json(tmp_path, text, message):
    path = tmp_path / "classes.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        WordClasses.read_json(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_damaged_model_file(tmp_path, brown):
    path = tmp_path / "classes.spinney"
    header, tensors, strings = brown.parts()
    write_model(path, "structure/WordClasses", header, tensors, {**strings, "paths": ["0"]})
    with pytest.raises(ModelFileError, match=r"classes\.spinney: damaged: 4 classes but 1 paths"):
        WordClasses.load(path)
    write_model(path, "structure/WordClasses", {**header, "unknown": "x"}, tensors, strings)
    with pytest.raises(ModelFileError, match="damaged: the header has no int called 'unknown'"):
        WordClasses.load(path)


@pytest.mark.skipif("SPINNEY_DATA" not in os.environ, reason="needs the corpora that SPINNEY_DATA points to")
def test_the_twitter_clusters(tmp_path):
    source = Path(os.environ["SPINNEY_DATA"]) / "brown_clusters_twitter" / "6mpaths.xz"
    classes = WordClasses.read_paths(source)
    assert (len(classes), classes.n_classes) == (111_844, 800)
    assert classes.paths[classes["every"]] == classes.paths[classes["evry"]] == "11111111111"
    assert classes.prefix("every", 4) == "1111"
    assert int(classes.counts[classes.words.index("every")]) == 33_853
    assert classes["tomorrow"] == classes["tmrw"]  # spellings of one word fall together
    assert classes.prefix_classes(4).n_classes == len({bits[:4] for bits in classes.paths})
    classes.write_paths(tmp_path / "paths")
    classes.save(tmp_path / "classes.spinney")
    for back in (WordClasses.read_paths(tmp_path / "paths"), WordClasses.load(tmp_path / "classes.spinney")):
        assert known(back, path=True) == known(classes, path=True)


def test_classes_of_lower_cased_text_are_found_for_capitals(tmp_path):
    classes = WordClasses(["the", "dog", "US"], [0, 1, 2], paths=["0", "10", "11"], lowercase=True)
    classes.save(tmp_path / "classes")
    classes.write_json(tmp_path / "classes.json")
    for one in (
        classes,
        WordClasses.load(tmp_path / "classes"),
        WordClasses.read_json(tmp_path / "classes.json"),
    ):
        assert one.encode(["The", "DOG", "US", "us", "cat"]).tolist() == [0, 1, 2, -1, -1]
        assert one["The"] == 0
        assert "The" in one
        assert one.prefix_classes(1).encode(["Dog"]).tolist() == [1]
    assert WordClasses(["the"], [0]).get("The") is None
