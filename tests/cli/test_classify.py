"""``spinney classify``: every verb on every format, and one clear line for each mistake."""

import functools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from spinney.cli.main import run
from spinney.corpus import sample_documents
from spinney.files import write_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The sample corpus as a folder of two classes."""
    root = tmp_path_factory.mktemp("manual")
    for document in sample_documents():
        if document.label in ("statements", "objects"):
            place = root / document.label
            place.mkdir(exist_ok=True)
            (place / f"{document.id}.txt").write_text(document.text)
    return root


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = [
        "good fun,pos",
        '"great, great fun",pos',
        "dull film,neg",
        "bad and dull,neg",
        "long and slow,neg",
    ]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


@pytest.fixture
def model(tmp_path, table, spinney):
    path = tmp_path / "reviews.spinney"
    assert (
        spinney("classify", "fit", table, "--model", path, "--features", "counts", "--lam", 0.1, "--quiet")[0]
        == 0
    )
    return path


def test_a_folder_from_fit_to_inspect(spinney, folder, tmp_path):
    path = tmp_path / "m.spinney"
    code, out, _ = spinney(
        "classify", "fit", folder, "--model", path, "--penalty", "l1", "--lam-ratio", 0.05, "--json"
    )
    assert code == 0
    facts = json.loads(out)
    assert facts["violation"] <= 1e-5
    assert 0 < facts["active"] < facts["parameters"]
    code, out, _ = spinney("classify", "eval", path, folder, "--json")
    scores = json.loads(out)
    assert code == 0
    assert scores["accuracy"] > 0.9
    assert {"f1", "log_loss", "active"} <= scores.keys()
    code, out, _ = spinney("classify", "inspect", path, "--top", 5)
    assert code == 0
    assert "statements" in out
    assert "objects" in out
    assert json.loads(spinney("classify", "inspect", path, "--json")[1])["strongest"]["statements"]


def test_human_tables(spinney, folder, table, model):
    for command in (
        ["fit", table, "--model", model],
        ["eval", model, table],
        ["inspect", model],
        ["path", table, "--dev", table],
    ):
        code, out, _ = spinney("classify", *command)
        assert code == 0
        assert len(out.splitlines()) > 4


def test_cross_validation_and_resuming(spinney, folder, tmp_path):
    path = tmp_path / "m.spinney"
    code, out, _ = spinney("classify", "fit", folder, "--model", path, "--cv", 3, "--json", "--threads", 2)
    assert code == 0
    lam = json.loads(out)["lam"]
    code, out, _ = spinney(
        "classify", "fit", folder, "--model", tmp_path / "b.spinney", "--lam", lam, "--init", path, "--json"
    )
    assert code == 0
    assert json.loads(out)["iterations"] <= 1  # nothing was left to do


def test_path(spinney, folder):
    code, out, _ = spinney("classify", "path", folder, "--dev", folder, "--points", 6, "--json")
    rows = json.loads(out)["points"]
    assert code == 0
    assert len(rows) == 6
    assert rows[0]["active"] == 0
    assert rows[-1]["dev_accuracy"] > 0.9


def test_apply_to_lines_tables_and_standard_input(spinney, model, table, tmp_path, monkeypatch):
    lines = tmp_path / "new.txt"
    lines.write_text("what fun\n\nso dull\n")
    assert spinney("classify", "apply", model, lines) == (0, "1\tpos\n2\tneg\n3\tneg\n", "")
    code, out, _ = spinney("classify", "apply", model, table, "--proba")
    assert code == 0
    assert out.splitlines()[0] == "id\tlabel\tneg\tpos"
    rows = json.loads(spinney("classify", "apply", model, lines, "--proba", "--json")[1])["predictions"]
    assert [row["label"] for row in rows] == ["pos", "neg", "neg"]
    assert sum(rows[0]["proba"].values()) == pytest.approx(1.0)
    target = tmp_path / "labels.tsv"
    assert spinney("classify", "apply", model, lines, "--output", target)[0] == 0
    assert target.read_text() == "1\tpos\n2\tneg\n3\tneg\n"


def test_apply_reads_standard_input_and_stops_with_its_reader(model):
    command = [sys.executable, "-m", "spinney", "classify", "apply", str(model), "-"]
    out = subprocess.run(command, input="what fun\n", capture_output=True, text=True, check=True)
    assert out.stdout == "1\tpos\n"


def test_svmlight_and_regression(spinney, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    dump_svmlight_file(X, X[:, 0] * 2 + 1, str(tmp_path / "d.svm"), zero_based=False)
    path = tmp_path / "m.spinney"
    assert (
        spinney(
            "classify", "fit", tmp_path / "d.svm", "--model", path, "--regression", "--lam", 0.01, "--quiet"
        )[0]
        == 0
    )
    scores = json.loads(spinney("classify", "eval", path, tmp_path / "d.svm", "--json")[1])
    assert scores["r2"] > 0.99
    assert json.loads(spinney("classify", "inspect", path, "--json")[1])["strongest"]["value"][0][0] == "1"


def test_groups_from_a_file(spinney, table, tmp_path):
    groups = tmp_path / "groups.json"
    groups.write_text(
        json.dumps(
            {
                "groups": [
                    {"name": "joy", "members": ["fun", "good", "great"]},
                    {"name": "woe", "members": ["bad", "dull"]},
                ]
            }
        )
    )
    path = tmp_path / "m.spinney"
    command = [
        "classify",
        "fit",
        table,
        "--model",
        path,
        "--features",
        "counts",
        "--penalty",
        "group",
        "--lam",
        0.3,
        "--groups",
        groups,
    ]
    assert spinney(*command, "--quiet")[0] == 0
    found = json.loads(spinney("classify", "inspect", path, "--json")[1])["groups"]
    assert {group["name"] for group in found["selected"] + found["removed"]} == {"joy", "woe"}
    groups.write_text('{"groups": [{"members": ["unicorn"]}]}')
    code, _, err = spinney(*command)
    assert code == 2
    assert "unicorn" in err


def _refused(result, *needles):
    code, out, err = result
    assert code == 2, err
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    for needle in needles:
        assert needle in err, err


def test_mistakes_get_one_line(spinney, table, folder, model, tmp_path):
    def fit(*arguments):
        target = tmp_path / "never.spinney"
        result = spinney("classify", "fit", *arguments, "--model", target)
        assert not target.exists()
        return result

    def file(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    _refused(fit(tmp_path / "nowhere.csv"), "nowhere.csv")
    _refused(fit(file("empty.csv", "")), "empty.csv", "empty")
    _refused(fit(file("header.csv", "text,label\n")), "header.csv", "no documents")
    _refused(fit(file("hole.csv", "text,label\na,x\n,y\n")), "hole.csv:3", "empty", "--on-error")
    _refused(fit(file("one.csv", "text,label\nsome words,x\nmore words,x\n")), "one class")
    _refused(fit(file("ragged.csv", "text,label\na b,x\nc d,y,z\n")), "ragged.csv:3")
    _refused(
        fit(file("latin.csv", "text,label\ncaf\xe9,x\nthe,y\n".encode("latin-1"))),
        "latin.csv:2",
        "the encoding latin-1",
    )
    _refused(fit(table, "--text", "body"), "body", "text")
    _refused(fit(file("nan.svm", "1 1:nan\n0 1:2\n")), "nan.svm")
    _refused(fit(file("bad.svm", "1 1:2\n0 x:2\n")), "bad.svm:2")
    _refused(fit(file("notes.txt", "no labels here\n")), "notes.txt", "labels")
    _refused(fit(table, "--lam", -1), "--lam must be at least 0, not -1")
    _refused(fit(table, "--lam", 1, "--cv", 3), "--cv")
    _refused(fit(table, "--penalty", "lasso"), "no penalty 'lasso'")
    _refused(fit(table, "--penalty", "group"), "needs groups")
    _refused(fit(table, "--solver", "magic"), "--solver must be auto, cd", "'magic'")
    _refused(fit(table, "--features", "words"), "tfidf")
    _refused(fit(table, "--min-count", 99), "--min-count")
    _refused(fit(table, "--regression"), "not a number")
    _refused(fit(table, "--on-error", "shrug"), "--on-error")
    _refused(fit(table, "--unknown"), "--unknown")
    _refused(
        spinney("classify", "fit", table, "--model", tmp_path / "no" / "such" / "m.spinney"), "no such folder"
    )
    _refused(spinney("classify", "fit", table), "--model")
    for bad in ([[0, 99]], [[-1]]):
        groups = file("groups.json", json.dumps({"groups": [{"members": members} for members in bad]}))
        _refused(fit(table, "--penalty", "group", "--groups", groups), "groups.json")
    crossing = {"groups": [{"members": ["fun", "good"]}, {"members": ["good", "dull"]}]}
    crossed = file("crossing.json", json.dumps(crossing))
    _refused(fit(table, "--penalty", "tree-l2", "--groups", crossed), "group")
    _refused(fit(table, "--penalty", "group", "--groups", crossed), "group")
    weights = file("weights.json", '{"groups": [{"members": ["fun"], "weight": -1}]}')
    _refused(fit(table, "--penalty", "group", "--groups", weights), "weights.json")


def test_mistakes_with_models(spinney, table, model, folder, tmp_path):
    tagger = tmp_path / "tagger.spinney"
    write_model(tagger, "tag/Tagger", {}, {})
    _refused(spinney("classify", "eval", tagger, table), "tagger.spinney", "classify")
    _refused(spinney("classify", "inspect", table), "reviews.csv")
    _refused(spinney("classify", "apply", tmp_path / "no.spinney", table), "no.spinney")
    truncated = tmp_path / "half.spinney"
    truncated.write_bytes(model.read_bytes()[:100])
    _refused(spinney("classify", "inspect", truncated), "half.spinney")
    _refused(spinney("classify", "eval", model, folder), "no label was seen in training", "it was trained on")
    (tmp_path / "d.svm").write_text("1 1:2\n")
    _refused(spinney("classify", "apply", model, tmp_path / "d.svm"), "d.svm", "text")


def test_skipping_what_is_bad(spinney, tmp_path, model):
    path = tmp_path / "holes.csv"
    path.write_text("text,label\ngood fun,pos\n,pos\nragged,row,here\ndull,neg\nwhat,unheard-of\n")
    code, out, _ = spinney("classify", "eval", model, path, "--on-error", "skip", "--json")
    scores = json.loads(out)
    assert code == 0
    assert scores["documents"] == 3
    assert scores["skipped"] == 2
    assert scores["unseen_labels"] == ["unheard-of"]
    assert scores["log_loss"] is None  # a label without a probability


def test_labels_never_seen_are_errors(spinney, tmp_path, model):
    path = tmp_path / "more.csv"
    path.write_text("text,label\ngood fun,pos\ndull,neg\nwhat,unheard-of\n")
    known = tmp_path / "known.csv"
    known.write_text("text,label\ngood fun,pos\ndull,neg\n")
    scores, right = (json.loads(spinney("classify", "eval", model, p, "--json")[1]) for p in (path, known))
    assert scores["accuracy"] == pytest.approx(right["accuracy"] * 2 / 3)
    assert (scores["unseen_labels"], right["unseen_labels"]) == (["unheard-of"], [])
    code, out, _ = spinney("classify", "eval", model, path)
    assert code == 0
    assert "Never seen in training: unheard-of" in out
    page = tmp_path / "page.html"
    assert spinney("report", model, "--data", path, "-o", page)[0] == 0
    assert "unheard-of" in page.read_text()


def test_interrupting_saves_what_was_learnt(folder, tmp_path):
    target = tmp_path / "m.spinney"
    command = [sys.executable, "-m", "spinney", "classify", "fit", str(folder), "--model", str(target)]
    command += [
        "--solver",
        "sgd",
        "--penalty",
        "l2",
        "--lam",
        "0.001",
        "--tol",
        "1e-300",
        "--max-iter",
        "100000000",
    ]
    # A shell that runs the tests in the background lets its children ignore interrupts.
    listen = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    for seconds in (3, 10, 30, 90):  # a busy machine may not have begun to fit
        process = subprocess.Popen(command, preexec_fn=listen, **pipes)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        if target.exists():
            break
    assert target.exists()
    assert "Traceback" not in err
    assert run(["classify", "inspect", str(target), "--quiet"]) == 0


def test_help_and_version(spinney):
    assert spinney("--version")[1].startswith("spinney ")
    for verb in ("fit", "apply", "eval", "inspect", "path"):
        code, out, _ = spinney("classify", verb, "--help")
        assert code == 0
        assert "--json" in out


def test_unwritable_output_keeps_the_old_one(spinney, model, table, tmp_path):
    before = model.read_bytes()
    _refused(spinney("classify", "fit", table, "--model", model, "--min-count", 99))
    assert model.read_bytes() == before
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")] == []
