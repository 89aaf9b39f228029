"""Atoms: the smallest pieces of text that a tokeniser decides about.

An atom is a run of letters with their marks, a run of digits, one other character, or the address of a page or a
person on the Internet. Between two atoms a token may end; within an atom it does not. In a script without spaces, every
letter is an atom.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

Span = tuple[int, int]

_JOINERS = (0x200C, 0x200D)
_RUNS = re.compile(r"[LM]+|N+|\.M*")
_LETTERS = re.compile(r"[LM]M*|N+|\.M*")
# What begins like an address ends before white space, without the punctuation that follows it.
_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S*[^\W_]/?|(?<![^\W_])[\w.+-]{1,64}@(?:[\w-]{1,64}\.){1,8}[^\W\d_]{2,24}"
)


class _Kinds(dict[int, str]):
    """The kind of each character: white space, L for letters, M for marks on letters, N for digits, or a point."""

    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))[0]
        kind = "M" if code in _JOINERS else category if category in "LMN" else "."
        self[code] = kind = " " if chr(code).isspace() else kind
        return kind


_KINDS = _Kinds()


def atoms(text: str, *, letters: bool = False) -> list[Span]:
    """Where the atoms of a text begin and end; with ``letters``, every letter is an atom.

    Examples
    --------
    >>> text = "Dr. Li's 1,5 m"
    >>> [text[start:end] for start, end in atoms(text)]
    ['Dr', '.', 'Li', "'", 's', '1', ',', '5', 'm']
    >>> text = "(see www.example.org/a_b)."
    >>> [text[start:end] for start, end in atoms(text)]
    ['(', 'see', 'www.example.org/a_b', ')', '.']
    """
    kinds = text.translate(_KINDS)
    found = [match.span() for match in (_LETTERS if letters else _RUNS).finditer(kinds)]
    if "@" in text or "://" in text or "www." in text:
        for start, end in [match.span() for match in _ADDRESS.finditer(text)]:
            first, last = bisect_left(found, (start, start)), bisect_left(found, (end, end))
            if found[first][0] == start and found[last - 1][1] == end:
                found[first:last] = [(start, end)]
    return found


class Look(NamedTuple):
    """What an atom looks like.

    Attributes
    ----------
    shape : str
        ``x`` or ``X`` for small and capital letters, ``Xx`` for a capital and small ones, ``x1`` and ``X1`` for one
        letter, ``o`` for a script without capitals, ``9``, ``99`` or ``9+`` for digits, or the character itself.
    coarse : str
        ``a`` or ``A`` for a small or capital first letter, ``o``, ``9``, or the character itself.
    length : str
        How many letters or digits it has, marks not counted, up to 5.
    lower : str
        The atom in lower case.
    """

    shape: str
    coarse: str
    length: str
    lower: str


@lru_cache(maxsize=1 << 16)
def look(atom: str) -> Look:
    """What an atom looks like.

    Examples
    --------
    >>> look("Dr")[:3], look("1995")[:3], look("?")[:3]
    (('Xx', 'A', '2'), ('9+', '9', '4'), ('?', '?', '1'))
    """
    kind = _KINDS[ord(atom[0])]
    lower = atom.lower()
    if kind == "N":
        return Look(
            "9" if len(atom) == 1 else "99" if len(atom) == 2 else "9+", "9", str(min(len(atom), 5)), lower
        )
    if kind == ".":
        return Look(atom, atom, "1", lower)
    length = str(min(max(sum(_KINDS[ord(letter)] == "L" for letter in atom), 1), 5))
    if lower == atom.upper():
        return Look("o", "o", length, lower)
    first = atom[0].isupper()
    if atom == lower:
        shape = "x" if length > "1" else "x1"
    elif atom.isupper():
        shape = "X" if length > "1" else "X1"
    else:
        shape = "Xx" if first and not any(letter.isupper() for letter in atom[1:]) else "xX"
    return Look(shape, "A" if first else "a", length, lower)
