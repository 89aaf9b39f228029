"""Coordinate descent for the pairwise elastic net with a squared loss, on the Gram matrix."""

from __future__ import annotations

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import SquaredLoss
from spinney.optim.penalties import PairwiseElasticNet
from spinney.optim.problem import Monitor, Problem

PASSES_A_LOOK = 10  # between two looks at the certificate


def pairwise_descent(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Minimise ½Σ sᵢ(yᵢ − xᵢ·w − b)² + λ|w|ᵀP|w|; memory for two p × p matrices."""
    from spinney.optim.solvers.coordinate._pairwise_kernels import pairwise_passes

    loss, penalty, k = problem.loss, problem.inner, problem.n_penalised
    assert isinstance(loss, SquaredLoss)
    assert isinstance(penalty, PairwiseElasticNet)
    X, y, x_mean, y_mean = loss.centred()
    G = np.ascontiguousarray(X.T @ X)
    P = np.array(penalty.P, dtype=np.float64, order="C")
    coefficients = w[:k].copy()
    slope = G @ coefficients - X.T @ y
    pull = P @ np.abs(coefficients)
    while True:
        w = np.append(coefficients, y_mean - x_mean @ coefficients) if loss.intercept else coefficients.copy()
        if monitor(w, *loss.value_and_grad(w)):
            return w
        tol = 0.3 * monitor.absolute_tol
        pairwise_passes(G, slope, P, pull, coefficients, float(penalty.lam), tol, PASSES_A_LOOK)
