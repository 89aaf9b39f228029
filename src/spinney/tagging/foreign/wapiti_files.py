"""Wapiti's model files: a header; patterns, labels and observations as netstrings; the weights that are not zero."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from spinney.corpus.compressed import FilePath, open_bytes
from spinney.errors import InputError, ModelFileError
from spinney.tagging.foreign.assembling import Weighed, assembled
from spinney.tagging.foreign.splitting import expanded
from spinney.tagging.patterns import Field, Pattern, parse_line
from spinney.tagging.tagger import Tagger

_MODEL = re.compile(rb"#mdl#(?:(\d{1,2})#)?(\d{1,18})")
_READER = re.compile(rb"#rdr#(\d{1,9})/(\d{1,9})(?:/(\d))?")
_STRINGS = re.compile(rb"#qrk#(\d{1,18})")
_LENGTH = re.compile(rb"(\d{1,9}):")
_WEIGHT = re.compile(rb"(\d{1,18})=([-+.0-9a-fA-FxXpP]{1,40})")
_BEYOND = re.compile(r"_x([-+])([1-4#])")  # what Wapiti sees before the start and after the end
_TYPES = {"0": "a maximum entropy model", "1": "a maximum entropy Markov model"}


def read_wapiti(path: FilePath) -> Tagger:
    """The tagger in a model file of Wapiti, with its patterns.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/m.wapiti"
    >>> with open(path, "w") as file:
    ...     _ = file.write('#mdl#2#2\\n#rdr#1/1/0\\n9:u:%x[0,0],\\n#qrk#2\\n1:D,\\n1:N,\\n')
    ...     _ = file.write('#qrk#2\\n5:u:the,\\n5:u:dog,\\n')
    ...     _ = file.write('0=0x1p+0\\n3=0x1.8p+0\\n')
    >>> read_wapiti(path).predict([["the", "dog"]])
    [['D', 'N']]
    """
    with open_bytes(path) as file:
        data = file.read()
    try:
        patterns, labels, u, b = _parsed(data)
    except UnicodeDecodeError:
        raise ModelFileError(
            "not UTF-8", path=os.fspath(path), remedy="only models of UTF-8 are read"
        ) from None
    except ValueError as error:
        what = error.what if isinstance(error, InputError) else str(error)
        raise ModelFileError(what, path=os.fspath(path), remedy="is it a model of Wapiti?") from None
    return assembled(Tagger(), "Wapiti", labels, patterns, u, b)


class _Lines:
    """The file, read from one place to the next."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def header(self, form: re.Pattern[bytes]) -> tuple[str | None, ...]:
        found = form.match(self.data, self.at)
        if found is None or self.data[found.end() : found.end() + 1] != b"\n":
            raise ValueError(f"damaged at byte {self.at}")
        self.at = found.end() + 1
        return tuple(None if part is None else part.decode() for part in found.groups())

    def strings(self, n: int) -> list[str]:
        if 4 * n > len(self.data) - self.at:  # the shortest is 0:, and a line end
            raise ValueError("the file ends before its strings: it is truncated")
        return [self.string() for _ in range(n)]

    def string(self) -> str:
        found = _LENGTH.match(self.data, self.at)
        start = 0 if found is None else found.end()
        end = start + (0 if found is None else int(found[1]))
        if found is None or self.data[end : end + 2] != b",\n":
            raise ValueError(f"damaged at byte {self.at}")
        self.at = end + 2
        return self.data[start:end].decode()


def _parsed(data: bytes) -> tuple[list[Pattern], list[str], Weighed, Weighed]:
    lines = _Lines(data)
    type_, promised = lines.header(_MODEL)
    if type_ not in (None, "2"):
        raise ValueError(f"{_TYPES.get(str(type_), 'a model')}: only conditional random fields are read")
    n_patterns, _, _ = lines.header(_READER)
    patterns = [found for text in lines.strings(int(n_patterns or 0)) if (found := parse_line(text))]
    if not patterns:
        raise ValueError("a model without patterns, whose features are in its data, is not read")
    labels = lines.strings(_count(lines))
    if not labels or len(set(labels)) < len(labels):
        raise ValueError("damaged: there are no labels, or a label occurs twice")
    texts = lines.strings(_count(lines))
    places, values = _weights(data, lines.at)
    if len(values) != int(promised or 0):
        raise ValueError(f"the file has {len(values):,} weights of {int(promised or 0):,}: it is truncated")
    return patterns, labels, *_weighed(patterns, texts, len(labels), places, values)


def _count(lines: _Lines) -> int:
    (n,) = lines.header(_STRINGS)
    return int(n or 0)


def _weights(data: bytes, start: int) -> tuple[list[int], list[float]]:
    places, values = [], []
    for line in data[start:].splitlines():
        found = _WEIGHT.fullmatch(line)
        if found is None:
            raise ValueError(f"damaged: {line[:40]!r} is not a weight")
        text = found[2].decode()
        try:
            value = float.fromhex(text) if "x" in text.lower() else float(text)
        except OverflowError:
            value = float("inf")
        if not abs(value) < float("inf"):
            raise ValueError(f"damaged: {text} is not a weight")
        places.append(int(found[1]))
        values.append(value)
    return places, values


def _weighed(
    patterns: Sequence[Pattern], texts: Sequence[str], Y: int, places: list[int], values: list[float]
) -> tuple[Weighed, Weighed]:
    """The weights of each observation: first those of labels, if it has any, and then those of pairs of labels."""
    kinds = [text[:1] for text in texts]
    if not set(kinds) <= {"u", "b", "*"}:
        raise ValueError("damaged: an observation is neither of labels nor of pairs")
    n_labels = np.array([Y * (kind != "b") for kind in kinds], np.int64)
    sizes = n_labels + np.array([Y * Y * (kind != "u") for kind in kinds], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.array(places, np.int64)
    if len(place) and not 0 <= place.min() <= place.max() < starts[-1]:
        raise ValueError("damaged: a weight without an observation")
    row = np.searchsorted(starts, place, side="right") - 1
    inside = place - starts[row]
    one = inside < n_labels[row]
    pair = inside - n_labels[row]
    value = np.array(values, np.float64)
    # Patterns begin with a capital here.
    texts = [text[:1].upper() + text[1:] for text in texts]
    names = partial(_names, max((abs(field.offset) for one in patterns for field in one.fields), default=0))
    return (
        expanded(patterns, "u", texts, (row[one], inside[one], value[one]), names),
        expanded(patterns, "b", texts, (row[~one], pair[~one], value[~one]), names),
    )


def _names(farthest: int, field: Field, text: str) -> list[str]:
    """Outside the sentence ``%x`` sees ``_B-1`` here, and ``_x-1`` there; regular expressions see the same."""
    found = _BEYOND.fullmatch(text)
    if found is None or field.look.view != "x":
        return [text]
    distances = range(5, max(farthest + 1, 5) + 1) if found[2] == "#" else [int(found[2])]
    return [f"_B{found[1]}{distance}" for distance in distances]
