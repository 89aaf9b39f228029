"""A server as a process: it starts, answers, ends what it began, and says by its code how it was stopped."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("uvicorn")

from spinney.cli.main import run

STOPS = [
    pytest.param(signal.SIGTERM, 143, "terminated", id="term"),
    pytest.param(signal.SIGINT, 130, "interrupted", id="int", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("number", "code", "word"), STOPS)
def test_start_request_stop(files, number, code, word):
    words = ["serve", files["Clustering"], files["Groups"], "--port", "0", "--json"]
    words = [sys.executable, "-m", "spinney", *words]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            told = json.loads(process.stdout.readline())
            assert told["models"] == ["Clustering", "Groups"]
            assert told["url"].startswith("http://127.0.0.1:")
            request = urllib.request.Request(
                told["url"] + "/models/Clustering/apply",
                json.dumps({"text": "the dog"}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=120) as answer:
                assert json.load(answer)["sentences"][0]["words"] == ["the", "dog"]
                assert "server" not in answer.headers
            process.send_signal(number)
            assert process.wait(timeout=120) == code
            assert process.stdout.read() == ""
            assert process.stderr.read() == f"spinney: {word}\n"
        finally:
            process.kill()


def test_a_port_that_is_taken(files, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", files["Groups"], "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert (
        f"cannot listen on 127.0.0.1:{port}: address already in use (choose another --port or --host)" in said
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--max-body", "much"], "--max-body must be a size up to 1G"),
        (["--max-body", "0"], "--max-body must be a size up to 1G"),
        (["--host", "no.such.name.invalid", "--port", "1"], "cannot listen on no.such.name.invalid:1"),
        (["--port", "70000"], "--port must be at most 65,535"),
        (["--timeout", "0"], "--timeout must be greater than 0"),
    ],
)
def test_options_that_cannot_be(files, words, said, capsys):
    assert run(["serve", files["Groups"], *words]) == 2
    assert said in capsys.readouterr().err


def test_a_missing_extra_is_named(files, monkeypatch, capsys):
    monkeypatch.setattr("spinney.serve.running.find_spec", lambda name: None)
    assert run(["serve", files["Groups"]]) == 2
    assert "pip install 'spinney[serve]'" in capsys.readouterr().err
