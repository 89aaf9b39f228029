"""Whatever the bytes, a reader gives sentences or one clear line; and with ``on_error="skip"`` it goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import (
    ReadReport,
    read_arrays,
    read_columns,
    read_conllu,
    read_prose,
    read_svmlight,
    read_table,
    read_tokenized,
    read_trees,
)
from spinney.errors import InputError

FRAGMENTS = [
    b"1\tw\t_\t_\t_\t_\t0\t_\t_\t_\n", b"2\tw\t_\t_\t_\t_\t1\t_\t_\t_\n", b"1-2\tw\t_\t_\t_\t_\t_\t_\t_\t_\n",
    b"# c\n", b"\n", b"\r\n", b"\t", b" ", b"(S", b")", b"a b\n", b"a\tb,c\n", b'"', b",",
    b"(S (A b))\n", b"1 2:3\n", b"-DOCSTART- O\n", b"\xff", b"\x00", b"\xef\xbb\xbf",
    b"\xc3\xa9", b"\xc2\x85", b"1.1", b"_", b"-1:",
]  # fmt: skip
BYTES = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=4), max_size=14).map(b"".join)


def attempt(read):
    """What ``read`` gives, or its error."""
    try:
        return read(), None
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return None, error


@pytest.mark.parametrize("reader", [read_columns, read_conllu, read_trees, read_tokenized, read_prose])
@given(content=BYTES)
def test_readers(tmp_path_factory, reader, content):
    path = tmp_path_factory.mktemp("hostile") / "a.txt"
    path.write_bytes(content)
    report = ReadReport()
    kept = list(reader(path, on_error="skip", report=report))
    assert report.read == len(kept)
    read, error = attempt(lambda: list(reader(path)))
    if error is None:
        assert report.skipped == 0
        assert read == kept
    else:
        assert report.skipped >= 1 or "blank line" in str(error)
        assert error.line is not None
        assert 1 <= error.line <= content.count(b"\n") + 1


@pytest.mark.parametrize("format", ["columns", "conllu"])
@given(content=BYTES)
def test_the_two_ways_to_read_agree(tmp_path_factory, format, content):
    path = tmp_path_factory.mktemp("hostile") / "a.txt"
    path.write_bytes(content)
    objects, numbers = ReadReport(), ReadReport()
    if format == "columns":
        forms = [[row[0] for row in rows] for rows in read_columns(path, on_error="skip", report=objects)]
    else:
        forms = [sentence.forms for sentence in read_conllu(path, on_error="skip", report=objects)]
    if forms:
        arrays = read_arrays(path, format, on_error="skip", report=numbers)
        assert [arrays.vocabulary.decode(sentence) for sentence in arrays] == forms
        assert numbers == objects
    else:
        with pytest.raises(InputError, match="no sentences"):
            read_arrays(path, format, on_error="skip")


@given(content=BYTES, quotes=st.booleans(), header=st.booleans())
def test_tables(tmp_path_factory, content, quotes, header):
    path = tmp_path_factory.mktemp("hostile") / "a.csv"
    path.write_bytes(content)
    options = {"header": header, "quotes": quotes}
    read, error = attempt(lambda: list(read_table(path, 0, **options)))
    report = ReadReport()
    kept, still = attempt(lambda: list(read_table(path, 0, on_error="skip", report=report, **options)))
    if error is None:
        assert (read, report.skipped) == (kept, 0)
    else:
        assert report.skipped or still is not None
    assert still is None or "empty" in str(still)


@given(content=BYTES)
def test_svmlight(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("hostile") / "a.svm"
    path.write_bytes(content)
    read, _ = attempt(lambda: read_svmlight(path))
    if read is not None:
        assert read[0].shape[0] == len(read[1])
