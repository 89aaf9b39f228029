"""From sentences to what a tree CRF is trained on: candidate arcs, their features, and the weights there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.conllu import Sentence
from spinney.parsing.treecrf.candidates import Candidates, pairs_in_trees, projective, sibling_places
from spinney.parsing.treecrf.loss import Choices, Gold, Relations, Scored, Sizes
from spinney.parsing.treecrf.nodes import Hashes, Nodes
from spinney.parsing.treecrf.numbering import Features, Program, columns_of, kept, learned
from spinney.parsing.treecrf.templates import KINDS, Template

#: Features of fewer candidates, or of no gold arc, have no weight.
LEAST_ARCS: Final = 2
_NONE = Features(np.zeros(1, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True)
class Programs:
    """The templates of each kind, as programs."""

    columns: list[str]
    of: dict[str, Program]

    @classmethod
    def compiled(cls, templates: Sequence[Template]) -> Programs:
        """The programs of templates."""
        columns = columns_of(templates)
        by_kind = {kind: [t for t in templates if t.kind == kind] for kind in KINDS}
        return cls(columns, {kind: Program.of(some, columns) for kind, some in by_kind.items() if some})

    @property
    def second_order(self) -> bool:
        """Whether there are templates of siblings."""
        return "sibling" in self.of


@dataclass(frozen=True)
class Known:
    """The features that have weights, by hash, and the relations of those of arcs.

    Attributes
    ----------
    keys : mapping
        For ``arc``, ``label`` and ``sibling``, the hashes in the order of their weights.
    templates : mapping
        Likewise, the number of the template of each among those of its kind.
    """

    keys: dict[str, Hashes]
    relations: Relations
    templates: dict[str, NDArray[np.int32]]

    @property
    def sizes(self) -> Sizes:
        """How many weights there are of each sort."""
        return Sizes(len(self.keys["arc"]), len(self.relations.label), len(self.keys["sibling"]))


def gold_heads(sentences: Sequence[Sentence], *, lifted: bool) -> NDArray[np.int32]:
    """The heads of all words; with ``lifted``, trees are made projective."""
    return np.array(
        [head for s in sentences for head in (projective(s.heads) if lifted else s.heads)], np.int32
    )


def prepared(
    arcs: Candidates,
    nodes: Nodes,
    programs: Programs,
    heads: NDArray[np.int32],
    relation: NDArray[np.int32],
    n_relations: int,
) -> tuple[Scored, Gold, Known]:
    """Features of candidate arcs, among which are those of the treebank, and the weights that these need.

    ``relation`` is the number of the relation of each word.
    """
    place = arcs.place(heads)
    is_gold = np.zeros(len(arcs.head), np.int8)
    is_gold[place] = 1
    parts = arcs.parts()
    of_arcs, table, counts = learned(parts, nodes, programs.of["arc"], is_gold)
    of_arcs, old = kept(of_arcs, (counts[:, 1] > 0) & (counts[:, 0] >= LEAST_ARCS))
    keys = {"arc": table.keys[old], "label": np.empty(0, np.uint64), "sibling": np.empty(0, np.uint64)}
    of = {"arc": counts[old, 2], "label": np.empty(0, np.int32), "sibling": np.empty(0, np.int32)}
    gold_relation = np.full(len(arcs.head), -1, np.int32)
    gold_relation[place] = relation
    of_relations, table, counts = learned(parts, nodes, programs.of["label"], is_gold)
    of_relations, old = kept(of_relations, counts[:, 1] > 0)
    keys["label"], of["label"] = table.keys[old], counts[old, 2]
    relations = _support(of_relations, gold_relation, len(keys["label"]), n_relations)
    choices = Choices.of(arcs, programs.second_order)
    sib_ptr, sib = choices.sib_ptr, choices.sib
    if not programs.second_order:
        data = Scored(arcs, sib_ptr, sib, of_arcs, of_relations, _NONE)
        return data, Gold(place, gold_relation, np.empty(0, np.int64)), Known(keys, relations, of)
    pairs = pairs_in_trees(arcs, place, sib_ptr, sib)
    is_gold = np.zeros(len(sib), np.int8)
    is_gold[pairs] = 1
    of_siblings, table, counts = learned(
        sibling_places(arcs, sib_ptr, sib), nodes, programs.of["sibling"], is_gold
    )
    of_siblings, old = kept(of_siblings, counts[:, 1] > 0)
    keys["sibling"], of["sibling"] = table.keys[old], counts[old, 2]
    data = Scored(arcs, sib_ptr, sib, of_arcs, of_relations, of_siblings)
    return data, Gold(place, gold_relation, pairs), Known(keys, relations, of)


def _support(features: Features, relation: NDArray[np.int32], n_features: int, n_relations: int) -> Relations:
    """The pairs of a feature and a relation that occur in the treebank."""
    arc = np.flatnonzero(relation >= 0)
    width = np.diff(features.ptr)[arc]
    ends = np.cumsum(width)
    at = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(features.ptr[arc] - ends + width, width)
    pairs = np.unique(features.ids[at].astype(np.int64) * n_relations + np.repeat(relation[arc], width))
    feature, label = np.divmod(pairs, n_relations)
    return Relations(np.searchsorted(feature, np.arange(n_features + 1)), label.astype(np.int32), n_relations)
