"""The text format of word2vec: a word and its numbers on each line, after a line with both sizes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.lines import fields, read_blocks
from spinney.corpus.opening import writing
from spinney.errors import InputError, OptionError
from spinney.files import FilePath

Matrix = NDArray[np.float32]

_LARGEST = float(np.finfo(np.float32).max)
_SEPARATES = re.compile(r"[\0\t-\r\x1c-\x20]")


def read(path: FilePath) -> tuple[list[str], Matrix]:
    """The words and their vectors; the line with the sizes may be missing."""
    first_line: dict[str, int] = {}
    matrices: list[Matrix] = []
    promised = dimension = None
    for block in read_blocks(path):
        start, lines = block.line, block.decode().split("\n")[:-1]
        if start == 1:
            promised, dimension = _sizes(lines[0])
            if promised is not None:
                start, lines = 2, lines[1:]
            else:
                dimension = len(fields(lines[0])) - 1
        assert dimension is not None
        if dimension < 1:
            raise _refused(path, 1, "no numbers", "a word and its vector are needed on each line")
        words, matrix = _in_bulk(lines, dimension) or _one_by_one(path, start, lines, dimension)
        matrices.append(matrix)
        for line, word in enumerate(words, start):
            if first_line.setdefault(word, line) != line:
                raise _refused(path, line, f"the word {word!r} again", f"first on line {first_line[word]}")
    if dimension is None:
        raise InputError("no word vectors: the file is empty", path=os.fspath(path))
    if promised is not None and promised != len(first_line):
        what = f"the first line promises {promised} words, but {len(first_line)} follow"
        raise InputError(what, path=os.fspath(path), remedy="the file is incomplete, or two were joined")
    return list(first_line), np.concatenate(matrices)


def _sizes(line: str) -> tuple[int | None, int | None]:
    """The number of words and of dimensions if the first line tells them."""
    parts = fields(line)
    if len(parts) == 2 and all(re.fullmatch("[0-9]{1,18}", part) for part in parts):
        return int(parts[0]), int(parts[1])
    return None, None


def _in_bulk(lines: list[str], dimension: int) -> tuple[list[str], Matrix] | None:
    """Parse many lines at once, or give up: where one is bad, `_one_by_one` says which and why."""
    words, _, numbers = zip(*(line.partition(" ") for line in lines)) if lines else ((), (), ())
    if not all(words) or not all(map(str.strip, numbers)) or not lines:
        return None
    try:
        matrix = np.loadtxt(numbers, dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        return None
    if matrix.shape != (len(lines), dimension) or not np.all(np.isfinite(matrix)):
        return None
    return list(words), matrix


def _one_by_one(path: FilePath, start: int, lines: list[str], dimension: int) -> tuple[list[str], Matrix]:
    words, rows = [], []
    for line, text in enumerate(lines, start):
        word, *numbers = fields(text) or [""]
        if len(numbers) != dimension:
            raise _refused(path, line, f"{len(numbers)} numbers where {dimension} are needed")
        words.append(word)
        rows.append([_number(path, line, number) for number in numbers])
    return words, np.array(rows, dtype=np.float32).reshape(len(rows), dimension)


def _number(path: FilePath, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _refused(path, line, f"{text!r} is not a number") from None
    if not abs(value) <= _LARGEST:
        raise _refused(path, line, f"{text!r} is not a number of a vector")
    return value


def _refused(path: FilePath, line: int, what: str, remedy: str | None = None) -> InputError:
    return InputError(what, path=os.fspath(path), line=line, remedy=remedy)


def write(path: FilePath, words: Sequence[str], matrix: Any) -> None:
    """Write words and the rows of a dense or sparse matrix."""
    for word in words:
        if not word or _SEPARATES.search(word):
            raise OptionError(f"the word {word!r} cannot stand before a space: use `save` instead")
    digits = 9 if matrix.dtype == np.float32 else 17  # enough to read the same number back
    row_format = " ".join([f"%.{digits}g"] * matrix.shape[1])
    with writing(path) as file:
        file.write(f"{matrix.shape[0]} {matrix.shape[1]}\n")
        for start in range(0, len(words), 1000):
            rows = matrix[start : start + 1000]
            dense = rows.toarray() if hasattr(rows, "toarray") else rows
            for word, row in zip(words[start : start + 1000], dense.tolist()):
                file.write(f"{word} {row_format % tuple(row)}\n")
