"""The documentation runs: each page's Python blocks as doctests and console blocks as commands, in their order.

What the quick starts show of their output is compared with it: they come with their own files, whereas other pages use
Python's manual, which differs from version to version.
"""

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
    shown = "|text" if "quickstart" in page.parts else ""
    block = rf"^```(?:(python|console{shown})|\{{code-block\}} text\n:caption: (\S+)\n)\n(.*?)^```"
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
    told = ""
    for number, (language, text) in enumerate(_blocks(page), 1):
        if language == "python":
            _run_doctest(text, f"{page.name}, block {number}", names)
        elif language == "text":
            for line in filter(str.strip, text.splitlines()):
                assert any(_alike(line, other) for other in told.splitlines()), f"not printed: {line}"
        elif language != "console":
            Path(language).write_text(text)
        else:
            commands = re.findall(r"^\$ (.*(?:\n> .*)*)", text, re.M)
            told = "\n".join(
                _run_command(command.replace("\n> ", "\n"), environment, capsys, texts, monkeypatch)
                for command in commands
            )


def _alike(line, other):
    """Whether two lines have the same words, and numbers that differ by 1 % at most."""
    words, others = line.split(), other.split()
    return len(words) == len(others) and all(
        a == b or (_is_number(a) and _is_number(b) and float(a) == pytest.approx(float(b), rel=0.01))
        for a, b in zip(words, others)
    )


def _is_number(word):
    return re.fullmatch(r"[-+]?\d+\.\d+", word) is not None


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
    """Run a command, and return what it prints; our own in this process, for to start Python so often takes minutes."""
    if command == "spinney demo --texts texts":
        shutil.copytree(texts, "texts")
        return ""
    ours = _of_spinney(command)
    if ours is None:
        return _run_in_shell(command, environment)
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
    return told.out


def _run_in_shell(command, environment):
    shell = shutil.which("bash") or "/bin/sh"
    done = subprocess.run([shell, "-c", command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
