"""Views as HTML: blocks of a page, and whole pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spinney.corpus.brackets import Tree
from spinney.report.charts import heat_map, line_chart, spark
from spinney.report.maps import word_map
from spinney.report.outline import outline
from spinney.report.page import (
    Html,
    Page,
    bars,
    colour,
    columns,
    escape,
    facts,
    heading,
    joined,
    marked,
    paragraph,
    scored_lines,
    table,
)
from spinney.report.page import Section as Part
from spinney.report.parse_arcs import drawn_arcs
from spinney.report.parse_trees import drawn_tree
from spinney.views import (
    Arcs,
    Bars,
    Columns,
    Explorer,
    Extra,
    Facts,
    Folded,
    HeatMap,
    Lines,
    MarkedText,
    Note,
    Outline,
    PhraseTree,
    ScoredLines,
    Section,
    Series,
    Spark,
    Table,
    Token,
    Tokens,
    View,
    WordMap,
    finite,
)


def html(views: Iterable[View]) -> Html:
    """Views one below the other, each under its title.

    Examples
    --------
    >>> print(html([Facts("facts", "Fit", {"active": 3}), Note("All is well.")]))
    <h3>Fit</h3>
    <dl class="facts"><div><dt>active</dt><dd>3</dd></div></dl>
    <p>All is well.</p>
    """
    return joined(_block(view) for view in views)


def view_page(title: str, views: Iterable[View]) -> Page:
    """A page of views.

    The first note says what the page is about, and facts before the first section go to its head. A section stays a
    section; any other view with a title becomes one, and a view without a title belongs to the section before it.

    Examples
    --------
    >>> views = [Note("A toy."), Facts("facts", "", {"words": 7}), Section("Words", [Note("None.")])]
    >>> page = view_page("toy.spinney", views)
    >>> page.about, page.known, [section.title for section in page.sections]
    ('A toy.', {'words': 7}, ['Words'])
    """
    about, known, parts = "", {}, []  # type: str, dict[str, object], list[tuple[str, list[Html]]]
    for view in views:
        if isinstance(view, Section):
            parts.append((view.title, [html(view.views)]))
        elif isinstance(view, Note) and not parts and not about:
            about = view.text
        elif isinstance(view, Facts) and not parts:
            known |= view.shown()
        elif view.title and type(view) not in _TITLED:
            parts.append((view.title, [DRAWN[type(view)](view)]))
        elif block := _block(view):
            if not parts:
                parts.append(("Model", []))
            parts[-1][1].append(block)
    return Page(title, about, known, [Part(name, blocks) for name, blocks in parts])


def _block(view: View) -> Html:
    drawn = DRAWN[type(view)](view)
    return (
        joined([heading(view.title), drawn]) if drawn and view.title and type(view) not in _TITLED else drawn
    )


def _table(view: Table) -> Html:
    if not view.rows:
        return Html()
    cells = [
        [_CELLS[type(cell)](cell) if type(cell) in _CELLS else cell for cell in row] for row in view.rows
    ]
    drawn = table(view.header, cells)
    return joined([drawn, paragraph(view.note, faint=True)]) if view.note else drawn


def _marked(view: MarkedText) -> Html:
    return marked(view.text, view.marks)


_CELLS: dict[type, Callable[[Any], Html]] = {MarkedText: _marked, Spark: lambda cell: spark(cell.values)}


def _facts(view: Facts) -> Html:
    known = view.shown()
    return facts(known) if known else Html()


def _tree(view: PhraseTree) -> Html:
    name = f"<figcaption>{escape(view.title)}</figcaption>\n" if view.title else ""
    return Html(f"<figure>{name}{drawn_tree(Tree.parse(view.tree), view.marked, view.note)}</figure>\n")


def _columns(view: Columns) -> Html:
    if view.views and all(isinstance(inner, PhraseTree) for inner in view.views):
        return Html(f'<div class="trees">{html(view.views)}</div>\n')
    return columns(_block(inner) for inner in view.views)


def _folded(view: Folded) -> Html:
    return Html(f"<details><summary>{escape(view.title)}</summary>\n{html(view.views)}</details>\n")


def _scored(view: ScoredLines) -> Html:
    lines = [(_marked(text) if isinstance(text, MarkedText) else text, score) for text, score in view.lines]
    return scored_lines(lines, colours=view.colours)


def _tokens(view: Tokens) -> Html:
    style = "losses" if all(token.shade is not None for token in view.tokens) else "tokens"
    number = f'<b class="faint">{escape(view.title)}</b> ' if view.title else ""
    rest = f' <span class="faint">… {view.more:,} more words</span>' if view.more else ""
    return Html(f'<p class="{style}">{number}{" ".join(map(_token, view.tokens))}{rest}</p>\n')


def _token(token: Token) -> str:
    note = f' title="{escape(token.note)}"' if token.note else ""
    if token.shade is not None:
        faint = " faint" * token.faint
        return f'<span class="loss l{token.shade}{faint}"{note}>{escape(token.word)}</span>'
    wrong = token.right not in ("", token.label)
    label = f"<s>{escape(token.label)}</s> <b>{escape(token.right)}</b>" if wrong else escape(token.label)
    style = "faint" if token.colour is None else colour(token.colour)
    style += " wrong" if wrong else " unsure" if token.unsure else ""
    return f'<span class="token {style}"{note}><span>{escape(token.word)}</span><small>{label}</small></span>'


def _explorer(view: Explorer) -> Html:
    data = json.dumps(finite(view.data()), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Html(
        f'<div class="explorer" data-explorer="{escape(data)}" hidden>\n<label>Words before '
        '<input type="text" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="type some words">'
        '</label>\n<p class="readout" aria-live="polite"></p>\n<table class="bars next"><tbody></tbody></table>\n'
        '<template><svg class="bar c0" aria-hidden="true"><rect fill="currentColor"/></svg></template></div>\n'
    )


#: How each kind of view is drawn, without its title.
DRAWN: dict[type[View], Callable[[Any], Html]] = {
    Facts: _facts,
    Table: _table,
    Lines: lambda view: joined(map(paragraph, view.lines)),
    Extra: lambda view: Html(),
    Note: lambda view: paragraph(view.text, faint=view.faint),
    Bars: lambda view: bars(view.rows, colour_of=view.colours),
    Series: lambda view: line_chart(view.lines, view.at, caption=view.caption),
    HeatMap: lambda view: heat_map(
        view.values, view.rows, view.columns, shades=view.shades, caption=view.caption
    ),
    WordMap: lambda view: word_map(view.points, caption=view.caption),
    Outline: lambda view: outline(view.roots, leaves=view.leaves),
    PhraseTree: _tree,
    Arcs: lambda view: drawn_arcs(view.words, view.tags, view.heads, view.gold),
    MarkedText: lambda view: paragraph(_marked(view)),
    ScoredLines: _scored,
    Tokens: _tokens,
    Explorer: _explorer,
    Section: lambda view: html(view.views),
    Columns: _columns,
    Folded: _folded,
}

# These draw their titles themselves.
_TITLED: Sequence[type[View]] = (PhraseTree, Tokens, Folded)
