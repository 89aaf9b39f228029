"""The tour runs, tells the truth, and leaves a model behind."""

import json

from spinney.cli.main import run


def test_demo(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--json", "--quiet"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["corpus"]["documents"] > 70
    assert facts["classifier"]["accuracy"] > 0.7
    assert facts["tree"]["orphans"] == 0
    assert len({round(row["objective"], 2) for row in facts["solvers"]}) == 1
    assert {"yields", "raises", "returns"} & set(facts["classes"]["neighbours"])
    near = facts["embedding"]["neighbours"]
    assert "tuple" in near["list"]
    assert {"handler", "raised", "occurred"} & set(near["exception"])
    assert max(facts["language"]["perplexity"].values()) < 60
    assert facts["language"]["next"][0][0] == "the"
    assert facts["syntax"]["f1"]["pcfg"] < 0.8 < 0.95 < facts["syntax"]["f1"]["clustering"]
    assert any({"len", "print"} <= set(words) for words in facts["syntax"]["states"])
    assert run(["classify", "inspect", "demo.spinney"]) == 0
    assert run(["demo", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "Try next" in out
    assert "spinney embed neighbours" in out
