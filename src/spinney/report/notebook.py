"""Views in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from spinney.views import View


def html(views: Iterable[View]) -> str:
    """Views as HTML for a notebook, with scoped styles.

    Examples
    --------
    >>> from spinney.views import Facts
    >>> shown = html([Facts("facts", "Fit", {"active": 3})])
    >>> shown.startswith("<div><style>@scope {"), "<dt>active</dt><dd>3</dd>" in shown
    (True, True)
    """
    from spinney.report.html import html as drawn

    return f"<div><style>{_style()}</style>\n{drawn(views)}</div>"


@cache
def _style() -> str:
    """The styles of a page, scoped to one element, so that the rest of a notebook is not affected."""
    style = files("spinney.report").joinpath("page.css").read_text(encoding="utf-8")
    return "@scope {\n" + style.replace(":root {", ":scope {").replace("body {", ":scope {") + "}\n"
