"""Views in a notebook."""

from __future__ import annotations

from collections.abc import Iterable

from spinney.report.page import Html, facts, heading, paragraph, table
from spinney.views import Facts, Lines, Table, View


def html(views: Iterable[View]) -> str:
    """Views as markup that a notebook shows.

    Examples
    --------
    >>> print(html([Facts("facts", "Fit", {"active": 3})]))
    <h3>Fit</h3>
    <dl class="facts"><div><dt>active</dt><dd>3</dd></div></dl>
    """
    return "".join(block for view in views for block in _blocks(view))


def _blocks(view: View) -> list[Html]:
    head = [heading(view.title)] if view.title else []
    if isinstance(view, Facts):
        return [*head, facts(view.shown())]
    if isinstance(view, Table) and view.rows:
        return [*head, table(view.header, view.rows)]
    if isinstance(view, Lines):
        return [*head, *map(paragraph, view.lines)]
    return []
