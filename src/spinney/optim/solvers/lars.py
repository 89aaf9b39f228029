"""The Lasso by least-angle regression (homotopy), through scikit-learn."""

from __future__ import annotations

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.losses import SquaredLoss
from spinney.optim.problem import Monitor, Problem


def lars(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Follow the piecewise linear path of the Lasso down to λ: exact up to rounding, for squared loss and ℓ1 only."""
    from sklearn.linear_model import lars_path

    loss, inner = problem.loss, problem.inner
    l1, l2 = inner.l1_l2(problem.n_penalised) if hasattr(inner, "l1_l2") else (None, 0.0)
    if not isinstance(loss, SquaredLoss) or l1 is None or np.ndim(l1) != 0 or l2 != 0:
        raise OptionError("solver 'lars' needs a squared loss and a plain l1 penalty; use 'cd'")
    X, y, x_mean, y_mean = loss.centred()
    # scikit-learn's criterion is the mean: its α is our λ divided by n.
    _, _, path = lars_path(X, y, alpha_min=float(l1) / loss.n, method="lasso")
    w = w.copy()
    w[: loss.p] = path[:, -1]
    if loss.intercept:
        w[-1] = y_mean - x_mean @ path[:, -1]
    monitor(w, *loss.value_and_grad(w))
    return w
