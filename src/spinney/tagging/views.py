"""Views of a tagger: its facts, the strongest observations and transitions, and the active weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinney.model import FACTS
from spinney.tagging.methods import METHODS
from spinney.views import Extra, Facts, Note, Table, View

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger

#: The facts of a tagger that are shown, with their names.
NAMES = {
    **{key: name for key, name in FACTS.items() if key not in ("model", "train", "words", "documents")},
    "imported": "learned by",
    "labels": "labels",
    "observations": "observations",
    "selected": "chosen before the fit",
    "penalty": "penalty",
    "solver": "solver",
    "dev_token_error": "token error on dev",
    "chosen": "strength chosen",
    "pruned": "dropped",
    "em": "EM",
    "criterion": "use of unlabelled sentences",
    "criterion_strength": "strength of that criterion",
    "effective_sample": "effective sample",
}


def facts_view(tagger: Tagger) -> Facts:
    """The facts of a fit; values that are not numbers (a counted model has no violation) are left out."""
    known = {name: None if value != value else value for name, value in tagger.facts.items()}
    order = (
        "method", "imported", "sentences", "tokens", "labels", "observations", "selected", "parameters", "active",
        "penalty", "chosen", "solver", "iterations", "objective", "gap", "violation", "converged", "pruned",
        "dev_token_error", "em", "criterion", "criterion_strength", "effective_sample", "skipped", "interrupted",
        "seconds", "tokens_per_second",
    )  # fmt: skip
    return Facts("facts", "", known, {key: NAMES[key] for key in order})


def summary_views(tagger: Tagger) -> list[View]:
    """What ``fit`` prints."""
    return [facts_view(tagger), *_criteria(tagger)]


def _criteria(tagger: Tagger) -> list[View]:
    """The uses of unlabelled sentences that were compared."""
    tried = tagger.facts.get("criteria_tried") or []
    if len(tried) < 2:
        return []
    header = ["criterion", "strength", "effective sample", "token error, held out"]
    keys = ("criterion", "strength", "effective_sample", "error")
    rows = [["–" if one.get(key) is None else one[key] for key in keys] for one in tried]
    return [Table("", "Uses of unlabelled sentences", header, rows)]


def inspection(tagger: Tagger, s: Any) -> list[View]:
    """What ``inspect`` shows."""
    strongest, patterns = tagger.strongest(s.top, s.by), tagger.active_by_pattern()
    likely, unlikely = tagger.transitions(s.top)
    bigrams, orphans = tagger.orphans()
    counts = [[text, *pair] for text, pair in patterns.items()]
    header = ["observation", "before", "label", "weight"]
    views: list[View] = [
        facts_view(tagger),
        Extra("strongest", "", strongest),
        _observed("Strongest observations", s.by, strongest),
        *_against(tagger, s),
        Table("", "Transitions", header, [[*row] for row in (*likely, *reversed(unlikely))]),
        Extra("likely_transitions", "", likely),
        Extra("unlikely_transitions", "", unlikely),
        Table("", "Active weights by pattern", ["pattern", "unigram", "bigram"], counts),
        Extra("active_by_pattern", "", patterns),
        Extra("bigrams_with_symbol", "", bigrams),
        Extra("orphan_bigrams", "", orphans),
    ]
    if bigrams:
        said = f"{bigrams} active bigram weights have a unigram weight with the same symbol"
        views.append(Note(f"{said}; for {orphans} of them, the unigram weight is 0."))
    return views


def _observed(title: str, by: str, found: Mapping[str, Sequence[tuple[str, float]]]) -> Table:
    rows = [
        [of, "  ".join(f"{name} {weight:+.2f}" for name, weight in strong) or "(none)"]
        for of, strong in found.items()
    ]
    return Table("", title, [by, "observations (weight)"], rows)


def _against(tagger: Tagger, s: Any) -> list[View]:
    """What speaks against each label; the strongest observations of a pattern have either sign already."""
    if s.by != "label":
        return []
    against = tagger.strongest(s.top, against=True)
    return [Extra("strongest_against", "", against), _observed("Strongest against", s.by, against)]


def called(tagger: Tagger) -> str:
    """The name of the kind of model."""
    return METHODS[tagger.method].about
