"""Solvers for smooth problems: nonlinear conjugate gradient, by SciPy, and Newton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem

_PIECE = 1 << 14
FLAT = 1e-15  # of the largest curvature: what rounding leaves of none


class Smooth:
    """Loss plus smooth penalty; of the last evaluation it keeps what the monitor asks for, the loss alone."""

    def __init__(self, problem: Problem) -> None:
        self.loss, self.k = problem.loss, problem.n_penalised
        self.inner: Any = problem.inner

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        self.value, self.loss_grad = self.loss.value_and_grad(w)
        # A new array even where there is nothing to add: the monitor keeps the gradient of the loss alone.
        grad = np.empty_like(w)
        grad[: self.k] = self.inner.grad(w[: self.k])
        grad[: self.k] += self.loss_grad[: self.k]
        grad[self.k :] = self.loss_grad[self.k :]
        return self.value + self.inner.value(w[: self.k]), grad

    def in_place(self, w: Vector) -> tuple[float, Vector]:
        """The same, in the array that the loss gave, where the penalty is a plain ridge: no second large array."""
        if not hasattr(self.inner, "l1_l2"):
            return self.value_and_grad(w)
        value, grad = self.loss.value_and_grad(w)
        self._add_ridge(w, grad, 1.0)
        return value + self.inner.value(w[: self.k]), grad

    def loss_gradient(self, w: Vector, grad: Vector) -> Vector:
        """The gradient of the loss alone, out of that of the objective; in the same array where that can be."""
        if not hasattr(self.inner, "l1_l2"):
            grad = grad.copy()
            grad[: self.k] -= self.inner.grad(w[: self.k])
            return grad
        self._add_ridge(w, grad, -1.0)
        return grad

    def _add_ridge(self, w: Vector, grad: Vector, sign: float) -> None:
        l2 = sign * float(self.inner.l1_l2(self.k)[1])
        if l2:
            for start in range(0, self.k, _PIECE):  # pieces that stay in the cache
                part = slice(start, min(start + _PIECE, self.k))
                grad[part] += l2 * w[part]


def _scipy(method: str, problem: Problem, w: Vector, monitor: Monitor, **more: object) -> Vector:
    smooth = Smooth(problem)
    at: Vector | None = None  # where it was evaluated last: the monitor shall cost no second evaluation

    def evaluate(w: Vector) -> tuple[float, Vector]:
        nonlocal at
        at = w.copy()
        return smooth.value_and_grad(w)

    def reported(w: Vector) -> bool:
        if at is None or not np.array_equal(at, w):
            evaluate(w)
        return monitor(w, smooth.value, smooth.loss_grad)

    def callback(xk: Vector) -> None:
        if reported(xk):
            raise StopIteration

    if reported(w):
        return w
    # SciPy's own stopping rules are switched off: the monitor decides.
    result = scipy.optimize.minimize(evaluate, w, jac=True, method=method, callback=callback, **more)
    return np.asarray(result.x)


def conjugate_gradient(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Nonlinear conjugate gradient (Polak-Ribière)."""
    return _scipy("CG", problem, w, monitor, options={"maxiter": 10**9, "gtol": 0.0})


def newton(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Newton's method; its linear systems are solved by conjugate gradient, ever more exactly.

    Ends where rounding ends it, which is finer than SciPy's Newton methods: these compare values of the objective,
    and so stop at the square root of machine precision.
    """
    k = problem.n_penalised
    loss: Any = problem.loss
    inner: Any = problem.inner
    smooth = Smooth(problem)
    w = w.copy()
    objective, grad = smooth.value_and_grad(w)
    while not monitor(w, smooth.value, smooth.loss_grad):
        curvature = loss.hess_vec(w)

        def product(v: Vector, curvature: Callable[[Vector], Vector] = curvature) -> Vector:
            image = curvature(v)
            # Smooth penalties are quadratic: their gradient is linear, so it is its own Hessian product.
            image[:k] += inner.grad(v[:k])
            return image

        direction = _newton_direction(product, grad, min(0.1, monitor.trace[-1].violation))
        slope, step = float(grad @ direction), 1.0
        while True:
            new = w + step * direction
            new_objective, new_grad = smooth.value_and_grad(new)
            if new_objective <= objective + 1e-4 * step * slope + 1e-12 * abs(objective) or step < 1e-12:
                break
            step /= 2
        if not np.isfinite(new_objective):
            break
        w, objective, grad = new, new_objective, new_grad
    return w


def _newton_direction(product: Callable[[Vector], Vector], grad: Vector, forcing: float) -> Vector:
    """−H⁻¹·grad by conjugate gradients, to a share ``forcing`` of grad; where H is flat, what they found until then."""
    direction, residual = np.zeros_like(grad), -grad
    p, square, steepest = residual.copy(), float(grad @ grad), 0.0
    enough = forcing**2 * square
    for _ in range(2 * len(grad)):
        if square <= enough:
            break
        Hp = product(p)
        bend, length = float(p @ Hp), float(p @ p)
        steepest = max(steepest, bend / length)
        if bend <= FLAT * steepest * length:
            break
        direction += square / bend * p
        residual -= square / bend * Hp
        square, last = float(residual @ residual), square
        p = residual + square / last * p
    return direction if direction.any() else -grad
