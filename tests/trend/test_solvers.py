"""Both solvers of the adaptive prior, the sparse one and ridge-ts."""

import numpy as np
import pytest
from scipy.optimize import minimize

from spinney.optim import L1, SquaredLoss, gradient_scale, solve
from spinney.trend.adaptive import JointObjective, alternate, jointly
from spinney.trend.chains import toeplitz
from spinney.trend.likelihoods import gaussian, logistic
from spinney.trend.newton import Newton, at
from spinney.trend.prior import AdaptivePrior
from spinney.trend.ridge_ts import fit_ridge_ts, ridge_ts_precision
from spinney.trend.sparse import fit_sparse


@pytest.fixture(scope="module")
def problem(make_world):
    world = make_world()
    T = len(world.W)
    loss = gaussian(world.X, world.y, world.steps, T, noise_variance=0.1)
    pooled = solve(SquaredLoss(world.X, world.y), L1(2.0))
    return loss, np.tile(pooled.w, (T, 1)), gradient_scale(loss)


def objectives(fit):
    return np.array([step.objective for step in fit.trace])


def never_rises(fit):
    values = objectives(fit)
    return np.all(np.diff(values) <= 1e-10 * np.abs(values[:-1]))


@pytest.mark.parametrize("by", ["jensen", "quadrature"])
@pytest.mark.parametrize("sign", ["any", "positive"])
@pytest.mark.parametrize("prune", [True, False])
def test_alternating_never_rises_and_ends_where_the_gradient_does(problem, by, sign, prune):
    loss, start, scale = problem
    prior = AdaptivePrior(len(start), logdet=by, kappa_sign=sign, floor=1e-9)
    fit = alternate(loss, prior, start, prune=prune, tol=1e-6, scale=scale)
    assert fit.converged
    assert never_rises(fit)
    assert fit.objective == pytest.approx(
        loss.value_and_grad(fit.W.ravel())[0] + prior.value(fit.W, fit.kappa)
    )
    kept = np.any(fit.W != 0, axis=0)
    _, in_W, in_kappa = prior.value_and_grads(fit.W, fit.kappa)
    grad = loss.value_and_grad(fit.W.ravel())[1].reshape(fit.W.shape) + in_W
    assert np.max(np.abs(grad[:, kept])) <= 1e-6 * scale * 1.01
    inside = fit.kappa > 0 if sign == "positive" else np.ones(len(fit.kappa), bool)
    assert np.max(np.abs(in_kappa[inside])) < 1e-2


def test_alternating_finds_the_true_features(problem, make_world):
    loss, start, scale = problem
    fit = alternate(loss, AdaptivePrior(len(start), floor=1e-9), start, scale=scale)
    found = np.flatnonzero(np.any(fit.W != 0, axis=0))
    world = make_world()
    strong = np.flatnonzero(np.abs(world.W).mean(axis=0) > 0.3)
    assert set(strong.tolist()) <= set(found.tolist()) <= {0, 1, 2, 3, 4, 5, 40}  # no other is there
    assert np.abs(fit.W[:, :40] - world.W).max() < 0.4


def test_joint_descent_never_rises_and_alternating_is_no_worse(problem):
    loss, start, scale = problem
    prior = AdaptivePrior(len(start), floor=1e-9)
    joint = jointly(loss, prior, start, tol=1e-6, max_iter=3000, scale=scale)
    values = objectives(joint)
    assert np.all(np.diff(values) <= 1e-9 * np.abs(values[:-1]))
    assert joint.objective == pytest.approx(
        loss.value_and_grad(joint.W.ravel())[0] + prior.value(joint.W, joint.kappa)
    )
    other = alternate(loss, prior, start, tol=1e-6, scale=scale)
    assert other.objective <= joint.objective + 1e-3


def test_l1_on_single_times_is_stationary_and_makes_single_zeros(problem):
    loss, start, scale = problem
    prior, l1, T = AdaptivePrior(len(start), floor=1e-2), 40.0, len(start)
    fit = jointly(loss, prior, start, l1=l1, bias=True, tol=1e-4, max_iter=3000, scale=scale)
    assert fit.converged
    at_times = fit.W != 0
    some = at_times.any(axis=0) & ~at_times.all(axis=0)
    assert np.count_nonzero(some) > 0  # a series can be there at some times only
    assert at_times[:, -1].all()  # the intercept has no such penalty
    of_prior, in_W, _ = prior.value_and_grads(fit.W, fit.kappa)
    value, grad = loss.value_and_grad(fit.W.ravel())
    assert fit.objective == pytest.approx(value + of_prior + l1 * np.abs(fit.W[:, :-1]).sum())
    grad = grad.reshape(T, -1) + in_W
    kept = at_times.any(axis=0)
    weighs = np.append(np.full(fit.W.shape[1] - 1, l1), 0.0)
    away = np.where(at_times, grad + weighs * np.sign(fit.W), np.maximum(np.abs(grad) - weighs, 0.0))
    assert np.max(np.abs(away[:, kept])) <= 1e-4 * scale * 1.01


def test_l1_on_single_times_by_hand():
    """Two times of one series: no point of a grid is below the fit, and it is where the grid has its least."""
    x, y, steps = np.ones((6, 1)), np.array([1.2, 0.8, 1.0, 0.1, -0.1, 0.2]), np.repeat([0, 1], 3)
    loss, prior, l1 = gaussian(x, y, steps, 2, bias=False), AdaptivePrior(2, floor=0.5), 2.0
    fit = jointly(loss, prior, np.ones((2, 1)), l1=l1, tol=1e-9, max_iter=2000)

    def objective(w):
        W = np.array(w).reshape(2, 1)
        kappa = prior.kappa_of_nothing(1)
        for _ in range(5):
            kappa = prior.updated_kappa(W, kappa)
        return loss.value_and_grad(W.ravel())[0] + prior.value(W, kappa) + l1 * np.abs(W).sum()

    grid = np.linspace(-0.2, 1.2, 15)
    least = min(((a, b) for a in grid for b in grid), key=objective)
    assert fit.W.ravel() == pytest.approx(least, abs=0.1)
    assert fit.W[1, 0] == 0
    assert objective(fit.W) <= objective(least) + 1e-9


@pytest.mark.parametrize("sign", ["any", "positive"])
def test_the_joint_gradient_by_finite_differences(problem, sign):
    loss, start, _ = problem
    prior = AdaptivePrior(len(start), floor=1e-2, kappa_sign=sign)
    objective = JointObjective(loss, prior, start.shape)
    rng = np.random.default_rng(0)
    x = objective.pack(rng.standard_normal(start.shape), rng.random(start.shape[1]) + 0.1)
    assert objective.unpack(x)[1] == pytest.approx(objective.unpack(objective.pack(*objective.unpack(x)))[1])
    _, grad = objective.value_and_grad(x)
    for _ in range(5):
        d = rng.standard_normal(len(x))
        up, down = (objective.value_and_grad(x + s * 1e-6 * d)[0] for s in (1, -1))
        assert grad @ d == pytest.approx((up - down) / 2e-6, rel=1e-5)


def test_series_that_start_at_zero_stay_there(problem):
    loss, start, scale = problem
    prior = AdaptivePrior(len(start))
    for fit in (
        alternate(loss, prior, np.zeros_like(start), scale=scale),
        jointly(loss, prior, np.zeros_like(start), scale=scale),
    ):
        assert not np.any(fit.W)
        assert np.all(np.isfinite(fit.kappa))
        assert np.isfinite(fit.objective)
        assert fit.converged


def test_one_time_is_a_scale_free_ridge():
    """T = 1: nothing to tie; the optimum of Σ(y − wx)² + ½ ln(w² + ε) is found by hand."""
    x, y = np.array([[1.0], [2.0], [0.5]]), np.array([1.1, 2.3, 0.2])
    loss = gaussian(x, y, np.zeros(3, np.intp), 1, bias=False)
    fit = alternate(loss, AdaptivePrior(1, floor=1e-9), np.ones((1, 1)), tol=1e-9)
    found = minimize(
        lambda w: np.sum((y - x[:, 0] * w[0]) ** 2) + 0.5 * np.log(w[0] ** 2 + 1e-9), [1.0], tol=1e-12
    )
    assert fit.W[0, 0] == pytest.approx(found.x[0], abs=1e-6)


@pytest.mark.parametrize("by", ["jensen", "quadrature"])
def test_sparse_series_are_exactly_zero_and_the_objective_never_rises(problem, by):
    loss, start, scale = problem
    rng = np.random.default_rng(0)
    start = start + 0.01 * rng.standard_normal(start.shape)  # nothing is zero to begin with
    prior = AdaptivePrior(len(start), floor=0.05, exact_zeros=True, logdet=by)
    fit = fit_sparse(loss, prior, start, scale=scale, tol=1e-5)
    assert fit.converged
    assert never_rises(fit)
    zero = np.all(fit.W == 0, axis=0)
    assert np.all(zero | np.all(fit.W != 0, axis=0))  # whole series
    assert set(np.flatnonzero(~zero)[:6]) == set(range(6))
    assert np.count_nonzero(zero) > 20
    assert fit.objective == pytest.approx(
        loss.value_and_grad(fit.W.ravel())[0] + prior.value(fit.W, fit.kappa)
    )
    # No zero series would rather be something else: tried at random.
    base = fit.objective
    for _ in range(50):
        W = fit.W.copy()
        j = rng.choice(np.flatnonzero(zero))
        W[:, j] = 10.0 ** rng.uniform(-6, -2) * rng.standard_normal(len(W))
        assert loss.value_and_grad(W.ravel())[0] + prior.value(W, fit.kappa) > base


def test_sparse_with_shared_hyperparameters_drops_whole_groups(problem, make_world):
    _, start, scale = problem
    world = make_world()
    loss = gaussian(world.X, world.y + 3.0, world.steps, 5, noise_variance=0.1, bias=False)
    start = start[:, :40] + 0.01
    prior = AdaptivePrior(5, replicates=2, floor=0.05, exact_zeros=True)
    fit = fit_sparse(loss, prior, start, scale=scale)
    zero = np.all(fit.W == 0, axis=0)
    assert np.array_equal(zero[:20], zero[20:])
    assert 0 < np.count_nonzero(zero) < 40
    assert never_rises(fit)


def test_shared_hyperparameters_alternating(problem, make_world):
    _, start, scale = problem
    loss = gaussian(*make_world()[:3], 5, noise_variance=0.1, bias=False)
    fit = alternate(loss, AdaptivePrior(5, replicates=2), start[:, :40], scale=scale)
    assert fit.kappa.shape == (20,)
    assert never_rises(fit)
    assert fit.converged


def dense_ridge_ts(X, y, steps, T, lam, alpha):
    """The same problem written out with one equation after the other."""
    I = X.shape[1]
    H, b = np.zeros((T * I, T * I)), np.zeros(T * I)
    for x, target, t in zip(X, y, steps):
        H[t * I : (t + 1) * I, t * I : (t + 1) * I] += np.outer(x, x)
        b[t * I : (t + 1) * I] += target * x
    H += lam * np.eye(T * I)
    for t in range(T - 1):
        for i in range(I):
            d = np.zeros(T * I)
            d[t * I + i], d[(t + 1) * I + i] = -1.0, 1.0
            H += lam * alpha * np.outer(d, d)
    return np.linalg.solve(H, b).reshape(T, I)


@pytest.mark.parametrize("T", [1, 2, 4])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_ridge_ts_is_a_linear_system(T, alpha):
    rng = np.random.default_rng(7)
    X, y, steps = rng.standard_normal((20, 3)), rng.standard_normal(20), rng.integers(0, T, 20)
    R = ridge_ts_precision(T, 3, 0.8, alpha, bias=False)
    loss = gaussian(X, y, steps, T, noise_variance=1.0, bias=False)
    fit = fit_ridge_ts(loss, R, np.zeros((T, 3)), tol=1e-12)
    expected = dense_ridge_ts(X, y, steps, T, 0.8, alpha)
    assert np.allclose(fit.W, expected, rtol=0, atol=1e-9)


def test_newton_steps_on_a_logistic_loss_reach_the_optimum():
    rng = np.random.default_rng(8)
    X, y, steps = rng.standard_normal((60, 4)), np.sign(rng.standard_normal(60)), rng.integers(0, 3, 60)
    loss, R = logistic(X, y, steps, 3, bias=False), toeplitz(3, np.full(4, -0.45)).scaled(np.full(4, 0.3))
    newton, point = Newton(loss), at(loss, np.zeros((3, 4)))
    for _ in range(15):
        point = newton.step(point, R)
    found = minimize(
        lambda w: loss.value_and_grad(w)[0] + 0.5 * R.quadratic(w.reshape(3, 4)).sum(),
        np.zeros(12),
        tol=1e-12,
    )
    assert point.W.ravel() == pytest.approx(found.x, abs=1e-4)
    assert np.abs(point.grad + R.times(point.W)).max() < 1e-8
