"""``spinney report``: a page for every kind of model file, and one clear line for each mistake."""

import numpy as np
import pytest

from spinney.classify import LinearClassifier, LinearRegressor, TextFeatures, TextModel
from spinney.corpus import sample_documents
from spinney.files import write_model
from spinney.structure import WordClasses

TASK = "report"
TEXTS = ["good fun", "great, great fun", "dull film", "bad and dull", "long and slow"]
LABELS = ["pos", "pos", "neg", "neg", "neg"]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "reviews.spinney"
    TextModel(LinearClassifier("l1", lam=0.1, solver="owlqn"), TextFeatures("counts")).fit(
        TEXTS, LABELS
    ).save(path)
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = [f'"{text}",{label}' for text, label in zip(TEXTS, LABELS)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


def test_a_page_of_the_model_alone(spinney, model, tmp_path):
    page = tmp_path / "page.html"
    assert spinney(model, "-o", page) == (0, f"Wrote {page}\n", "")
    text = page.read_text()
    assert "reviews.spinney" in text
    assert "<h2>Words</h2>" in text
    assert "<h2>Scores</h2>" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "reviews.spinney"]
    assert spinney(model, "-o", "-") == (0, text, "")


def test_the_page_is_called_report_by_default(spinney, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert spinney(model)[0] == 0
    assert (tmp_path / "report.html").exists()


def test_with_labelled_documents(facts, model, table, tmp_path):
    page = tmp_path / "page.html"
    told = facts(model, "--data", table, "--documents", 2, "-o", page)
    assert told["documents"] == 5
    assert told["scores"]["accuracy"] == 1.0
    text = page.read_text()
    assert "<h2>Scores</h2>" in text
    assert text.count('<ol class="lines">') == 2


def test_labels_are_found_where_there_are_some(facts, refused, model, table, tmp_path):
    out = ["-o", tmp_path / "page.html"]
    assert facts(model, "--data", table, "--label", "label", *out)["scores"]
    bare = tmp_path / "bare.csv"
    bare.write_text("text\ngood fun\n")
    assert facts(model, "--data", bare, *out)["scores"] is None
    assert "no column 'label'" in refused(model, "--data", bare, "--label", "label", *out)
    numbered = tmp_path / "numbered.tsv"
    numbered.write_text("pos\tgood fun\nneg\tdull\n")
    how = ["--no-header", "--text", 1]
    assert facts(model, "--data", numbered, *how, *out)["scores"] is None
    assert facts(model, "--data", numbered, *how, "--label", 0, *out)["scores"]["accuracy"] == 1.0
    lines = tmp_path / "lines.txt"
    lines.write_text("good fun\ndull\n")
    assert facts(model, "--data", lines, *out)["scores"] is None
    for document in sample_documents()[:1]:
        for label in ("pos", "neg"):
            (tmp_path / "folder" / label).mkdir(parents=True)
            (tmp_path / "folder" / label / "1.txt").write_text(document.text)
    assert facts(model, "--data", tmp_path / "folder", *out)["scores"]["accuracy"] == 0.5
    assert facts(model, "--data", tmp_path / "folder" / "pos", *out)["scores"] is None


def test_a_regressor(facts, refused, table, tmp_path):
    path, out = tmp_path / "stars.spinney", ["-o", tmp_path / "page.html"]
    TextModel(LinearRegressor("l2", solver="lbfgs"), TextFeatures()).fit(
        TEXTS, [5.0, 4.0, 2.0, 1.0, 2.0]
    ).save(path)
    stars = tmp_path / "stars.csv"
    stars.write_text("text,label\ngood,5\ndull,1\n")
    assert facts(path, "--data", stars, *out)["scores"]["r2"] > 0
    assert "'pos' is not a number" in refused(path, "--data", table, *out)


def test_kinds_without_a_page_of_their_own(facts, refused, table, tmp_path):
    path, out = tmp_path / "classes.spinney", ["-o", tmp_path / "page.html"]
    WordClasses(["cat", "dog"], [0, 1]).save(path)
    assert facts(path, *out)["kind"] == "structure/WordClasses"
    assert "structure/WordClasses" in (tmp_path / "page.html").read_text()
    assert "--data: the page of structure models shows no documents" in refused(path, "--data", table, *out)


def test_mistakes(refused, model, table, tmp_path):
    out = ["-o", tmp_path / "page.html"]
    assert "no such file" in refused(tmp_path / "none.spinney", *out)
    assert "not a Spinney model" in refused(table, *out)
    assert "no such file" in refused(model, "--data", tmp_path / "none.csv", *out)
    assert "no such folder" in refused(model, "--data", tmp_path / "none", "--format", "folder", *out)
    assert "--format is one of" in refused(model, "--data", table, "--format", "xml", *out)
    assert "no such folder" in refused(model, "-o", tmp_path / "none" / "page.html")
    assert "both write to standard output" in refused(model, "-o", "-", "--json")
    svm = tmp_path / "n.svm"
    svm.write_text("1 1:0.5\n")
    assert "was trained on text" in refused(model, "--data", svm, *out)
    unseen = tmp_path / "unseen.csv"
    unseen.write_text("text,label\ngood,other\n")
    assert "label 'other' (1 documents) was never seen" in refused(model, "--data", unseen, *out)
    assert not (tmp_path / "page.html").exists()


def test_a_page_never_replaces_what_it_is_made_of(refused, model, table):
    before = model.read_bytes()
    assert "would replace" in refused(model, "-o", model)
    assert "would replace" in refused(model, "--data", table, "-o", table)
    assert model.read_bytes() == before


def test_damage_is_told_and_the_old_page_stays(refused, tmp_path):
    page, path = tmp_path / "page.html", tmp_path / "bad.spinney"
    page.write_text("old")
    write_model(path, "classify/LinearClassifier", {"facts": {}}, {"w": np.zeros(2)})
    assert "damaged" in refused(path, "-o", page)
    assert page.read_text() == "old"
