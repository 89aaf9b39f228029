"""L-BFGS on coefficients, with its history in double and in single precision, against SciPy."""

from __future__ import annotations

import itertools
from importlib import import_module

import numpy as np
import pytest
from scipy.optimize import minimize

from spinney.optim import L2, ElasticNet, LogisticLoss, NoPenalty, SquaredLoss, solve
from spinney.optim.solvers.lbfgs import History

module = import_module("spinney.optim.solvers.lbfgs")  # its name is hidden by that of the function


def two_loop(g, steps):
    """The textbook recursion (Nocedal & Wright 2006, Alg. 7.4), for −H·g."""
    q, kept = g.copy(), []
    for s, y in reversed(steps):
        a = (s @ q) / (s @ y)
        q -= a * y
        kept.append(a)
    if steps:
        s, y = steps[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), a in zip(steps, reversed(kept)):
        q += (a - (y @ q) / (s @ y)) * s
    return -q


@pytest.mark.parametrize("lean", [False, True])
@pytest.mark.parametrize("memory", [1, 3, 5])
def test_directions_are_those_of_the_two_loop_recursion(monkeypatch, lean, memory):
    """Through more steps than are remembered, a step without curvature and a restart."""
    monkeypatch.setattr(module, "LARGE", 1 if lean else 10**9)
    rng = np.random.default_rng(0)
    n = 50
    A = rng.normal(size=(n, n))
    A = A @ A.T + np.eye(n)
    history, steps, w = History(n, memory), [], rng.normal(size=n)
    g = A @ w
    history.start(g)
    for i in range(12):
        if i == 9:
            history.forget()
            steps.clear()
        delta = history.coefficients()
        direction = np.zeros(n)
        history.move(direction, 1.0, delta, g)
        tolerance = 1e-4 if lean else 1e-8
        expected = two_loop(g, steps)
        np.testing.assert_allclose(direction, expected, rtol=0, atol=tolerance * np.abs(expected).max())
        assert delta @ history.dots[-1] == pytest.approx(g @ direction, rel=1e-3 if lean else 1e-8)
        step = 0.3 if i % 2 else 0.01
        w = w + step * direction
        new = g.copy() if i == 5 else A @ w
        slope, arrival = history.ahead(delta, g, new)
        assert slope == pytest.approx(new @ direction, rel=1e-3 if lean else 1e-8)
        history.remember(step, delta, g, new, arrival)
        if i != 5:
            steps = [*steps, (step * direction, new - g)][-memory:]
        g = new


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 30)) * np.exp(rng.normal(size=30))
    return X, np.where(X @ rng.normal(size=30) + rng.normal(size=80) > 0, 1, -1)


@pytest.mark.parametrize("lean", [False, True])
def test_the_optimum_of_scipy(monkeypatch, problem, lean):
    monkeypatch.setattr(module, "LARGE", 1 if lean else 10**9)
    loss = LogisticLoss(*problem)

    def objective(w):
        value, gradient = loss.value_and_grad(w)
        gradient = gradient.copy()
        gradient[:-1] += 0.5 * w[:-1]
        return value + 0.25 * w[:-1] @ w[:-1], gradient

    theirs = minimize(objective, np.zeros(loss.n_params), jac=True, method="BFGS", options={"gtol": 1e-9})
    ours = solve(loss, L2(0.5), "lbfgs", tol=1e-8)
    assert ours.converged
    np.testing.assert_allclose(ours.w, theirs.x, atol=1e-6)
    assert ours.objective == pytest.approx(theirs.fun, rel=1e-12)
    objectives = [step.objective for step in ours.trace]
    assert all(b <= a + 1e-12 * abs(a) for a, b in itertools.pairwise(objectives))


def test_without_a_penalty_and_at_once_optimal(problem):
    X, _ = problem
    y = X @ np.ones(30)
    solution = solve(SquaredLoss(X, y, intercept=False), NoPenalty(), "lbfgs", tol=1e-10)
    np.testing.assert_allclose(solution.w, 1.0, atol=1e-6)
    again = solve(SquaredLoss(X, y, intercept=False), NoPenalty(), "lbfgs", tol=1e-6, w0=np.ones(30))
    assert again.converged
    assert again.n_iter == 0


def test_infinite_values_are_stepped_back_from():
    class Barrier:
        """w − log w, infinite for w ≤ 0; the first steps go there."""

        n_params, n_free = 1, 0

        def value_and_grad(self, w):
            if w[0] <= 0:
                return np.inf, np.full(1, np.nan)
            return float(w[0] - np.log(w[0])), 1 - 1 / w

    solution = solve(Barrier(), NoPenalty(), "lbfgs", tol=1e-8, w0=np.array([50.0]), scale=1.0)
    assert solution.w[0] == pytest.approx(1.0, abs=1e-6)


def test_a_penalty_that_is_not_smooth(problem):
    from spinney.errors import OptionError

    with pytest.raises(OptionError, match="smooth"):
        solve(LogisticLoss(*problem), ElasticNet(1.0, 0.1), "lbfgs")
