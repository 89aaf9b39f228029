"""Which weights a model has: for all labels, for those seen in training, or for those still active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.tagging.sequences import Floats, Observations, Sequences


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
        """The total number of weights."""
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
        row, pair_row = (
            np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
            for rows, n in ((o, shape.unigrams), (b, shape.bigrams))
        )
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
        """Pairs of labels for which a bigram observation has weights: (Y + 1)·Y with the start label."""
        return (self.labels + self.start) * self.labels

    @property
    def n_mu(self) -> int:
        """Weights of unigrams."""
        return self.unigrams * self.labels

    @property
    def n_params(self) -> int:
        """The total number of weights."""
        return self.n_mu + self.bigrams * self.pairs

    def mu(self, w: Floats) -> Floats:
        """The unigram weights, a view of observations × labels."""
        return w[: self.n_mu].reshape(self.unigrams, self.labels)

    def lam(self, w: Floats) -> Floats:
        """The bigram weights, a view of observations × labels before × labels."""
        return w[self.n_mu :].reshape(self.bigrams, self.labels + self.start, self.labels)


class EventCounts(NamedTuple):
    """In how many tokens with a known label each event occurs; sparse matrices have one row per observation."""

    labels: Floats  # [Y]
    unigrams: Any  # × y
    bigrams: Any  # × (y', y)
    labels_after: Floats  # [Y], where y' is known too, or there is none


def seen_counts(data: Sequences, shape: Shape) -> EventCounts:
    """Tokens in which labels, observations with labels, and observations with pairs of labels are seen."""
    from scipy.sparse import csr_array

    Y, n = shape.labels, data.n_tokens
    labels = data.known_labels(Y).astype(np.int64)
    before = data.labels_before(Y)
    known = labels >= 0
    both = known & (before >= 0)
    paired = both.copy()
    if not shape.start:
        paired[data.starts] = False

    def joint(seen: Observations, tokens: NDArray[np.bool_], column: NDArray[np.int64], width: int) -> Any:
        at = np.flatnonzero(tokens)
        events = csr_array((np.ones(len(at)), (at, column[at])), shape=(n, width))
        return (seen_in(seen).T @ events).tocsr()

    return EventCounts(
        np.bincount(labels[known], minlength=Y).astype(np.float64),
        joint(data.unigrams, known, labels, Y),
        joint(data.bigrams, paired, before * Y + labels, shape.pairs),
        np.bincount(labels[both], minlength=Y).astype(np.float64),
    )


def seen_in(seen: Observations) -> Any:
    """Whether a token has an observation, tokens × observations."""
    from scipy.sparse import csr_array

    rows = np.ones(len(seen.ids)), seen.ids, seen.ptr
    matrix = csr_array(rows, shape=(seen.n_tokens, seen.n), copy=True)  # the next line sorts in place
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def observed_support(data: Sequences, shape: Shape, minimum: int = 1) -> Support:
    """The pairs and triples that occur in training at least this many times: with 1, as CRFsuite does by default."""
    counts = seen_counts(data, shape)
    places = [_places(counts.unigrams, minimum), shape.n_mu + _places(counts.bigrams, minimum)]
    return Support.of(np.concatenate(places), shape)


def _places(counts: Any, minimum: int) -> NDArray[np.int64]:
    """Where the counts are high enough, in the flattened matrix."""
    counts.sort_indices()
    rows = np.repeat(np.arange(counts.shape[0], dtype=np.int64), np.diff(counts.indptr))
    return np.asarray((rows * counts.shape[1] + counts.indices)[counts.data >= minimum])
