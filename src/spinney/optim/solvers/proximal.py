"""Proximal gradient methods: ISTA, and FISTA with backtracking and restart; any loss, any penalty with a prox."""

from __future__ import annotations

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem

STEEPEST = 1e60  # curvature at which no step can be hoped for


def ista(
    problem: Problem, w: Vector, monitor: Monitor, *, metric: Vector | None = None, check_every: int = 1
) -> Vector:
    """Proximal gradient without extrapolation, O(1/t); the options are those of :func:`fista`."""
    return fista(problem, w, monitor, accelerate=False, metric=metric, check_every=check_every)


def fista(
    problem: Problem,
    w: Vector,
    monitor: Monitor,
    *,
    accelerate: bool = True,
    metric: Vector | None = None,
    check_every: int = 1,
) -> Vector:
    """Accelerated proximal gradient, O(1/t²) (Beck & Teboulle; Nelakanti 2014, Alg. 3 with its errata).

    The step is found by backtracking from an estimate of the Lipschitz constant that may also shrink; the
    momentum restarts whenever it points uphill (O'Donoghue & Candès).

    Parameters
    ----------
    metric : array, optional
        The curvature of each coordinate, up to a factor: coordinate i moves by its gradient over ``metric[i]``. Where
        curvatures differ by thousands, a common step is that much too short for most. Needs a penalty with a prox in
        that metric.
    check_every : int
        Iterations between two looks at the certificate. With more than one, the loss is asked for its ``value`` alone
        where it has such a method, which saves a gradient in each iteration.
    """
    from spinney.optim.solvers._proximal_kernels import descend, extrapolate, goes_back, slope_and_square

    loss, penalty = problem.loss, problem.penalty
    cheap = getattr(loss, "value", None) if check_every > 1 else None
    prox = penalty.prox if metric is None else penalty.prox_in_metric(metric)
    L = float(loss.lipschitz()) if metric is None and hasattr(loss, "lipschitz") else 1.0
    metric = np.ones(loss.n_params) if metric is None else metric
    w, before, ahead = w.copy(), w.copy(), np.empty_like(w)
    t_before = t = 1.0
    iteration = 0
    value, grad = loss.value_and_grad(w)
    known = True  # whether grad is the gradient at w
    while True:
        if iteration % check_every == 0 or iteration >= monitor.max_iter:
            if not known:
                grad, known = loss.value_and_grad(w)[1], True
            if monitor(w, value, grad, iteration=iteration):
                return w
        momentum = (t_before - 1.0) / t if accelerate else 0.0
        extrapolate(w, before, momentum, ahead)
        if momentum == 0.0 and known:
            ahead_value, ahead_grad = value, grad
        else:
            ahead_value, ahead_grad = loss.value_and_grad(ahead)
        before, w = w, before
        while True:
            descend(ahead, ahead_grad, metric, L, w)
            prox(w, 1.0 / L)
            if cheap is None:
                value, grad = loss.value_and_grad(w)
            else:
                value, known = cheap(w), False
            slope, square = slope_and_square(ahead, w, ahead_grad, metric)
            bound = ahead_value + slope + 0.5 * L * square
            # Slack: near the optimum both sides agree to rounding, and a strict < stalls there.
            if value <= bound + 1e-12 * abs(bound):
                break
            L *= 2.0
            if L > STEEPEST:
                raise OptionError(
                    "no step leads downhill: the features are too large, or the penalty too small"
                )
        iteration += 1
        t_before, t = t, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        if goes_back(ahead, w, before, metric):
            t_before = t = 1.0
        else:
            L *= 0.95  # let a too cautious estimate relax
