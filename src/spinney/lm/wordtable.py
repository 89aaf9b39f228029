"""The words of a vocabulary in a hash table that kernels look into with the bytes of a text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary


def word_table(vocabulary: Vocabulary) -> tuple[NDArray[np.int64], int, int]:
    """The table, the seed of its hashes, and the number of the words that are not in it (-1: they have none).

    A word is known by 63 bits of its hash, as in KenLM: no two of the vocabulary have the same ones, and one from
    outside is mistaken for one of a million words with a probability of 1e-13.

    Examples
    --------
    >>> slots, seed, unknown = word_table(Vocabulary.from_tokens(["a", "rose"], unknown="<unk>"))
    >>> slots.shape, seed, unknown
    ((8, 2), 0, 0)
    """
    from spinney.lm._wordtable_kernels import fill_words

    words = [word.encode("utf-8", "surrogatepass") for word in vocabulary.words]
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    utf8 = np.frombuffer(b"".join(words) + b"\0", np.uint8)
    slots = np.full((1 << (2 * len(words)).bit_length(), 2), np.int64(-1))  # at most half full
    seed = 0
    while not fill_words(utf8, offsets, seed, slots):
        slots[:] = -1
        seed += 1
    return slots, seed, -1 if vocabulary.unknown is None else vocabulary[vocabulary.unknown]
