"""Expected counts of a hidden Markov chain or tree, and the parameters that they give (Grave 2014, §2.2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinney.inference.hidden import Beliefs, Laws
from spinney.interrupts import uninterrupted

Floats = NDArray[Any]

_SMALL_GAIN = 1e-10
#: A class with less than this share of the mean mass is dead: no word will ever come back to it.
DEAD = 1e-5


@dataclass
class Statistics:
    """Pseudo-counts: what EM adds up. ``omega`` is scaled lazily: the counts are ``gain * omega``.

    Attributes
    ----------
    omega : array [V, C]
        Words by classes.
    mass : float64 array [C]
        The sums of its columns.
    tau : float64 array [K, C, C]
        Edges by kind, class of the child, class of the father.
    rho : float64 array [C]
        Classes of roots.
    gain : float
    """

    omega: Floats
    mass: NDArray[np.float64]
    tau: NDArray[np.float64]
    rho: NDArray[np.float64]
    gain: float = 1.0

    @classmethod
    def of(cls, omega: Floats, tau: Floats, rho: Floats) -> Self:
        """Statistics with these counts of words, edges and roots."""
        return cls(omega, omega.sum(axis=0, dtype=np.float64), tau, rho)

    @classmethod
    def zeros(cls, n_words: int, n_classes: int, n_kinds: int, dtype: DTypeLike) -> Self:
        """Nothing counted yet."""
        C = n_classes
        return cls(np.zeros((n_words, C), dtype), np.zeros(C), np.zeros((n_kinds, C, C)), np.zeros(C))

    def copy(self) -> Self:
        """The same counts in arrays of their own."""
        return type(self)(self.omega.copy(), self.mass.copy(), self.tau.copy(), self.rho.copy(), self.gain)

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.rho)

    def laws(self, smoothing: float, backoff: float, dtype: DTypeLike) -> Laws:
        """The M-step: columns scaled to sum 1, then a share ``smoothing`` of each taken for a uniform law.

        With several kinds of edges, each matrix first gains the shared one, with ``backoff`` times the mean mass of a
        column: a rare kind keeps close to what all kinds have in common.
        """
        from spinney.classes._statistics_kernels import column_laws

        V, C = self.omega.shape
        K = len(self.tau)
        transition = np.empty((K, C, C), dtype)
        mean = self.tau.sum() / (K * C)
        column_laws(self.tau, backoff * mean if K > 1 else 0.0, smoothing, transition)
        rho = self.rho / self.rho.sum() if self.rho.any() else np.full(C, 1.0 / C)
        scale = (1.0 - smoothing) / np.maximum(self.mass, np.finfo(np.float64).tiny)
        return Laws(
            self.omega if self.omega.dtype == dtype else self.omega.astype(dtype),
            scale.astype(dtype),
            smoothing / V,
            transition,
            ((1.0 - smoothing) * rho + smoothing / C).astype(dtype),
        )

    @uninterrupted()
    def add(self, words: NDArray[np.int32], beliefs: Beliefs, weight: float = 1.0, keep: float = 1.0) -> None:
        """Count, with a weight, what the words of some nodes were found to be; edges and roots are kept in part."""
        from spinney.classes._statistics_kernels import add_rows, blend

        scaled = weight / self.gain
        add_rows(words, beliefs.nodes, beliefs.nodes.dtype.type(scaled), self.omega)
        self.mass += scaled * beliefs.classes
        blend(self.tau.reshape(-1), keep, beliefs.edges.reshape(-1), weight)
        self.rho *= keep
        self.rho += weight * beliefs.roots

    def step(self, batch: Iterable[tuple[NDArray[np.int32], Beliefs]], alpha: float) -> None:
        """Online EM: (1 - α) of what there was, and α of the batch (Cappé & Moulines 2009)."""
        self.gain *= 1.0 - alpha
        keep = 1.0 - alpha
        if self.gain < _SMALL_GAIN:  # before anything is divided by it: a first step may be 1
            self.fold()
        for words, beliefs in batch:
            self.add(words, beliefs, alpha, keep)
            keep = 1.0

    @uninterrupted()
    def fold(self) -> None:
        """Multiply the gain into the counts."""
        if self.gain != 1.0:
            self.omega *= self.omega.dtype.type(self.gain)
            self.mass *= self.gain
            self.gain = 1.0

    @uninterrupted()
    def scaled(self, tokens: float) -> Self:
        """The same counts, of ``tokens`` in all: so that a start weighs as much as a batch."""
        self.fold()
        factor = tokens / max(float(self.mass.sum()), np.finfo(np.float64).tiny)
        self.omega *= self.omega.dtype.type(factor)
        self.mass *= factor
        self.tau *= factor
        self.rho *= factor
        return self

    @uninterrupted()
    def revive(self, rng: np.random.Generator, noise: float) -> int:
        """Give each dead class half of the heaviest one; returns how many were dead."""
        dead = np.flatnonzero(self.mass < DEAD * self.mass.mean())
        for i in dead.tolist():
            heavy = int(self.mass.argmax())
            half = 0.5 * self.omega[:, heavy]
            self.omega[:, i] = half * (1 + noise * rng.uniform(-1, 1, len(half)))
            self.omega[:, heavy] = half
            for one in (self.tau, self.tau.transpose(0, 2, 1)):
                one[:, heavy] *= 0.5
                one[:, i] = one[:, heavy]
            self.rho[heavy] *= 0.5
            self.rho[i] = self.rho[heavy]
            self.mass[[heavy, i]] = self.omega[:, [heavy, i]].sum(axis=0, dtype=np.float64)
        return len(dead)


# ------------------------------------------------------------------------------------------ beginnings


def random_start(
    counts: NDArray[np.int64], n_classes: int, n_kinds: int, rng: np.random.Generator, dtype: DTypeLike
) -> Statistics:
    """Chance: a word's count times U[0, 1]⁴ in each class, and U[0, 1]⁴ for each edge.

    The thesis draws all from U[0, 1] (:func:`uniform_start`). Then all classes are nearly alike, a point that EM leaves
    very slowly: after three passes over a third of the Penn Treebank held-out text has 0.4 nats per token less than
    from here. With the counts of the words the first passes need not learn these either.
    """
    omega = (rng.random((len(counts), n_classes), np.float32) ** 4).astype(dtype)
    omega *= np.maximum(counts, 1).astype(dtype)[:, None]
    tau = rng.random((n_kinds, n_classes, n_classes)) ** 4
    rho = rng.random(n_classes)
    return Statistics.of(omega, tau * (omega.sum() / tau.sum()), rho)


def uniform_start(
    counts: NDArray[np.int64], n_classes: int, n_kinds: int, rng: np.random.Generator, dtype: DTypeLike
) -> Statistics:
    """Chance as in the thesis (Grave 2014, §2.2.4): U[0, 1] for each word and class, and for each edge.

    Edges are scaled to the mass of the words, as they have in any text.
    """
    omega = rng.random((len(counts), n_classes), np.float32).astype(dtype)
    tau = rng.random((n_kinds, n_classes, n_classes))
    rho = rng.random(n_classes)
    return Statistics.of(omega, tau * (omega.sum(dtype=np.float64) / tau.sum()), rho)


def classes_start(
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    edges: NDArray[np.float64],
    roots: NDArray[np.float64],
    rng: np.random.Generator,
    dtype: DTypeLike,
    floor: float = 1e-5,
) -> Statistics:
    """From one class a word (Grave 2014, §2.2.4): its count in its class's column, its classes' edges.

    Zeros would stay zeros for ever, so each becomes about ``floor`` times the largest count of its row; about, so that
    two classes without words do not stay alike for ever either.

    Parameters
    ----------
    classes : array [V]
        The class of each word; -1 for a word without, which is spread over all.
    edges : array [K, C, C]
        ``edges[kind, i, j]``: how often a child of class i hangs on a father of class j.
    roots : array [C]
    """
    C = len(roots)
    seen = np.maximum(counts, 1).astype(dtype)
    omega = (floor * rng.uniform(0.5, 1.5, (len(seen), C))).astype(dtype) * seen[:, None]
    known = np.flatnonzero(classes >= 0)
    omega[known, classes[known]] = seen[known]
    omega[classes < 0] /= floor * C
    tau = np.maximum(edges, floor * edges.max(axis=2, keepdims=True))
    tau = np.maximum(tau, floor * max(float(edges.max()), 1.0) / C)
    return Statistics.of(omega, tau, np.maximum(roots, floor * max(float(roots.max()), 1.0)))


def split(statistics: Statistics, n_classes: int, rng: np.random.Generator, noise: float) -> Statistics:
    """Every class becomes two, or, where fewer are wanted, the heaviest do (after Petrov 2009).

    Edges are shared evenly; the two halves differ by a little noise in what they emit, or they would never part.
    """
    statistics.fold()
    C = statistics.n_classes
    halved = np.sort(np.argsort(-statistics.mass, kind="stable")[: n_classes - C])
    origin = np.concatenate((np.arange(C), halved))
    share = np.ones(C)
    share[halved] = 0.5
    # NumPy lays a choice of columns out by columns; the kernels go by rows.
    omega = np.ascontiguousarray(statistics.omega[:, origin]) * share[origin].astype(statistics.omega.dtype)
    wobble = noise * rng.uniform(-1, 1, (len(omega), len(halved)))
    omega[:, halved] *= 1 + wobble
    omega[:, C:] *= 1 - wobble
    weights = share[origin]
    tau = np.ascontiguousarray(statistics.tau[:, origin][:, :, origin]) * weights[:, None] * weights
    return Statistics.of(omega, tau, statistics.rho[origin] * weights)
