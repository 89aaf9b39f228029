"""Losses against finite differences, closed forms and scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

from spinney.errors import OptionError
from spinney.optim import (
    L2,
    LogisticLoss,
    MultinomialLoss,
    OneVsRestLoss,
    SquaredHingeLoss,
    SquaredLoss,
    solve,
)


def _losses(intercept, as_sparse, weighted, rng):
    X = rng.standard_normal((12, 5)) * (rng.random((12, 5)) < 0.7)
    X = sparse.csr_matrix(X) if as_sparse else X
    s = rng.random(12) if weighted else None
    signs = np.where(rng.random(12) < 0.5, -1.0, 1.0)
    return [
        SquaredLoss(X, rng.standard_normal(12), s, intercept),
        LogisticLoss(X, signs, s, intercept),
        MultinomialLoss(X, np.arange(12) % 3, s, intercept),
        SquaredHingeLoss(X, signs, s, intercept),
        OneVsRestLoss(X, np.arange(12) % 3, s, intercept),
    ]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_derivatives_by_finite_differences(intercept, as_sparse, weighted):
    rng = np.random.default_rng(0)
    for loss in _losses(intercept, as_sparse, weighted, rng):
        w = rng.standard_normal(loss.n_params)
        _, grad = loss.value_and_grad(w)
        numeric = approx_fprime(w, lambda w, loss=loss: loss.value_and_grad(w)[0], 1e-7)
        np.testing.assert_allclose(grad, numeric, atol=1e-5)
        H = np.column_stack([loss.hess_vec(w)(e) for e in np.eye(loss.n_params)])
        numeric = np.column_stack(
            [
                (loss.value_and_grad(w + 1e-6 * e)[1] - loss.value_and_grad(w - 1e-6 * e)[1]) / 2e-6
                for e in np.eye(loss.n_params)
            ]
        )
        np.testing.assert_allclose(H, numeric, atol=1e-6)
        # A squared hinge keeps a trace of curvature where there is none.
        hinge = isinstance(loss, SquaredHingeLoss | OneVsRestLoss)
        np.testing.assert_allclose(loss.hess_diag(w), np.diag(H), atol=1e-4 if hinge else 1e-10)


def test_lipschitz_bounds_the_hessian():
    rng = np.random.default_rng(1)
    for loss in _losses(True, False, True, rng):
        for scale in (0.0, 1.0):
            w = scale * rng.standard_normal(loss.n_params)
            H = np.column_stack([loss.hess_vec(w)(e) for e in np.eye(loss.n_params)])
            assert np.linalg.eigvalsh(H)[-1] <= loss.lipschitz() * (1 + 1e-9)


def test_minibatches_are_unbiased():
    rng = np.random.default_rng(2)
    for loss in _losses(True, True, True, rng):
        w = rng.standard_normal(loss.n_params)
        batches = [estimate(w) for estimate in loss.minibatches(4, rng)]
        np.testing.assert_allclose(np.mean([value for value, _ in batches]), loss.value_and_grad(w)[0])
        np.testing.assert_allclose(np.mean([grad for _, grad in batches], axis=0), loss.value_and_grad(w)[1])


def test_null_point_is_the_best_constant():
    rng = np.random.default_rng(3)
    for loss in _losses(True, False, True, rng):
        _, grad = loss.value_and_grad(loss.null_point())
        np.testing.assert_allclose(grad[-loss.n_free :], 0.0, atol=1e-12)


def test_large_margins_do_not_overflow():
    X = np.array([[1e4], [-1e4]])
    with np.errstate(over="raise", invalid="raise"):
        value, grad = LogisticLoss(X, [-1, 1], intercept=False).value_and_grad(np.array([1.0]))
        assert value == pytest.approx(2e4)
        assert np.all(np.isfinite(grad))
        value, grad = MultinomialLoss(X, [1, 0], intercept=False).value_and_grad(np.array([1.0, -1.0]))
        assert value == pytest.approx(4e4)


def test_bad_input_is_refused():
    X = np.eye(3)
    with pytest.raises(OptionError, match="labels"):
        LogisticLoss(X, [0, 1, 1])
    with pytest.raises(OptionError, match="sample weights"):
        SquaredLoss(X, [1.0, 2.0, 3.0], sample_weight=[1, -1, 1])
    with pytest.raises(OptionError, match="rows"):
        SquaredLoss(X, [1.0, 2.0])
    with pytest.raises(OptionError, match="labels"):
        MultinomialLoss(X, [0, 1, 5], n_classes=3)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_objective_of_linear_svc(n_classes, C):
    """Without an intercept, which liblinear penalises and Spinney does not."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(4)
    X, labels = rng.standard_normal((60, 8)), rng.integers(n_classes, size=60)
    if n_classes == 2:
        loss = SquaredHingeLoss(X, 2.0 * labels - 1.0, intercept=False)
    else:
        loss = OneVsRestLoss(X, labels, intercept=False)
    theirs = LinearSVC(C=C, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, labels)
    ours = solve(loss, L2(1 / C), tol=1e-10)
    w = theirs.coef_.T.ravel()
    assert ours.objective == pytest.approx(loss.value_and_grad(w)[0] + L2(1 / C).value(w), rel=1e-6)
    np.testing.assert_allclose(ours.w, w, atol=1e-4)


def test_the_null_points_of_squared_hinges():
    rng = np.random.default_rng(5)
    for loss in _losses(True, False, True, rng)[3:]:
        null = loss.null_point()
        free = loss.value_and_grad(null)[1][-loss.n_free :]
        np.testing.assert_allclose(free, 0.0, atol=1e-10)


def test_a_gap_certifies_squared_hinges():
    """Intercepts are fitted, and the bound on the optimum holds."""
    rng = np.random.default_rng(6)
    for loss in _losses(True, False, True, rng)[3:]:
        fitted = loss.fit_free(rng.standard_normal(loss.n_params))
        np.testing.assert_allclose(loss.value_and_grad(fitted)[1][-loss.n_free :], 0.0, atol=1e-9)
        exact, rough = (solve(loss, L2(0.5), "lbfgs", tol=tol) for tol in (1e-9, 1e-2))
        assert exact.converged
        assert rough.gap is not None
        assert rough.objective - exact.objective <= rough.gap * rough.objective + 1e-9


def test_intercepts_of_many_classes_are_fitted_without_a_matrix_of_pairs(monkeypatch):
    """By products with the Hessian as by its pseudo-inverse; also where examples weigh much."""
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((400, 3)), np.concatenate([np.arange(120), rng.integers(0, 120, 280)])
    for weight in (1.0, 1000.0):
        loss = MultinomialLoss(X, y, np.full(400, weight))
        w = rng.standard_normal(loss.n_params)
        fitted = loss.fit_free(w)
        np.testing.assert_allclose(loss.value_and_grad(fitted)[1][-120:], 0.0, atol=1e-9 * weight)
        with monkeypatch.context() as patch:
            patch.setattr("spinney.optim.losses._DENSE", 1000)
            dense = loss.fit_free(w)
        one, other = (found[-120:] - found[-120:].mean() for found in (fitted, dense))
        np.testing.assert_allclose(one, other, atol=1e-6)
