"""A regularisation path on one page: how weights come in as λ falls, how many, and how well each model does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spinney.optim.paths import LINES, Path, how_chosen
from spinney.report.html import view_page
from spinney.report.page import Page, Section
from spinney.structure.words import largest
from spinney.views import Facts, Note

if TYPE_CHECKING:
    from spinney.classify.linear import PathPoint as LinearPoint


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


def path_page(path: Path, title: str, about: str, known: Mapping[str, object] | None = None) -> Page:
    """The page of a path."""
    return view_page(title, [Note(about), Facts("", "", known or {}), *path.views()])


def chosen_section(rows: object, measure: str = "", chosen: object = None) -> list[Section]:
    """The section of a model's own page on how its λ was chosen."""
    return list(view_page("", how_chosen(rows, measure, chosen)).sections)
