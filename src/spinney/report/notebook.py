"""Views in a notebook, in its light or dark theme."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from spinney.views import View

# A notebook's own rules, such as `.jp-RenderedHTMLCommon td`, are weaker than those below a class that is named often.
_SCOPE = ".spinney" * 4
# Without a theme, the system decides; JupyterLab, VS Code and the documentation of Sphinx have one, and say which.
_THEMES = {
    "light": '[data-jp-theme-light="true"], .vscode-light, [data-theme="light"]',
    "dark": '[data-jp-theme-light="false"], .vscode-dark, .vscode-high-contrast, [data-theme="dark"]',
}

# What only the script of a page reads, which a notebook does not have. Text is escaped, so this is no part of it.
_FOR_SCRIPTS = re.compile(r' data-(?:map|chart|heat|explorer)="[^"]*"')


def html(views: Iterable[View]) -> str:
    """Views as HTML for a notebook, whose styles affect nothing else.

    Examples
    --------
    >>> from spinney.views import Facts
    >>> shown = html([Facts("facts", "Fit", {"active": 3})])
    >>> shown.startswith('<div class="spinney"><style>'), "<dt>active</dt><dd>3</dd>" in shown
    (True, True)
    """
    from spinney.report.html import html as drawn

    static = _FOR_SCRIPTS.sub("", drawn(views))
    return f'<div class="spinney"><style>{_style()}</style>\n{static}</div>'


@cache
def _style() -> str:
    """The styles of a page, nested below the class of these outputs, with the colours of the notebook's theme."""
    page = _asset("page.css")
    light, dark = re.findall(r":root \{\n(.*?)\}", page, re.DOTALL)
    themes = f":is({_THEMES['light']}) & {{ {light} }}\n:is({_THEMES['dark']}) & {{ {dark} }}\n"
    nested = page.replace(":root {", "& {").replace("body {", "& {") + _asset("notebook.css") + themes
    return f"{_SCOPE} {{\n{nested}}}\n"


def _asset(name: str) -> str:
    return files("spinney.report").joinpath(name).read_text(encoding="utf-8")
