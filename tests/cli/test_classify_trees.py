"""``spinney classify`` on bracketed trees: their labels, their constituents as groups, and labels by other names."""

import pytest

from spinney.cli.main import run
from spinney.corpus.labelled import guess_format

TASK = "classify"

TREES = [
    "(4 (2 (2 The) (2 plot)) (4 (2 is) (4 (2 a) (4 joy))))",
    "(3 (2 (2 These) (2 actors)) (3 (3 shine) (2 .)))",
    "(0 (2 (2 The) (2 plot)) (0 (2 is) (0 (2 a) (0 bore))))",
    "(1 (2 (2 These) (2 actors)) (1 (1 sleep) (2 .)))",
    "(2 (2 It) (2 (2 is) (2 (2 a) (2 film))))",
]
NAMES = "0=neg,1=neg,2=,3=pos,4=pos"


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("\n".join(TREES * 3) + "\n")
    return path


@pytest.fixture
def model(trees, facts, tmp_path):
    path = tmp_path / "m.spinney"
    how = ["--features", "counts", "--labels", NAMES, "--groups", "parse", "--keep", "2"]
    told = facts("fit", trees, "--model", path, *how)
    assert (told["documents"], told["dropped"], told["outputs"]) == (12, 3, 2)
    return path


def test_the_root_is_the_label_and_the_leaves_are_the_text(trees, facts, tmp_path):
    path = tmp_path / "m.spinney"
    told = facts("fit", trees, "--model", path, "--lam", 0.1, "--features", "counts")
    assert (told["documents"], told["outputs"], told["dropped"]) == (15, 5, 0)
    assert told["features"] == 13  # "a" and "." too, by --tokens spaces
    words = {word for row in facts("inspect", path)["strongest"].values() for word, _ in row}
    assert words >= {"joy", "bore", "it"}
    told = facts("fit", trees, "--model", path, "--lam", 0.1, "--tokens", "words")
    assert told["features"] == 11


def test_constituents_are_groups(model, facts):
    found = facts("inspect", model)["groups"]
    names = {group["name"] for group in found["selected"] + found["removed"]}
    assert names == {"parse: 2: The plot (×6)", "parse: 2: These actors (×6)"}


def test_labels_go_by_the_names_that_fit_gave_them(model, trees, facts, refused, spinney, tmp_path):
    scores = facts("eval", model, trees)
    assert (scores["accuracy"], scores["documents"], scores["dropped"]) == (1.0, 12, 3)
    other = facts("eval", model, trees, "--labels", "0=pos,1=pos,2=,3=neg,4=neg")
    assert other["accuracy"] == 0.0
    named = tmp_path / "named.csv"
    named.write_text("text,label\na joy,pos\na bore,neg\n")
    assert facts("eval", model, named)["accuracy"] == 1.0
    assert "no label was seen in training" in refused("eval", model, trees, "--labels", "2=")
    code, out, _ = spinney("apply", model, trees)
    assert code == 0
    assert [line.split("\t")[1] for line in out.splitlines()[:4]] == ["pos", "pos", "neg", "neg"]


def test_the_report_reads_trees(model, trees, tmp_path):
    page = tmp_path / "page.html"
    assert run(["report", str(model), "--data", str(trees), "-o", str(page), "--quiet"]) == 0
    assert "parse: 2: The plot" in page.read_text()
    assert "accuracy on 12 documents" in page.read_text()


def test_parses_of_raw_text(trees, facts, tmp_path):
    table = tmp_path / "raw.csv"
    table.write_text("text,label\nThe plot is a joy,pos\nThese actors sleep.,neg\n")
    how = ["--model", tmp_path / "m.spinney", "--groups", "parse", "--parses", trees]
    every = facts("fit", table, *how)["groups"]
    some = facts("fit", table, *how, "--keep", "0,1")["groups"]
    assert set(every["families"]) == {"parse"}
    assert 0 < some["total"] < every["total"]


def test_labels_of_any_format(facts, tmp_path):
    table = tmp_path / "stars.csv"
    table.write_text("text,stars\ngood,5\nfine,4\nso so,3\nbad,1\n")
    path = tmp_path / "m.spinney"
    how = ["--label", "stars", "--labels", "5=pos,4=pos,3=,1=neg"]
    told = facts("fit", table, "--model", path, *how)
    assert (told["documents"], told["dropped"]) == (3, 1)
    assert told["labels"] == {"5": "pos", "4": "pos", "3": "", "1": "neg"}


def test_what_is_taken_for_a_tree(tmp_path):
    def guessed(text, name="file.txt"):
        path = tmp_path / name
        path.write_text(text)
        return guess_format(str(path))

    assert guessed("(3 (2 a) (4 joy))\n") == "trees"
    assert guessed("\n( (S (NP (NN dog))\n   (VP (VB barks))))\n") == "trees"
    assert guessed("(NN dog)\n") == "trees"
    assert guessed("", "file.mrg") == "trees"
    for text in ("(laughs) Well.\n", "(not bad) a film\n", "a (b c)\n", "", "(\n"):
        assert guessed(text) == "lines"


def test_mistakes(trees, refused, tmp_path):
    target = tmp_path / "never.spinney"

    def fails(*arguments):
        line = refused("fit", *arguments, "--model", target)
        assert not target.exists()
        return line

    assert "'0' is not OLD=NEW" in fails(trees, "--labels", "0")
    assert "'0' is given twice" in fails(trees, "--labels", "0=a,0=b")
    assert "no documents: all were dropped because of their labels: 15" in fails(
        trees, "--labels", "0=,1=,2=,3=,4="
    )
    assert "--keep 7: the trees have no such labels; they have 0, 1, 2" in fails(
        trees, "--groups", "parse", "--keep", "7"
    )
    open_bracket = tmp_path / "open.txt"
    open_bracket.write_text("(3 (2 a) (4 joy))\n(3 (2 a)\n(3 (2 a) (4 joy))\n")
    assert "open.txt:2: 1 brackets are not closed" in fails(open_bracket)
    bare = tmp_path / "bare.mrg"
    bare.write_text("( (S (NN dog) (VB barks)))\n")
    assert "tree 1 has no label at its root" in fails(bare)
    assert "--tokens must be words, all, spaces or spacy:NAME" in fails(trees, "--tokens", "letters")
