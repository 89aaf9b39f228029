"""What the commands do, in Python: the same models, from files and from memory, and again from their configuration."""

import tomllib

import numpy as np
import pytest

import spinney
from spinney.classify import TextModel, fit, path
from spinney.cli.main import run
from spinney.corpus import Tree, sample_documents
from spinney.errors import SettingError
from spinney.optim import PENALTIES, SOLVERS, ElasticNet, EmptyModelWarning
from spinney.parsing import Parser
from spinney.report.terminal import show_views
from spinney.settings import optim as names
from spinney.structure import ClassTree, Groups
from spinney.views import as_json

TEXTS = ["good fun", "great fun", "dull film", "dull and bad", "long, bad film", "great great fun"]
LABELS = ["pos", "pos", "neg", "neg", "neg", "pos"]


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    """Paragraphs of the sample corpus in a table with two classes, and Brown paths of some of its words."""
    folder = tmp_path_factory.mktemp("manual")
    rows = ["text\tlabel"]
    for document in sample_documents():
        if document.label in ("statements", "objects"):
            paragraphs = [" ".join(text.split()) for text in document.text.split("\n\n")]
            rows += [f"{text}\t{document.label}" for text in paragraphs[:6] if len(text) > 80]
    (folder / "manual.tsv").write_text("\n".join(rows) + "\n")
    (folder / "paths").write_text("00\tobject\t9\n01\tobjects\t5\n1\tstatement\t7\n1\tstatements\t2\n")
    return folder


def same(one, other):
    return np.array_equal(one.coef, other.coef) and np.array_equal(
        one.estimator.intercept_, other.estimator.intercept_
    )


def test_python_and_the_command_make_the_same_model_and_so_does_its_configuration(manual, tmp_path):
    train, groups = str(manual / "manual.tsv"), f"sentence,brown:{manual / 'paths'}"
    how = {"groups": groups, "features": "counts", "min_count": 2, "dev": 0.2, "tune": "random", "trials": 3}
    model = fit(train, **how, seed=1)
    by_command = tmp_path / "command.spinney"
    options = [f"--{name.replace('_', '-')}={value}" for name, value in how.items()]
    assert run(["classify", "fit", train, "--model", str(by_command), *options, "--seed", "1", "-q"]) == 0
    assert same(spinney.load(by_command), model)
    config, again = tmp_path / "fit.toml", tmp_path / "again.spinney"
    config.write_text(spinney.load(by_command).config())
    assert run(["classify", "fit", "--config", str(config), "--model", str(again), "-q"]) == 0
    assert same(spinney.load(again), model)
    assert spinney.load(again).settings == spinney.load(by_command).settings


def test_documents_from_memory(tmp_path):
    model = fit((TEXTS, LABELS), features="counts", lam=0.1)
    assert "train" not in model.facts
    assert [record["label"] for record in model.apply(["such fun"])] == ["pos"]
    assert as_json(model.evaluate((TEXTS, LABELS)))["accuracy"] == 1.0
    tuned = fit((TEXTS, LABELS), features="counts", dev=(TEXTS[1:3], LABELS[1:3]), space="lam=0.1,1")
    tuned.save(tmp_path / "m")
    assert spinney.load(tmp_path / "m").settings.dev == "(in memory)"
    numbers = fit((np.eye(6), [3, 3, 5, 5, 5, 3]), penalty="l2")
    assert numbers.predict(numbers.matrix(np.eye(6)))[0] == 3
    assert numbers.estimator.classes_.tolist() == [3, 5]
    values = fit((TEXTS, [5.0, 4.5, 2.0, 1.0, 1.5, 5.0]), regression=True, features="counts", lam=0.01)
    assert as_json(values.evaluate((TEXTS, [5.0, 4.5, 2.0, 1.0, 1.5, 5.0])))["r2"] > 0.9
    points = as_json(path((TEXTS, LABELS), dev=(TEXTS, LABELS), points=4))["points"]
    assert [point["active"] for point in points] == sorted(point["active"] for point in points)
    assert points[-1]["dev_accuracy"] == 1.0


def test_structures_as_objects():
    groups = Groups.from_lists([[0, 1], [2, 3, 4]], n_features=8)
    assert fit((TEXTS, LABELS), groups=groups, features="counts").facts["groups"]["total"] == 2
    tree = ClassTree.from_newick("((a,b),c);")
    model = fit((TEXTS, list("abcabc")), method="tree", class_tree=tree)
    assert model.structures()["tree"].to_newick() == "((a,b),c);"
    assert model.facts["class_tree"] == "given"
    trees = [Tree.parse("(S (NP (N fun)) (VP (V bark)))"), Tree.parse("(S (NP (N film)) (VP (V bark)))")]
    parsed = fit((TEXTS, LABELS), groups="parse", parser=Parser("pcfg").fit(trees), features="counts")
    assert set(parsed.facts["groups"]["families"]) == {"parse"}
    penalty = ElasticNet(0.1, l2=0.1)
    assert fit((TEXTS, LABELS), penalty=penalty).facts["penalty"] == penalty.describe()


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("LinearClassifier", {}),
        ("LinearRegressor", {"regression": True}),
        ("TreeClassifier", {"method": "tree", "class_tree": "balanced"}),
    ],
)
def test_models_of_every_kind_load_as_what_they_are(tmp_path, capsys, kind, how):
    labels = [1.0, 2.0, 3.0] * 2 if how.get("regression") else list("abc") * 2
    model = fit((TEXTS, labels), **how)
    model.save(tmp_path / "m")
    back = spinney.load(tmp_path / "m")
    assert isinstance(back, TextModel)
    assert back.kind == f"classify/{kind}"
    assert (back.settings, back.facts["active"]) == (model.settings, model.facts["active"])
    assert same(back, model)
    show_views(back.views(data=TEXTS, documents=1))
    assert "weights are non-zero" in capsys.readouterr().out
    assert "<table" in back._repr_html_()


def test_names_of_penalties_and_solvers_are_those_of_optim():
    assert set(names.PENALTIES) == set(PENALTIES) - {"timeseries"}
    assert set(names.SOLVERS) == {"auto", *SOLVERS}


def test_slope_by_its_name():
    model = fit((TEXTS, LABELS), penalty="slope", lam=0.1, features="counts")
    assert 0 < model.facts["active"] < model.facts["parameters"]
    assert fit((TEXTS, LABELS), penalty="slope", dev=0.4).facts["choice"]["by"] == "on the held-out documents"
    assert fit((TEXTS, LABELS), penalty="slope", dev=0.4, tune="grid").facts["tuning"]["chosen"].keys() == {
        "lam"
    }


def test_what_does_not_go_together_is_said_in_the_words_of_python():
    with pytest.raises(SettingError, match="lam, lam_ratio and cv each determine λ"):
        fit((TEXTS, LABELS), lam=1.0, cv=3)
    with pytest.raises(SettingError, match="tune is a setting of the method linear, not of tree"):
        fit((TEXTS, LABELS), method="tree", tune="grid")
    with pytest.raises(SettingError, match="parses and parser both provide"):
        fit((TEXTS, LABELS), groups="parse", parses="a", parser="b")


def test_help_fits_on_a_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["classify", "fit", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 70
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("╭─ ") for line in lines) == 7


def test_an_empty_model_is_said():
    texts, labels = ["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"]
    with pytest.warns(EmptyModelWarning, match="the penalty left no weight"):
        model = fit((texts, labels), lam=100.0)
    assert model.facts["active"] == 0


def test_a_configuration_fits_again_in_python(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\ngood fun,+\ngreat fun,+\ndull,-\ndull and bad,-\n")
    model = fit(str(tmp_path / "a.csv"), lam=0.1, threads=1)
    config = tomllib.loads(model.config())
    again = fit(config.pop("train"), **config)
    np.testing.assert_array_equal(again.coef, model.coef)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cv": 7}, "cv must be at most 6, the number of documents, not 7"),
        ({"penalty": "l1", "l2": 100.0, "lam": 1.0}, "l2 is not used by the penalty l1: leave it out"),
        ({"l1": 0.5, "lam": 1.0}, "l1 is not used by the penalty elasticnet: leave it out"),
        (
            {"penalty": ElasticNet(1.0, 1.0), "lam": 1.0},
            "lam has no effect: the penalty brings its own strengths",
        ),
        ({"groups": "lda:1000000"}, "must be lda:N, where N is from 2 to 10,000"),
    ],
)
def test_what_would_be_ignored_is_refused(given, message):
    with pytest.raises(SettingError, match=message):
        fit((TEXTS, LABELS), **given)


def test_folds_beyond_a_class_are_told(caplog):
    fit(([*TEXTS, "good"], [*LABELS, "pos"]), cv=4, penalty="l1", solver="cd")
    assert "4 folds, but the class 'neg' has only 3 documents" in caplog.text


def test_admm_chooses_its_strength():
    """It used to be given its threads twice."""
    groups = Groups.from_lists([[0, 1], [1, 2]], n_features=3)
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = fit((X, X[:, 0] > 0), penalty="overlap", groups=groups, solver="admm", tol=0.1, threads=1)
    assert model.facts["choice"]


def test_numbers_too_large_are_refused():
    numbers = [1e308 if i % 2 else -1e308 for i in range(6)]
    with pytest.raises(ValueError, match="y has numbers larger than 1e\\+100 \\(scale them\\)"):
        fit((TEXTS, numbers), regression=True, lam=1.0)
