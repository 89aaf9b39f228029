"""Tokens in context: a vector for each token from the words around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays
from spinney.embed.counts import Window


@dataclass(frozen=True, eq=False)
class WindowStates:
    """The state of a token is the sum of the projections of the words in a window around it.

    Attributes
    ----------
    projection : array of float32 [columns, dimensions]
        A row for each column of the counts that it was learned from.
    """

    window: Window
    projection: NDArray[np.float32]
    n_contexts: int
    edges: bool = False

    @property
    def dimension(self) -> int:
        """The length of a state."""
        return int(self.projection.shape[1])

    def __call__(self, text: TokenArrays) -> NDArray[np.float32]:
        """``[token, dimension]``"""
        from spinney.embed._states_kernels import window_states

        out = np.zeros((text.n_tokens, self.dimension), np.float32)
        edge = self.n_contexts if self.edges else -1
        offsets, blocks, weights = self.window
        window_states(
            np.ascontiguousarray(text.ids), np.ascontiguousarray(text.offsets), offsets, blocks,
            weights.astype(np.float32), self.n_contexts, edge, self.projection, out,
        )  # fmt: skip
        return out


@dataclass(frozen=True, eq=False)
class SmoothedStates:
    """The state of a token is a projection of the smoothed vectors of all words before it, and of all after it.

    Attributes
    ----------
    dictionary : array of float32 [words, k]
        The vectors of words that are smoothed.
    rates : array [q]
        How fast what lies farther away fades, for each of the sums: 1 keeps the next word only.
    left, right : arrays [q * k, k / 2]
        The projections of both sides.
    """

    dictionary: NDArray[np.float32]
    rates: NDArray[np.float32]
    left: NDArray[np.float32]
    right: NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """The length of a state."""
        return int(self.left.shape[1] + self.right.shape[1])

    def __call__(self, text: TokenArrays) -> NDArray[np.float32]:
        """``[token, dimension]``"""
        return np.hstack(
            [smoothed(text, tables, self.rates, step) for tables, step in zip(self._tables, (1, -1))]
        )

    @cached_property
    def _tables(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The dictionary through the projections of each side and rate: smoothing is linear, so they may come first."""
        q, k = len(self.rates), self.dictionary.shape[1]
        left, right = (
            np.stack([self.dictionary @ block for block in side.reshape(q, k, side.shape[1])])
            for side in (self.left, self.right)
        )
        return left, right


def smoothed(
    text: TokenArrays, tables: NDArray[np.float32], rates: NDArray[np.float32], step: int, apart: bool = False
) -> NDArray[np.float32]:
    """The smoothed vectors of the words before (``step`` 1) or after (-1) each token.

    ``tables[r]`` holds the vectors that are smoothed at rate ``rates[r]``. The sum over the rates is
    ``[token, width]``; ``apart`` they stand side by side, ``[token, rates × width]``.
    """
    from spinney.embed._states_kernels import smoothed_states

    out = np.zeros((text.n_tokens, len(rates) if apart else 1, tables.shape[2]), np.float32)
    ids, offsets = np.ascontiguousarray(text.ids), np.ascontiguousarray(text.offsets)
    smoothed_states(ids, offsets, tables, rates, step, out)
    return out.reshape(len(out), out.shape[1] * out.shape[2])
