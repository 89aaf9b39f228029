"""The order of sentences in a pass of online EM: pieces of neighbours in random order, or sentences one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from spinney.classes.learning import PIECE, Corpus, shuffled_batches
from spinney.corpus import TokenArrays

Shuffle = Literal["pieces", "sentences"]
Batches = Sequence[Sequence[TokenArrays]]


def batches_of(corpus: Corpus, tokens: int, rng: np.random.Generator, shuffle: Shuffle) -> Batches:
    """The batches of a pass, of about ``tokens`` each, in random order.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> corpus = Corpus(sentence_arrays([[word] * 2 for word in "abcdef"]))
    >>> batches = batches_of(corpus, 4, np.random.default_rng(0), "sentences")
    >>> len(batches), sorted(int(i) for batch in batches for piece in batch for i in piece.ids[::2])
    (3, [0, 1, 2, 3, 4, 5])
    """
    if shuffle == "pieces":
        return shuffled_batches(corpus, tokens, rng)
    return SentenceBatches.drawn(corpus.arrays, tokens, rng)


class SentenceBatches(Sequence[list[TokenArrays]]):
    """Batches of sentences in a random order, gathered when they are asked for: the text is never copied as a whole."""

    def __init__(self, arrays: TokenArrays, order: NDArray[np.int64], ends: Sequence[int]) -> None:
        self._arrays, self._order, self._ends = arrays, order, ends

    @classmethod
    def drawn(cls, arrays: TokenArrays, tokens: int, rng: np.random.Generator) -> SentenceBatches:
        """All sentences, cut into batches that have as even a number of tokens as whole sentences allow."""
        order = rng.permutation(len(arrays))
        total = np.cumsum(np.diff(arrays.offsets)[order])
        n = max(1, round(arrays.n_tokens / tokens))
        cuts = np.searchsorted(total, np.arange(1, n) * (arrays.n_tokens / n)) + 1
        ends = np.unique([0, *np.minimum(cuts, len(arrays)).tolist(), len(arrays)])
        return cls(arrays, order, ends.tolist())

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> list[TokenArrays]: ...

    @overload
    def __getitem__(self, index: slice) -> SentenceBatches: ...

    def __getitem__(self, index: int | slice) -> list[TokenArrays] | SentenceBatches:
        """A batch in pieces, whose sums are taken in their order whatever the number of threads; or later batches."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise IndexError("batches are taken in their order")
            return SentenceBatches(self._arrays, self._order, self._ends[start : max(start, stop) + 1])
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        batch = self._arrays.take(self._order[self._ends[index] : self._ends[index + 1]])
        return batch.shards(max(1, round(batch.n_tokens / PIECE)))

    def __iter__(self) -> Iterator[list[TokenArrays]]:
        return (self[i] for i in range(len(self)))
