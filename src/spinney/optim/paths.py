"""Regularisation paths as pages show them: how weights enter as λ falls, how many, and how well each model does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from spinney.errors import OptionError, unknown_choice
from spinney.views import Facts, Note, Section, Series, Table, View, Views, every, notebook_html

#: Weights whose paths are drawn: twice as many as there are colours.
LINES = 16
#: Scores for which lower is better.
_ERRORS = ("token error", "perplexity")


@dataclass
class Path:
    """Models at falling strengths: how many weights are active, scores by name, and the paths of single weights.

    Names of scores begin with ``dev`` or ``training``; the first of ``dev`` says which model is best.

    Examples
    --------
    >>> path = Path([2.0, 1.0], [0, 3], [9.0, 5.0], [0.0, 0.0], [0.1, 0.1], {"dev accuracy": [0.5, 0.9]})
    >>> path.best, [view.title for view in path.views() if view.title]
    (1, ['Scores', 'Active weights', 'Models'])
    """

    lams: list[float] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    violation: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    scores: dict[str, list[float]] = field(default_factory=dict)
    weights: dict[str, list[float]] = field(default_factory=dict)

    def add(self, point: Any, active: int, scores: Mapping[str, float]) -> None:
        """One more model: anything with ``lam``, ``objective``, ``violation`` and ``seconds``."""
        self.lams.append(float(point.lam))
        self.active.append(active)
        self.objective.append(float(point.objective))
        self.violation.append(float(point.violation))
        self.seconds.append(float(point.seconds))
        for name, value in scores.items():
            self.scores.setdefault(name, []).append(float(value))

    @property
    def best(self) -> int | None:
        """The point that does best on held-out data, by the first such score; of equals the sparsest."""
        for name, values in self.scores.items():
            if name.startswith("dev"):
                sign = 1.0 if name.removeprefix("dev ") in _ERRORS else -1.0
                return min(range(len(values)), key=lambda i: sign * values[i])
        return None

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self.views())

    def views(self) -> list[View]:
        """What a page shows of the path."""
        labels = [_lam(lam) for lam in self.lams]
        known: dict[str, Any] = {"models": len(labels)}
        best = self.best
        if best is not None:
            known |= {"best λ on dev": labels[best], "active weights at best λ": self.active[best]}
            known |= {f"{name} at best λ": values[best] for name, values in self.scores.items()}
        views: list[View] = [Facts("", "", known)]
        if self.weights:
            about = Note(f"The {len(self.weights)} weights that are largest on average over these λ.")
            drawn = Series(
                "weights", "", self.weights, labels, "Weights by λ, from the strongest on the left"
            )
            views.append(Section("Weights", [about, drawn]))
        if self.scores:
            views.append(Section("Scores", self._charts(labels, best)))
        drawn = Series("", "", {"active weights": self.active}, labels, "Non-zero weights by λ")
        views.append(Section("Active weights", [drawn]))
        header = ["λ", "active", *self.scores, "objective", "violation", "seconds"]
        keys = ["lam", *(name.replace(" ", "_") for name in header[1:])]
        columns = [
            self.lams,
            self.active,
            *self.scores.values(),
            self.objective,
            self.violation,
            self.seconds,
        ]
        return [
            *views,
            Section("Models", [Table("points", "", header, list(zip(*columns)), keys)]),
        ]  # type: ignore[arg-type]

    def plot_path(self, what: Literal["weights", "scores", "active"] = "weights", ax: Any = None) -> Any:
        """Draw the path with Matplotlib (extra ``plots``); a grey line marks the λ that does best on held-out data.

        Parameters
        ----------
        what
            ``weights``: the largest weights as λ falls; ``scores``: the first score, on all data that have it;
            ``active``: how many weights are not zero.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if what not in _FIGURES:
            raise unknown_choice("what must be", what, _FIGURES)
        labels = [_lam(lam) for lam in self.lams]
        name = next(iter(self.scores), "score").removeprefix("dev ").removeprefix("training ")
        scores = {of: values for of, values in self.scores.items() if of.endswith(f" {name}")}
        active = {"active weights": [float(n) for n in self.active]}
        lines = {"weights": self.weights, "scores": scores, "active": active}[what]
        if not lines:
            raise OptionError(f"this path has no {what} to draw")
        title = f"{_capital(name)} by λ" if what == "scores" else _FIGURES[what]
        ax = Series("", title, lines, labels).plot(ax)
        ax.set_xlabel("λ")
        if self.best is not None:
            ax.axvline(self.best, color="0.6", linewidth=1, zorder=0)
        return ax

    def _charts(self, labels: Sequence[str], best: int | None) -> list[View]:
        """A chart for each kind of score, with training and held-out data in one."""
        kinds: dict[str, dict[str, Sequence[float]]] = {}
        for name, values in self.scores.items():
            kinds.setdefault(name.removeprefix("dev ").removeprefix("training "), {})[name] = values
        charts: list[View] = []
        for kind, lines in kinds.items():
            caption = f"{_capital(kind)} by λ"
            if best is not None and any(name.startswith("dev") for name in lines):
                caption += f"; λ = {labels[best]} does best on dev, so its score there is somewhat optimistic"
            charts.append(Series("", "", lines, labels, caption))
        return charts


_FIGURES = {"weights": "The largest weights by λ", "scores": "", "active": "Non-zero weights by λ"}


class PathViews(Views):
    """The views of a path, which can draw it, too."""

    def __init__(self, views: Iterable[View], path: Path) -> None:
        super().__init__(views)
        self.path = path

    def plot_path(self, what: Literal["weights", "scores", "active"] = "weights", ax: Any = None) -> Any:
        """Draw the path with Matplotlib; see :meth:`Path.plot_path`."""
        return self.path.plot_path(what, ax)


def plot_choice(views: Iterable[View], ax: Any = None) -> Any:
    """Draw how the λ of a model was chosen: the first chart of what :func:`how_chosen` gives."""
    for view in every(views):
        if isinstance(view, Series):
            return view.plot(ax)
    raise OptionError(
        "the model does not record several strengths that were tried: plot the result of path in its place"
    )


def how_chosen(rows: object, measure: str = "", chosen: object = None) -> list[View]:
    """The section on how the λ of a model was chosen: scores against λ. Nothing, if nothing is known.

    ``rows`` are the settings that were tried, as a model file keeps them: objects with ``lam`` and numbers; ``measure``
    is what ``score`` stands for, and ``chosen`` the λ that was taken. A file may hold anything.

    Examples
    --------
    >>> tried = [{"lam": 1.0, "f1": 0.5}, {"lam": 0.1, "f1": 0.75}]
    >>> [section.title for section in how_chosen(tried)], how_chosen("?")
    (['How λ was chosen'], [])
    """
    tried = _numbers(rows)
    if len(tried) < 2:
        return []
    names = [name for name in tried[0] if all(name in row for row in tried)]
    strength = next((name for name in ("lam", "lam_ratio") if name in names), None)
    others = [name for name in names if name in ("alpha", "l1", "l2", "rho")]
    unmeasured = {"lam", "lam_ratio", "seconds", "violation", "objective", *others}
    measures = [name for name in names if name not in unmeasured]
    called = {
        "lam": "λ",
        "lam_ratio": "λ as a share of the largest",
        "alpha": "α",
        "score": measure or "score",
    }
    people = {name: called.get(name, name.replace("_", " ")) for name in names}
    about = f"{len(tried):,} settings were tried on held-out data; the best score is therefore somewhat optimistic."
    if isinstance(chosen, int | float):
        about += f" λ = {_lam(chosen)} was chosen."
    views: list[View] = [Note(about)]
    if strength is not None:
        views += _curves(tried, strength, others, measures, people)
    shown = [*([] if strength is None else [strength]), *others, *measures]
    cells = [[row[name] for name in shown] for row in tried]
    views.append(Table("tried", "", [people[name] for name in shown], cells, shown))
    return [Section("How λ was chosen", views)]


def _numbers(rows: object) -> list[dict[str, float]]:
    found = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            inner = row.get("params")
            flat = {**(inner if isinstance(inner, dict) else {}), **row}
            found.append({str(name): value for name, value in flat.items() if _is_number(value)})
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _curves(
    tried: Sequence[Mapping[str, float]],
    strength: str,
    others: Sequence[str],
    measures: Sequence[str],
    people: Mapping[str, str],
) -> list[View]:
    """A chart for each measure: a line for each setting of the other strengths, over λ."""
    lams = sorted({row[strength] for row in tried}, reverse=True)
    varying = [name for name in others if len({row[name] for row in tried}) > 1]
    charts: list[View] = []
    for measure in measures:
        lines: dict[str, dict[float, float]] = {}
        for row in tried:
            name = ", ".join(f"{people[other]} = {row[other]:.3g}" for other in varying) or people[measure]
            lines.setdefault(name, {})[row[strength]] = row[measure]
        if len(lams) < 2 or len(lines) > LINES:
            continue
        series = {name: [of.get(lam, math.nan) for lam in lams] for name, of in lines.items()}
        caption = f"{_capital(people[measure])}, by {people[strength]}, from the strongest on the left"
        charts.append(Series("", "", series, [_lam(lam) for lam in lams], caption))
    return charts


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _lam(value: float) -> str:
    return f"{value:.3g}"
