"""Vectors of words that a model has not seen, from the vectors of their letter n-grams (Bojanowski et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.files import ModelFile, Parts

_OFFSET, _PRIME = np.uint32(2166136261), np.uint32(16777619)  # of the hash function FNV-1a
_LETTERS_AT_ONCE = 1 << 20


class Subwords:
    """The vectors of letter n-grams, as fastText hashes them into a number of rows.

    A file of fastText has some; :func:`spinney.embed.letters.learn_subwords` learns them from vectors of words.

    Parameters
    ----------
    matrix
        One row for each value of the hash function.
    shortest, longest
        The lengths of n-grams, in letters; the word has ``<`` before it and ``>`` after it.

    Examples
    --------
    >>> subwords = Subwords(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), 3, 3)
    >>> rows = subwords.rows_of(["cat"])  # <ca, cat, at>
    >>> rows.toarray()
    array([[1., 2.]])
    >>> subwords.vectors(["cat", ""])
    array([[0.33333334, 0.6666667 ],
           [0.        , 0.        ]], dtype=float32)
    """

    def __init__(self, matrix: NDArray[np.float32], shortest: int, longest: int) -> None:
        if matrix.ndim != 2 or not len(matrix) or not 1 <= shortest <= longest:
            raise OptionError("n-grams need a matrix with rows, and lengths from 1 on")
        self.matrix, self.shortest, self.longest = matrix, shortest, longest

    def rows_of(self, words: Sequence[str]) -> Any:
        """How many n-grams of each word are in each row, a sparse matrix."""
        from scipy.sparse import csr_array, vstack

        n_rows = len(self.matrix)
        parts, start = [csr_array((0, n_rows))], 0
        while start < len(words):
            stop, letters = start, 0
            while stop < len(words) and (stop == start or letters < _LETTERS_AT_ONCE):
                letters += len(words[stop]) + 2
                stop += 1
            owner, row = _hashed(words[start:stop], self.shortest, self.longest, n_rows)
            parts.append(csr_array((np.ones(len(row)), (owner, row)), shape=(stop - start, n_rows)))
            start = stop
        return vstack(parts, format="csr")

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The mean of the vectors of the n-grams of each word; zeros for a word without any."""
        rows = self.rows_of(words)
        n = np.maximum(rows.sum(axis=1), 1)
        return np.asarray((rows @ self.matrix) / n[:, None], np.float32)

    def parts(self) -> Parts:
        """What a model file keeps."""
        return Parts({"shortest": self.shortest, "longest": self.longest}, {"subwords": self.matrix}, {})

    @classmethod
    def from_parts(cls, model: ModelFile, header: dict[str, Any]) -> Self:
        """Read what :meth:`parts` gave."""
        shortest, longest = header.get("shortest"), header.get("longest")
        if not isinstance(shortest, int) or not isinstance(longest, int):
            raise OptionError("n-grams without lengths")
        return cls(model.tensor("subwords", np.float32, 2), shortest, longest)


def _hashed(
    words: Sequence[str], shortest: int, longest: int, n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each n-gram of each word, the word and the row.

    All n-grams grow at the same time, one letter at a step: each is a start, an end and a hash value so far.
    """
    texts = [f"<{word}>".encode(errors="replace") for word in words]
    signs = np.frombuffer(b"".join(texts), np.int8)
    ends = np.cumsum([len(text) for text in texts])
    inside = (signs.view(np.uint8) & 0xC0) == 0x80  # not the first byte of a letter
    start: NDArray[np.int64] = np.flatnonzero(~inside)
    owner: NDArray[np.int64] = np.searchsorted(ends, start, side="right")
    last: NDArray[np.int64] = ends[owner]
    first: NDArray[np.int64] = np.concatenate([[0], ends[:-1]])[owner]
    at: NDArray[np.int64] = start.copy()
    value: NDArray[np.uint32] = np.full(len(start), _OFFSET, np.uint32)
    inside = np.append(inside, False)
    owners, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for length in range(1, longest + 1):
        more = at < last
        start, owner, last, first, at = (places[more] for places in (start, owner, last, first, at))
        value = value[more]
        if not len(at):
            break
        step = np.ones(len(at), np.bool_)
        while step.any():  # the bytes of one letter; fastText extends their sign
            value[step] = (value[step] ^ signs[at[step]].astype(np.int32).view(np.uint32)) * _PRIME
            at[step] += 1
            step &= (at < last) & inside[at]
        if length >= shortest:
            # Of single letters, those that mark the ends of the word do not count.
            kept = np.ones(len(at), np.bool_) if length > 1 else (start > first) & (at < last)
            owners.append(owner[kept])
            rows.append((value[kept] % np.uint32(n_rows)).astype(np.int64))
    return np.concatenate(owners), np.concatenate(rows)
