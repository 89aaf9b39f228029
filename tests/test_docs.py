"""The documentation runs: each page's Python blocks as doctests and console blocks as commands, in their order."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from spinney.cli.main import run

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts),
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _blocks(page):
    """The blocks of a page that run: (language, text), in their order; a file to be saved has its name for language."""
    block = r"^```(?:(python|console)|\{code-block\} text\n:caption: (\S+)\n)\n(.*?)^```"
    found = re.findall(block, page.read_text(), re.M | re.S)
    return [(language or name, text) for language, name, text in found]


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    """What ``spinney demo --texts`` writes, once for all pages."""
    folder = tmp_path_factory.mktemp("sample") / "texts"
    assert run(["demo", "--texts", str(folder), "--json"]) == 0
    return folder


@pytest.mark.parametrize(
    "page", [p for p in PAGES if _blocks(p)], ids=lambda page: str(page.relative_to(ROOT)).removesuffix(".md")
)
def test_page(page, texts, tmp_path, monkeypatch, capsys):
    """Every block runs in one folder, like the cells of a notebook: what one makes, the next can use."""
    for package in re.findall(
        r"[\w.]+", "".join(re.findall(r"^<!-- needs: (.*) -->$", page.read_text(), re.M))
    ):
        pytest.importorskip(package, reason=f"the page needs {package}")
    monkeypatch.chdir(tmp_path)
    names = {}
    environment = _environment(tmp_path)
    for number, (language, text) in enumerate(_blocks(page), 1):
        if language == "python":
            _run_doctest(text, f"{page.name}, block {number}", names)
        elif language != "console":
            Path(language).write_text(text)
        else:
            for command in re.findall(r"^\$ (.*(?:\n> .*)*)", text, re.M):
                _run_command(command.replace("\n> ", "\n"), environment, capsys, texts, monkeypatch)


def _run_doctest(text, name, names):
    assert ">>>" in text, f"{name}: Python blocks of the documentation are written as doctests"
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    output = []
    # What one block names, the next ones know: the runner must not clear it.
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append, clear_globs=False)
    names.update(test.globs)
    assert not output, "".join(output)


def _environment(folder):
    (folder / "bin").mkdir()
    spinney = folder / "bin" / "spinney"
    spinney.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spinney "$@"\n')
    spinney.chmod(0o755)
    return {**os.environ, "PATH": f"{spinney.parent}:{os.environ['PATH']}"}


def _of_spinney(command):
    """What a command of ours that needs no shell consists of, else None.

    That is the command whose output it reads, its own arguments, and the file that takes what it prints.
    """
    source, _, after = command.rpartition(" | ")
    command, arrow, target = after.partition(" > ")
    bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", command)  # in quotes a shell would leave all as it is
    if re.search(r"[|<>;&$`*?~\n]", bare + target) or re.search("[<>;&]|spinney", source):
        return None
    words = shlex.split(command)
    return (source, words[1:], target.strip() if arrow else None) if words[0] == "spinney" else None


def _run_command(command, environment, capsys, texts, monkeypatch):
    """Run a command; our own in this process, for to start Python a hundred times takes minutes."""
    if command == "spinney demo --texts texts":
        shutil.copytree(texts, "texts")
        return
    ours = _of_spinney(command)
    if ours is None:
        _run_in_shell(command, environment)
        return
    source, arguments, target = ours
    with monkeypatch.context() as patch, ExitStack() as closing:
        if source:
            Path(".input").write_text(_run_in_shell(source, environment))
            patch.setattr(sys, "stdin", closing.enter_context(open(".input", encoding="utf-8")))
        capsys.readouterr()
        code = run(arguments)
    told = capsys.readouterr()
    assert code == 0, f"{command}\n{told.out}\n{told.err}"
    if target:
        Path(target).write_text(told.out)


def _run_in_shell(command, environment):
    shell = shutil.which("bash") or "/bin/sh"
    done = subprocess.run([shell, "-c", command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
