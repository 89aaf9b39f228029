from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.pipeline.atom_columns import COLUMNS, PATTERNS, Known, Stretch, atom_columns
from spinney.pipeline.atoms import atoms, look
from spinney.pipeline.treebank_text import Ended, closed_up, ends_within_letters, stretch_of
from spinney.tagging import parse_patterns


def pieces(text: str, **how: bool) -> list[str]:
    return [text[start:end] for start, end in atoms(text, **how)]


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("ab12c", ["ab", "12", "c"]),
        ("கே. ராம்", ["கே", ".", "ராம்"]),  # vowel signs belong to their letters
        ("a\u200db\ufe0f!", ["a\u200db\ufe0f", "!"]),
        ("...", [".", ".", "."]),
        ("☹\ufe0f.", ["☹\ufe0f", "."]),
        ("\u0301a", ["\u0301a"]),
        ("x\u00a0y\u2003z", ["x", "y", "z"]),
        ("me@x.org, or (http://x.org/y_z).", ["me@x.org", ",", "or", "(", "http://x.org/y_z", ")", "."]),
        ("a@b", ["a", "@", "b"]),
        ("http:// www. @", ["http", ":", "/", "/", "www", ".", "@"]),
    ],
)
def test_atoms(text, due):
    assert pieces(text) == due


def test_letters_one_by_one():
    assert pieces("我是 ab。கே", letters=True) == ["我", "是", "a", "b", "。", "கே"]


@given(st.text() | st.text("aß1.@:/w \u0301\n-_"), st.booleans())
def test_atoms_are_all_of_the_text(text, letters):
    found = atoms(text, letters=letters)
    assert all(start < end for start, end in found)
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
    assert "".join(text[start:end] for start, end in found) == "".join(c for c in text if not c.isspace())
    for start, end in found:
        assert len(look(text[start:end])) == 4


def test_looks():
    shapes = {
        word: look(word)[:3]
        for word in ["dog", "Dog", "DOG", "d", "D", "dOg", "கே", "犬", "7", "77", "1984", "?", "McLow"]
    }
    assert shapes == {
        "dog": ("x", "a", "3"), "Dog": ("Xx", "A", "3"), "DOG": ("X", "A", "3"), "d": ("x1", "a", "1"),
        "D": ("X1", "A", "1"), "dOg": ("xX", "a", "3"), "கே": ("o", "o", "1"), "犬": ("o", "o", "1"),
        "7": ("9", "9", "1"), "77": ("99", "9", "2"), "1984": ("9+", "9", "4"), "?": ("?", "?", "1"),
        "McLow": ("xX", "A", "5"),
    }  # fmt: skip


def columns(text: str, known: Known | None = None) -> dict[str, list[str]]:
    known = known or Known.of([])
    found = atom_columns([Stretch(text, atoms(text))], known)
    return {name: found.strings(i) for i, name in enumerate(COLUMNS)}


def test_patterns_see_columns_that_are_there():
    seen = {field.column for pattern in parse_patterns(PATTERNS) for field in pattern.fields}
    assert seen == set(range(len(COLUMNS)))


def test_quotations():
    def marks(text: str) -> str:
        return "".join(mark for mark in columns(text)["mark"] if mark != "-")

    assert marks('He "said" so.') == "oc"
    assert marks('He " said " so. " No " .') == "OCOC"
    assert marks("„Nein“ «oui» “yes”") == "ocococ"
    assert marks('a " b ' + "c " * 200 + '" d') == "OO"  # the first was never closed
    assert columns('a "b c" d')["quoted"] == ["-", "q", "q", "q", "-", "-"]


def test_a_word_is_no_evidence_for_itself():
    once = stretch_of([Ended("In", "T", True), Ended("New York", "T", True), Ended("Anna", "S", True)])
    known = Known.of([once])
    at_home = atom_columns([once], known)
    strings = dict(zip(COLUMNS, (at_home.strings(i) for i in range(len(COLUMNS)))))
    assert strings["case"] == ["new", "new", "new", "new"]
    assert strings["covered"] == ["0"] * 4
    elsewhere = columns("In New York Anna", known)
    assert elsewhere["case"] == ["new", "capital", "capital", "capital"]
    assert elsewhere["covered"] == ["0", "2", "0", "0"]
    assert (elsewhere["begun"], elsewhere["ended"]) == (["0", "2", "0", "0"], ["0", "0", "2", "0"])


def test_closing_up_keeps_tokens_and_labels():
    spread = [Ended(form, "T", True) for form in ["(", "A", ")", ",", "5", "%", "?", "“", "b", "”", "!", "."]]
    closed = closed_up(spread)
    assert [(token.form, token.label) for token in closed] == [(token.form, token.label) for token in spread]
    assert stretch_of(closed).text == "(A), 5%? “b”!. "


def test_ends_within_letters():
    tokens = [Ended(form, "T", False) for form in ["我", "是", "人", "。", "5", "6"]]
    assert ends_within_letters(tokens) == 3
    assert ends_within_letters([token._replace(spaced=True) for token in tokens]) == 0
