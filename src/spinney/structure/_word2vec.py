"""The formats of word2vec: after a line with both sizes, each word and its numbers, as text or as float32."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import open_bytes
from spinney.corpus.lines import fields, read_blocks
from spinney.corpus.opening import writing
from spinney.errors import InputError, OptionError
from spinney.files import FilePath

Matrix = NDArray[np.float32]

_LARGEST = float(np.finfo(np.float32).max)
_LONGEST = 1 << 12  # bytes of a word, or of the first line, in the binary format
_WIDEST = 1 << 20  # dimensions in the binary format: more are the mark of another format
_SEPARATES = re.compile(r"[\0\t-\r\x1c-\x20]")


def read(path: FilePath) -> tuple[list[str], Matrix]:
    """The words and their vectors; the line with the sizes may be missing, as in the files of GloVe."""
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
            raise _refused(path, 1, "there are no numbers", "a word and its vector are needed on each line")
        words, matrix = _in_bulk(lines, dimension) or _one_by_one(path, start, lines, dimension)
        matrices.append(matrix)
        for line, word in enumerate(words, start):
            if first_line.setdefault(word, line) != line:
                raise _refused(path, line, f"the word {word!r} again", f"first on line {first_line[word]}")
    if dimension is None:
        raise _empty(path)
    if promised is not None and promised != len(first_line):
        what = f"the first line announces {promised} words, but {len(first_line)} follow"
        raise InputError(
            what, path=os.fspath(path), remedy="the file is incomplete, or two files were joined"
        )
    return list(first_line), np.concatenate(matrices)


def read_binary(path: FilePath) -> tuple[list[str], Matrix]:
    """The same from the binary format: each word, a space, little-endian numbers and, perhaps, a line end."""
    with open_bytes(path) as file:
        first = file.readline(_LONGEST)
        if not first:
            raise _empty(path)
        promised, dimension = _sizes(first.decode("ascii", "replace"))
        if promised is None or not dimension or dimension > _WIDEST:
            raise _refused(
                path, 1, "the numbers of words and dimensions are missing", "is it a word2vec file?"
            )
        place: dict[str, int] = {}
        matrices = []
        while len(place) < promised:
            words, matrix = _binary_block(file, path, len(place), min(promised - len(place), 1000), dimension)
            for word in words:
                if word in place:
                    raise InputError(f"the word {word!r} appears twice", path=os.fspath(path))
                place[word] = len(place)
            matrices.append(matrix)
        if file.read(_LONGEST).strip(b"\n"):
            raise InputError(
                f"there is more after the {promised} words that the first line announces",
                path=os.fspath(path),
            )
    return list(place), np.concatenate([np.empty((0, dimension), dtype=np.float32), *matrices])


def _binary_block(
    file: BinaryIO, path: FilePath, before: int, n: int, dimension: int
) -> tuple[list[str], Matrix]:
    """The next ``n`` words and vectors, after ``before`` others."""
    words, vectors = [], []
    for i in range(before, before + n):
        word = _binary_word(file)
        vector = file.read(4 * dimension)
        if word is None or len(vector) < 4 * dimension:
            what = f"the file ends, or makes no sense, at word {i + 1}"
            raise InputError(what, path=os.fspath(path), remedy="it is truncated, or not binary word2vec")
        words.append(word)
        vectors.append(vector)
    matrix = np.frombuffer(b"".join(vectors), dtype="<f4").astype(np.float32).reshape(n, dimension)
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        where = before + int(finite.argmin()) + 1
        raise InputError(f"the vector of word {where} has numbers that are not finite", path=os.fspath(path))
    return words, matrix


def _binary_word(file: BinaryIO) -> str | None:
    """What comes before the next space, less the end of the line before; None if that is no word."""
    letters = bytearray()
    while (byte := file.read(1)) != b" ":
        if not byte or len(letters) > _LONGEST:
            return None
        letters += byte
    try:
        return letters.lstrip(b"\n").decode() or None
    except UnicodeDecodeError:
        return None


def _sizes(line: str) -> tuple[int | None, int | None]:
    """The number of words and of dimensions if the first line has them."""
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
        inner, numbers = numbers[:-dimension], numbers[-dimension:]
        if inner and not any(map(_is_number, inner)):  # GloVe has words such as ". . ."
            word = " ".join([word, *inner])
        elif inner or len(numbers) != dimension:
            numbers = [*inner, *numbers]
            raise _refused(path, line, f"{len(numbers)} numbers where {dimension} are needed")
        words.append(word)
        rows.append([_number(path, line, number) for number in numbers])
    return words, np.array(rows, dtype=np.float32).reshape(len(rows), dimension)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(path: FilePath, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _refused(path, line, f"{text!r} is not a number") from None
    if not abs(value) <= _LARGEST:
        raise _refused(path, line, f"{text!r} is not a number of a vector")
    return value


def _empty(path: FilePath) -> InputError:
    return InputError("no word vectors: the file is empty", path=os.fspath(path))


def _refused(path: FilePath, line: int, what: str, remedy: str | None = None) -> InputError:
    return InputError(what, path=os.fspath(path), line=line, remedy=remedy)


def write(path: FilePath, words: Sequence[str], matrix: Any) -> None:
    """Write words and the rows of a dense or sparse matrix."""
    for word in words:
        if not word or _SEPARATES.search(word):
            raise OptionError(f"the word {word!r} cannot be written in this format: use `save` instead")
    digits = 9 if matrix.dtype == np.float32 else 17  # enough to read the same number back
    row_format = " ".join([f"%.{digits}g"] * matrix.shape[1])
    with writing(path) as file:
        file.write(f"{matrix.shape[0]} {matrix.shape[1]}\n")
        for start in range(0, len(words), 1000):
            rows = matrix[start : start + 1000]
            dense = rows.toarray() if hasattr(rows, "toarray") else rows
            for word, row in zip(words[start : start + 1000], dense.tolist()):
                file.write(f"{word} {row_format % tuple(row)}\n")
