"""Patterns: which strings a tagger sees at a token, in the syntax of Wapiti and CRF++ with a few additions.

A pattern file has one pattern per line. ``U`` begins a pattern seen with one label, ``B`` one seen with two adjacent
labels, ``*`` one seen with both; ``#`` at the start of a line, or after white space, begins a comment. In a
pattern, fields are replaced by strings of the data; the text between them stays. The resulting string is the
observation, so two patterns with the same text between their fields share their observations.

=============================== ========================================================================
``%x[-1,0]``                    the string one token before, in column 0
``%t[0,0,"^\\u"]``               ``true`` if the regular expression is found in the string, else ``false``
``%m[0,0,"\\d+"]``               what the regular expression finds, or nothing
``%X %T %M``                    the same, the result in lower case
``%lower[0,0]``                 the string in lower case
``%shape[0,0]``                 its shape: runs of capitals as X, other letters x, digits d (Reuters-21578: Xx-d)
``%prefix[0,0,3]``              its first three letters; no observation if it is shorter
``%suffix[0,0,3]``              its last three letters
``%class[0,0,NAME]``            the word's class in the word classes NAME; no observation if it has none
``%path[0,0,NAME,4]``           the first four bits of the path of that class
``%vector[0,0,NAME]``           the word's vector in NAME: as many observations as it has coordinates
``%value[0,2]``                 real-valued observations in the cell, ``name:value``, with ``|`` between them
=============================== ========================================================================

Before the first number, ``@`` counts from the start (``@1``) or end (``@-1``) of the sentence. Outside the
sentence there are ``_B-1``, ``_B-2``, … and ``_B+1``, ``_B+2``, …, as in CRF++; regular expressions see
Wapiti's ``_x-1`` there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import read_lines
from spinney.errors import InputError
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.regex import LinearRegex, wapiti_regex

Kind = Literal["u", "b", "*"]
Structure = WordClasses | WordVectors
View = Callable[[str], str | None]

_KINDS: dict[str, Kind] = {"U": "u", "u": "u", "B": "b", "b": "b", "*": "*"}
_FIELD = re.compile(
    r"""%(?P<view>[A-Za-z]+)\[\s*
        (?P<absolute>@?)(?P<offset>[+-]?\d{1,3})\s*,\s*
        (?P<column>\d{1,4})\s*
        (?:,\s*"(?P<regex>(?:[^"\\]|\\.)*)"\s*|,\s*(?P<first>[^\s,%"\[\]]+)\s*(?:,\s*(?P<second>\d{1,4})\s*)?)?\]""",
    re.VERBOSE | re.ASCII,
)
_COMMENT = re.compile(r"\s#")
#: The arguments of each view after offset and column.
_ARGUMENTS = {
    "x": "", "t": "regex", "m": "regex", "lower": "", "shape": "", "prefix": "length", "suffix": "length",
    "class": "name", "path": "name,length", "vector": "name", "value": "",
}  # fmt: skip
#: Fields of a pattern that see several things: their combinations would be too many otherwise.
MOST_LISTS = 2
_EXAMPLES = {"": "%x[0,0]", "regex": '%t[0,0,"^re"]', "length": "%suffix[0,0,3]"}
_EXAMPLES |= {"name": "%class[0,0,NAME]", "name,length": "%path[0,0,NAME,4]"}


class Look(NamedTuple):
    """A view of a string, whatever its position: equal looks give equal results."""

    view: str
    argument: str = ""
    length: int = 0
    lower: bool = False

    @property
    def is_valued(self) -> bool:
        """Whether it gives several observations with real values."""
        return self.view in ("vector", "value")


@dataclass(frozen=True)
class Field:
    """A place, counted from the token (``absolute``: from an end of the sentence), and how to look at it."""

    look: Look
    column: int
    offset: int
    absolute: bool = False

    def beyond(self, distance: int) -> str | None:
        """What is seen ``distance`` tokens after the end of the sentence, or before its start if negative."""
        if self.look.is_valued:
            return None
        if self.look.view in ("t", "m"):
            number = str(abs(distance)) if abs(distance) <= 4 else "#"  # Wapiti's names of these places
            return viewer(self.look)(f"_x{'-' if distance < 0 else '+'}{number}")
        return f"_B{distance:+d}"


@dataclass(frozen=True)
class Pattern:
    """One line of a pattern file.

    Attributes
    ----------
    kind : "u", "b" or "*"
        Seen with one label, with two adjacent labels, or with both.
    text : str
        The line, without comment.
    literals : tuple of str
        The text before, between and after the fields.
    fields : tuple of Field
    line, path
        Where it was read.

    Examples
    --------
    >>> [pattern] = parse_patterns("U06:%x[-1,0]/%x[0,0]")
    >>> pattern.kind, pattern.name, pattern.literals
    ('u', 'U06', ('U06:', '/', ''))
    >>> pattern.fields[0].offset, pattern.fields[0].column
    (-1, 0)
    """

    kind: Kind
    text: str
    literals: tuple[str, ...]
    fields: tuple[Field, ...]
    line: int | None = None
    path: str | None = None

    @property
    def name(self) -> str:
        """What it is called in reports: ``U05`` of ``U05:%x[0,0]``, ``U:word`` of ``U:word=%x[0,0]``."""
        head = self.literals[0].partition(":")[0]
        return head if len(head) > 1 else self.literals[0].rstrip(":= ")

    @property
    def n_lists(self) -> int:
        """How many of its fields see several things with values; its observations are all combinations of them."""
        return sum(field.look.is_valued for field in self.fields)

    @property
    def place(self) -> str:
        """Its name and where it was read, for messages."""
        where = ":".join(str(part) for part in (self.path, self.line) if part is not None)
        return f"pattern {self.name} ({where})" if where else f"pattern {self.name}"

    def error(self, what: str, remedy: str | None = None) -> InputError:
        """An error at this pattern."""
        return InputError(what, path=self.path, line=self.line, remedy=remedy)


def read_patterns(path: FilePath) -> tuple[Pattern, ...]:
    """The patterns of a file for Wapiti or CRF++, or with Spinney's own fields."""
    return _parsed(read_lines(path), os.fspath(path))


def parse_patterns(text: str, path: str | None = None) -> tuple[Pattern, ...]:
    """The patterns of a text; ``path`` is the file it was read from, if any.

    Examples
    --------
    >>> parse_patterns("U1:%x[0,1")
    Traceback (most recent call last):
    spinney.errors.InputError: pattern 'U1:%x[0,1': no field begins at '%x[0,1' (write it as %x[0,0])
    """
    return _parsed(enumerate(text.split("\n"), 1), path)


def _parsed(lines: Iterable[tuple[int, str]], path: str | None) -> tuple[Pattern, ...]:
    found = [parse_line(text, line, path) for line, text in lines]
    patterns = tuple(pattern for pattern in found if pattern is not None)
    if not patterns:
        raise InputError("no patterns", path=path, remedy="write lines such as U00:%x[0,0]")
    return patterns


def parse_line(text: str, line: int | None = None, path: str | None = None) -> Pattern | None:
    """The pattern of one line; None for a comment or a blank line."""
    text = text.strip()
    if not text or text.startswith("#"):
        return None

    def refused(what: str, remedy: str | None = None) -> InputError:
        return InputError(f"pattern {text!r}: {what}", path=path, line=line, remedy=remedy)

    if text[0] not in _KINDS:
        raise refused(
            "a pattern must begin with U, B or *", "U for one label, B for pairs of labels, * for both"
        )
    literals: list[str] = []
    fields: list[Field] = []
    at = 0
    while True:
        percent = text.find("%", at)
        literal = text[at:] if percent < 0 else text[at:percent]
        if comment := _COMMENT.search(literal):
            text, percent = text[: at + comment.start()].rstrip(), -1
            literal = text[at:]
        literals.append(literal)
        if percent < 0:
            break
        match = _FIELD.match(text, percent)
        if match is None:
            view = re.match("%([a-z]+)", text[percent:])
            example = _EXAMPLES[_ARGUMENTS.get(view[1], "") if view else ""]
            raise refused(f"no field begins at {text[percent : percent + 20]!r}", f"write it as {example}")
        fields.append(_field(match, refused))
        at = match.end()
    literals[0] = literals[0][0].upper() + literals[0][1:]
    if sum(field.look.is_valued for field in fields) > MOST_LISTS:
        raise refused("a pattern has at most two fields of %vector and %value", "use several lines")
    return Pattern(_KINDS[text[0]], text, tuple(literals), tuple(fields), line, path)


def _is_length(text: str) -> bool:
    return text.isdecimal() and len(text) < 5 and int(text) > 0


def _field(match: re.Match[str], refused: Callable[..., InputError]) -> Field:
    view, first, second, regex = match["view"], match["first"], match["second"], match["regex"]
    lower = view in ("X", "T", "M")
    view = view.lower() if lower else view
    if view not in _ARGUMENTS:
        raise refused(f"there is no %{view}", "there are " + " ".join(f"%{name}" for name in _ARGUMENTS))
    wanted = _ARGUMENTS[view]
    given = {
        "": first is None and regex is None,
        "regex": regex is not None,
        "length": first is not None and _is_length(first) and second is None,
        "name": first is not None and second is None,
        "name,length": first is not None and second is not None,
    }
    if not given[wanted]:
        raise refused(f"{match[0]} is not a %{view}", f"as in {_EXAMPLES[wanted]}".replace("%x", f"%{view}"))
    argument = regex if wanted == "regex" else first if "name" in wanted else ""
    length = int(first) if wanted == "length" else int(second) if wanted == "name,length" else 0
    if wanted == "regex":
        try:
            wapiti_regex(regex)
        except (re.error, OverflowError, RecursionError) as error:
            linear = "linear time" in str(error)
            raise refused(
                f"bad regular expression {regex!r}: {error}",
                "see docs/tagging.md for what expressions have"
                if linear
                else "put \\ before special characters that stand for themselves",
            ) from None
    return Field(
        Look(view, argument, length, lower),
        int(match["column"]),
        int(match["offset"]),
        bool(match["absolute"]),
    )


# ------------------------------------------------------------------------------------------------ views


def viewer(look: Look, structure: Structure | None = None) -> View:
    """The function from a string to what is seen of it; None where nothing is."""
    match look.view:
        case "x":
            return str.lower if look.lower else str
        case "lower":
            return str.lower
        case "shape":
            return shape
        case "prefix":
            return lambda text: text[: look.length] if len(text) >= look.length else None
        case "suffix":
            return lambda text: text[-look.length :] if len(text) >= look.length else None
        case "t":
            regex = wapiti_regex(look.argument)
            return lambda text: "false" if regex.find(text) is None else "true"
        case "m":
            regex = wapiti_regex(look.argument)
            return lambda text: _matched(regex, text, look.lower)
        case _:
            assert isinstance(structure, WordClasses)
            return _class_viewer(look, structure)


def check_structures(patterns: tuple[Pattern, ...], structures: Mapping[str, Structure]) -> None:
    """Refuse patterns that name a missing structure, or one of another kind."""
    for pattern in patterns:
        for view, name, *_ in (field.look for field in pattern.fields):
            if view not in ("class", "path", "vector"):
                continue
            structure = structures.get(name)
            if structure is None:
                there = ", ".join(structures) or "none"
                raise pattern.error(f"there is no structure {name!r}", f"given are: {there}")
            if isinstance(structure, WordVectors) != (view == "vector"):
                kind = type(structure).__name__
                raise pattern.error(
                    f"{name!r} is of type {kind}", "%class and %path are for classes, %vector is for vectors"
                )
            if view == "path" and isinstance(structure, WordClasses) and structure.paths is None:
                raise pattern.error(f"the classes {name!r} have no paths", "use %class")


def shape(text: str) -> str:
    """The kinds of characters in a word, each run written once.

    Examples
    --------
    >>> shape("Reuters-21578"), shape("U.S."), shape("...")
    ('Xx-d', 'X.X.', '.')
    """
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdecimal() else c for c in text]
    return "".join(c for i, c in enumerate(kinds) if i == 0 or kinds[i - 1] != c)


def _matched(regex: LinearRegex, text: str, lower: bool) -> str:
    result = regex.find(text) or ""
    return result.lower() if lower else result  # Wapiti, too, lowers the result and not what is searched


def _class_viewer(look: Look, classes: WordClasses) -> View:
    def seen(text: str) -> str | None:
        id_ = classes.get(text if text in classes else text.lower())
        if id_ is None:
            return None
        return str(id_) if look.view == "class" else (classes.paths or [])[id_][: look.length]

    return seen
