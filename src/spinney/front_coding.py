"""Lists of strings in little space: each without the prefix that it shares with the one before.

Front coding, as in the dictionaries of search engines (Witten, Moffat and Bell 1999, *Managing Gigabytes*, §4.1). The
bytes that remain of all strings are in one piece, with their lengths and those of the shared prefixes beside them in
the smallest type that holds them. Any order is kept; a sorted list shares most, and a word takes about five bytes.

Every 32nd string is whole, so that one string is found without decoding the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
#: The most bytes that are shared: a file of two bytes for each string must not claim a large memory.
MOST_SHARED = 63
_PIECE = 1 << 16  # strings that are compared, or decoded, together: a multiple of BLOCK


class Coded(NamedTuple):
    """A front-coded list."""

    rest: NDArray[np.uint8]  # what follows the shared prefixes, in one piece
    lengths: NDArray[Any]  # of what follows, in bytes
    shared: NDArray[np.uint8] | None  # the bytes that a string has from the one before; None if all have none


def smallest(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers that are not negative, in the smallest type that holds all of them.

    Examples
    --------
    >>> smallest(np.array([0, 255])).dtype, smallest(np.array([0, 256])).dtype
    (dtype('uint8'), dtype('uint16'))
    """
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def coded(texts: Sequence[bytes]) -> Coded:
    """The front coding of a list of strings.

    Examples
    --------
    >>> found = coded([b"walk", b"walked", b"walking", b"wall"])
    >>> found.rest.tobytes(), found.lengths.tolist(), found.shared.tolist()
    (b'walkedingl', [4, 2, 3, 1], [0, 4, 4, 3])
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    shared = _shared(texts, lengths)
    if int(shared.sum()) <= len(shared):  # these lengths would take more than they save
        return Coded(np.frombuffer(b"".join(texts), np.uint8), smallest(lengths), None)
    rest = b"".join([text[begin:] for text, begin in zip(texts, shared.tolist())])
    return Coded(np.frombuffer(rest, np.uint8), smallest(lengths - shared), shared)


def _shared(texts: Sequence[bytes], lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """How many bytes each string has in common with the one before; none at the beginning of a block."""
    shared = np.zeros(len(texts), np.uint8)
    for start in range(0, len(texts), _PIECE):
        some = np.array(
            texts[start : start + _PIECE], f"S{MOST_SHARED + 1}"
        )  # one more, at which they differ
        letters = some.view(np.uint8).reshape(len(some), -1)[:, : MOST_SHARED + 1]
        differ = letters[1:] != letters[:-1]
        differ[:, MOST_SHARED] = True
        limit = lengths[start : start + len(some)]
        # Shorter strings are filled up with zeros, which are no letters of theirs.
        shared[start + 1 : start + len(some)] = np.minimum(
            differ.argmax(axis=1), np.minimum(limit[1:], limit[:-1])
        )
    shared[::BLOCK] = 0
    return shared


def is_sound(found: Coded) -> bool:
    """Whether a list that was read from a file can be decoded; in time linear in the strings, without decoding them."""
    rest, lengths, shared = found
    if rest.ndim != 1 or rest.dtype != np.uint8 or lengths.ndim != 1 or lengths.dtype.kind != "u":
        return False
    if lengths.max(initial=0) > len(rest) or int(lengths.sum(dtype=np.int64)) != len(rest):
        return False
    if shared is None:
        return True
    if shared.dtype != np.uint8 or shared.shape != lengths.shape or shared.max(initial=0) > MOST_SHARED:
        return False
    whole = lengths.astype(np.int64) + shared
    return not shared[::BLOCK].any() and bool(np.all(shared[1:] <= whole[:-1]))


class Strings(Sequence[str]):
    """A list of strings that is kept as UTF-8 in one piece, and decoded when it is asked for.

    Raises a `UnicodeDecodeError` for a string that is not UTF-8.

    Examples
    --------
    >>> words = Strings.of(coded([b"walk", b"walked", "walzé".encode()]))
    >>> len(words), words[2], list(words)
    (3, 'walzé', ['walk', 'walked', 'walzé'])
    """

    def __init__(
        self,
        rest: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        shared: NDArray[np.uint8] | None = None,
    ) -> None:
        self._rest, self._offsets, self._shared = rest, offsets, shared

    @classmethod
    def of(cls, found: Coded) -> Strings:
        """The strings of a list that :func:`is_sound`."""
        offsets = np.zeros(len(found.lengths) + 1, np.int64)
        np.cumsum(found.lengths, out=offsets[1:])
        return cls(found.rest, offsets, found.shared)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        block = i - i % BLOCK
        return next(islice(self._decoded(block, i + 1), i - block, None))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _PIECE):
            yield from self._decoded(start, min(start + _PIECE, len(self)))

    def _decoded(self, start: int, stop: int) -> Iterator[str]:
        """The strings from the beginning of a block on."""
        offsets = self._offsets[start : stop + 1]
        first = int(offsets[0])
        rest = self._rest[first : int(offsets[-1])].tobytes()
        pieces = (rest[begin:end] for begin, end in pairwise((offsets - first).tolist()))
        if self._shared is None:
            yield from map(bytes.decode, pieces)
            return
        text = b""
        for keep, piece in zip(self._shared[start:stop].tolist(), pieces):
            text = text[:keep] + piece
            yield text.decode()
