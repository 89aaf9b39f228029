"""Refinement hidden Markov models by EM: labels are known, and only their refinements are summed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.parallel import one_blas_thread
from spinney.progress import log, task
from spinney.tagging.refinement.operators import Operators
from spinney.tagging.refinement.places import Floats, Places
from spinney.tagging.refinement.spectral import outer_sums, sums, transition_law

_NOISE = 0.5  # of random starts


class Laws(NamedTuple):
    """Probabilities: of the first refinement, of the next one, of the end, and of symbols."""

    start: Floats  # [A, m]
    move: Floats  # [A, A, m, m]: to label and refinement, from label and refinement: [a, b, h, h']
    stop: Floats  # [A, m]
    emit: Floats  # [pairs of a symbol and a label, m]


class Expected(NamedTuple):
    """How often each of them is expected, and the log-likelihood of words and labels."""

    start: Floats
    move: Floats
    stop: Floats
    emit: Floats
    log_likelihood: float


class Pairs(NamedTuple):
    """The pairs of a symbol and a label that occur."""

    symbol: NDArray[np.int64]
    label: NDArray[np.int64]
    at: NDArray[np.int64]  # the places of all that is emitted
    which: NDArray[np.int64]  # its pairs; those of the places themselves come first


def fit_em(
    places: Places,
    n_symbols: int,
    states: int,
    *,
    iterations: int = 20,
    smoothing: float = 10.0,
    random_state: int = 0,
    watch: Callable[[float], None] = lambda log_likelihood: None,
) -> Operators:
    """The operators that EM finds from a random start; an interrupt after the first iteration ends it early.

    Parameters
    ----------
    places, n_symbols
        :func:`~spinney.tagging.refinement.places.numbered` of labelled sentences.
    states
        m, refinements of each label.
    smoothing
        C: what is added to the counts of each refinement, shared out as the law of its label says.
    watch
        Called after each iteration with the log-likelihood before it.

    Examples
    --------
    >>> from spinney.tagging.refinement.places import numbered
    >>> text = [("the dog barks".split(), "D N V".split()), ("a cat sleeps".split(), "D N V".split())]
    >>> places, symbols, labels = numbered(text, 0)
    >>> found = fit_em(places, len(symbols), 2, iterations=3)
    >>> [labels[a] for a in found.marginals(symbols.encode(["a", "dog", "sleeps"]), "abs").argmax(axis=1)]
    ['D', 'N', 'V']
    """
    A, pairs = int(places.label.max()) + 1, _pairs(places)
    of_label = _label_laws(places, pairs, A, smoothing)
    rng = np.random.default_rng(random_state)
    laws = _smoothed(_started(of_label, states, rng), of_label, pairs, 0.0)
    with one_blas_thread(), task("EM of refinements", total=iterations) as work:
        done = 0
        try:
            for _ in range(iterations):
                found = expected(places, pairs, laws)
                laws = _smoothed(found, of_label, pairs, smoothing)
                done += 1
                watch(found.log_likelihood)
                work.update(1)
                log.debug("EM iteration %d: log-likelihood %.1f", done, found.log_likelihood)
        except KeyboardInterrupt:
            if not done:
                raise
    return _operators(laws, found, pairs, of_label, n_symbols)


class _LabelLaws(NamedTuple):
    """The laws of a hidden Markov model without refinements."""

    mass: Floats  # [A]: places of each label
    start: Floats
    move: Floats  # [A, A]
    stop: Floats
    emit: Floats  # [pairs]


def _pairs(places: Places) -> Pairs:
    A = int(places.label.max()) + 1
    at, symbol = places.emitted
    known, which = np.unique(symbol * A + places.label[at], return_inverse=True)
    return Pairs(known // A, known % A, at, which)


def _label_laws(places: Places, pairs: Pairs, A: int, smoothing: float) -> _LabelLaws:
    label, w, here = places.label, places.weight, places.inner
    mass = np.bincount(label, w, A).astype(np.float64)
    moves = np.bincount(label[here] * A + label[here + 1], w[here], A * A).reshape(A, A)
    move = transition_law(moves, mass, smoothing)
    emitted = np.bincount(pairs.which, w[pairs.at], len(pairs.label))
    start = np.bincount(label[places.first], w[places.first], A)
    stop = np.maximum(1.0 - move.sum(axis=1), 0.0)
    emit = emitted / np.maximum(mass, 1e-300)[pairs.label]
    return _LabelLaws(mass, start / start.sum(), move, stop, emit)


def _started(of: _LabelLaws, m: int, rng: np.random.Generator) -> Expected:
    """Counts of refinements that share those of their labels, but for noise."""

    def noisy(law: Floats, *shape: int) -> Floats:
        return np.asarray(law * (1.0 + _NOISE * rng.uniform(-1.0, 1.0, shape)))

    A = len(of.mass)
    return Expected(
        noisy(of.start[:, None], A, m),
        noisy(of.move[:, :, None, None], A, A, m, m) / m,
        noisy(of.stop[:, None], A, m),
        noisy(of.emit[:, None], len(of.emit), m),
        -np.inf,
    )


def _smoothed(found: Expected, of: _LabelLaws, pairs: Pairs, C: float) -> Laws:
    """The M-step: relative frequencies, with C more places of each refinement that do as their label does."""
    count = found.move.sum(axis=(1, 3)) + found.stop
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1e-300)
    move = found.move + C * of.move[:, :, None, None] * share[None, :, None, :]
    stop = found.stop + C * of.stop[:, None]
    total = np.maximum(move.sum(axis=(1, 3)) + stop, 1e-300)
    emit = found.emit + C * of.emit[:, None]
    own = pairs.symbol > 0  # the unknown word counts rare words a second time
    emitted = np.maximum(sums(pairs.label[own], emit[own], len(of.mass)), 1e-300)
    return Laws(
        found.start / max(float(found.start.sum()), 1e-300),
        move / total[:, None, :, None],
        stop / total,
        emit / emitted[pairs.label],
    )


def expected(places: Places, pairs: Pairs, laws: Laws) -> Expected:
    """The E-step: forward and backward over the refinements of known labels, all sentences of a length side by side."""
    A, m = laws.start.shape
    label, lengths, first = places.label, np.diff(places.offsets), places.first
    emits = laws.emit[pairs.which[: len(label)]]
    alpha, scale = np.zeros((len(label), m)), np.ones(len(label))
    order = np.argsort(-lengths, kind="stable")
    at, longest = first[order], int(lengths.max(initial=0))
    alive = [int(np.count_nonzero(lengths > t)) for t in range(longest)]
    for t, n in enumerate(alive):
        here = at[:n] + t
        a = (
            laws.start[label[here]]
            if t == 0
            else _step(alpha[here - 1], laws.move, label[here - 1], label[here])
        )
        a = a * emits[here]
        scale[here] = np.maximum(a.sum(axis=1), 1e-300)
        alpha[here] = a / scale[here, None]
    last = places.last
    ends = np.maximum((alpha[last] * laws.stop[label[last]]).sum(axis=1), 1e-300)
    beta = np.zeros((len(label), m))
    beta[last] = laws.stop[label[last]] / ends[:, None]
    ahead = np.zeros((len(label), m))  # what a place says to the one before
    for t in reversed(range(longest)):
        here = at[: alive[t]] + t
        ahead[here] = emits[here] * beta[here] / scale[here, None]
        if t:
            before = here - 1
            blocks = laws.move[label[before], label[here]]
            beta[before] = np.matmul(blocks, ahead[here][:, :, None])[:, :, 0]
    w = places.weight[:, None]
    posterior, inner = alpha * beta * w, places.inner
    pair = label[inner] * A + label[inner + 1]
    moved = outer_sums(pair, alpha[inner] * w[inner], ahead[inner + 1], A * A).reshape(A, A, m, m)
    return Expected(
        sums(label[first], posterior[first], A),
        moved * laws.move,
        sums(label[last], posterior[last], A),
        sums(pairs.which, posterior[pairs.at], len(pairs.label)),
        float((places.weight * np.log(scale)).sum() + (places.weight[last] * np.log(ends)).sum()),
    )


def _step(alpha: Floats, move: Floats, a: NDArray[np.int64], b: NDArray[np.int64]) -> Floats:
    return np.asarray(np.matmul(alpha[:, None, :], move[a, b])[:, 0])


def _operators(laws: Laws, found: Expected, pairs: Pairs, of: _LabelLaws, n_symbols: int) -> Operators:
    """Probabilities as operators, in the basis of the refinements themselves."""
    A, m = laws.start.shape
    count = found.move.sum(axis=(1, 3)) + found.stop
    return Operators(
        laws.start,
        laws.stop,
        np.ascontiguousarray(laws.move.transpose(0, 2, 1, 3)).reshape(A * m, A * m),
        laws.emit,
        pairs.label.astype(np.int32),
        np.searchsorted(pairs.symbol, np.arange(n_symbols + 1)),
        count / np.maximum(count.sum(axis=1, keepdims=True), 1e-300),
        np.ones((A, m)),
        of.mass / of.mass.sum(),
    )
