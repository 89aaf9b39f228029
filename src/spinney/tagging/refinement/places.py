"""Words and labels of all places of labelled sentences as numbers; rare words stand for unknown ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.signatures import signature

Floats = NDArray[np.float64]
#: Words and their labels.
Labelled = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True)
class Symbols:
    """What a model knows words by: 0 is any unknown word, then come words, then classes of rare words.

    Examples
    --------
    >>> symbols = Symbols(["the", "dog"], ["UNK-LC-ing"])
    >>> symbols.encode(["the", "running", "Dog"]), len(symbols)
    ([1, 3, 0], 4)
    """

    words: list[str]
    classes: list[str]

    @cached_property
    def _known(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words, start=1)}

    @cached_property
    def _classes(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes, start=1 + len(self.words))}

    def __len__(self) -> int:
        return 1 + len(self.words) + len(self.classes)

    def encode(self, words: Sequence[str]) -> list[int]:
        """The number of each word of a sentence; of a word that is not known, that of its class."""
        known, classes = self._known, self._classes
        return [
            known[word] if word in known else classes.get(signature(word, i == 0), 0)
            for i, word in enumerate(words)
        ]


class Places(NamedTuple):
    """All places of all sentences, one after the other."""

    label: NDArray[np.int64]  # [places]
    symbol: NDArray[np.int64]  # [places]
    weight: Floats  # [places], of their sentences
    offsets: NDArray[np.int64]  # [sentences + 1], without empty ones
    n_words: int  # symbols above it are classes of rare words

    @property
    def first(self) -> NDArray[np.int64]:
        """Where sentences begin."""
        return self.offsets[:-1]

    @property
    def last(self) -> NDArray[np.int64]:
        """Where they end."""
        return self.offsets[1:] - 1

    @property
    def inner(self) -> NDArray[np.int64]:
        """The places that another follows."""
        return np.setdiff1d(np.arange(len(self.label)), self.last, assume_unique=True)

    @property
    def emitted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places and what they emit: each its symbol, and rare words the unknown word as well."""
        rare = np.flatnonzero(self.symbol > self.n_words)
        places = np.concatenate([np.arange(len(self.label)), rare])
        return places, np.concatenate([self.symbol, np.zeros(len(rare), np.int64)])


def numbered(
    sentences: Sequence[Labelled], rare: int, weights: Floats | None = None
) -> tuple[Places, Symbols, list[str]]:
    """The places of sentences, and what their numbers stand for: symbols, and labels in alphabetical order.

    Examples
    --------
    >>> places, symbols, labels = numbered([(["a", "dog", "barks"], ["D", "N", "V"]), (["a", "cat"], ["D", "N"])], 1)
    >>> symbols.words, symbols.classes, places.symbol.tolist(), places.offsets.tolist()
    (['a'], ['UNK-LC', 'UNK-LC-s'], [1, 2, 3, 1, 2], [0, 3, 5])
    """
    full = [i for i, (words, _) in enumerate(sentences) if len(words)]
    some = [sentences[i] for i in full]
    counts = Counter(word for words, _ in some for word in words)
    known = [word for word, count in counts.items() if count > rare]
    seen = {
        signature(word, i == 0) for words, _ in some for i, word in enumerate(words) if counts[word] <= rare
    }
    symbols = Symbols(sorted(known), sorted(seen))
    labels = sorted({label for _, labels in some for label in labels})
    number = {label: i for i, label in enumerate(labels)}
    lengths = np.array([len(words) for words, _ in some], np.int64)
    each = np.ones(len(some)) if weights is None else np.asarray(weights, np.float64)[full]
    places = Places(
        np.array([number[label] for _, labels in some for label in labels], np.int64),
        np.array([x for words, _ in some for x in symbols.encode(words)], np.int64),
        np.repeat(each, lengths),
        np.concatenate([[0], np.cumsum(lengths)]),
        len(symbols.words),
    )
    return places, symbols, labels
