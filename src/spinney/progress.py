"""Progress bars and log lines, all of them on stderr.

The library logs to the standard logger ``spinney`` and prints none of it until asked (:func:`configure`).
Bars appear only on a terminal or in a notebook, only for work that takes longer than a moment, and leave no trace.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spinney.escaping import printable
from spinney.interrupts import listening, uninterrupted
from spinney.notebook_bars import NotebookBars, in_notebook

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

log = logging.getLogger("spinney")
log.addHandler(logging.NullHandler())

_PATIENCE = 0.5  # seconds before a bar appears
_PAUSE = 0.1  # seconds between two looks of it
_quiet = False


def configure(*, quiet: bool = False, wording: Callable[[str], str] = str) -> None:
    """Send the log to stderr: everything from ``INFO`` up, or with ``quiet`` warnings only and no bars.

    ``wording`` turns each line into what is shown.
    """
    global _quiet
    _quiet = quiet
    for old in [handler for handler in log.handlers if isinstance(handler, _Handler)]:
        log.removeHandler(old)
    log.addHandler(_Handler(wording))
    log.setLevel(logging.WARNING if quiet else logging.INFO)


class _Handler(logging.Handler):
    """Writes to the current stderr, above any bar."""

    def __init__(self, wording: Callable[[str], str]) -> None:
        super().__init__()
        self.wording = wording

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
            _say(level + self.wording(self.format(record)))
        except Exception:
            self.handleError(record)


def _say(line: str) -> None:
    line = printable(line)
    with _bars.lock:
        if _bars.shown is None or isinstance(_bars.shown, NotebookBars):
            print(line, file=sys.stderr, flush=True)
        else:
            _bars.shown.console.print(line, markup=False, highlight=False)


class _Bars:
    """The live display at the bottom of the terminal, or in the cell of a notebook, which all tasks share."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.shown: Progress | NotebookBars | None = None
        self.count = 0

    @uninterrupted()  # here and below: a display has a thread, which starts or ends
    def add(self, task: Task) -> TaskID:
        with self.lock:
            if self.shown is None:
                self.shown = NotebookBars() if in_notebook() else _new_display()
                self.shown.start()
            self.count += 1
            return self.shown.add_task(printable(task.name), total=task.total, note="")

    def update(self, bar: TaskID, task: Task) -> None:
        with self.lock:
            if self.shown is not None:
                self.shown.update(bar, completed=task.done, note=printable(task.note))

    @uninterrupted()
    def remove(self, bar: TaskID) -> None:
        with self.lock:
            if self.shown is not None:
                self.shown.remove_task(bar)
                self.count -= 1
                if self.count == 0:
                    self.shown.stop()
                    self.shown = None


_bars = _Bars()


def _new_display() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )


class Task:
    """A piece of work with a bar; made by :func:`task`."""

    def __init__(self, name: str, total: float | None) -> None:
        self.name, self.total = name, total
        self.done = 0.0
        self.note = ""
        self._bar: TaskID | None = None
        seen = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
        visible = not _quiet and seen
        self._next_look = time.monotonic() + _PATIENCE if visible else math.inf

    def update(self, n: float = 1, note: str = "") -> None:
        """Count ``n`` more steps as done. Cheap: most calls only add and look at the clock."""
        self.done += n
        if note:
            self.note = note
        now = time.monotonic()
        if now >= self._next_look:
            with _bars.lock:  # several threads may count
                self._next_look = now + _PAUSE
                if self._bar is None:
                    self._bar = _bars.add(self)
                _bars.update(self._bar, self)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            _bars.remove(self._bar)
            self._bar = None
        self._next_look = math.inf


@contextmanager
def task(name: str, total: float | None = None) -> Iterator[Task]:
    """Show progress on a piece of work, if it takes long enough and somebody is watching.

    Ctrl-C during the work is a ``KeyboardInterrupt``, also while a kernel runs (:mod:`spinney.interrupts`).

    Examples
    --------
    >>> with task("fitting", total=3) as fitting:
    ...     for iteration in range(3):
    ...         fitting.update(1, note=f"objective {10 - iteration}")
    >>> fitting.done
    3.0
    """
    work = Task(name, total)
    try:
        with listening():
            yield work
    finally:
        work.close()


def say(line: str) -> None:
    """Print a line on standard error, above any bar, unless progress is quiet."""
    if not _quiet:
        _say(line)
