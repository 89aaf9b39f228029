"""Views of tree CRFs: facts, the strongest features in words, and sentences with their arcs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from spinney.corpus.lines import ReadReport
from spinney.errors import OptionError
from spinney.evaluate.attachment import attachment
from spinney.parsing.treebanks import dependency_trees
from spinney.parsing.treecrf.problem import check_tags
from spinney.views import Arcs, Extra, Facts, Note, Section, Share, Table, View

if TYPE_CHECKING:
    from spinney.parsing.treecrf.parser import TreeParser

_NAMES = {
    "method": "method", "sentences": "sentences", "tokens": "tokens", "order": "order", "relations": "relations",
    "nonprojective": "arcs lifted, for projective trees", "arcs_per_word": "candidate heads per word",
    "penalty": "penalty", "parameters": "parameters", "active": "active parameters", "objective": "objective",
    "gap": "gap", "violation": "violation", "solver": "solver", "iterations": "iterations", "chosen": "chosen",
    "dev_las": "LAS on held-out trees", "seconds": "seconds", "tokens_per_second": "tokens per second",
    "skipped": "bad trees skipped",
}  # fmt: skip
_LONGEST = 40  # words of a sentence whose arcs are drawn
_ABOUT = (
    "A tree CRF: the probability of a tree is a product over its arcs, their relations, and pairs of neighbouring "
    "modifiers of one head. h is a head, m its modifier, s the modifier before it."
)


def summary_views(parser: TreeParser) -> list[View]:
    """What ``fit`` prints."""
    facts = dict(parser.facts)
    if isinstance(facts.get("dev_las"), float):
        facts["dev_las"] = Share(facts["dev_las"])
    if tried := facts.get("tried"):
        told = ", ".join(f"{row['lam']:g}: {100 * row['las']:.2f}" for row in tried)
        facts["chosen"] = f"by LAS on held-out trees ({told})"
    return [Facts("facts", "", facts, _NAMES)]


def inspection(parser: TreeParser, s: Any) -> list[View]:
    """Facts, active features by template, and the strongest features; of some relations on request."""
    views: list[View] = [] if s.label else [*summary_views(parser), _by_template(parser)]
    of: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for kind, relation, text, weight in parser.strongest:
        of.setdefault((kind, relation), []).append((text, weight))
    if unknown := next((name for name in s.label if name not in parser.relations), None):
        raise OptionError(f"no relation {unknown!r}", given=unknown, known=parser.relations)
    frequent = [name for name in _frequent(parser) if ("label", name) in of][: s.labels]
    wanted = [("label", name) for name in s.label] or [
        ("arc", ""), ("sibling", ""), *(("label", name) for name in frequent)
    ]  # fmt: skip
    for kind, name in wanted:
        largest = sorted(of.get((kind, name), []), key=lambda one: -abs(one[1]))[: s.top]
        rows = [[text, weight] for text, weight in sorted(largest, key=lambda one: -one[1])]
        title = {"arc": "Arcs", "sibling": "Neighbouring modifiers"}.get(kind, f"Relation {name}")
        if rows or kind == "label":
            key = f"strongest_{name or kind}"
            views.append(Table(key, title, ["feature", "weight"], rows, ["feature", "weight"]))
    return views


def _frequent(parser: TreeParser) -> list[str]:
    """Relations by the number of their weights."""
    counts = Counter(parser.known.relations.label.tolist())
    return [parser.relations[number] for number, _ in counts.most_common()]


def _by_template(parser: TreeParser) -> Table:
    rows = []
    for kind in ("arc", "label", "sibling"):
        counts = Counter(parser.known.templates[kind].tolist())
        rows += [[kind, one.text, counts.get(i, 0)] for i, one in enumerate(parser.templates_of(kind))]
    rows.sort(key=lambda row: -int(row[2]))
    header = ["kind", "template", "active features"]
    return Table("templates", "Features by template", header, rows, ["kind", "template", "active"])


def page(parser: TreeParser, data: Any, s: Any) -> list[View]:
    """The page of a parser; with data, also scores and sentences with their arcs."""
    from spinney.settings.parse import Inspect

    views: list[View] = [Note(_ABOUT), *summary_views(parser)]
    if data is not None:
        gold = dependency_trees(data, s, ReadReport())
        if parser.needs_tags:
            check_tags(gold)
        found = parser.parse(gold)
        scores = attachment(gold, found)
        values = {"uas": Share(scores.uas), "las": Share(scores.las), "tokens": scores.words}
        names = {"uas": "correct heads", "las": "correct heads and relations", "tokens": "words"}
        views.append(Section("Scores", [Facts("scores", "", values, names)]))
        drawn = [
            Arcs("", "", one.forms, one.upos, tree.heads, one.heads)
            for one, tree in zip(gold, found)
            if len(one) <= _LONGEST
        ][: s.documents]
        note = "Wrong arcs are highlighted, and the correct ones are dashed."
        views.append(Section("Sentences", [Note(note), *drawn]))
    shown = inspection(parser, Inspect(top=s.top))[1:]
    return [*views, Section("What it learned", shown), Extra("templates_text", "", parser.templates)]
