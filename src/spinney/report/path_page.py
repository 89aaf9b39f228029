"""A regularisation path on one page: how weights come in as λ falls, how many, and how well each model does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spinney.optim.paths import LINES, Path, how_chosen
from spinney.report.html import view_page
from spinney.report.page import Page, Section
from spinney.structure.words import largest
from spinney.views import Facts, Note

if TYPE_CHECKING:


def path_page(path: Path, title: str, about: str, known: Mapping[str, object] | None = None) -> Page:
    """The page of a path."""
    return view_page(title, [Note(about), Facts("", "", known or {}), *path.views()])


def chosen_section(rows: object, measure: str = "", chosen: object = None) -> list[Section]:
    """The section of a model's own page on how its λ was chosen."""
    return list(view_page("", how_chosen(rows, measure, chosen)).sections)
