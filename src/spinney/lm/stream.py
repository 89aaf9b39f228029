"""Sentences as one stream of numbers, with their beginnings and ends: what every language model reads."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.corpus.arrays import checked_text
from spinney.errors import InputError

#: The symbols for the beginning and the end of a sentence, as in ARPA files.
START: Final = "<s>"
END: Final = "</s>"

Ids = NDArray[np.int32]


class Stream(NamedTuple):
    """Sentences in a row, each as ``start w₁ … wₙ end``.

    With ``W`` words in the vocabulary the end of a sentence is number ``W`` and the start ``W + 1``: the numbers
    below ``W + 1`` are those a model predicts. A word outside a closed vocabulary is -1.
    """

    #: The symbols.
    ids: Ids
    #: How many symbols of the same sentence stand before each; 0 exactly at the starts.
    room: Ids

    @property
    def events(self) -> NDArray[np.int64]:
        """Where a symbol is predicted: everywhere but at the starts."""
        return np.flatnonzero(self.room)


def stream_of(text: TokenArrays) -> Stream:
    """The stream of a text.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> stream = stream_of(sentence_arrays([["a", "rose"], ["is", "a", "rose"]]))
    >>> stream.ids
    array([4, 0, 1, 3, 4, 2, 0, 1, 3], dtype=int32)
    >>> stream.room
    array([0, 1, 2, 3, 0, 1, 2, 3, 4], dtype=int32)
    """
    n_words = len(text.vocabulary)
    lengths = np.diff(text.offsets)
    starts = text.offsets[:-1] + 2 * np.arange(len(text))
    ids = np.empty(text.n_tokens + 2 * len(text), np.int32)
    inside = np.ones(len(ids), bool)
    inside[starts] = inside[starts + lengths + 1] = False
    ids[inside] = text.ids
    ids[starts + lengths + 1] = n_words
    ids[starts] = n_words + 1
    room = np.arange(len(ids)) - np.repeat(starts, lengths + 2)
    return Stream(ids, room.astype(np.int32))


def refuse_marks(text: TokenArrays) -> None:
    """Refuse sentence marks that occur as words in the text.

    Raises
    ------
    InputError
        If ``<s>`` or ``</s>`` is a word of the text.
    """
    checked_text(text)
    for mark in (START, END):
        if mark in text.vocabulary and text.vocabulary.words[text.vocabulary[mark]] == mark:
            where = np.flatnonzero(text.ids == text.vocabulary[mark])
            if where.size:
                sentence = int(np.searchsorted(text.offsets, where[0], side="right"))
                raise InputError(
                    f"{mark} is a word in sentence {sentence}",
                    remedy="line breaks already separate sentences: remove it from the text",
                )
