"""Hidden Markov models of labelled sentences: trained by counting (Sokolovska 2010, §2.4), and what EM needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError, OptionError
from spinney.inference.chains import Chains
from spinney.optim.base import checked_strength
from spinney.tagging.sequences import Floats


class Expected(NamedTuple):
    """How often the first label, pairs of labels, and symbols of labels are expected to occur in some sentences."""

    starts: Floats  # [Y]
    moves: Floats  # [Y, Y]
    emitted: Floats  # [Y, S]

    @property
    def tokens(self) -> Floats:
        """How many tokens have each label: each is the first of its sentence, or follows another."""
        return np.asarray(self.starts + self.moves.sum(axis=0))


@dataclass(frozen=True, eq=False)
class HMM:
    """A chain of labels, each of which emits one symbol; symbol −1 stands for any unknown symbol.

    Parameters
    ----------
    initial : array [Y]
        q(y), of the first label of a sentence.
    transition : array [Y, Y]
        a(y', y), from the label before, y', to the next.
    emission : array [Y, S]
        b(y, x), of the known symbols.
    unknown : array [Y], optional
        b(y, −1); by default 1 minus the sum of the row of ``emission``.

    Examples
    --------
    >>> from spinney.inference.decoding import viterbi
    >>> hmm = HMM([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]])
    >>> viterbi(hmm.chains([0, 1, 0, 1, 1, 1], [0, 3, 6]))[0]
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    initial: Floats
    transition: Floats
    emission: Floats
    unknown: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("initial", "transition", "emission"):
            object.__setattr__(self, name, np.array(getattr(self, name), np.float64))
        Y = len(self.initial)
        if self.transition.shape != (Y, Y) or self.emission.ndim != 2 or len(self.emission) != Y:
            raise OptionError(f"transition must be {Y} × {Y} and emission {Y} × symbols")
        rest = np.maximum(1.0 - self.emission.sum(axis=1), 0.0)
        rest[rest < 1e-12] = 0.0
        unknown = rest if self.unknown is None else np.array(self.unknown, np.float64)
        object.__setattr__(self, "unknown", unknown)
        if unknown.shape != (Y,):
            raise OptionError(f"unknown must have {Y} entries")
        for name, law in (
            ("initial", self.initial),
            ("transition", self.transition),
            ("emission", self._outcomes),
        ):
            if not np.all(law >= 0) or not np.allclose(law.sum(axis=-1), 1.0, rtol=0, atol=1e-8):
                raise OptionError(f"{name} must hold probabilities that sum to 1")

    @classmethod
    def fit(
        cls,
        symbols: ArrayLike,
        offsets: ArrayLike,
        labels: ArrayLike,
        n_labels: int,
        n_symbols: int,
        *,
        smoothing: float = 0.1,
    ) -> HMM:
        """Relative frequencies, with ``smoothing`` added to the count of each event.

        A token is called new if its symbol is −1 or occurs nowhere else; the share of them among the tokens of a label
        is the probability that it emits an unknown symbol (Good and Turing: without these tokens, the symbols would be
        unknown). The known symbols share the rest.

        Parameters
        ----------
        symbols, labels : int array [T]
            One per token; a label below 0 is unknown, and neither it nor its transitions are counted.
        offsets : int array [N+1]
            Sentence i is tokens ``offsets[i]`` to ``offsets[i+1]``.
        n_labels, n_symbols : int
        smoothing : float
            0.1 was the best for words in a held-out part of CoNLL-2000; 0 makes unseen events impossible.

        Examples
        --------
        >>> hmm = HMM.fit([0, 1, 0, 1, 2, 0], [0, 3, 6], [0, 1, 0, 0, 1, 0], 2, 3, smoothing=0)
        >>> hmm.transition.tolist(), hmm.unknown.tolist(), hmm.emission.tolist()
        ([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.5], [[0.75, 0.25, 0.0], [0.0, 0.25, 0.25]])
        """
        smoothing = checked_strength("smoothing", smoothing)
        starts, moves, emitted = counts_of(symbols, offsets, labels, n_labels, n_symbols)
        x, y = np.asarray(symbols, np.int64), np.asarray(labels, np.int64)
        once = np.append(np.bincount(x[x >= 0], minlength=n_symbols) == 1, True)  # the last for symbol −1
        new = np.bincount(y[once[x] & (y >= 0)], minlength=n_labels)
        old = np.bincount(y[y >= 0], minlength=n_labels) - new
        share = shares(np.stack([new, old], axis=1), smoothing)
        return cls(
            shares(starts, smoothing),
            shares(moves, smoothing),
            shares(emitted, smoothing) * share[:, 1:],
            share[:, 0],
        )

    @property
    def n_labels(self) -> int:
        """Y, the number of labels."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """S, the number of known symbols."""
        return int(self.emission.shape[1])

    @property
    def _outcomes(self) -> Floats:
        """The emissions of a label, with the unknown symbol last, to which −1 refers."""
        assert self.unknown is not None
        return np.column_stack([self.emission, self.unknown])

    def chains(self, symbols: ArrayLike, offsets: ArrayLike) -> Chains:
        """These sentences for :mod:`spinney.inference.decoding`: the score of a labelling is log p(x, y)."""
        x, lines = _checked(symbols, offsets, self.n_symbols)
        with np.errstate(divide="ignore"):
            scores = np.log(self._outcomes).T[x]
            edges = np.log(np.vstack([self.transition, self.initial]))
        return Chains(lines, scores, np.zeros(len(x), np.int32), edges[None])

    def log_likelihood(self, symbols: ArrayLike, offsets: ArrayLike) -> Floats:
        """log p(x) of each sentence, −inf where it is impossible, by the forward recursion on all of them at once.

        Examples
        --------
        >>> hmm = HMM([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]])
        >>> np.exp(hmm.log_likelihood([0, 0, 1, 1, 0], [0, 3, 5])).round(6)
        array([0.25, 0.  ])
        """
        x, lines = _checked(symbols, offsets, self.n_symbols)
        emits, lengths = self._outcomes.T, np.diff(lines)
        total, alpha = np.zeros(len(lengths)), np.empty((len(lengths), self.n_labels))
        alive = np.arange(len(lengths))
        for t in range(int(lengths.max(initial=0))):
            alive = alive[lengths[alive] > t]
            a = alpha[alive] @ self.transition if t else np.tile(self.initial, (len(alive), 1))
            a *= emits[x[lines[alive] + t]]
            scale = a.sum(axis=1)
            with np.errstate(divide="ignore"):
                total[alive] += np.log(scale)
            possible = scale > 0
            alive = alive[possible]
            alpha[alive] = a[possible] / scale[possible, None]
        return total

    def expected(self, symbols: ArrayLike, offsets: ArrayLike) -> Expected:
        """What these sentences are expected to have been made of, by forward-backward on all of them at once.

        An impossible sentence counts for nothing.

        Examples
        --------
        >>> hmm = HMM([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]])
        >>> found = hmm.expected([0, 0, 1, 1, 0], [0, 3, 5])
        >>> found.starts.tolist(), found.moves.tolist(), found.emitted.tolist()
        ([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])
        """
        x, lines = _checked(symbols, offsets, self.n_symbols)
        emits, lengths = self._outcomes.T[x], np.diff(lines)
        alpha, scale = np.zeros_like(emits), np.ones(len(x))
        by_length = np.argsort(-lengths, kind="stable")
        places = lines[by_length]
        alive = [int(np.count_nonzero(lengths > t)) for t in range(int(lengths.max(initial=0)))]
        for t, n in enumerate(alive):
            here = places[:n] + t
            a = (alpha[here - 1] @ self.transition if t else self.initial) * emits[here]
            scale[here] = a.sum(axis=1)
            alpha[here] = np.divide(a, scale[here, None], out=np.zeros_like(a), where=scale[here, None] > 0)
        possible = (
            np.bincount(np.repeat(np.arange(len(lengths)), lengths)[scale <= 0], minlength=len(lengths)) == 0
        )
        ahead = np.zeros_like(emits)  # b(y, x_t)·β_t(y) / scale_t: what a token says to the one before
        beliefs = np.zeros_like(emits)
        counts = np.repeat(possible, lengths)
        for t in reversed(range(len(alive))):
            here, longer = places[: alive[t]] + t, alive[t + 1] if t + 1 < len(alive) else 0
            beta = np.ones((len(here), self.n_labels))
            beta[:longer] = ahead[here[:longer] + 1] @ self.transition.T
            ahead[here] = np.divide(
                emits[here] * beta, scale[here, None], out=np.zeros_like(beta), where=counts[here, None]
            )
            beliefs[here] = np.where(counts[here, None], alpha[here] * beta, 0.0)
        first = lines[:-1][lengths > 0]
        follows = np.flatnonzero(counts)
        follows = follows[~np.isin(follows, first)]
        known = np.flatnonzero(x >= 0)
        emitted = np.zeros((self.n_labels, self.n_symbols))
        for y in range(self.n_labels):
            emitted[y] = np.bincount(x[known], beliefs[known, y], minlength=self.n_symbols)
        return Expected(
            beliefs[first].sum(axis=0), self.transition * (alpha[follows - 1].T @ ahead[follows]), emitted
        )

    def sample(
        self, n: int, length: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        """``n`` sentences of ``length`` tokens: their symbols, offsets and labels.

        Examples
        --------
        >>> hmm = HMM([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
        >>> hmm.sample(2, 3, np.random.default_rng(0))
        (array([1, 0, 1, 1, 0, 1], dtype=int32), array([0, 3, 6]), array([0, 1, 0, 0, 1, 0], dtype=int32))
        """
        labels = np.empty((n, length), np.int32)
        for t in range(length):
            if t == 0:
                labels[:, 0] = _drawn(self.initial[None], np.zeros(n, np.int32), rng)
            else:
                labels[:, t] = _drawn(self.transition, labels[:, t - 1], rng)
        symbols = _drawn(self._outcomes, labels.ravel(), rng)
        symbols[symbols == self.n_symbols] = -1
        return symbols, np.arange(n + 1) * length, labels.ravel()


def _drawn(laws: Floats, rows: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
    """A random outcome for each entry of ``rows``, from the distribution in that row."""
    u, out = rng.random(len(rows)), np.empty(len(rows), np.int32)
    cumulated = np.cumsum(laws, axis=1)
    for row in np.unique(rows):
        here = rows == row
        out[here] = np.searchsorted(cumulated[row] / cumulated[row, -1], u[here], side="right")
    return out


def counts_of(
    symbols: ArrayLike, offsets: ArrayLike, labels: ArrayLike, n_labels: int, n_symbols: int
) -> Expected:
    """How often everything occurs in labelled sentences; a label below 0 is unknown, and is not counted.

    Examples
    --------
    >>> found = counts_of([0, 1, 1, 0], [0, 3, 4], [0, 1, 1, 1], 2, 2)
    >>> found.starts.tolist(), found.moves.tolist(), found.emitted.tolist()
    ([1.0, 1.0], [[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 2.0]])
    """
    x, lines = _checked(symbols, offsets, n_symbols)
    y = np.asarray(labels, np.int64)
    if y.shape != x.shape or (y.size and y.max() >= n_labels):
        raise InputError(f"labels must be {len(x)} numbers below {n_labels}, one per token")
    first = lines[:-1][np.diff(lines) > 0]
    follows = np.ones(len(x), np.bool_)
    follows[first] = False
    here = np.flatnonzero(follows & (y >= 0) & (np.roll(y, 1) >= 0))
    starts = np.bincount(y[first][y[first] >= 0], minlength=n_labels)
    moves = np.bincount(y[here - 1] * n_labels + y[here], minlength=n_labels**2)
    known = (x >= 0) & (y >= 0)
    emitted = np.bincount(y[known] * n_symbols + x[known], minlength=n_labels * n_symbols)
    return Expected(
        starts.astype(np.float64),
        moves.reshape(n_labels, n_labels).astype(np.float64),
        emitted.reshape(n_labels, n_symbols).astype(np.float64),
    )


def shares(counts: NDArray[Any], smoothing: float | Floats) -> Floats:
    """Counts as probabilities along the last axis, ``smoothing`` added to each; uniform where nothing was counted.

    Examples
    --------
    >>> shares(np.array([[3, 1], [0, 0]]), 0.0).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    smooth = counts + smoothing
    total = smooth.sum(axis=-1, keepdims=True)
    even = np.full_like(smooth, 1.0 / max(counts.shape[-1], 1))
    return np.asarray(np.divide(smooth, total, out=even, where=total > 0))


def _checked(
    symbols: ArrayLike, offsets: ArrayLike, n_symbols: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    x, lines = np.asarray(symbols, np.int64), np.asarray(offsets, np.int64)
    if x.ndim != 1 or (x.size and not -1 <= x.min() <= x.max() < n_symbols):
        raise InputError(f"symbols must be numbers below {n_symbols}, or -1 for unknown ones")
    if (
        lines.ndim != 1
        or not lines.size
        or lines[0] != 0
        or lines[-1] != len(x)
        or np.any(np.diff(lines) < 0)
    ):
        raise InputError(f"offsets must increase from 0 to the number of tokens, {len(x)}")
    return x, lines
