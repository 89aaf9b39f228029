"""Annotated words in the text that they come from: which have no space after them, and which marks stand between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import category

from spinney.corpus.raw import tokenize


class Piece(NamedTuple):
    """A token as the text spells it, whether a space follows, and the number of its word; None for a mark between."""

    form: str
    spaced: bool
    word: int | None


def spelled_out(words: Sequence[str], text: str) -> list[Piece] | None:
    """The words and the punctuation between them, as a text has them; None if the text has other words.

    The letters may differ in case; the text's are taken. Words may have spaces.

    Examples
    --------
    >>> for piece in spelled_out(["miru", "sele"], "Miru, sele..."):
    ...     print(piece.form, piece.spaced, piece.word)
    Miru False 0
    , True None
    sele False 1
    ... True None
    >>> spelled_out(["miru"], "Miru sele") is None
    True
    """
    text = " ".join(text.split())
    found: list[tuple[int, int, int | None]] = []
    at = 0
    for number, word in enumerate(words):
        begin = at
        while not _here(word, text, at):
            if at >= len(text) or not (text[at] == " " or is_mark(text[at])):
                return None
            at += 1
        found += _marks(text, begin, at)
        found.append((at, at + len(word), number))
        at += len(word)
    if not all(character == " " or is_mark(character) for character in text[at:]):
        return None
    found += _marks(text, at, len(text))
    ends = [start for start, _, _ in found[1:]] + [len(text) + 1]
    return [
        Piece(text[start:stop], following > stop, word) for (start, stop, word), following in zip(found, ends)
    ]


def _here(word: str, text: str, at: int) -> bool:
    return text[at : at + len(word)].casefold() == word.casefold()


def is_mark(character: str) -> bool:
    """Whether a character is punctuation or a symbol.

    Examples
    --------
    >>> is_mark("?"), is_mark("«"), is_mark("a")
    (True, True, False)
    """
    return category(character)[0] in "PS"


def _marks(text: str, start: int, stop: int) -> list[tuple[int, int, int | None]]:
    """Where the tokens of a stretch of marks begin and end."""
    found: list[tuple[int, int, int | None]] = []
    for token in tokenize(text[start:stop]):
        begin = text.index(token, start)
        start = begin + len(token)
        found.append((begin, start, None))
    return found
