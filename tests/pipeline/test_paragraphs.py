from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spinney.pipeline.paragraphs import read_paragraphs


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\nb\n", ["a\nb\n"]),
        ("a\n\nb", ["a\n\n", "b"]),
        ("a\r\n\r\n\r\nb\r\n", ["a\r\n\r\n\r\n", "b\r\n"]),
        (" \n\n a\n \t \n\n  b\n\n", [" \n\n a\n \t \n\n", "  b\n\n"]),
        ("\n\n", ["\n\n"]),
    ],
)
def test_paragraphs(text, due):
    assert [paragraph.text for paragraph in read_paragraphs([text])] == due
    assert all(paragraph.ends for paragraph in read_paragraphs([text]))


@example(["a", "\n   ", "\na"], 1)  # an empty line in parts
@given(st.lists(st.text("ab \n\r", max_size=12), max_size=12), st.sampled_from([1, 3, 10, 1000]))
def test_nothing_is_lost(pieces, long):
    text = "".join(pieces)
    found = list(read_paragraphs(pieces, long))
    assert "".join(paragraph.text for paragraph in found) == text
    assert not found or found[-1].ends
    whole = "".join(paragraph.text + "|" * paragraph.ends for paragraph in found).split("|")[:-1]
    due = [paragraph.text for paragraph in read_paragraphs([text])]
    assert [one.strip() for one in whole] == [one.strip() for one in due]
