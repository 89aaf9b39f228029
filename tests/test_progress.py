"""Bars, logs and announcements go to stderr, and only when somebody wants them."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import threading
import time

import pytest

from spinney import progress
from spinney.compiling import Waiting


@pytest.fixture(autouse=True)
def as_at_first(monkeypatch):
    """Start as a fresh process does, whatever ran before, and undo what a test configures."""
    handlers, level = list(progress.log.handlers), progress.log.level
    progress.log.handlers[:] = [h for h in handlers if isinstance(h, logging.NullHandler)]
    progress.log.setLevel(logging.NOTSET)
    monkeypatch.setattr(progress, "_quiet", False)
    yield
    progress.log.handlers[:] = handlers
    progress.log.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watching(monkeypatch) -> Terminal:
    """Make stderr a terminal (not a fixture: pytest puts its own stderr in place after those)."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def test_no_bar_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress.task("fitting", total=10) as task:
        for _ in range(10):
            task.update(1, note="x")
    assert task.done == 10
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = watching(monkeypatch)
    with progress.task("fitting", total=10) as task:
        for i in range(10):
            task.update(note=f"objective [{i}]")
        progress._bars.shown.refresh()
        progress.configure()
        progress.log.info("a line above [not markup]")
    shown = terminal.getvalue()
    assert "fitting" in shown
    assert "10/10" in shown
    assert "objective [9]" in shown
    assert "a line above [not markup]" in shown
    assert progress._bars.shown is None


def test_bars_share_the_terminal(monkeypatch):
    watching(monkeypatch)
    with progress.task("outer") as outer, progress.task("inner", total=2) as inner:
        outer.update()
        inner.update()
        assert len(progress._bars.shown.tasks) == 2
        threads = [threading.Thread(target=inner.update) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert progress._bars.shown is None
    inner.update()  # late calls do no harm
    assert progress._bars.shown is None


def test_the_bar_goes_away_after_an_error(monkeypatch):
    watching(monkeypatch)

    def fails() -> None:
        with progress.task("fitting") as task:
            task.update()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert progress._bars.shown is None


def test_quiet_shows_no_bar(monkeypatch):
    terminal = watching(monkeypatch)
    progress.configure(quiet=True)
    with progress.task("fitting") as task:
        task.update()
    assert terminal.getvalue() == ""


def test_logging(capsys):
    progress.log.info("unheard")
    progress.configure()
    progress.configure()  # twice does not print twice
    progress.log.info("5 words")
    logging.getLogger("spinney.optim").warning("not converged")
    progress.configure(quiet=True)
    progress.log.info("unheard")
    progress.log.warning("heard")
    assert capsys.readouterr() == ("", "5 words\nwarning: not converged\nwarning: heard\n")


class _Kernel:
    def __init__(self, module):
        self.data = {"dispatcher": self}
        self.py_func = self
        self.__module__ = module


def test_announcing_a_slow_compilation(capsys):
    ours, theirs = _Kernel("spinney.x._kernels"), _Kernel("elsewhere")
    waiting = Waiting(patience=0.05)
    waiting.on_start(ours)
    waiting.on_end(ours)
    waiting.on_start(theirs)
    time.sleep(0.1)
    waiting.on_end(theirs)
    assert capsys.readouterr().err == ""
    for _ in range(2):
        waiting.on_start(ours)
        waiting.on_start(ours)
        time.sleep(0.2)
        waiting.on_end(ours)
        waiting.on_end(ours)
    assert capsys.readouterr() == ("", "compiling kernels (once for this machine) …\n")


def test_many_short_compilations_are_one_long_one(capsys):
    kernel = _Kernel("spinney.x._kernels")
    waiting = Waiting(patience=0.1)
    for _ in range(5):
        waiting.on_start(kernel)
        time.sleep(0.05)
        waiting.on_end(kernel)
    assert capsys.readouterr().err.count("compiling") == 1


def test_a_quiet_compilation(capsys):
    progress.configure(quiet=True)
    kernel = _Kernel("spinney.x._kernels")
    waiting = Waiting(patience=0.001)
    waiting.on_start(kernel)
    time.sleep(0.05)
    waiting.on_end(kernel)
    assert capsys.readouterr().err == ""


def test_rich_is_not_imported_before_a_bar_is_shown():
    code = (
        "import sys; from spinney import progress\n"
        "with progress.task('x') as task: task.update()\n"
        "print('rich' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
