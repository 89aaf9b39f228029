"""Trigrams of a text by middle word, and the operators that are sums over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.embed.operators import Floats, with_ends
from spinney.parallel import in_order

_BLOCK = 1 << 21  # entries of operators that a thread sums at a time


class Trigrams(NamedTuple):
    """The trigrams of a stream, sorted by middle word and then by the word before: see `operator_sums`."""

    word_ptr: NDArray[np.int64]  # [n + 1]
    run_ptr: NDArray[np.int64]  # [runs + 1]
    previous: NDArray[np.int32]  # [runs]
    following: NDArray[np.int32]  # [tokens]

    @classmethod
    def of(cls, text: TokenArrays) -> Trigrams:
        """Of all sentences with their end marks, one after the other, the first after the last."""
        n = len(text.vocabulary) + 1
        stream, _ = with_ends(text, n - 1)
        keys = np.roll(stream, -1).astype(np.int64)
        keys *= n
        keys += stream
        order = np.argsort(keys)
        keys = keys[order]
        begins = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        middle, previous = np.divmod(keys[begins], n)
        return cls(
            np.searchsorted(middle, np.arange(n + 1)),
            np.append(begins, len(stream)),
            previous.astype(np.int32),
            np.roll(stream, -2)[order],
        )

    @property
    def n_words(self) -> int:
        """n, the end mark included."""
        return len(self.word_ptr) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each word occurs."""
        return np.diff(self.run_ptr[self.word_ptr])

    def bigrams(self) -> Any:
        """``[x₂, x₁]``, sparse."""
        from scipy.sparse import csr_array

        data = np.diff(self.run_ptr).astype(float)
        return csr_array((data, self.previous, self.word_ptr), shape=(self.n_words, self.n_words))

    def triples(self) -> NDArray[np.int32]:
        """``[tokens, 3]``: the three words of each trigram, in the order in which they stand."""
        previous = np.repeat(self.previous, np.diff(self.run_ptr))
        middle = np.repeat(np.arange(self.n_words, dtype=np.int32), self.counts)
        return np.column_stack([previous, middle, self.following])

    def starts(self) -> Floats:
        """How often each word, or the end mark of an empty sentence, begins a sentence."""
        return np.asarray(self.bigrams()[:, [self.n_words - 1]].toarray()[:, 0])


def operator_sums(grams: Trigrams, U: Floats, V: Floats, W: Floats | None, threads: int) -> Floats:
    """``B_x = Σ U[x₃] V[x₁]ᵀ`` over the trigrams of each middle word x; with W, ``Σ_x W[x, j] B_x``."""
    from spinney.embed._trigram_kernels import outer_sums

    n, m = grams.n_words, U.shape[1]
    U, V = np.ascontiguousarray(U), np.ascontiguousarray(V)
    # Blocks of as many trigrams each, and of not too many words.
    most = max(1, _BLOCK // (m * m))
    at = grams.run_ptr[grams.word_ptr]
    cuts = np.searchsorted(at, np.linspace(0, at[-1], 4 * threads + 1)[1:-1])
    cuts = np.unique(np.concatenate((cuts, np.arange(0, n, most), [n])))
    blocks = list(zip(cuts[:-1].tolist(), cuts[1:].tolist()))
    if W is None:
        sums = np.empty((n, m, m))

        def fill(block: tuple[int, int]) -> None:
            outer_sums(block[0], *grams, U, V, sums[block[0] : block[1]])

        for _ in in_order(fill, blocks, threads):
            pass
        return sums
    weights = W

    def combine(block: tuple[int, int]) -> Floats:
        part = np.empty((block[1] - block[0], m, m))
        outer_sums(block[0], *grams, U, V, part)
        return np.asarray(np.tensordot(weights[block[0] : block[1]].T, part, 1))

    core = np.zeros((W.shape[1], m, m))
    for part in in_order(combine, blocks, threads):
        core += part
    return core
