"""Two columns as one: words such as ``attack|NOUN``."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.vocabulary import Numbering


class Pairing:
    """Numbers for pairs ``first|second``, from the numbers of both; each distinct pair is spelt out once.

    Parameters
    ----------
    first, second
        The tables that numbered the two columns; they may go on growing.
    number
        Gives the numbers of pairs.
    unknown
        A word of the first column that stays as it is, whatever is beside it.

    Examples
    --------
    >>> lemmas, tags, words = Numbering(attack=0, the=1), Numbering(VERB=0, NOUN=1, DET=2), Numbering()
    >>> Pairing(lemmas, tags, words)(np.array([1, 0, 0, 0]), np.array([2, 1, 0, 1]))
    array([0, 1, 2, 1], dtype=int32)
    >>> list(words)
    ['the|DET', 'attack|NOUN', 'attack|VERB']
    """

    def __init__(
        self,
        first: Numbering,
        second: Numbering,
        number: Mapping[str, int],
        unknown: str | None = None,
    ) -> None:
        self._first, self._second = _Words(first), _Words(second)
        self._number, self._unknown = number, unknown
        self._known: dict[int, int] = {}

    def __call__(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int32]:
        """The number of each pair."""
        self._first.catch_up()
        self._second.catch_up()
        pairs, where, inverse = np.unique(
            (first.astype(np.int64) << 32) | second, return_index=True, return_inverse=True
        )
        numbers = np.empty(len(pairs), np.int32)
        in_order = np.argsort(where)  # so that new pairs are numbered as they come
        numbers[in_order] = [self._number_of(pair) for pair in pairs[in_order].tolist()]
        return numbers[inverse]

    def _number_of(self, pair: int) -> int:
        number = self._known.get(pair)
        if number is None:
            word = self._first[pair >> 32]
            if word != self._unknown:
                word = f"{word}|{self._second[pair & 0xFFFFFFFF]}"
            self._known[pair] = number = self._number[word]
        return number


class _Words(list[str]):
    """The words of a growing numbering, by number."""

    def __init__(self, numbering: Numbering) -> None:
        super().__init__()
        self._numbering = numbering

    def catch_up(self) -> None:
        newest = islice(reversed(self._numbering), len(self._numbering) - len(self))
        self.extend(list(newest)[::-1])
