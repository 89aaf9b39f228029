"""``spinney trend``: every verb on every kind of dated documents, and one clear line for each mistake."""

import functools
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from spinney.cli.main import run

TASK = "trend"
WORDS = np.array(["war", "peace", "trade", "oil", "tax", "farm"])


@pytest.fixture(scope="module")
def rows():
    """Speeches of 1900 to 1959, two a year: war fades, trade rises, one party speaks of tax, oil costs ever more."""
    rng = np.random.default_rng(0)
    found = []
    for year in range(1900, 1960):
        t = (year - 1900) / 60
        for party in ("Left", "Right"):
            weights = np.array([3 - 2 * t, 1.0, 1 + 2 * t, 1.0, 3.0 if party == "Right" else 0.5, 1.0])
            drawn = rng.choice(WORDS, size=30, p=weights / weights.sum())
            cost = (1 + t) * np.count_nonzero(drawn == "oil") + 0.1 * rng.standard_normal()
            found.append((year, party, round(cost, 3), year % 7, " ".join(drawn)))
    return found


@pytest.fixture
def table(tmp_path, rows):
    path = tmp_path / "speeches.csv"
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(["time,party,cost,luck,text", *lines]) + "\n")
    return path


def _model(run_fit, table, tmp_path, *how):
    path = tmp_path / "m.spinney"
    facts = run_fit("fit", table, "--model", path, "--every", 10, *how)
    return path, facts


# ---------------------------------------------------------------------------------------------- the tasks


def test_text_over_time(facts, table, tmp_path):
    path, fitted = _model(facts, table, tmp_path, "--init", "ridge-ts")
    assert (fitted["task"], fitted["times"], fitted["first"], fitted["last"]) == ("text", 6, "1900", "1950")
    assert fitted["parameters"] == 6 * 6
    assert fitted["violation"] <= 1e-4
    seen = facts("inspect", path)
    rises = {
        strand["word"]: strand["values"][-1] - strand["values"][0] for strand in seen["strongest"]["(all)"]
    }
    assert rises["trade"] > 0.3
    assert rises["war"] < -0.3
    assert seen["labels"][0] == "1900"
    assert sum(seen["e_alpha"]["counts"]) == fitted["active"]
    assert all(abs(s["next"]) <= abs(s["values"][-1]) for s in seen["strongest"]["(all)"])


def test_covariates(facts, table, tmp_path):
    path, fitted = _model(facts, table, tmp_path, "--covariates", "party,Luck=luck", "--method", "ridge-ts")
    assert fitted["covariates"] == 3
    strongest = facts("inspect", path, "--top", 1)["strongest"]
    assert list(strongest) == ["party=Left", "party=Right", "Luck"]
    assert strongest["party=Right"][0]["word"] == "tax"
    told = facts("apply", path, table)["predictions"]
    assert told[0]["words"] == 30
    assert told[0]["nats_per_word"] == pytest.approx(told[0]["nats"] / 30)


def test_numbers(facts, table, tmp_path):
    how = ["--value", "cost", "--features", "counts", "--extra", "luck", "--noise-variance", 0.01]
    path, fitted = _model(facts, table, tmp_path, *how)
    assert fitted["task"] == "regression"
    strand = facts("inspect", path, "--top", 1)["strongest"]["value"][0]
    assert strand["word"] == "oil"
    assert strand["values"][0] < strand["values"][-1]
    scores = facts("eval", path, table)
    assert scores["mse"] < 0.1
    assert scores["not_later"] == 120
    told = facts("apply", path, table, "--time", "time")["predictions"]
    assert len(told) == 120
    assert facts("apply", path, table, "--at", 1904)["predictions"][0] == told[0]
    assert facts("apply", path, table)["predictions"][0] != told[0]


def test_two_classes(facts, spinney, table, tmp_path):
    how = ["--label", "party", "--features", "tfidf", "--method", "ridge-ts", "--lam", 0.1]
    path, fitted = _model(facts, table, tmp_path, *how)
    assert fitted["task"] == "classification"
    scores = facts("eval", path, table)
    assert scores["accuracy"] > 0.8
    assert scores["by_time"][-1]["time"] == "1950"
    lines = tmp_path / "new.txt"
    lines.write_text("tax tax tax\nwar\n")
    told = facts("apply", path, lines, "--proba")["predictions"]
    assert told[0]["label"] == "Right"
    assert told[0]["Left"] + told[0]["Right"] == pytest.approx(1.0)
    code, out, _ = spinney("apply", path, lines, "--proba")
    assert code == 0
    assert out.startswith("id\tlabel\tLeft\tRight\n1\tRight\t")
    assert facts("inspect", path, "--words", "tax,oil")["asked"]["Right"][0]["word"] == "tax"


@pytest.mark.parametrize("method", ["sparse", "ridge-one", "ridge-all", "lasso-one", "lasso-all"])
def test_other_methods(facts, table, tmp_path, method):
    _, fitted = _model(facts, table, tmp_path, "--method", method, "--value", "cost")
    assert fitted["method"] == method
    assert fitted["converged"]


def test_one_of_several_resolutions(facts, spinney, table, tmp_path):
    path = tmp_path / "m.spinney"
    how = ["--model", path, "--method", "ridge-one", "--every", "5,10,1000"]
    choice = facts("fit", table, *how)["choice"]
    assert [one["every"] for one in choice["resolutions"]] == [5, 10, 1000]
    losses = [one["loss"] for one in choice["resolutions"]]
    assert losses[1] > losses[0] == choice["loss"]  # all words change steadily
    assert losses[2] is None
    assert (choice["every"], choice["held_out"], choice["documents"]) == (5, "1950 to 1959", 20)
    assert facts("inspect", path)["labels"] == list(map(str, range(1900, 1960, 5)))
    told = facts("apply", path, table, "--time", "time")["predictions"]
    assert facts("apply", path, table, "--at", 1904)["predictions"][0] == told[0]
    assert facts("eval", path, table)["by_time"][-1]["time"] == "1955"
    code, out, err = spinney("fit", table, *how, "--lam", 1)
    assert code == 0, err
    said = " ".join(out.split())
    assert (
        "Chosen by the forecasts of 1950 to 1959 (20 documents, held out; 2 settings tried): every 5;" in said
    )
    assert "Resolution 5 was chosen from 5 (" in said
    assert "and 1000 (no forecast) by nats per word." in said


# -------------------------------------------------------------------------------------------------- input


def test_columns_by_number_compressed_and_read_alike_later(facts, rows, tmp_path):
    """The model keeps which columns it read; what comes later in the same shape needs no options."""
    path = tmp_path / "speeches.tsv.xz"
    with lzma.open(path, "wt") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows if row[0] < 1950)
    later = tmp_path / "later.tsv"
    later.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows if row[0] >= 1950))
    how = ["--no-header", "--text", 4, "--time", 0, "--covariates", "party=1", "--method", "ridge-ts"]
    model, fitted = _model(facts, path, tmp_path, *how)
    assert fitted["documents"] == 100
    scores = facts("eval", model, later)
    assert scores["not_later"] == 0
    assert scores["documents"] == 20
    assert 1.0 < scores["perplexity"] < 6.0
    assert list(facts("inspect", model)["strongest"]) == ["party=Left", "party=Right"]


def test_folders(facts, rows, tmp_path):
    """Folders of years, and files that begin with them, are the same documents."""
    for n, (year, party, _, _, text) in enumerate(rows):
        folder = tmp_path / "years" / str(year)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{n}.txt").write_text(text)
        (tmp_path / "files").mkdir(exist_ok=True)
        (tmp_path / "files" / f"{year}-{party}.txt").write_text(text)
    how = ["--method", "ridge-ts"]
    one = _model(facts, tmp_path / "years", tmp_path, *how)[1]
    other = _model(facts, tmp_path / "files", tmp_path, *how)[1]
    assert one["objective"] == pytest.approx(other["objective"])
    assert one["times"] == 6


def test_dates_and_standard_input(facts, refused, tmp_path, monkeypatch):
    lines = [
        "time,text",
        "2014-01-05,oil up",
        "2014-01-07 10:00,oil up",
        "2014-03-01,war on oil",
        "2014-03-02,war on",
    ]

    def piped(text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    piped("\n".join(lines) + "\n")
    how = ["--model", tmp_path / "m", "--format", "csv", "--method", "ridge-ts", "--min-count", 1]
    facts("fit", "-", *how, "--every", "month")
    assert facts("inspect", tmp_path / "m")["labels"] == ["2014-01", "2014-02", "2014-03"]
    weeks = ["2013-12-30", "2014-01-06", "2014-02-24"]  # Mondays
    for unit, labels in {"week": weeks, "quarter": ["2014-Q1"], "year": ["2014"]}.items():
        piped("\n".join([*lines, "2015-03-05,war"]) + "\n")
        facts("fit", "-", *how, "--every", unit)
        assert set(labels) <= set(facts("inspect", tmp_path / "m")["labels"])
    piped("\n".join(lines) + "\n")
    assert facts("fit", "-", *how)["times"] == 4
    piped("\n".join([*lines, "soon,war"]) + "\n")
    assert refused("fit", "-", *how) == (
        "spinney: -:6: 'soon' is not a time (write whole numbers, or dates such as 2014-05-03)\n"
    )
    piped("\n".join([*lines, "war"]) + "\n")
    assert "-:6: 1 columns" in refused("fit", "-", *how)


# ------------------------------------------------------------------------------------------ rolling origin


def test_rolling_origin(facts, spinney, table):
    how = ["--every", 10, "--start", 1930, "--covariates", "party", "--threads", 1]
    found = facts("compare", table, *how, "--methods", "adaptive,ridge-ts,lasso-all")
    assert [row["time"] for row in found["by_time"]] == ["1930", "1940", "1950"]
    assert found["methods"] == ["adaptive", "ridge-ts", "lasso-all"]
    assert found["measure"] == "nats per word"
    assert found["overall"]["documents"] == 60
    assert found["without_first"]["documents"] == 40
    assert set(found["p"]) == {"ridge-ts", "lasso-all"}
    assert set(found["chosen"]["ridge-ts"]) == {"lam", "alpha"}
    code, out, err = spinney(
        "compare", table, *how, "--methods", "ridge-ts,lasso-all", "--lam", 10, "--quiet"
    )
    assert code == 0, err
    assert "1930 (dev)" in out
    assert "without 1930" in out
    assert "alpha=" in out
    assert "lam=" not in out  # given, so not tried


def test_rolling_origin_of_classes_and_numbers(facts, spinney, table, tmp_path):
    how = ["--every", 10, "--label", "party", "--features", "counts", "--methods", "ridge-ts,lasso-all"]
    space = tmp_path / "space.json"
    space.write_text('{"ridge-ts": {"lam": [0.1, 1.0], "alpha": [1.0]}}')
    found = facts("compare", table, *how, "--space", space)
    assert found["overall"]["accuracy"]["ridge-ts"] > 0.7
    assert found["chosen"]["lasso-all"] == {}
    assert [row["time"] for row in found["by_time"]] == ["1920", "1930", "1940", "1950"]
    code, out, _ = spinney("compare", table, *how, "--space", "{}", "--window", 2, "--quiet")
    assert code == 0
    assert "Accuracy" in out
    how = ["--every", 10, "--value", "cost", "--start", 1950, "--methods", "ridge-all", "--space", "{}"]
    found = facts("compare", table, *how)
    assert found["measure"] == "mean squared error"
    assert found["without_first"] is None


# ------------------------------------------------------------------------------------------------- people


def test_human_tables(spinney, table, tmp_path):
    path = tmp_path / "m.spinney"
    for command in (
        ["fit", table, "--model", path, "--every", 10, "--init", "ridge-ts"],
        ["inspect", path, "--top", 3, "--words", "oil"],
        ["eval", path, table],
        ["apply", path, table],
    ):
        code, out, err = spinney(*command)
        assert code == 0, err
        assert len(out.splitlines()) > 4
    out = spinney("inspect", path)[1]
    assert "Series that changed most" in out
    assert any(block in out for block in "▂▃▄▅▆▇")
    assert "documents are not later" in spinney("eval", path, table)[2]


def test_report(facts, refused, table, tmp_path):
    path, _ = _model(facts, table, tmp_path, "--covariates", "party", "--method", "ridge-ts")
    page = tmp_path / "page.html"
    assert run(["report", str(path), "-o", str(page), "--quiet"]) == 0
    text = page.read_text()
    assert "party=Right" in text
    assert "1950" in text
    assert "<figure" in text


def test_the_terminal_may_be_narrow(spinney, facts, table, tmp_path, monkeypatch):
    path, _ = _model(facts, table, tmp_path, "--init", "ridge-ts")
    monkeypatch.setenv("COLUMNS", "40")
    assert "…" not in spinney("inspect", path)[1]


# ------------------------------------------------------------------------------------------------ mistakes


def test_mistakes(refused, facts, table, tmp_path):
    path = tmp_path / "m.spinney"

    def fit(*how, data=table):
        return refused("fit", data, "--model", path, *how)

    assert "no such file" in fit(data=tmp_path / "none.csv")
    assert "no column 'year'" in fit("--time", "year")
    assert "no column 'price'" in fit("--value", "price")
    assert "give only one" in fit("--value", "cost", "--label", "party")
    assert f"{table}:2: 'Left' is not a number" in fit("--value", "party")
    assert f"{table}:2: 'Left' is not a number" in fit("--value", "cost", "--extra", "party")
    assert "all documents are of the same time" in fit("--every", 1000)
    assert "7 classes" in fit("--label", "luck")
    assert "--covariates are for models of words" in fit("--label", "party", "--covariates", "luck")
    assert "--extra needs" in fit("--extra", "luck")
    assert "--noise-variance needs --value" in fit("--noise-variance", 1)
    assert "--noise-variance must be residual or a number" in fit(
        "--value", "cost", "--noise-variance", "much"
    )
    assert "--classes needs --label" in fit("--classes", "a,b")
    assert "needs counts" in fit("--features", "tfidf")
    assert "--method must be one of adaptive" in fit("--method", "magic")
    assert "tau" in fit("--tau", -1)
    assert "--every must be week, month, quarter, year or a whole number" in fit("--every", "day")
    assert "cannot be binned by month" in fit("--every", "month")
    assert "cannot be binned by month: they are numbers" in fit("--every", "10,month")
    assert "--every must be at least 1, not 0" in fit("--every", "0,10")
    assert "too few times to choose one of the resolutions 100 and 1000" in fit("--every", "100,1000")
    assert "NAME=COLUMN" in fit("--covariates", "party,,")
    assert "lower --skip-top" in fit("--skip-top", 99)
    assert "no such folder" in refused("fit", table, "--model", tmp_path / "none" / "m")
    bad = tmp_path / "bad.csv"
    bad.write_text("time,text\n1901,war\nsoon,war\n")
    assert f"{bad}:3: 'soon' is not a time" in fit(data=bad)
    bad.write_text("time,text\n1901,war\n1901-02-03,war\n")
    assert f"{bad}:3: '1901-02-03' where other times are numbers" in fit(data=bad)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "readme.txt").write_text("war")
    assert "readme.txt: 'readme.txt' is not a time" in fit(data=folder)
    assert "has no columns" in fit("--label", "party", data=folder)
    lines = tmp_path / "lines.txt"
    lines.write_text("war\n")
    assert "have no times" in fit(data=lines)
    assert not path.exists()


def test_bad_rows_are_skipped_and_counted(facts, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text(
        "time,cost,text\n1901,1,war war\nsoon,1,war\n1902,dear,war\n1903,2,oil war\n1902,3\n1902,1,oil\n"
    )
    how = ["--value", "cost", "--on-error", "skip", "--min-count", 1, "--method", "ridge-ts"]
    fitted = facts("fit", path, "--model", tmp_path / "m", *how)
    assert (fitted["documents"], fitted["skipped"], fitted["times"]) == (3, 3, 3)


def test_mistakes_of_eval_and_apply(refused, facts, table, tmp_path):
    assert "no documents before the first test time 1900" in refused(
        "compare", table, "--every", 10, "--start", 1900
    )
    assert "no documents at or after the test time 2000" in refused(
        "compare", table, "--every", 10, "--start", 2000
    )
    assert "--every must be a single resolution, not 1,10: " in refused("compare", table, "--every", "1,10")
    assert "--start: 'soon' is not a time" in refused("compare", table, "--start", "soon")
    assert "--methods must be adaptive" in refused("compare", table, "--methods", "magic")
    assert "must not repeat" in refused("compare", table, "--methods", "sparse,sparse")
    assert "--space must be JSON" in refused("compare", table, "--space", "{")
    assert "--space must be like" in refused("compare", table, "--space", '{"adaptive": {"tau": 1}}')
    assert "which --methods does not name" in refused("compare", table, "--space", '{"magic": {}}')
    assert "not a parameter" in refused(
        "compare", table, "--methods", "ridge-ts", "--space", '{"ridge-ts": {"x": [1]}}'
    )
    path, _ = _model(facts, table, tmp_path, "--label", "party", "--method", "ridge-ts")
    assert "there is no option --methods" in refused("eval", path, table, "--methods", "adaptive")
    assert "the model knows Left and Right, not" in refused("eval", path, table, "--target", "luck")
    assert "time 1800 is before the first time of the model, 1900" in refused(
        "apply", path, table, "--at", 1800
    )
    assert "give only one" in refused("apply", path, table, "--at", 1800, "--time", "time")
    assert "'zebra' is not among the 6 features" in refused("inspect", path, "--words", "zebra")
    assert "not a Spinney model" in refused("inspect", table)
    text, _ = _model(facts, table, tmp_path, "--covariates", "party", "--method", "ridge-ts")
    lines = tmp_path / "lines.txt"
    lines.write_text("war\n")
    assert "has no columns" in refused("apply", text, lines)
    assert "needs a model of classes" in refused("apply", text, table, "--proba")


def test_interrupting_saves_what_was_learnt(table, tmp_path):
    target = tmp_path / "m.spinney"
    command = [
        sys.executable,
        "-m",
        "spinney",
        "trend",
        "fit",
        str(table),
        "--model",
        str(target),
        "--every",
        "1",
    ]
    command += [
        "--method",
        "ridge-ts",
        "--lam",
        "1",
        "--alpha",
        "1",
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
    assert run(["trend", "inspect", str(target), "--quiet"]) == 0


def test_help(spinney):
    for verb in ("fit", "apply", "eval", "compare", "inspect"):
        code, out, _ = spinney(verb, "--help")
        assert code == 0
        assert "--threads" in out
        assert "--json" in out


def test_state_of_the_union(facts):
    """The addresses by decade, a few words of them: every method of the command runs on text as it is."""
    data = os.environ.get("SPINNEY_DATA")
    if not data:
        pytest.skip("SPINNEY_DATA is not set")
    path = Path(data) / "sotu" / "sotu_1790_2020.tsv.xz"
    how = ["--no-header", "--text", 4, "--time", 0, "--every", 10, "--max-features", 300]
    space = json.dumps(
        {"adaptive": {"lam": [1.0], "init": ["ridge-ts"]}, "ridge-ts": {"lam": [1.0], "alpha": [10.0]}}
    )
    found = facts(
        "compare", path, *how, "--start", 2000, "--methods", "adaptive,ridge-ts,lasso-one", "--space", space
    )
    assert [row["time"] for row in found["by_time"]] == ["2000", "2010", "2020"]
    assert found["overall"]["documents"] == 21
    assert all(3.0 < nats < np.log(300) for nats in found["overall"]["scores"].values())
