"""The features of a token in every shape that python-crfsuite takes, as named numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from spinney.errors import InputError, shown

_NESTED = (Mapping, list, tuple, Set)
_DEEPEST = 100  # dictionaries inside one another
_REMEDY = "give each token as a dictionary of features, or a list of strings"


def attributes(token: Any) -> list[tuple[str, float]]:
    """The attributes of a token and their values, as python-crfsuite's ``ItemSequence`` names them.

    A token is a list (or set) of strings, each of which counts 1, or a dictionary. There, a string counts 1 under
    ``name:value``, a number counts itself, True counts 1 and False 0; the items of a list, a set or an inner dictionary
    come under ``name:item``. Bytes are read as UTF-8.

    Examples
    --------
    >>> attributes({"word": "dog", "title": False, "length": 3, "end": ["g", "og"], "next": {"word": "barks"}})
    [('word:dog', 1.0), ('title', 0.0), ('length', 3.0), ('end:g', 1.0), ('end:og', 1.0), ('next:word:barks', 1.0)]
    >>> attributes(["bias", "word=dog"])
    [('bias', 1.0), ('word=dog', 1.0)]
    >>> attributes({"length": None})
    Traceback (most recent call last):
    spinney.errors.InputError: the feature 'length' is None (give a string, a number, ...)
    """
    if not isinstance(token, _NESTED):
        raise InputError(f"a token is {shown(token)}", remedy=_REMEDY)
    return list(_attributes(token, "", _DEEPEST))


def _attributes(given: Any, prefix: str, deepest: int) -> Iterator[tuple[str, float]]:
    if not deepest:
        raise InputError(f"features are nested more than {_DEEPEST} deep")
    if not isinstance(given, Mapping):
        for key in given:
            yield prefix + _text(key), 1.0
        return
    for key, value in given.items():
        name = prefix + _text(key)
        if isinstance(value, _NESTED):
            yield from _attributes(value, f"{name}:", deepest - 1)
        elif isinstance(value, str | bytes):
            yield f"{name}:{_text(value)}", 1.0
        else:
            yield name, _number(name, value)


def _text(given: Any) -> str:
    if isinstance(given, bytes):
        try:
            return given.decode()
        except UnicodeDecodeError:
            raise InputError(f"the feature {shown(given)} is not UTF-8", remedy="decode it first") from None
    if not isinstance(given, str):
        raise InputError(f"the name of a feature is {shown(given)}", remedy="names must be strings")
    return str(given)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"the feature {shown(name)} is {shown(value)}",
            remedy="give a string, a number, a truth value, or a list of strings",
        ) from None
    if not math.isfinite(number):
        raise InputError(f"the feature {shown(name)} is {number}", remedy="give a finite number")
    return number


def attribute_cell(seen: Iterable[tuple[str, float]]) -> str:
    """Attributes and their values as one cell, for the pattern ``%value``.

    Examples
    --------
    >>> attribute_cell([("bias", 1.0), ("word:a|b", 1.0), ("length", 0.5)])
    'bias:1.0|word\\\\:a\\\\|b:1.0|length:0.5'
    """
    cells = []
    for name, value in seen:
        if "\\" in name or ":" in name or "|" in name:
            name = name.replace("\\", "\\\\").replace(":", "\\:").replace("|", "\\|")
        cells.append(f"{name}:{value!r}")
    return "|".join(cells) or "|"
