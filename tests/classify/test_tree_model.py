"""Text models along a tree of classes: files that come back whole, words by branch, hostile files."""

import numpy as np
import pytest

from spinney.classify import LinearClassifier, TextFeatures, TextModel, TreeClassifier
from spinney.errors import InputError, ModelFileError
from spinney.files import Parts, read_model, write_model
from spinney.structure import ClassTree, Groups

TEXTS = [
    "fur meow",
    "fur purr meow",
    "fur bark",
    "bark bark",
    "leaf acorn",
    "acorn",
    "leaf seed",
    "seed soft",
    "rain",
]
LABELS = ["cat", "cat", "dog", "dog", "oak", "oak", "elm", "elm", "fog"]
NEWICK = "((dog,cat),(elm,oak,fog));"


def fitted(labels=LABELS, newick=NEWICK, **parameters):
    tree = newick and ClassTree.from_newick(newick)
    return TextModel(TreeClassifier(tree, 0.05, **parameters), TextFeatures("counts")).fit(TEXTS, labels)


@pytest.mark.parametrize(
    ("labels", "newick"),
    [
        (LABELS, NEWICK),
        (LABELS, None),
        ([10, 10, 9, 9, 7, 7, 8, 8, 8], "((9,10),(8,7));"),
        ([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0], None),
        ([True] * 4 + [False] * 5, "(True,False);"),
    ],
)
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_files_come_back_whole(tmp_path, labels, newick, penalty):
    model = fitted(labels, newick, penalty=penalty, greedy=True)
    model.save(tmp_path / "m.spinney")
    assert read_model(tmp_path / "m.spinney").kind == "classify/TreeClassifier"
    back = TextModel.load(tmp_path / "m.spinney")
    np.testing.assert_array_equal(back.predict_proba(TEXTS), model.predict_proba(TEXTS))
    np.testing.assert_array_equal(back.predict(TEXTS), model.predict(TEXTS))
    assert back.predict(TEXTS).dtype.kind == model.predict(TEXTS).dtype.kind
    X = model.matrix(TEXTS)
    np.testing.assert_array_equal(back.estimator.dot_products(X), model.estimator.dot_products(X))
    np.testing.assert_array_equal(
        back.estimator.log_likelihood(X, labels), model.estimator.log_likelihood(X, labels)
    )
    assert back.tree.to_newick() == model.tree.to_newick()
    assert back.facts == model.facts
    assert back.words_by_node() == model.words_by_node()
    assert (back.estimator.penalty, back.estimator.greedy) == (penalty, True)
    again = back.estimator.fit(X, np.array(labels))  # the tree is a parameter again
    assert again.tree_.to_newick() == model.tree.to_newick()


def test_facts():
    facts = fitted(penalty="elasticnet", l2=0.5).facts
    assert facts["lam"] == 0.05
    assert facts["penalty"] == "elasticnet, ℓ2 = 0.5, at each node"
    assert (facts["tree_depth"], facts["tree_nodes"], facts["outputs"]) == (2, 3, 5)
    assert 2 <= facts["dot_products"] <= 5
    assert {"objective", "violation", "iterations", "active", "converged"} <= facts.keys()
    chosen = fitted(policy="indep", lams=[0.1, 10.0], folds=2).facts
    assert "lam" in chosen or chosen["lam_least"] < chosen["lam_most"]


def test_groups_are_kept(tmp_path):
    features = TextFeatures("counts")
    X = features.fit_transform(TEXTS)
    halves = Groups.from_labels([j % 2 for j in range(X.shape[1])], names=["half: 0", "half: 1"])
    estimator = TreeClassifier(ClassTree.from_newick(NEWICK), 0.01, penalty="group", groups=halves)
    model = TextModel(estimator, features).fit_matrix(X, LABELS)
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    assert len(back.estimator.groups) == 2
    assert back.facts["groups"]["total"] == 2


def test_words_speak_for_their_branch():
    model = fitted()
    root, *rest = model.words_by_node(2)
    assert [branch.classes for branch in root.branches] == [["cat", "dog"], ["elm", "fog", "oak"]]
    assert [len(node.branches) for node in rest] == [2, 3]
    (dogs, cats), (elm, oak, fog) = (node.branches for node in rest)
    assert (dogs.classes, cats.classes) == (["dog"], ["cat"])
    assert (dogs.words[0][0], cats.words[0][0]) == ("bark", "meow")
    assert (elm.words[0][0], oak.words[0][0], fog.words[0][0]) == ("seed", "acorn", "rain")
    assert len(model.words_by_node(2, nodes=1)) == 1
    for node in model.words_by_node(3):  # more of a word that speaks for a branch makes its classes likelier
        for branch in node.branches:
            columns = [model.outputs.index(label) for label in branch.classes]
            others = [
                model.outputs.index(label)
                for sibling in node.branches
                for label in sibling.classes
                if sibling != branch
            ]
            said = model.predict_proba([branch.words[0][0] + " fur", "fur"])
            odds = said[:, columns].sum(axis=1) / said[:, others].sum(axis=1)
            assert odds[0] > odds[1]
    assert model.strongest(1)["cat"] == cats.words[:1]
    assert model.strongest(1)["fog"] == fog.words[:1]
    assert TextModel(LinearClassifier(), TextFeatures()).words_by_node() == []


def test_trees_neither_start_nor_are_a_start():
    tree = fitted()
    linear = TextModel(LinearClassifier(), TextFeatures("counts")).fit(TEXTS, LABELS)
    X = tree.matrix(TEXTS)
    for model, init in ((tree, linear), (linear, tree)):
        with pytest.raises(InputError, match="along a class tree"):
            model.fit_matrix(X, LABELS, init=init)


def rewritten(path, **changes):
    """The model file with some tensors, strings or facts replaced; ``None`` leaves one out."""
    file = read_model(path)
    tensors, strings = {**file.tensors}, {name: list(texts) for name, texts in file.strings.items()}
    header, headers = dict(file.header), dict(file.part_headers)
    for store in (tensors, strings, header, headers):
        for name in changes.keys() & store.keys():
            if changes[name] is None:
                del store[name]
            else:
                store[name] = changes[name]
    parts = {}
    for part, facts in headers.items():
        inside = [
            {k[len(part) + 1 :]: v for k, v in s.items() if k.startswith(part + "/")}
            for s in (tensors, strings)
        ]
        parts[part] = Parts(facts, *inside)
    own = [{k: v for k, v in s.items() if "/" not in k} for s in (tensors, strings)]
    write_model(path, file.kind, header, *own, parts)


def parents(*values):
    return np.array(values, dtype=np.int32)


# The sound one: leaves cat dog elm fog oak; inner nodes 5 (the root), 6 and 7.
HOSTILE = {
    "no tree": {"tree": None},
    "no parents": {"tree/parent": None},
    "a cycle": {"tree/parent": parents(6, 6, 7, 7, 7, 6, 5, 5)},
    "out of range": {"tree/parent": parents(6, 6, 7, 7, 7, -1, 5, 99)},
    "far below 0": {"tree/parent": parents(6, 6, 7, 7, 7, -1, 5, -9)},
    "two roots": {"tree/parent": parents(6, 6, 7, 7, 7, -1, 5, -1)},
    "the wrong root": {
        "tree/parent": parents(6, 6, 5, 5, 5, 7, 7, -1),
        "tree/branch": parents(1, 0, 0, 2, 1, 0, 1, 0),
    },
    "children first": {
        "tree/parent": parents(7, 7, 6, 6, 6, -1, 7, 5),
        "tree/branch": parents(1, 0, 0, 2, 1, 0, 2, 0),
    },
    "a single branch": {
        "tree/parent": parents(6, 6, 6, 6, 6, -1, 7, 5),
        "tree/branch": parents(0, 1, 2, 3, 4, 0, 0, 0),
    },
    "a class with children": {"tree/parent": parents(6, 0, 7, 7, 7, -1, 5, 5)},
    "branches": {"tree/branch": parents(1, 1, 0, 2, 1, 0, 0, 1)},
    "too few branches": {"tree/branch": parents(0, 1)},
    "floats": {"tree/parent": np.array([6.0, 6, 7, 7, 7, -1, 5, 5])},
    "another shape of the right size": {
        "tree/parent": parents(5, 5, 6, 6, 6, -1, 5),
        "tree/branch": parents(0, 1, 0, 2, 1, 0, 2),
    },
    "other names": {"tree/names": ["cat", "dog", "elm", "fog", "yew"]},
    "names twice": {"tree/names": ["cat", "cat", "elm", "fog", "oak"], "classes": ["cat", "cat", "elm", "fog", "oak"]},
    "unsorted": {"tree/names": ["dog", "cat", "elm", "fog", "oak"], "classes": ["dog", "cat", "elm", "fog", "oak"]},
    "fewer classes": {"classes": ["cat", "dog"]},
    "type of class labels": {"class_type": "int"},
    "large numbers": {"class_type": "int", "classes": ["9" * 30, "dog", "elm", "fog", "oak"]},
    "intercepts": {"intercept": np.zeros(3)},
    "strengths": {"lams": np.ones(2)},
    "no strengths": {"lams": None},
    "a huge width": {"coef.shape": np.array([5, 1 << 60])},
    "rows": {"coef.shape": np.array([3, 10])},
}  # fmt: skip


@pytest.mark.parametrize("changes", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files(tmp_path, changes):
    path = tmp_path / "m.spinney"
    fitted().save(path)
    rewritten(path)
    assert TextModel.load(path).tree.parent.tolist() == [6, 6, 7, 7, 7, -1, 5, 5]
    rewritten(path, **changes)
    with pytest.raises(ModelFileError, match="damaged"):
        TextModel.load(path)


def test_weights_of_another_tree(tmp_path):
    fitted(newick="(((dog,cat),elm),(oak,fog));").save(tmp_path / "other.spinney")
    other = read_model(tmp_path / "other.spinney")
    fitted().save(tmp_path / "m.spinney")
    swapped = {name: other.tensors[f"tree/{name}"] for name in ("parent", "branch")}
    swapped["lams"] = other.tensors["lams"]
    rewritten(
        tmp_path / "m.spinney",
        **{("lams" if name == "lams" else f"tree/{name}"): value for name, value in swapped.items()},
    )
    with pytest.raises(ModelFileError, match="weights do not match"):
        TextModel.load(tmp_path / "m.spinney")
