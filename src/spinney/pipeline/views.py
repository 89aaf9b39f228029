"""Views of pipelines: what each part learned, in words."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from spinney.corpus.lines import ReadReport
from spinney.errors import OptionError, listed
from spinney.evaluate.conll18 import conll18
from spinney.pipeline.scoring import left_out, measured, metrics_table, system_output, treebank, why_not
from spinney.settings.parse import Inspect as InspectParser
from spinney.settings.pipeline import Evaluate
from spinney.settings.tag import Inspect as InspectTagger
from spinney.views import Arcs, Extra, Facts, Note, Section, Share, Table, View, as_json

if TYPE_CHECKING:
    from spinney.pipeline.model import Pipeline

_NAMES = {
    "sentences": "sentences", "tokens": "tokens", "raw_tokens": "tokens of raw text", "raw_text": "raw text",
    "skipped": "bad sentences skipped", "sentences_with_trees": "sentences with trees",
    "active": "active parameters", "interrupted": "interrupted", "seconds": "seconds",
}  # fmt: skip
_TITLES = {"tokens": "Tokeniser", "tags": "Tagger", "lemmas": "Lemmatiser", "trees": "Parser"}
_LONGEST = 40  # words of a sentence whose arcs are drawn
_CALLED = {"tokens": "a tokeniser", "tags": "a tagger", "lemmas": "a lemmatiser", "trees": "a parser"}
_HIDDEN = ("test", "learned_from", "learned_with")


def summary_views(pipeline: Pipeline) -> list[View]:
    """What ``fit`` prints: facts, the parts, and scores on the test treebank if one was given."""
    facts = {name: value for name, value in pipeline.facts.items() if name not in _HIDDEN}
    dev = facts.get("raw_text_on_dev")
    if isinstance(dev, dict):
        helps = dev["with"] >= dev["without"]
        facts["raw_text"] = "helps on dev" if helps else "left out: dev is tagged better without it"
    names = {name: told for name, told in _NAMES.items() if facts.get(name) not in (None, False, 0)}
    if facts.get("sentences_with_trees") == facts.get("sentences"):
        names.pop("sentences_with_trees", None)
    views: list[View] = [Facts("facts", "", facts, names), _parts(pipeline)]
    test = pipeline.facts.get("test")
    if isinstance(test, dict):
        metrics = list(test.get("tokens", {}))
        rows = [[metric, *(Share(scores[metric]) for scores in test.values())] for metric in metrics]
        header = ["metric", *(f"from {start}" for start in test)]
        views.append(Table("test", "F1 on the test treebank", header, rows, ["metric", *test]))
    return views


def _about(pipeline: Pipeline) -> str:
    """What the pipeline is, in a sentence."""
    there = [called for name, called in _CALLED.items() if getattr(pipeline, name) is not None]
    goal = "dependency trees" if pipeline.trees is not None else "tags"
    return f"A pipeline from raw text to {goal}: {listed(there, 'and')}."


def _parts(pipeline: Pipeline) -> Table:
    seconds = pipeline.facts.get("seconds_by_part", {})
    rows = []
    for name, title in _TITLES.items():
        part = getattr(pipeline, name)
        active = None if part is None else part.facts.get("active")
        told = f"not learned: {why_not(pipeline, name)}" if part is None else _told(name, part.facts)
        rows.append([title, told, active, seconds.get(name)])
    header = ["part", "what it learned", "active parameters", "seconds"]
    return Table("parts", "Parts", header, rows, ["part", "learned", "active", "seconds"])


def _told(name: str, facts: dict[str, Any]) -> str:
    """One line on a part."""
    told = {
        "tokens": [("multiword_tokens", "multi-word tokens")],
        "tags": [("labels", "different tags")],
        "lemmas": [("scripts", "edit scripts"), ("words", "words")],
        "trees": [("relations", "relations"), ("penalty", "")],
    }[name]
    return ", ".join(f"{facts[key]} {what}".strip() for key, what in told if key in facts)


def inspection(pipeline: Pipeline, s: Any) -> list[View]:
    """What each part learned; some parts in detail on request. JSON has it part by part, as ``learned``."""
    views: list[View] = [] if s.part else summary_views(pipeline)
    learned = {}
    for name in s.part:
        if getattr(pipeline, name) is None:
            raise OptionError(f"this pipeline has no {_CALLED[name][2:]}: {why_not(pipeline, name)}")
    for name, title in _TITLES.items():
        if getattr(pipeline, name) is None or (s.part and name not in s.part):
            continue
        shown = _learned(pipeline, name, s)
        learned[name] = as_json(shown)
        views.append(Section(title, [_for_people(view) for view in shown]))
    return [*views, Extra("learned", "", learned)]


def _learned(pipeline: Pipeline, name: str, s: Any) -> list[View]:
    """What a part learned: the first of its views or, if it is asked for, all of them."""
    part, few = getattr(pipeline, name), None if s.part else 3
    if name == "tags":
        shown = list(part.views(InspectTagger(top=s.top)))
    elif name == "trees":
        shown = list(part.views(InspectParser(top=s.top, labels=few or 15)))
    else:
        shown = list(part.views())
    return shown[: few and few + 1]


def _for_people(view: View) -> View:
    """The view without its name in JSON: that of another part or sentence may be the same."""
    if isinstance(view, Section):
        return replace(view, views=[_for_people(one) for one in view.views])
    return replace(view, key="") if view.key else view


def explanation(pipeline: Pipeline, data: Any, s: Any) -> list[View]:
    """Why the words of the first sentences have their heads, or their tags. JSON has a list, as ``explained``."""
    from spinney.parsing.treecrf.explaining import explained as heads_explained
    from spinney.pipeline.applying import sentences_of
    from spinney.tagging.morphology.explaining import explained as tags_explained

    part = s.part or ("tags" if pipeline.trees is None else "trees")
    if getattr(pipeline, part) is None:
        raise OptionError(f"this pipeline has no {_CALLED[part][2:]}: {why_not(pipeline, part)}")
    some = list(islice(sentences_of(pipeline, data, s, ReadReport()), s.documents))
    if part == "tags":
        return tags_explained(pipeline.tags, [one.forms for one in some], s.top)  # type: ignore[arg-type]
    views: list[View] = []
    found = []
    for sentence in pipeline.annotate(some, until="lemmas"):
        shown = heads_explained(pipeline.trees, [sentence], s)  # type: ignore[arg-type]
        found += [one["words"] for one in as_json(shown)["explained"]]
        views += map(_for_people, shown)
    return [*(views or [Note("No sentences.")]), Extra("explained", "", found)]


def page(pipeline: Pipeline, data: Any, s: Any) -> list[View]:
    """The page of a pipeline; with a treebank, scores and sentences with their arcs."""
    from spinney.settings.pipeline import Inspect

    views: list[View] = [Note(_about(pipeline)), *summary_views(pipeline)]
    if data is not None:
        gold = treebank(data, s, ReadReport())
        found = system_output(pipeline, gold, Evaluate())
        drawn = [
            Arcs("", "", one.forms, tree.upos, tree.heads, one.heads or None)
            for one, tree in zip(gold, found)
            if len(one) <= _LONGEST and tree.heads
        ][: s.documents]
        scores = measured(conll18(gold, found), gold, pipeline)
        views.append(Section("Scores", [metrics_table(scores), *left_out(scores, pipeline)]))
        if drawn:
            note = "Wrong arcs are highlighted, and the correct ones are dashed."
            views.append(Section("Sentences", [Note(note), *drawn]))
        else:
            views.append(Section("Sentences", [one.view() for one in found[: s.documents]]))
    learned = [view for view in inspection(pipeline, Inspect(top=s.top)) if isinstance(view, Section)]
    return [*views, *learned, Extra("kind", "", pipeline.kind)]
