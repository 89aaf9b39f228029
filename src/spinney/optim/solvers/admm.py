"""ADMM: overlapping groups with one copy of a weight a group, and the trace Lasso with a matrix copy.

Both split min loss(w) + Ω(w) into a smooth w-step, where every weight is pulled towards the mean of its copies, and
an exact prox on the copies: Yogatama 2015, §5.4, where ρ adapts so that primal and dual residuals stay of one size
(Boyd et al. 2011, §3.4.1), and Grave 2014, §7.4, over-relaxed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

from spinney.errors import OptionError
from spinney.optim.base import Loss, Vector
from spinney.optim.losses import SquaredLoss
from spinney.optim.penalties import L2, ElasticNet, OverlappingGroups, TraceLasso
from spinney.optim.penalties.trace import shrink_singular_values
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.owlqn import owlqn
from spinney.optim.solvers.smooth import newton

FIRST_LOOK, RARER = 10, 1.2  # the certificate costs more than an iteration: take it ever more rarely
NEARLY_ZERO = 3.0
EXACTNESS = 1e-3  # of the w-step, as a share of the tolerance
SMALL = 2_000  # parameters for which the w-step is solved by Newton's method
RELAXATION = 1.6
GROSS, FACTOR = 10.0, 2.0  # ρ doubles or halves when one residual is ten times the other


def admm(problem: Problem, w: Vector, monitor: Monitor, *, rho: float | None = None) -> Vector:
    """Alternating direction method of multipliers, for overlapping groups and the trace Lasso."""
    if isinstance(problem.inner, OverlappingGroups):
        return _groups(problem, problem.inner, w, monitor, rho)
    if isinstance(problem.inner, TraceLasso):
        return _trace(problem, problem.inner, w, monitor, rho)
    raise OptionError(
        f"solver 'admm' is for overlapping groups and the trace Lasso; use 'fista' for {problem.inner.describe()}"
    )


class _Pulled:
    """loss(w) + ½ Σ pullᵢ (wᵢ − centreᵢ)² over the penalised coordinates."""

    def __init__(self, loss: Loss, pull: Vector, centre: Vector) -> None:
        self.loss, self.pull, self.centre = loss, pull, centre
        self.n_params, self.n_free = loss.n_params, loss.n_free

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        value, grad = self.loss.value_and_grad(w)
        away = w[: len(self.pull)] - self.centre
        grad[: len(self.pull)] += self.pull * away
        return value + 0.5 * float(self.pull @ away**2), grad

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        """The map v ↦ ∇²·v."""
        of_loss = self.loss.hess_vec(w)  # type: ignore[attr-defined]

        def product(v: Vector) -> Vector:
            image: Vector = of_loss(v)
            image[: len(self.pull)] += self.pull * v[: len(self.pull)]
            return image

        return product


def _pulled_minimiser(
    problem: Problem, monitor: Monitor, l1: float, l2: float
) -> Callable[[Vector, Vector, Vector], Vector]:
    """The function (pull, centre, start) ↦ argmin loss + pull to the centre + elastic net."""
    loss = problem.loss
    if isinstance(loss, SquaredLoss) and l1 == 0 and loss.p <= 5_000:
        return _pulled_least_squares(loss, l2)
    inner = ElasticNet(l1, l2) if l1 else L2(l2)
    exact = newton if l1 == 0 and hasattr(loss, "hess_vec") and loss.n_params <= SMALL else owlqn

    def minimise(pull: Vector, centre: Vector, start: Vector) -> Vector:
        pulled = Problem(_Pulled(loss, pull, centre), inner)
        judge = Monitor(pulled, EXACTNESS * monitor.tol, 200, monitor.scale)
        return exact(pulled, start, judge)

    return minimise


def _pulled_least_squares(loss: SquaredLoss, l2: float) -> Callable[[Vector, Vector, Vector], Vector]:
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
            system[np.arange(k), np.arange(k)] += pull + l2
            cached["pull"], cached["factor"] = pull.copy(), linalg.cho_factor(system)
        right = target.copy()
        right[:k] += pull * centre
        return np.asarray(linalg.cho_solve(cached["factor"], right))

    return minimise


def _adapted(rho: float, primal: float, dual: float) -> float:
    if primal > GROSS * dual:
        return rho * FACTOR
    if dual > GROSS * primal:
        return rho / FACTOR
    return rho


def _initial_rho(loss: Loss, n: int, rho: float | None) -> float:
    """A pull of the size of the loss's average curvature."""
    if rho is not None:
        return rho
    if hasattr(loss, "hess_diag"):
        return float(max(np.mean(loss.hess_diag(np.zeros(loss.n_params))[:n]), 1e-8))
    return 1.0


def _groups(
    problem: Problem, penalty: OverlappingGroups, w: Vector, monitor: Monitor, rho: float | None
) -> Vector:
    k, groups = problem.n_penalised, penalty.groups
    members, n_groups = groups.members, len(groups.weights)
    group_of = np.repeat(np.arange(n_groups), np.diff(groups.ptr))
    copies = np.bincount(members, minlength=k).astype(np.float64)  # N_i
    strength = penalty.lam * groups.weights
    minimise = _pulled_minimiser(problem, monitor, float(penalty.l1), float(penalty.l2))
    rho = _initial_rho(problem.loss, k, rho)
    w = w.copy()
    v, u = w[members], np.zeros(len(members))
    iteration = next_look = 0
    while True:
        if iteration >= next_look:
            next_look = max(iteration + FIRST_LOOK, int(RARER * iteration))
            # A removed group (v_g = 0) is removed from w too: weights that are only nearly 0 have no certificate.
            tidy = w.copy()
            removed = np.bincount(group_of, weights=v * v, minlength=n_groups) == 0.0
            tidy[members[removed[group_of]]] = 0.0
            if monitor(tidy, *problem.loss.value_and_grad(tidy)):
                return tidy
        iteration += 1
        mu = np.bincount(members, weights=v + u / rho, minlength=k) / np.maximum(copies, 1.0)
        w = minimise(rho * copies, mu, w)
        z = w[members] - u / rho
        norms = np.sqrt(np.bincount(group_of, weights=z * z, minlength=n_groups))
        shrink = np.maximum(1.0 - strength / rho / np.maximum(norms, 1e-300), 0.0)
        v_old, v = v, shrink[group_of] * z
        u = u + rho * (v - w[members])
        primal, dual = np.linalg.norm(v - w[members]), rho * np.linalg.norm(v - v_old)
        rho = _adapted(rho, float(primal), float(dual)) if iteration < 100 else rho


def _trace(problem: Problem, penalty: TraceLasso, w: Vector, monitor: Monitor, rho: float | None) -> Vector:
    k, P = problem.n_penalised, penalty.P
    columns = np.einsum("ij,ij->j", P, P)  # squared norms: 1 for unit columns
    minimise = _pulled_minimiser(problem, monitor, 0.0, 0.0)
    rho = _initial_rho(problem.loss, k, rho)
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
