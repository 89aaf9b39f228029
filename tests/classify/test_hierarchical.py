"""Classification along a tree: against the flat model, brute force, and scikit-learn's conventions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.classify import LinearClassifier
from spinney.classify.hierarchical import TreeClassifier
from spinney.classify.nodes import CountLoss
from spinney.errors import InputError, OptionError
from spinney.optim import L1
from spinney.structure import ClassTree


# One check asks that weights and repetitions agree to 1e-7: fits must be that fine.
@parametrize_with_checks([TreeClassifier(tol=1e-11)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def blobs(n_classes, d=6, per_class=30, seed=0, spread=1.5):
    rng = np.random.default_rng(seed)
    means = spread * rng.standard_normal((n_classes, d))
    y = np.repeat(np.arange(n_classes), per_class)
    return means[y] + rng.standard_normal((len(y), d)), np.array([f"c{k:02d}" for k in range(n_classes)])[y]


def flat(names):
    return ClassTree(names, [len(names)] * len(names) + [-1])


def random_tree(n_classes, rng):
    """Nodes are joined by twos and threes, at random, until one is left."""
    parent, active = [-1] * n_classes, list(range(n_classes))
    while len(active) > 1:
        chosen = rng.choice(len(active), size=min(len(active), int(rng.integers(2, 4))), replace=False)
        for i in chosen:
            parent[active[i]] = len(parent)
        active = [v for i, v in enumerate(active) if i not in chosen] + [len(parent)]
        parent.append(-1)
    return ClassTree([f"c{k:02d}" for k in range(n_classes)], parent)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_depth_0_is_the_flat_model(n_classes, penalty):
    X, y = blobs(n_classes)
    ours = TreeClassifier(flat(sorted(set(y))), 0.5, penalty=penalty, tol=1e-10).fit(X, y)
    peer = LinearClassifier(penalty, 0.5, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    assert np.array_equal(ours.predict(X), peer.predict(X))
    assert set(ours.dot_products(X)) == {1 if n_classes == 2 else n_classes}


def test_nodes_are_scikit_learn_regressions():
    X, y = blobs(4)
    tree = ClassTree.from_newick("((c00,c02),(c01,c03));")
    model = TreeClassifier(tree, 2.0, tol=1e-10).fit(X, y)
    logs = {}
    for name, group in {"root": ("c01", "c03"), "left": ("c02",), "right": ("c03",)}.items():
        here = {"root": y != "", "left": np.isin(y, ["c00", "c02"]), "right": np.isin(y, ["c01", "c03"])}[
            name
        ]
        peer = LogisticRegression(C=0.5, tol=1e-10).fit(X[here], np.isin(y[here], group))
        logs[name] = peer.predict_log_proba(X)
    expected = [
        logs["root"][:, 0] + logs["left"][:, 0],
        logs["root"][:, 1] + logs["right"][:, 0],
        logs["root"][:, 0] + logs["left"][:, 1],
        logs["root"][:, 1] + logs["right"][:, 1],
    ]
    np.testing.assert_allclose(model.predict_log_proba(X), np.column_stack(expected), atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10_000))
def test_probabilities_and_exact_prediction(n_classes, seed):
    rng = np.random.default_rng(seed)
    X, y = blobs(n_classes, d=3, per_class=4, seed=seed, spread=0.7)
    model = TreeClassifier(random_tree(n_classes, rng), 0.1).fit(X, y)
    X = np.vstack([X, 3 * rng.standard_normal((40, 3))])
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])
    # No search can do with less than the greedy way, and none needs more than all nodes.
    quick = TreeClassifier(model.tree, 0.1, greedy=True).fit(X[: len(y)], y)
    assert np.all(quick.dot_products(X) <= model.dot_products(X))
    assert model.dot_products(X).max() <= len(model.coef_)
    chosen = model.classes_[rng.integers(0, n_classes, len(X))]
    expected = model.predict_log_proba(X)[np.arange(len(X)), np.searchsorted(model.classes_, chosen)]
    np.testing.assert_allclose(model.log_likelihood(X, chosen), expected, atol=1e-10)


def test_greedy_follows_the_best_branch():
    X, y = blobs(6, spread=0.6)
    model = TreeClassifier(None, 0.5, greedy=True).fit(X, y)
    ptr, nodes = model.tree_.children()
    depth = {v: b.cost for v, b in zip(range(6, 11), model._nodes())}
    P = model.predict_proba(X)
    inside = {v: P[:, v] for v in range(6)}
    for v in range(len(model.tree_.parent) - 1, 5, -1):
        inside[v] = sum(inside[int(child)] for child in nodes[ptr[v] : ptr[v + 1]])
    for i in range(0, len(X), 7):
        v, cost = 6, 0
        while v >= 6:
            cost += depth[v]
            v = max(nodes[ptr[v] : ptr[v + 1]], key=lambda child: inside[int(child)][i])
        assert model.predict(X[[i]])[0] == model.classes_[v]
        assert model.dot_products(X[[i]])[0] == cost


def test_decision_path_leads_to_the_prediction():
    X, y = blobs(5)
    model = TreeClassifier().fit(X, y)
    path = model.decision_path(X).toarray()
    codes = np.searchsorted(model.classes_, model.predict(X))
    assert np.array_equal(path[:, :5].argmax(axis=1), codes)
    assert np.array_equal(path.sum(axis=1), model.tree_.depths[codes] + 1)


def test_sparse_input_and_threads_change_nothing():
    X, y = blobs(7)
    X[np.abs(X) < 1] = 0.0
    dense = TreeClassifier(tol=1e-9).fit(X, y)
    other = TreeClassifier(tol=1e-9, threads=2).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(other.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-7)
    assert np.array_equal(other.predict(sparse.csr_array(X)), dense.predict(X))


@pytest.mark.parametrize("tree", [None, flat([str(k) for k in range(6)])])
def test_counts_are_weighted_samples(tree):
    rng = np.random.default_rng(3)
    V = rng.standard_normal((20, 4))
    C = rng.poisson(0.7, (20, 6))
    C[:, 4] = 0
    context, label = np.nonzero(C)
    ours = TreeClassifier(tree, 0.3, tol=1e-10).fit_counts(V, sparse.csr_array(C))
    peer = TreeClassifier(tree, 0.3, tol=1e-10).fit(V[context], label, C[context, label])
    assert ours.classes_.tolist() == peer.classes_.tolist() == [0, 1, 2, 3, 5]
    np.testing.assert_allclose(ours.predict_proba(V), peer.predict_proba(V), atol=1e-7)


def test_the_loss_of_counts_has_its_gradient():
    rng = np.random.default_rng(0)
    loss = CountLoss(rng.standard_normal((9, 3)), rng.poisson(1.0, (9, 4)).astype(float), True)
    w = rng.standard_normal(loss.n_params)
    assert check_grad(lambda w: loss.value_and_grad(w)[0], lambda w: loss.value_and_grad(w)[1], w) < 1e-5
    v = rng.standard_normal(loss.n_params)
    difference = (loss.value_and_grad(w + 1e-6 * v)[1] - loss.value_and_grad(w - 1e-6 * v)[1]) / 2e-6
    np.testing.assert_allclose(loss.hess_vec(w)(v), difference, atol=1e-5)


def test_the_tree_is_cut_to_the_classes_of_the_data():
    X, y = blobs(3)
    tree = ClassTree.from_newick("(((c00,x),(y,z)),(c02,((c01))),w);")
    model = TreeClassifier(tree).fit(X, y)
    assert model.tree_.names == ["c00", "c01", "c02"]
    assert model.tree_.to_newick() == "(c00,(c02,c01));"
    with pytest.raises(InputError, match="'c02' is not in the tree"):
        TreeClassifier(ClassTree.balanced(["c00", "c01"])).fit(X, y)


def test_strengths_by_cross_validation():
    X, y = blobs(4, per_class=12, spread=0.5)
    grid = [0.01, 1.0, 100.0]
    model = TreeClassifier(policy="indep", lams=grid, folds=3).fit(X, y)
    assert set(model.lams_) <= set(grid)
    assert len(model.lams_) == 3
    # Nothing can be learnt from noise: the strongest penalty is best.
    rng = np.random.default_rng(0)
    noise = TreeClassifier(policy="indep", lams=grid).fit(
        rng.standard_normal((60, 20)), rng.integers(0, 3, 60)
    )
    assert set(noise.lams_) == {100.0}
    counted = TreeClassifier(policy="indep", lams=grid).fit_counts(
        X, np.eye(4)[np.unique(y, return_inverse=True)[1]]
    )
    assert set(counted.lams_) <= set(grid)


def test_strengths_by_a_gamma_prior():
    X, y = blobs(4)
    a, b = 3.0, 2.0
    model = TreeClassifier(policy="gamma", gamma=(a, b), tol=1e-9).fit(X, y)
    for v, node in enumerate(model._nodes()):
        expected = 2 * (a - 1) / (b + np.sum(model.coef_[node.rows] ** 2))
        assert model.lams_[v] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "other"}, "policy must be one of"),
        ({"policy": "gamma", "gamma": (1.0, 1.0)}, "shape above 1"),
        ({"policy": "gamma", "penalty": "l1"}, "needs the penalty l2"),
        ({"policy": "indep", "penalty": L1(1.0)}, "needs the name of a penalty"),
        ({"policy": "indep", "folds": 1}, "must be at least 2"),
        ({"penalty": "none at all"}, "there is no penalty"),
    ],
)
def test_bad_options(options, message):
    X, y = blobs(3)
    with pytest.raises(OptionError, match=message):
        TreeClassifier(**options).fit(X, y)


def test_bad_input():
    X, y = blobs(3)
    model = TreeClassifier().fit(X, y)
    with pytest.raises(InputError, match="was not seen in training"):
        model.log_likelihood(X[:1], ["c99"])
    with pytest.raises(InputError, match="counts must be finite"):
        TreeClassifier().fit_counts(X, -np.ones((len(X), 2)))
    with pytest.raises(InputError, match="counts have the shape"):
        TreeClassifier().fit_counts(X, np.ones((3, 2)))


def test_other_penalties_and_model_selection():
    X, y = blobs(4, d=10)
    sparse_model = TreeClassifier(penalty="l1", lam=5.0).fit(X, y)
    assert 0 < sparse_model.n_active_ < sparse_model.coef_.size
    assert cross_val_score(TreeClassifier(lam=0.1), X, y, cv=3).mean() > 0.8
