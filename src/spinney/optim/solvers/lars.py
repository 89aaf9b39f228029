"""The Lasso by least-angle regression (homotopy), through scikit-learn."""

from __future__ import annotations

import numpy as np
from scipy import sparse

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
    X = np.asarray(loss.X.todense() if sparse.issparse(loss.X) else loss.X, dtype=np.float64)
    s = loss.sample_weight
    x_mean = np.average(X, axis=0, weights=s) if loss.intercept else np.zeros(loss.p)
    y_mean = np.average(loss.y, weights=s) if loss.intercept else 0.0
    root = np.sqrt(s)
    # scikit-learn's criterion is the mean: its α is our λ divided by n.
    _, _, path = lars_path(
        root[:, None] * (X - x_mean), root * (loss.y - y_mean), alpha_min=float(l1) / loss.n, method="lasso"
    )
    w = w.copy()
    w[: loss.p] = path[:, -1]
    if loss.intercept:
        w[-1] = y_mean - x_mean @ path[:, -1]
    monitor(w, *loss.value_and_grad(w))
    return w
