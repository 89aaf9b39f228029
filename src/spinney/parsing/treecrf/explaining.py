"""Why words have their heads: the features that speak for an arc rather than for the next best one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport
from spinney.errors import InputError
from spinney.optim.base import Vector
from spinney.parsing.treecrf.applying import conllu_sentences, given_heads
from spinney.parsing.treecrf.nodes import Hashes, NodeReader
from spinney.parsing.treecrf.wording import features_in_words
from spinney.views import Arcs, Extra, Table, View

if TYPE_CHECKING:
    from spinney.parsing.treecrf.parser import TreeParser


_KEYS = [
    "word", "head", "relation", "head_probability", "relation_probability", "other_head", "other_probability",
    "features",
]  # fmt: skip
_HEADER = [
    "word",
    "head",
    "relation",
    "p(head)",
    "p(relation)",
    "next best head",
    "p",
    "what speaks for the head",
]


def explained(parser: TreeParser, data: Any, s: Any) -> list[View]:
    """For each sentence its arcs with their probabilities, the next best heads, and the features that decide."""
    views: list[View] = []
    found = []
    reader, longest = ArcReader(parser), getattr(s, "max_length", None)
    for number, sentence in enumerate(islice(conllu_sentences(data, s, ReadReport()), s.documents), 1):
        if longest is not None and len(sentence) > longest:
            raise InputError(
                f"sentence {number}: {len(sentence)} words in a sentence",
                remedy="split it, or raise max_length",
            )
        given = given_heads(sentence, number)
        tree, arcs, relations = next(iter(parser.probable([sentence], given=[given], first=number)))
        heads = parser.head_probabilities(sentence, given=given)
        rows = []
        for word, (arc, relation, others) in enumerate(zip(arcs, relations, heads), start=1):
            told = reader.features(tree, tree.heads[word - 1], word)[: s.top]
            rows.append(_row(tree, word, (arc, relation), others, told))
        views.append(Arcs("", f"Sentence {number}", tree.forms, tree.upos, tree.heads))
        shown = [["" if cell is None else cell for cell in row] for row in rows]
        views.append(Table("", f"Sentence {number}: arcs", _HEADER, shown))
        found.append({"number": number, "words": [dict(zip(_KEYS, row)) for row in rows]})
    if not views:
        raise InputError("no sentences to explain")
    return [*views, Extra("explained", "", found)]


def _row(
    tree: Sentence,
    word: int,
    chances: tuple[float, float],
    heads: dict[int, float],
    told: list[tuple[str, float]],
) -> list[Any]:
    head = tree.heads[word - 1]
    features = " · ".join(f"{text} {weight:+.2f}" for text, weight in told)
    others = {other: chance for other, chance in heads.items() if other != head}
    next_best = max(others, key=lambda other: others[other], default=None)
    other = [None, None] if next_best is None else [_name(tree, next_best), others[next_best]]
    return [tree.forms[word - 1], _name(tree, head), tree.deprels[word - 1], *chances, *other, features]


def _name(tree: Sentence, word: int) -> str:
    return tree.forms[word - 1] if word else "(root)"


class ArcReader:
    """Finds the known features of arcs in words."""

    def __init__(self, parser: TreeParser) -> None:
        self.reader = NodeReader([], parser.classes)
        arcs, rough = parser.known.keys["arc"], parser.pruner
        #: The templates of each model that has a share in scores, and the weights by hash that its features bring.
        self.models = [
            (parser.templates_of("arc"), _by_key(arcs, (1 - parser.rough) * parser.w[: len(arcs)]))
        ]
        if parser.rough:
            self.models.append((parser.templates_of("prune"), _by_key(rough.keys, parser.rough * rough.w)))

    def features(self, sentence: Sentence, head: int, modifier: int) -> list[tuple[str, float]]:
        """The features of an arc with their weights, which add up to its score before relations, strongest first."""
        found: dict[str, float] = {}
        for templates, weight in self.models:
            for key, text in features_in_words(sentence, head, modifier, None, templates, self.reader):
                if key in weight:
                    found[text] = found.get(text, 0.0) + weight[key]
        return sorted(found.items(), key=lambda one: -abs(one[1]))


def _by_key(keys: Hashes, w: Vector) -> dict[int, float]:
    return dict(zip(keys.tolist(), w.tolist()))
