from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import Document, ReadReport, read_folder, read_svmlight, read_table
from spinney.errors import InputError, OptionError


def test_labelled_folder_in_the_order_of_names(make, tmp_path):
    for name in ("c/pos/b.txt", "c/pos/a.txt", "c/neg/deep/z.txt", "c/neg/.hidden", "c/README", "c/.git/x"):
        make(f"text of {name}", name)
    make(gzip.compress(b"packed\n"), "c/neg/a.txt.gz")
    documents = list(read_folder(tmp_path / "c"))
    assert documents == [
        Document("packed\n", "neg", "neg/a.txt.gz"),
        Document("text of c/neg/deep/z.txt", "neg", "neg/deep/z.txt"),
        Document("text of c/pos/a.txt", "pos", "pos/a.txt"),
        Document("text of c/pos/b.txt", "pos", "pos/b.txt"),
    ]


def test_flat_folder_empty_documents_and_crlf(make, tmp_path):
    make("one\r\ntwo", "d/2")
    make("", "d/1")
    make(" \n", "d/3")
    report = ReadReport()
    documents = list(read_folder(tmp_path / "d", report=report))
    assert documents == [Document("", None, "1"), Document("one\ntwo", None, "2"), Document(" \n", None, "3")]
    assert (report.read, report.empty) == (3, 2)


def test_bad_documents(make, tmp_path):
    make(b"ok", "d/x/1")
    bad = make(b"ok\nb\xe4d", "d/x/2")
    with pytest.raises(InputError) as caught:
        list(read_folder(tmp_path / "d"))
    assert str(caught.value) == f"{bad}:2: not UTF-8 (try the encoding latin-1)"
    report = ReadReport()
    assert [d.id for d in read_folder(tmp_path / "d", on_error="skip", report=report)] == ["x/1"]
    assert (report.read, report.skipped, report.errors) == (1, 1, [str(caught.value)])
    assert list(read_folder(tmp_path / "d", encoding="latin-1"))[1].text == "ok\nbäd"


def test_bad_folders(make, tmp_path):
    with pytest.raises(InputError, match=r"none: no such folder \(give a folder of documents\)"):
        list(read_folder(tmp_path / "none"))
    with pytest.raises(InputError, match=r"file.txt: is a file"):
        list(read_folder(make("a")))
    (tmp_path / "empty" / "class").mkdir(parents=True)
    with pytest.raises(InputError, match=r"empty: no documents in this folder"):
        list(read_folder(tmp_path / "empty"))


def test_csv_by_name_and_by_number(make):
    path = make('id,stars,"the text"\n7,5,"A ""joy"",\nreally"\n\n8,1,Bore\n', "a.csv")
    expected = [Document('A "joy",\nreally', "5", "7"), Document("Bore", "1", "8")]
    assert list(read_table(path, "the text", "stars", "id")) == expected
    assert list(read_table(path, 2, 1, 0)) == expected
    assert list(read_table(path, -1, -2)) == [expected[0]._replace(id="2"), expected[1]._replace(id="5")]
    assert [d.text for d in read_table(path, ["stars", "id"])] == ["5 7", "1 8"]
    assert [d.text for d in read_table(path, 0, header=False)] == ["id", "7", "8"]


def test_tsv_has_no_quotes_unless_asked(make):
    path = make('label\ttext\npos\t"He said "hi"\n', "a.tsv")
    assert list(read_table(path, label="label")) == [Document('"He said "hi"', "pos", "2")]
    quoted = make('label\ttext\npos\t"two\nlines"\n', "b.tsv")
    assert list(read_table(quoted, label="label", quotes=True)) == [Document("two\nlines", "pos", "2")]
    semicolons = make("a;b\n", "c.csv")
    assert list(read_table(semicolons, 1, 0, header=False, delimiter=";")) == [Document("b", "a", "1")]
    packed = make(gzip.compress(b"text\tlabel\na\tb\n"), "d.tsv.gz")
    assert list(read_table(packed, label="label")) == [Document("a", "b", "2")]


def test_long_fields_marks_and_empty_texts(make):
    long = "word " * 100_000
    report = ReadReport()
    path = make(f'\ufefftext,label\r\n"{long}",a\r\n,b\r\n', "a.csv")
    documents = list(read_table(path, "text", "label", report=report))
    assert documents == [Document(long, "a", "2"), Document("", "b", "3")]
    assert (report.read, report.empty) == (2, 1)


@pytest.mark.parametrize(
    ("content", "line", "message", "kept"),
    [
        ("text,label\na,b\nc\nd,e\n", 3, "1 columns where the first line has 2 (the delimiter is ',')", "ad"),
        ("text,label\na,b\nc,d,e\nf,g\n", 3, "3 columns where the first line has 2", "af"),
        ('text,label\na,b\n"c,d\ne,f\n', 3, "a quotation mark is opened but never closed", "a"),
        ('text,label\na,b\n"c"d,e\nf,g\n', 3, "bad quoting", "af"),
        ('text,label\na,b\n"c\nc"d,e\nf,g\n', 3, "bad quoting", "af"),
        (b"text,label\na,b\nc\0,d\ne,f\n", 3, "NUL byte", "ae"),
        (b"text,label\na,b\n\xff,d\ne,f\n", 3, "not UTF-8", "ae"),
        (b'text,label\na,b\n"c\n\xff",d\ne,f\n', 4, "not UTF-8", "ae"),
    ],
)
def test_bad_rows(make, content, line, message, kept):
    path = make(content, "a.csv")
    with pytest.raises(InputError) as caught:
        list(read_table(path, "text", "label"))
    assert str(caught.value).startswith(f"{path}:{line}: {message}")
    assert "\n" not in str(caught.value)
    report = ReadReport()
    documents = list(read_table(path, "text", "label", on_error="skip", report=report))
    assert "".join(document.text for document in documents) == kept
    assert (report.read, report.skipped) == (len(kept), 1)
    assert report.errors == [str(caught.value)]


def test_missing_columns_name_those_there_are(make):
    path = make("id,text,text\n1,a,b\n", "a.csv")
    with pytest.raises(InputError) as caught:
        list(read_table(path, "txt"))
    what = f"{path}:1: no column 'txt': the columns are 'id', 'text', 'text' (did you mean text?)"
    assert str(caught.value) == what
    with pytest.raises(InputError, match="more than one column 'text'"):
        list(read_table(path, "text"))
    with pytest.raises(InputError, match="no column 3: the columns are 0 to 2"):
        list(read_table(path, 3))
    with pytest.raises(OptionError, match="without a header, columns are numbers from 0, not 'text'"):
        list(read_table(path, "text", header=False))
    for empty in ("", "\n\n"):
        with pytest.raises(InputError, match=r"b.csv: the file is empty"):
            list(read_table(make(empty, "b.csv")))
    assert list(read_table(make("text\n", "b.csv"))) == []


FIELD = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]))


@given(st.lists(st.tuples(FIELD, FIELD), min_size=1))
def test_csv_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    quoted = ["".join(['"', field.replace('"', '""'), '"']) for row in rows for field in row]
    lines = [",".join(quoted[i : i + 2]) + "\n" for i in range(0, len(quoted), 2)]
    path.write_text("text,label\n" + "".join(lines), encoding="utf-8", newline="\n")
    assert [(d.text, d.label) for d in read_table(path, "text", "label")] == rows


def test_svmlight(make):
    packed = make(gzip.compress(b"1 1:0.5 3:2 # note\n-1 2:1\n"), "a.svm.gz")
    X, y = read_svmlight(packed)
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert y.tolist() == [1, -1]
    assert y.dtype == np.float64
    assert read_svmlight(packed, n_features=5)[0].shape == (2, 5)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("1 1:2\n1 two:3\n", ":2: not svmlight"),
        ("1 1:2\nx 1:3\n", ":2: not svmlight"),
        ("1 1:2\n1 3:1 2:1\n", ":2: not svmlight"),
        ("1 1:2\n1 2\n", ":2: not svmlight"),
        ("", ": the file is empty"),
        ("\n \n", ": the file is empty"),
    ],
)
def test_bad_svmlight(make, content, where):
    path = make(content, "a.svm")
    with pytest.raises(InputError) as caught:
        read_svmlight(path)
    assert str(caught.value).startswith(f"{path}{where}")
    assert "\n" not in str(caught.value)


def test_svmlight_with_too_few_features(make):
    with pytest.raises(InputError, match=r"a.svm: .*n_features"):
        read_svmlight(make("1 1:2 9:1\n", "a.svm"), n_features=3)
