"""The words of a vocabulary in a hash table that kernels look into with the bytes of a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary


def word_bytes(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of words, one after the other, and where each begins; a byte after the last."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded) + b"\0", np.uint8), offsets


def word_slots(words: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """A hash table of distinct words, and the seed of its hashes.

    A word is known by 63 bits of its hash, as in KenLM: no two of these words have the same ones, and one from
    elsewhere is mistaken for one of a million words with a probability of 1e-13.
    """
    from spinney.lm._wordtable_kernels import fill_words

    utf8, offsets = word_bytes(words)
    slots = np.full((1 << (2 * len(words)).bit_length(), 2), np.int64(-1))  # at most half full
    seed = 0
    while not fill_words(utf8, offsets, seed, slots):
        slots[:] = -1
        seed += 1
    return slots, seed


def word_table(vocabulary: Vocabulary) -> tuple[NDArray[np.int64], int, int]:
    """The table of a vocabulary, the seed of its hashes, and the number of other words (-1: they have none).

    Examples
    --------
    >>> slots, seed, unknown = word_table(Vocabulary.from_tokens(["a", "rose"], unknown="<unk>"))
    >>> slots.shape, seed, unknown
    ((8, 2), 0, 0)
    """
    unknown = -1 if vocabulary.unknown is None else vocabulary[vocabulary.unknown]
    return *word_slots(vocabulary.words), unknown
