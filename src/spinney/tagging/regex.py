r"""Wapiti's regular expressions, matched in time linear in the text, however they are written.

Patterns come from files, and models from anybody: an expression such as ``(a+)+$``, on which a matcher that backtracks
runs for ever, must not stop a program. RE2 (Cox 2010) matches as Perl and Python do, without backtracking. What needs
backtracking it does not have: back-references, look-around, possessive and atomic groups. Of these one is kept because
presets and models use it, a look-ahead at the very end: ``X(?=Y)`` is what the group of ``(X)Y`` matches.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

_PREDICATES: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "d": str.isdecimal,
    "l": str.islower,
    "p": lambda c: unicodedata.category(c)[0] in "PS",
    "s": str.isspace,
    "u": str.isupper,
    "w": str.isalnum,
}
_LAST_ASSIGNED = 0x323B0  # beyond these there are only tags and private characters
_MEMORY = 32 << 20  # bytes that RE2 may use for one expression
_PART = re.compile(
    r"(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<star>\*)(?![?+])|(?P<most>\{,\d+\})|\\.|.", re.DOTALL
)
_IN_SET = re.compile(r"\\.|.", re.DOTALL)
#: How RE2 writes what Python writes otherwise.
_SAME = {r"\Z": r"\z", r"\"": '"', r"\'": "'"}
_NOT_LINEAR = {r"\b": "the end of a word", r"\B": "the inside of a word"}


class LinearRegex(NamedTuple):
    """A compiled expression, and which of its groups is what it matches."""

    compiled: Any
    group: int

    def find(self, text: str) -> str | None:
        """What it matches first in a text; None for nothing."""
        found = self.compiled.search(text.encode(errors="replace"))
        return None if found is None else found[self.group].decode()


@lru_cache(maxsize=256)
def wapiti_regex(text: str) -> LinearRegex:
    r"""A regular expression as Wapiti reads it, with everything else that RE2 offers.

    ``\a`` letter, ``\d`` digit, ``\w`` letter or digit, ``\l`` lower and ``\u`` upper case, ``\p`` punctuation,
    ``\s`` space, capitals for the complement; of all Unicode. ``*`` takes as little as it can, as Wapiti's does
    (``+`` and ``{0,}`` take as much as they can).

    Raises
    ------
    re.error
        If it is no regular expression, or one that cannot be matched in linear time.

    Examples
    --------
    >>> [wapiti_regex(r"\u\l+").find(word) for word in ("von Österreich", "McDonald")]
    ['Österreich', 'Mc']
    >>> wapiti_regex("(a+)+$").find("a" * 10_000 + "b") is None
    True
    """
    import re2

    parts = [_translated(part, python=False) for part in _PART.finditer(text)]
    # Python, which knows no less, explains mistakes better, and says no where RE2 would take a mistake for text.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about brackets in a set
        re.compile("".join(_translated(part, python=True) for part in _PART.finditer(text)), re.DOTALL)
    start = _look_ahead(parts)
    if start is not None:
        parts = ["(", *parts[:start], ")(?:", *parts[start + 3 :]]
    options = re2.Options()
    options.max_mem, options.log_errors, options.dot_nl = _MEMORY, False, True
    try:
        return LinearRegex(re2.compile("".join(parts), options), 0 if start is None else 1)
    except re2.error as error:
        (reason,) = error.args or ("",)
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise re.error(f"cannot be matched in linear time: {said}") from None


def _translated(part: re.Match[str], python: bool) -> str:
    """A piece of an expression in the syntax of Python or RE2."""
    piece = part[0]
    if part["star"]:
        return "*?"
    if part["most"]:
        return "{0" + piece[1:]
    if part["set"]:
        inner = 2 if piece.startswith("[^") else 1
        signs = (_in_set(sign[0], python) for sign in _IN_SET.finditer(piece, inner, len(piece) - 1))
        return piece[:inner] + "".join(signs) + "]"
    if len(piece) == 2 and piece[1].lower() in _PREDICATES:
        return f"[{_characters(piece[1], python)}]"
    if python:
        return piece
    if piece in _NOT_LINEAR:
        raise re.error(f"cannot be matched in linear time: {_NOT_LINEAR[piece]}, {piece}")
    return _SAME.get(piece, piece)


def _in_set(sign: str, python: bool) -> str:
    """A sign between brackets."""
    if len(sign) == 2 and sign[1].lower() in _PREDICATES:
        return _characters(sign[1], python)
    if sign == r"\b":
        return r"\x08"
    return (
        r"\[" if sign == "[" else sign if python else _SAME.get(sign, sign)
    )  # RE2 has classes as in [[:alpha:]]


@lru_cache(maxsize=32)
def _characters(letter: str, python: bool) -> str:
    """The inside of a character class with all characters of Wapiti's class ``letter``.

    For Python, which only looks for mistakes, any range does: it would take long to compile those of all Unicode.
    """
    if python:
        return "a-z"
    inside = list(map(_PREDICATES[letter.lower()], map(chr, range(_LAST_ASSIGNED))))
    changes = [code for code, (one, next) in enumerate(pairwise([False, *inside, False])) if one != next]
    bounds = changes if letter.islower() else [0, *changes, 0x110000]
    ranges = zip(bounds[::2], bounds[1::2], strict=True)
    return "".join(f"\\x{{{first:x}}}-\\x{{{past - 1:x}}}" for first, past in ranges if first < past)


def _look_ahead(parts: list[str]) -> int | None:
    """Where the look-ahead begins that ends an expression without alternatives; None if there is none."""
    open_at: list[int] = []
    for i, part in enumerate(parts):
        if part == "(":
            open_at.append(i)
        elif part == ")" and open_at:
            start = open_at.pop()
            if i == len(parts) - 1 and not open_at and parts[start + 1 : start + 3] == ["?", "="]:
                return start
        elif part == "|" and not open_at:
            return None
    return None
