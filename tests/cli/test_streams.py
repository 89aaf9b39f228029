"""Standard input, output and error that are full, closed, of another encoding, or a terminal."""

import json
import os
import pty
import subprocess
import sys

import pytest

WORD = "naïve\x1b]0;owned\x07\x9b31m"


@pytest.fixture
def model(tmp_path, monkeypatch, spinney):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text(f"the {WORD} dog\n" * 10)
    assert spinney("lm", "fit", "text", "--model", "model", "--order", "2", "--quiet")[0] == 0
    return "model"


def run(*arguments, environment=None, **streams):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(
        [sys.executable, "-m", "spinney", *arguments], env={**os.environ, **(environment or {})}, **streams
    )


@pytest.mark.parametrize(
    "arguments", [["apply", "model", "text"], ["inspect", "model"], ["inspect", "model", "--json"]]
)
def test_a_full_disk_behind_standard_output(model, arguments):
    with open("/dev/full", "w") as full:
        done = run("lm", *arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr == b"spinney: standard output: cannot be written: No space left on device\n"


def test_closed_streams(model):
    done = run("lm", "inspect", "model", preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr == b"spinney: standard output: cannot be written: Bad file descriptor\n"
    assert run("lm", "inspect", "model", preexec_fn=lambda: os.close(2)).returncode == 0
    assert run("lm", "apply", "model", "-", preexec_fn=lambda: os.close(0)).returncode == 0


def test_a_model_never_takes_the_place_of_a_closed_stream(model):
    """The first file that is opened gets the lowest free number; what is printed must not go into it."""
    done = run(
        "lm", "fit", "text", "--model", "new", "--order", "2", preexec_fn=lambda: (os.close(1), os.close(2))
    )
    assert done.returncode == 2
    assert run("lm", "inspect", "new").returncode == 0


def test_words_are_utf8_in_every_locale(model):
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("lm", "apply", "model", "text", environment=plain)
    assert done.returncode == 0
    assert "naïve".encode() in done.stdout


def test_the_name_of_a_file_may_be_no_text(model):
    name = b"m\xff.spinney"
    done = run("lm", "fit", "text", "--model", os.fsdecode(name), "--order", "2", "--json", "--quiet")
    assert done.returncode == 0
    assert os.fsencode(json.loads(done.stdout)["model"]) == name


def on_terminal(*arguments):
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    done = run(*arguments, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            written += chunk
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    return done.returncode, written


@pytest.mark.parametrize(
    "arguments",
    [
        ["lm", "apply", "model", "text"],
        ["lm", "apply", "model", "text", "--json"],
        ["lm", "inspect", "model", "--context", f"the {WORD}"],
        ["lm", "inspect", WORD],
    ],
)
def test_words_and_names_do_not_command_a_terminal(model, arguments):
    _, written = on_terminal(*arguments)
    assert b"\x1b]" not in written
    assert b"\x07" not in written
    assert "\x9b".encode() not in written
    assert b"Traceback" not in written


def test_what_is_piped_is_as_it_was(model):
    """Only a terminal obeys control characters; a file gets the words themselves."""
    assert WORD.encode() in run("lm", "apply", "model", "text").stdout


def test_little_address_space_is_told_before_a_library_aborts(model):
    resource = pytest.importorskip("resource")
    limit = 600 << 20
    done = run(
        "lm", "inspect", "model", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"ulimit -v" in done.stderr
