"""The estimators: scikit-learn's own checks, parity with its models, and every penalty by name."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.classify import LinearClassifier, LinearClassifierCV, LinearRegressor, LinearRegressorCV
from spinney.errors import InputError, OptionError
from spinney.optim import TreeL2
from spinney.structure import Groups


@parametrize_with_checks(
    [
        # One check asks that weights and repetitions agree to 1e-7: fits must be that fine.
        LinearRegressor("l1", lam=0.1, tol=1e-11),
        LinearRegressor("l2", tol=1e-11),
        LinearClassifier("l1", lam=0.1, tol=1e-11),
        LinearClassifier("l2", tol=1e-11),
        LinearClassifierCV("l1", cv=3, per_decade=2, tol=1e-11),
        LinearRegressorCV("l1", cv=3, per_decade=2, tol=1e-11),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), np.array(["setosa", "versicolor", "virginica"])[y]


def test_parity_with_scikit_learn(cancer, iris):
    X, y = cancer
    ours = LinearClassifier("l2", lam=2.0, tol=1e-9).fit(X, y)
    peer = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    X, y = iris
    ours = LinearClassifier("l2", lam=1.0, tol=1e-9).fit(X, y)
    peer = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    X, y = load_diabetes(return_X_y=True)
    np.testing.assert_allclose(
        LinearRegressor("l1", lam=100.0, tol=1e-9).fit(X, y).coef_,
        Lasso(alpha=100.0 / len(y), tol=1e-10).fit(X, y).coef_,
        atol=1e-3,
    )


def test_sparse_and_dense_agree(iris):
    X, y = iris
    dense = LinearClassifier("elasticnet", lam=1.0, l2=0.5, tol=1e-9).fit(X, y)
    for make in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array):
        np.testing.assert_allclose(
            LinearClassifier("elasticnet", lam=1.0, l2=0.5, tol=1e-9).fit(make(X), y).coef_,
            dense.coef_,
            atol=1e-6,
        )


GROUPS = Groups.from_lists([[0, 1, 2], [3, 4, 5, 6], list(range(7, 30))], n_features=30)
NESTED = Groups.from_lists([[0], [0, 1, 2], [3, 4], list(range(7, 30)), [8, 9]], n_features=30)
CROSSING = Groups.from_lists([[0, 1, 2], [2, 3, 4], list(range(4, 30))], n_features=30)


@pytest.mark.parametrize(
    ("penalty", "more"),
    [
        ("none", {}),
        ("l2", {}),
        ("l1", {}),
        ("elasticnet", {"l2": 1.0}),
        ("fused", {"l1": 0.1}),
        ("group", {"groups": GROUPS}),
        ("sparse-group", {"groups": GROUPS, "l1": 0.5}),
        ("group-linf", {"groups": GROUPS}),
        ("tree-l2", {"groups": NESTED}),
        ("tree-linf", {"groups": NESTED}),
        ("overlap", {"groups": CROSSING}),
        ("latent", {"groups": CROSSING}),
        ("trace", {}),
        ("pairwise", {}),
        ("nuclear", {}),
    ],
)
def test_every_penalty_by_name(cancer, penalty, more):
    X, y = cancer
    X, y = X[:150], y[:150]
    lam = {"none": 0.0, "pairwise": 0.1}.get(penalty, 1.0)
    model = LinearClassifier(penalty, lam=lam, tol=1e-3, max_iter=3_000, **more).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.9
    regressor = LinearRegressor(penalty, lam=lam, tol=1e-3, max_iter=3_000, **more).fit(X, X[:, 0] + X[:, 5])
    assert regressor.converged_
    assert regressor.score(X, X[:, 0] + X[:, 5]) > 0.8


@pytest.mark.parametrize(
    "penalty", ["group", "sparse-group", "group-linf", "tree-l2", "tree-linf", "overlap", "latent"]
)
def test_groups_hold_all_classes_of_a_feature(iris, penalty):
    X, y = iris
    groups = Groups.from_lists([[0], [1], [2, 3]], n_features=4)
    model = LinearClassifier(penalty, lam_ratio=0.6, groups=groups, tol=1e-4, max_iter=5_000).fit(X, y)
    assert model.coef_.shape == (3, 4)
    kept = np.any(model.coef_ != 0, axis=0)
    assert kept[2:].all()
    assert not kept[:2].all()


def test_penalty_objects_and_feature_weights(cancer):
    X, y = cancer
    chain = np.arange(-1, 29)
    active = LinearClassifier(TreeL2(5.0, chain), max_iter=5_000).fit(X, y).coef_[0] != 0
    assert np.all(active[: active.sum()])  # a chain: the support is a prefix
    free = np.ones(30)
    free[3] = 0.0
    assert LinearClassifier("l1", lam_ratio=1.0, feature_weights=free).fit(X, y).n_active_ == 1


def test_path_and_warm_start(cancer):
    X, y = cancer
    model = LinearClassifier("l1", tol=1e-7)
    points = model.path(X, y, n=10, ratio=0.05)
    assert points[0].active == 0
    assert points[-1].active > 5
    assert [point.lam for point in points] == sorted((point.lam for point in points), reverse=True)
    single = LinearClassifier("l1", lam=points[-1].lam, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(points[-1].coef, single.coef_, atol=1e-4)
    warm = LinearClassifier("l1", lam=1.0, warm_start=True).fit(X, y)
    assert warm.fit(X, y).n_iter_ <= 1


def test_lam_ratio_and_certificate(cancer):
    X, y = cancer
    model = LinearClassifier("l1", lam_ratio=0.1).fit(X, y)
    assert 0 < model.n_active_ < 30
    assert model.violation_ <= 1e-5
    assert LinearClassifier("l1", lam_ratio=1.0).fit(X, y).n_active_ == 0


def test_sample_weights_repeat_examples(iris):
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    repeated = LinearClassifier("l1", lam=1.0, tol=1e-9).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    weighted = LinearClassifier("l1", lam=1.0, tol=1e-9).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_cross_validation_takes_the_smallest_held_out_loss(cancer):
    X, y = cancer
    model = LinearClassifierCV("l1", cv=3, threads=2).fit(X, y)
    assert model.scores_.shape == (3, len(model.lams_))
    best = int(np.argmin(model.losses_))
    assert model.lam_ == model.lams_[best]
    assert model.score_ == model.scores_.mean(axis=0)[best]
    again = LinearClassifierCV("l1", cv=3, threads=1).fit(X, y)
    np.testing.assert_array_equal(model.scores_, again.scores_)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda X, y: LinearClassifier("l1", lam=-1.0).fit(X, y), "≥ 0"),
        (lambda X, y: LinearClassifier("lasso").fit(X, y), "there is no penalty 'lasso'"),
        (lambda X, y: LinearClassifier("group").fit(X, y), "needs groups"),
        (lambda X, y: LinearClassifier("group", groups=CROSSING).fit(X, y), "group"),
        (lambda X, y: LinearClassifier("tree-l2", groups=CROSSING).fit(X, y), "group"),
        (lambda X, y: LinearClassifier("l1", lam_ratio=2.0).fit(X, y), "lam_ratio"),
        (lambda X, y: LinearClassifier("l1", solver="magic").fit(X, y), "no solver"),
        (lambda X, y: LinearClassifier("l1").fit(X, y, sample_weight=-np.ones(len(y))), "weights"),
        (
            lambda X, y: LinearClassifier("group", groups=Groups.from_lists([[0, 1]], n_features=7)).fit(
                X, y
            ),
            "7",
        ),
    ],
)
def test_bad_options_get_one_sentence(cancer, make, match):
    with pytest.raises(OptionError, match=match) as caught:
        make(*cancer)
    assert "\n" not in str(caught.value)


def test_one_class_is_refused(cancer):
    with pytest.raises(InputError, match="one class"):
        LinearClassifier().fit(cancer[0], np.ones(len(cancer[1])))


def test_trace_lasso_is_for_one_output(iris):
    with pytest.raises(OptionError, match="two classes"):
        LinearClassifier("trace").fit(*iris)
