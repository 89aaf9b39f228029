"""``spinney classify fit --method tree``: every tree from fit to inspect, and one line for each mistake."""

import json

import pytest

from spinney.classify import TextModel
from spinney.report.html import view_page
from spinney.settings.classify import CLASS_TREES
from spinney.structure import ClassTree
from spinney.views import as_json

TASK = "classify"
WORDS = {
    "cat": ["fur", "paw", "meow", "purr"],
    "dog": ["fur", "paw", "bark", "bone"],
    "elm": ["leaf", "root", "seed", "soft"],
    "oak": ["leaf", "root", "acorn", "hard"],
}


@pytest.fixture
def table(tmp_path):
    """Five documents of each class; their words are those of two families and of four kinds."""
    rows = [
        f"{words[i % 2]} {words[2 + i % 2]} {words[2 if i < 3 else 3]},{label}"
        for i in range(5)
        for label, words in WORDS.items()
    ]
    path = tmp_path / "things.csv"
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


@pytest.fixture
def fit(table, tmp_path, facts):
    def call(tree, *options):
        path = tmp_path / "m.spinney"
        told = facts(
            "fit",
            table,
            "--model",
            path,
            "--features",
            "counts",
            "--lam",
            0.05,
            "--method",
            "tree",
            "--class-tree",
            tree,
            *options,
        )
        return path, told

    return call


@pytest.mark.parametrize("method", CLASS_TREES)
def test_methods_from_fit_to_inspect(fit, facts, table, method):
    path, told = fit(method)
    assert told["class_tree"] == method
    assert told["converged"]
    assert told["dot_products"] >= 2
    scores = facts("eval", path, table)
    assert scores["accuracy"] == 1.0
    assert scores["dot_products"] == told["dot_products"]
    found = facts("inspect", path, "--top", 2)
    tree = ClassTree.from_newick(found["newick"])
    assert sorted(tree.names) == sorted(WORDS)
    assert tree.depth == told["tree_depth"]
    assert len(found["nodes"]) == 2
    assert found["nodes"][0]["branches"][0]["words"]
    assert found["strongest"].keys() == WORDS.keys()
    rows = facts("apply", path, table, "--proba")["predictions"]
    assert [row["label"] for row in rows] == list(WORDS) * 5
    assert sum(rows[0]["proba"].values()) == pytest.approx(1.0)


def test_learnt_trees_keep_families_together(fit, facts):
    for method in ("spec", "canonical", "diff", "obyo", "hung"):
        path, _ = fit(method)
        root = facts("inspect", path)["nodes"][0]
        assert sorted(branch["classes"] for branch in root["branches"]) == [["cat", "dog"], ["elm", "oak"]]


def test_a_folder(facts, tmp_path):
    for label, words in WORDS.items():
        (tmp_path / "docs" / label).mkdir(parents=True)
        for i in range(5):
            (tmp_path / "docs" / label / f"{i}.txt").write_text(" ".join(words[i % 2 :]))
    path = tmp_path / "m.spinney"
    facts(
        "fit",
        tmp_path / "docs",
        "--model",
        path,
        "--method",
        "tree",
        "--class-tree",
        "spec",
        "--penalty",
        "l2",
        "--lam",
        0.01,
    )
    assert facts("eval", path, tmp_path / "docs")["accuracy"] == 1.0


def test_numbers(facts, tmp_path):
    (tmp_path / "d.svm").write_text("1 1:1 3:1\n2 1:1 4:1\n10 2:1 3:1\n" * 4)
    (tmp_path / "t.nwk").write_text("(10,(1,2));")
    path = tmp_path / "m.spinney"
    facts(
        "fit",
        tmp_path / "d.svm",
        "--model",
        path,
        "--method",
        "tree",
        "--class-tree",
        tmp_path / "t.nwk",
        "--lam",
        0.01,
    )
    assert facts("eval", path, tmp_path / "d.svm")["accuracy"] == 1.0


@pytest.mark.parametrize("suffix", [".nwk", ".newick", ".tree", ".json", ".spinney"])
def test_files(fit, facts, tmp_path, suffix):
    tree = ClassTree.from_newick("((oak,elm,yew),(dog,cat));")  # there are no yews
    file = tmp_path / f"tree{suffix}"
    write = {".json": tree.write_json, ".spinney": tree.save}.get(suffix, tree.write_newick)
    write(file)
    path, told = fit(file, "--penalty", "elasticnet", "--l2", 0.1)
    assert told["penalty"] == "elasticnet, ℓ2 = 0.1, at each node"
    assert facts("inspect", path)["newick"] == "((oak,elm),(dog,cat));"


def test_the_tree_of_another_model(fit, facts):
    path, _ = fit("diff")
    newick = facts("inspect", path)["newick"]
    other = path.rename(path.with_name("other.spinney"))
    again, _ = fit(other)
    assert facts("inspect", again)["newick"] == newick


def test_groups(fit, facts, table):
    path, told = fit("spec", "--groups", "sentence", "--l1", 0.01)
    assert told["penalty"].startswith("overlap")
    assert told["groups"]["n_selected"] > 0
    assert facts("eval", path, table)["accuracy"] == 1.0
    assert facts("inspect", path)["groups"]["total"] == told["groups"]["total"]


def test_tables_for_people(spinney, fit, table):
    path, _ = fit("balanced")
    code, out, _ = spinney("inspect", path, "--top", 1)
    assert code == 0
    lines = [line.partition("  (")[0] for line in out.splitlines()]
    place = lines.index("node 0")
    assert lines[place + 1 : place + 7] == [
        "  node 1",
        "    cat",
        "    dog",
        "  node 2",
        "    elm",
        "    oak",
    ]
    assert "at the first 1 of 3 nodes" in out
    assert "elm, oak" in out
    code, out, _ = spinney("eval", path, table)
    assert code == 0
    assert "dot products" in out
    code, out, _ = spinney("fit", table, "--model", path, "--method", "tree", "--class-tree", "huffman")
    assert code == 0
    assert "tree depth" in out


def test_the_ways_of_documents(fit, facts, spinney, table):
    path, _ = fit("balanced")
    ways = facts("inspect", path, "--data", table, "--documents", 2)["ways"]
    assert [way["label"] for way in ways] == ["cat", "dog"]
    assert ways[0]["steps"][0]["classes"] == ["cat", "dog"]
    assert ways[0]["steps"][-1]["classes"] == ["cat"]
    assert "meow" in [word for word, _ in ways[0]["steps"][-1]["words"]]
    code, out, _ = spinney("inspect", path, "--data", table, "--documents", 1)
    assert code == 0
    assert ": cat, with probability" in out


def test_the_page(fit):
    path, _ = fit("balanced")
    model = TextModel.load(path)
    text = view_page("m", model.report_views()).html()
    assert "node 0" in text
    assert "4 classes, 3 inner nodes, depth 2." in text
    assert "<h3>Node 2</h3>" in text
    assert "meow" in text
    views = model.report_views((["meow <b>fur</b>", "acorn"], ["cat", "oak"]))
    text = view_page("m", views).html()
    assert as_json(views)["scores"]["dot_products"] == 2
    assert "<h2>Scores</h2>" in text
    assert "The path of a document down the tree" in text
    assert "<b>fur" not in text


def test_a_hostile_class_name_on_the_page(facts, table, tmp_path):
    table.write_text(table.read_text().replace(",cat", ",<img src=x>"))
    path = tmp_path / "m.spinney"
    facts("fit", table, "--model", path, "--method", "tree", "--class-tree", "balanced", "--lam", 0.05)
    text = view_page("m", TextModel.load(path).report_views()).html()
    assert "<img" not in text
    assert "&lt;img" in text


def test_mistakes_get_one_line(refused, spinney, fit, table, tmp_path):
    def file(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def never(tree, *options, train=table):
        target = tmp_path / "never.spinney"
        line = refused("fit", train, "--model", target, "--method", "tree", "--class-tree", tree, *options)
        assert not target.exists()
        return line

    for options in (
        ["--regression"], ["--lam-ratio", 0.1], ["--tune", "grid"],
        ["--trials", 3], ["--space", "lam=1"], ["--rho", 1], ["--init", tmp_path / "m.spinney"],
    ):  # fmt: skip
        line = never("spec", *options)
        assert f"{options[0]} is a setting of the method linear, not of tree" in line
    assert "--lam, --cv and --dev each determine λ" in never("spec", "--cv", 3, "--dev", 0.2)
    assert "--policy single needs a λ for all nodes: give --lam, or --dev" in never(
        "spec", "--policy", "single"
    )
    assert "--dev chooses one λ for all nodes" in never("spec", "--policy", "indep", "--dev", 0.2)
    assert "--policy indep chooses the λ of each node" in never("spec", "--policy", "indep", "--lam", 1)
    assert "--delta has no effect unless --class-tree is learned" in never("balanced", "--delta", 2)
    assert "the policy gamma needs the penalty l2" in never("spec", "--policy", "gamma")
    assert "did you mean spec?" in never("sepc")
    assert "neither a file nor a method" in never(tmp_path / "nowhere.nwk")
    assert "neither a file nor a method" in never(tmp_path)
    line = never(file("small.nwk", "((cat,dog),elm);"))
    assert "small.nwk" in line
    assert "'oak'" in line
    assert "bad.nwk" in never(file("bad.nwk", "((cat,dog),elm"))
    assert "empty.nwk" in never(file("empty.nwk", ""))
    assert "bad.json" in never(file("bad.json", '{"nodes": [{"name": 3}]}'))
    assert "bytes.nwk" in never(file("bytes.nwk", b"\xff\xfe\x00((a,b));"))
    assert "twice" in never(file("twice.nwk", "((cat,dog),(elm,oak,cat));"))
    one = file("one.csv", "text,label\nsome words,x\nmore words,x\n")
    for method in CLASS_TREES:
        assert "one class" in never(method, train=one)
    assert "no penalty" in never("spec", "--penalty", "lasso")
    assert "needs groups" in never("spec", "--penalty", "group")
    path, _ = fit("spec")
    flat = tmp_path / "flat.spinney"
    assert spinney("fit", table, "--model", flat)[0] == 0
    assert "no word classes" in never(flat)  # a model, but one without a tree
    assert "was trained on text" in refused("inspect", path, "--data", file("n.svm", "1 1:0.5\n"))
    assert "along a class tree" in refused("fit", table, "--model", tmp_path / "b.spinney", "--init", path)
    strangers = file("strangers.csv", "text,label\nleaf,yew\n")
    assert "no label was seen in training" in refused("eval", path, strangers)


def test_files_and_standard_output_agree(fit, spinney, table):
    path, _ = fit("spec")
    model = TextModel.load(path)
    code, out, _ = spinney("apply", path, table, "--proba", "--json")
    assert code == 0
    rows = json.loads(out)["predictions"]
    texts = [line.partition(",")[0] for line in table.read_text().splitlines()[1:]]
    assert [list(row["proba"].values()) for row in rows] == model.predict_proba(texts).tolist()
