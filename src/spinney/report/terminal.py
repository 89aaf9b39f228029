"""Views in a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spinney.escaping import printable
from spinney.views import (
    Arcs,
    Bars,
    Facts,
    Folded,
    HeatMap,
    Lines,
    MarkedText,
    Node,
    Note,
    Outline,
    PhraseTree,
    ScoredLines,
    Section,
    Series,
    Share,
    Spark,
    Table,
    Tokens,
    View,
    every,
)

if TYPE_CHECKING:
    from rich import table
    from rich.console import Console

_BAR = 24  # the longest bar
_BLOCKS = "▁▂▃▄▅▆▇█"
_COLOURS = ("cyan", "yellow", "green", "magenta", "red", "blue")
_SPARKED = 40  # maximum numbers of a series
_COLUMNS = 12  # columns of a heat map; wider ones are only on pages
_LINES = 60  # of a tree


def show_views(views: Iterable[View], title: str = "") -> None:
    """Print views one below the other; the first one without its own title gets ``title``."""
    for view in views:
        if isinstance(view, Section):
            _print(view.title, style="bold")
            show_views(view.views)
        elif type(view) in SHOWN:
            if not view.title and title and not isinstance(view, Note):
                view, title = replace(view, title=title), ""
            SHOWN[type(view)](view)
        elif not isinstance(view, Folded):
            inner = list(every([view]))
            if inner != [view]:
                show_views(inner)


def _print(text: str, style: str = "", *, wrap: bool = False) -> None:
    from rich.text import Text

    if text:
        console().print(Text(printable(text), style=style), soft_wrap=not wrap)


def _facts(view: Facts) -> None:
    shown = view.shown()
    if shown:
        show_facts(view.title, shown)
    else:
        _print(view.title, style="italic")


def _table(view: Table) -> None:
    if view.rows:
        show_rows(view.title, view.header, [list(map(_cell, row)) for row in view.rows])
        if view.note:
            print(printable(view.note))


def _cell(value: Any) -> Any:
    if isinstance(value, MarkedText):
        return value.text
    return sparkline(value.values) if isinstance(value, Spark) else value


def sparkline(values: Sequence[float]) -> str:
    """Numbers as a line of blocks; one that is not finite is a space.

    Examples
    --------
    >>> sparkline([0.0, 1.0, float("nan"), 0.5])
    '▁█ ▅'
    """
    step = max(1, math.ceil(len(values) / _SPARKED))
    values = list(values)[::step]
    known = [value for value in values if math.isfinite(value)]
    low, span = min(known, default=0.0), (max(known, default=1.0) - min(known, default=0.0)) or 1.0
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(top * (v - low) / span)] if math.isfinite(v) else " " for v in values)


def _bars(view: Bars) -> None:
    most = max((abs(value) for _, value in view.rows if math.isfinite(value)), default=0.0) or 1.0
    rows = [
        [name, float(value), "█" * round(_BAR * abs(value) / most) if math.isfinite(value) else ""]
        for name, value in view.rows
    ]
    show_rows(view.title, ["", "", ""], rows)


def _series(view: Series) -> None:
    ends = [str(view.at[0]), str(view.at[-1])] if view.at else ["", ""]
    rows = [
        [name, sparkline(of), *(float(of[i]) for i in (0, -1))] for name, of in view.lines.items() if len(of)
    ]
    show_rows(view.title or view.caption, ["", "series", *ends], rows)


def _heat_map(view: HeatMap) -> None:
    if len(view.columns) <= _COLUMNS:
        rows = [[name, *row] for name, row in zip(view.rows, view.values)]
        show_rows(view.title or view.caption, ["", *view.columns], rows)


def _outline(view: Outline) -> None:
    _print(view.title, style="italic")
    todo: list[tuple[Node, int]] = [(root, 0) for root in reversed(view.roots)]
    drawn = 0
    while todo and drawn < _LINES:
        node, depth = todo.pop()
        name = node.name or f"{node.size:,} {view.leaves}"
        note = node.note or ("" if not node.children else ", ".join(node.examples))
        _print(f"{'  ' * min(depth, 20)}{name}{f'  ({note})' if note else ''}")
        todo += [(child, depth + 1) for child in reversed(node.children)]
        drawn += 1
    if todo:
        _print("…")


def _tree(view: PhraseTree) -> None:
    from spinney.corpus.brackets import Tree
    from spinney.report.parse_trees import phrase_lines

    _print(view.title, style="italic")
    lines = phrase_lines(Tree.parse(view.tree))
    width = max((len(label) for label, _ in lines), default=0)
    for label, words in lines:
        _print(f"{label:{width}}  {words.replace('-LRB-', '(').replace('-RRB-', ')')}")


def _arcs(view: Arcs) -> None:
    tags = view.tags or [""] * len(view.words)
    heads = [view.words[head - 1] if head else "(root)" for head in view.heads]
    rows = [[i + 1, *row] for i, row in enumerate(zip(view.words, tags, heads))]
    show_rows(view.title, ["", "word", "tag", "head"], rows)


def _scored(view: ScoredLines) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(show_header=False, box=None, pad_edge=False)
    grid.add_column(width=_BAR // 2)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(ratio=1)
    most = max((abs(score) for _, score in view.lines if score is not None), default=0.0) or 1.0
    for line, score in view.lines:
        drawn, number = "", ""
        if score is not None:
            cells = max(1, round(_BAR // 2 * abs(score) / most))
            drawn, number = ("█" if score > 0 else "░") * cells, f"{score:+.3f}"
        grid.add_row(
            Text(drawn), number, _coloured(line) if isinstance(line, MarkedText) else Text(printable(line))
        )
    _print(view.title, style="italic")
    console().print(grid)


def _coloured(view: MarkedText) -> Any:
    """Text with coloured marks; evidence against a class is underlined."""
    from rich.text import Text

    text = Text(printable(view.text))
    for mark in view.marks:
        colour = _COLOURS[mark.colour % len(_COLOURS)]
        text.stylize(f"{colour} underline" if mark.against else colour, mark.start, mark.stop)
    return text


def _tokens(view: Tokens) -> None:
    words = [f"{token.word}/{token.label}" if token.label else token.word for token in view.tokens]
    more = [f"… {view.more:,} more words"] if view.more else []
    _print(" ".join([*([view.title] if view.title else []), *words, *more]))


def _lines(view: Lines) -> None:
    print(printable("\n".join(view.lines)))


def _marked(view: MarkedText) -> None:
    _print(view.title, style="italic")
    console().print(_coloured(view), soft_wrap=True)


#: How each kind of view is printed; others are only for JSON or pages.
SHOWN: dict[type[View], Callable[[Any], None]] = {
    Facts: _facts,
    Table: _table,
    Lines: _lines,
    Note: lambda view: _print(view.text, wrap=True),
    Bars: _bars,
    Series: _series,
    HeatMap: _heat_map,
    Outline: _outline,
    PhraseTree: _tree,
    Arcs: _arcs,
    MarkedText: _marked,
    ScoredLines: _scored,
    Tokens: _tokens,
}


# ---------------------------------------------------------------------------------------- tables of Rich


def console() -> Console:
    """A console on standard output, at least 80 columns wide."""
    import shutil

    from rich.console import Console

    return Console(width=max(80, shutil.get_terminal_size((100, 24)).columns), highlight=False)


def show_facts(title: str, facts: Mapping[str, Any]) -> None:
    """A two-column table of facts."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in facts.items():
        table.add_row(_text(name), _text(value))
    _print_titled(title, table)


def show_rows(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table; columns of numbers are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    listed = [list(row) for row in rows]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        numeric = bool(listed) and all(isinstance(row[i], int | float) for row in listed)
        table.add_column(_text(name), justify="right" if numeric else "left")
    for row in listed:
        table.add_row(*[_text(cell) for cell in row])
    _print_titled(title, table)


def _print_titled(title: str, drawn: table.Table) -> None:
    """Print a title that may be wider than its table, since rich would wrap its own."""
    from rich.text import Text

    out = console()
    if title:
        out.print(Text(printable(title), style="italic"), soft_wrap=True)
    out.print(drawn)


def _text(value: Any) -> str:
    from rich.markup import escape

    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float) and math.isnan(value):
        return "–"
    if isinstance(value, Share):
        return f"{value:.2%}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(printable(str(value)))
