"""fastText's binary files: words, and vectors for words and for letter n-grams."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import open_bytes
from spinney.errors import InputError
from spinney.files import FilePath
from spinney.structure.subwords import Subwords

MAGIC = struct.pack("<i", 793712314)
_VERSIONS = (11, 12)
_ARGUMENTS = struct.Struct("<12id")
_DICTIONARY = struct.Struct("<3i2q")
_ENTRY = struct.Struct("<qb")  # after the word: its count, and whether it is a word or a label
_SIZES = struct.Struct("<2q")
_LONGEST = 1 << 16  # bytes of a word
_WIDEST = 1 << 20  # dimensions
_LONGEST_GRAM = 1000
_BLOCK = (
    1 << 24
)  # bytes read at a time, so that a size in the file costs nothing before its numbers are there
_SUPERVISED = 3
_END = "</s>"


class Read(NamedTuple):
    """The words, their vectors, and what gives vectors to other words."""

    words: list[str]
    matrix: NDArray[np.float32]
    subwords: Subwords | None


def is_fasttext(path: FilePath) -> bool:
    """Whether a file begins as those of fastText do."""
    with open_bytes(path) as file:
        return file.read(4) == MAGIC


def read(path: FilePath) -> Read:
    """Read a ``.bin`` file of fastText: the vector of a word is the mean of its own and those of its n-grams."""
    with open_bytes(path) as file:
        try:
            return _read(file)
        except (ValueError, struct.error) as error:
            what = str(error) if isinstance(error, ValueError) else "the file ends too early: it is truncated"
            raise InputError(what, path=os.fspath(path), remedy="is it a .bin file of fastText?") from None


def _read(file: BinaryIO) -> Read:
    if file.read(4) != MAGIC:
        raise ValueError("no header of fastText")
    (version,) = struct.unpack("<i", file.read(4))
    if version not in _VERSIONS:
        raise ValueError(f"a file of version {version} of fastText, which is not known")
    dimension, *_, model, n_buckets, shortest, longest, _, _ = _ARGUMENTS.unpack(file.read(_ARGUMENTS.size))
    if version == 11 and model == _SUPERVISED:
        longest = 0  # old classifiers did not use n-grams of letters
    words = _words(file)
    if file.read(1) != b"\0":
        raise ValueError("quantised vectors (.ftz) are not read")
    rows, columns = _SIZES.unpack(file.read(_SIZES.size))
    if not 0 < columns <= _WIDEST or columns != dimension or n_buckets < 0 or rows != len(words) + n_buckets:
        raise ValueError("damaged: the numbers of words, n-grams and dimensions do not agree")
    matrix = _matrix(file, rows, columns)
    if longest < 1 or not n_buckets or shortest < 1:
        return Read(words, matrix[: len(words)], None)
    if longest > _LONGEST_GRAM or shortest > longest:
        raise ValueError("damaged: n-grams of an impossible length")
    subwords = Subwords(matrix[len(words) :], shortest, longest)
    grams = subwords.rows_of(words)
    if _END in words:  # the end of a line is not made of letters
        keep = np.array([word != _END for word in words], np.float64)
        grams = grams.multiply(keep[:, None]).tocsr()
    total = matrix[: len(words)] + grams @ subwords.matrix
    return Read(words, (total / (1 + grams.sum(axis=1))[:, None]).astype(np.float32), subwords)


def _words(file: BinaryIO) -> list[str]:
    size, n_words, n_labels, _, n_pruned = _DICTIONARY.unpack(file.read(_DICTIONARY.size))
    if n_words < 0 or n_labels < 0 or size != n_words + n_labels:
        raise ValueError("damaged: the numbers of words and labels do not agree")
    if n_pruned > 0:
        raise ValueError("pruned vectors are not read")
    words: list[str] = []
    for _ in range(size):
        letters = bytearray()
        while (sign := file.read(1)) != b"\0":
            if not sign or len(letters) > _LONGEST:
                raise ValueError("the file ends inside its words: it is truncated")
            letters += sign
        _, kind = _ENTRY.unpack(file.read(_ENTRY.size))
        if kind == 0:
            words.append(letters.decode(errors="replace"))
    if len(words) != n_words or len(set(words)) < n_words:
        raise ValueError("damaged: a word is missing, or comes twice")
    return words


def _matrix(file: BinaryIO, rows: int, columns: int) -> NDArray[np.float32]:
    """Numbers, read in blocks: a size that the file does not hold is found out before its room is taken."""
    needed, pieces = 4 * rows * columns, []
    while needed > 0:
        piece = file.read(min(needed, _BLOCK))
        if not piece:
            raise ValueError("the file ends inside its vectors: it is truncated")
        pieces.append(piece)
        needed -= len(piece)
    matrix = np.frombuffer(b"".join(pieces), "<f4").reshape(rows, columns).astype(np.float32, copy=False)
    if not np.isfinite(matrix).all():
        raise ValueError("damaged: a vector has numbers that are not finite")
    return matrix
