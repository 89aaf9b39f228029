"""Weights of features, laid out so that the features of a part find theirs by hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.optim.base import Vector
from spinney.parsing.treecrf.nodes import Hashes, Nodes
from spinney.parsing.treecrf.numbering import BEYOND, Parts, Program, Table

_PER_SLOT = 8  # bits of the sieve for each slot of the table


@dataclass(frozen=True)
class Weighed:
    """Features with their weights for one outcome or several.

    Attributes
    ----------
    slots : array of hashes
        An open table; 0 is an empty slot.
    sieve : array
        Bits that are set where a feature has a weight, as the kernels look for them.
    row : array [slots, 2]
        The weights of the feature in each slot, from where to where.
    label, w : arrays
        The outcome of each weight, and the weight.
    outcomes : int
    """

    slots: Hashes
    sieve: Hashes
    row: NDArray[np.int32]
    label: NDArray[np.int32]
    w: Vector
    outcomes: int

    @classmethod
    def of(
        cls,
        keys: Hashes,
        w: Vector,
        row: NDArray[np.int64] | None = None,
        label: NDArray[np.int32] | None = None,
        outcomes: int = 1,
    ) -> Weighed:
        """The weights of the features with these hashes.

        Feature f has the weights ``w[row[f]:row[f + 1]]`` for the outcomes ``label``; without these, each feature has
        one weight.
        """
        from spinney.parsing.treecrf._weight_kernels import fill_sieve

        table = Table.of(keys)
        assert table is not None
        row = np.arange(len(keys) + 1) if row is None else row
        label = np.zeros(len(w), np.int32) if label is None else label
        at = np.zeros((len(table.slots), 2), np.int32)
        used = np.flatnonzero(table.slots)
        at[used] = np.column_stack([row[:-1], row[1:]])[table.number[used]]
        sieve = np.zeros(_PER_SLOT * len(table.slots) // 64 or 1, np.uint64)
        fill_sieve(np.ascontiguousarray(keys), sieve)
        return cls(table.slots, sieve, at, label, np.ascontiguousarray(w), outcomes)

    def scores(self, parts: Parts, nodes: Nodes, program: Program) -> NDArray[np.float64]:
        """The sums of the weights of the features of parts, for each outcome [parts, outcomes].

        Weights are added in the order of the templates.
        """
        from spinney.parsing.treecrf._weight_kernels import add_scores

        out = np.zeros((len(parts.base), self.outcomes))
        add_scores(
            *parts, nodes.columns, nodes.feat_ptr, nodes.feat_attribute, nodes.feat_value, *program, BEYOND,
            self.slots, self.sieve, self.row, self.label, self.w, out,
        )  # fmt: skip
        return out
