"""Solvers for smooth problems: L-BFGS and nonlinear conjugate gradient, by SciPy, and Newton."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem


class _Smooth:
    """Loss plus smooth penalty, remembering its last evaluation so that the monitor costs no second one."""

    def __init__(self, problem: Problem, solver: str) -> None:
        if not hasattr(problem.inner, "grad"):
            raise OptionError(
                f"solver {solver!r} needs a smooth penalty (none, l2, timeseries); "
                f"use 'owlqn', 'cd' or 'fista' for {problem.inner.describe()}"
            )
        self.loss, self.inner, self.k = problem.loss, problem.inner, problem.n_penalised
        self.at: Vector | None = None

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        self.at = w.copy()
        self.value, self.loss_grad = self.loss.value_and_grad(w)
        grad = self.loss_grad.copy()
        grad[: self.k] += self.inner.grad(w[: self.k])
        return self.value + self.inner.value(w[: self.k]), grad

    def report(self, w: Vector, monitor: Monitor) -> bool:
        if self.at is None or not np.array_equal(self.at, w):
            self.value_and_grad(w)
        return monitor(w, self.value, self.loss_grad)


def _scipy(method: str, problem: Problem, w: Vector, monitor: Monitor, **more: object) -> Vector:
    smooth = _Smooth(problem, method.lower())
    if smooth.report(w, monitor):
        return w

    def callback(xk: Vector) -> None:
        if smooth.report(xk, monitor):
            raise StopIteration

    # SciPy's own stopping rules are switched off: the monitor decides.
    result = minimize(smooth.value_and_grad, w, jac=True, method=method, callback=callback, **more)
    return np.asarray(result.x)


def lbfgs(problem: Problem, w: Vector, monitor: Monitor, *, memory: int = 20) -> Vector:
    """Limited-memory BFGS."""
    options = {"maxiter": 10**9, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0, "maxcor": memory}
    return _scipy("L-BFGS-B", problem, w, monitor, options=options)


def conjugate_gradient(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Nonlinear conjugate gradient (Polak-Ribière)."""
    return _scipy("CG", problem, w, monitor, options={"maxiter": 10**9, "gtol": 0.0})


def newton(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Newton's method; its linear systems are solved by conjugate gradient, ever more exactly.

    Ends where rounding ends it, which is finer than SciPy's Newton methods: these compare values of the objective,
    and so stop at the square root of machine precision.
    """
    loss, inner, k = problem.loss, problem.inner, problem.n_penalised
    smooth = _Smooth(problem, "newton")
    if not hasattr(loss, "hess_vec"):
        raise OptionError("solver 'newton' needs a loss with Hessian-vector products; use 'lbfgs'")
    w = w.copy()
    objective, grad = smooth.value_and_grad(w)
    while not smooth.report(w, monitor):
        curvature = loss.hess_vec(w)

        def product(v: Vector, curvature: Callable[[Vector], Vector] = curvature) -> Vector:
            image = curvature(v)
            # Smooth penalties are quadratic: their gradient is linear, so it is its own Hessian product.
            image[:k] += inner.grad(v[:k])  # type: ignore[attr-defined]
            return image

        operator = LinearOperator((len(w), len(w)), matvec=product, dtype=np.float64)
        forcing = min(0.1, monitor.trace[-1].violation)
        direction, _ = cg(operator, -grad, rtol=forcing, maxiter=2 * len(w))
        slope, step = float(grad @ direction), 1.0
        while True:
            new = w + step * direction
            new_objective, new_grad = smooth.value_and_grad(new)
            if new_objective <= objective + 1e-4 * step * slope + 1e-12 * abs(objective) or step < 1e-12:
                break
            step /= 2
        w, objective, grad = new, new_objective, new_grad
    return w
