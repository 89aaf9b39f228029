"""Views of a morphological tagger: its facts, and what speaks for each part of its labels, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.model import FACTS
from spinney.tagging.morphology.observations import EDGE
from spinney.views import Extra, Facts, Table, View

if TYPE_CHECKING:
    from spinney.tagging.morphology.tagger import MorphTagger

_SHOWN = (
    "method", "sentences", "tokens", "labels", "parts", "observations", "parameters", "active", "penalty", "chosen",
    "solver", "iterations", "objective", "violation", "skipped", "interrupted", "seconds", "tokens_per_second",
)  # fmt: skip
_NAMES = {key: FACTS.get(key, key.replace("_", " ")) for key in _SHOWN} | {"chosen": "strength chosen"}
_WHERE = {"-1": "before: ", "+1": "after: ", "-2": "two before: ", "+2": "two after: ", "": ""}
_NAME = re.compile(r"([+-]\d)?(w|c|[ps]\d+|[hHn])=(.*)", re.DOTALL)


def facts_view(tagger: MorphTagger) -> Facts:
    """The facts of a fit."""
    return Facts("facts", "", tagger.facts, _NAMES)


def in_words(name: str) -> str:
    """An observation as people read it.

    Examples
    --------
    >>> in_words("s3=ban"), in_words("-1w=az"), in_words("p2=ab"), in_words("+1w=\\x02"), in_words("h=Aa"), in_words("")
    ('…ban', 'before: az', 'ab…', 'after: (edge of the sentence)', 'shape Aa', '(any word)')
    """
    if not name:
        return "(any word)"
    match = _NAME.fullmatch(name)
    if match is None:
        return name
    where, kind, text = match[1] or "", match[2], match[3]
    if kind[0] == "p":
        said = f"{text}…"
    elif kind[0] == "s":
        said = f"…{text}"
    elif kind in "hH":
        said = f"shape {text}" + " (first word)" * (kind == "H")
    elif kind == "n":
        said = f"{text} letters"
    else:
        said = "(edge of the sentence)" if text == EDGE else text
    return _WHERE[where] + said


def strongest(tagger: MorphTagger, top: int) -> dict[str, list[tuple[str, float]]]:
    """The observations with the largest weights for each part of labels that is not a whole label."""
    weights, names = tagger.weights, list(tagger.observer.number)
    owner = np.repeat(np.arange(len(names)), np.diff(weights.ptr))
    found = {}
    by_part = np.argsort(weights.parts, kind="stable")
    bounds = np.searchsorted(weights.parts[by_part], np.arange(len(tagger.labels.parts) + 1))
    for part, name in enumerate(tagger.labels.parts):
        if name.count(" "):
            continue
        here = by_part[bounds[part] : bounds[part + 1]]
        here = here[weights.w[here] > 0]
        best = here[np.argsort(-weights.w[here], kind="stable")[:top]]
        found[name] = [(in_words(names[owner[j]]), float(weights.w[j])) for j in best]
    return found


def transitions(tagger: MorphTagger, top: int) -> list[tuple[str, str, str, float]]:
    """The strongest transitions of each facet but the whole label: facet, before, after, weight."""
    facets, table = tagger.labels.facets, tagger.weights.transitions
    found = []
    for j, name in enumerate(facets.names):
        values = [*facets.values[j], "(edge)"]
        if name == "label":
            continue
        of_facet = table[facets.offsets[j] : facets.offsets[j + 1]]
        for place in np.argsort(-np.abs(of_facet), kind="stable")[:top].tolist():
            if of_facet[place]:
                before, after = divmod(place, len(values))
                found.append((name, values[before], values[after], float(of_facet[place])))
    return found


def inspection(tagger: MorphTagger, s: Any) -> list[View]:
    """What ``inspect`` shows."""
    of_parts, pairs = strongest(tagger, s.top), transitions(tagger, s.top)
    rows = [
        [part, "  ".join(f"{name} {weight:+.2f}" for name, weight in seen) or "(none)"]
        for part, seen in of_parts.items()
    ]
    return [
        facts_view(tagger),
        Extra("strongest", "", of_parts),
        Table("", "Strongest observations", ["part of labels", "observations (weight)"], rows),
        Table("transitions", "Strongest transitions", ["facet", "before", "after", "weight"], pairs),
    ]
