"""ADMM: overlapping groups with one copy of a weight a group, and the trace Lasso with a matrix copy.

Both split min loss(w) + Ω(w) into a w-step, where every weight is pulled towards the mean of its copies, and an exact
prox on the copies: Yogatama 2015, §5.3.1 (:mod:`spinney.optim.solvers.admm_groups`), and, over-relaxed, Grave 2014,
§7.3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.losses import SquaredLoss
from spinney.optim.penalties import NoPenalty, OverlappingGroups, TraceLasso
from spinney.optim.penalties.trace import shrink_singular_values
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.admm_groups import admm_groups
from spinney.optim.solvers.lbfgs import lbfgs
from spinney.optim.solvers.pulling import PulledLoss, initial_rho
from spinney.optim.solvers.smooth import newton

FIRST_LOOK, RARER = 10, 1.2  # the certificate costs more than an iteration: take it ever more rarely
NEARLY_ZERO = 3.0
EXACTNESS = 1e-3  # of the w-step, as a share of the tolerance
SMALL = 2_000  # parameters for which the w-step is solved by Newton's method
RELAXATION = 1.6


def admm(
    problem: Problem, w: Vector, monitor: Monitor, *, rho: float | None = None, threads: int = 1
) -> Vector:
    """Alternating direction method of multipliers, for overlapping groups and the trace Lasso.

    ``threads`` share the groups among them.
    """
    if rho is not None and not 0 < rho < np.inf:
        raise OptionError(f"rho must be a finite number > 0, not {rho:g}")
    if isinstance(problem.inner, OverlappingGroups):
        return admm_groups(problem, problem.inner, w, monitor, rho=rho, threads=threads)
    assert isinstance(problem.inner, TraceLasso)
    return _trace(problem, problem.inner, w, monitor, rho)


def _pulled_minimiser(problem: Problem, monitor: Monitor) -> Callable[[Vector, Vector, Vector], Vector]:
    """The function (pull, centre, start) ↦ argmin loss + pull to the centre."""
    loss = problem.loss
    if isinstance(loss, SquaredLoss) and loss.p <= 5_000:
        return _pulled_least_squares(loss)
    exact = newton if hasattr(loss, "hess_vec") and loss.n_params <= SMALL else lbfgs

    def minimise(pull: Vector, centre: Vector, start: Vector) -> Vector:
        pulled = Problem(PulledLoss(loss, pull, centre), NoPenalty())
        judge = Monitor(pulled, EXACTNESS * monitor.tol, 200, monitor.scale)
        return exact(pulled, start, judge)

    return minimise


def _pulled_least_squares(loss: SquaredLoss) -> Callable[[Vector, Vector, Vector], Vector]:
    """The w-step of a squared loss: one linear system, factorised anew only when the pull changes."""
    X = np.asarray(loss.X.todense()) if sparse.issparse(loss.X) else loss.X
    if loss.intercept:
        X = np.hstack([X, np.ones((loss.n, 1))])
    gram, target = X.T @ (loss.sample_weight[:, None] * X), X.T @ (loss.sample_weight * loss.y)
    cached: dict[str, Any] = {"pull": np.empty(0)}

    def minimise(pull: Vector, centre: Vector, start: Vector) -> Vector:
        k = len(pull)
        if not np.array_equal(cached["pull"], pull):
            system = gram.copy()
            system[np.arange(k), np.arange(k)] += pull
            cached["pull"], cached["factor"] = pull.copy(), linalg.cho_factor(system)
        right = target.copy()
        right[:k] += pull * centre
        return np.asarray(linalg.cho_solve(cached["factor"], right))

    return minimise


def _trace(problem: Problem, penalty: TraceLasso, w: Vector, monitor: Monitor, rho: float | None) -> Vector:
    k, P = problem.n_penalised, penalty.P
    columns = np.einsum("ij,ij->j", P, P)  # squared norms: 1 for unit columns
    minimise = _pulled_minimiser(problem, monitor)
    rho = initial_rho(problem.loss, k) if rho is None else rho
    w = w.copy()
    M = P * w[:k]
    Lam = np.zeros_like(M)
    iteration = next_look = 0
    while True:
        if iteration >= next_look:
            next_look = max(iteration + FIRST_LOOK, int(RARER * iteration))
            # A weight no larger than its disagreement with its copy is 0: what is only nearly 0 has no certificate.
            apart = np.linalg.norm(P * w[:k] - M, axis=0)
            tidy = w.copy()
            tidy[:k][np.abs(w[:k]) * np.sqrt(columns) <= NEARLY_ZERO * apart] = 0.0
            if monitor(tidy, *problem.loss.value_and_grad(tidy)):
                return tidy
        iteration += 1
        centre = np.einsum("ij,ij->j", M - Lam / rho, P) / np.maximum(columns, 1e-300)
        w = minimise(rho * columns, centre, w)
        # ρ stays: of the size of the loss's curvature it does well, and balancing residuals makes it far too small.
        relaxed = RELAXATION * P * w[:k] + (1.0 - RELAXATION) * M
        M = shrink_singular_values(relaxed + Lam / rho, penalty.lam / rho)
        Lam += rho * (relaxed - M)
