"""Proximal gradient methods: ISTA, and FISTA with backtracking and restart; any loss, any penalty with a prox."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.problem import Monitor, Problem

STEEPEST = 1e60  # curvature at which no step can be hoped for
_FAR = 10.0  # times the violation that is to be reached: while steps are so long, the end is not near
_GLANCE = 5  # iterations between two looks at the certificate then


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
    prox = penalty.prox if metric is None else penalty.prox_in_metric(metric)
    L = _first_curvature(loss) if metric is None else 1.0
    metric = np.ones(loss.n_params) if metric is None else metric
    w, before, ahead = w.copy(), w.copy(), np.empty_like(w)
    t_before = t = 1.0
    iteration = 0
    # Where margins are kept, a look at the certificate costs half of an iteration: a gradient that nothing else needs.
    skips = isinstance(loss, LinearLoss) and monitor.callback is None and monitor.unit is None
    far = False
    here = last = _spot(loss, w, lazy=check_every > 1)
    while True:
        due = (
            iteration % (max(_GLANCE, check_every) if far else check_every) == 0
            or iteration >= monitor.max_iter
        )
        if due and monitor(w, here.value, here.grad(), iteration=iteration):
            return w
        momentum = (t_before - 1.0) / t if accelerate else 0.0
        extrapolate(w, before, momentum, ahead)
        if momentum == 0.0:
            there = here
        elif here.margins is None or last.margins is None:
            there = _spot(loss, ahead)
        else:  # margins are linear, so that a product with the data is saved
            there = _of_margins(loss, here.margins + momentum * (here.margins - last.margins))
        ahead_grad = there.grad()
        before, w, last = w, before, here
        while True:
            descend(ahead, ahead_grad, metric, L, w)
            prox(w, 1.0 / L)
            here = _spot(loss, w, lazy=check_every > 1)
            slope, square, longest = slope_and_square(ahead, w, ahead_grad, metric)
            bound = there.value + slope + 0.5 * L * square
            # Slack: near the optimum both sides agree to rounding, and a strict < stalls there.
            if here.value <= bound + 1e-12 * abs(bound):
                break
            L *= 2.0
            if L > STEEPEST:
                raise OptionError(
                    "no step leads downhill: the features are too large, or the penalty too small"
                )
        iteration += 1
        # L·(w − ahead) is the residual at w, but for the change of the gradient on the way.
        far = skips and L * longest > _FAR * monitor.tol * monitor.scale
        t_before, t = t, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        if goes_back(ahead, w, before, metric):
            t_before = t = 1.0
        else:
            L *= 0.95  # let a too cautious estimate relax


def _first_curvature(loss: Any) -> float:
    """Where backtracking begins; a rough estimate will do for that."""
    if isinstance(loss, LinearLoss):
        return float(loss.lipschitz(0.1))
    return float(loss.lipschitz()) if hasattr(loss, "lipschitz") else 1.0


class _Spot(NamedTuple):
    """The loss at a point, its gradient for whoever asks, and the margins if it is linear."""

    value: float
    grad: Callable[[], Vector]
    margins: Vector | None


def _spot(loss: Any, w: Vector, lazy: bool = False) -> _Spot:
    """The loss at ``w``; where the gradient may not be needed (``lazy``), by the ``value`` of a loss that has one."""
    if isinstance(loss, LinearLoss):
        return _of_margins(loss, loss.margins(w))
    if lazy and hasattr(loss, "value"):
        return _Spot(loss.value(w), cache(lambda: loss.value_and_grad(w)[1]), None)
    value, grad = loss.value_and_grad(w)
    return _Spot(value, lambda: grad, None)


def _of_margins(loss: Any, margins: Vector) -> _Spot:
    value, r = loss.pointwise(margins, loss.y, loss.sample_weight)
    return _Spot(value, cache(lambda: loss.pull_back(r)), margins)
