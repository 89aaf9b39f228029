"""A rough model that leaves few candidate heads for each word: each word chooses its head by itself.

Its features are the templates of the kind ``prune``. Arcs far less probable than the best are left out; those of the
best projective tree stay in any case, so that there is always a tree. Where heads are given, so do those of the best
tree that has them. It has learned from all arcs, and the parser from candidates only: so its scores, which are there
anyway, also have a small share in those of the parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spinney.inference.arcs import constrained, projective_best
from spinney.inference.spanning import single_root_arborescence
from spinney.optim.base import Vector
from spinney.parsing.treecrf.candidates import Candidates, every_arc
from spinney.parsing.treecrf.nodes import Hashes, Nodes
from spinney.parsing.treecrf.numbering import Program, kept, learned
from spinney.parsing.treecrf.weighing import Weighed

PASSES: Final = 3
STEP: Final = 0.3
#: Features of fewer arcs say too little.
LEAST: Final = 2


@dataclass(frozen=True)
class Pruner:
    """The rough model.

    Attributes
    ----------
    keys : array of hashes [features]
    w : array [features]
    share, most
        Arcs with a probability of at least ``share`` times that of the best are kept, at most ``most`` for a word.
    """

    program: Program
    keys: Hashes
    w: Vector
    share: float = 1e-3
    most: int = 10

    @classmethod
    def train(cls, nodes: Nodes, heads: NDArray[np.int32], program: Program, seed: int = 0) -> Pruner:
        """Learn from the heads of all words of some sentences."""
        from spinney.parsing.treecrf._loss_kernels import head_selection_pass

        arcs = every_arc(nodes.words)
        place = arcs.place(heads)
        gold = np.zeros(len(arcs.head), np.int8)
        gold[place] = 1
        features, table, counts = learned(arcs.parts(), nodes, program, gold)
        # What no right arc has can only make wrong arcs less probable, and costs ten times the room.
        features, old = kept(features, (counts[:, 1] > 0) & (counts[:, 0] >= LEAST))
        w, squares = np.zeros(len(old)), np.zeros(len(old))
        room = np.empty(int(np.diff(nodes.words).max(initial=1)) + 1)
        rng = np.random.default_rng(seed)
        for _ in range(PASSES):
            order = rng.permutation(len(nodes))
            head_selection_pass(order, nodes.words, arcs.ptr, place, *features, w, squares, STEP, room)
        return cls(program, table.keys[old], w)

    def prune(
        self, nodes: Nodes, must: NDArray[np.int32] | None = None, *, projective: bool = True
    ) -> tuple[Candidates, Vector]:
        """The candidate arcs of sentences, and their scores by the rough model.

        ``must`` are heads that stay candidates, -1 where any will do; a tree that has all of them stays possible,
        with ``projective`` a projective one, if there is any.
        """
        from spinney.parsing.treecrf._loss_kernels import choose_heads

        arcs = every_arc(nodes.words)
        score = self._weighed.scores(arcs.parts(), nodes, self.program)[:, 0]
        stays = np.zeros(len(score), np.bool_)
        stays[projective_best(*arcs, score)[2]] = True
        if must is not None:
            own = arcs.place(must)
            stays[own[own >= 0]] = True
            if np.any(must < 0):
                ptr, kept = constrained(arcs.ptr, arcs.head, score, must)
                best = projective_best if projective else single_root_arborescence
                tree = best(arcs.words, ptr, arcs.head[kept], score[kept])[2]
                stays[kept[tree[tree >= 0]]] = True
        keep = np.empty(len(score), np.bool_)
        choose_heads(*arcs, score, self.share, self.most, stays, keep, np.empty(self.most))
        return arcs.only(keep), score[keep]

    @cached_property
    def _weighed(self) -> Weighed:
        return Weighed.of(self.keys, self.w)
