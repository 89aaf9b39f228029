"""``apply`` on standard input: each line is answered when it arrives, and memory does not grow with the text."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading

import pytest

import spinney
from spinney.corpus.waiting import in_batches
from spinney.settings.embed import Apply as EmbedApply

SENTENCES = [
    "the dog barks",
    "a cat sleeps",
    "the cat barks",
    "a dog sleeps",
    "the dog sleeps",
    "a cat barks",
] * 5
ROWS = ["good fun,pos,1999", "great fun,pos,2000", "dull film,neg,1999", "bad and dull,neg,2000"] * 4


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of every task that reads sentences or documents."""
    from spinney.cli.main import run

    folder = tmp_path_factory.mktemp("models")
    (folder / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    (folder / "table.csv").write_text("\n".join(["text,label,time", *ROWS]) + "\n")
    tagged = ("\n".join(f"{word} {word[0].upper()}" for word in line.split()) + "\n" for line in SENTENCES)
    (folder / "columns.txt").write_text("\n".join(tagged))
    fits = {
        "lm": ["text.txt", "--order", "2"],
        "classes": ["text.txt", "--classes", "3"],
        "tag": ["columns.txt", "--preset", "pos", "--max-iter", "5"],
        "classify": ["table.csv", "--features", "counts", "--lam", "0.1"],
        "trend": ["table.csv", "--label", "label", "--method", "ridge-ts"],
        "embed": ["text.txt", "--method", "topics", "--topics", "2", "--min-count", "1", "--stop-words", "0"],
    }
    made = {}
    for task, (train, *options) in fits.items():
        made[task] = str(folder / f"{task}.spinney")
        code = run([task, "fit", str(folder / train), "--model", made[task], *options, "--quiet"])
        assert code == 0, task
    return made


APPLY = [
    ("lm", {}, "the dog barks\n"),
    ("classes", {}, "the dog barks\n"),
    ("tag", {"format": "columns"}, "the\ndog\n\n"),
    ("tag", {"format": "lines"}, "the dog barks\n"),
    ("classify", {}, "good fun\n"),
    ("embed", {}, "the dog barks\n"),
    ("trend", {"format": "lines", "time": None, "at": "2001"}, "good fun\n"),
]


@pytest.mark.parametrize(("task", "options", "line"), APPLY)
def test_each_line_is_answered_when_it_arrives(models, monkeypatch, task, options, line):
    """The writing end of the pipe stays open: whoever waits for more input waits for ever."""
    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reading))
    records = iter(spinney.load(models[task]).apply("-", **options))
    found = []

    def ask() -> None:
        for _ in range(2):
            os.write(writing, line.encode())
            found.append(next(records))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(60)
    answered = len(found)
    os.close(writing)
    asking.join(60)
    assert answered == 2


def test_a_program_that_is_asked_line_by_line(models):
    command = [sys.executable, "-m", "spinney", "classify", "apply", models["classify"], "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        for number, (line, label) in enumerate([("great fun", "pos"), ("dull", "neg")], 1):
            program.stdin.write(line + "\n")
            program.stdin.flush()
            assert program.stdout.readline() == f"{number}\t{label}\n"
        program.stdin.close()
    assert program.returncode == 0


@pytest.mark.parametrize("task", ["classify", "lm"])
def test_a_closed_pipe_ends_the_program(models, task):
    """``yes copy | spinney classify apply m - | head -1``."""
    command = [sys.executable, "-m", "spinney", task, "apply", models[task], "-"]
    with (
        subprocess.Popen(["yes", "copy"], stdout=subprocess.PIPE) as endless,
        subprocess.Popen(
            command, stdin=endless.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as program,
    ):
        assert program.stdout.readline()
        program.stdout.close()
        assert program.wait(60) == 0
        assert program.stderr.read() == b""
        endless.terminate()


def test_an_endless_sentence_is_one_line_of_complaint(models):
    """``yes copy | spinney tag apply m - | head -1``."""
    command = [sys.executable, "-m", "spinney", "tag", "apply", models["tag"], "-"]
    with subprocess.Popen(["yes", "copy"], stdout=subprocess.PIPE) as endless:
        limits = {**os.environ, "SPINNEY_MAX_LINE": "1M"}
        done = subprocess.run(
            command, stdin=endless.stdout, capture_output=True, text=True, timeout=60, env=limits
        )
        endless.terminate()
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "spinney: -:1: no blank line in the 1 MB from here on "
        "(is this the right format? If so, set SPINNEY_MAX_LINE to more)\n"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("many.txt", "good fun\ndull film\n\n" * 1500),
        ("many.csv", "text\n" + "good fun\ndull film\n" * 1500),
        ("many.mrg", "(X (A good) (B fun))\n(X (A dull)\n (B film))\n" * 1500),
    ],
)
def test_the_answers_are_those_of_all_documents_at_once(models, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    model = spinney.load(models["classify"])
    format = {".txt": "lines", ".csv": "csv", ".mrg": "trees"}[path.suffix]
    found = list(model.apply(str(path), format=format, proba=True))
    whole = ["good fun", "dull film", *([""] if format == "lines" else [])] * 1500
    assert [record["label"] for record in found] == model.predict(whole).tolist()
    chances = model.predict_proba(whole).tolist()
    assert [list(record["proba"].values()) for record in found] == chances
    assert len({record["id"] for record in found}) == len(whole)


def test_documents_that_cannot_be_read_are_counted(models, tmp_path, caplog):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good fun\n\xff\xfe\ndull film\n")
    applied = spinney.load(models["classify"]).apply(str(path), on_error="skip")
    assert [(record["id"], record["label"]) for record in applied] == [("1", "pos"), ("3", "neg")]
    assert applied.facts == {"skipped": 1}
    assert "1 documents were skipped, the first:" in caplog.text


def test_topics_in_batches_are_those_of_all_documents(models, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("\n".join(SENTENCES * 60) + "\nnothing known here\n")
    model = spinney.load(models["embed"])
    records = list(model.apply(str(path), EmbedApply()))
    assert [record["id"] for record in records] == [str(i + 1) for i in range(len(SENTENCES) * 60 + 1)]
    first = records[: len(SENTENCES)]
    assert all(record["topics"] == records[len(SENTENCES) + i]["topics"] for i, record in enumerate(first))


def test_json_of_standard_input(models, monkeypatch, capsys):
    from spinney.cli.main import run

    stdin = io.TextIOWrapper(io.BytesIO(b"great fun\ndull\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run(["classify", "apply", models["classify"], "-", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [record["label"] for record in found["predictions"]] == ["pos", "neg"]
    assert found["skipped"] == 0


def test_batches_do_not_wait(monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reading))
    os.write(writing, b"a\nb\n")
    batches = in_batches(iter(sys.stdin.readline, ""), 100, "-")
    assert next(batches) == ["a\n"]  # the other is in Python's buffer, where nobody can see it
    assert next(batches) == ["b\n"]
    os.write(writing, b"c\n")
    os.close(writing)
    assert list(batches) == [["c\n"]]


def test_blank_lines_without_end_are_not_kept(models, tmp_path):
    path = tmp_path / "blank.txt"
    path.write_text("\n" * 600_000)
    applied = spinney.load(models["tag"]).apply(str(path))
    texts = [applied.text(record) for record in applied]
    assert len(texts) > 1
    assert "".join(texts) == path.read_text()
