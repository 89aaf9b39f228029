"""The gap: it is never smaller than the true distance from the optimum, closes there, and decides when to stop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.optim import (
    L0,
    L1,
    L2,
    ElasticNet,
    GroupL2,
    LogisticLoss,
    MultinomialLoss,
    NonNegative,
    NoPenalty,
    Nuclear,
    OverlappingGroups,
    Slope,
    SquaredLoss,
    TraceLasso,
    TreeL2,
    TreeLinf,
    solve,
)
from spinney.optim.certificate import fitted_bound, lower_bound
from spinney.structure import Groups

N, P = 30, 8


def make_loss(kind, rng, intercept):
    X = rng.standard_normal((N, P))
    if kind == "squared":
        return SquaredLoss(X, X[:, 0] + rng.standard_normal(N), intercept=intercept)
    if kind == "logistic":
        return LogisticLoss(X, np.sign(X[:, 0] + rng.standard_normal(N)), intercept=intercept)
    return MultinomialLoss(X, np.arange(N) % 3, intercept=intercept, n_classes=3)


def make_penalties(rng, lam, n):
    lists = [list(range(i, min(i + 3, n))) for i in range(0, n, 2)]
    return [
        L1(lam),
        L2(lam),
        ElasticNet(lam, 0.1),
        ElasticNet(lam, 0.5, rng.random(n) + 0.1),
        NonNegative(L1(lam)),
        Slope(lam, q=0.2),
        GroupL2(lam, Groups.from_labels(np.arange(n) // 3)),
        GroupL2(lam, Groups.from_labels(np.arange(n) // 3), l1=0.1, l2=0.2),
        TreeL2(lam, (np.arange(n) - 1) // 2),
        NonNegative(TreeL2(lam, (np.arange(n) - 1) // 2)),
        TreeLinf(lam, (np.arange(n) - 1) // 2),
        OverlappingGroups(lam, Groups.from_lists(lists, n), l1=0.05),
        Nuclear(lam, (n // 2, 2)),
        TraceLasso(lam, rng.standard_normal((5, n))),
    ]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["squared", "logistic", "multinomial"])
@given(st.integers(0, 10**6), st.floats(0.05, 20.0), st.floats(0.0, 3.0))
@settings(max_examples=8, deadline=None)
def test_no_point_is_below_the_bound(kind, intercept, seed, lam, size):
    """The bound at one point, and the objective at many others: the definition, without any solver."""
    rng = np.random.default_rng(seed)
    loss = make_loss(kind, rng, intercept)
    k = loss.n_params - loss.n_free
    for penalty in make_penalties(rng, lam, k):
        w = size * rng.standard_normal(loss.n_params) * (rng.random(loss.n_params) < 0.5)
        if isinstance(penalty, NonNegative):
            w[:k] = np.abs(w[:k])
        bound = fitted_bound(loss, penalty, w)
        for _ in range(30):
            u = w + rng.standard_normal(loss.n_params) * 10.0 ** rng.uniform(-3, 1)
            u[:k] *= rng.random(k) < 0.7
            if isinstance(penalty, NonNegative):
                u[:k] = np.abs(u[:k])
            assert bound <= loss.value_and_grad(u)[0] + penalty.value(u[:k]) + 1e-9, penalty.describe()


@pytest.mark.parametrize("kind", ["squared", "logistic", "multinomial"])
def test_the_bound_closes_at_the_optimum(kind):
    rng = np.random.default_rng(1)
    loss = make_loss(kind, rng, True)
    for penalty in make_penalties(rng, 1.0, loss.n_params - loss.n_free):
        if kind == "multinomial" and isinstance(penalty, TraceLasso):
            continue  # only ADMM takes this pair, and is slow
        found = solve(loss, penalty, tol=1e-8, max_iter=20_000)
        assert found.converged, penalty.describe()
        assert found.gap <= 1e-8, penalty.describe()


@given(st.integers(0, 10**6), st.floats(0.05, 5.0), st.floats(-3.0, 3.0))
@settings(max_examples=60, deadline=None)
def test_the_gauge_is_the_share_at_which_zero_is_optimal(seed, lam, size):
    """By the prox, which is 0 exactly where w = 0 is optimal: at x/D, and not at what is clearly more of x."""
    rng = np.random.default_rng(seed)
    for penalty in make_penalties(rng, lam, P):
        if penalty.ridge == lam or isinstance(penalty, TraceLasso | OverlappingGroups):
            continue  # these have bounds of their own
        x = 10.0**size * rng.standard_normal(P) * (rng.random(P) < 0.7)
        D = penalty.gauge(x)
        assert D >= 1.0
        for share, optimal in ((1 / D, True), (1 / (1 + 0.9 * (D - 1)), D <= 1 + 1e-6)):
            moved = share * x
            penalty.prox(moved, 1.0)
            assert np.allclose(moved, 0.0, atol=1e-9 * np.abs(x).max(initial=0.0)) == optimal, (
                penalty.describe()
            )


def test_weights_without_a_penalty_have_no_gauge():
    penalty = TreeL2(1.0, [-1, 0, -1], weights=[0.0, 1.0, 2.0])
    assert penalty.gauge(np.array([1.0, 0.0, 0.0])) == np.inf
    assert penalty.gauge(np.array([0.0, 3.0, 1.0])) == pytest.approx(3.0)
    assert TreeL2(1.0, [-1], [0, -1]).gauge(np.array([0.5, 0.1])) == np.inf
    assert TreeL2(1.0, [-1], [0, -1]).gauge(np.array([2.0, 1e-79])) == pytest.approx(
        2.0
    )  # fitted, but for rounding


@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_what_is_called_converged_is_near_the_optimum_whatever_lambda(lam):
    """Relative to the gradient of the empty model, the violation alone said nothing at small strengths."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 200))
    loss = LogisticLoss(X, np.sign(X[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(60)))
    best = solve(loss, L1(lam), tol=1e-10, max_iter=10_000).objective
    for solver in ("cd", "fista", "owlqn"):
        rough = solve(loss, L1(lam), solver, tol=1e-2, max_iter=20_000)
        assert rough.converged
        assert best <= rough.objective <= best * (1 + 1e-2)
        assert rough.objective - best <= rough.gap * rough.objective + 1e-12
        assert rough.violation == pytest.approx(
            np.max(np.abs(np.append(L1(lam).residual(rough.w[:-1], rough.grad[:-1]), rough.grad[-1]))) / lam
        )


def test_free_coordinates_are_fitted_exactly():
    rng = np.random.default_rng(3)
    for kind in ("squared", "logistic", "multinomial"):
        loss = make_loss(kind, rng, True)
        w = rng.standard_normal(loss.n_params)
        fitted = loss.fit_free(w)
        assert np.array_equal(fitted[: -loss.n_free], w[: -loss.n_free])
        assert np.max(np.abs(loss.value_and_grad(fitted)[1][-loss.n_free :])) < 1e-9


def test_proofs_that_fail_are_tried_ever_more_rarely(monkeypatch):
    """Fitting the free coordinates costs several gradients, and L-BFGS may be near an optimum for long."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) * [10.0, 3.0, 1.0, 0.3, 0.1]
    loss = LogisticLoss(X, np.sign(rng.standard_normal(60)))
    tried = []

    def failing(loss, penalty, w):
        tried.append(w)
        return -np.inf

    monkeypatch.setattr("spinney.optim.problem.fitted_bound", failing)
    calls = []
    solve(
        loss, L2(0.1), "fista", tol=0.01, max_iter=300, callback=lambda step, w: calls.append(step.violation)
    )
    near = sum(violation <= 0.01 for violation in calls)
    assert near > 100
    assert 10 < len(tried) < 50  # as many as 1.1 has to be multiplied by itself, and the one at the end


def test_where_there_is_no_bound_the_violation_decides():
    rng = np.random.default_rng(4)
    loss = make_loss("squared", rng, False)
    for penalty in (NoPenalty(), L0(0.5), GroupL2(1.0, Groups.from_lists([[0, 1]], P))):
        found = solve(loss, penalty, tol=1e-8, max_iter=5_000)
        assert found.converged
        assert found.gap == np.inf
    w = rng.standard_normal(P)
    value, grad = loss.value_and_grad(w)
    assert lower_bound(NoPenalty(), w, value, grad, grad) == -np.inf


def test_a_loss_that_is_not_convex_has_no_gap():
    class Twisted(SquaredLoss):
        convex = False

    rng = np.random.default_rng(5)
    loss = Twisted(rng.standard_normal((N, P)), rng.standard_normal(N), intercept=False)
    found = solve(loss, L1(1e-2), "fista", tol=1e-4, max_iter=10_000)
    assert found.converged
    assert found.gap == np.inf
    assert found.violation <= 0.1  # 1e-4 of a thousandth of the first gradient, over λ
