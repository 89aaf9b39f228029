"""The scores of what trees are made of, by the weights of a fitted parser."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney.optim.base import Vector
from spinney.parsing.treecrf.candidates import sibling_places
from spinney.parsing.treecrf.loss import Choices, Potentials, summed
from spinney.parsing.treecrf.nodes import Nodes
from spinney.parsing.treecrf.numbering import Parts
from spinney.parsing.treecrf.preparing import Known, Programs
from spinney.parsing.treecrf.weighing import Weighed


class TreeScorer:
    """The weights of a parser, found by the features of arcs and pairs of siblings."""

    def __init__(self, known: Known, w: Vector, programs: Programs) -> None:
        sizes, relations = known.sizes, known.relations
        arcs, given, siblings = np.split(w, [sizes.arcs, sizes.arcs + sizes.relations])
        self.programs = programs
        self._weighed = {
            "arc": Weighed.of(known.keys["arc"], arcs),
            "label": Weighed.of(known.keys["label"], given, *relations),
            "sibling": Weighed.of(known.keys["sibling"], siblings),
        }

    def potentials(self, choices: Choices, nodes: Nodes) -> Potentials:
        """The scores of what trees are made of, relations summed over."""
        parts = choices.arcs.parts()
        arcs = self._scores("arc", parts, nodes)[:, 0]
        given = self._scores("label", parts, nodes)
        siblings = np.empty(0)
        if choices.second_order:
            pairs = sibling_places(choices.arcs, choices.sib_ptr, choices.sib)
            siblings = self._scores("sibling", pairs, nodes)[:, 0]
        return summed(Potentials(arcs, given, siblings))

    def _scores(self, kind: str, parts: Parts, nodes: Nodes) -> NDArray[np.float64]:
        return self._weighed[kind].scores(parts, nodes, self.programs.of[kind])
