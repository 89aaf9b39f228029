"""Which weights a model has: for all labels, for those seen in training, or for those still active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.tagging.sequences import Floats, Sequences


@dataclass(frozen=True)
class Support:
    """The places of the weights in the matrices μ (observations × labels) and λ (observations × pairs of labels).

    A pair (y', y) is number y'·Y + y; y' = Y is the start of a sentence. Row ``o`` has the labels
    ``labels[row[o]:row[o+1]]``, and so ``pairs`` by ``pair_row``. The weights are one flat vector: those of μ, row by
    row, then those of λ.
    """

    row: NDArray[np.int64]
    labels: NDArray[np.int32]
    pair_row: NDArray[np.int64]
    pairs: NDArray[np.int32]

    @property
    def n_unigrams(self) -> int:
        """Weights of μ."""
        return len(self.labels)

    @property
    def n_params(self) -> int:
        """Weights in all."""
        return len(self.labels) + len(self.pairs)

    def places(self, shape: Shape) -> NDArray[np.int64]:
        """The place of each weight in the flat vector of the full model."""
        mu = np.repeat(np.arange(shape.unigrams) * shape.labels, np.diff(self.row)) + self.labels
        rows = np.repeat(np.arange(shape.bigrams) * shape.pairs, np.diff(self.pair_row))
        return np.concatenate([mu, shape.n_mu + rows + self.pairs])

    @classmethod
    def of(cls, places: NDArray[np.int64], shape: Shape) -> Support:
        """The support made of these (sorted) places of the full model."""
        cut = int(np.searchsorted(places, shape.n_mu))
        o, y = np.divmod(places[:cut], shape.labels)
        b, pair = np.divmod(places[cut:] - shape.n_mu, shape.pairs)
        row = np.searchsorted(o, np.arange(shape.unigrams + 1))
        pair_row = np.searchsorted(b, np.arange(shape.bigrams + 1))
        return cls(row, y.astype(np.int32), pair_row, pair.astype(np.int32))


@dataclass(frozen=True)
class Shape:
    """The size of the full model: every observation with every label, every pair of labels.

    Without ``start`` the first token of a sentence has no bigram weights, as in CRF++, CRFsuite and Wapiti.
    """

    unigrams: int
    bigrams: int
    labels: int
    start: bool = True

    @property
    def pairs(self) -> int:
        """Pairs of labels a bigram observation has weights for: (Y + 1)·Y with the start label."""
        return (self.labels + self.start) * self.labels

    @property
    def n_mu(self) -> int:
        """Weights of unigrams."""
        return self.unigrams * self.labels

    @property
    def n_params(self) -> int:
        """Weights in all."""
        return self.n_mu + self.bigrams * self.pairs

    def mu(self, w: Floats) -> Floats:
        """The unigram weights, a view of observations × labels."""
        return w[: self.n_mu].reshape(self.unigrams, self.labels)

    def lam(self, w: Floats) -> Floats:
        """The bigram weights, a view of observations × labels before × labels."""
        return w[self.n_mu :].reshape(self.bigrams, self.labels + self.start, self.labels)


def observed_support(data: Sequences, shape: Shape) -> Support:
    """The pairs and triples that occur in training: what CRFsuite takes by default."""
    from scipy.sparse import csr_array

    if data.labels is None:
        raise ValueError("sentences without labels")
    Y = shape.labels
    known = data.labels >= 0
    before = np.empty(data.n_tokens, np.int64)
    before[1:] = data.labels[:-1]
    starts = data.offsets[:-1][data.lengths > 0]
    before[starts] = Y
    both = known & (before >= 0)
    if not shape.start:
        both[starts] = False

    def joint(seen: Any, column: NDArray[Any], kept: NDArray[np.bool_], width: int) -> Any:
        ones = np.ones(len(seen.ids), np.int8)
        rows = csr_array((ones, seen.ids, seen.ptr), shape=(data.n_tokens, seen.n))
        to = csr_array(
            (np.ones(int(kept.sum()), np.int8), (np.flatnonzero(kept), column[kept])),
            shape=(data.n_tokens, width),
        )
        found = (rows.astype(np.int32).T @ to.astype(np.int32)).tocsr()
        found.sort_indices()
        return found

    mu = joint(data.unigrams, data.labels, known, Y)
    lam = joint(data.bigrams, before * Y + data.labels, both, shape.pairs)
    return Support(
        mu.indptr.astype(np.int64),
        mu.indices.astype(np.int32),
        lam.indptr.astype(np.int64),
        lam.indices.astype(np.int32),
    )
