"""The tour runs, tells the truth, and leaves a model behind."""

import json
from pathlib import Path

from spinney.cli.main import run


def test_demo(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--json", "--quiet"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["corpus"]["documents"] > 70
    assert facts["classifier"]["accuracy"] > 0.7
    assert facts["tree"]["orphans"] == 0
    assert len({round(row["objective"], 2) for row in facts["solvers"]["solvers"]}) == 1
    assert {"yields", "raises", "returns"} & set(facts["classes"]["neighbours"])
    near = facts["embedding"]["neighbours"]
    assert "tuple" in near["list"]
    assert {"handler", "raised", "occurred"} & set(near["exception"])
    assert max(facts["language"]["perplexity"].values()) < 60
    assert facts["language"]["next"][0][0] == "the"
    assert facts["syntax"]["f1"]["pcfg"] < 0.8 < 0.95 < facts["syntax"]["f1"]["clustering"]
    assert any({"len", "print"} <= set(words) for words in facts["syntax"]["states"])
    accuracy = facts["structure"]["accuracy"]
    assert accuracy["with classes"] > accuracy["alone"] + 0.02
    models = sorted(path.name for path in (tmp_path / "spinney-demo").glob("*.spinney"))
    assert facts["pipeline"]["f1"]["LAS"] > 0.9
    assert min(facts["pipeline"]["f1"].values()) > 0.9
    assert len(models) == 10
    assert run(["classify", "inspect", "spinney-demo/classifier.spinney"]) == 0
    page = Path(facts["report"]).read_text()
    assert page.count("<article") == len(models)


def test_the_farewell_names_what_is_there(tmp_path):
    from spinney.cli.demo import farewell

    lines = "\n".join(farewell(str(tmp_path), "demo/report.html").lines)
    assert "open demo/report.html" in lines
    assert "spinney embed neighbours" in lines


def test_texts_are_written_and_written_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--texts", "texts", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["files"]
    assert names == sorted(path.name for path in Path("texts").iterdir())
    assert run(["demo", "--texts", "texts"]) == 0
    Path("mine").mkdir()
    for name in ("manual.txt", "thesis.tex"):
        (Path("mine") / name).write_text("years of work")
        assert run(["demo", "--texts", "mine"]) == 2
        assert f"mine: {name} exists already" in capsys.readouterr().err
    (Path("texts") / "notes.md").write_text("what I saw")
    assert run(["demo", "--texts", "texts"]) == 2
    assert (Path("texts") / "notes.md").read_text() == "what I saw"
