"""Semi-supervised classifiers: the five criteria, against their definitions, scikit-learn and finite differences."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.classify import (
    LinearClassifier,
    SemiSupervisedClassifier,
    density_ratio,
    semi_supervised_weights,
)
from spinney.classify.semisupervised import CRITERIA
from spinney.errors import InputError, OptionError
from spinney.inference.mixture import MultinomialMixture
from spinney.optim import L2, EntropyRegularised, LogisticLoss, MultinomialLoss, solve


@parametrize_with_checks([SemiSupervisedClassifier(criterion=criterion) for criterion in CRITERIA])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def counts():
    """Documents of two kinds, few of them labelled, in unlike proportions."""
    rng = np.random.default_rng(0)
    beta = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]])
    z = np.repeat([0, 1], [12, 28])
    X = np.array([rng.multinomial(3, beta[c]) for c in z])
    y = np.array(["ham", "spam"])[(rng.random(40) < np.where(z == 1, 0.9, 0.1)).astype(int)]
    unlabelled = np.array([rng.multinomial(3, beta[c]) for c in rng.integers(2, size=400)])
    return X, y, unlabelled


# ---------------------------------------------------------------------------------------- entropy as a loss


def _entropy_losses(rng, intercept, as_sparse):
    make = sparse.csr_array if as_sparse else np.asarray
    X, U, s = rng.standard_normal((9, 4)), rng.standard_normal((7, 4)), rng.random(7)
    labels = rng.integers(3, size=9)
    signs = np.where(rng.random(9) < 0.5, -1.0, 1.0)
    yield EntropyRegularised(LogisticLoss(make(X), signs, None, intercept), make(U), 0.7, s), U, s
    yield EntropyRegularised(MultinomialLoss(make(X), labels, None, intercept, 3), make(U), 0.7, s), U, s


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_entropy_and_its_gradient(intercept, as_sparse):
    rng = np.random.default_rng(1)
    for loss, U, s in _entropy_losses(rng, intercept, as_sparse):
        w = rng.standard_normal(loss.n_params)
        value, grad = loss.value_and_grad(w)
        numeric = approx_fprime(w, lambda w, loss=loss: loss.value_and_grad(w)[0], 1e-7)
        np.testing.assert_allclose(grad, numeric, atol=1e-5)
        W = w.reshape(-1, loss.loss.n_outputs)
        M = U @ W[:4] + (W[4] if intercept else 0.0)
        P = softmax(M, axis=1) if M.shape[1] > 1 else np.hstack([expit(M), expit(-M)])
        entropy = -(P * np.log(P)).sum(axis=1)
        assert value - loss.loss.value_and_grad(w)[0] == pytest.approx(0.7 * s @ entropy, rel=1e-12)


def test_entropy_of_sure_predictions_is_zero():
    U = np.array([[1e4], [-1e4]])
    with np.errstate(all="raise", under="ignore"):
        for loss in (
            LogisticLoss([[1.0], [-1.0]], [1, -1], intercept=False),
            MultinomialLoss([[1.0], [-1.0]], [1, 0], intercept=False),
        ):
            w = np.ones(1) if loss.n_outputs == 1 else np.array([-1.0, 1.0])
            value, grad = EntropyRegularised(loss, U, 1.0).value_and_grad(w)
            expected = loss.value_and_grad(w)
            assert value == pytest.approx(expected[0])
            np.testing.assert_allclose(grad, expected[1])


def test_entropy_with_the_two_forms_of_two_classes():
    """Logistic with ½λ‖w‖² is multinomial with λ on half the difference of two opposite rows."""
    rng = np.random.default_rng(2)
    X, U = rng.standard_normal((20, 3)), rng.standard_normal((30, 3))
    y = (X[:, 0] + rng.standard_normal(20) > 0).astype(int)
    one = solve(EntropyRegularised(LogisticLoss(X, 2.0 * y - 1.0), U, 0.1), L2(1.0), tol=1e-9)
    two = solve(EntropyRegularised(MultinomialLoss(X, y), U, 0.1), L2(2.0), tol=1e-9)
    np.testing.assert_allclose(np.diff(two.w.reshape(4, 2), axis=1).ravel(), one.w, atol=1e-6)


# ------------------------------------------------------------------------------------------------ weights


def test_weights_are_share_over_count(counts):
    X, _, unlabelled = counts
    weights = semi_supervised_weights(X, unlabelled)
    share = np.array([(unlabelled == x).all(axis=1).mean() for x in X])
    count = np.array([(x == X).all(axis=1).sum() for x in X])
    np.testing.assert_allclose(weights, share / count * len(X) / (share / count).sum())
    for make in (sparse.csr_matrix, sparse.csc_array):
        np.testing.assert_allclose(semi_supervised_weights(make(X), make(unlabelled)), weights)


def test_weights_by_cluster(counts):
    X, _, unlabelled = counts
    weights = semi_supervised_weights(X, unlabelled, n_clusters=2, random_state=0)
    clusters = MultinomialMixture(2, random_state=0).fit(np.vstack([X, unlabelled])).labels_
    share, count = np.bincount(clusters[40:]) / 400, np.bincount(clusters[:40])
    expected = (share / count)[clusters[:40]]
    np.testing.assert_allclose(weights, expected * 40 / expected.sum())
    assert len(np.unique(weights)) == 2
    rarer = clusters[:40] == count.argmin()
    assert weights[rarer].min() > weights[~rarer].max(), "the under-represented cluster weighs more"


def test_a_population_like_the_sample_changes_nothing(counts):
    X, y, _ = counts
    np.testing.assert_allclose(semi_supervised_weights(X, X), 1.0)
    weighted = SemiSupervisedClassifier(LinearClassifier(tol=1e-9)).fit(X, y, np.vstack([X, X]))
    plain = SemiSupervisedClassifier(LinearClassifier(tol=1e-9), "supervised").fit(X, y)
    np.testing.assert_allclose(weighted.estimator_.coef_, plain.estimator_.coef_, atol=1e-8)


def test_no_common_row_is_an_error(counts):
    X, y, _ = counts
    with pytest.raises(InputError, match="n_clusters"):
        SemiSupervisedClassifier().fit(X, y, X + 10)


def test_density_ratio_finds_a_shift():
    """Two normal laws of one variance: the log ratio is linear, and the classifier well specified."""
    rng = np.random.default_rng(3)
    X, unlabelled = rng.standard_normal((4000, 1)), rng.standard_normal((4000, 1)) + 0.5
    slope = np.polyfit(X[:, 0], np.log(density_ratio(X, unlabelled)), 1)[0]
    assert slope == pytest.approx(0.5, abs=4 * np.sqrt(2 / 4000) * 1.5)


# ---------------------------------------------------------------------------------------------- estimator


def test_weighted_fit_is_scikit_learns_with_the_same_weights(counts):
    X, y, unlabelled = counts
    ours = SemiSupervisedClassifier(LinearClassifier("l2", lam=0.5, tol=1e-10)).fit(X, y, unlabelled)
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000)
    peer.fit(X, y, sample_weight=semi_supervised_weights(X, unlabelled))
    np.testing.assert_allclose(ours.predict_proba(unlabelled), peer.predict_proba(unlabelled), atol=1e-5)
    assert ours.classes_.tolist() == ["ham", "spam"]


def test_shimodaira_with_a_known_law(counts):
    X, y, unlabelled = counts
    q_train = np.random.default_rng(4).random(40) + 0.1
    model = SemiSupervisedClassifier(criterion="shift").fit(X, y, unlabelled, q_train=q_train)
    share = np.array([(unlabelled == x).all(axis=1).mean() for x in X])
    np.testing.assert_allclose(model.sample_weight_, share / q_train * 40 / (share / q_train).sum())
    # With the training law estimated by counts, Shimodaira's estimator is the weighted one.
    counted = np.array([(x == X).all(axis=1).mean() for x in X])
    model.fit(X, y, unlabelled, q_train=counted)
    np.testing.assert_allclose(model.sample_weight_, semi_supervised_weights(X, unlabelled))


@pytest.mark.parametrize("classes", [2, 3])
def test_entropy_fit_is_that_of_a_general_optimiser(classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    X = X - X.mean(axis=0)
    rng = np.random.default_rng(5)
    rows = rng.permutation(len(y))
    labelled, rest = rows[:20], rows[20:]
    base = LinearClassifier("l2", lam=1.0, tol=1e-8)
    model = SemiSupervisedClassifier(base, "entropy", strength=0.05).fit(X[labelled], y[labelled], X[rest])
    K = 1 if classes == 2 else classes

    def probabilities(Z, W):
        M = Z @ W[:4] + W[4]
        return softmax(M, axis=1) if K > 1 else np.hstack([expit(-M), expit(M)])

    def criterion(w):
        W = w.reshape(5, K)
        P = [probabilities(Z, W) for Z in (X[labelled], X[rest])]
        nll = -np.log(P[0][np.arange(20), y[labelled]]).sum()
        mean_entropy = -(P[1] * np.log(P[1])).sum(axis=1).mean()
        return nll + 0.05 * 20 * mean_entropy + 0.5 * np.sum(W[:4] ** 2)

    peer = minimize(criterion, np.zeros(5 * K), tol=1e-12)
    ours = np.vstack([model.estimator_.coef_.T, model.estimator_.intercept_])
    assert criterion(ours.ravel()) == pytest.approx(peer.fun, rel=1e-7)
    assert model.estimator_.objective_ == pytest.approx(peer.fun, rel=1e-7)
    assert model.estimator_.converged_
    plain = LinearClassifier("l2", lam=1.0).fit(X[labelled], y[labelled])
    assert criterion(ours.ravel()) < criterion(np.vstack([plain.coef_.T, plain.intercept_]).ravel())


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_entropy_with_sparse_penalties(counts, penalty):
    X, y, unlabelled = counts
    base = LinearClassifier(penalty, lam=2.0, l2=0.1)
    model = SemiSupervisedClassifier(base, "entropy", strength=0.01).fit(X, y, sparse.csr_array(unlabelled))
    assert model.estimator_.converged_
    assert 0 < model.estimator_.n_active_ < 4


def test_self_training_is_scikit_learns(counts):
    X, y, unlabelled = counts
    model = SemiSupervisedClassifier(criterion="self-training", strength=0.8).fit(X, y, unlabelled)
    peer = SelfTrainingClassifier(LogisticRegression(C=1.0, tol=1e-8), threshold=0.8, max_iter=None)
    targets = np.append((y == "spam").astype(int), np.full(400, -1))
    peer.fit(np.vstack([X, unlabelled]), targets)
    np.testing.assert_array_equal(model.predict(unlabelled) == "spam", peer.predict(unlabelled) == 1)


def test_any_classifier_with_weights_will_do(counts):
    X, y, unlabelled = counts
    model = SemiSupervisedClassifier(MultinomialNB()).fit(X, y, unlabelled)
    peer = MultinomialNB().fit(X, y, sample_weight=semi_supervised_weights(X, unlabelled))
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X))
    assert not hasattr(model, "decision_function")
    with pytest.raises(OptionError, match="LinearClassifier"):
        SemiSupervisedClassifier(MultinomialNB(), "entropy").fit(X, y, unlabelled)


def test_bad_options_are_refused(counts):
    X, y, unlabelled = counts
    with pytest.raises(OptionError, match="criterion must be"):
        SemiSupervisedClassifier(criterion="magic").fit(X, y)
    with pytest.raises(OptionError, match="shift"):
        SemiSupervisedClassifier().fit(X, y, unlabelled, q_train=np.ones(40))
    with pytest.raises(OptionError, match="40 numbers > 0"):
        SemiSupervisedClassifier(criterion="shift").fit(X, y, unlabelled, q_train=np.zeros(40))
    with pytest.raises(ValueError, match="features"):
        SemiSupervisedClassifier().fit(X, y, unlabelled[:, :3])
    with pytest.raises(OptionError, match="features"):
        EntropyRegularised(LogisticLoss(X, np.ones(40)), unlabelled[:, :3], 1.0)
