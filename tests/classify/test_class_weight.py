"""Weights of classes and of examples: scikit-learn's optimum, and repeated rows."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from spinney.classify import (
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    SemiSupervisedClassifier,
    TextFeatures,
    TextModel,
    TreeClassifier,
    fit,
)
from spinney.cli.main import run
from spinney.errors import InputError, OptionError, SettingError

TEXTS = ["see you at lunch", "the meeting is at noon", "lunch with the team", "notes of the meeting"]
TEXTS += ["win money now", "free money"]
LABELS = ["ham"] * 4 + ["spam"] * 2


def _data(classes):
    shares = [0.8] + [0.2 / (classes - 1)] * (classes - 1)
    X, y = make_classification(
        200, 6, n_informative=5, n_redundant=0, n_classes=classes, weights=shares, random_state=0
    )
    return X, y, np.random.default_rng(0).integers(1, 4, len(y))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 3.0}])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_scikit_learn(classes, class_weight, weighted):
    X, y, weights = _data(classes)
    given = weights if weighted else None
    ours = LinearClassifier("l2", lam=1.0, class_weight=class_weight, tol=1e-9).fit(X, y, given)
    theirs = LogisticRegression(class_weight=class_weight, tol=1e-9, max_iter=5000).fit(X, y, given)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert np.abs(ours.coef_ - LinearClassifier("l2", tol=1e-9).fit(X, y).coef_).max() > 0.01


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier("l1", class_weight="balanced", tol=1e-9),
        LinearClassifier("l2", loss="squared-hinge", tol=1e-9),
        TreeClassifier(tol=1e-9, class_weight="balanced"),
        TreeClassifier(tol=1e-9, class_weight={2: 4.0}),
        LinearRegressor("l1", tol=1e-9),
    ],
    ids=repr,
)
def test_whole_weights_are_repeated_rows(model):
    X, y, weights = _data(3)
    rows = np.repeat(np.arange(len(y)), weights)
    coef = model.fit(X, y, weights).coef_.copy()
    score = model.score(X, y, weights)
    np.testing.assert_allclose(model.fit(X[rows], y[rows]).coef_, coef, atol=1e-7)
    assert model.score(X[rows], y[rows]) == pytest.approx(score)
    assert np.abs(model.fit(X, y).coef_ - coef).max() > 1e-3


def test_counts_along_a_tree_are_weighted_like_rows():
    X, y, _ = _data(3)
    table = np.eye(3)[y]
    rows = TreeClassifier(class_weight="balanced", tol=1e-9).fit(X, y)
    counts = TreeClassifier(class_weight="balanced", tol=1e-9).fit_counts(X, table)
    np.testing.assert_allclose(counts.coef_, rows.coef_, atol=1e-6)


def test_the_strength_is_chosen_with_the_weights():
    X, y, weights = _data(2)
    rows = np.repeat(np.arange(len(y)), weights)
    fold = np.arange(len(y)) % 2
    parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)]
    repeated = [(np.flatnonzero(fold[rows] != k), np.flatnonzero(fold[rows] == k)) for k in range(2)]
    one = LinearClassifierCV("l1", class_weight="balanced", cv=parts, per_decade=2).fit(X, y, weights)
    other = LinearClassifierCV("l1", class_weight="balanced", cv=repeated, per_decade=2).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.lams_, other.lams_)
    np.testing.assert_allclose(one.losses_, other.losses_, rtol=1e-3)
    assert one.lam_ == pytest.approx(other.lam_)
    plain = LinearClassifierCV("l1", cv=parts, per_decade=2).fit(X, y, weights)
    assert abs(plain.losses_[0] - one.losses_[0]) > 1e-2  # balanced classes: log 2 for the empty model
    assert one.losses_[0] == pytest.approx(np.log(2), abs=0.02)


def test_mistakes_are_said():
    X, y, _ = _data(2)
    with pytest.raises(OptionError, match=r"must be 'balanced' or a mapping.*did you mean balanced"):
        LinearClassifier(class_weight="balancd").fit(X, y)
    with pytest.raises(OptionError, match="a number ≥ 0, not -1"):
        LinearClassifier(class_weight={0: -1}).fit(X, y)
    with pytest.raises(
        InputError, match=r"class_weight has 'spm', but the classes are ham and spam \(did you mean spam"
    ):
        TextModel(LinearClassifier(class_weight={"spm": 2.0}), TextFeatures()).fit(TEXTS, LABELS)
    with pytest.raises(OptionError, match="a regressor has no classes"):
        LinearRegressor(class_weight="balanced").fit(X, y)
    with pytest.raises(SettingError, match="regression has no classes"):
        fit((TEXTS, [1.0] * 6), regression=True, class_weight="balanced")


def test_a_class_that_a_fold_lacks_may_have_a_weight():
    X, y, _ = _data(2)
    named = LinearClassifier(class_weight={0: 1.0, 1: 2.0, 7: 3.0}).fit(X, y)
    np.testing.assert_allclose(named.coef_, LinearClassifier(class_weight={1: 2.0}).fit(X, y).coef_)


@pytest.mark.parametrize("criterion", ["entropy", "self-training", "weighted"])
def test_unlabelled_examples_do_not_lose_the_weights(criterion):
    X, y, _ = _data(2)
    labels = np.where(y == 1, "rare", "usual")

    def share(class_weight):
        inner = LinearClassifier("l2", class_weight=class_weight)
        return np.mean(SemiSupervisedClassifier(inner, criterion).fit(X, labels).predict(X) == "rare")

    assert share({"rare": 20.0}) > share(None) + 0.1


def test_the_command_keeps_the_weights_in_the_file(tmp_path, capsys):
    table = tmp_path / "mail.csv"
    table.write_text("label,text\n" + "".join(f"{label},{text}\n" for label, text in zip(LABELS, TEXTS)))
    found = {}
    command = ["classify", "fit", str(table), "--lam", "0.1", "--penalty", "l2", "--quiet", "--model"]
    for name, options in {"plain": [], "balanced": ["--class-weight", "balanced"]}.items():
        file = tmp_path / f"{name}.spinney"
        assert run([*command, str(file), *options]) == 0
        found[name] = TextModel.load(file)
    assert found["balanced"].estimator.class_weight == "balanced"
    assert 'class_weight = "balanced"' in found["balanced"].config()
    # Balanced: 6 / (2 · 4) and 6 / (2 · 2), of which the weights 1 and 2 are a multiple.
    named = LinearClassifier("l2", lam=0.1 / 0.75, class_weight={"ham": 1.0, "spam": 2.0})
    same = TextModel(named, TextFeatures()).fit(TEXTS, LABELS)
    np.testing.assert_allclose(found["balanced"].coef, same.coef, atol=1e-3)
    assert np.abs(found["plain"].coef - found["balanced"].coef).max() > 0.01
    same.save(tmp_path / "named.spinney")
    assert TextModel.load(tmp_path / "named.spinney").estimator.class_weight == {"ham": 1.0, "spam": 2.0}
    assert run([*command, str(tmp_path / "no.spinney"), "--class-weight", "balancd"]) == 2
    assert "--class-weight must be balanced" in capsys.readouterr().err


def test_a_dev_set_is_judged_with_the_weights_of_training():
    texts, labels = TEXTS * 4, LABELS * 4
    plain = fit((texts, labels), dev=(TEXTS, LABELS), penalty="l1")
    balanced = fit((texts, labels), dev=(TEXTS, LABELS), penalty="l1", class_weight="balanced")
    # The empty model: half of the weight is on each class.
    assert balanced.facts["choice"]["tried"][0]["loss"] == pytest.approx(np.log(2))
    assert plain.facts["choice"]["tried"][0]["loss"] < 0.65
    tree = fit((texts, labels), method="tree", class_weight="balanced", lam=0.1, penalty="l2")
    assert tree.estimator.class_weight == "balanced"


def test_the_squared_hinge_has_no_probabilities_to_ask_for():
    X, y, _ = _data(2)
    model = LinearClassifier("l2", loss="squared-hinge").fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert hasattr(LinearClassifier(), "predict_proba")
    hinge = fit((TEXTS, LABELS), loss="squared-hinge", lam=0.1)
    with pytest.raises(InputError, match="no class probabilities"):
        hinge.predict_proba(TEXTS)
