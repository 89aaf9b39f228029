"""Sentences as lattices of candidate labels, for the kernels: the room that they work in, and marginals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.tagging.morphology.labels import Composed
from spinney.tagging.morphology.observations import Seen
from spinney.tagging.morphology.weights import Weights

#: The most labels that a token may have in a lattice, and how far their scores may be below the best.
CANDIDATES = 8
MARGIN = 5.0


class Marginals(NamedTuple):
    """The candidates of each token, by number, the most probable of them by score first, and their probabilities."""

    counts: NDArray[np.int64]
    labels: NDArray[np.int32]
    probabilities: NDArray[np.float64]


def room(longest: int, labels: Composed) -> tuple[Any, ...]:
    """The arrays that kernels work in, for sentences of up to ``longest`` words."""
    n, K, Y = longest + 1, CANDIDATES, max(len(labels), 1)
    return (
        np.empty(max(len(labels.parts), 1)),
        np.empty(Y),
        np.empty(Y, np.int32),
        np.empty((n, K), np.int32),
        np.empty((n, K)),
        np.empty(n, np.int64),
        np.empty((n, K, K)),
        np.empty((n, K)),
        np.empty((n, K)),
        np.empty((n, K)),
    )


def arrays_of(labels: Composed) -> tuple[Any, ...]:
    """What kernels need to know of the labels."""
    facets = labels.facets
    sizes = np.array([len(values) for values in facets.values], np.int64)
    return labels.part_ptr, labels.part_ids, facets.of_label, facets.offsets, sizes


def marginals(
    offsets: NDArray[np.int64], seen: Seen, labels: Composed, weights: Weights, margin: float = MARGIN
) -> Marginals:
    """The candidates of each token and their probabilities; sentence s is tokens ``offsets[s]`` to ``offsets[s+1]``."""
    from spinney.tagging.morphology import _lattice_kernels as kernels

    n = int(offsets[-1])
    found = Marginals(np.zeros(n, np.int64), np.zeros((n, CANDIDATES), np.int32), np.zeros((n, CANDIDATES)))
    longest = int(np.diff(offsets).max(initial=0))
    kernels.marginals(  # type: ignore[call-arg]
        offsets, tuple(seen), weights.rows, arrays_of(labels), weights.w, weights.transitions, margin,
        room(longest, labels), *found,
    )  # fmt: skip
    return found


def best_labels(found: Marginals, column: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each token the value of a column (UPOS) with the highest probability, and the best label that has it."""
    from spinney.tagging.morphology import _lattice_kernels as kernels

    chosen = np.empty(len(found.counts), np.int32)
    kernels.best_in_best_value(*found, column, np.zeros(int(column.max(initial=0)) + 1), chosen)  # type: ignore[call-arg]
    return chosen
