"""The features that CRFsuite generates: those that occur, often enough, or all that are possible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spinney.tagging.classifier import CRFClassifier
from spinney.tagging.problem import Problem
from spinney.tagging.sequences import Sequences
from spinney.tagging.support import Shape, Support, seen_counts


class Possible(NamedTuple):
    """Which pairs of an attribute and a label, and which pairs of labels, have weights."""

    states: bool = False
    transitions: bool = False
    min_freq: float = 0.0

    def support(self, data: Sequences, shape: Shape) -> Support | None:
        """The places of the weights; None for all."""
        if self.states and self.transitions and self.min_freq <= 0:
            return None
        counts = seen_counts(data, shape)
        unigrams = _often(counts.unigrams, _frequencies(data, shape), self.min_freq)
        bigrams = _often(counts.bigrams, counts.bigrams, self.min_freq)
        if self.states:  # those that do not occur have frequency 0
            unigrams = np.arange(shape.n_mu) if self.min_freq <= 0 else unigrams
        if self.transitions:
            bigrams = np.arange(shape.n_params - shape.n_mu) if self.min_freq <= 0 else bigrams
        return Support.of(np.concatenate([unigrams, shape.n_mu + bigrams]), shape)


def _frequencies(data: Sequences, shape: Shape) -> Any:
    """The sum of the values of each attribute with each label."""
    from scipy.sparse import csr_array

    seen, labels = data.unigrams, data.known_labels(shape.labels)
    values = np.ones(len(seen.ids)) if seen.values is None else seen.values
    attributes = csr_array((values, seen.ids, seen.ptr), shape=(seen.n_tokens, seen.n), copy=True)
    tokens = np.arange(len(labels))
    events = csr_array((np.ones(len(labels)), (tokens, labels)), shape=(len(labels), shape.labels))
    return (attributes.T @ events).tocsr()


def _often(occurs: Any, frequencies: Any, least: float) -> Any:
    """The places of what occurs, with at least this frequency."""
    occurs.sort_indices()
    rows = np.repeat(np.arange(occurs.shape[0], dtype=np.int64), np.diff(occurs.indptr))
    places = rows * occurs.shape[1] + occurs.indices
    if least <= 0 or not len(places):
        return places
    values = np.asarray(frequencies[rows, occurs.indices]).ravel()
    return places[values >= least]


class Chain(CRFClassifier):
    """A :class:`~spinney.tagging.CRFClassifier` that has weights for the features of CRFsuite only."""

    possible = Possible()

    def problem(self, *given: Any, **options: Any) -> Problem:
        """The problem to minimise, over these weights."""
        problem = super().problem(*given, **options)
        support = self.possible.support(problem.data, problem.loss.shape)
        return problem if support is None else replace(problem, loss=problem.loss.restricted(support))
