"""Coordinate descent on multinomial losses: its optimum beside scikit-learn's, and what its Newton steps promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from spinney.classify import LinearClassifier
from spinney.optim import L1, ElasticNet, MultinomialLoss, Penalty, lambda_max, path, solve
from spinney.optim.problem import Problem
from spinney.optim.solvers.coordinate.descent import approached
from spinney.optim.solvers.coordinate.model import Point
from spinney.optim.solvers.coordinate.multinomial import EXACT, MultinomialModel, _Quadratic


def _data(n: int = 60, p: int = 25, classes: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = sparse.random(n, p, density=0.3, format="csr", random_state=rng, data_rvs=rng.standard_normal)
    y = np.argmax(X @ rng.standard_normal((p, classes)) + rng.standard_normal((n, classes)), axis=1)
    return X, y


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize(("lam", "l2"), [(0.0, 0.5), (0.4, 0.0), (0.1, 0.1)])
def test_the_optimum_is_that_of_scikit_learn(
    lam: float, l2: float, class_weight: str | None, intercept: bool
) -> None:
    X, y = _data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    name = "l2" if lam == 0 else "elasticnet" if l2 else "l1"
    ours = LinearClassifier(
        name, lam=lam or l2, l2=l2 if lam else 0.0, class_weight=class_weight, fit_intercept=intercept, tol=1e-9
    ).fit(X, y, weights)  # fmt: skip
    solver = {"solver": "saga", "l1_ratio": lam / (lam + l2)} if lam else {"solver": "newton-cg"}
    theirs = LogisticRegression(
        C=1 / (lam + l2), class_weight=class_weight, fit_intercept=intercept, tol=1e-9, max_iter=20_000, **solver
    ).fit(X, y, weights)  # fmt: skip
    loss = ours._loss(X, y, ours._example_weights(X, y, weights))

    def objective(model: Any) -> float:
        w = model.coef_.T.ravel()
        full = np.append(w, model.intercept_) if intercept else w
        return float(loss.value_and_grad(full)[0] + lam * np.abs(w).sum() + 0.5 * l2 * w @ w)

    assert objective(ours) == pytest.approx(ours.objective_, rel=1e-12)
    assert objective(ours) == pytest.approx(objective(theirs), rel=1e-6)
    assert objective(ours) <= objective(theirs) * (1 + 1e-8)
    assert ours.gap_ is not None
    assert ours.gap_ <= 1e-9


@pytest.mark.parametrize("dense", [True, False])
def test_a_cold_start_ends_where_a_path_does(dense: bool) -> None:
    X, y = _data(80, 200, 6, seed=2)  # more features than examples: the classes can be separated
    loss = MultinomialLoss(X.toarray() if dense else X, y)
    largest = lambda_max(loss, L1(1.0))
    for penalty in (L1(1.0), ElasticNet(1.0, 1.0).tied(l2=1.0)):
        cold = solve(loss, penalty.with_lam(1e-4 * largest), tol=1e-7, max_iter=100)
        *_, (_, warm) = path(loss, penalty, largest * 10.0 ** np.arange(0, -4.1, -0.5), tol=1e-7)
        assert cold.converged
        assert warm.converged
        assert cold.objective == pytest.approx(warm.objective, rel=1e-6)


def test_the_way_to_a_small_strength_keeps_to_the_limit_of_iterations() -> None:
    X, y = _data(80, 200, 6, seed=2)
    loss = MultinomialLoss(X, y)
    lam = 1e-4 * lambda_max(loss, L1(1.0))
    start = Point.at(loss, loss.null_point())
    grad = loss.pull_back(start.r)
    point, steps = approached(Problem(loss, L1(lam)), loss, start, grad, 5)
    assert steps == 5
    np.testing.assert_allclose(point.margins, loss.margins(point.w), atol=1e-10)
    assert solve(loss, L1(lam), max_iter=5).n_iter == 5


def _model_value(at: _Quadratic, penalty: Penalty, loss: MultinomialLoss) -> float:
    """The quadratic model and the penalty, from their definitions, at the weights of ``at``."""
    w = at.W.ravel()
    change = (loss.margins(w) - loss.margins(at.start)).reshape(loss.n, -1)
    curved = sum(
        s * float(d @ (np.diag(p) - np.outer(p, p)) @ d)
        for s, p, d in zip(loss.sample_weight, at.P.T, change)
    )
    k = loss.n_params - loss.n_free
    return float(at.grad @ (w - at.start) + 0.5 * curved + penalty.value(w[:k]))


@pytest.mark.parametrize("penalty", [L1(0.3), ElasticNet(0.05, 0.05)])
def test_steps_on_the_support_lower_the_model(penalty: Penalty) -> None:
    X, y = _data(50, 40, 5, seed=3)
    loss = MultinomialLoss(X, y, np.random.default_rng(0).uniform(0.5, 2.0, 50))
    model = MultinomialModel(Problem(loss, penalty), loss)
    point = Point.at(loss, loss.null_point())
    grad = loss.pull_back(point.r)
    at = _Quadratic(model, point, grad)
    every = np.arange(loss.n_params - loss.n_free)
    values = [_model_value(at, penalty, loss)]
    for _ in range(8):
        at.descend(every, 1, 0.0)
        values.append(_model_value(at, penalty, loss))
        signs = np.sign(at.W.ravel()[every])
        at.step_on_face(every[signs != 0], EXACT.products)
        values.append(_model_value(at, penalty, loss))
        assert np.all(np.sign(at.W.ravel()[every]) * signs >= 0)  # no weight changes its sign, none leaves 0
        assert np.all(at.W.ravel()[every][signs == 0] == 0)
        assert np.all(np.abs(at.W[:-1]) <= model.reach[:, None] * (1 + 1e-12))
    assert np.all(np.diff(values) <= 1e-9)
    steps = np.diff(values)[1::2]
    assert np.all(steps < 0)
    assert steps.min() < -1e-3
    np.testing.assert_allclose(at.D.T, loss.margins(at.W.ravel()) - point.margins, atol=1e-10)


def test_the_softmax_kernel_is_the_textbook_formula() -> None:
    rng = np.random.default_rng(0)
    m, y, s = rng.normal(scale=30.0, size=(40, 5)), rng.integers(0, 5, 40), rng.uniform(0, 2, 40)
    loss = MultinomialLoss(np.zeros((40, 1)), y, s, n_classes=5)
    value, slopes = loss.pointwise(np.asfortranarray(m), loss.y, s)
    assert value == pytest.approx(float(s @ (logsumexp(m, axis=1) - m[np.arange(40), y])), rel=1e-12)
    expected = s[:, None] * (np.exp(m - logsumexp(m, axis=1, keepdims=True)) - np.eye(5)[y])
    np.testing.assert_allclose(slopes, expected, atol=1e-12)
