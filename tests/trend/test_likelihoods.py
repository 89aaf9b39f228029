"""Likelihoods by finite differences, and against models fitted time by time."""

import numpy as np
import pytest
from scipy.special import log_softmax

from spinney.optim import SquaredLoss
from spinney.trend.likelihoods import SageLoss, background, gaussian, logistic, restricted

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 3)) * (rng.random((12, 3)) < 0.6)
STEPS = np.array([0, 0, 0, 1, 1, 3, 3, 3, 3, 0, 1, 3])  # no document at time 2
COUNTS = rng.integers(0, 4, (12, 5))
COVARIATES = np.column_stack([rng.integers(0, 2, 12), rng.integers(0, 2, 12)]).astype(float)
THETA = background(COUNTS, STEPS, 4)

LOSSES = {
    "gaussian": gaussian(X, rng.standard_normal(12), STEPS, 4, noise_variance=0.3),
    "logistic": logistic(X, np.where(rng.random(12) < 0.5, 1.0, -1.0), STEPS, 4),
    "sage": SageLoss(COUNTS, COVARIATES, STEPS, THETA),
    "restricted": restricted(SageLoss(COUNTS, COVARIATES, STEPS, THETA), np.array([0, 3, 7, 31])),
    "columns": restricted(gaussian(X, rng.standard_normal(12), STEPS, 4), np.array([0, 3, 7, 15])),
}


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_by_finite_differences(name):
    loss, h = LOSSES[name], 1e-5
    w = 0.3 * np.random.default_rng(1).standard_normal(loss.n_params)
    _, grad = loss.value_and_grad(w)
    hessian = np.zeros((len(w), len(w)))
    for i, e in enumerate(np.eye(len(w))):
        up, down = loss.value_and_grad(w + h * e), loss.value_and_grad(w - h * e)
        assert grad[i] == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-6, abs=1e-7)
        hessian[i] = (up[1] - down[1]) / (2 * h)
    assert loss.hess_diag(w) == pytest.approx(np.diag(hessian), rel=1e-5, abs=1e-7)
    v = np.random.default_rng(2).standard_normal(len(w))
    assert loss.hess_vec(w)(v) == pytest.approx(hessian @ v, rel=1e-5, abs=1e-6)


def test_each_time_has_its_own_coefficients():
    y = np.random.default_rng(3).standard_normal(12)
    W = np.random.default_rng(4).standard_normal((4, 4))
    value, grad = gaussian(X, y, STEPS, 4).value_and_grad(W.ravel())
    alone = [
        SquaredLoss(X[rows], y[rows]).value_and_grad(W[t])
        for t, rows in ((t, np.flatnonzero(np.equal(STEPS, t))) for t in (0, 1, 3))
    ]  # half of the sum of squares; the thesis has no half
    assert value == pytest.approx(2 * sum(one[0] for one in alone))
    assert grad.reshape(4, 4)[[0, 1, 3]] == pytest.approx(2 * np.array([one[1] for one in alone]))
    assert not np.any(grad.reshape(4, 4)[2])


def test_sage_is_the_probability_of_the_words():
    W = np.random.default_rng(5).standard_normal((4, 5, 2))
    value, _ = SageLoss(COUNTS, COVARIATES, STEPS, THETA).value_and_grad(W.ravel())
    expected = -sum(COUNTS[d] @ log_softmax(THETA[t] + W[t] @ COVARIATES[d]) for d, t in enumerate(STEPS))
    assert value == pytest.approx(expected)


def test_documents_with_the_same_covariates_are_one():
    w = np.random.default_rng(6).standard_normal(40)
    one = SageLoss(COUNTS, COVARIATES, STEPS, THETA)
    other = SageLoss(COUNTS, COVARIATES, STEPS, THETA, aggregate=False)
    assert sum(len(year.F) for year in one.years) < len(COUNTS) == sum(len(year.F) for year in other.years)
    assert one.value_and_grad(w)[0] == pytest.approx(other.value_and_grad(w)[0])
    assert one.value_and_grad(w)[1] == pytest.approx(other.value_and_grad(w)[1])
    assert one.hess_diag(w) == pytest.approx(other.hess_diag(w))
    assert one.hess_vec(w)(w) == pytest.approx(other.hess_vec(w)(w))


def test_the_background_of_a_time_without_documents_is_that_of_all():
    totals = COUNTS.sum(axis=0) + 0.5
    assert np.exp(THETA[2]) == pytest.approx(totals / totals.sum())
    assert np.exp(THETA).sum(axis=1) == pytest.approx(1.0)


def test_words_without_deviations_are_one_number():
    whole = SageLoss(COUNTS, COVARIATES, STEPS, THETA)
    words = np.array([0, 3])
    some, fewer = whole.of_words(words), whole.of_words(words).of_words(np.array([1]))
    W = np.zeros((4, 5, 2))
    W[:, words] = np.random.default_rng(7).standard_normal((4, 2, 2))
    w = W[:, words].ravel()
    value, grad = whole.value_and_grad(W.ravel())
    assert some.value_and_grad(w)[0] == pytest.approx(value)
    assert some.value_and_grad(w)[1] == pytest.approx(grad.reshape(W.shape)[:, words].ravel())
    assert some.hess_diag(w) == pytest.approx(whole.hess_diag(W.ravel()).reshape(W.shape)[:, words].ravel())
    W[:, 0] = 0.0
    assert fewer.value_and_grad(W[:, 3].ravel())[0] == pytest.approx(whole.value_and_grad(W.ravel())[0])


def test_what_is_kept_of_a_point_is_not_used_at_another():
    loss, w = SageLoss(COUNTS, COVARIATES, STEPS, THETA), np.zeros(40)
    loss.value_and_grad(w)
    w += np.random.default_rng(8).standard_normal(40)  # in place, as solvers may do
    fresh = SageLoss(COUNTS, COVARIATES, STEPS, THETA)
    assert loss.value_and_grad(w)[0] == fresh.value_and_grad(w)[0]
    assert np.array_equal(loss.hess_diag(w), fresh.hess_diag(w))


@pytest.mark.parametrize("size", [-800.0, 800.0])
def test_large_deviations_do_not_overflow(size):
    some = SageLoss(COUNTS, COVARIATES, STEPS, THETA).of_words(np.array([2]))
    value, grad = some.value_and_grad(np.full(some.n_params, size))
    assert np.isfinite(value)
    assert np.all(np.isfinite(grad))
