"""The Lasso by least-angle regression (homotopy), through scikit-learn."""

from __future__ import annotations

from spinney.optim.base import Vector
from spinney.optim.losses import SquaredLoss
from spinney.optim.problem import Monitor, Problem


def lars(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Follow the piecewise linear path of the Lasso down to λ: exact up to rounding, for squared loss and ℓ1 only."""
    from sklearn.linear_model import lars_path

    loss, inner = problem.loss, problem.inner
    assert isinstance(loss, SquaredLoss)
    X, y, x_mean, y_mean = loss.centred()
    # scikit-learn's criterion is the mean: its α is our λ divided by n.
    _, _, path = lars_path(X, y, alpha_min=inner.lam / loss.n, method="lasso")
    w = w.copy()
    w[: loss.p] = path[:, -1]
    if loss.intercept:
        w[-1] = y_mean - x_mean @ path[:, -1]
    monitor(w, *loss.value_and_grad(w))
    return w
