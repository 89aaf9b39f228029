"""The page of a server: a person chooses a model, types text, and sees what the model makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spinney.report.page import asset, document, escape
from spinney.serve.models import Served

#: What the box is for, by task; a model of another task has a plain hint.
_HINTS = {
    "tag": "Text whose words get tags.",
    "parse": "Sentences to parse.",
    "classify": "A text to classify.",
    "lm": "The beginning of a text; what comes next is shown.",
    "classes": "Text whose words get classes.",
    "embed": "Text, or a word whose neighbours are shown.",
    "trend": "A text; its forecast is for the time after the last one.",
    "pipeline": "Raw text; its sentences, words, tags and trees are shown.",
}
_TAGGED = "Words with their tags: the/DT dog/NN barks/VBZ"


def page(models: Sequence[Served]) -> str:
    """The whole page; its script asks only the server that it comes from.

    Examples
    --------
    >>> "connect-src &#x27;self&#x27;" in page([])
    True
    """
    able = [served for served in models if "view" in served.can]
    options = "".join(
        f'<option value="{escape(served.name)}" data-hint="{escape(_hint(served))}">'
        f"{escape(served.name)} ({escape(served.task)})</option>\n"
        for served in able
    )
    form = (
        '<form id="ask">\n<p><label for="model">Model</label> '
        f'<select id="model">\n{options}</select></p>\n'
        '<label for="text">Text</label>\n<p id="hint" class="faint"></p>\n'
        '<textarea id="text" rows="5" dir="auto" spellcheck="false" aria-describedby="hint"></textarea>\n'
        '<p><button type="submit">Show</button> <span class="faint">or Ctrl+Enter</span></p>\n</form>\n'
    )
    if not able:
        form = "<p>None of the models can be applied to text.</p>\n"
    head = '<p class="faint">Type a text, and see what a model makes of it. <a href="/openapi.json">OpenAPI</a></p>\n'
    parts = (
        f"{form}<noscript><p>This page needs JavaScript; the addresses in /openapi.json do not.</p></noscript>\n"
        '<p id="status" role="status" aria-live="polite"></p>\n'
        '<section id="result" aria-label="Result" tabindex="-1" dir="auto"></section>\n'
        f"{_about(models)}"
    )
    style, script = asset("serve.css", "spinney.serve"), asset("serve.js", "spinney.serve")
    return document("Spinney", head, parts, style=style, script=script, connect="'self'")


def _hint(served: Served) -> str:
    if served.kind in ("parsing/HeadAutomata", "parsing/TreeCRF"):
        return _TAGGED
    return _HINTS.get(served.task, "Text for the model.")


def _about(models: Sequence[Served]) -> str:
    rows = "".join(f"<li>{escape(served.name)}: {escape(_said(served))}</li>\n" for served in models)
    return f"<details><summary>The models</summary>\n<ul>\n{rows}</ul>\n</details>\n"


def _said(served: Any) -> str:
    return f"{served.kind}, which can {', '.join(served.can) or 'do nothing here'}"
