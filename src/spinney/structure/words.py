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


def readings(vectors: WordVectors, word: str) -> list[str]:
    """The words of a vocabulary that ``word`` can stand for, the likeliest first; none if it stands for none.

    That is the word itself; if it is not there, the word in lower case; if that is not there either, the word with a
    part of speech, such as ``attack|NOUN``, in the order of the vocabulary: the most frequent first.

    Examples
    --------
    >>> vectors = WordVectors(["attack|NOUN", "the|DET", "attack|VERB"], [[1.0], [2.0], [3.0]])
    >>> readings(vectors, "attack"), readings(vectors, "attack|VERB"), readings(vectors, "defend")
    (['attack|NOUN', 'attack|VERB'], ['attack|VERB'], [])
    """
    for form in (word, word.lower()):
        if form in vectors:
            return [vectors.words[int(vectors.encode([form])[0])]]
    for form in dict.fromkeys((word, word.lower())):
        found = [other for other in vectors.words if other.startswith(form + "|")]
        if found:
            return found
    return []


def known_word(vectors: WordVectors, word: str) -> str:
    """The word as the model has it: by the first of its :func:`readings`, or as it is if its letters give it a vector.

    If there is none, an error suggests words with a similar spelling.

    Examples
    --------
    >>> known_word(WordVectors(["the|DET", "president|NOUN"], [[1.0], [2.0]]), "President")
    'president|NOUN'
    """
    if word not in vectors and vectors.gives(word):
        return word
    found = readings(vectors, word)
    if found:
        return found[0]
    plain = dict.fromkeys(other.rpartition("|")[0] or other for other in vectors.words)
    remedy = did_you_mean(word, list(plain), most=3)
    raise InputError(f"{word!r} is not among the {len(vectors):,} words of the model", remedy=remedy)
