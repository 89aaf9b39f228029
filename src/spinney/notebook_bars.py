"""Progress bars in a notebook: one output of the cell that is rewritten while work goes on, and empty afterwards."""

from __future__ import annotations

import html
import sys
import time
from dataclasses import dataclass, field
from typing import Any


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; asks IPython only if somebody has loaded it.

    Examples
    --------
    >>> in_notebook()
    False
    """
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and getattr(get_shell(), "kernel", None) is not None


@dataclass
class _Row:
    name: str
    total: float | None
    done: float = 0.0
    note: str = ""
    started: float = field(default_factory=time.monotonic)

    def html(self) -> str:
        known = f' value="{self.done:g}" max="{self.total:g}"' if self.total else ""
        count = f"{self.done:,.0f}" + (f"/{self.total:,.0f}" if self.total else "")
        minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
        said = f"{count} · {minutes}:{seconds:02} · {self.note}".removesuffix(" · ")
        return (
            f'<div>{html.escape(self.name)} <progress{known} style="vertical-align: middle"></progress> '
            f"{html.escape(said)}</div>"
        )


#: The number of the last cell that had bars, and its output.
_last: tuple[int, Any] | None = None


class NotebookBars:
    """The bars of all tasks; it has the methods of ``rich.progress.Progress`` that are used for a terminal.

    Examples
    --------
    >>> bars = NotebookBars()
    >>> bar = bars.add_task("fitting", total=10, note="")
    >>> bars.update(bar, completed=3, note="objective < 7")
    >>> print(bars.html())
    <div>fitting <progress value="3" max="10" ...></progress> 3/10 · 0:00 · objective &lt; 7</div>
    """

    def __init__(self) -> None:
        self._rows: dict[int, _Row] = {}
        self._made = 0
        self._handle: Any = None

    def start(self) -> None:
        """Make an output, or take the one that the cell has from earlier bars."""
        global _last
        ipython: Any = sys.modules["IPython"]
        cell = ipython.get_ipython().execution_count
        if _last is None or _last[0] != cell:
            _last = cell, ipython.display.DisplayHandle()
            _last[1].display({}, raw=True)
        self._handle = _last[1]

    def stop(self) -> None:
        """Empty the output."""
        if self._handle is not None:
            self._handle.update({}, raw=True)

    def add_task(self, name: str, *, total: float | None, note: str) -> Any:
        """A new bar; its number."""
        self._made += 1
        self._rows[self._made] = _Row(name, total, note=note)
        return self._made

    def update(self, bar: int, *, completed: float, note: str) -> None:
        """Show how far a task has come."""
        self._rows[bar].done, self._rows[bar].note = completed, note
        self._show()

    def remove_task(self, bar: int) -> None:
        """Remove a bar."""
        del self._rows[bar]
        self._show()

    def html(self) -> str:
        """All bars."""
        return "\n".join(row.html() for row in self._rows.values())

    def _show(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/html": self.html()}, raw=True)
