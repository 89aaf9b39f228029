"""``spinney classify --groups``: every family of groups, from the option to what inspect says of them."""

import json

import numpy as np
import pytest

from spinney.classify import TextModel
from spinney.classify import families as families_module
from spinney.classify import model as model_module
from spinney.corpus import sample_documents
from spinney.structure import WordClasses, WordVectors

TASK = "classify"


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    """Paragraphs of the sample corpus, in two classes."""
    path = tmp_path_factory.mktemp("manual") / "manual.tsv"
    rows = ["text\tlabel"]
    for document in sample_documents():
        if document.label in ("statements", "objects"):
            paragraphs = [" ".join(text.split()) for text in document.text.split("\n\n")]
            rows += [f"{text}\t{document.label}" for text in paragraphs[:6] if len(text) > 80]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def fit(facts, manual, tmp_path):
    """Fit on the manual; gives what fit printed and where the model is."""

    def call(*arguments):
        path = tmp_path / "m.spinney"
        how = ["--min-count", 2, "--features", "counts", "--tol", 1e-3]
        return facts("fit", manual, "--model", path, *how, *arguments), path

    return call


@pytest.mark.parametrize("spec", ["sentence", "document", "brown:8", "lda:4", "moments:3"])
def test_families_that_are_learnt_from_the_text(fit, facts, spec):
    told, path = fit("--groups", spec)
    family = spec.partition(":")[0]
    assert told["penalty"].startswith("overlapping groups")
    assert 0 < told["active"] < told["parameters"]
    counts = told["groups"]
    assert counts["families"] == {family: [counts["n_selected"], counts["n_removed"]]}
    found = facts("inspect", path, "--top", 5)["groups"]
    shown = found["selected"] + found["removed"]
    assert shown
    assert all(group["name"].startswith(f"{family}: ") for group in shown)
    assert found["n_selected"] + found["n_removed"] == counts["total"]


def test_several_families_and_their_strengths(fit):
    one, _ = fit("--groups", "sentence,lda:4", "--lam", 0.01, "--l1", 0.1, "--l2", 1)
    two, _ = fit(
        "--groups", "sentence,lda:4", "--lam", 0.01, "--l1", 0.1, "--l2", 1, "--strengths", "sentence=0"
    )
    alone, _ = fit("--groups", "lda:4", "--lam", 0.01, "--l1", 0.1, "--l2", 1)
    assert set(one["groups"]["families"]) == {"sentence", "lda"}
    assert two["objective"] == pytest.approx(alone["objective"], rel=1e-3)
    assert two["objective"] < one["objective"]


def test_group_weights(fit):
    strength = ["--groups", "sentence", "--lam", 0.05, "--l1", 0.1]
    assert fit(*strength, "--group-weights", "unit")[0]["objective"] < fit(*strength)[0]["objective"]


def test_tomotopy(fit):
    pytest.importorskip("tomotopy")
    assert set(fit("--groups", "tomotopy:4")[0]["groups"]["families"]) == {"tomotopy"}


def test_families_from_files(fit, tmp_path):
    paths = tmp_path / "paths"
    paths.write_text("00\tobject\t9\n01\tobjects\t5\n1\tstatement\t7\n1\tstatements\t2\n")
    assert fit("--groups", f"brown:{paths}")[0]["groups"]["families"]["brown"]
    classes = tmp_path / "classes.spinney"
    WordClasses(["object", "objects", "statement", "statements"], [0, 0, 1, 1]).save(classes)
    assert fit("--groups", f"brown:{classes}")[0]["groups"]["total"] == 2
    topics = tmp_path / "topics.txt"
    topics.write_text("object objects\nstatement statements\n")
    assert fit("--groups", f"topics:{topics}")[0]["groups"]["total"] == 2
    vectors = tmp_path / "vectors.spinney"
    words = ["object", "objects", "statement", "statements"]
    WordVectors(words, [[1, 0], [2, 0.1], [0, 1], [0.1, 2]]).save(vectors)
    told, _ = fit("--groups", f"neighbours:{vectors}", "--neighbours", 1)
    assert told["groups"]["memberships"] == 4
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"groups": [{"name": "things", "members": ["object", "objects"]}]}))
    assert fit("--groups", own)[0]["groups"]["families"] == {}
    assert set(fit("--groups", f"{own},topics:{topics}")[0]["groups"]["families"]) == {"own", "topics"}


def test_options_of_topics(fit, monkeypatch):
    """Topics run to convergence, or for some passes; of few words or many, with function words or without."""
    passes = []
    learn = families_module.lda_topics
    monkeypatch.setattr(
        families_module, "lda_topics", lambda *a, **how: passes.append(how["iterations"]) or learn(*a, **how)
    )
    plain = ["--groups", "lda:4", "--lam", 0.05]
    usual = fit(*plain)[0]["groups"]
    few, path = fit(*plain, "--topic-words", 3, "--topic-passes", 2)
    assert passes == [None, 2]
    assert few["groups"]["memberships"] <= 3 * few["groups"]["total"] < usual["memberships"]
    model = TextModel.load(path)
    grouped = {model.names[j] for g in model.estimator.groups for j in g}
    assert not grouped & {"the", "of", "is", "to"}
    fit(*plain, "--topic-words", 200, "--function-words")
    model = TextModel.load(path)
    assert {model.names[j] for g in model.estimator.groups for j in g} & {"the", "of", "is", "to"}


def test_penalties_by_default(fit):
    assert fit()[0]["penalty"].startswith("elastic net")
    assert fit("--groups", "lda:3", "--penalty", "latent")[0]["penalty"].startswith("latent")
    said = fit("--groups", "sentence", "--lam", 0.02, "--l1", 0.2, "--l2", 0)[0]["penalty"]
    assert "λ = 0.02, ℓ1 = 0.2" in said


def test_composite_penalties_by_name(fit, tmp_path):
    own = tmp_path / "own.json"
    lists = [["object", "objects"], ["statement", "value", "name"]]
    own.write_text(json.dumps({"groups": [{"name": words[0], "members": words} for words in lists]}))
    for name, said in {"l2/l1": "ℓ2/ℓ1", "l1.5/linf": "ℓ1.5/ℓ∞", "l1/l2": "ℓ1/ℓ2"}.items():
        told = fit("--groups", own, "--penalty", name)[0]  # λ is chosen
        assert told["penalty"].startswith(f"composite {said}, 2 groups, λ = ")
        assert told["converged"]


def test_admm_finds_what_coordinate_descent_finds(fit):
    strength = ["--groups", "lda:4", "--lam", 0.05, "--l1", 0.5, "--l2", 1]
    by_descent = fit(*strength)[0]
    by_admm = fit(*strength, "--solver", "admm", "--threads", 2)[0]
    assert by_admm["solver"] == "admm"
    assert by_admm["objective"] == pytest.approx(by_descent["objective"], rel=1e-3)
    told = fit(*strength, "--solver", "admm", "--rho", 1, "--max-iter", 5)[0]
    assert told["iterations"] <= 5


def test_admm_as_in_the_thesis(fit, facts, spinney):
    """Its stopping rule, and groups that are selected by their copies v_g: stored, and shown by inspect."""
    how = ["--groups", "lda:4,sentence", "--lam", 0.2, "--l1", 0.1, "--l2", 0, "--solver", "admm"]
    early = fit(*how, "--rho", 0.1, "--max-iter", 30, "--change-tol", 0.3)[0]
    told, path = fit(*how, "--rho", 0.1, "--max-iter", 30)
    assert early["iterations"] < told["iterations"] == 30
    model = TextModel.load(path)
    copies, weights = model.copy_norms, [np.any(model.coef[:, list(g)]) for g in model.estimator.groups]
    found = facts("inspect", path, "--top", 2)["groups"]
    assert found["n_selected"] == np.count_nonzero(copies) != sum(weights) == found["n_weighty"]
    assert found["selected"][0]["copy_norm"] in copies
    out = spinney("inspect", path)[1]
    assert f"{found['n_removed']} removed, by the copies v_g of ADMM; {sum(weights)} groups have" in out
    assert "‖v_g‖" in out


def test_path_takes_groups(facts, manual):
    how = ["--min-count", 3, "--features", "counts", "--points", 4, "--tol", 1e-2]
    rows = facts("path", manual, *how, "--groups", "lda:4", "--dev", 0.3)["points"]
    assert len(rows) == 4
    assert all(0 <= row["dev_accuracy"] <= 1 for row in rows)
    assert rows[0]["lam"] > rows[-1]["lam"]


def test_inspect_in_words(fit, spinney, manual):
    _, path = fit("--groups", "sentence")
    code, out, _ = spinney("inspect", path, "--top", 3, "--data", manual, "--documents", 2)
    assert code == 0
    for told in (
        "weights are non-zero",
        "Strongest features",
        "Selected, by norm",
        "sentence: ",
        "with probability",
    ):
        assert told in out
    assert out.count("Document ") == 2


def test_sentence_log_odds_as_json(fit, facts, manual, refused):
    _, path = fit("--groups", "sentence")
    found = facts("inspect", path, "--data", manual, "--documents", 2)
    assert {"strongest", "size", "groups", "log_odds", "lam"} <= found.keys()
    assert found["size"]["active"] == found["active"]
    assert len(found["log_odds"]) == 2
    for document in found["log_odds"]:
        assert document["label"] in ("statements", "objects")
        assert 0 < document["probability"] <= 1
        assert all(sentence["text"] for sentence in document["sentences"])
    assert "--documents needs --data" in refused("inspect", path, "--documents", 2)


@pytest.mark.slow
def test_a_file_of_very_many_groups_holds_the_foremost(fit, facts, spinney, monkeypatch):
    how = ["--groups", "sentence,lda:4", "--l1", 2, "--cv", 2]
    whole, path = fit(*how)
    everything = facts("inspect", path, "--top", 3)["groups"]
    monkeypatch.setattr(model_module, "MOST_MEMBERSHIPS", 100)
    monkeypatch.setattr(model_module, "MOST_GROUPS", 3)
    told, path = fit(*how)
    assert told["groups"] == whole["groups"]
    found = facts("inspect", path, "--top", 3)["groups"]
    assert found["stored"] == len(TextModel.load(path).estimator.groups) == 6
    assert {**found, "stored": None} == {**everything, "stored": None}
    assert "The file contains 6" in spinney("inspect", path)[1]


def test_mistakes(refused, manual, tmp_path):
    def fails(*arguments):
        target = tmp_path / "never.spinney"
        line = refused("fit", manual, "--model", target, *arguments)
        assert not target.exists()
        return line

    assert "did you mean sentence?" in fails("--groups", "sentences")
    assert "no family 'xyz' (there are sentence, " in fails("--groups", "lda,xyz")
    assert "--groups parse needs trees" in fails("--groups", "parse")
    assert "none.json: no such file" in fails("--groups", tmp_path / "none.json")
    for family in ("brown", "topics", "neighbours"):
        assert "none.txt: no such file" in fails("--groups", f"{family}:{tmp_path / 'none.txt'}")
    assert "none.txt: no such file" in fails("--groups", "parse", "--parses", tmp_path / "none.txt")
    assert "neighbours needs a file" in fails("--groups", "neighbours")
    assert "must be lda:N" in fails("--groups", "lda:many")
    assert "must be lda:N" in fails("--groups", "lda:1")
    assert "sentence takes no value" in fails("--groups", "sentence:5")
    assert "contains lda twice" in fails("--groups", "lda:2,lda:3")
    assert "--group-weights must be sqrt or unit" in fails("--groups", "lda:2", "--group-weights", "size")
    assert "--strengths needs --groups" in fails("--strengths", "lda=1")
    assert "'brown' is not one of the families lda" in fails("--groups", "lda:2", "--strengths", "brown=1")
    assert "'lda=x' must be FAMILY=NUMBER" in fails("--groups", "lda:2", "--strengths", "lda=x")
    assert "--keep needs --groups parse" in fails("--groups", "lda:2", "--keep", "NP")
    assert "--topic-passes needs --groups of topics: lda or tomotopy" in fails(
        "--groups", "moments:2", "--topic-passes", 2
    )
    assert "--function-words needs --groups of topics" in fails("--groups", "sentence", "--function-words")
    assert "--neighbours needs" in fails("--groups", "lda:2", "--neighbours", 3)
    assert "rho is only for the solver" in fails("--groups", "lda:2", "--rho", 1)
    assert "--change-tol is only for the solver" in fails("--groups", "lda:2", "--change-tol", 0.1)
    assert "--change-tol cannot be combined with --cv" in fails(
        "--groups", "lda:2", "--cv", 2, "--solver", "admm", "--change-tol", 0.1
    )
    numbers = tmp_path / "n.svm"
    numbers.write_text("0 1:1\n1 2:1\n")
    line = refused("fit", numbers, "--model", tmp_path / "n.spinney", "--groups", "sentence")
    assert "groups of words need text" in line
