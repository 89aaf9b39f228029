"""Estimators of head automata: by moments and one SVD each (Luque et al. 2012), by EM, and two deterministic ones.

An automaton with n states is an *operator model*: ``p(m_1 … m_T) = stopᵀ A_{m_T} ⋯ A_{m_1} start``. All estimators
return the same arrays (`Automata`), so parsing is the same for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from spinney.linalg import truncated_svd
from spinney.parsing.modifiers import Floats, ModifierSequences, Tables
from spinney.progress import task


class Automata(NamedTuple):
    """K operator models over V + 1 modifiers (the last is an unknown tag), padded with zeros to n states.

    Attributes
    ----------
    start, stop : arrays [K, n]
    matrices : array [K, V + 1, n, n]
        ``matrices[k, m] @ state``: the state after the modifier m.
    """

    start: Floats
    matrices: Floats
    stop: Floats


class Operators(NamedTuple):
    """One automaton: start [n], matrices [V, n, n], stop [n]."""

    start: Floats
    matrices: Floats
    stop: Floats


def spectral_operators(
    pairs: ArrayLike,
    triples: ArrayLike,
    first: ArrayLike,
    last: ArrayLike,
    states: int,
    *,
    pseudo_count: float | None = None,
    cutoff: float = 1e-8,
) -> Operators:
    """An automaton from the expected numbers of substrings in a sequence; exact if these are, with sufficient rank.

    Parameters
    ----------
    pairs : array [B, A]
        P: ``pairs[b, a]`` is how often b follows a.
    triples : array [V, B, A]
        P_m: ``triples[m, c, b]`` is how often m occurs between b and c.
    first : array [B]
        How often each symbol is the first one.
    last : array [A]
        How often each symbol is the last one.
    states
        The maximum n; fewer if P has fewer singular values above ``cutoff`` times its largest.
    pseudo_count
        κ: the SVD is that of P divided by the roots of the sums of its rows and columns plus κ, as in CCA, so that
        frequent symbols do not dominate; None for P unscaled.

    Examples
    --------
    A geometric number of modifiers, a or b at a toss: half of the sequences are empty.

    >>> a = spectral_operators(np.full((2, 2), 1 / 8), np.full((2, 2, 2), 1 / 32), [0.25, 0.25], [0.25, 0.25], 1)
    >>> (a.stop @ a.start).round(6), (a.stop @ a.matrices[0] @ a.start).round(6)
    (np.float64(0.5), np.float64(0.125))
    """
    P, P_m = np.asarray(pairs, float), np.asarray(triples, float)
    # U and X with Uᵀ P X = I on what is kept. Any scales of the symbols will do: with the SVD D P E = U' S V'ᵀ take
    # U = D U', X = E V' S⁻¹. Without scales X is the pseudo-inverse of Uᵀ P.
    D, E = np.ones(len(P)), np.ones(P.shape[1])
    if pseudo_count is not None:
        D, E = (1.0 / np.sqrt(np.maximum(P.sum(axis=axis) + pseudo_count, 1e-300)) for axis in (1, 0))
        D, E = (np.where(P.any(axis=axis), scale, 0.0) for axis, scale in ((1, D), (0, E)))
    svd = truncated_svd(D[:, None] * P * E, states)
    kept = svd.s > cutoff * svd.s[0]
    if not kept.any():
        return _short_sequences(first, last)
    U, X = D[:, None] * svd.U[:, kept], E[:, None] * (svd.V[:, kept] / svd.s[kept])
    return Operators(U.T @ np.asarray(first, float), U.T @ P_m @ X, np.asarray(last, float) @ X)


def _short_sequences(first: ArrayLike, last: ArrayLike) -> Operators:
    """No symbol ever follows another: either there is one modifier, or none."""
    p = np.asarray(first, float)
    matrices = np.zeros((len(p), 2, 2))
    matrices[:, 1, 0] = p
    return Operators(np.array([1.0, 0.0]), matrices, np.array([1.0 - p.sum(), 1.0]))


def spectral(
    sequences: ModifierSequences,
    states: int,
    *,
    smoothing: float,
    shrinkage: float,
    boundaries: bool,
    pseudo_count: float | None,
    cutoff: float,
) -> Automata:
    """Each automaton by `spectral_operators`, its statistics mixed with those of all heads of its side.

    Triples are interpolated with their approximation by pairs: for a modifier that this head had c times, the triples
    have the weight c / (c + shrinkage), and the remainder ignores what preceded the modifier.

    With ``boundaries`` the ends of a sequence are symbols: short sequences then contribute to all moments, and the
    statistics of the beginning and of the end are a column and a row of P. Otherwise they are separate, and P counts
    two actual modifiers in a row, as in the paper.
    """
    V = sequences.n_tags
    found = []
    for k in range(sequences.n_automata):
        tables = mixed_tables(sequences, k, smoothing)
        pairs, triples = tables.pairs, _shrunk(tables, sequences.total(k), shrinkage)
        first, last = pairs[:, V], pairs[V]
        if not boundaries:
            pairs, triples, first, last = pairs[:V, :V], triples[:, :V, :V], first[:V], last[:V]
        found.append(
            spectral_operators(pairs, triples, first, last, states, pseudo_count=pseudo_count, cutoff=cutoff)
        )
    return padded(found)


def _shrunk(tables: Tables, total: float, shrinkage: float) -> Floats:
    """Triples, shrunk towards those of a chain in which a modifier depends only on the one before it."""
    if not shrinkage:
        return tables.triples
    pairs = tables.pairs
    often = pairs[:, :-1].sum(axis=0)  # each modifier in a sequence
    chain = pairs[:, :-1].T[:, :, None] * pairs[:-1, None, :] / np.maximum(often, 1e-300)[:, None, None]
    weight = (total * often / (total * often + shrinkage))[:, None, None]
    return np.asarray(weight * tables.triples + (1.0 - weight) * chain)


def mixed_tables(sequences: ModifierSequences, automaton: int, smoothing: float) -> Tables:
    """Statistics of an automaton that was seen c times, with the weight c / (c + smoothing); the remainder is shared.

    Examples
    --------
    >>> sequences = ModifierSequences.of([np.array([0, 1, 0])], [np.array([2, 0, 2])], 2)
    >>> mixed_tables(sequences, sequences.root, 1.0).pairs[:, 2].round(3)  # the root was a 1; a third of words are
    array([0.333, 0.667, 0.   ])
    """
    count = sequences.total(automaton)
    shared = sequences.shared_tables(automaton)
    if not count:
        return shared
    return sequences.tables(automaton).mixed(count / (count + smoothing), shared)


def deterministic(sequences: ModifierSequences, smoothing: float, floor: float = 0.0) -> Automata:
    """One state: modifiers and the end are drawn independently of each other.

    ``floor`` is the weight of the uniform distribution in each distribution, so that no tree is impossible.
    """
    V = sequences.n_tags
    found = []
    for k in range(sequences.n_automata):
        law = mixed_tables(sequences, k, smoothing).pairs.sum(axis=1)
        law = (1.0 - floor) * law / law.sum() + floor / (V + 1)
        found.append(Operators(np.ones(1), law[:V, None, None], law[V:]))
    return padded(found)


def bigram(sequences: ModifierSequences, smoothing: float) -> Automata:
    """The state is the modifier before: V + 1 of them, with the beginning.

    After a modifier that never occurred, the distribution is that of all modifiers of this head.
    """
    V = sequences.n_tags
    found = []
    for k in range(sequences.n_automata):
        pairs = mixed_tables(sequences, k, smoothing).pairs
        pairs = pairs + np.where(pairs.any(axis=0), 0.0, pairs.sum(axis=1, keepdims=True))
        law = pairs / pairs.sum(axis=0)
        matrices = np.zeros((V, V + 1, V + 1))
        matrices[np.arange(V), np.arange(V)] = law[:V]
        found.append(Operators(np.eye(V + 1)[V], matrices, law[V]))
    return padded(found)


def em(
    sequences: ModifierSequences, states: int, *, smoothing: float, iterations: int, random_state: int
) -> tuple[Automata, list[float]]:
    """Probabilistic automata by EM, and the log-likelihood of the sequences before each step.

    Each state has a distribution over (modifier, next state) and the end; its prior is ``smoothing`` observations,
    shared among the states, of the modifiers of all heads on that side.
    """
    from spinney.parsing._automata_kernels import expectations

    rng = np.random.default_rng(random_state)
    V, n = sequences.n_tags, states
    found = []
    trace = np.zeros(iterations)
    with task("EM of head automata", total=sequences.n_automata) as work:
        for k in range(sequences.n_automata):
            law = sequences.shared_tables(k).pairs.sum(axis=1)
            prior = smoothing / n * law / law.sum()
            start = rng.dirichlet(np.full(n, 10.0))
            # Near the distribution of one state: its mean with a random one.
            table = mixed_tables(sequences, k, max(smoothing, 1.0)).pairs.sum(axis=1)
            noise = rng.gamma(1.0, size=(V + 1, n)) * table[:, None]
            emission = noise / noise.sum(axis=0)
            move = rng.dirichlet(np.ones(n), (V, n)).transpose(0, 2, 1)  # [V, next, state]
            matrices, stop = emission[:V, None, :] * move, emission[V]
            for step in range(iterations if sequences.total(k) else 0):
                sums = np.zeros(n), np.zeros((V, n, n)), np.zeros(n)
                trace[step] += expectations(
                    sequences.modifiers, sequences.offsets, sequences.counts, sequences.owners[k],
                    sequences.owners[k + 1], start, np.ascontiguousarray(matrices), stop, *sums,
                )  # fmt: skip
                start = sums[0] / sums[0].sum()
                moved = sums[1] + prior[:V, None, None] / n
                stopped = sums[2] + prior[V]
                total = np.maximum(moved.sum(axis=(0, 1)) + stopped, 1e-300)
                matrices, stop = moved / total, stopped / total
            found.append(Operators(start, matrices, stop))
            work.update()
    return padded(found), trace.tolist()


def padded(found: list[Operators]) -> Automata:
    """Automata padded with zeros to the same size; an unknown tag is the mean of all tags."""
    K, V, n = len(found), len(found[0].matrices), max(len(one.start) for one in found)
    start, matrices, stop = np.zeros((K, n)), np.zeros((K, V + 1, n, n)), np.zeros((K, n))
    for k, one in enumerate(found):
        m = len(one.start)
        start[k, :m], matrices[k, :V, :m, :m], stop[k, :m] = one.start, one.matrices[:V], one.stop
    matrices[:, V] = matrices[:, :V].mean(axis=1)
    return Automata(start, matrices, stop)
