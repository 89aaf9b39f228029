"""From discounted frequencies of each order to probabilities: mixing with the lower order, or backing off to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary
from spinney.lm.backoff import BackoffModel, dense
from spinney.lm.model import Vector
from spinney.lm.tables import TrieCounts

# Below this, 1 − Σ loses too many digits, and the mass of unseen words is summed word by word.
_SMALL = 1e-3


def interpolated(
    counts: TrieCounts, frequency: Vector, weight: Vector, vocabulary: Vocabulary, facts: Mapping[str, Any]
) -> BackoffModel:
    """p(y | x) = frequency(x y) + weight(x) p(y | x without its oldest symbol), and 1 / |V| below the unigrams.

    The frequencies of a context and its weight add up to one. Unseen grams have the second part only, so that the
    weights are back-off weights.
    """
    table = counts.table
    p = np.empty(table.n_grams)
    for order in range(1, table.order + 1):
        grams = table.grams_of(order)
        p[grams] = frequency[grams] + weight[table.context[grams]] * lower(counts, p, order)
    return _model(vocabulary, counts, _log(p), _log(weight), facts)


def backed_off(
    counts: TrieCounts,
    frequency: Vector,
    left: Vector,
    seen: NDArray[np.bool_],
    vocabulary: Vocabulary,
    facts: Mapping[str, Any],
) -> BackoffModel:
    """p(y | x) = frequency(x y) if seen, else η(x) p(y | x without its oldest symbol): Katz's scheme.

    ``left`` is what the frequencies of a context leave of one; η shares it out among what is not seen. Where there is
    nothing of that kind, the frequencies are scaled up to one instead.
    """
    table = counts.table
    p, logp, backoff = np.empty(table.n_grams), np.empty(table.n_grams), np.zeros(table.n_contexts)
    for order in range(1, table.order + 1):
        grams = table.grams_of(order)
        low, saw = lower(counts, p, order), seen[grams]
        contexts = slice(int(table.levels[order - 1]), int(table.levels[order]))
        own = table.context[grams] - contexts.start
        n = contexts.stop - contexts.start
        free = 1.0 - np.bincount(own, np.where(saw, low, 0.0), minlength=n)
        for i in np.flatnonzero(free < _SMALL).tolist():
            free[i] = _mass_unseen(counts, seen, logp, backoff, contexts.start + i)
        shares = free > 0
        eta = np.where(shares, left[contexts] / np.where(shares, free, 1.0), 1.0)
        scale = 1.0 / np.where(shares, 1.0, 1.0 - left[contexts])
        p[grams] = np.where(saw, frequency[grams] * scale[own], eta[own] * low)
        logp[grams], backoff[contexts] = _log(p[grams]), _log(eta)
    return _model(vocabulary, counts, logp, backoff, facts)


def lower(counts: TrieCounts, p: Vector, order: int) -> Vector:
    """The probability of each gram of an order without its oldest symbol; uniform below the unigrams."""
    table = counts.table
    if order > 1:
        return p[counts.up[table.grams_of(order)]]
    return np.append(np.full(table.n_outcomes, 1.0 / table.n_outcomes), 0.0)


def _mass_unseen(
    counts: TrieCounts, seen: NDArray[np.bool_], logp: Vector, backoff: Vector, context: int
) -> float:
    """Σ p(v | x without its oldest symbol) over the v that are not seen after x, term by term."""
    table = counts.table
    chain = []
    c = int(counts.parent[context])
    while c >= 0:
        chain.append(c)
        c = int(counts.parent[c])
    p = (
        dense(table, logp, backoff, chain[::-1])
        if chain
        else np.full(table.n_outcomes, 1.0 / table.n_outcomes)
    )
    grams = slice(table.gram_ptr[context], table.gram_ptr[context + 1])
    p[table.symbol[grams][seen[grams]]] = 0.0
    return float(p.sum())


def _model(
    vocabulary: Vocabulary, counts: TrieCounts, logp: Vector, backoff: Vector, facts: Mapping[str, Any]
) -> BackoffModel:
    return BackoffModel(vocabulary, counts.table, np.minimum(logp, 0.0, out=logp), backoff, facts)


def _log(p: Vector) -> Vector:
    with np.errstate(divide="ignore"):
        return np.log(p)
