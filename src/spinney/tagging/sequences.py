"""What a sequence model sees: sentences of tokens, each with its observations and, where known, its label."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, OptionError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Which observations each token has: a sparse matrix of tokens × ``n`` observations, row by row.

    Those of token ``t`` are ``ids[ptr[t]:ptr[t+1]]``; ``values`` is None where all are 1.
    """

    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    n: int
    values: Floats | None = None

    @property
    def n_tokens(self) -> int:
        """The number of rows."""
        return len(self.ptr) - 1

    @property
    def flat_values(self) -> Floats:
        """The values, empty where all are 1: what kernels take."""
        return np.empty(0) if self.values is None else self.values

    def part(self, start: int, stop: int) -> Observations:
        """The rows of tokens ``start`` to ``stop``, without copying their observations."""
        a, b = int(self.ptr[start]), int(self.ptr[stop])
        values = None if self.values is None else self.values[a:b]
        return Observations(self.ptr[start : stop + 1] - a, self.ids[a:b], self.n, values)

    def take(self, tokens: NDArray[np.int64]) -> Observations:
        """The rows of chosen tokens, in that order."""
        width = np.diff(self.ptr)[tokens]
        ptr = np.concatenate([[0], np.cumsum(width)])
        where = np.arange(ptr[-1]) + np.repeat(self.ptr[:-1][tokens] - ptr[:-1], width)
        return Observations(ptr, self.ids[where], self.n, None if self.values is None else self.values[where])

    def keep(self, wanted: NDArray[np.bool_]) -> Observations:
        """Only these observations, renumbered in order."""
        kept = wanted[self.ids]
        number = np.cumsum(wanted) - 1
        ptr = np.concatenate([[0], np.cumsum(kept)])[self.ptr]
        values = None if self.values is None else self.values[kept]
        return Observations(ptr, number[self.ids[kept]].astype(np.int32), int(wanted.sum()), values)

    def counts(self) -> NDArray[np.int64]:
        """The number of occurrences of each observation."""
        return np.bincount(self.ids, minlength=self.n)

    @classmethod
    def none(cls, n_tokens: int) -> Self:
        """No observations at all."""
        return cls(np.zeros(n_tokens + 1, np.int64), np.empty(0, np.int32), 0)

    @classmethod
    def always(cls, n_tokens: int) -> Self:
        """One observation that every token has: label bigrams without input."""
        return cls(np.arange(n_tokens + 1, dtype=np.int64), np.zeros(n_tokens, np.int32), 1)


@dataclass(frozen=True)
class Sequences:
    """Sentences as flat arrays.

    Parameters
    ----------
    offsets
        Sentence ``i`` is tokens ``offsets[i]`` to ``offsets[i+1]``.
    unigrams, bigrams
        Observations with one label, and with a pair of adjacent labels.
    labels
        A label number for each token; ``-1 - k`` where the label is only known to be in the set ``label_sets[k]``.
        None for sentences without labels.
    label_sets
        Boolean rows over the labels; row 0 allows all, so ``-1`` means that nothing is known.
    weights
        The weight of each sentence in training; 1 where None.

    Examples
    --------
    >>> seen = Observations(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 2]), seen, Observations.always(2), labels=np.array([1, 0], np.int32))
    >>> data
    Sequences(1 sentences, 2 tokens, 2 + 1 observations)
    """

    offsets: NDArray[np.int64]
    unigrams: Observations
    bigrams: Observations
    labels: NDArray[np.int32] | None = None
    label_sets: NDArray[np.bool_] = field(default_factory=lambda: np.ones((1, 0), np.bool_))
    weights: Floats | None = None

    def __post_init__(self) -> None:
        n_tokens = int(self.offsets[-1])
        rows = {self.unigrams.n_tokens, self.bigrams.n_tokens}
        if rows != {n_tokens} or (self.labels is not None and len(self.labels) != n_tokens):
            raise InputError(f"there must be observations and labels for each of the {n_tokens} tokens")
        if self.weights is not None and len(self.weights) != len(self.offsets) - 1:
            raise InputError("there must be one weight per sentence")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        n = f"{self.unigrams.n} + {self.bigrams.n}"
        return f"Sequences({len(self)} sentences, {self.n_tokens} tokens, {n} observations)"

    @property
    def n_tokens(self) -> int:
        """Tokens in all sentences."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens in each sentence."""
        return np.diff(self.offsets)

    def known_labels(self, n_labels: int) -> NDArray[np.int32]:
        """The labels, which training needs; each must be below ``n_labels``."""
        if self.labels is None:
            raise InputError("sentences without labels cannot be used for supervised training")
        if len(self.labels) and int(self.labels.max()) >= n_labels:
            raise OptionError(f"label numbers must be below {n_labels}, not {int(self.labels.max())}")
        return self.labels

    def part(self, start: int, stop: int) -> Sequences:
        """Sentences ``start`` to ``stop``."""
        a, b = int(self.offsets[start]), int(self.offsets[stop])
        return replace(
            self,
            offsets=self.offsets[start : stop + 1] - a,
            unigrams=self.unigrams.part(a, b),
            bigrams=self.bigrams.part(a, b),
            labels=None if self.labels is None else self.labels[a:b],
            weights=None if self.weights is None else self.weights[start:stop],
        )

    def take(self, chosen: NDArray[np.int64]) -> Sequences:
        """Chosen sentences, in that order."""
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][chosen] - offsets[:-1], lengths)
        return replace(
            self,
            offsets=offsets,
            unigrams=self.unigrams.take(tokens),
            bigrams=self.bigrams.take(tokens),
            labels=None if self.labels is None else self.labels[tokens],
            weights=None if self.weights is None else self.weights[chosen],
        )

    def labels_before(self, n_labels: int) -> NDArray[np.int64]:
        """The label before each token: ``n_labels`` at the start of a sentence, below 0 where it is unknown."""
        assert self.labels is not None
        before = np.empty(self.n_tokens, np.int64)
        before[1:] = self.labels[:-1]
        before[self.starts] = n_labels
        return before

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first token of each sentence that has any."""
        return self.offsets[:-1][self.lengths > 0]

    @property
    def is_partial(self) -> NDArray[np.bool_]:
        """Which sentences have a token without a certain label."""
        if self.labels is None:
            return np.ones(len(self), np.bool_)
        unsure = np.concatenate([[0], np.cumsum(self.labels < 0)])
        return unsure[self.offsets[1:]] > unsure[self.offsets[:-1]]

    def allowed(self, n_labels: int) -> NDArray[np.bool_]:
        """For each token, the labels that it may have."""
        assert self.labels is not None
        sets = np.vstack([np.eye(n_labels, dtype=np.bool_), self._sets(n_labels)[::-1]])
        return sets[self.labels]

    def _sets(self, n_labels: int) -> NDArray[np.bool_]:
        return self.label_sets if self.label_sets.shape[1] else np.ones((1, n_labels), np.bool_)
