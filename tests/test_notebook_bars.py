"""Bars in a notebook: one output for each cell, rewritten in place, and empty in the end."""

import sys
from types import SimpleNamespace

import pytest

from spinney import notebook_bars, progress


class Notebook:
    """What IPython is to a kernel, as far as bars need it: outputs in the order of cells."""

    def __init__(self, monkeypatch):
        self.outputs = []  # for each handle, what it showed
        self.shell = SimpleNamespace(kernel=object(), execution_count=1)
        self.display = SimpleNamespace(DisplayHandle=self._handle)
        monkeypatch.setitem(sys.modules, "IPython", self)
        monkeypatch.setattr(notebook_bars, "_last", None)
        monkeypatch.setattr(progress, "_quiet", False)
        monkeypatch.setattr(progress, "_PATIENCE", 0.0)
        monkeypatch.setattr(progress, "_PAUSE", 0.0)

    def get_ipython(self):
        return self.shell

    def _handle(self):
        shown = []
        self.outputs.append(shown)
        write = lambda data, raw: shown.append(data)  # noqa: E731
        return SimpleNamespace(display=write, update=write)


@pytest.fixture
def notebook(monkeypatch):
    return Notebook(monkeypatch)


def _work(name="fitting", total=3):
    with progress.task(name, total=total) as task:
        for i in range(3):
            task.update(1, note=f"objective < {i}")


def test_a_bar_leaves_no_trace(notebook, capsys):
    _work("<b>fitting</b>")
    (shown,) = notebook.outputs
    bars = [data["text/html"] for data in shown if data.get("text/html")]
    assert 'value="2" max="3"' in bars[1]
    assert "&lt;b&gt;fitting&lt;/b&gt;" in bars[1]
    assert "2/3 · 0:00 · objective &lt; 1" in bars[1]
    assert shown[-1] == {}
    assert capsys.readouterr() == ("", "")


def test_a_cell_has_one_output_for_all_bars(notebook):
    _work()
    _work(total=None)
    assert len(notebook.outputs) == 1
    assert notebook.outputs[0][-1] == {}
    notebook.shell.execution_count = 2
    _work()
    assert len(notebook.outputs) == 2


def test_bars_at_the_same_time(notebook):
    with progress.task("outer", total=2) as outer:
        outer.update()
        _work("inner")
        assert notebook.outputs[0][-2]["text/html"].count("<progress") <= 2
        both = [
            data["text/html"]
            for data in notebook.outputs[0]
            if data.get("text/html", "").count("<progress") == 2
        ]
        assert both
        assert "inner" not in notebook.outputs[0][-1]["text/html"]


def test_quiet_stays_quiet(notebook, monkeypatch):
    monkeypatch.setattr(progress, "_quiet", True)
    _work()
    assert notebook.outputs == []


def test_lines_of_the_log_are_printed(notebook, capsys):
    with progress.task("fitting", total=3) as task:
        task.update()
        progress.say("compiling")
    assert capsys.readouterr().err == "compiling\n"


def test_a_terminal_of_ipython_is_no_notebook(notebook):
    del notebook.shell.kernel
    assert not notebook_bars.in_notebook()
    notebook.shell = None
    assert not notebook_bars.in_notebook()
