"""L-BFGS on the coordinates of the examples, against L-BFGS on the weights, Newton and scikit-learn."""

import numpy as np
import pytest
from scipy import sparse

from spinney.optim import L2, LogisticLoss, MultinomialLoss, SquaredLoss, solve
from spinney.optim.problem import Problem
from spinney.optim.solvers.lbfgs import lbfgs
from spinney.optim.solvers.rowspace import lies_in_row_space


def _losses(intercept, as_sparse):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 60)) * (rng.random((20, 60)) < 0.5)
    X = sparse.csr_matrix(X) if as_sparse else X
    s = 0.2 + rng.random(20)
    signs = np.where(rng.random(20) < 0.5, -1.0, 1.0)
    return [
        SquaredLoss(X, rng.standard_normal(20), s, intercept),
        LogisticLoss(X, signs, s, intercept),
        MultinomialLoss(X, np.arange(20) % 3, s, intercept),
    ]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("warm", [True, False])
def test_the_optimum_of_lbfgs_on_the_weights(intercept, as_sparse, warm):
    """Also from a start that no combination of examples gives."""
    for loss in _losses(intercept, as_sparse):
        penalty = L2(0.3)
        assert lies_in_row_space(Problem(loss, penalty))
        w0 = np.random.default_rng(0).standard_normal(loss.n_params) if warm else None
        ours = solve(loss, penalty, "lbfgs", tol=1e-9, w0=w0)
        theirs = solve(loss, penalty, lbfgs, tol=1e-9, w0=w0)
        assert ours.converged
        assert theirs.converged
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-12)
        np.testing.assert_allclose(ours.w[: 60 * loss.n_outputs], theirs.w[: 60 * loss.n_outputs], atol=1e-6)
        np.testing.assert_allclose(ours.grad, loss.value_and_grad(ours.w)[1], atol=1e-8)
        value = loss.value_and_grad(ours.w)[0] + penalty.value(ours.w[: 60 * loss.n_outputs])
        assert ours.objective == pytest.approx(value, rel=1e-12)


def test_scikit_learn_agrees():
    from sklearn.linear_model import LogisticRegression

    loss = _losses(True, True)[2]
    theirs = LogisticRegression(C=1 / 0.7, tol=1e-10, max_iter=10_000)
    theirs.fit(loss.X, loss.labels, sample_weight=loss.sample_weight)
    ours = solve(loss, L2(0.7), "lbfgs", tol=1e-9)
    np.testing.assert_allclose(ours.w[:-3].reshape(60, 3).T, theirs.coef_, atol=1e-6)


def test_few_iterations_are_counted_and_stop():
    loss = _losses(True, True)[2]
    stopped = solve(loss, L2(1e-3), "lbfgs", tol=1e-12, max_iter=3)
    assert stopped.n_iter == 3
    assert not stopped.converged


def test_other_problems_keep_their_weights():
    loss = _losses(True, False)[1]
    narrow = LogisticLoss(loss.X[:, :20], loss.y)
    assert not lies_in_row_space(Problem(narrow, L2(1.0)))
    assert not lies_in_row_space(Problem(loss, L2(0.0)))
