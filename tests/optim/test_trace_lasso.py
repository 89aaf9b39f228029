"""Trace-Lasso solvers: IRLS and ADMM agree with each other, with FISTA, and with the limiting cases."""

import sys

import numpy as np
import pytest
from scipy import optimize
from scipy.linalg import toeplitz

from spinney.errors import OptionError
from spinney.optim import (
    L1,
    GroupL2,
    LogisticLoss,
    SquaredLoss,
    TraceLasso,
    gradient_scale,
    lambda_max,
    path,
    solve,
)
from spinney.structure import Groups


def _problem(seed, n, p, correlation=0.0, intercept=False, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(toeplitz(correlation ** np.arange(p))).T
    X /= np.linalg.norm(X, axis=0)
    w = np.zeros(p)
    w[: p // 3] = rng.uniform(-1, 1, p // 3)
    y = X @ w + 0.05 * rng.standard_normal(n)
    weights = rng.uniform(0.5, 1.5, n) if weighted else None
    return X, SquaredLoss(X, y, weights, intercept)


def _agree(loss, penalty, tol=1e-8):
    irls = solve(loss, penalty, "irls", tol=tol, max_iter=300)
    admm = solve(loss, penalty, "admm", tol=tol, max_iter=3000)
    assert irls.converged
    assert irls.objective == pytest.approx(admm.objective, rel=1e-8)
    np.testing.assert_allclose(irls.w, admm.w, atol=1e-6)
    return irls


@pytest.mark.parametrize(("n", "p"), [(12, 20), (30, 10)])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("more", [{}, {"intercept": True, "weighted": True}])
def test_irls_and_admm_agree_to_1e_6(n, p, correlation, more):
    X, loss = _problem(0, n, p, correlation, **more)
    penalty = TraceLasso(1.0, X)
    solution = _agree(loss, penalty.with_lam(0.1 * lambda_max(loss, penalty)))
    assert np.any(solution.w[:p])


def test_family_with_another_matrix():
    _, loss = _problem(1, 25, 12)
    P = np.random.default_rng(2).standard_normal((5, 12))
    penalty = TraceLasso(1.0, P / np.linalg.norm(P, axis=0))
    _agree(loss, penalty.with_lam(0.2 * lambda_max(loss, penalty)))


def test_identity_gives_the_lasso():
    _, loss = _problem(3, 30, 12)
    lam = 0.1 * lambda_max(loss, L1(1.0))
    lasso = solve(loss, L1(lam), "cd", tol=1e-10)
    for solver in ("irls", "admm"):
        solution = solve(loss, TraceLasso.l1(lam, 12), solver, tol=1e-8, max_iter=300)
        np.testing.assert_allclose(solution.w, lasso.w, atol=1e-6)


@pytest.mark.parametrize("groups", [[list(range(12))], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]])
def test_shared_directions_give_groups(groups):
    """One row of ones is the ℓ2 norm, a row for each group the group Lasso."""
    _, loss = _problem(4, 30, 12)
    flat = Groups.from_lists(groups, n_features=12, weights="unit")
    penalty = GroupL2(1.0, flat)
    penalty = penalty.with_lam(0.3 * lambda_max(loss, penalty))
    by_groups = solve(loss, penalty, "cd", tol=1e-10)
    trace = TraceLasso.l2(penalty.lam, 12) if len(groups) == 1 else TraceLasso.group(penalty.lam, flat)
    for solver in ("irls", "admm"):
        np.testing.assert_allclose(
            solve(loss, trace, solver, tol=1e-8, max_iter=300).w, by_groups.w, atol=1e-6
        )


def test_logistic_loss_by_admm_and_by_prox():
    X, squared = _problem(5, 30, 8, 0.5)
    loss = LogisticLoss(X, np.where(squared.y > 0, 1.0, -1.0))
    penalty = TraceLasso(1.0, X)
    penalty = penalty.with_lam(0.2 * lambda_max(loss, penalty))
    admm = solve(loss, penalty, "admm", tol=1e-7, max_iter=1000)
    fista = solve(loss, penalty, "fista", tol=1e-6, max_iter=500)
    assert admm.converged
    assert admm.objective == pytest.approx(fista.objective, rel=1e-7)
    np.testing.assert_allclose(admm.w, fista.w, atol=1e-3)


def _logistic(seed, n, p, correlation, **how):
    X, squared = _problem(seed, n, p, correlation)
    return X, LogisticLoss(X, np.where(squared.y > np.median(squared.y), 1.0, -1.0), **how)


def smoothed_minimum(loss, penalty, smallest=1e-7):
    """Bounds of the optimum that share no code with the solvers: SciPy on Σ√(s² + ε²) over the singular values s.

    The objective where it ends is above the optimum; its smoothed value less λε for each singular value is below.
    """
    k, P, lam = penalty.P.shape[1], penalty.P, penalty.lam
    x = np.zeros(loss.n_params)

    def objective(x, eps):
        value, grad = loss.value_and_grad(x)
        U, s, Vt = np.linalg.svd(P * x[:k], full_matrices=False)
        root = np.sqrt(s**2 + eps**2)
        grad[:k] += lam * np.einsum("ij,ij->j", P, (U * (s / root)) @ Vt)
        return value + lam * root.sum(), grad

    how = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 30}
    for eps in 10.0 ** -np.arange(1, 1 - np.log10(smallest)):
        x = optimize.minimize(objective, x, (eps,), jac=True, method="L-BFGS-B", options=how).x
    above = loss.value_and_grad(x)[0] + penalty.value(x[:k])
    return objective(x, eps)[0] - lam * eps * min(P.shape) - 1e-6, above


@pytest.mark.parametrize(("n", "p"), [(15, 8), (10, 14)])
@pytest.mark.parametrize("ratio", [0.4, 0.1, 0.01])
def test_logistic_loss_by_irls_against_a_smoothed_minimum(n, p, ratio):
    X, loss = _logistic(11, n, p, 0.7, sample_weight=np.random.default_rng(1).uniform(0.5, 1.5, n))
    penalty = TraceLasso(1.0, X)
    penalty = penalty.with_lam(ratio * lambda_max(loss, penalty))
    solution = solve(loss, penalty, tol=1e-8)
    assert solution.solver == "irls"
    assert solution.converged
    below, above = smoothed_minimum(loss, penalty)
    assert below <= solution.objective <= above + 1e-9


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "p"), [(40, 12), (20, 30)])
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_loss_by_irls_ends_with_a_certificate(seed, n, p, intercept):
    X, loss = _logistic(seed, n, p, 0.9, intercept=intercept)
    penalty = TraceLasso(1.0, X)
    largest = lambda_max(loss, penalty)
    for ratio in (0.5, 0.1, 0.02, 0.002):
        solution = solve(loss, penalty.with_lam(ratio * largest))
        assert solution.converged
        assert solution.n_iter < 1000
        # The residual was taken roughly: the exact one is hardly larger.
        exact = penalty.with_lam(ratio * largest).violation(solution.w[:p], solution.grad[:p])
        assert exact <= 1.5e-6 * gradient_scale(loss)


def test_logistic_loss_by_irls_and_admm_to_1e_8():
    X, loss = _logistic(5, 30, 8, 0.5)
    penalty = TraceLasso(1.0, X)
    penalty = penalty.with_lam(0.1 * lambda_max(loss, penalty))
    irls = solve(loss, penalty, "irls", tol=1e-8)
    admm = solve(loss, penalty, "admm", tol=1e-8, max_iter=5000)
    assert irls.converged
    assert admm.converged
    assert irls.objective == pytest.approx(admm.objective, rel=1e-11)
    np.testing.assert_allclose(irls.w, admm.w, atol=1e-6)


def test_logistic_lasso_by_irls():
    _, loss = _logistic(8, 30, 12, 0.3)
    penalty = L1(0.2 * lambda_max(loss, L1(1.0)))
    solution = solve(loss, penalty, "irls", tol=1e-8)
    best = solve(loss, penalty, "cd", tol=1e-10)
    assert solution.converged
    np.testing.assert_allclose(solution.w, best.w, atol=1e-6)


def test_equal_columns_share_a_weight_and_opposite_ones_too():
    """Ω depends on the Gram matrix alone: a column and its copy, or its negative, are one direction."""
    X, loss = _logistic(9, 30, 6, 0.0)
    doubled = LogisticLoss(np.hstack([X, X, -X]), loss.y)
    penalty = TraceLasso(1.0, doubled.X)
    penalty = penalty.with_lam(0.2 * lambda_max(doubled, penalty))
    solution = solve(doubled, penalty, tol=1e-8)
    assert solution.converged
    first, copy, negative = solution.w[:18].reshape(3, 6)
    np.testing.assert_allclose(first, copy, atol=1e-6)
    np.testing.assert_allclose(first, -negative, atol=1e-6)


@pytest.mark.parametrize("max_iter", [1, 7, 30])
@pytest.mark.parametrize("logistic", [False, True])
def test_irls_counts_its_iterations(monkeypatch, max_iter, logistic):
    """One ridge regression each, those that tell zeros from small weights included."""
    module = sys.modules["spinney.optim.solvers.irls"]
    times, ridge = [], module.LeastSquares.ridge
    monkeypatch.setattr(module.LeastSquares, "ridge", lambda *a: times.append(1) or ridge(*a))
    X, loss = _logistic(3, 20, 30, 0.9) if logistic else _problem(3, 20, 30, 0.9)
    solution = solve(loss, TraceLasso(0.01, X), "irls", tol=1e-12, max_iter=max_iter)
    starts = len(solution.trace) if logistic else 1  # a start is a ridge regression, too
    assert solution.n_iter <= len(times) <= solution.n_iter + starts + 1
    assert solution.n_iter <= max_iter


def test_path_starts_empty_and_fills():
    X, loss = _problem(6, 20, 12, 0.5)
    solutions = [solution for _, solution in path(loss, TraceLasso(1.0, X), tol=1e-6)]
    assert np.max(np.abs(solutions[0].w)) < 1e-6
    assert np.count_nonzero(np.abs(solutions[-1].w) > 1e-3) > 4
    assert all(solution.converged for solution in solutions)


def test_subgradient_descent_falls_slowly():
    X, loss = _problem(7, 20, 10)
    penalty = TraceLasso(0.05, X)
    best = solve(loss, penalty, "irls", tol=1e-8, max_iter=300)
    rough = solve(loss, penalty, "subgradient", max_iter=200)
    start = loss.value_and_grad(np.zeros(10))[0]
    assert best.objective < rough.objective < 0.5 * (start + best.objective)


def _counted(monkeypatch):
    """How often ADMM shrinks singular values: once in each iteration."""
    module, times = sys.modules["spinney.optim.solvers.admm"], []
    shrink = module.shrink_singular_values
    monkeypatch.setattr(module, "shrink_singular_values", lambda *a: times.append(1) or shrink(*a))
    return times


def _hard():
    """A problem on which ADMM once took 4,644 iterations of which it said 30."""
    rng = np.random.default_rng(0)
    X = np.sqrt(0.5) * rng.standard_normal((40, 1)) + np.sqrt(0.5) * rng.standard_normal((40, 60))
    y = X @ (rng.standard_normal(60) * (rng.random(60) < 0.4)) + 0.5 * rng.standard_normal(40)
    X /= np.linalg.norm(X, axis=0)
    loss, penalty = SquaredLoss(X, y), TraceLasso(1.0, X)
    return loss, penalty.with_lam(0.5 * lambda_max(loss, penalty))


def test_admm_counts_its_iterations(monkeypatch):
    loss, penalty = _hard()
    for max_iter in (0, 1, 7, 30):
        times = _counted(monkeypatch)
        solution = solve(loss, penalty, "admm", tol=1e-10, max_iter=max_iter)
        assert len(times) == solution.n_iter == solution.trace[-1].iteration == max_iter
        monkeypatch.undo()


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("polishes", [True, False])
def test_admm_stops_on_its_certificate_or_its_residuals(monkeypatch, tol, polishes):
    """With the polish of the support, as soon as the support is right; without it, when the residuals are small."""
    loss, penalty = _hard()
    times = _counted(monkeypatch)
    if not polishes:
        module = sys.modules["spinney.optim.solvers.admm"]
        monkeypatch.setattr(module, "polished_trace", lambda problem, penalty, w, *_: w)
    solution = solve(loss, penalty, "admm", tol=tol, max_iter=5000)
    assert len(times) == solution.n_iter < (150 if polishes else 1000)
    assert polishes or max(solution.primal_dual) <= tol
    assert solution.converged
    best = solve(loss, penalty, "irls", tol=1e-9)
    assert solution.objective == pytest.approx(best.objective, rel=10 * tol**2 + 1e-9)


@pytest.mark.parametrize("logistic", [False, True])
def test_admm_by_default_ends_optimal_on_correlated_columns(logistic):
    """Both of these stopped after 1,000 iterations at violations of 2e-3 and 3e-3, with 26 and 44 weights."""
    rng = np.random.default_rng(0)
    X = np.sqrt(0.5) * rng.standard_normal((40, 1)) + np.sqrt(0.5) * rng.standard_normal((40, 60))
    y = X @ (rng.standard_normal(60) * (rng.random(60) < 0.4)) + 0.5 * rng.standard_normal(40)
    X /= np.linalg.norm(X, axis=0)
    loss = LogisticLoss(X, np.sign(y)) if logistic else SquaredLoss(X, y)
    penalty = TraceLasso(1.0, X)
    penalty = penalty.with_lam(0.1 * lambda_max(loss, penalty))
    admm, irls = solve(loss, penalty, "admm"), solve(loss, penalty, "irls", tol=1e-8)
    assert admm.converged
    assert admm.n_iter < 500
    assert admm.objective == pytest.approx(irls.objective, rel=1e-9)
    np.testing.assert_array_equal(admm.w != 0, irls.w != 0)


@pytest.mark.parametrize(
    "options", [{"relaxation": 2.0}, {"relaxation": 0.5}, {"change_tol": 1e-3}, {"rho": 0}]
)
def test_bad_options_of_admm(options):
    loss, penalty = _hard()
    with pytest.raises(OptionError, match=next(iter(options))):
        solve(loss, penalty, "admm", **options)


def test_plain_admm_gets_there_too():
    X, loss = _problem(6, 20, 12, 0.5)
    penalty = TraceLasso(0.05, X)
    plain = solve(loss, penalty, "admm", rho=1.0, relaxation=1.0, tol=1e-7, max_iter=5000)
    assert plain.converged
    assert plain.objective == pytest.approx(solve(loss, penalty, tol=1e-9).objective, rel=1e-9)


@pytest.mark.parametrize("logistic", [False, True])
def test_the_bound_of_the_optimum_holds_and_closes(logistic):
    X, loss = (_logistic(2, 30, 12, 0.7, intercept=False)) if logistic else _problem(2, 30, 12, 0.7)
    penalty = TraceLasso(1.0, X)
    penalty = penalty.with_lam(0.2 * lambda_max(loss, penalty))
    best = solve(loss, penalty, tol=1e-9)
    rng = np.random.default_rng(0)
    for away in (1.0, 1e-2, 1e-4, 0.0):
        w = best.w + away * rng.standard_normal(12)
        value, grad = loss.value_and_grad(w)
        found = penalty.bound(value - grad @ w, grad, penalty.residual(w, grad))
        assert found <= best.objective * (1 + 1e-9)
    assert found == pytest.approx(best.objective, rel=1e-6)


def test_where_the_certificate_cannot_hold_small_residuals_end_admm(monkeypatch):
    """And the answer is not said to have converged."""
    loss, penalty = _hard()
    monkeypatch.setattr(TraceLasso, "residual", lambda self, w, grad, accuracy=0.0: np.ones_like(grad))
    solution = solve(loss, penalty, "admm", tol=1e-4, max_iter=5000)
    assert max(solution.primal_dual) <= 1e-6
    assert solution.n_iter < 1000
    assert not solution.converged
