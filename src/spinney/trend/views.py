"""Views of trends: series, their stiffness, forecasts, and comparisons of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spinney.errors import InputError, OptionError, did_you_mean, listed, unknown_choice
from spinney.settings.report import Report
from spinney.settings.trend import Inspect
from spinney.structure.words import short
from spinney.trend.comparing import Comparison
from spinney.trend.model import Strand, TrendModel
from spinney.views import Bars, Extra, Facts, Note, Section, Series, Spark, Table, View

_LINES = 8  # lines per chart: as many as there are colours
_EFFECTS = 12  # covariates shown on a page, those with the strongest series

#: The names of facts, in the order of a table.
_NAMES = {
    "task": "task", "method": "method", "documents": "documents", "first": "first time", "last": "last time",
    "times": "times", "features": "features", "covariates": "covariates", "entries": "entries",
    "parameters": "parameters", "active": "active series", "lam": "λ", "objective": "objective",
    "violation": "violation", "converged": "converged", "iterations": "iterations", "skipped": "skipped",
    "seconds": "seconds", "reading_seconds": "seconds reading", "entries_per_second": "entries per second",
}  # fmt: skip


def fit_facts(facts: Mapping[str, Any]) -> Facts:
    """The facts about a fit."""
    return Facts("facts", "", facts, _NAMES)


def choice_notes(facts: Mapping[str, Any]) -> list[View]:
    """What was chosen by forecasts of held-out times, in a line, and remarks on resolutions and on a better method."""
    choice = facts.get("choice")
    if not isinstance(choice, dict):
        return []
    chosen, starts = choice.get("settings"), choice.get("starts")
    every = [f"every {choice['every']}"] if "every" in choice else []
    settings = ", ".join(filter(None, [*every, _listed(chosen, 3)]))
    text = (
        f"Chosen by the forecasts of {choice.get('held_out')} ({_number(choice.get('documents'), ',')} documents, held "
        f"out; {choice.get('tried')} settings tried): {settings}; {choice.get('measure')} "
        f"{_number(choice.get('loss'), '.4g')}"
    )
    if starts:
        text += f" ({_listed(starts, 4)} alone)"
    notes: list[View] = [Note(text + "."), *_resolution_notes(choice)]
    if choice.get("better") is not None:
        notes.append(Note(f"The method {choice['better']} by itself forecasts these times better: try it."))
    return notes


def _resolution_notes(choice: Mapping[str, Any]) -> list[View]:
    """Which resolution was chosen, of which, with the loss of each."""
    resolutions = choice.get("resolutions")
    listing = resolutions if isinstance(resolutions, list) else []
    tried = [(one.get("every"), one.get("loss")) for one in listing if isinstance(one, dict)]
    if not tried:
        return []
    each = [f"{every} ({'no forecast' if loss is None else _number(loss, '.4g')})" for every, loss in tried]
    text = (
        f"Resolution {choice.get('every')} was chosen from {listed(each, 'and')} by {choice.get('measure')}"
    )
    losses = [loss for _, loss in tried if isinstance(loss, int | float)]
    if min(losses, default=None) != choice.get("loss"):
        text += "; it is the coarsest of those that forecast as well"
    return [Note(text + ".")]


def _listed(values: Any, digits: int) -> str:
    """Names with their values; what is no mapping, in a file that anyone may have written, has none."""
    named = values.items() if isinstance(values, dict) else ()
    return ", ".join(
        f"{name} {_number(value, f'.{digits}g') if isinstance(value, float) else value}"
        for name, value in named
    )


def _number(value: Any, form: str) -> str:
    return f"{value:{form}}" if isinstance(value, int | float) else str(value)


# ---------------------------------------------------------------------------------------------- inspect


def inspection(model: TrendModel, s: Inspect) -> list[View]:
    """Facts, the strongest series and those that changed most, those of some words, and how stiff they are."""
    unknown = [word for word in s.words if word not in model.names]
    if unknown:
        what = f"{unknown[0]!r} is not among the {len(model.names):,} features of the model"
        raise InputError(what, remedy=did_you_mean(unknown[0], model.names, most=3))
    span = f"{model.labels[0]} to {model.labels[-1]}"
    views: list[View] = [fit_facts(model.facts), Extra("labels", "", model.labels)]
    if s.words:
        every = model.strongest(len(model.names))
        asked = {effect: [strand for strand in of if strand.word in s.words] for effect, of in every.items()}
        views += _series("asked", f"Series of the given words, {span}", asked, "norm")
    views += _series("strongest", f"Strongest series, {span}", model.strongest(s.top), "norm")
    if len(model.labels) > 1:
        changed = model.strongest(s.top, by="change")
        views += _series("changed", f"Series that changed most, {span}", changed, "change")
    stiff = model.stiffness()
    if stiff is not None:
        counts, edges = stiff[0].tolist(), stiff[1].tolist()
        rows = [(f"{low:.2f} to {high:.2f}", count) for count, low, high in zip(counts, edges, edges[1:])]
        views.append(Bars("", "E[α] of the active series: −0.5 is stiff, 0 is free", rows))
        views.append(Extra("e_alpha", "", {"counts": counts, "edges": edges}))
    return views


def _series(key: str, title: str, by_effect: Mapping[str, Sequence[Strand]], score: str) -> list[View]:
    """A table for the terminal, and the whole series for JSON."""
    whole = Extra(key, "", by_effect)
    strands = [strand for of in by_effect.values() for strand in of]
    if not strands:
        return [Note(f"{title}: none"), whole]
    several = len(by_effect) > 1
    if not several and "(all)" not in by_effect:
        title = f"{title} (weights above 0 are evidence for {next(iter(by_effect))})"
    expected = any(strand.next is not None for strand in strands)
    header = [*(["effect"] if several else []), "word", "series", "first", "last"]
    header += [*(["next"] if expected else []), score]
    rows = []
    for strand in strands:
        names = [short(name) for name in (*([strand.effect] if several else []), strand.word)]
        numbers = [_signed(strand.values[0]), _signed(strand.values[-1])]
        numbers += [*([_signed(strand.next)] if expected else []), f"{strand.score:.2f}"]
        rows.append([*names, Spark(strand.values.tolist()), *numbers])
    return [Table("", title, header, rows), whole]


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


# ------------------------------------------------------------------------------------------------- scores


def score_views(scores: Mapping[str, Any]) -> list[View]:
    """The scores of a model on dated documents, overall and by time."""
    overall = {name: value for name, value in scores.items() if name != "by_time"}
    rows = [[row["time"], row["documents"], row["loss"]] for row in scores["by_time"]]
    header = ["time", "documents", scores["measure"]]
    return [
        Facts("facts", "", overall),
        Table("by_time", "By time", header, rows, ["time", "documents", "loss"]),
    ]


def comparison_views(found: Comparison) -> list[View]:
    """Tables like those of the thesis: one row per test time, one column per method, the best score starred."""
    rows = [*found.by_time, found.overall, *([found.without_first] if found.without_first else [])]
    names = [f"{row.time} (dev)" if k == 0 else row.time for k, row in enumerate(rows)]
    words = rows[0].words is not None
    views: list[View] = [
        Facts("facts", "", {**found.as_dict(), "skipped": found.skipped}, {"skipped": "skipped"}),
        Table(
            "",
            f"Rolling origin: {found.measure} (lower is better, * the best)",
            ["test time", "documents", *(["words"] if words else []), *found.methods],
            [
                [name, row.documents, *([row.words] if words else []), *_starred(row.scores, found, min)]
                for name, row in zip(names, rows)
            ],
        ),
    ]
    if rows[0].accuracy is not None:
        header = ["test time", "documents", *found.methods]
        cells = [[n, row.documents, *_starred(row.accuracy or {}, found, max)] for n, row in zip(names, rows)]
        views.append(Table("", "Accuracy", header, cells))
    first = found.methods[0]
    tests = ["p (all)", *(["p (without dev)"] if found.p_without_first is not None else [])]
    each = []
    for name in found.methods:
        values = found.chosen[name].items()
        settings = ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in values)
        wins = f"{found.wins[name]} of {found.overall.documents}" if name in found.wins else ""
        p = [found.p, *([found.p_without_first] if found.p_without_first is not None else [])]
        each.append([name, settings, wins, *(_p(of.get(name)) for of in p)])
    title = (
        f"Settings chosen at {rows[0].time}, and {first} against each by document (Wilcoxon signed-rank test)"
    )
    return [*views, Table("", title, ["method", "settings", f"{first} is better on", *tests], each)]


def _starred(scores: Mapping[str, float], found: Comparison, best: Any) -> list[str]:
    texts = {name: f"{scores[name]:.4f}" for name in found.methods}
    top = f"{best(scores.values()):.4f}"
    return [f"{text}{'*' if text == top else ' '}" for text in texts.values()]


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


# --------------------------------------------------------------------------------------------------- page

_RANKED = {"norm": "largest norms", "steps": "largest steps from time to time"}
_ABOUT = {
    "regression": "A trend: what each word adds to the number, over time.",
    "classification": "A trend: what each word adds to the log-odds of a class, over time.",
    "text": "A trend: how the use of words changes over time.",
}


def page_views(model: TrendModel, s: Report) -> list[View]:
    """The page of a trend: series of words over time, their expected next values, and how stiff they are."""
    views = [
        Note(_ABOUT[model.task]),
        fit_facts(model.facts),
        Extra("labels", "", model.labels),
        Section("Strongest series", _charts(model, model.strongest(s.top), "norm")),
        Section("Series that changed most", _charts(model, model.strongest(s.top, by="change"), "steps")),
    ]
    found = model.stiffness(20)
    if found is not None:
        counts, edges = found
        rows = [
            (f"{low:.3f} to {high:.3f}".replace("-", "−"), float(count))
            for count, low, high in zip(counts, edges, edges[1:])
        ]
        about = (
            "Non-zero series by E[α]: near −0.5 neighbouring times are tied closely, near 0 hardly at all."
        )
        views.append(Section("Stiffness", [Note(about), Bars("", "", rows)]))
    return views


def _charts(model: TrendModel, by_effect: Mapping[str, Sequence[Strand]], ranked: str) -> list[View]:
    """For each effect, a chart of the top series and a table of more."""
    full = sorted((e for e, of in by_effect.items() if of), key=lambda effect: -by_effect[effect][0].score)
    if not full:
        return [Note("None: all weights are 0.")]
    views: list[View] = []
    for effect in full[:_EFFECTS]:
        strands = by_effect[effect]
        series = {strand.word: strand.values.tolist() for strand in strands[:_LINES]}
        caption = f"{_caption(model, effect)}; the series with the {_RANKED[ranked]}"
        title = effect if len(by_effect) > 1 else ""
        views += [Series("", title, series, model.labels, caption), _table(strands, ranked)]
    if len(full) > _EFFECTS:
        views.append(Note(f"{len(full) - _EFFECTS:,} more covariates are not shown.", faint=True))
    return views


def series_view(model: TrendModel, words: Sequence[str] | None, effect: str | None, top: int) -> Series:
    """The series of some words, or the strongest ones, for a figure."""
    if effect is not None and effect not in model.effects:
        raise unknown_choice("effect must be", effect, model.effects)
    if words is None:
        by_effect = model.strongest(top)
        if effect is None:
            effect = max(
                by_effect, key=lambda one: max((strand.score for strand in by_effect[one]), default=0.0)
            )
        lines = {strand.word: strand.values.tolist() for strand in by_effect[effect]}
    else:
        effect = model.effects[0] if effect is None else effect
        place = {name: i for i, name in enumerate(model.names)}
        for word in words:
            if word not in place:
                what = f"{word!r} is not among the {len(place):,} features of the model"
                raise InputError(what, remedy=did_you_mean(word, place))
        coef = model.coef[:, :, model.effects.index(effect)]
        lines = {word: coef[:, place[word]].tolist() for word in words}
    if not lines:
        raise OptionError("there are no series to draw: all weights are 0")
    return Series("", "", lines, model.labels, _caption(model, effect))


def _caption(model: TrendModel, effect: str) -> str:
    if model.task == "regression":
        return "Weights of features"
    if model.task == "classification":
        return f"Weights of features; above 0 they are evidence for {effect}"
    if not model.covariates.columns:
        return "Log frequency of a word, relative to all times"
    return f"Log frequency of a word with {effect}, relative to its time"


def _table(strands: Sequence[Strand], ranked: str) -> Table:
    expected = any(strand.next is not None for strand in strands)
    header = ["word", "series", "first", "last", *(["expected next", "E[α]"] if expected else []), ranked]
    rows: list[list[Any]] = []
    for strand in strands:
        values = strand.values.tolist()
        row = [strand.word, Spark(values), values[0], values[-1]]
        rows.append([*row, *([strand.next, strand.e_alpha] if expected else []), strand.score])
    return Table("", "", header, rows)
