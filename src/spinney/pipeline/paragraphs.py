"""Paragraphs of a text that comes in pieces, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONG = 20_000  # letters of a paragraph that are held at a time


class Paragraph(NamedTuple):
    """A paragraph with all white space after it, or the next part of one that is too long to be held whole."""

    text: str
    ends: bool


def read_paragraphs(pieces: Iterable[str], long: int = LONG) -> Iterator[Paragraph]:
    """The paragraphs of a text, which empty lines separate; together they are the text.

    White space at the start of the text belongs to its first paragraph. A paragraph of more than ``long`` letters comes
    in parts that end with white space, if it has any there.

    Examples
    --------
    >>> list(read_paragraphs(["One\\nand ", "more.\\n \\n", "\\nTwo."]))
    [Paragraph(text='One\\nand more.\\n \\n\\n', ends=True), Paragraph(text='Two.', ends=True)]
    """
    held: list[str] = []
    size, begun, blank = 0, False, False
    empty = True  # what was seen of the line, which may come in parts
    for line in _lines(pieces, long):
        if not line.isspace():
            if blank:
                yield Paragraph("".join(held), True)
                held, size, begun, blank = [], 0, False, False
            begun, empty = True, False
        elif begun and empty and line.endswith("\n"):
            blank = True
        empty = empty or line.endswith("\n")
        held.append(line)
        size += len(line)
        if size > long and not blank and begun:
            yield Paragraph("".join(held), False)
            held, size = [], 0
    if held or begun:
        yield Paragraph("".join(held), True)


def _lines(pieces: Iterable[str], long: int) -> Iterator[str]:
    """The lines with their ends; a line that is too long comes in parts that begin with a letter."""
    held: list[str] = []
    size = 0
    for piece in pieces:
        *ended, rest = piece.split("\n")
        for line in ended:
            yield "".join([*held, line, "\n"])
            held, size = [], 0
        held.append(rest)
        size += len(rest)
        while size > 2 * long:
            text = "".join(held)
            cut = _before_a_word(text, long)
            yield text[:cut]
            held, size = [text[cut:]], len(text) - cut
    if size:
        yield "".join(held)


def _before_a_word(text: str, at: int) -> int:
    """The place of the first word from here on; if there is none, here."""
    return next((i for i in range(at, len(text)) if text[i - 1].isspace() and not text[i].isspace()), at)
