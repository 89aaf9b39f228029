"""Views of parsers: labels, rules and latent states, or the dependents of each tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spinney.errors import SettingError
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.automata_reading import SideReading, describe_head, describe_heads
from spinney.parsing.choosing import said
from spinney.parsing.parser import Parser
from spinney.parsing.reading import LabelReading, LabelRow, Reader
from spinney.parsing.reading import Share as NamedShare
from spinney.settings.parse import Inspect
from spinney.views import Extra, Facts, Note, Share, Table, View

_NAMES = {
    "method": "method", "sentences": "sentences", "tokens": "tokens", "words": "different words", "tags": "tags",
    "labels": "labels of the grammar", "binary_rules": "binary rules", "unary_rules": "unary rules",
    "states": "states", "grammars": "grammars", "parameters": "parameters",
    "iterations": "iterations of EM kept",
    "nonprojective": "trees that are not projective", "rerank": "trees to choose from", "seconds": "seconds",
    "tokens_per_second": "tokens per second", "chosen": "chosen on held-out trees",
    "dev_f1": "F1 on held-out trees", "dev_uas": "UAS on held-out trees",
    "skipped": "bad trees skipped", "empty": "trees without words skipped",
}  # fmt: skip


def fit_facts(facts: Mapping[str, Any]) -> Facts:
    """The facts of a fit; rare events are left out if they did not occur."""
    shares = {
        name: Share(facts[name]) for name in ("dev_f1", "dev_uas") if isinstance(facts.get(name), float)
    }
    chosen = facts.get("chosen")
    words = {"chosen": said(chosen)} if isinstance(chosen, dict) else {}
    least = {"grammars": 2, "nonprojective": 1, "empty": 1}
    dull = [name for name, n in least.items() if not isinstance(facts.get(name), int) or facts[name] < n]
    names = {name: said for name, said in _NAMES.items() if name not in dull}
    return Facts("facts", "", {**facts, **shares, **words}, names)


def _extras(facts: Mapping[str, Any]) -> list[View]:
    """Facts that only JSON shows."""
    return [Extra(name, "", value) for name, value in facts.items()]


# ------------------------------------------------------------------------------------------ grammars


def parser_views(parser: Parser, s: Inspect) -> list[View]:
    """The facts and the labels of a grammar, and some labels in words."""
    if s.grammar > len(parser.grammars_):
        raise SettingError("{grammar} must be at most {most} for this model", most=len(parser.grammars_))
    reader = Reader(parser, s.grammar - 1)
    table = reader.table()
    # A partial phrase, which only binary trees have, is shown only on request.
    chosen = s.label or [row.label for row in table if row.rules and not row.part][:1]
    readings = [reader.label(name, s.top) for name in chosen]
    facts = {name: value for name, value in parser.facts.items() if name != "learning"}
    views: list[View] = [] if s.label else [fit_facts(facts), _labels(table, s.labels)]
    for reading in readings:
        views += _reading(reading, s.states)
    return [
        *views,
        *(_extras(facts) if s.label else []),
        Extra("label_table", "", [row._asdict() for row in table]),
        Extra("described", "", readings),
    ]


def _labels(table: Sequence[LabelRow], n: int) -> Table:
    whole = [row for row in table if not row.part]
    rows = [[row.label, Share(row.share), row.states, row.rules, row.words] for row in whole[:n]]
    title = (
        f"The {len(rows)} most frequent of {len(whole)} labels, with their share of the nodes of binary trees"
    )
    return Table("", title, ["label", "share", "states", "rules", "words"], rows)


def _reading(reading: LabelReading, n_states: int) -> list[View]:
    kinds = {"words": reading.words, "rules": reading.rules, "below": reading.parents}
    rows = [[name, _listed(shares)] for name, shares in kinds.items() if shares]
    states = f"{reading.n_states} state{'s' * (reading.n_states > 1)}"
    title = f"{reading.label}: {reading.share:.2%} of the nodes, {states}"
    whole = Table("", title, ["", "probability"], rows)
    if reading.signed:
        note = Note("The states of a spectral grammar are coordinates without a meaning of their own.")
        some = [[d.number, ", ".join(d.high), ", ".join(d.low)] for d in reading.directions[:n_states]]
        ends = ["direction", "one end", "the other"]
        return [whole, note, Table("", "Words at the ends of the directions", ends, some)]
    if reading.n_states < 2:
        return [whole]
    cells = []
    for state in reading.states[:n_states]:
        shares = state.typical_words or state.typical_rules or state.words or state.rules
        cells.append([state.number, Share(state.share), _listed(shares), _listed(state.typical_parents[:3])])
    fewer = n_states < reading.n_states
    of = f"the {n_states} most frequent of {reading.n_states} states" if fewer else "its states"
    title = f"{reading.label}: {of}, with what is typical of them"
    header = ["state", "share", "words" if reading.words else "rules", "below"]
    return [whole, Table("", title, header, cells)]


def _listed(shares: Iterable[NamedShare]) -> str:
    return "  ".join(f"{share.name} {share.probability:.2f}" for share in shares)


# ------------------------------------------------------------------------------------- head automata


def automata_views(model: HeadAutomata, s: Inspect) -> list[View]:
    """The dependents of each tag, or of some tags."""
    found = [side for head in s.label for side in describe_head(model, head, s.top)]
    facts = {name: value for name, value in model.facts.items() if name != "trace"}
    if found:
        return [_sides(found), *_extras(facts), Extra("heads", "", found)]
    found = describe_heads(model, s.top)
    shown = [*found[: 2 * s.labels], *found[2 * s.labels :][-1:]]
    return [fit_facts(facts), _sides(shown), Extra("heads", "", found)]


def _sides(sides: Sequence[SideReading]) -> Table:
    rows = [
        [
            side.head, side.side, side.states, side.mean, Share(side.none),
            "  ".join(f"{modifier.tag} {modifier.expected:.2f}" for modifier in side.modifiers),
        ]
        for side in sides
    ]  # fmt: skip
    header = ["head", "side", "states", "modifiers", "none", "modifiers (mean number)"]
    return Table("", "Dependents of each tag", header, rows)
