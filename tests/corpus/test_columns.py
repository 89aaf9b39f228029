from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import ReadReport, columns, read_arrays, read_columns, write_columns
from spinney.corpus.compressed import read_chunks
from spinney.errors import InputError, OptionError

FIELD = st.text(
    st.characters(exclude_characters="\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \0", exclude_categories=["Cs"]),
    min_size=1,
).filter(lambda field: not field.startswith(("\ufeff", "-DOCSTART-")))


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(st.tuples(*[FIELD] * width), min_size=1, max_size=5), max_size=5)
    ),
    st.sampled_from([" ", "\t"]),
)
def test_round_trip(tmp_path_factory, sentences, separator):
    path = tmp_path_factory.mktemp("columns") / "a.txt"
    write_columns(path, sentences, separator)
    assert list(read_columns(path)) == sentences


def test_separators_line_ends_and_blank_lines_as_they_come(make):
    text = "\r\n \t\r\nHe  PRP\r\nran\t VBD \r\n\r\n\t\r\nStop\t\tVB"
    report = ReadReport()
    assert list(read_columns(make(text), report=report)) == [
        [("He", "PRP"), ("ran", "VBD")],
        [("Stop", "VB")],
    ]
    assert report == ReadReport(read=2)


def test_odd_white_space_is_part_of_a_field(make):
    assert list(read_columns(make("10\xa0km\x85 NN\n"))) == [[("10\xa0km\x85", "NN")]]


def test_docstart(make):
    path = make("-DOCSTART- -X- O\n\nEU NNP O\n\n-DOCSTART- O\nGermany NNP O\n")
    assert [sentence[0][0] for sentence in read_columns(path)] == ["EU", "Germany"]
    kept = make("-DOCSTART- -X- O\n\nEU NNP O\n")
    assert [sentence[0][0] for sentence in read_columns(kept, docstart="keep")] == ["-DOCSTART-", "EU"]
    with pytest.raises(OptionError, match="docstart"):
        list(read_columns(path, docstart="eat"))


@pytest.mark.parametrize("fast", [False, True])
def test_ragged_line(make, fast):
    path = make("a A\nb B\n\nc C\nd\ne E\n\nf F\n")

    def read(**options):
        if not fast:
            return [[row[0] for row in sentence] for sentence in read_columns(path, **options)]
        arrays = read_arrays(path, "columns", **options)
        return [arrays.vocabulary.decode(sentence) for sentence in arrays]

    with pytest.raises(InputError) as caught:
        read()
    assert str(caught.value) == (
        f"{path}:5: 1 columns where the lines before have 2 (a field is missing, or contains white space)"
    )
    report = ReadReport()
    assert read(on_error="skip", report=report) == [["a", "b"], ["f"]]
    assert (report.read, report.skipped, report.errors) == (2, 1, [str(caught.value)])


@pytest.mark.parametrize("fast", [False, True])
def test_ragged_line_far_into_a_file(make, fast):
    good = "".join(f"word{i} TAG\n" + "\n" * (i % 10 == 9) for i in range(100_000))
    path = make(good + "\nx y z\n\n" + good)
    with pytest.raises(InputError, match=r":110002: 3 columns where the lines before have 2"):
        read_arrays(path, "columns") if fast else list(read_columns(path))


def test_bad_bytes_are_skipped_with_their_sentence(make):
    path = make(b"a A\n\nb B\n\xff C\n\n\x00 D\n\ne E\n")
    with pytest.raises(InputError, match=r":6: NUL"):
        list(read_columns(path))
    report = ReadReport()
    assert list(read_columns(path, on_error="skip", report=report)) == [[("a", "A")], [("e", "E")]]
    assert [error.split(": ", 1)[0].rpartition(":")[2] for error in report.errors] == ["4", "6"]
    with pytest.raises(OptionError, match="on_error"):
        list(read_columns(path, on_error="ignore"))


def test_latin_1(make):
    assert list(read_columns(make(b"\xe9t\xe9 N\n"), encoding="latin-1")) == [[("été", "N")]]


def test_lines_may_be_forgotten(make, monkeypatch):
    monkeypatch.setattr(columns, "_REMEMBERED", 5)
    monkeypatch.setattr("spinney.corpus.lines.read_chunks", lambda path: read_chunks(path, 16))
    sentences = [[(f"w{i * j % 7}", f"t{j}") for j in range(3)] for i in range(50)]
    path = make("", "a.txt")
    write_columns(path, sentences)
    assert list(read_columns(path)) == sentences
    arrays = read_arrays(path, "columns", labels=[-1])
    words = [arrays.vocabulary.decode(sentence) for sentence in arrays]
    assert words == [[word for word, _ in sentence] for sentence in sentences]
    tags = arrays.labels[-1]
    assert tags.vocabulary.decode(tags.ids) == [tag for sentence in sentences for _, tag in sentence]


def test_writer_refuses_what_it_could_not_read_back(tmp_path):
    for bad in ("New York", "", "a\tb", "a\n"):
        with pytest.raises(InputError, match="white space"):
            write_columns(tmp_path / "a.txt", [[(bad, "N")]])
    assert not list(tmp_path.iterdir())


def test_no_such_column(make):
    path = make("a A\n")
    for column in (2, -3, "form"):
        with pytest.raises(OptionError, match=r"no column .*the columns are 0 to 1"):
            read_arrays(path, "columns", labels=[column])


def test_empty_file(make):
    assert list(read_columns(make("\n\n"))) == []
    with pytest.raises(InputError, match="no sentences"):
        read_arrays(make(""), "columns")


def test_arrays_agree_with_objects(make):
    rng = np.random.default_rng(0)
    sentences = [
        [(f"w{rng.integers(30)}", f"t{rng.integers(4)}", "O") for _ in range(rng.integers(1, 9))]
        for _ in range(200)
    ]
    path = make("", "a.txt")
    write_columns(path, sentences)
    arrays = read_arrays(path, "columns", labels=[1, 2])
    flat = [row for sentence in sentences for row in sentence]
    assert arrays.vocabulary.decode(arrays.ids) == [row[0] for row in flat]
    for column in (1, 2):
        assert arrays.labels[column].vocabulary.decode(arrays.labels[column].ids) == [r[column] for r in flat]
    assert np.diff(arrays.offsets).tolist() == [len(sentence) for sentence in sentences]
