"""The weights of one chain model carried over to another, for a fit that starts from a fitted model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.optim.base import Vector
from spinney.tagging.extract import Extractor
from spinney.tagging.problem import Problem
from spinney.tagging.weights import ChainWeights


def carried_over(
    weights: ChainWeights, extractor: Extractor, labels: Sequence[str], problem: Problem
) -> Vector:
    """The weights of a fitted model for the same observations and labels; all other weights are zero."""
    old, new = weights.shape, problem.loss.shape
    from_label = _places(labels, problem.labels)
    w = np.zeros(new.n_params)
    full = weights.full()
    rows = [_places(extractor.names(which), problem.extractor.names(which)) for which in ("u", "b")]
    mu = np.pad(
        old.mu(full), ((0, 1), (0, 1))
    )  # the last row and column are for unknown observations and labels
    new.mu(w)[:] = mu[np.ix_(rows[0], from_label)]
    lam = np.zeros((old.bigrams + 1, old.labels + 2, old.labels + 1))
    lam[:-1, : old.labels, :-1] = old.lam(full)[:, : old.labels]
    if old.start and new.start:
        lam[:-1, old.labels, :-1] = old.lam(full)[:, old.labels]
    before = np.append(from_label, old.labels) if new.start else from_label
    new.lam(w)[:] = lam[np.ix_(rows[1], before, from_label)]
    support = problem.loss.support
    return w if support is None else w[support.places(new)]


def _places(known: Sequence[str], wanted: Sequence[str]) -> NDArray[np.int64]:
    place = {name: i for i, name in enumerate(known)}
    return np.array([place.get(name, -1) for name in wanted], np.int64)
