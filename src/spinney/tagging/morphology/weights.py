"""The weights of a morphological tagger: of observations for parts of labels, and of transitions between labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.tagging.morphology.labels import Composed
from spinney.tagging.morphology.observations import Seen

Floats = NDArray[np.float64]
#: The precision of weights once training has ended, and in files: it is that of three digits.
STORED = np.float16


@dataclass(frozen=True, eq=False)
class Weights:
    """Sparse weights of observations, and dense tables of transitions.

    Attributes
    ----------
    ptr, parts, w
        Observation o has the weights ``w[ptr[o]:ptr[o + 1]]`` for the parts ``parts[ptr[o]:ptr[o + 1]]``.
    transitions
        The tables of all facets, one after the other (:class:`~spinney.tagging.morphology.labels.Facets`).
    """

    ptr: NDArray[np.int64]
    parts: NDArray[np.int32]
    w: Floats
    transitions: Floats

    @classmethod
    def zeros(
        cls, seen: Seen, gold: NDArray[np.int32], labels: Composed, is_coarse: NDArray[np.bool_]
    ) -> Weights:
        """A weight for each observation and part that occur together, and all transitions.

        An observation that ``is_coarse`` has no weights for parts that are made of others.
        """
        ptr, parts = _pairs(seen, gold, labels, is_coarse)
        return cls(ptr, parts, np.zeros(len(parts)), np.zeros(int(labels.facets.offsets[-1])))

    @property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """For which parts each observation has weights, as kernels take it."""
        return self.ptr, self.parts

    @property
    def n_active(self) -> int:
        """How many weights are not zero."""
        return int(np.count_nonzero(self.w)) + int(np.count_nonzero(self.transitions))

    def compact(self) -> tuple[Weights, NDArray[np.bool_]]:
        """Only the weights that are not zero, in half precision, and which observations have any."""
        owner = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        live = self.w != 0
        n = np.bincount(owner[live], minlength=len(self.ptr) - 1)
        used = n > 0
        ptr = np.concatenate([[0], np.cumsum(n[used])]).astype(np.int64)
        limit = float(np.finfo(STORED).max)
        rounded = [
            np.clip(x, -limit, limit).astype(STORED).astype(np.float64)
            for x in (self.w[live], self.transitions)
        ]
        return Weights(ptr, self.parts[live], *rounded), used


def _pairs(
    seen: Seen, gold: NDArray[np.int32], labels: Composed, is_coarse: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The parts that each observation occurs with."""
    Y, P = len(labels), len(labels.parts)
    token = np.repeat(np.arange(len(gold)), np.diff(seen.ptr))
    both = np.unique(seen.ids.astype(np.int64) * Y + gold[token])
    observation, label = both // Y, both % Y
    n = np.diff(labels.part_ptr)[label]
    start = np.repeat(labels.part_ptr[label] - (np.cumsum(n) - n), n)
    key = np.unique(np.repeat(observation, n) * P + labels.part_ids[start + np.arange(len(start))])
    observation, part = key // P, key % P
    if is_coarse.any():
        kept = ~(is_coarse[observation] & labels.is_joint[part])
        observation, part = observation[kept], part[kept]
    ptr = np.searchsorted(observation, np.arange(len(is_coarse) + 1)).astype(np.int64)
    return ptr, part.astype(np.int32)
