"""A regularisation path on one page: how weights come in as λ falls, how many, and how well each model does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney.report.charts import line_chart
from spinney.report.page import Html, Page, Section, paragraph, table
from spinney.structure.words import largest

if TYPE_CHECKING:
    from spinney.classify.linear import PathPoint as LinearPoint
    from spinney.tagging import Tagger
    from spinney.tagging.extract import Extractor
    from spinney.tagging.support import Shape
    from spinney.tagging.weights import ChainWeights

_LINES = 16  # weights whose paths are drawn: twice as many as there are colours
_STRONGEST = 1000  # of a point that may be among them

#: Scores of which less is better.
_ERRORS = ("token error", "perplexity")


@dataclass
class Path:
    """Models at falling strengths: how many weights are active, scores by name, and the paths of single weights."""

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
        """The point that does best on held-out data, by the first score that is of them; of equals the sparsest."""
        for name, values in self.scores.items():
            if name.startswith("dev"):
                sign = 1.0 if name.removeprefix("dev ") in _ERRORS else -1.0
                return min(range(len(values)), key=lambda i: sign * values[i])
        return None


def classifier_path(
    points: Sequence[LinearPoint],
    names: Sequence[str],
    outputs: Sequence[str],
    scores: Mapping[str, Sequence[float]],
) -> Path:
    """The path of a linear model; weights are called after their feature, and their class if there are several.

    Examples
    --------
    >>> from spinney.classify import LinearRegressor
    >>> points = LinearRegressor("l1").path(np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]]), [1.0, 2.0, 3.0], n=3)
    >>> path = classifier_path(points, ["length", "old"], ["value"], {})
    >>> path.active, list(path.weights)
    ([0, 1, 1], ['length'])
    """
    path = Path()
    for i, point in enumerate(points):
        path.add(point, point.active, {name: values[i] for name, values in scores.items()})
    if not points:
        return path
    rows, p = points[0].coef.shape
    mean = np.zeros(rows * p)
    for point in points:
        mean += np.abs(point.coef).ravel()
    for place in largest(mean, _LINES):
        if mean[place] > 0:
            k, j = divmod(place, p)
            name = f"{names[j]} → {outputs[k]}" if rows > 1 else names[j]
            path.weights[name] = [float(point.coef[k, j]) for point in points]
    return path


class TaggerPath:
    """Collects the models of :meth:`spinney.tagging.Tagger.path` while they pass by.

    Examples
    --------
    >>> from spinney.tagging import Tagger
    >>> from spinney.tagging.tagger import labelled_columns
    >>> data = labelled_columns([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> tagger, collected = Tagger("U:%x[0,0]\\nB", penalty="l1"), TaggerPath()
    >>> for point in tagger.path(data, [5.0, 0.1]):
    ...     collected.add(tagger, point, {})
    >>> collected.path().active[0] < collected.path().active[1]
    True
    """

    def __init__(self) -> None:
        self._path = Path()
        self._models: list[tuple[Extractor, ChainWeights]] = []

    def add(self, tagger: Tagger, point: Any, scores: Mapping[str, float]) -> None:
        """The tagger as it is at this point."""
        self._path.add(point, point.n_active, scores)
        self._models.append((tagger.extractor_, point.weights))
        self._labels = tagger.labels_

    def path(self) -> Path:
        """With the paths of the weights that are largest on average."""
        found: dict[tuple[str, int, int], None] = {}
        for extractor, weights in self._models:
            places = weights.places[largest(np.abs(weights.values), _STRONGEST)]
            found |= dict.fromkeys(_keys(extractor, weights.shape, places))
        lines = {key: [0.0] * len(self._models) for key in found}
        for i, (extractor, weights) in enumerate(self._models):
            names = [
                {name: o for o, name in enumerate(of)} for of in (extractor.names("u"), extractor.names("b"))
            ]
            full = weights.full()
            mu, lam = weights.shape.mu(full), weights.shape.lam(full)
            for name, before, y in found:
                o = names[before >= 0].get(name)
                if o is not None:
                    lines[name, before, y][i] = float(mu[o, y] if before < 0 else lam[o, before, y])
        order = sorted(lines, key=lambda key: -sum(map(abs, lines[key])))
        before_names = [*self._labels, "(start)"]
        for key in order[:_LINES]:
            name, before, y = key
            called = f"{name}: {before_names[before]} →" if before >= 0 else f"{name} →"
            self._path.weights[f"{called} {self._labels[y]}"] = lines[key]
        return self._path


def _keys(extractor: Extractor, shape: Shape, places: NDArray[np.int64]) -> Iterable[tuple[str, int, int]]:
    """What a weight is of: an observation, the label before (−1: none) and the label."""
    names = extractor.names("u"), extractor.names("b")
    for place in places.tolist():
        if place < shape.n_mu:
            o, y = divmod(place, shape.labels)
            yield names[0][o], -1, y
        else:
            b, pair = divmod(place - shape.n_mu, shape.pairs)
            before, y = divmod(pair, shape.labels)
            yield names[1][b], before, y


def path_page(path: Path, title: str, about: str, known: Mapping[str, object] | None = None) -> Page:
    """The page of a path.

    Examples
    --------
    >>> path = Path([2.0, 1.0], [0, 3], [9.0, 5.0], [0.0, 0.0], [0.1, 0.1], {"dev accuracy": [0.5, 0.9]})
    >>> page = path_page(path, "reviews", "A path.")
    >>> [section.title for section in page.sections], page.known["best λ on dev"]
    (['Scores', 'Active weights', 'Models'], '1')
    """
    labels = [_lam(lam) for lam in path.lams]
    told: dict[str, object] = {**(known or {}), "models": len(labels)}
    best = path.best
    if best is not None:
        told |= {"best λ on dev": labels[best], "active at it": path.active[best]}
        told |= {f"{name} at it": values[best] for name, values in path.scores.items()}
    sections = []
    if path.weights:
        what = (
            f"The {len(path.weights)} weights that are largest on average over these λ. Numbers are at the pointer, or "
            "below."
        )
        chart = line_chart(path.weights, labels, caption="Weights, over λ from the strongest on the left")
        sections.append(Section("Weights", [paragraph(what), chart]))
    if path.scores:
        sections.append(Section("Scores", _charts(path.scores, labels, best)))
    chart = line_chart({"active weights": path.active}, labels, caption="Weights that are not 0, over λ")
    sections.append(Section("Active weights", [chart]))
    header = ["λ", "active", *path.scores, "objective", "violation", "seconds"]
    columns = [path.lams, path.active, *path.scores.values(), path.objective, path.violation, path.seconds]
    rows: list[tuple[object, ...]] = list(zip(*columns))  # type: ignore[arg-type]
    sections.append(Section("Models", [table(header, rows)]))
    return Page(title, about, told, sections)


def _charts(scores: Mapping[str, Sequence[float]], labels: Sequence[str], best: int | None) -> list[Html]:
    """A chart for scores of one kind: shares are drawn together, training and held-out in one."""
    kinds: dict[str, dict[str, Sequence[float]]] = {}
    for name, values in scores.items():
        kinds.setdefault(name.removeprefix("dev ").removeprefix("training "), {})[name] = values
    blocks = []
    for kind, lines in kinds.items():
        caption = f"{kind[:1].upper()}{kind[1:]}, over λ"
        if best is not None and any(name.startswith("dev") for name in lines):
            caption += (
                f"; λ = {labels[best]} does best on dev, whose score there is therefore somewhat too good"
            )
        blocks.append(line_chart(lines, labels, caption=caption))
    return blocks


def _lam(value: float) -> str:
    return f"{value:.3g}"


# -------------------------------------------------------------------------------- how a λ was chosen


def chosen_section(rows: object, measure: str = "", chosen: object = None) -> list[Section]:
    """The section of a model's own page on how its λ was chosen: scores against λ. None, if nothing is known.

    ``rows`` are the settings that were tried, as a model file keeps them: objects with ``lam`` and numbers; ``chosen``
    is the λ that was taken. A file may hold anything.

    Examples
    --------
    >>> tried = [{"lam": 1.0, "f1": 0.5}, {"lam": 0.1, "f1": 0.75}]
    >>> [section.title for section in chosen_section(tried)], chosen_section("?")
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
        "lam_ratio": "λ, as a share of the largest",
        "alpha": "α",
        "score": measure or "score",
    }

    def told(name: str) -> str:
        return called.get(name, name.replace("_", " "))

    about = (
        f"{len(tried):,} settings were tried on held-out data; the best score of them is somewhat too good."
    )
    if isinstance(chosen, int | float):
        about += f" λ = {_lam(chosen)} was taken."
    blocks = [paragraph(about)]
    if strength is not None:
        blocks += _curves(tried, strength, others, measures, told)
    shown = [strength, *others, *measures] if strength is not None else [*others, *measures]
    header = [told(name) for name in shown]
    blocks.append(table(header, [[row[name] for name in shown] for row in tried]))
    return [Section("How λ was chosen", blocks)]


def _numbers(rows: object) -> list[dict[str, float]]:
    found = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            inner = row.get("params")
            flat = {**(inner if isinstance(inner, dict) else {}), **row}
            found.append(
                {
                    str(name): value
                    for name, value in flat.items()
                    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
                }
            )
    return found


def _curves(
    tried: Sequence[Mapping[str, float]],
    strength: str,
    others: Sequence[str],
    measures: Sequence[str],
    told: Any,
) -> list[Html]:
    """A chart for each measure: a line for each setting of the other strengths, over λ."""
    lams = sorted({row[strength] for row in tried}, reverse=True)
    varying = [name for name in others if len({row[name] for row in tried}) > 1]
    blocks = []
    for measure in measures:
        lines: dict[str, dict[float, float]] = {}
        for row in tried:
            name = ", ".join(f"{told(other)} = {row[other]:.3g}" for other in varying) or told(measure)
            lines.setdefault(name, {})[row[strength]] = row[measure]
        if len(lams) < 2 or len(lines) > _LINES:
            continue
        series = {name: [of.get(lam, math.nan) for lam in lams] for name, of in lines.items()}
        what = told(measure)
        caption = f"{what[:1].upper()}{what[1:]}, over {told(strength)} from the strongest on the left"
        blocks.append(line_chart(series, [_lam(lam) for lam in lams], caption=caption))
    return blocks
