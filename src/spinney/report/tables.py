"""What models look like in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinney.views import Facts, Share

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def console() -> Console:
    """Standard output, never wrapping into less than 80 columns."""
    import shutil

    from rich.console import Console

    return Console(width=max(80, shutil.get_terminal_size((100, 24)).columns), highlight=False)


def show_facts(title: str, facts: Mapping[str, Any]) -> None:
    """A two-column table of facts."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in facts.items():
        table.add_row(name, _text(value))
    _print_titled(title, table)


def tell(title: str, facts: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """What is known of these facts, in the order of ``names`` and by these names."""
    show_facts(title, told(facts, names))


def told(facts: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The facts that a person is told, in the order of ``names`` and by these names; only plain values.

    Examples
    --------
    >>> told({"unknown_share": 0.5, "words": 7, "skipped": 0}, {"words": "words", "unknown_share": "unknown words"})
    {'words': 7, 'unknown words': 0.5}
    """
    return Facts("facts", "", facts, names).shown()


def show_rows(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table; columns of numbers are set flush right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    listed = [list(row) for row in rows]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        numeric = bool(listed) and all(isinstance(row[i], int | float) for row in listed)
        table.add_column(name, justify="right" if numeric else "left")
    for row in listed:
        table.add_row(*[_text(cell) for cell in row])
    _print_titled(title, table)


def _print_titled(title: str, table: Table) -> None:
    """A title may be wider than its table: rich's own would be wrapped."""
    from rich.text import Text

    out = console()
    if title:
        out.print(Text(title, style="italic"), soft_wrap=True)
    out.print(table)


def show_words(strongest: Mapping[str, Sequence[tuple[str, float]]]) -> None:
    """For each class the words that speak for it, with their weights."""
    show_rows(
        "Strongest features",
        ["class", "features (weight)"],
        [
            [label, "  ".join(f"{name} {weight:+.2f}" for name, weight in words) or "(none)"]
            for label, words in strongest.items()
        ],
    )


def _text(value: Any) -> str:
    from rich.markup import escape

    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Share):
        return f"{value:.2%}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value))
