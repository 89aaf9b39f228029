"""The strength that ``fit`` chooses where none is given: by cross-validation or on held-out documents."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

from spinney.classify import LinearClassifier, LinearClassifierCV, fit
from spinney.classify.choice import EQUAL, Choice, Fold, Tried, choose, split
from spinney.errors import SettingError
from spinney.optim import L1, L2, ElasticNet, EmptyModelWarning, LogisticLoss, path
from spinney.structure import ClassTree
from spinney.taxonomy import learn_taxonomy

GOOD, BAD = ["fun", "great", "good", "joy", "warm"], ["dull", "bad", "long", "sad", "cold"]


def reviews(n, seed=0, noise=0.15):
    """Texts of ten words, three of which tell the class, most of the time."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.5, "+", "-")
    texts = []
    for label in labels:
        told = GOOD if (label == "+") != (rng.random() < noise) else BAD
        words = [*rng.choice(told, 3), *(f"w{i}" for i in rng.integers(60, size=7))]
        texts.append(" ".join(words))
    return texts, labels.tolist()


def _folds(seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(rng.standard_normal((80, 30)))
    y = np.where(np.asarray(X[:, :3].sum(axis=1)).ravel() + rng.standard_normal(80) > 0, 1.0, -1.0)
    parts = split((y > 0).astype(int), 4, 0)
    return [Fold(LogisticLoss(X[a], y[a]), LogisticLoss(X[b], y[b]), lambda m: 0.0) for a, b in parts]


@pytest.mark.parametrize("penalty", [L1(1.0), ElasticNet(1.0, 0.0).tied(l2=2.0), L2(1.0)])
def test_the_best_is_never_at_the_edge(penalty):
    found = choose(_folds(), penalty)
    lams = [tried.lam for tried in found.tried]
    assert lams == sorted(lams, reverse=True)
    assert lams[-1] * 4.9 <= found.best.lam
    if not isinstance(penalty, L2):
        assert found.best.lam < lams[0]


def test_losses_are_those_of_single_fits():
    folds = _folds()
    found = choose(folds, L1(1.0), tol=1e-9)
    lams = [tried.lam for tried in found.tried]
    total = np.zeros(len(lams))
    for fold in folds:
        for i, (_, solution) in enumerate(path(fold.train, L1(1.0), lams, tol=1e-9)):
            total[i] += fold.held_out.value_and_grad(solution.w)[0]
    np.testing.assert_allclose([tried.loss for tried in found.tried], total / 80, rtol=1e-6)


def test_a_ridge_goes_up_where_the_best_is_there():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 40))
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)  # nothing to learn: the stronger, the better
    fold = Fold(LogisticLoss(X[:40], y[:40]), LogisticLoss(X[40:], y[40:]), lambda m: 0.0)
    found = choose([fold], L2(1.0))
    assert found.best.lam > 10 * (X[:40] ** 2).sum() / 40


def test_equals_go_to_the_stronger_and_empty_models_come_last():
    tried = [
        Tried(4.0, 0.5, 0.5, active=0),
        Tried(2.0, 0.7 * (1 + EQUAL / 2), 0.8, active=1),
        Tried(1.0, 0.7, 0.9, active=9),
    ]
    assert Choice(tried, 1, np.zeros((1, 3))).best.lam == 2.0


def test_folds_hold_every_example_out_once_but_lone_ones_never():
    codes = np.array([0] * 7 + [1] * 3 + [2])
    parts = split(codes, 5, seed=0)
    held_out = np.concatenate([test for _, test in parts])
    assert sorted(held_out.tolist()) == list(range(10))
    for train, test in parts:
        assert set(codes[train]) == {0, 1, 2}
        assert not set(train) & set(test)


def test_fit_chooses_and_says_so():
    texts, labels = reviews(200)
    model = fit((texts, labels))
    assert model.facts["penalty"].startswith("elastic net")
    assert "chosen by 5-fold cross-validation among" in model.notes[0]
    tests, truth = reviews(500, seed=1)
    fixed = fit((texts, labels), penalty="l1", lam=1.0)
    accuracy = [np.mean(one.predict(tests) == np.array(truth)) for one in (model, fixed)]
    assert accuracy[0] > 0.8
    assert accuracy[0] >= accuracy[1]
    assert 0 < model.facts["active"] < model.facts["features"]


def test_the_command_and_the_estimator_choose_alike():
    texts, labels = reviews(100)
    model = fit((texts, labels), penalty="l1", tol=1e-8)
    X = model.features.transform(texts)
    peer = LinearClassifierCV("l1", tol=1e-8).fit(X, labels)
    assert model.facts["lam"] == pytest.approx(peer.lam_)
    assert LinearClassifier().fit(X, labels).lam_ == 1.0


def test_a_given_strength_is_fitted_exactly():
    data = reviews(60)
    assert fit(data, lam=0.3).facts["lam"] == 0.3
    assert "choice" not in fit(data, lam=0.3).facts
    assert fit(data, lam=0.3).estimator.l2 == pytest.approx(0.3)  # rows of tf-idf have length 1
    assert fit(data, lam=0.3, l2=0.01).estimator.l2 == 0.01
    counted = fit(data, lam=0.3, features="counts").estimator
    assert counted.l2 > 0.6
    by_ratio = fit(data, lam_ratio=0.1).estimator
    assert by_ratio.l2 == pytest.approx(by_ratio.lam)
    with pytest.raises(SettingError, match="lam and dev both determine"):
        fit(data, lam=0.3, dev=0.2)


@pytest.mark.filterwarnings("ignore:the model is empty")
@pytest.mark.parametrize("penalty", ["overlap", None])
def test_a_share_of_the_strength_that_empties_counts_what_is_tied_to_it(penalty):
    data = reviews(60)
    most, less = (
        fit(data, groups="sentence", penalty=penalty, lam_ratio=share, max_iter=500).facts["active"]
        for share in (1.0, 0.8)
    )
    assert most == 0 < less


def test_held_out_documents_choose_along_the_same_path():
    model = fit(reviews(80), dev=reviews(40, seed=2))
    assert model.facts["choice"]["by"] == "on the held-out documents"
    assert model.facts["choice"]["folds"] == 1
    assert model.facts["documents"] == 80


@pytest.mark.parametrize("given", [{"groups": "sentence"}, {"groups": "lda:3"}, {"penalty": "l2"}])
def test_every_penalty_gets_its_strength(given):
    model = fit(reviews(60), features="counts", **given)
    assert model.facts["choice"]["folds"] == 5
    assert model.facts["active"] > 0


def test_nodes_of_a_tree_choose_for_themselves():
    texts, labels = reviews(60)
    labels = [label + ("a" if i % 2 else "b") for i, label in enumerate(labels)]
    model = fit((texts, labels), method="tree", class_tree="balanced")
    assert model.facts["active"] > 0
    assert fit((texts, labels), method="tree", class_tree="balanced", lam=0.5).facts["lam"] == 0.5


def four_classes(n):
    texts, labels = reviews(n)
    return texts, [label + ("a" if len(text) % 2 else "b") for text, label in zip(texts, labels)]


@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
def test_one_strength_for_all_nodes_of_a_tree_is_chosen_on_held_out_documents(penalty):
    texts, labels = four_classes(160)
    train, dev = (texts[:120], labels[:120]), (texts[120:], labels[120:])
    tree = ClassTree.balanced(sorted(set(labels)))
    how = {"method": "tree", "class_tree": tree, "features": "counts", "penalty": penalty}
    model = fit(train, dev=dev, **how)
    choice = model.facts["choice"]
    for tried in choice["tried"][:2]:
        same = fit(train, lam=tried["lam"], **how)
        expected = log_loss(dev[1], same.predict_proba(dev[0]), labels=same.estimator.classes_)
        assert tried["loss"] == pytest.approx(expected, rel=1e-4)
    best = min(choice["tried"], key=lambda tried: tried["loss"])
    assert model.facts["lam"] == best["lam"]
    assert all(tried["loss"] >= best["loss"] for tried in (choice["tried"][0], choice["tried"][-1]))
    assert choice["tried"][0]["lam"] > best["lam"] > choice["tried"][-1]["lam"]


def test_the_policies_of_nodes_reach_the_estimator():
    texts, labels = four_classes(60)
    how = {"method": "tree", "features": "counts", "penalty": "l2"}
    by_node = fit((texts, labels), policy="indep", cv=4, **how)
    assert by_node.estimator.folds == 4
    assert len(set(by_node.estimator.lams_)) > 1
    prior = fit((texts, labels), policy="gamma", **how)
    assert prior.estimator.policy == "gamma"


def test_settings_of_a_learned_tree_reach_the_learner():
    texts, labels = four_classes(60)
    how = {"method": "tree", "features": "counts", "lam": 0.1}
    shallow = fit((texts, labels), depth=0, **how)
    assert len(shallow.estimator.tree_.paths().arity) == 1  # a flat tree has one inner node
    X = shallow.features.sparse(texts)
    for given in ({"delta": 50.0}, {"exact": False}):
        found = fit((texts, labels), class_tree="spec", **given, **how)
        assert found.estimator.tree_.to_newick() == learn_taxonomy(X, labels, "spec", **given).to_newick()


def test_regression_is_chosen_by_squared_error():
    texts, labels = reviews(80)
    model = fit((texts, [1.0 if label == "+" else 0.0 for label in labels]), regression=True)
    assert "R²" in model.notes[0]
    assert model.facts["active"] > 0


def test_where_nothing_can_be_held_out():
    model = fit((["good fun", "so dull"], ["+", "-"]))
    assert "too few documents" in model.notes[0]
    assert model.facts["active"] > 0


def test_an_empty_model_is_said():
    with pytest.warns(EmptyModelWarning, match="leave it out"):
        fit(reviews(40), lam=100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmptyModelWarning)
        fit(reviews(40))


def test_the_squared_hinge_in_fit(tmp_path):
    from spinney.classify import TextModel

    texts, labels = reviews(80)
    model = fit((texts, labels), loss="squared-hinge", penalty="l2")
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    np.testing.assert_array_equal(back.predict(texts), model.predict(texts))
    assert not back.has_probabilities
    scores = model.evaluate((texts, labels))[0].values
    assert "log_loss" not in scores
    with pytest.raises(SettingError, match="squared loss"):
        fit((texts, labels), loss="log", regression=True)


def test_unlabelled_documents_are_not_used_unless_they_help():
    texts, labels = reviews(60)
    more, _ = reviews(100, seed=3)
    model = fit((texts, labels), unlabelled=more, penalty="l2", features="counts")
    alone = fit((texts, labels), penalty="l2", features="counts")
    tried = model.facts["criteria_tried"]
    assert tried[0]["criterion"] == "supervised"
    chosen = next(one for one in tried if one["criterion"] == model.facts["criterion"])
    assert chosen["error"] <= tried[0]["error"]
    if model.facts["criterion"] == "supervised":
        np.testing.assert_allclose(model.coef, alone.coef, atol=1e-6)
    given = fit(
        (texts, labels), unlabelled=more, criterion="shift", criterion_strength=0.5, features="counts"
    )
    assert 0 < given.facts["effective_sample"] <= 60
    assert "effective sample" in given.notes[-1]
    with pytest.raises(SettingError, match="unlabelled"):
        fit((texts, labels), criterion="shift")


def test_one_cluster_of_documents_weighs_all_of_them_alike():
    texts, labels = reviews(60)
    how = {"unlabelled": reviews(100, seed=3)[0], "criterion": "weighted", "criterion_strength": 1.0}
    one = fit((texts, labels), clusters=1, features="counts", lam=0.1, **how)
    more = fit((texts, labels), clusters=5, features="counts", lam=0.1, **how)
    assert one.facts["effective_sample"] == pytest.approx(60)
    assert more.facts["effective_sample"] < 59
    with pytest.raises(SettingError, match="clusters need unlabelled"):
        fit((texts, labels), clusters=3)
