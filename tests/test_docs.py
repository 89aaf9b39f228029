"""The documentation runs: Python blocks as doctests, console blocks as commands."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spinney.cli.main import run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join(_blocks(page, "python"))
    if ">>>" not in text:
        assert not _blocks(page, "python"), "Python blocks of the documentation are written as doctests"
        return
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    output = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)
    assert not output, "".join(output)


def _of_spinney(command):
    """The arguments of a command of ours that needs no shell; else None."""
    if re.search(r"[|<>;&$`*?~\n]", command):
        return None
    words = shlex.split(command)
    return words[1:] if words[0] == "spinney" else None


@pytest.mark.parametrize("page", [p for p in PAGES if _blocks(p, "console")], ids=lambda page: page.name)
def test_console_blocks(page, tmp_path, monkeypatch, capsys):
    """Every ``$ command`` ends well, in one folder, in the order of the page.

    Our own run in this process, as the tests of the command line do: starting Python a hundred times takes minutes.
    """
    (tmp_path / "bin").mkdir()
    spinney = tmp_path / "bin" / "spinney"
    spinney.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spinney "$@"\n')
    spinney.chmod(0o755)
    environment = {**os.environ, "PATH": f"{spinney.parent}:{os.environ['PATH']}"}
    shell = shutil.which("bash") or "/bin/sh"
    monkeypatch.chdir(tmp_path)
    for block in _blocks(page, "console"):
        for command in re.findall(r"^\$ (.*(?:\n> .*)*)", block, re.M):
            command = command.replace("\n> ", "\n")
            arguments = _of_spinney(command)
            if arguments is not None:
                code = run(arguments)
                told = capsys.readouterr()
                assert code == 0, f"{command}\n{told.out}\n{told.err}"
                continue
            done = subprocess.run(
                [shell, "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
