"""Coordinate descent on the pairwise elastic net: the optimum where the problem is convex, never uphill where not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from methods.pairwise_descent import pairwise_descent, printed_pairs

from spinney.optim import PairwiseElasticNet, SquaredLoss, solve


def _problem(seed: int, n: int = 12, p: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X /= np.linalg.norm(X, axis=0)
    return X, X @ rng.uniform(-1, 1, p) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_it_finds_the_optimum_of_a_convex_problem(lam: float) -> None:
    X, y = _problem(0)
    penalty = PairwiseElasticNet.from_design(lam, X)
    optimum = solve(SquaredLoss(X, y, intercept=False), penalty, tol=1e-10).w
    w = pairwise_descent(X.T @ X, X.T @ y, penalty.P, lam, np.zeros(8), tol=1e-12)
    assert w == pytest.approx(optimum, abs=1e-6)


@given(st.integers(0, 10_000), st.floats(0.01, 3.0))
def test_no_coordinate_can_lower_the_objective(seed: int, lam: float) -> None:
    X, y = _problem(seed, n=5)  # fewer rows than columns: P is rarely positive semi-definite
    P = printed_pairs(X)

    def objective(w: np.ndarray) -> float:
        return 0.5 * float(np.sum((y - X @ w) ** 2)) + lam * float(np.abs(w) @ P @ np.abs(w))

    start = np.random.default_rng(seed).standard_normal(8)
    w = pairwise_descent(X.T @ X, X.T @ y, P, lam, start, tol=1e-12)
    reached = objective(w)
    assert reached <= objective(start) + 1e-12
    for i in range(8):
        for other in np.append(w[i] + np.linspace(-1, 1, 41), 0.0):
            assert reached <= objective(np.where(np.arange(8) == i, other, w)) + 1e-9
