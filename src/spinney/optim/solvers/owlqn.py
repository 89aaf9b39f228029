"""Orthant-wise limited-memory quasi-Newton (Andrew & Gao 2007) for any smooth loss with an elastic net."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem


def owlqn(problem: Problem, w: Vector, monitor: Monitor, *, memory: int = 10) -> Vector:
    """Minimise loss + Σ l1_j|w_j| + ½l2‖w‖² (Sokolovska 2010, §6.3.1, with the two steps that it omits)."""
    k = problem.n_penalised
    inner: Any = problem.inner
    l1_inner, l2 = inner.l1_l2(k)
    l1 = np.zeros(problem.loss.n_params)
    l1[:k] = l1_inner

    def smooth(w: Vector) -> tuple[float, Vector, float, Vector]:
        """Loss and gradient, then the same with the ridge term."""
        value, grad = problem.loss.value_and_grad(w)
        ridged = grad.copy()
        ridged[:k] += l2 * w[:k]
        return value, grad, value + 0.5 * l2 * float(w[:k] @ w[:k]), ridged

    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=memory)
    w = w.copy()
    value, grad, smooth_value, g = smooth(w)
    while not monitor(w, value, grad):
        pseudo = _pseudo_gradient(w, g, l1)
        direction = -_two_loop(pseudo, pairs)
        direction[direction * pseudo >= 0] = 0.0  # keep to the half-space of descent
        orthant = np.where(w != 0, np.sign(w), -np.sign(pseudo))
        objective = smooth_value + float(l1 @ np.abs(w))
        step = 1.0 if pairs else 1.0 / max(float(np.linalg.norm(pseudo)), 1e-300)
        while True:
            new = w + step * direction
            new[(new * orthant < 0) & (l1 > 0)] = 0.0
            new_value, new_grad, new_smooth, new_g = smooth(new)
            decrease = float(pseudo @ (new - w))
            new_objective = new_smooth + float(l1 @ np.abs(new))
            if new_objective <= objective + 1e-4 * decrease + 1e-13 * abs(objective):
                break
            step /= 2
            if step < 1e-18:
                if not pairs:
                    return w
                pairs.clear()  # the curvature is stale: start again from steepest descent
                direction, step = -pseudo, 1.0 / max(float(np.linalg.norm(pseudo)), 1e-300)
        moved, turned = new - w, new_g - g
        if moved @ turned > 1e-12 * float(turned @ turned):
            pairs.append((moved, turned))
        w, value, grad, smooth_value, g = new, new_value, new_grad, new_smooth, new_g
    return w


def _pseudo_gradient(w: Vector, g: Vector, l1: Vector) -> Vector:
    at_zero = np.where(g + l1 < 0, g + l1, np.where(g - l1 > 0, g - l1, 0.0))
    return np.where(w != 0, g + l1 * np.sign(w), at_zero)


def _two_loop(g: Vector, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """(inverse Hessian approximation)·g, from the last steps p and gradient changes q."""
    direction = g.copy()
    weights = []
    for p, q in reversed(pairs):
        a = float(p @ direction) / float(p @ q)
        direction -= a * q
        weights.append(a)
    if pairs:
        p, q = pairs[-1]
        direction *= float(p @ q) / float(q @ q)
    for (p, q), a in zip(pairs, reversed(weights)):
        direction += (a - float(q @ direction) / float(p @ q)) * p
    return direction
