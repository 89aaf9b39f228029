"""Proximal gradient methods: ISTA, and FISTA with backtracking and restart; any loss, any penalty with a prox."""

from __future__ import annotations

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem


def ista(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Proximal gradient without extrapolation, O(1/t)."""
    return fista(problem, w, monitor, accelerate=False)


def fista(problem: Problem, w: Vector, monitor: Monitor, *, accelerate: bool = True) -> Vector:
    """Accelerated proximal gradient, O(1/t²) (Beck & Teboulle; Nelakanti 2014, Alg. 3 with its errata).

    The step is found by backtracking from an estimate of the Lipschitz constant that may also shrink; the
    momentum restarts whenever it points uphill (O'Donoghue & Candès).
    """
    loss, penalty = problem.loss, problem.penalty
    w, z = w.copy(), w.copy()  # z keeps the previous iterate
    t_previous = t = 1.0
    value, grad = loss.value_and_grad(w)
    L = float(loss.lipschitz()) if hasattr(loss, "lipschitz") else 1.0
    while not monitor(w, value, grad):
        momentum = (t_previous - 1.0) / t if accelerate else 0.0
        wbar = w + momentum * (w - z)
        bar_value, bar_grad = (value, grad) if momentum == 0.0 else loss.value_and_grad(wbar)
        z = w
        while True:
            w = wbar - bar_grad / L
            penalty.prox(w, 1.0 / L)
            move = w - wbar
            value, grad = loss.value_and_grad(w)
            bound = bar_value + float(bar_grad @ move) + 0.5 * L * float(move @ move)
            # Slack: near the optimum both sides agree to rounding, and a strict < stalls there.
            if value <= bound + 1e-12 * abs(bound):
                break
            L *= 2.0
        t_previous, t = t, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        if float((wbar - w) @ (w - z)) > 0.0:
            t_previous = t = 1.0
        else:
            L *= 0.95  # let a too cautious estimate relax
    return w
