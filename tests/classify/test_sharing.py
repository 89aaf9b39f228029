"""Classifiers with the penalty on a tree of classes: what they share, their files, their mistakes."""

import numpy as np
import pytest

from spinney.classify import LinearClassifier, LinearClassifierCV, LinearRegressor, TextModel
from spinney.classify.recipes import fit, path
from spinney.classify.sharing import shared_features, smallest_nodes
from spinney.errors import InputError, ModelFileError, OptionError, SettingError
from spinney.files import read_model, write_model
from spinney.structure import ClassTree
from spinney.views import as_json

NEWICK = "((cat,dog),(oak,elm));"
ANIMALS, PLANTS = ("cat", "dog"), ("oak", "elm")
OWN = {"cat": "meow", "dog": "bark", "oak": "acorn", "elm": "seed"}


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    labels = rng.choice(sorted(OWN), 200).tolist()
    kinds = [("fur", "paw") if label in ANIMALS else ("leaf", "root") for label in labels]
    noise = ["the", "a", "of", "it", "soft", "old"]
    texts = [
        " ".join([OWN[label], rng.choice(kind), *rng.choice(noise, 4)])
        if rng.random() < 0.8
        else " ".join([rng.choice(kind), *rng.choice(noise, 5)])
        for label, kind in zip(labels, kinds)
    ]
    return texts, labels


@pytest.fixture(scope="module")
def model(documents):
    return fit(
        documents, penalty="tree-output", class_tree=ClassTree.from_newick(NEWICK), lam=4.0, features="counts"
    )


def test_the_smallest_node_is_that_of_brute_force():
    rng = np.random.default_rng(1)
    tree = ClassTree.from_newick("((a,(b,c)),(d,e,f),g);")
    coef = rng.standard_normal((7, 60)) * (rng.random((7, 60)) < 0.25)
    sets = {}
    for v in range(len(tree.parent)):
        sets[v] = {leaf for leaf in range(7) if v in _way(tree, leaf)}
    for column, found in zip(coef.T, smallest_nodes(tree, coef).tolist()):
        used = set(np.flatnonzero(column).tolist())
        around = [v for v in sets if used <= sets[v]]
        expected = min(around, key=lambda v: len(sets[v])) if used else -1
        assert found == expected


def _way(tree, leaf):
    way, v = [], leaf
    while v >= 0:
        way.append(v)
        v = int(tree.parent[v])
    return way


def test_words_of_a_kind_are_shared_and_words_of_a_class_are_not(model):
    found = {tuple(one.classes): [model.names[j] for j in one.features] for one in
             shared_features(model.output_tree, model.coef, 10)}  # fmt: skip
    assert {"fur", "paw", "leaf", "root"} & set(found[("cat", "dog", "oak", "elm")])
    below = set(found.get(ANIMALS, [])) | set(found.get(("cat",), [])) | set(found.get(("dog",), []))
    assert {"meow", "bark"} & below
    told = as_json(model.views())
    assert told["newick"] == NEWICK
    assert sum(one["n_features"] for one in told["shared"]) == told["size"]["active_features"]
    assert model.facts["gap"] < 1e-5


def test_files_come_back_whole(tmp_path, model, documents):
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    np.testing.assert_array_equal(back.coef, model.coef)
    assert back.output_tree.to_newick() == NEWICK
    assert back.structures()["tree"].to_newick() == NEWICK
    assert as_json(back.views()) == as_json(model.views())
    again = back.estimator.fit(
        back.matrix(documents[0]), np.array(documents[1])
    )  # the tree is a parameter again
    np.testing.assert_allclose(again.coef_, model.coef, atol=1e-3)
    assert back.report_views() is not None


def test_a_file_with_another_tree_is_damaged(tmp_path, model):
    contents = model.contents()
    other = {**contents.parts, "tree": ClassTree.from_newick("((cat,dog),(oak,ash));").parts()}
    model.save(tmp_path / "m.spinney")
    file = read_model(tmp_path / "m.spinney")
    header = {**contents.header, "settings": file.header.get("settings")}
    write_model(tmp_path / "bad.spinney", model.kind, header, contents.tensors, contents.strings, other)
    with pytest.raises(ModelFileError, match="damaged: the tree does not match the classes"):
        TextModel.load(tmp_path / "bad.spinney")


def test_strengths_are_chosen_and_trees_learned(documents):
    chosen = fit(documents, penalty="tree-output", class_tree="balanced", cv=3, features="counts")
    assert chosen.facts["choice"]["folds"] == 3
    assert chosen.facts["class_tree"] == "balanced"
    assert len(as_json(path(documents, penalty="tree-output", class_tree="spec", points=3))["points"]) == 3
    X, y = chosen.matrix(documents[0]), np.array(documents[1])
    some = ClassTree.from_newick("((cat,dog),(oak,elm,ash));")  # a class without examples is left out
    model = LinearClassifierCV("tree-output", class_tree=some, cv=2).fit(X, y)
    assert model.class_tree_.to_newick() == NEWICK
    hinge = LinearClassifier("tree-output", lam=5.0, class_tree="spec", loss="squared-hinge").fit(X, y)
    assert hinge.gap_ < 1e-5


def test_what_is_refused(documents):
    X, y = np.eye(6), np.array(list("abcabc"))
    tree = ClassTree.from_newick("((a,b),c);")
    with pytest.raises(OptionError, match="class_tree is only for the penalty tree-output, not l1"):
        LinearClassifier("l1", class_tree=tree).fit(X, y)
    with pytest.raises(OptionError, match="needs at least three classes"):
        LinearClassifier("tree-output", class_tree=tree).fit(X, np.array(list("ababab")))
    with pytest.raises(OptionError, match="needs a tree of classes: give class_tree"):
        LinearClassifier("tree-output").fit(X, y)
    with pytest.raises(OptionError, match="a regressor has no classes: leave out class_tree"):
        LinearRegressor("l1", class_tree=tree).fit(X, np.arange(6.0))
    with pytest.raises(InputError, match="the tree does not contain the class 'c'"):
        LinearClassifier("tree-output", class_tree=ClassTree.from_newick("(a,b);")).fit(X, y)
    for given, told in [
        ({"class_tree": "spec"}, "class_tree needs the penalty tree-output, or the method tree"),
        ({"penalty": "tree-output"}, "tree-output needs a tree of classes: give class_tree"),
        ({"penalty": "tree-output", "method": "tree"}, "leave out method tree"),
        ({"penalty": "tree-output", "class_tree": "spec", "regression": True}, "has no classes"),
    ]:
        with pytest.raises(SettingError, match=told):
            fit(documents, **given)
