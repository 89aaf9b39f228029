"""The page of a regularisation path, for the ``path`` verbs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinney.report.path_page import Path


def write_path(report: str, path: Path, train: str, what: str, known: Mapping[str, object]) -> None:
    """Write the page of a path."""
    from spinney.corpus import writing
    from spinney.report.path_page import path_page

    with writing(report) as file:
        file.write(path_page(path, f"Path of {train}", what, known).html())
