"""What a trend model looks like in a terminal: series as small charts, their stiffness, and methods compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spinney.errors import InputError, did_you_mean
from spinney.report.tables import console, show_rows, tell
from spinney.structure.words import short
from spinney.trend import Comparison, Strand, TimeScores, TrendModel

_LEVELS = "▁▂▃▄▅▆▇█"
_WIDE = 48  # times that a small chart shows; of more, each cell is the mean of some
_BAR = 40

#: How facts are called, in the order of a table.
_NAMES = {
    "task": "task", "method": "method", "documents": "documents", "first": "first time", "last": "last time",
    "times": "times", "features": "features", "covariates": "covariates", "entries": "entries",
    "parameters": "parameters", "n_active": "active series", "lam": "λ", "objective": "objective",
    "violation": "violation", "converged": "converged", "n_iter": "iterations", "skipped": "skipped",
    "seconds": "seconds", "reading_seconds": "reading seconds", "entries_per_second": "entries per second",
}  # fmt: skip


def sparkline(values: ArrayLike) -> str:
    """A series as a line of blocks, from its least value (or 0) to its largest (or 0).

    Examples
    --------
    >>> sparkline([0.0, 1.0, 3.0, 7.0, 5.0]), sparkline([2.0, 2.0]), sparkline([-1.0, 1.0])
    ('▁▂▄█▆', '██', '▁█')
    """
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) > _WIDE:
        numbers = np.array([part.mean() for part in np.array_split(numbers, _WIDE)])
    low, high = min(float(numbers.min(initial=0.0)), 0.0), max(float(numbers.max(initial=0.0)), 0.0)
    if not high > low:
        return _LEVELS[0] * len(numbers)
    steps = np.round((numbers - low) / (high - low) * (len(_LEVELS) - 1)).astype(int)
    return "".join(_LEVELS[step] for step in steps)


def fact_names(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a model by the names that people read."""
    return {name: facts[key] for key, name in _NAMES.items() if facts.get(key) is not None}


def show_fit(title: str, facts: Mapping[str, Any]) -> None:
    """What a fit did."""
    tell(title, facts, _NAMES)


# ---------------------------------------------------------------------------------------------- inspect


@dataclass(frozen=True)
class ReadOut:
    """What there is to see in a model."""

    facts: Mapping[str, Any]
    labels: list[str]
    strongest: dict[str, list[Strand]]
    changed: dict[str, list[Strand]]
    asked: dict[str, list[Strand]]
    stiffness: tuple[list[int], list[float]] | None

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        told = {"strongest": self.strongest, "changed": self.changed} | (
            {"asked": self.asked} if self.asked else {}
        )
        series = {
            name: {effect: [_plain(s) for s in of] for effect, of in by.items()} for name, by in told.items()
        }
        found = {**self.facts, "labels": self.labels, **series}
        if self.stiffness is not None:
            found["e_alpha"] = {"counts": self.stiffness[0], "edges": self.stiffness[1]}
        return found


def _plain(strand: Strand) -> dict[str, Any]:
    return {**strand._asdict(), "values": strand.values.tolist()}


def read_out(model: TrendModel, top: int, words: Sequence[str] = ()) -> ReadOut:
    """The strongest series and those that changed most, ``top`` of each effect, and those of some words."""
    unknown = [word for word in words if word not in model.names]
    if unknown:
        what = f"{unknown[0]!r} is not among the {len(model.names):,} features of the model"
        raise InputError(what, remedy=did_you_mean(unknown[0], model.names, most=3))
    asked = {}
    if words:
        every = model.strongest(len(model.names))
        asked = {effect: [strand for strand in of if strand.word in words] for effect, of in every.items()}
    stiff = model.stiffness()
    return ReadOut(
        model.facts,
        model.labels,
        model.strongest(top),
        model.strongest(top, by="change") if len(model.labels) > 1 else {},
        asked,
        None if stiff is None else (stiff[0].tolist(), stiff[1].tolist()),
    )


def show_read_out(title: str, found: ReadOut) -> None:
    """Facts, series and their stiffness."""
    show_fit(title, found.facts)
    span = f"{found.labels[0]} to {found.labels[-1]}"
    if found.asked:
        _show_series(f"Series of the words asked for, {span}", found.asked, "norm")
    _show_series(f"Strongest series, {span}", found.strongest, "norm")
    _show_series(f"Series that changed most, {span}", found.changed, "change")
    if found.stiffness is not None:
        counts, edges = found.stiffness
        most = max(counts) or 1
        rows = [
            [f"{low:.2f} to {high:.2f}", count, "█" * round(_BAR * count / most)]
            for count, low, high in zip(counts, edges, edges[1:])
        ]
        show_rows("E[α] of the active series: −0.5 is stiff, 0 is free", ["E[α]", "series", ""], rows)


def _show_series(title: str, by_effect: Mapping[str, Sequence[Strand]], score: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    several = len(by_effect) > 1
    strands = [strand for of in by_effect.values() for strand in of]
    if not strands:
        print(f"{title}: none")
        return
    expected = any(strand.next is not None for strand in strands)
    if not several and "(all)" not in by_effect:
        title = f"{title}; weights speak for {next(iter(by_effect))}"
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in [*(["effect"] if several else []), "word"]:
        table.add_column(name, overflow="fold")
    table.add_column("series", no_wrap=True)
    for name in ["first", "last", *(["next"] if expected else []), score]:
        table.add_column(name, justify="right", no_wrap=True)
    for strand in strands:
        names = [*([strand.effect] if several else []), strand.word]
        numbers = [_signed(strand.values[0]), _signed(strand.values[-1])]
        numbers += [*([_signed(strand.next)] if expected else []), f"{strand.score:.2f}"]
        table.add_row(*[Text(short(name)) for name in names], sparkline(strand.values), *numbers)
    out = console()
    out.print(Text(title, style="italic"), soft_wrap=True)
    out.print(table)


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


# ----------------------------------------------------------------------------------------- rolling origin


def show_comparison(found: Comparison) -> None:
    """A table like those of the thesis: a row for each test time, a column for each method, the best one starred."""
    rows = [*found.by_time, found.overall, *([found.without_first] if found.without_first else [])]
    names = [f"{row.time} (dev)" if k == 0 else row.time for k, row in enumerate(rows)]
    words = rows[0].words is not None
    header = ["test time", "documents", *(["words"] if words else []), *found.methods]
    show_rows(
        f"Rolling origin: {found.measure}, less is better (* the least)",
        header,
        [
            [name, row.documents, *([row.words] if words else []), *_starred(row, row.scores, found, min)]
            for name, row in zip(names, rows)
        ],
    )
    if rows[0].accuracy is not None:
        show_rows(
            "Accuracy",
            ["test time", "documents", *found.methods],
            [[n, r.documents, *_starred(r, r.accuracy or {}, found, max)] for n, r in zip(names, rows)],
        )
    first = found.methods[0]
    tests = ["p, all", *(["p, without dev"] if found.p_without_first is not None else [])]
    each = []
    for name in found.methods:
        values = found.chosen[name].items()
        settings = ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in values)
        wins = f"{found.wins[name]} of {found.overall.documents}" if name in found.wins else ""
        p = [found.p, *([found.p_without_first] if found.p_without_first is not None else [])]
        each.append([name, settings, wins, *(_p(of.get(name)) for of in p)])
    title = (
        f"Settings chosen at {rows[0].time}; {first} against each, by document (Wilcoxon's signed-rank test)"
    )
    show_rows(title, ["method", "settings", f"{first} is better on", *tests], each)


def _starred(row: TimeScores, scores: Mapping[str, float], found: Comparison, best: Any) -> list[str]:
    told = {name: f"{scores[name]:.4f}" for name in found.methods}
    foremost = f"{best(scores.values()):.4f}"
    return [f"{text}{'*' if text == foremost else ' '}" for text in told.values()]


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"
