"""Multinomial mixtures against brute force, against known clusters, and the promises of EM."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.errors import OptionError
from spinney.inference.mixture import MultinomialMixture, expectations

# scikit-learn looks there for the tags of a classifier in whatever has predict_proba.
SPARSE = dict.fromkeys(
    ["check_estimator_sparse_array", "check_estimator_sparse_matrix"], "needs a classifier"
)


@parametrize_with_checks([MultinomialMixture(2)], expected_failed_checks=lambda _: SPARSE)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def _draw(rng, beta, n, length):
    z = rng.integers(len(beta), size=n)
    return np.array([rng.multinomial(length, beta[c]) for c in z]), z


def test_expectations_are_sums_over_all_assignments():
    """The likelihood of the sample by enumeration of every assignment of rows to components."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(4, 3)).astype(float)
    weights, beta = np.array([0.3, 0.7]), rng.dirichlet(np.ones(3), 2)
    total, sizes, counts = 0.0, np.zeros(2), np.zeros((2, 3))
    for z in itertools.product(range(2), repeat=4):
        p = np.prod([weights[c] * np.prod(beta[c] ** x) for c, x in zip(z, X)])
        total += p
        for c, x in zip(z, X):
            sizes[c] += p
            counts[c] += p * x
    found = expectations(X, weights, beta)
    assert found.log_likelihood == pytest.approx(np.log(total), rel=1e-12)
    np.testing.assert_allclose(found.sizes, sizes / total, rtol=1e-12)
    np.testing.assert_allclose(found.counts, counts / total, rtol=1e-12)


def test_optimum_is_that_of_a_general_optimiser():
    rng = np.random.default_rng(1)
    X, _ = _draw(rng, np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), n=30, length=6)
    smooth = 0.5

    def criterion(v):
        log_pi, log_beta = np.log(softmax(v[:2])), np.log(softmax(v[2:].reshape(2, 3), axis=1))
        return -logsumexp(X @ log_beta.T + log_pi, axis=1).sum() - smooth * log_beta.sum()

    best = min(minimize(criterion, rng.standard_normal(8), tol=1e-10).fun for _ in range(10))
    found = MultinomialMixture(2, smooth=smooth, tol=1e-13, max_iter=5000, random_state=0).fit(X)
    assert -found.objective_ == pytest.approx(best, rel=1e-8)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.01, 1.0]), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_step_raises_the_criterion(seed, smooth, k):
    X = np.random.default_rng(seed).poisson(1.0, size=(15, 5))
    found = MultinomialMixture(k, smooth=smooth, tol=0.0, max_iter=30, n_init=1, random_state=seed).fit(X)
    steps = np.diff(found.trace_)
    assert np.all(steps >= -1e-9 * abs(found.objective_))
    np.testing.assert_allclose(found.components_.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.weights_.sum(), 1.0)
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1.0)


def test_separated_clusters_are_found():
    rng = np.random.default_rng(2)
    beta = rng.dirichlet(np.full(50, 0.1), 6)
    X, z = _draw(rng, beta, n=400, length=40)
    found = MultinomialMixture(6, random_state=0).fit(X)
    assert adjusted_rand_score(z, found.labels_) > 0.99
    # Each true β is found up to the standard error of a frequency.
    for c in range(6):
        ours = found.components_[np.bincount(found.labels_[z == c]).argmax()]
        tokens = 40 * np.sum(z == c)
        assert np.all(np.abs(ours - beta[c]) < 5 * np.sqrt(beta[c] / tokens) + 1e-3)


def test_one_component_is_the_smoothed_average():
    X = np.array([[3, 0, 1], [2, 0, 0]])
    found = MultinomialMixture(1, smooth=0.5).fit(X)
    np.testing.assert_allclose(found.components_, [[5.5 / 7.5, 0.5 / 7.5, 1.5 / 7.5]])
    log_p = 5 * np.log(5.5 / 7.5) + np.log(1.5 / 7.5)
    assert found.score(X) == pytest.approx(log_p / 2)


def test_sparse_and_dense_agree():
    X, _ = _draw(np.random.default_rng(3), np.random.default_rng(3).dirichlet(np.ones(8), 3), n=60, length=10)
    dense = MultinomialMixture(3, random_state=0).fit(X)
    for make in (sparse.csr_matrix, sparse.csc_array):
        other = MultinomialMixture(3, random_state=0).fit(make(X))
        np.testing.assert_allclose(other.components_, dense.components_, atol=1e-10)
        np.testing.assert_allclose(other.score_samples(make(X)), dense.score_samples(X), atol=1e-8)


def test_long_documents_do_not_underflow():
    X = np.array([[100_000, 3], [3, 100_000]])
    found = MultinomialMixture(2, random_state=0).fit(X)
    assert np.isfinite(found.score(X))
    np.testing.assert_allclose(np.sort(found.predict_proba(X), axis=1), [[0, 1], [0, 1]], atol=1e-12)


def test_rows_without_counts_and_identical_rows_are_harmless():
    X = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    found = MultinomialMixture(3, smooth=0.0, random_state=0).fit(X)
    assert np.isfinite(found.score(X))


def test_bad_input_and_early_stops_are_told():
    X = np.random.default_rng(0).poisson(2.0, size=(20, 5))
    with pytest.raises(ValueError, match="Negative"):
        MultinomialMixture(2).fit(-X)
    with pytest.raises(OptionError, match="n_components"):
        MultinomialMixture(0).fit(X)
    with pytest.raises(OptionError, match="as many rows"):
        MultinomialMixture(21).fit(X)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        MultinomialMixture(3, tol=0.0, max_iter=2, random_state=0).fit(X)
