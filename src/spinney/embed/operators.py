"""Observable operators: a matrix for each word, whose products give the probabilities of strings (Jaeger 2000)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays

Floats = NDArray[np.float64]
TINY = np.finfo(float).tiny


class SignedLikelihood(NamedTuple):
    """The "probabilities" of sentences as the operators give them, which may be negative.

    Attributes
    ----------
    log_magnitude : array [sentences]
        log |p|; -inf where p is 0.
    sign : array [sentences]
        -1, 0 or 1.
    bad_sentences : float
        The share of sentences with p ≤ 0.
    bad_steps : float
        The share of words whose conditional "probability" is not within (0, 1].
    """

    log_magnitude: Floats
    sign: Floats
    bad_sentences: float
    bad_steps: float


@dataclass(frozen=True, eq=False)
class Operators:
    """Observable operators: one matrix per word, or a few matrices that words combine.

    Attributes
    ----------
    b0, b_inf : arrays [m]
        The state at the beginning, and the functional that takes a state to its total probability.
    stationary : array [m]
        The state at a random place in the text.
    readout : array [n, m]
        ``readout @ b``: the probability of each word as the next.
    matrices : array [n, m, m] or [k, m, m]
        B_x, or with ``coordinates`` the C_j.
    coordinates : array [n, k], optional
        ``B_x = Σ_j coordinates[x, j] C_j`` (Foster, Rodu and Ungar 2012).
    end : int
        The number of the end mark, whose operator leads back to ``b0`` whatever was before; -1 if there is none.
    """

    b0: Floats
    b_inf: Floats
    stationary: Floats
    readout: Floats
    matrices: Floats
    coordinates: Floats | None = None
    end: int = -1

    @property
    def n_words(self) -> int:
        """n, the end mark included."""
        return len(self.readout)

    @property
    def total(self) -> Floats:
        """Σ_x B_x: one step of the chain, whatever the word."""
        if self.coordinates is None:
            return np.asarray(self.matrices.sum(axis=0))
        return np.asarray(np.tensordot(self.coordinates.sum(axis=0), self.matrices, 1))

    @cached_property
    def _flat(self) -> Floats:
        k, m, _ = self.matrices.shape
        return np.ascontiguousarray(self.matrices.transpose(2, 0, 1)).reshape(m, k * m)

    def apply(self, words: NDArray[Any], states: Floats) -> Floats:
        """``B_x b`` for each word and the state in the same row."""
        if self.coordinates is None:
            after = np.matmul(self.matrices[words], states[:, :, None])[:, :, 0]
        else:
            k, m, _ = self.matrices.shape
            each = (states @ self._flat).reshape(len(states), k, m)
            after = np.matmul(self.coordinates[words][:, None, :], each)[:, 0]
        ends = words == self.end
        if ends.any():
            after[ends] = (states[ends] @ self.readout[self.end])[:, None] * self.b0
        return np.asarray(after)

    def log_likelihood(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> SignedLikelihood:
        """``b∞ᵀ B_{x_T} ⋯ B_{x_1} b₀`` of each sequence, rescaled at each step."""
        n = len(offsets) - 1
        states, logs = np.tile(self.b0, (n, 1)), np.zeros(n)
        before = states @ self.b_inf
        bad = 0
        for rows, words in steps(ids, offsets):
            after = self.apply(words, states[rows])
            total = after @ self.b_inf
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = total / before[rows]
            bad += int(np.count_nonzero(~((ratio > 0) & (ratio <= 1 + 1e-9))))
            scale = np.maximum(np.abs(after).max(axis=1), TINY)
            states[rows], before[rows] = after / scale[:, None], total / scale
            logs[rows] += np.log(scale)
        with np.errstate(divide="ignore"):
            logs += np.log(np.abs(before))
        sign = np.sign(before)
        return SignedLikelihood(logs, sign, int(np.sum(sign <= 0)) / max(n, 1), bad / max(len(ids), 1))


def with_ends(text: TokenArrays, end: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The tokens of all sentences, each followed by ``end``, and where each sentence begins."""
    ids = np.insert(np.asarray(text.ids), text.offsets[1:], end).astype(np.int32, copy=False)
    return ids, text.offsets + np.arange(len(text.offsets))


def steps(
    ids: NDArray[np.int32], offsets: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """For t = 0, 1, …: the sentences that are longer than t, and their words at t."""
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    alive = np.searchsorted(-lengths[order], -np.arange(int(lengths.max(initial=0))))
    for t, k in enumerate(alive.tolist()):
        rows = order[:k]
        yield rows, ids[offsets[rows] + t]
