from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import ReadReport, read_crfsuite
from spinney.errors import InputError

NAME = st.text(st.characters(exclude_characters="\t\n\r\0\ufeff", exclude_categories=["Cs"]), min_size=1)
LABEL = NAME.filter(str.strip)
ITEM = st.tuples(LABEL, st.dictionaries(NAME, st.floats(allow_nan=False, allow_infinity=False), max_size=4))


def escaped(text):
    return text.replace("\\", "\\\\").replace(":", "\\:")


@given(st.lists(st.lists(ITEM, min_size=1, max_size=4), max_size=4))
def test_round_trip(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("crfsuite") / "a.txt"
    with path.open("w", encoding="utf-8", newline="") as file:
        for sentence in sentences:
            for label, attributes in sentence:
                written = [f"{escaped(name)}:{value!r}" for name, value in attributes.items()]
                file.write("\t".join([escaped(label), *written]) + "\n")
            file.write("\n")
    assert list(read_crfsuite(path)) == sentences


def test_values_escapes_and_blank_lines_as_they_come(make):
    text = "\r\nB-NP\tw[0]=He\tbias:0.5\tbias:0.25\t\r\nO\r\n \r\n\nI\tt=12\\:30\tc:\\d\ta\\\\:2\tu\\x"
    report = ReadReport()
    with pytest.raises(InputError):
        list(read_crfsuite(make(text)))
    text = text.replace("c:\\d\t", "")
    assert list(read_crfsuite(make(text), report=report)) == [
        [("B-NP", {"w[0]=He": 1.0, "bias": 0.75}), ("O", {})],
        [("I", {"t=12:30": 1.0, "a\\": 2.0, "u\\x": 1.0})],
    ]
    assert report == ReadReport(read=2)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("NN\thttp://x", r"http://x' is not a finite number .* is \\:"),
        ("NN\ta:", "not a finite number"),
        ("NN\ta:1:2", "not a finite number"),
        ("NN\ta:nan", "not a finite number"),
        ("NN\ta:inf", "not a finite number"),
        ("\ta", "no label"),
    ],
)
def test_bad_lines_are_named_and_their_sentences_skipped(make, line, what):
    path = make(f"A\ta\n\nB\tb\n{line}\n\nC\tc\n")
    with pytest.raises(InputError, match=what) as caught:
        list(read_crfsuite(path))
    assert str(caught.value).startswith(f"{path}:4: ")
    report = ReadReport()
    read = list(read_crfsuite(path, on_error="skip", report=report))
    assert read == [[("A", {"a": 1.0})], [("C", {"c": 1.0})]]
    assert (report.read, report.skipped) == (2, 1)
    assert report.errors == [str(caught.value)]


def test_encodings_and_missing_files(make):
    path = make("ä\tö:2\n".encode("latin-1"))
    assert list(read_crfsuite(path, encoding="latin-1")) == [[("ä", {"ö": 2.0})]]
    with pytest.raises(InputError, match=":1: not UTF-8"):
        list(read_crfsuite(path))
    with pytest.raises(InputError, match="no such file"):
        list(read_crfsuite("nowhere.crfsuite"))
