"""Views in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from spinney.report.tables import show_rows, tell
from spinney.views import Facts, Lines, Table, View


def show_views(views: Iterable[View], title: str = "") -> None:
    """Print views one below the other; the first of them has ``title`` where it has none of its own."""
    for view in views:
        if not view.title:
            view, title = replace(view, title=title), ""
        show(view)


def show(view: View) -> None:
    """Print a view; one that only JSON or a page has prints nothing."""
    if isinstance(view, Facts):
        tell(view.title, view.values, view.names or {key: key.replace("_", " ") for key in view.values})
    elif isinstance(view, Table) and view.rows:
        show_rows(view.title, view.header, view.rows)
        if view.note:
            print(view.note)
    elif isinstance(view, Lines):
        print("\n".join(view.lines))
