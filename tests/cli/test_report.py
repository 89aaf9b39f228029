"""``spinney report``: a page for every kind of model file, and one clear line for each mistake."""

import json

import numpy as np
import pytest

from spinney.classify import LinearClassifier, LinearRegressor, TextFeatures, TextModel
from spinney.cli.main import run
from spinney.corpus import sample_documents
from spinney.files import write_model
from spinney.structure import ClassTree, Groups, WordClasses, WordVectors
from spinney.tagging import Tagger

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
    path, out = tmp_path / "toy.spinney", ["-o", tmp_path / "page.html"]
    write_model(path, "toys/Toy", {"size": 3}, {"w": np.zeros(2)})
    assert facts(path, *out)["kind"] == "toys/Toy"
    assert "toys/Toy" in (tmp_path / "page.html").read_text()
    assert "whose page cannot show data" in refused(path, "--data", table, *out)


def test_mistakes(refused, model, table, tmp_path):
    out = ["-o", tmp_path / "page.html"]
    assert "no such file" in refused(tmp_path / "none.spinney", *out)
    assert "not a Spinney model" in refused(table, *out)
    assert "no such file" in refused(model, "--data", tmp_path / "none.csv", *out)
    assert "no such file or folder" in refused(model, "--data", tmp_path / "none", "--format", "folder", *out)
    assert "format must be" in refused(model, "--data", table, "--format", "xml", *out)
    assert "no such folder" in refused(model, "-o", tmp_path / "none" / "page.html")
    assert "both go to standard output" in refused(model, "-o", "-", "--json")
    svm = tmp_path / "n.svm"
    svm.write_text("1 1:0.5\n")
    assert "was trained on text" in refused(model, "--data", svm, *out)
    unseen = tmp_path / "unseen.csv"
    unseen.write_text("text,label\ngood,other\n")
    assert "no label was seen in training, 'other' for one" in refused(model, "--data", unseen, *out)
    assert not (tmp_path / "page.html").exists()


def test_a_page_never_replaces_what_it_is_made_of(refused, model, table):
    before = model.read_bytes()
    assert "would overwrite" in refused(model, "-o", model)
    assert "would overwrite" in refused(model, "--data", table, "-o", table)
    assert model.read_bytes() == before


def test_damage_is_told_and_the_old_page_stays(refused, tmp_path):
    page, path = tmp_path / "page.html", tmp_path / "bad.spinney"
    page.write_text("old")
    write_model(path, "classify/LinearClassifier", {"facts": {}}, {"w": np.zeros(2)})
    assert "damaged" in refused(path, "-o", page)
    assert page.read_text() == "old"


# ------------------------------------------------------------------------------------------------ taggers

COLUMNS = [
    [("the", "B-NP"), ("dog", "I-NP"), ("barks", "B-VP")],
    [("a", "B-NP"), ("cat", "I-NP"), ("sleeps", "B-VP")],
]


@pytest.fixture
def tagger(tmp_path):
    path = tmp_path / "tagger.spinney"
    X = [[word for word, _ in sentence] for sentence in COLUMNS]
    Tagger("U:%x[0,0]\nB", lam=0.1).fit(X, [[label for _, label in s] for s in COLUMNS]).save(path)
    return path


def test_a_tagger(facts, refused, tagger, tmp_path):
    page, data = tmp_path / "page.html", tmp_path / "data.txt"
    out = ["-o", page]
    assert facts(tagger, *out) == {"report": str(page), "kind": "tagging/Tagger"}
    assert "<h2>Transitions</h2>" in page.read_text()
    data.write_text("\n\n".join("\n".join(map(" ".join, sentence)) for sentence in COLUMNS) + "\n")
    told = facts(tagger, "--data", data, *out)
    assert told["documents"] == 2
    assert told["scores"]["f1"] == 1.0
    assert "<h2>Sentences</h2>" in page.read_text()
    data.write_text("the dog barks\n")
    assert "scores" not in facts(tagger, "--data", data, "--format", "lines", *out)
    assert "must be one of columns, conllu" in refused(tagger, "--data", data, "--format", "csv", *out)
    data.write_text("\n")
    assert "no sentences" in refused(tagger, "--data", data, *out)
    assert "no such file" in refused(tagger, "--data", tmp_path / "none", *out)
    conllu = tmp_path / "text.conllu"
    conllu.write_text("1\tthe\t_\tB-NP" + "\t_" * 6 + "\n\n")
    assert facts(tagger, "--data", conllu, *out)["scores"]["token_error"] == 0.0


# -------------------------------------------------------------------------------------------------- paths


def test_paths_and_what_was_chosen_on_them(tmp_path, table, capsys):
    page = tmp_path / "path.html"

    def call(*arguments):
        code = run([*map(str, arguments), "--quiet", "--json"])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return json.loads(captured.out)

    told = call("classify", "path", table, "--dev", table, "--points", 4, "--report", page)
    assert told["report"] == str(page)
    text = page.read_text()
    assert "weights above 0 are evidence for" in text
    assert "training accuracy" in text
    columns, best = tmp_path / "train.txt", tmp_path / "best.spinney"
    columns.write_text("\n\n".join("\n".join(map(" ".join, sentence)) for sentence in COLUMNS * 3) + "\n")
    how = ["--dev", columns, "--lams", "3,1,0.1", "--patterns", tmp_path / "p.tpl"]
    (tmp_path / "p.tpl").write_text("U:%x[0,0]\nB\n")
    told = call("tag", "path", columns, *how, "--model", best, "--report", page)
    assert "dev token error" in page.read_text()
    assert call("tag", "inspect", best)["tried"] == told["points"]
    call("report", best, "-o", page)
    assert "How λ was chosen" in page.read_text()
    for option in (["--dev", table], ["--cv", 2]):
        call("classify", "fit", table, "--model", best, *option)
        call("report", best, "-o", page)
        assert "How λ was chosen" in page.read_text()
    nowhere = ["classify", "path", table, "--report", tmp_path / "none" / "page.html"]
    assert run([*map(str, nowhere), "--quiet"]) == 2
    assert "no such folder" in capsys.readouterr().err


# ---------------------------------------------------------------------------------- words and structures

SENTENCES = [[a, b, c] for a in ("the", "a") for b in ("dog", "cat", "bird") for c in ("barks", "sings")] * 4


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in SENTENCES))
    return path


@pytest.fixture
def fit(capsys):
    """Fit a model by the command."""

    def call(*arguments):
        assert run([str(argument) for argument in arguments] + ["--quiet"]) == 0
        capsys.readouterr()

    return call


@pytest.mark.parametrize("method", ["brown", "hmm"])
def test_word_classes(facts, refused, fit, lines, tmp_path, method):
    model, page = tmp_path / "classes.spinney", tmp_path / "page.html"
    how = ["--method", method, "--classes", 3, "--lowercase", "--model", model]
    fit("classes", "fit", lines, *how)
    assert facts(model, "-o", page)["kind"].startswith("classes/")
    assert "<h2>Map of words</h2>" in page.read_text()
    assert "<h2>Sentences</h2>" not in page.read_text()
    data = tmp_path / "data.txt"
    data.write_text("The DOG sings\nan ox\n" * 9)
    assert facts(model, "--data", data, "--documents", 4, "-o", page)["sentences"] == 4
    text = page.read_text()
    assert text.count('<p class="tokens">') == 4
    assert "<span>dog</span>" in text  # read as the model was trained
    assert "no such file" in refused(model, "--data", tmp_path / "none.txt", "-o", page)
    assert "format must be" in refused(model, "--data", data, "--format", "svmlight", "-o", page)
    data.write_text("")
    assert facts(model, "--data", data, "-o", page)["sentences"] == 0


@pytest.mark.parametrize("method", ["cca", "sparse", "hmm"])
def test_vectors_and_states(facts, refused, fit, lines, tmp_path, method):
    model, page = tmp_path / "vectors.spinney", tmp_path / "page.html"
    size = {"cca": ["--dimensions", 3], "sparse": ["--dimensions", 13], "hmm": ["--states", 3]}[method]
    fit("embed", "fit", lines, "--method", method, *size, "--model", model)
    assert facts(model, "-o", page)["kind"].startswith("embed/")
    assert "<h2>Map of words</h2>" in page.read_text()
    assert "cannot show a text" in refused(model, "--data", lines, "-o", page)


def test_topics(facts, refused, fit, tmp_path):
    docs, model, page = tmp_path / "docs.txt", tmp_path / "topics.spinney", tmp_path / "page.html"
    docs.write_text("ball goal team ball match\ncourt judge trial law judge\n" * 20)
    how = ["--method", "topics", "--topics", 2, "--stop-words", 0, "--min-count", 1, "--model", model]
    fit("embed", "fit", docs, *how)
    assert facts(model, "--data", docs, "--documents", 3, "-o", page)["documents"] == 3
    assert page.read_text().count("<mark") == 15
    docs.write_text("nothing known\n")
    assert facts(model, "--data", docs, "-o", page)["documents"] == 1
    assert "no documents in conllu" in refused(model, "--data", docs, "--format", "conllu", "-o", page)


def test_structures(facts, refused, lines, tmp_path):
    page = tmp_path / "page.html"
    made = {
        "classes": WordClasses(["dog", "cat", "the"], [0, 0, 1], paths=["0", "1"]),
        "vectors": WordVectors(["dog", "cat", "the"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]),
        "groups": Groups.from_lists([[0, 1], [1]], 3),
        "tree": ClassTree.from_newick("((cat,dog),the);"),
    }
    for name, structure in made.items():
        path = tmp_path / f"{name}.spinney"
        structure.save(path)
        assert facts(path, "-o", page)["kind"].startswith("structure/")
        if name != "classes":
            assert "cannot show a text" in refused(path, "--data", lines, "-o", page)
    path = tmp_path / "classes.spinney"
    assert facts(path, "--data", lines, "--documents", 2, "-o", page)["sentences"] == 2
    assert "no class" in page.read_text()
