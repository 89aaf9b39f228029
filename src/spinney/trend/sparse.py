"""Exact zeros under the adaptive prior: whole series are removed (left as future work in the thesis).

The bound has the term (T/2)·ln Q = T·ln‖w‖_A, which L-BFGS cannot bring to zero. Here it is T·ln(‖w‖_A + ε): the same
as ε → 0, finite at zero, and concave in the norm. So T·‖w‖_A/(‖w_old‖_A + ε) majorises it, which is a group Lasso in
the norm of E[A]; in v = Lᵀw, where L·Lᵀ = E[A], a plain one, whose proximal operator gives exact zeros. A round takes
some proximal steps on that group Lasso, which decide what is zero, then a Newton step on the series that are not, where
½E[1/λ]·Q majorises as well, then finds the best κ; each decreases the objective.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.optim import FlatGroups, GroupL2, solve
from spinney.optim.base import Step, Vector
from spinney.trend.adaptive import Fit, Kept, stopping
from spinney.trend.alpha import mean_alpha
from spinney.trend.chains import Factor, toeplitz
from spinney.trend.newton import Newton, SeriesPoint, at
from spinney.trend.prior import AdaptivePrior

_PROXIMAL_STEPS = 10  # on each group Lasso


class Whitened:
    """A loss of w as one of v = s·Lᵀw, where L·Lᵀ = E[A] and s evens out the curvatures of the groups."""

    n_free = 0

    def __init__(self, loss: Any, factor: Factor, s: Vector) -> None:
        self.loss, self.factor, self.s = loss, factor, s
        self.n_params = factor.root.size

    def series(self, v: Vector) -> Vector:
        """w of shape (T, J)."""
        return self.factor.to_series(v.reshape(self.factor.root.shape) / self.s)

    def whiten(self, W: Vector) -> Vector:
        """v, flat."""
        return np.asarray(self.factor.from_series(W) * self.s).ravel()

    def value_and_grad(self, v: Vector) -> tuple[float, Vector]:
        value, grad = self.loss.value_and_grad(self.series(v).ravel())
        grad = self.factor.pull_back(grad.reshape(self.factor.root.shape)) / self.s
        return value, grad.ravel()

    def lipschitz(self) -> float:
        """About the largest curvature at 0 (power iteration): the start of the step-size search."""
        product = self.loss.hess_vec(np.zeros(self.n_params))
        v = np.random.default_rng(0).standard_normal(self.factor.root.shape)
        for _ in range(10):
            v /= max(float(np.linalg.norm(v)), 1e-300)
            image = product(self.factor.to_series(v / self.s).ravel()).reshape(v.shape)
            v = self.factor.pull_back(image) / self.s
        return max(float(np.linalg.norm(v)), 1e-300)


def fit_sparse(
    loss: Any,
    prior: AdaptivePrior,
    W: Vector,
    *,
    tol: float = 1e-4,
    max_iter: int = 200,
    scale: float = 1.0,
) -> Fit:
    """Minimise loss(W) + Σ RT·ln(‖w‖_A + ε) + (terms of κ); see the docstring of this module."""
    started = time.perf_counter()
    trace: list[Step] = []
    n_groups = W.shape[1] // prior.replicates
    everything = Kept(loss, prior, np.arange(n_groups), n_groups)
    kappa = prior.updated_kappa(W, prior.kappa_of_nothing(n_groups))
    point = at(loss, W)
    curvature = _group_curvatures(loss, prior, n_groups)
    best = everything.objective(point, kappa)
    with progress.task("fitting sparse series") as task, stopping(trace) as stop:
        while True:
            excess, weights = _excess(prior, point, kappa)
            violation = float(np.max(excess, initial=0.0)) / scale
            converged = violation <= tol
            trace.append(Step(len(trace), time.perf_counter() - started, best, violation))
            task.update(1, note=f"objective {best:.6g}")
            if converged or len(trace) > max_iter:
                break
            working = np.flatnonzero((excess > 0) | np.any(_by_group(prior, point.W) != 0, axis=0))
            new = _group_lasso(loss, prior, point, kappa, weights, working, curvature, tol * scale)
            new = _newton(loss, prior, new, kappa)
            new_kappa = prior.updated_kappa(new.W, kappa)
            objective = everything.objective(new, new_kappa)
            if objective > best:  # rounding has the last word
                break
            point, kappa, best = new, new_kappa, objective
    return Fit(point.W, kappa, best, violation, converged, trace, stop.interrupted)


def _by_group(prior: AdaptivePrior, W: Vector) -> Vector:
    """(T, J) as (T·R, groups)."""
    return W.reshape(prior.n, -1)


def _group_curvatures(loss: Any, prior: AdaptivePrior, n_groups: int) -> Vector:
    """The largest diagonal entry of the Hessian in each group, at 0."""
    diagonal = loss.hess_diag(np.zeros(loss.n_params)).reshape(prior.n, n_groups).max(axis=0)
    return np.asarray(np.maximum(diagonal, 1e-8 * max(float(diagonal.max(initial=0.0)), 1e-300)))


def _factor(prior: AdaptivePrior, kappa: Vector) -> Factor:
    return toeplitz(prior.n_times, prior.spread(mean_alpha(kappa))).factor()


def _excess(prior: AdaptivePrior, point: SeriesPoint, kappa: Vector) -> tuple[Vector, Vector]:
    """How far each group is from stationary, in the norm of E[A]⁻¹, and the weight of its norm."""
    factor = _factor(prior, kappa)
    v, g = (_by_group(prior, part) for part in (factor.from_series(point.W), factor.pull_back(point.grad)))
    norms = np.sqrt((v * v).sum(axis=0))
    weights = prior.n / (norms + prior.floor)
    pull = v * (weights / np.maximum(norms, 1e-300))
    excess = np.sqrt(((g + pull) ** 2).sum(axis=0))
    return np.where(norms > 0, excess, np.maximum(excess - weights, 0.0)), weights


def _group_lasso(
    loss: Any,
    prior: AdaptivePrior,
    point: SeriesPoint,
    kappa: Vector,
    weights: Vector,
    working: NDArray[np.intp],
    curvature: Vector,
    tol: float,
) -> SeriesPoint:
    """A few proximal steps on the group Lasso of the working groups."""
    kept = Kept(loss, prior, working, len(weights))
    s = np.sqrt(curvature[working])
    whitened = Whitened(kept.loss, _factor(prior, kappa[working]), prior.spread(s))
    m, size = len(working), prior.n
    members = np.arange(size * m, dtype=np.int32).reshape(size, m).T.ravel()
    groups = FlatGroups(np.arange(m + 1, dtype=np.int64) * size, members, weights[working] / s, size * m)
    start = whitened.whiten(point.W[:, kept.series])
    solution = solve(
        whitened, GroupL2(1.0, groups), "fista",
        tol=0.1 * tol, max_iter=_PROXIMAL_STEPS, w0=start, scale=1.0, certify=False,
    )  # fmt: skip
    if solution.interrupted:
        raise KeyboardInterrupt
    W = np.zeros_like(point.W)
    W[:, kept.series] = whitened.series(solution.w)
    return at(loss, W)


def _newton(loss: Any, prior: AdaptivePrior, point: SeriesPoint, kappa: Vector) -> SeriesPoint:
    """A step on the series that are not zero, by the quadratic majoriser, which only these have."""
    Q = prior.norms(point.W, kappa)
    kept = Kept(loss, prior, np.flatnonzero(Q > 0), len(Q))
    R = prior.precision(kappa[kept.groups], prior.shrinkage(Q[kept.groups]))
    W = np.zeros_like(point.W)
    W[:, kept.series] = Newton(kept.loss).step(at(kept.loss, point.W[:, kept.series]), R, 0.1).W
    return at(loss, W)
