"""Ridge-ts: one strength and one stiffness for all series (Yogatama et al. 2011; 2015, §3.4)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from spinney import progress
from spinney.optim import SquaredLoss
from spinney.optim.base import Step, Vector
from spinney.trend.adaptive import Fit, stopping
from spinney.trend.chains import Chains
from spinney.trend.newton import Newton, at


def ridge_ts_precision(n_times: int, n_series: int, lam: float, alpha: float, *, bias: bool) -> Chains:
    """R of ½wᵀRw = ½λ Σ_t w_t² + ½λα Σ_t (w_{t+1} − w_t)² for every series.

    With ``bias`` the last series is the intercept: its changes are penalised (slightly even if α is 0, because of
    times without data), its level is not.

    Examples
    --------
    >>> ridge_ts_precision(3, 1, 2.0, 0.5, bias=False).diagonal.ravel().tolist()
    [3.0, 4.0, 3.0]
    """
    neighbours = np.full(n_times, 2.0)
    neighbours[0] -= 1.0
    neighbours[-1] -= 1.0
    level, change = np.full(n_series, lam), np.full(n_series, lam * alpha)
    if bias:
        level[-1], change[-1] = 0.0, lam * max(alpha, 1e-6)
    return Chains(level + neighbours[:, None] * change, np.tile(-change, (n_times - 1, 1)))


def fit_ridge_ts(
    loss: Any, R: Chains, W: Vector, *, tol: float = 1e-5, max_iter: int = 100, scale: float = 1.0
) -> Fit:
    """Minimise loss(W) + ½ Σ wᵀRw by Newton's method."""
    started = time.perf_counter()
    trace: list[Step] = []
    newton, point = Newton(loss), at(loss, W)
    with progress.task("fitting series") as task, stopping(trace) as stop:
        while True:
            violation = float(np.max(np.abs(point.grad + R.times(point.W)), initial=0.0)) / scale
            objective = point.value + 0.5 * float(np.sum(R.quadratic(point.W)))
            converged = violation <= tol
            trace.append(Step(len(trace), time.perf_counter() - started, objective, violation))
            task.update(1, note=f"objective {objective:.6g}")
            if converged or len(trace) > max_iter:
                break
            # A quadratic needs one exact step; other losses need only as much precision as they are far from the
            # optimum.
            forcing = 0.1 * tol if isinstance(loss, SquaredLoss) else max(0.1 * tol, min(0.1, violation))
            point = newton.step(point, R, forcing)
    return Fit(point.W, np.empty(0), objective, violation, converged, trace, stop.interrupted)
