"""Subgradient descent: for comparison only."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem


def subgradient(problem: Problem, w: Vector, monitor: Monitor, *, step: float | None = None) -> Vector:
    """Steps of length step/√t against a subgradient, for penalties that offer one; far too slow for anything real.

    The objective does not fall at every step, and no weight ever becomes exactly 0.
    """
    loss, k = problem.loss, problem.n_penalised
    inner: Any = problem.inner
    w = w.copy()
    if step is None:
        step = 1.0 / float(loss.lipschitz()) if hasattr(loss, "lipschitz") else 1.0
    t = 0
    while True:
        value, grad = loss.value_and_grad(w)
        if monitor(w, value, grad):
            return w
        t += 1
        direction = grad.copy()
        direction[:k] += inner.subgradient(w[:k])
        w -= step / np.sqrt(t) * direction
