"""Helpers for showing words: look up, shorten, and rank them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, did_you_mean
from spinney.structure import WordVectors


def short(word: str) -> str:
    """A word shortened so that several fit on a line: texts contain long addresses and rules of dashes."""
    return word if len(word) <= 24 else word[:23] + "…"


def largest(values: NDArray[np.float64], k: int) -> list[int]:
    """The places of the ``k`` largest numbers, those first; equals by their order.

    Examples
    --------
    >>> largest(np.array([0.2, 0.9, 0.2, 0.1]), 2)
    [1, 0]
    """
    k = min(k, len(values))
    if k == 0:
        return []
    some = np.argpartition(-values, k - 1)[:k]
    return [int(i) for i in some[np.lexsort((some, -values[some]))]]


def known_word(vectors: WordVectors, word: str) -> str:
    """The word as the model has it; if it is unknown, an error that suggests words with a similar spelling."""
    if word in vectors:
        return vectors.words[int(vectors.encode([word])[0])]
    if vectors.gives(word):
        return word
    same = [
        other for other in (f"{word}|NOUN", f"{word}|VERB", f"{word}|ADJ", word.lower()) if other in vectors
    ]
    remedy = f"did you mean {', '.join(same)}?" if same else did_you_mean(word, vectors.words, most=3)
    raise InputError(f"{word!r} is not among the {len(vectors):,} words of the model", remedy=remedy)
