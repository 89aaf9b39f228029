"""The strongest features of a tree CRF in words.

Features are known by their hashes alone; their words are found once, after training, in a part that has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.conllu import Sentence
from spinney.optim.base import Vector
from spinney.parsing.treecrf.candidates import sibling_places
from spinney.parsing.treecrf.loss import Gold, Scored
from spinney.parsing.treecrf.nodes import NodeReader
from spinney.parsing.treecrf.numbering import Features, Parts
from spinney.parsing.treecrf.preparing import Known
from spinney.parsing.treecrf.templates import Template
from spinney.parsing.treecrf.wording import features_in_words

ARCS, SIBLINGS, PER_RELATION = 60, 40, 10

#: Kind, relation (empty but for relations), feature in words, weight.
Strong = tuple[str, str, str, float]


def strongest_features(
    templates: Sequence[Template],
    reader: NodeReader,
    sentences: Sequence[Sentence],
    data: Scored,
    gold: Gold,
    known: Known,
    w: Vector,
    relations: Sequence[str],
) -> list[Strong]:
    """The features with the largest weights, for and against: of arcs, of each relation, and of siblings."""
    sizes = known.sizes
    arcs, of_relations, siblings = np.split(w, [sizes.arcs, sizes.arcs + sizes.relations])
    namer = _Namer(templates, reader, sentences, data.arcs.words, known)
    places = data.arcs.parts()
    found: list[Strong] = []
    top = _largest(arcs, ARCS)
    texts = namer.texts("arc", top, data.of_arcs, places)
    found += [("arc", "", texts[f], float(arcs[f])) for f in top if f in texts]
    feature = np.repeat(np.arange(len(known.keys["label"])), np.diff(known.relations.row))
    chosen = [
        pair
        for number in range(len(relations))
        for pair in _largest(np.where(known.relations.label == number, of_relations, 0.0), PER_RELATION)
    ]
    texts = namer.texts("label", sorted({int(feature[k]) for k in chosen}), data.of_relations, places)
    found += [
        ("label", relations[known.relations.label[k]], texts[int(feature[k])], float(of_relations[k]))
        for k in chosen
        if int(feature[k]) in texts
    ]
    if data.second_order:
        top = _largest(siblings, SIBLINGS)
        pairs = sibling_places(data.arcs, data.sib_ptr, data.sib)
        texts = namer.texts("sibling", top, data.of_siblings, pairs)
        found += [("sibling", "", texts[f], float(siblings[f])) for f in top if f in texts]
    return found


def _largest(values: Vector, n: int) -> list[int]:
    """The places of the n largest magnitudes that are not 0, the largest value first."""
    n = min(n, int(np.count_nonzero(values)))
    if not n:
        return []
    some = np.argpartition(-np.abs(values), n - 1)[:n]
    return [int(i) for i in some[np.argsort(-values[some], kind="stable")]]


class _Namer:
    """Finds the words of features."""

    def __init__(
        self,
        templates: Sequence[Template],
        reader: NodeReader,
        sentences: Sequence[Sentence],
        words: NDArray[np.int64],
        known: Known,
    ) -> None:
        self.templates, self.reader, self.sentences, self.known = templates, reader, sentences, known
        self.first_node = words[:-1] + np.arange(len(words) - 1)

    def texts(self, kind: str, features: Sequence[int], of: Features, parts: Parts) -> dict[int, str]:
        """The words of each feature that occurs in a part."""
        own = [template for template in self.templates if template.kind == kind]
        wanted = np.array(sorted(features), np.int64)
        where = np.flatnonzero(np.isin(of.ids, wanted))
        seen, first = np.unique(of.ids[where], return_index=True)
        part = np.searchsorted(of.ptr, where[first], side="right") - 1
        texts = {}
        for feature, p in zip(seen.tolist(), part.tolist()):
            sentence = self.sentences[int(np.searchsorted(self.first_node, parts.base[p], side="right")) - 1]
            head, modifier, *sibling = parts.place[p].tolist()
            template = own[int(self.known.templates[kind][feature])]
            key = int(self.known.keys[kind][feature])
            named = features_in_words(
                sentence, head, modifier, max(sibling[0], 0) if sibling else None, [template], self.reader
            )
            texts[feature] = next((text for one, text in named if one == key), template.text)
        return texts
