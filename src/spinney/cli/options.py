"""Options that every verb takes, and how results are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on standard error.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads (default: all processors).", show_default=False)
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Encoding = Annotated[str, typer.Option(help="Character encoding of the input.")]
OnError = Annotated[str, typer.Option(help="What to do with bad input: raise, or skip and count.")]
ReportOut = Annotated[
    str | None,
    typer.Option(
        help="Where to write an HTML page too: the paths of the strongest weights, and scores over λ."
    ),
]


def begin(quiet: bool) -> None:
    """Set up what goes to standard error: notes, warnings as single lines, bars."""
    import warnings

    from spinney import progress

    progress.configure(quiet=quiet)
    warnings.showwarning = lambda message, *_, **__: progress.log.warning(" ".join(str(message).split()))


def emit(as_json: bool, facts: dict[str, Any], show: Callable[[], None]) -> None:
    """Print the facts as JSON, or let ``show`` print them for a person."""
    if as_json:
        json.dump(facts, sys.stdout, ensure_ascii=False, default=_plain)
        print()
    else:
        show()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
