"""A regularisation path on one page: how weights come in as λ falls, how many, and how well each model does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney.optim.paths import LINES, Path, how_chosen
from spinney.report.html import view_page
from spinney.report.page import Page, Section
from spinney.structure.words import largest
from spinney.views import Facts, Note

if TYPE_CHECKING:
    from spinney.classify.linear import PathPoint as LinearPoint
    from spinney.tagging import Tagger
    from spinney.tagging.extract import Extractor
    from spinney.tagging.support import Shape
    from spinney.tagging.weights import ChainWeights

_STRONGEST = 1000  # of a point that may be among them


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
    for place in largest(mean, LINES):
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
        for key in order[:LINES]:
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
    """The page of a path."""
    return view_page(title, [Note(about), Facts("", "", known or {}), *path.views()])


def chosen_section(rows: object, measure: str = "", chosen: object = None) -> list[Section]:
    """The section of a model's own page on how its λ was chosen."""
    return list(view_page("", how_chosen(rows, measure, chosen)).sections)
