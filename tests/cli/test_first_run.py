"""What a new user meets: the doctor, completion, and suggestions for what is misspelt."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from spinney.cli import doctor_compile
from spinney.cli.completion import SCRIPTS, candidates
from spinney.cli.tasks import COMMANDS, TASKS, every_verb
from spinney.cli.verbs import names_of


def test_the_doctor_tells_what_there_is(facts):
    found = facts("doctor")
    assert set(found) == {
        "versions", "platform", "processors", "cards", "kernels", "extras", "folders", "terminal", "problems",
    }  # fmt: skip
    assert all(found["versions"].values())
    assert found["processors"]["threads"] >= 1
    assert {pool["library"] for pool in found["processors"]["blas"]}
    assert found["kernels"]["kernels"] > 200
    assert found["kernels"]["compiled"] <= found["kernels"]["kernels"]
    assert found["extras"]["tune"]["install"] == "pip install 'spinney[tune]'"
    assert found["folders"]["TMPDIR"]["free_bytes"] > 0
    assert not any(problem["broken"] for problem in found["problems"])


def test_the_doctor_speaks_to_people(spinney):
    code, out, err = spinney("doctor")
    assert (code, err) == (0, "")
    for title in ("Versions", "Platform", "Processors", "Kernels", "Extras", "Folders", "Terminal"):
        assert title in out


def test_the_doctor_tells_problems_with_a_remedy(spinney, monkeypatch, tmp_path):
    monkeypatch.setenv("SPINNEY_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    code, out, _ = spinney("doctor", "--json")
    problems = {problem["what"]: problem["remedy"] for problem in json.loads(out)["problems"]}
    assert code == 0  # nothing of that is broken
    assert any("SPINNEY_DATA" in what for what in problems)
    assert "unset NUMBA_DISABLE_JIT" in problems.values()


def test_the_doctor_names_graphics_cards(spinney, monkeypatch):
    from spinney.classes import card
    from spinney.cli import doctor

    monkeypatch.setattr(card, "has_driver", lambda: True)
    monkeypatch.setattr(card, "cards", lambda: ["Card A", "Card B"])
    assert "Card B" in spinney("doctor")[1]
    monkeypatch.setattr(card, "cards", list)
    monkeypatch.setitem(doctor._EXTRAS, "gpu", ("json", "a module that is there"))
    code, out, _ = spinney("doctor", "--json")
    assert code == 0
    assert any("no graphics card" in problem["what"] for problem in json.loads(out)["problems"])


def test_what_is_broken_ends_with_1(spinney, monkeypatch):
    def nowhere(path):
        raise RuntimeError("cannot cache function 'f': no locator available")

    monkeypatch.setattr(doctor_compile, "_folder_of", nowhere)
    code, out, _ = spinney("doctor", "--json")
    assert code == 1
    (problem,) = [problem for problem in json.loads(out)["problems"] if problem["broken"]]
    assert "NUMBA_CACHE_DIR" in problem["remedy"]


def test_kernels_are_counted_where_numba_keeps_them(tmp_path):
    """A kernel more in the cache is a kernel more for the doctor; one of older source is stale."""
    code = (
        "from spinney.cli.doctor_compile import kernel_cache; import os, json, numpy as np\n"
        "from spinney.classes._pairs_kernels import *\n"
        "from spinney.inference._forest_kernels import depths\n"
        "before = kernel_cache()\n"
        "depths(np.array([0, 2]), np.array([-1, 0], np.int32), np.zeros(2, np.int64))\n"
        "after = kernel_cache()\n"
        "print(json.dumps([before, after]))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    before, after = json.loads(run.stdout)
    assert (before["compiled"], before["bytes"]) == (0, 0)
    assert (after["compiled"], after["stale"]) == (1, 0)
    assert after["folder"].startswith(str(tmp_path))
    assert after["writable"]
    assert after["bytes"] > 0
    (index,) = tmp_path.rglob("*.nbi")
    os.utime(index, (0, 0))
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert json.loads(run.stdout)[0]["stale"] == 1


def test_every_command_that_compiles_is_one(tmp_path):
    """The doctor's small fits name commands and options that exist."""
    verbs = every_verb()
    for line in doctor_compile._COMMANDS.strip().split("\n"):
        task, verb, *rest = line.split()
        if task in TASKS:
            settings = [*verbs[task, verb].output, *verbs[task, verb].every_setting()]
            known = {name for setting in settings for name in names_of(setting)}
            assert {word for word in rest if word.startswith("--")} <= known, line


@pytest.mark.slow
def test_compiling_all(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "spinney", "doctor", "--compile", "--json"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(run.stdout)
    assert found["compiled"]["failed"] == []
    assert found["kernels"]["compiled"] > 0.9 * found["kernels"]["kernels"]


def _ask(*words):
    environment = {**os.environ, "_SPINNEY_COMPLETE": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "spinney", *words], capture_output=True, text=True, check=True, env=environment
    )
    return [line.partition("\t")[0] for line in run.stdout.splitlines()]


def test_completion_by_the_protocol():
    assert _ask("do") == ["doctor"]
    assert _ask("lm", "fit", "train.txt", "--max-w") == ["--max-words"]
    assert _ask("lm", "fit", "train.txt", "--method", "loglinear", "--solver", "") == [
        "words",
        "fista",
        "ista",
        "sage",
    ]


def _values(*words):
    return [value for value, _ in candidates(words)]


def test_what_completes():
    assert _values("") == [*TASKS, *COMMANDS, "--help", "--version"]
    assert _values() == _values("")
    assert _values("lm", "") == list(TASKS["lm"].verbs)
    assert _values("lm", "fit", "--method", "=", "kn") == ["kn", "kn-backoff"]  # as Bash parts --method=kn
    assert _values("lm", "fit", "--method", "=") == _values("lm", "fit", "--method", "")
    assert _values("lm", "fit", "--method=kn") == ["--method=kn", "--method=kn-backoff"]
    assert _values("lm", "init-config", "--method", "kn") == ["kn", "kn-backoff"]
    assert "--solver" in _values("lm", "fit", "--method", "loglinear", "--")
    assert "--solver" not in _values("lm", "fit", "--method", "kn", "--")
    assert "--solver" in _values("lm", "fit", "--")  # of some method
    assert "--solver" in _values("lm", "fit", "--method", "none", "--")
    assert _values("lm", "fit", "") == []  # a file
    assert _values("lm", "fit", "--model", "") == []  # a file
    assert _values("nothing", "") == []
    assert _values("lm", "nothing", "") == []
    assert _values("completion", "") == list(SCRIPTS)
    assert "--no-header" in _values("lm", "fit", "--no")
    assert "--compile" in _values("doctor", "--")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_are_valid(shell, spinney):
    code, script, _ = spinney("completion", shell)
    assert code == 0
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    subprocess.run([program, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no Bash here")
def test_bash_completes(tmp_path, spinney):
    """The script in a real Bash, with the words as readline would give them."""
    program = tmp_path / "spinney"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spinney "$@"\n')
    program.chmod(0o755)
    asked = (
        'COMP_WORDS=(spinney lm fit --method memo); COMP_CWORD=4; _spinney_complete; echo "${COMPREPLY[*]}"\n'
        'COMP_WORDS=(spinney "rep"); COMP_CWORD=1; _spinney_complete; echo "${COMPREPLY[0]}"\n'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-c", spinney("completion", "bash")[1] + asked],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert run.stdout.split() == ["memoizer", "report"]


def test_completion_needs_a_shell_that_it_knows(refused, monkeypatch):
    assert "did you mean bash?" in refused("completion", "bsh")
    monkeypatch.setenv("SHELL", "/bin/sh")
    assert "name the shell: bash, zsh, fish" in refused("completion")


def test_suggestions(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text("a b\n")
    (tmp_path / "tables").mkdir()
    (tmp_path / "table.csv").write_text("text,label\nsome words,b\nother words,d\n")
    model = ("--model", "m")
    for arguments, meant in (
        (("clasify", "fit"), "classify"),
        (("classify", "aply"), "apply"),
        (("classes", "fit", "train.txt", "--modle", "m"), "--model"),
        (("classes", "fit", "train.txt", *model, "--method", "bronw"), "brown"),
        (("classes", "fit", "trian.txt", *model), "train.txt"),
        (("classes", "fit", tmp_path / "trian.txt", *model), tmp_path / "train.txt"),
        (("classes", "fit", "train.txt", *model, "--format", "colums"), "columns"),
        (("classify", "fit", "table.csv", *model, "--penalty", "elasticnt"), "elasticnet"),
        (("classify", "fit", "table.csv", *model, "--label", "lable"), "label"),
        (("classify", "fit", "table.csv", *model, "--on-error", "skp"), "skip"),
        (("classify", "fit", "tabel.csv", *model), "table.csv"),
        (("tag", "fit", "train.txt", *model, "--preset", "chunks"), "chunk"),
        (("lm", "fit", "train.txt", *model, "--method", "memoiser"), "memoizer"),
        (("parse", "fit", "train.txt", *model, "--method", "clusterin"), "clustering"),
        (("embed", "fit", "train.txt", *model, "--method", "topic"), "topics"),
        (("trend", "fit", "table.csv", *model, "--time", "labl"), "label"),
        (("classify", "fit", "tbles/", *model), "tables"),
        (("report", "table.spinney"), "table.csv"),
    ):
        assert f"did you mean {meant}?" in refused(*arguments), arguments
