"""Fitted weights, dense or sparse, and the scores of labels under them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.inference.chains import Chains
from spinney.settings.tag import Precision
from spinney.tagging.loss import pair_scores, token_kinds, unigram_scores
from spinney.tagging.sequences import Floats, Sequences
from spinney.tagging.support import Shape, Support

PRECISIONS: tuple[str, ...] = get_args(Precision)
DTYPES = (np.float16, np.float32, np.float64)  # of these precisions
SPARSE = 0.3  # share of active weights below which rows are kept sparse


@dataclass(frozen=True)
class ChainWeights:
    """The weights of a chain model: of all positions if ``support`` is None, else of those in it."""

    shape: Shape
    values: Floats
    support: Support | None = None

    @classmethod
    def of(cls, w: Floats, shape: Shape) -> ChainWeights:
        """Keep a full weight vector in the form that is smaller and faster."""
        places = np.flatnonzero(w)
        return cls(shape, w) if len(places) > SPARSE * len(w) else cls.at(places, w[places], shape)

    @classmethod
    def at(cls, places: NDArray[np.int64], values: Floats, shape: Shape) -> ChainWeights:
        """Keep the weights at these (sorted) places of the full vector, where all others are zero."""
        if len(places) <= SPARSE * shape.n_params:
            return cls(shape, values, Support.of(places, shape))
        w = np.zeros(shape.n_params)
        w[places] = values
        return cls(shape, w)

    def rounded(self, precision: Precision) -> ChainWeights:
        """These weights in half, single or double precision; in a higher one if some are too large for it."""
        for dtype in DTYPES[PRECISIONS.index(precision) :]:
            with np.errstate(over="ignore"):
                values = self.values.astype(dtype).astype(np.float64)
            if np.all(np.isfinite(values)):
                break
        return replace(self, values=values)

    @property
    def n_active(self) -> int:
        """Weights that are not zero."""
        return int(np.count_nonzero(self.values))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The positions of the values in the full vector."""
        return np.arange(len(self.values)) if self.support is None else self.support.places(self.shape)

    def full(self) -> Floats:
        """The full weight vector."""
        w = np.zeros(self.shape.n_params)
        w[self.places] = self.values
        return w

    def used(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which unigram and which bigram observations have a weight that is not zero."""
        places = self.places[self.values != 0]
        mu = places < self.shape.n_mu
        unigrams = np.zeros(self.shape.unigrams, np.bool_)
        unigrams[places[mu] // self.shape.labels] = True
        bigrams = np.zeros(self.shape.bigrams, np.bool_)
        bigrams[(places[~mu] - self.shape.n_mu) // self.shape.pairs] = True
        return unigrams, bigrams

    def kept(self, unigrams: NDArray[np.bool_], bigrams: NDArray[np.bool_]) -> ChainWeights:
        """The weights of these observations only, renumbered."""
        shape = Shape(int(unigrams.sum()), int(bigrams.sum()), self.shape.labels, self.shape.start)
        w = self.full()
        rows = np.concatenate([self.shape.mu(w)[unigrams].ravel(), self.shape.lam(w)[bigrams].ravel()])
        return ChainWeights.of(rows, shape)

    def chains(self, data: Sequences) -> Chains:
        """The scores of all labellings of some sentences."""
        shape = self.shape
        scores = np.empty((data.n_tokens, shape.labels))
        unigram_scores(data.unigrams, shape, self.support, self.values, scores)
        kinds = token_kinds(data.bigrams)
        edges: Any = np.zeros((max(kinds.n, 1), shape.labels + 1, shape.labels))
        if kinds.n:
            matrix = pair_scores(shape, self.support, self.values)
            summed = kinds.sums @ matrix
            summed = summed if isinstance(summed, np.ndarray) else summed.toarray()
            edges[:, : shape.labels + shape.start] = summed.reshape(
                kinds.n, shape.labels + shape.start, shape.labels
            )
        return Chains(data.offsets, scores, kinds.of, edges)
