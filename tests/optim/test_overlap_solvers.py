"""Overlapping groups by descent, by ADMM and by proximal gradient, against minimisers that share no code with them.

The reference is SciPy: L-BFGS-B on w = a − b, where ‖w_g‖ is √(‖w_g‖² + ε²) with ε going to 1e-8. What it finds is
above the optimum, and its smoothed value less ε·Σλ_g below it (to its own accuracy): bounds from both sides.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.linear_model import Lasso, LogisticRegression

from spinney.classify.linear import LinearClassifier, LinearRegressor
from spinney.errors import OptionError
from spinney.optim import (
    ConvergenceWarning,
    LogisticLoss,
    MultinomialLoss,
    OverlappingGroups,
    SquaredLoss,
    gradient_scale,
    lambda_max,
    path,
    solve,
)
from spinney.optim.penalties import FlatGroups
from spinney.optim.solvers import admm_groups
from spinney.optim.solvers.polish import OnSupport
from spinney.structure import Groups

SOLVERS = ("cd", "admm", "fista")
LISTS = [[0, 1, 2], [2, 3, 4, 5], [5, 6, 0], [1, 6]]  # 7 and 8 are in no group
KINDS = ("squared", "logistic", "multinomial")


def make_loss(kind, rng, n=40, p=9, *, intercept=True, weighted=False, as_sparse=False):
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < (0.5 if as_sparse else 1.0))
    score = X @ rng.standard_normal(p) + rng.standard_normal(n)
    s = rng.uniform(0.2, 2.0, n) if weighted else None
    X = sparse.csr_matrix(X) if as_sparse else X
    if kind == "squared":
        return SquaredLoss(X, score, s, intercept)
    if kind == "logistic":
        return LogisticLoss(X, np.where(score > np.median(score), 1.0, -1.0), s, intercept)
    return MultinomialLoss(X, np.digitize(score, np.quantile(score, [0.3, 0.6])), s, intercept, 3)


def loss_of(kind="logistic", seed=1, **how):
    return make_loss(kind, np.random.default_rng(seed), **how)


def groups_of(n_features=9, lists=LISTS, **how):
    return Groups.from_lists(lists, n_features, **how)


def coordinates(penalty):
    """The coordinates of each group, from the lists alone."""
    K, groups = penalty.n_outputs, penalty.groups
    return [
        np.array([j * K + k for j in groups.members[a:b] for k in range(K)], dtype=int)
        for a, b in itertools.pairwise(groups.ptr.tolist())
    ]


def definition(penalty, w):
    norms = sum(lam * np.linalg.norm(w[g]) for lam, g in zip(penalty.strengths, coordinates(penalty)))
    return norms + penalty.l1 * np.abs(w).sum() + 0.5 * penalty.l2 * w @ w


def reference(loss, penalty):
    """(below, above, w): bounds of the smallest objective, the former to the accuracy of L-BFGS-B, and where it is."""
    k, n = loss.n_params - loss.n_free, loss.n_params
    members, lams = coordinates(penalty), penalty.strengths

    def split(x):
        return np.append(x[:k] - x[n:], x[k:n])  # w = a − b, then the free ones

    def smoothed(x, eps):
        w = split(x)
        value, grad = loss.value_and_grad(w)
        grad = grad.copy()
        grad[:k] += penalty.l2 * w[:k]
        value += 0.5 * penalty.l2 * w[:k] @ w[:k] + penalty.l1 * (x[:k].sum() + x[n:].sum())
        for lam, g in zip(lams, members):
            norm = np.sqrt(w[g] @ w[g] + eps**2)
            value += lam * norm
            grad[g] += lam * w[g] / norm
        grad[:k], other = grad[:k] + penalty.l1, -grad[:k] + penalty.l1
        return value, np.append(grad, other)

    x = np.zeros(n + k)
    x[k:n] = loss.null_point()[k:]
    bounds = [(0, None)] * k + [(None, None)] * (n - k) + [(0, None)] * k
    how = {"maxiter": 3000, "maxfun": 6000, "maxcor": 50, "ftol": 1e-15, "gtol": 1e-10}
    for eps in 10.0 ** -np.arange(1, 9):
        found = optimize.minimize(
            smoothed, x, (eps,), method="L-BFGS-B", jac=True, bounds=bounds, options=how
        )
        x = found.x
    w = split(x)
    above = loss.value_and_grad(w)[0] + definition(penalty, w[:k])
    return found.fun - 1e-8 * lams.sum(), above, w


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(KINDS))
    p, n = draw(st.integers(1, 8)), draw(st.integers(12, 30))
    loss = make_loss(
        kind, rng, n, p, intercept=draw(st.booleans()), weighted=draw(st.booleans()), as_sparse=draw(st.booleans())
    )  # fmt: skip
    lists = [
        sorted(rng.choice(p, rng.integers(1, p + 1), replace=False).tolist())
        for _ in range(draw(st.integers(1, 6)))
    ]
    weights = rng.uniform(0.2, 2.0, len(lists)) * (rng.random(len(lists)) < 0.9)
    groups = FlatGroups.of(lists, p, weights)
    more = {"l1": draw(st.sampled_from([0.0, 0.3])), "l2": draw(st.sampled_from([0.0, 0.2]))}
    held = {j for members, weight in zip(lists, weights) if weight > 0 for j in members}
    if len(held) < p and kind != "squared" and not more["l1"]:
        more["l2"] = (
            0.2  # weights that nothing holds run away where they separate the classes: there is no optimum
        )
    largest = lambda_max(loss, OverlappingGroups(1.0, groups, n_outputs=loss.n_outputs, **more))
    # ADMM takes its time just under the strength that empties the model.
    lam = draw(st.floats(0.02, 0.9) | st.floats(1.01, 1.2)) * (largest if largest > 0 else 1.0)
    return loss, OverlappingGroups(lam, groups, n_outputs=loss.n_outputs, **more)


# -- the optimum ----------------------------------------------------------------------------------------


@given(problems())
@settings(max_examples=25, deadline=None)
def test_all_solvers_reach_the_optimum_that_scipy_finds(problem):
    loss, penalty = problem
    k = loss.n_params - loss.n_free
    below, above, best = reference(loss, penalty)
    scale = max(1.0, abs(above))
    for solver in SOLVERS:
        solution = solve(loss, penalty.with_lam(penalty.lam), solver, tol=1e-7, max_iter=20_000)
        assert solution.converged, solver
        w = solution.w
        assert solution.objective == pytest.approx(
            loss.value_and_grad(w)[0] + definition(penalty, w[:k]), rel=1e-12, abs=1e-12
        )
        # Convexity: F(w) − F(best) ≤ ‖r‖∞‖w − best‖₁ for a subgradient r at w.
        allowed = solution.violation * gradient_scale(loss) * np.abs(w - best).sum()
        assert solution.objective <= above + 1.01 * allowed + 1e-10 * scale, solver
        assert solution.objective >= below - 1e-5 * scale, solver


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_weights_agree_where_the_optimum_is_unique(kind, l1):
    loss = loss_of(kind, n=60)
    penalty = OverlappingGroups(1.0, groups_of(), l1=l1, l2=0.1, n_outputs=loss.n_outputs)
    first, *others = (solve(loss, penalty, solver, tol=1e-9, max_iter=20_000) for solver in SOLVERS)
    assert first.converged
    k = loss.n_params - loss.n_free  # K intercepts have a line of optima
    for other in others:
        assert other.converged
        np.testing.assert_allclose(other.w[:k], first.w[:k], atol=1e-6)


# -- the residual -----------------------------------------------------------------------------------------


def smallest_subgradient(penalty, w, grad):
    """The element of grad + ∂λΩ(w) of smallest Euclidean norm, by SLSQP over one vector a zero group."""
    members, lams = coordinates(penalty), penalty.strengths
    zero = w == 0
    fixed = grad + penalty.l2 * w + penalty.l1 * np.sign(w)
    free = []
    for lam, g in zip(lams, members):
        norm = np.linalg.norm(w[g])
        if norm > 0:
            fixed[g] += lam * w[g] / norm
        elif lam > 0:
            free.append((lam, g))
    ends = np.cumsum([0, *(len(g) for _, g in free)])
    m = int(zero.sum()) if penalty.l1 else 0

    def residual(x):
        r = fixed.copy()
        for (_, g), a, b in zip(free, ends[:-1], ends[1:]):
            r[g] += x[a:b]
        if m:
            r[zero] += x[ends[-1] :]
        return r

    def slope(x):
        r = residual(x)
        return np.concatenate([*(r[g] for _, g in free), r[zero] if m else []])

    if not ends[-1] + m:
        return fixed
    balls = [
        {
            "type": "ineq",
            "fun": lambda x, lam=lam, a=a, b=b: lam**2 - x[a:b] @ x[a:b],
            "jac": lambda x, a=a, b=b: np.concatenate([np.zeros(a), -2 * x[a:b], np.zeros(len(x) - b)]),
        }
        for (lam, _), a, b in zip(free, ends[:-1], ends[1:])
    ]
    bounds = [(None, None)] * int(ends[-1]) + [(-penalty.l1, penalty.l1)] * m
    found = optimize.minimize(
        lambda x: 0.5 * residual(x) @ residual(x),
        np.zeros(ends[-1] + m),
        jac=slope,
        bounds=bounds,
        constraints=balls,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return residual(found.x)


def points_with_zero_groups(n=25):
    rng = np.random.default_rng(7)
    for trial in range(n):
        p, K = int(rng.integers(2, 7)), 1 + trial % 2
        lists = [
            sorted(rng.choice(p, rng.integers(1, p + 1), replace=False).tolist())
            for _ in range(rng.integers(1, 5))
        ]
        penalty = OverlappingGroups(
            0.7,
            FlatGroups.of(lists, p, rng.uniform(0.3, 1.5, len(lists))),
            l1=0.2 * (trial % 3 == 0),
            l2=0.1 * (trial % 5 == 0),
            n_outputs=K,
        )
        w = rng.standard_normal(p * K) * np.repeat(rng.random(p) < 0.4, K)
        yield penalty, w, rng.standard_normal(p * K) * rng.choice([0.5, 2.0])


def test_the_exact_residual_is_the_smallest_subgradient():
    for penalty, w, grad in points_with_zero_groups():
        brute, ours = smallest_subgradient(penalty, w, grad), penalty.residual(w, grad)
        np.testing.assert_allclose(ours, brute, atol=2e-5)
        assert np.linalg.norm(ours) <= np.linalg.norm(brute) + 1e-8


@pytest.mark.parametrize("accuracy", [1e-6, 1e-2, np.inf])
def test_a_rough_residual_is_a_subgradient(accuracy):
    for penalty, w, grad in points_with_zero_groups():
        penalty.residual(w, 3.0 * grad)  # leaves parts of another point behind
        rough = penalty.residual(w, grad, accuracy=accuracy)
        # What is left when it is taken off must be 0: then −(grad − rough) is a subgradient of the penalty.
        assert np.linalg.norm(smallest_subgradient(penalty, w, grad - rough)) <= 1e-4
        exact = penalty.with_lam(penalty.lam).residual(w, grad)
        assert np.linalg.norm(rough) >= np.linalg.norm(exact) - 1e-9
        assert np.linalg.norm(rough - exact) <= 0.3 * np.linalg.norm(exact) + accuracy


# -- ADMM ---------------------------------------------------------------------------------------------------


def accurate_w_step(loss, penalty, pull, centre, w):
    """argmin loss + ½Σ pull(w − centre)² + elastic net, by L-BFGS-B on w = a − b."""
    k, n = len(pull), len(w)

    def objective(x):
        w = np.append(x[:k] - x[n:], x[k:n])
        value, grad = loss.value_and_grad(w)
        away = w[:k] - centre
        value += 0.5 * (pull @ away**2 + penalty.l2 * w[:k] @ w[:k]) + penalty.l1 * (
            x[:k].sum() + x[n:].sum()
        )
        slope = grad[:k] + pull * away + penalty.l2 * w[:k]
        return value, np.concatenate([slope + penalty.l1, grad[k:], -slope + penalty.l1])

    x = np.concatenate([np.maximum(w[:k], 0), w[k:], np.maximum(-w[:k], 0)])
    bounds = [(0, None)] * k + [(None, None)] * (n - k) + [(0, None)] * k
    how = {"maxiter": 20_000, "maxfun": 99_999, "ftol": 0.0, "gtol": 1e-11}
    x = optimize.minimize(objective, x, jac=True, method="L-BFGS-B", bounds=bounds, options=how).x
    return np.append(x[:k] - x[n:], x[k:n])


def naive_admm(loss, penalty, rho, iterations):
    """Yogatama 2015, §5.4, line by line, with v and u in full."""
    k, members, lams = loss.n_params - loss.n_free, coordinates(penalty), penalty.strengths
    times = np.zeros(k)
    for g in members:
        times[g] += 1
    w = loss.null_point()
    v, u = [w[g].copy() for g in members], [np.zeros(len(g)) for g in members]
    for _ in range(iterations):
        mu = np.zeros(k)
        for g, v_g, u_g in zip(members, v, u):
            mu[g] += v_g + u_g / rho
        mu /= np.maximum(times, 1)
        w = accurate_w_step(loss, penalty, rho * times, mu, w)
        for i, (g, lam) in enumerate(zip(members, lams)):
            z = w[g] - u[i] / rho
            norm = np.linalg.norm(z)
            v[i] = np.zeros(len(g)) if norm <= lam / rho else (1 - lam / rho / norm) * z
            u[i] = u[i] + rho * (v[i] - w[g])
            assert np.linalg.norm(u[i]) <= lam * (1 + 1e-12)
    return w


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("l1", "l2", "rho"), [(0.0, 0.1, 1.0), (0.5, 0.3, 0.1), (0.5, 0.0, 20.0)])
def test_admm_with_a_rho_is_the_algorithm_of_the_thesis(kind, l1, l2, rho):
    loss = loss_of(kind)
    penalty = OverlappingGroups(1.2, groups_of(), l1=l1, l2=l2, n_outputs=loss.n_outputs)
    k = loss.n_params - loss.n_free
    for iterations in (1, 5, 20):
        solution = solve(loss, penalty, "admm", rho=rho, max_iter=iterations, tol=1e-10)
        assert solution.n_iter == iterations
        np.testing.assert_allclose(solution.w[:k], naive_admm(loss, penalty, rho, iterations)[:k], atol=1e-6)


def test_admm_with_a_rho_stops_at_its_limit():
    solution = solve(
        loss_of(), OverlappingGroups(1.2, groups_of()), "admm", rho=1e-3, max_iter=100, tol=1e-12
    )
    assert solution.n_iter == solution.trace[-1].iteration == 100
    assert not solution.converged


@pytest.mark.parametrize("max_iter", [1, 7, 30])
def test_admm_counts_its_iterations(monkeypatch, max_iter):
    times, step = [], admm_groups.State.step
    monkeypatch.setattr(admm_groups.State, "step", lambda *a: times.append(1) or step(*a))
    solution = solve(loss_of(), OverlappingGroups(1.2, groups_of()), "admm", max_iter=max_iter, tol=1e-15)
    assert len(times) == solution.n_iter <= max_iter
    assert solution.converged or solution.n_iter == max_iter


def test_small_residuals_end_admm_without_a_certificate(monkeypatch):
    loss, penalty = loss_of(), OverlappingGroups(1.2, groups_of())
    best = solve(loss, penalty, "cd", tol=1e-10)
    monkeypatch.setattr(OverlappingGroups, "residual", lambda self, w, grad, accuracy=0.0: np.ones_like(grad))
    monkeypatch.setattr(admm_groups.State, "residual", lambda self, w, grad: np.ones_like(grad))
    solution = solve(loss, penalty, "admm", tol=1e-4, max_iter=5000)
    assert max(solution.primal_dual) <= 1e-4
    assert solution.n_iter < 1000
    assert not solution.converged
    assert solution.objective == pytest.approx(best.objective, rel=1e-6)


def hard(shape, kind):
    """Many groups that are nearly, but not quite, 0: problems on which ADMM did not end in 1,000 iterations."""
    n, p, lists = shape
    rng = np.random.default_rng(0)
    X = np.sqrt(0.3) * rng.standard_normal((n, 1)) + np.sqrt(0.7) * rng.standard_normal((n, p))
    w = np.zeros(p)
    w[: p // 4] = rng.standard_normal(p // 4)
    y = X @ w + 0.5 * rng.standard_normal(n)
    loss = SquaredLoss(X, y) if kind == "squared" else LogisticLoss(X, np.sign(y))
    return loss, FlatGroups.of(lists, n_features=p)


def _random_lists(p, m):
    rng = np.random.default_rng(1)
    return [sorted(rng.choice(p, rng.integers(2, 8), replace=False).tolist()) for _ in range(m)]


@pytest.mark.parametrize("kind", ["squared", "logistic"])
@pytest.mark.parametrize(
    "shape",
    [
        (50, 30, [list(range(i, min(i + 5, 30))) for i in range(0, 29, 3)]),
        (60, 40, _random_lists(40, 60)),
        (200, 100, [list(range(i, min(i + 10, 100))) for i in range(0, 99, 2)]),
    ],
)
@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_admm_by_default_ends_optimal(shape, kind, l1):
    loss, groups = hard(shape, kind)
    penalty = OverlappingGroups(1.0, groups, l1=l1 * loss.n)
    largest = lambda_max(loss, penalty)
    for ratio in (0.5, 0.1, 0.01):
        penalty = penalty.with_lam(ratio * largest)
        solution, best = solve(loss, penalty, "admm"), solve(loss, penalty, "cd", tol=1e-10, max_iter=20_000)
        assert solution.converged
        assert solution.objective == pytest.approx(best.objective, rel=1e-11)
        np.testing.assert_array_equal(solution.w != 0, best.w != 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l1", [0.0, 0.4])
def test_the_bound_of_the_optimum_holds_and_closes(kind, l1):
    loss = loss_of(kind, intercept=False)
    lists = LISTS if l1 else [*LISTS, [7, 8]]
    penalty = OverlappingGroups(1.2, groups_of(9, lists), l1=l1, n_outputs=loss.n_outputs)
    best = solve(loss, penalty, "cd", tol=1e-10)
    rng = np.random.default_rng(0)
    for away in (1.0, 1e-2, 1e-4, 0.0):
        w = best.w + away * rng.standard_normal(len(best.w))
        value, grad = loss.value_and_grad(w)
        found = penalty.bound(value - grad @ w, grad, penalty.residual(w, grad))
        assert found <= best.objective * (1 + 1e-9)
    assert found == pytest.approx(best.objective, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.3, 0.2)])
def test_the_smooth_function_on_a_support(kind, l1, l2):
    """Value, gradient and curvature against the penalty itself and finite differences."""
    loss = loss_of(kind)
    K = loss.n_outputs
    penalty = OverlappingGroups(1.2, groups_of(), l1=l1, l2=l2, n_outputs=K)
    rng = np.random.default_rng(3)
    w = rng.standard_normal(loss.n_params)
    w[: 3 * K] = 0.0  # the first group
    smooth = OnSupport(loss, penalty, w)
    x = w[smooth.kept]
    value, grad = smooth.value_and_grad(x)
    k = loss.n_params - loss.n_free
    assert value == pytest.approx(loss.value_and_grad(w)[0] + penalty.value(w[:k]))
    v, step = rng.standard_normal(len(x)), 1e-5
    ahead, behind = (smooth.value_and_grad(x + sign * step * v) for sign in (1, -1))
    assert grad @ v == pytest.approx((ahead[0] - behind[0]) / (2 * step), rel=1e-6)
    np.testing.assert_allclose(
        smooth.hess_vec(x)(v), (ahead[1] - behind[1]) / (2 * step), rtol=1e-5, atol=1e-6
    )


def test_the_rule_of_the_thesis_stops_when_weights_no_longer_change():
    loss, penalty = loss_of(), OverlappingGroups(1.2, groups_of(), l1=0.3)
    seen = {}
    for change_tol in (1e-1, 1e-2, 1e-3):
        solution = solve(loss, penalty, "admm", rho=20.0, change_tol=change_tol, tol=1e-9, max_iter=100)
        seen[change_tol] = solution.n_iter
        before, last = (naive_admm(loss, penalty, 20.0, solution.n_iter - back) for back in (1, 0))
        assert np.linalg.norm(last - before) < change_tol * np.linalg.norm(before)
        assert not solution.converged  # it says nothing about the optimum
        np.testing.assert_allclose(solution.w, last, atol=1e-5)
    assert 1 < seen[1e-1] < seen[1e-2] < seen[1e-3] <= 100
    with pytest.raises(OptionError, match="change_tol"):
        solve(loss, penalty, "admm", change_tol=-1.0)
    with pytest.raises(OptionError, match="relaxation"):
        solve(loss, penalty, "admm", relaxation=1.5)


def test_copies_tell_which_groups_are_removed():
    """v_g, which the thesis reads, is 0 long before the weights of its members are."""
    loss = loss_of()
    penalty = OverlappingGroups(
        0.9 * lambda_max(loss, OverlappingGroups(1.0, groups_of())), groups_of(), l1=0.5
    )
    solution = solve(loss, penalty, "admm", rho=5.0, max_iter=40, tol=1e-10)
    np.testing.assert_array_equal(solution.copy_norms == 0, [True, False, False, True])
    assert np.all(penalty.group_norms(solution.w[: loss.p]) > 1e-3)
    best = solve(loss, penalty, "admm", tol=1e-8)
    np.testing.assert_array_equal(best.copy_norms == 0, penalty.group_norms(best.w[: loss.p]) == 0)
    assert solve(loss, penalty, "cd").copy_norms is None


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_multipliers_stay_in_their_balls(seed, rho, n_outputs):
    rng = np.random.default_rng(seed)
    penalty = OverlappingGroups(0.8, groups_of(), n_outputs=n_outputs)
    state = admm_groups.State(penalty, threads=1)
    member = penalty.groups.members
    for _ in range(4):
        w = rng.standard_normal(9 * n_outputs) * rng.choice([1e-3, 1.0, 1e3])
        before = state.U.copy()
        copies = state.step(w, rho)
        U = state.U
        norms = np.sqrt(np.add.reduceat((U**2).sum(axis=1), penalty.groups.ptr[:-1]))
        assert np.all(norms <= penalty.strengths * (1 + 1e-12))
        v = w.reshape(9, n_outputs)[member] + (U - before) / rho  # from the u-step
        expected = np.zeros((9, n_outputs))
        np.add.at(expected, member, v)
        np.testing.assert_allclose(copies.sum_v, expected, atol=1e-9 * max(1.0, np.abs(w).max(), 1 / rho))
        assert copies.primal == pytest.approx(np.sum((U - before) ** 2) / rho**2, rel=1e-6, abs=1e-12)


def test_at_convergence_rho_does_not_matter():
    loss = loss_of()
    penalty = OverlappingGroups(1.2, groups_of(), l1=0.3)
    best = solve(loss, penalty, "fista", tol=1e-10, max_iter=50_000)
    for rho in (0.3, 1.0, 5.0, None):
        solution = solve(loss, penalty, "admm", rho=rho, tol=1e-8, max_iter=20_000)
        assert solution.converged, rho
        np.testing.assert_allclose(solution.w, best.w, atol=1e-6)


@pytest.mark.parametrize("threads", [2, 5])
def test_any_number_of_threads_gives_the_same_bits(threads, monkeypatch):
    monkeypatch.setattr(admm_groups, "MEMBERSHIPS_A_SHARD", 7)
    rng = np.random.default_rng(0)
    # Sparse: a dense product of BLAS may round in another way where its vectors lie elsewhere in memory.
    loss = make_loss("logistic", rng, 40, 20, as_sparse=True)
    lists = [sorted(rng.choice(20, rng.integers(1, 8), replace=False).tolist()) for _ in range(30)]
    penalty = OverlappingGroups(0.3, groups_of(20, lists), l1=0.1)
    one, many = (solve(loss, penalty, "admm", max_iter=30, tol=1e-12, threads=t) for t in (1, threads))
    np.testing.assert_array_equal(one.w, many.w)
    monkeypatch.setattr(admm_groups, "MEMBERSHIPS_A_SHARD", 10**9)
    whole = solve(loss, penalty, "admm", max_iter=30, tol=1e-12)
    np.testing.assert_allclose(one.w, whole.w, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "groups",
    [
        FlatGroups.of([], 9),
        FlatGroups.of([[]], 9),
        FlatGroups.of(LISTS, 9, np.zeros(4)),
    ],
    ids=["none", "empty", "weight 0"],
)
def test_without_groups_it_is_the_lasso(solver, groups):
    squared, logistic = loss_of("squared"), loss_of("logistic")
    penalty = OverlappingGroups(1.0, groups, l1=2.0)
    how = {"tol": 1e-9, "max_iter": 20_000}
    np.testing.assert_allclose(
        solve(squared, penalty, solver, **how).w[:-1],
        Lasso(alpha=2.0 / squared.n, tol=1e-12).fit(squared.X, squared.y).coef_,
        atol=1e-6,
    )
    peer = LogisticRegression(C=0.5, l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=99_999)
    np.testing.assert_allclose(
        solve(logistic, penalty, solver, **how).w[:-1],
        peer.fit(logistic.X, logistic.y).coef_[0],
        atol=1e-5,
    )


# -- the same problem in other words -----------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_several_outputs_are_groups_over_their_rows(solver):
    loss = loss_of("multinomial")
    how = {"l1": 0.1, "l2": 0.05}
    rows = OverlappingGroups(0.8, groups_of(), n_outputs=3, **how)
    flat = OverlappingGroups(0.8, groups_of().expand(3), **how)
    k = loss.n_params - loss.n_free
    w, grad = np.random.default_rng(0).standard_normal((2, k))
    w[6:18] = 0.0
    assert rows.value(w) == pytest.approx(flat.value(w), rel=1e-13)
    np.testing.assert_allclose(rows.residual(w, grad), flat.residual(w, grad), atol=1e-10)
    assert rows.lambda_max(grad) == pytest.approx(flat.lambda_max(grad), rel=1e-5)
    a, b = w.copy(), w.copy()
    rows.prox(a, 0.3)
    flat.prox(b, 0.3)
    np.testing.assert_allclose(a, b, atol=1e-12)
    by_rows = solve(loss, rows, solver, tol=1e-8, max_iter=20_000)
    assert by_rows.converged
    by_flat = solve(loss, flat, "fista" if solver == "cd" else solver, tol=1e-8, max_iter=20_000)
    np.testing.assert_allclose(by_rows.w[:k], by_flat.w[:k], atol=1e-5)


def test_descent_refuses_groups_over_single_outputs():
    with pytest.raises(OptionError, match="n_outputs=3"):
        solve(loss_of("multinomial"), OverlappingGroups(0.8, groups_of().expand(3)), "cd")


@pytest.mark.parametrize("solver", SOLVERS)
def test_merged_duplicates_are_the_same_penalty(solver):
    lists = [[0, 1, 2], [2, 3], [0, 1, 2], [2, 3, 4, 5], [2, 3], [0, 1, 2]]
    groups = groups_of(9, lists)
    merged = groups.merged()
    assert len(merged) == 3
    loss = loss_of()
    how = {"tol": 1e-9, "max_iter": 20_000}
    several, one = (solve(loss, OverlappingGroups(0.5, g, l1=0.1), solver, **how) for g in (groups, merged))
    assert several.converged
    np.testing.assert_allclose(several.w, one.w, atol=1e-6)


def test_a_group_of_one_and_disjoint_groups_are_known_penalties():
    from spinney.optim import L1, GroupL2

    loss = loss_of()
    how = {"tol": 1e-9, "max_iter": 20_000}
    singles = Groups.from_lists([[j] for j in range(9)], 9)
    disjoint = Groups.from_lists([[0, 3], [1, 2, 8], [4, 5, 6, 7]], 9)
    for solver in SOLVERS:
        ours = solve(loss, OverlappingGroups(1.3, singles), solver, **how)
        np.testing.assert_allclose(ours.w, solve(loss, L1(1.3), **how).w, atol=1e-6)
        ours = solve(loss, OverlappingGroups(1.3, disjoint, l1=0.2), solver, **how)
        np.testing.assert_allclose(ours.w, solve(loss, GroupL2(1.3, disjoint, l1=0.2), **how).w, atol=1e-6)


# -- warm starts and paths -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_start_leads_to_the_same_optimum(solver, kind):
    loss = loss_of(kind)
    penalty = OverlappingGroups(1.0, groups_of(), l1=0.1, l2=0.1, n_outputs=loss.n_outputs)
    how = {"tol": 1e-8, "max_iter": 20_000}
    cold = solve(loss, penalty, solver, **how)
    k = loss.n_params - loss.n_free
    rng = np.random.default_rng(3)
    for start in (3.0 * rng.standard_normal(loss.n_params), np.full(loss.n_params, 1e-200), cold.w):
        kept = start.copy()
        warm = solve(loss, penalty, solver, w0=start, **how)
        assert warm.converged
        np.testing.assert_allclose(warm.w[:k], cold.w[:k], atol=1e-5)
        np.testing.assert_array_equal(start, kept)
    assert warm.n_iter <= 1 or solver == "admm"


@pytest.mark.parametrize("solver", ["cd", "admm"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_path_from_the_empty_model_matches_single_fits(solver, kind):
    loss = loss_of(kind)
    penalty = OverlappingGroups(
        1.0, groups_of(lists=[*LISTS, [7, 8]]), l1=0.05, l2=0.05, n_outputs=loss.n_outputs
    )
    largest = lambda_max(loss, penalty)
    lams = largest * np.array([1.0, 0.6, 0.3, 0.31, 0.05])
    k = loss.n_params - loss.n_free
    found = list(path(loss, penalty, lams, solver=solver, tol=1e-7, max_iter=5_000))
    assert [lam for lam, _ in found] == pytest.approx(lams.tolist())
    for lam, solution in found:
        assert solution.converged, lam
        single = solve(loss, penalty.with_lam(lam), "fista", tol=1e-8, max_iter=50_000)
        np.testing.assert_allclose(solution.w[:k], single.w[:k], atol=1e-4)
    assert not np.any(np.abs(found[0][1].w[:k]) > 1e-4)


# -- estimators ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "cd", "admm", "fista"])
@pytest.mark.parametrize("kind", KINDS)
def test_estimators_state_the_same_problem(solver, kind):
    loss = loss_of(kind, as_sparse=True, weighted=True)
    make = LinearRegressor if kind == "squared" else LinearClassifier
    model = make(
        "overlap", lam=0.7, l1=0.1, l2=0.1, groups=groups_of(), solver=solver, tol=1e-7, max_iter=20_000
    )
    model.fit(loss.X, loss.y, sample_weight=loss.sample_weight)
    assert model.converged_
    penalty = OverlappingGroups(0.7, groups_of(), l1=0.1, l2=0.1, n_outputs=loss.n_outputs)
    assert model.objective_ == pytest.approx(
        solve(loss, penalty, "fista", tol=1e-8, max_iter=20_000).objective, rel=1e-8
    )
    assert np.isfinite(model.score(loss.X, loss.y))


def test_estimators_pass_rho_on_and_refuse_it_elsewhere():
    loss = loss_of()
    penalty = OverlappingGroups(0.7, groups_of())
    model = LinearClassifier(
        "overlap", lam=0.7, groups=groups_of(), solver="admm", rho=0.01, max_iter=7, threads=2
    )
    with pytest.warns(ConvergenceWarning, match="7 iterations"):
        model.fit(loss.X, loss.y)
    assert model.n_iter_ == 7
    expected = solve(loss, penalty, "admm", rho=0.01, max_iter=7, tol=1e-5)
    np.testing.assert_allclose(model.coef_[0], expected.w[:-1], atol=1e-12)
    with pytest.raises(OptionError, match="solver 'admm'"):
        LinearClassifier("overlap", groups=groups_of(), rho=1.0).fit(loss.X, loss.y)
    for rho in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(OptionError, match="rho must be"):
            LinearClassifier("overlap", groups=groups_of(), solver="admm", rho=rho).fit(loss.X, loss.y)
    with pytest.raises(OptionError, match="have 9 features"):
        LinearClassifier("overlap", groups=groups_of()).fit(loss.X[:, :5], loss.y)
    with pytest.raises(OptionError, match="needs groups"):
        LinearClassifier("overlap").fit(loss.X, loss.y)


# -- the corners --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1.0, 1.001, 1e6])
def test_from_lambda_max_on_the_model_is_empty(solver, kind, factor):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        loss = make_loss(kind, rng, 40, 12)
        lists = [sorted(rng.choice(12, rng.integers(2, 8), replace=False).tolist()) for _ in range(9)]
        lists.append(list(range(12)))
        penalty = OverlappingGroups(1.0, groups_of(12, lists), n_outputs=loss.n_outputs)
        solution = solve(
            loss, penalty.with_lam(factor * lambda_max(loss, penalty)), solver, tol=1e-6, max_iter=2_000
        )
        assert solution.converged
        k = loss.n_params - loss.n_free
        assert np.abs(solution.w[:k]).max() <= 1e-5
        null = loss.null_point()
        assert solution.objective == pytest.approx(loss.value_and_grad(null)[0], rel=1e-9)
    assert np.any(solve(loss, penalty.with_lam(0.99 * lambda_max(loss, penalty)), solver).w[:k])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_group_of_many_more_features_than_a_working_set(solver, kind):
    """No part of the group can leave zero alone. It stands twice, so that groups overlap."""
    n = 300
    rng = np.random.default_rng(0)
    X = sparse.identity(n, format="csr") * 2.0
    y = rng.integers(0, 2, n)
    loss = {
        "squared": lambda: SquaredLoss(X, 2.0 * y - 1.0, intercept=False),
        "logistic": lambda: LogisticLoss(X, 2.0 * y - 1.0, intercept=False),
        "multinomial": lambda: MultinomialLoss(X, y, intercept=False),
    }[kind]()
    penalty = OverlappingGroups(1.0, groups_of(n, [list(range(n))] * 2), n_outputs=loss.n_outputs)
    penalty = penalty.with_lam(0.95 * lambda_max(loss, penalty))
    solution = solve(loss, penalty, solver, tol=1e-6, max_iter=500)
    assert solution.converged
    size = np.abs(solution.w)
    assert size.min() > 0
    np.testing.assert_allclose(size, size[0], rtol=1e-3)  # by symmetry


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_features_that_never_occur_or_never_change(solver, kind):
    base = loss_of(kind)
    X = np.column_stack([base.X, np.zeros(base.n), np.ones(base.n)])
    lists = [*LISTS, [6, 9], [10, 9, 0]]
    for design in (X, sparse.csr_matrix(X)):
        loss = type(base)(design, base.y, base.sample_weight)
        penalty = OverlappingGroups(0.5, groups_of(11, lists), n_outputs=loss.n_outputs)
        K = loss.n_outputs
        for start in (None, np.ones(loss.n_params)):
            solution = solve(loss, penalty, solver, tol=1e-7, max_iter=20_000, w0=start)
            assert solution.converged
            assert np.abs(solution.w[9 * K : 11 * K]).max() <= 1e-5


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_feature(solver):
    X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    penalty = OverlappingGroups(0.5, FlatGroups.of([[0], [0]], 1, [1.0, 0.5]))
    squared = solve(SquaredLoss(X, y, intercept=False), penalty, solver, tol=1e-10)
    np.testing.assert_allclose(squared.w, [(4.0 - 0.75) / 6.0], rtol=1e-8)
    assert solve(LogisticLoss(X, y), penalty, solver).converged


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_strength_zero_is_the_smooth_problem(solver, kind):
    from spinney.optim import L2

    loss = loss_of(kind)
    penalty = OverlappingGroups(0.0, groups_of(), l2=0.5, n_outputs=loss.n_outputs)
    solution = solve(loss, penalty, solver, tol=1e-9, max_iter=20_000)
    assert solution.converged
    k = loss.n_params - loss.n_free
    np.testing.assert_allclose(solution.w[:k], solve(loss, L2(0.5), "newton", tol=1e-9).w[:k], atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("lam", [1e-8, 1e-3])
def test_separable_data_end_converged_or_with_a_warning(solver, lam):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 9))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    model = LinearClassifier("overlap", lam=lam, groups=groups_of(), solver=solver, tol=1e-7, max_iter=50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    assert model.converged_ == (not caught)
    assert np.all(np.isfinite(model.coef_))
    assert model.score(X, y) == 1.0


@given(problems(), st.sampled_from(["cd", "admm"]))
@settings(max_examples=25, deadline=None)
def test_a_certificate_can_be_trusted(problem, solver):
    """F(w) − F(w*) ≤ ⟨r, w − w*⟩ ≤ ‖r‖∞‖w − w*‖₁ for any subgradient r: the reported one is no smaller than true."""
    loss, penalty = problem
    rough = solve(loss, penalty, solver, tol=1e-2, max_iter=5_000)
    fine = solve(loss, penalty, "fista", tol=1e-9, max_iter=50_000)
    allowed = rough.violation * penalty.lam * np.abs(rough.w - fine.w).sum()
    rounding = 1e-13 * max(1.0, abs(fine.objective))
    assert rough.objective - fine.objective <= rough.gap * rough.objective + rounding
    assert rough.objective - fine.objective <= allowed * (1 + 1e-6) + 1e-9 * max(1.0, abs(fine.objective))


# -- interruption -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_interrupted_between_iterations(solver):
    loss = loss_of()
    penalty = OverlappingGroups(0.05, groups_of())

    def interrupt(step, w):
        if step.iteration > 0:
            raise KeyboardInterrupt

    solution = solve(loss, penalty, solver, tol=1e-13, callback=interrupt)
    assert solution.interrupted
    assert not solution.converged
    assert np.any(solution.w[:-1])
    value = loss.value_and_grad(solution.w)[0] + definition(penalty, solution.w[:-1])
    assert solution.objective == pytest.approx(value, rel=1e-12)
    again = solve(loss, penalty, solver, w0=solution.w, tol=1e-7, max_iter=20_000)
    assert again.converged


def test_interrupted_within_a_w_step(monkeypatch):
    calls = itertools.count()
    descend = admm_groups.coordinate_descent

    def interrupted(*arguments, **options):
        if next(calls) == 14:
            raise KeyboardInterrupt
        return descend(*arguments, **options)

    monkeypatch.setattr(admm_groups, "coordinate_descent", interrupted)
    loss, penalty = loss_of(), OverlappingGroups(0.05, groups_of())
    solution = solve(loss, penalty, "admm", tol=1e-13)
    assert solution.interrupted
    assert solution.n_iter == 10  # the last one looked at
    assert np.any(solution.w[:-1])
    assert solution.objective < solution.trace[0].objective


def test_an_interrupted_estimator_keeps_what_was_learnt(monkeypatch):
    calls = itertools.count()
    descend = admm_groups.coordinate_descent

    def interrupted(*arguments, **options):
        if next(calls) == 14:
            raise KeyboardInterrupt
        return descend(*arguments, **options)

    monkeypatch.setattr(admm_groups, "coordinate_descent", interrupted)
    loss = loss_of()
    model = LinearClassifier("overlap", lam=0.05, groups=groups_of(), solver="admm", tol=1e-13)
    with pytest.raises(KeyboardInterrupt):
        model.fit(loss.X, loss.y)
    assert np.any(model.coef_)
    assert not model.converged_


def test_descent_ends_where_many_groups_are_nearly_zero():
    """Sentences of random words at a large λ: descent by coordinates stood still at weights of 1e-11."""
    n, p, length = 200, 800, 60
    rng = np.random.default_rng(3)
    share = 1 / np.arange(1, p + 1)
    documents = rng.choice(p, size=(n, length), p=share / share.sum())
    sentences = [np.unique(words) for words in documents.reshape(-1, 12)]
    X = sparse.csr_matrix(
        (np.ones(documents.size), (np.repeat(np.arange(n), length), documents.ravel())), (n, p)
    )
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    truth = rng.standard_normal(p) * (rng.random(p) < 0.05)
    y = np.where(X @ truth + 0.1 * rng.standard_normal(n) > 0, 1.0, -1.0)
    loss, penalty = LogisticLoss(X, y), OverlappingGroups(1.0, Groups.from_lists(sentences, p))
    found = solve(loss, penalty.with_lam(0.7 * lambda_max(loss, penalty)), tol=1e-5, max_iter=60)
    assert found.converged
