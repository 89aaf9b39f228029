"""ADMM: overlapping groups with one copy of a weight a group, and the trace Lasso with a matrix copy.

Both split min loss(w) + Ω(w) into a w-step, where every weight is pulled towards the mean of its copies, and an exact
prox on the copies: Yogatama 2015, §5.3.1 (:mod:`spinney.optim.solvers.admm_groups`), and, over-relaxed, Grave 2014,
§7.3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy
from numpy.linalg import norm

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss, SquaredLoss
from spinney.optim.penalties import Composite, NoPenalty, OverlappingGroups, TraceLasso
from spinney.optim.penalties.trace import shrink_singular_values
from spinney.optim.problem import Monitor, Problem, largest
from spinney.optim.solvers.admm_groups import admm_groups
from spinney.optim.solvers.lbfgs import lbfgs
from spinney.optim.solvers.polish import Mask, polished_trace
from spinney.optim.solvers.pulling import PulledLoss, initial_rho
from spinney.optim.solvers.residuals import Residuals, proximal_step
from spinney.optim.solvers.smooth import newton

NEARLY_ZERO = 3.0
ROUGHLY = 0.1  # how accurately the residual is needed, as a share of the tolerance
EXACTNESS = 1e-3  # of the w-step, as a share of the tolerance
SMALL = 2_000  # parameters for which the w-step is solved by Newton's method
RELAXATION = 1.6
EVERY, BALANCE, FACTOR = (
    20,
    10.0,
    2.0,
)  # when and how ρ grows: where the primal residual is ten times the dual


def admm(
    problem: Problem,
    w: Vector,
    monitor: Monitor,
    *,
    rho: float | None = None,
    relaxation: float | None = None,
    change_tol: float | None = None,
    threads: int = 1,
) -> Vector:
    """Alternating direction method of multipliers, for overlapping groups and the trace Lasso.

    Parameters
    ----------
    rho : float, optional
        The penalty parameter, which then stays as it is, as in both theses; by default it follows the residuals.
    relaxation : float, optional
        For the trace Lasso: over-relaxation, from 1 (none) to less than 2 (Boyd et al. 2011, §3.4.3). By default 1.6,
        and with a ``rho`` none.
    change_tol : float, optional
        For groups: also stop when ‖w − w_before‖ is below this share of ‖w_before‖. That is the rule of Yogatama
        2015, §5.3.3; it does not make the answer optimal, nor ``converged`` true.
    threads : int
        How many threads share the groups among them; under a composite norm it is always one.
    """
    if rho is not None and not 0 < rho < np.inf:
        raise OptionError(f"rho must be a finite number > 0, not {rho:g}")
    if isinstance(problem.inner, OverlappingGroups | Composite) and relaxation is not None:
        raise OptionError("relaxation is for the trace Lasso: leave it out with groups")
    if isinstance(problem.inner, TraceLasso) and change_tol is not None:
        raise OptionError("change_tol is for groups: leave it out with the trace Lasso")
    if change_tol is not None and not 0 <= change_tol < np.inf:
        raise OptionError(f"change_tol must be a finite number ≥ 0, not {change_tol:g}")
    if relaxation is None:
        relaxation = RELAXATION if rho is None else 1.0
    if not 1.0 <= relaxation < 2.0:
        raise OptionError(f"relaxation must be from 1 to less than 2, not {relaxation:g}")
    if isinstance(problem.inner, OverlappingGroups | Composite):
        return admm_groups(
            problem, problem.inner, w, monitor, rho=rho, change_tol=change_tol or 0.0, threads=threads
        )
    assert isinstance(problem.inner, TraceLasso)
    return _trace(problem, problem.inner, w, monitor, rho, relaxation)


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
    X = np.asarray(loss.X.todense()) if scipy.sparse.issparse(loss.X) else loss.X
    if loss.intercept:
        X = np.hstack([X, np.ones((loss.n, 1))])
    gram, target = X.T @ (loss.sample_weight[:, None] * X), X.T @ (loss.sample_weight * loss.y)
    cached: dict[str, Any] = {"pull": np.empty(0)}

    def minimise(pull: Vector, centre: Vector, start: Vector) -> Vector:
        k = len(pull)
        if not np.array_equal(cached["pull"], pull):
            system = gram.copy()
            system[np.arange(k), np.arange(k)] += pull
            cached["pull"], cached["factor"] = pull.copy(), scipy.linalg.cho_factor(system)
        right = target.copy()
        right[:k] += pull * centre
        return np.asarray(scipy.linalg.cho_solve(cached["factor"], right))

    return minimise


def _trace(
    problem: Problem,
    penalty: TraceLasso,
    w: Vector,
    monitor: Monitor,
    rho: float | None,
    relaxation: float,
) -> Vector:
    k, P = problem.n_penalised, penalty.P
    columns = np.einsum("ij,ij->j", P, P)  # squared norms: 1 for unit columns
    minimise = _pulled_minimiser(problem, monitor)
    adapts, rho = rho is None, initial_rho(problem.loss, k) if rho is None else rho
    w = w.copy()
    M = P * w[:k]
    Lam = np.zeros_like(M)
    residuals = Residuals(monitor)
    while True:
        if residuals.look():
            # A weight no larger than its disagreement with its copy is 0: what is only nearly 0 has no certificate.
            apart = np.linalg.norm(P * w[:k] - M, axis=0)
            kept = np.abs(w[:k]) * np.sqrt(columns) > NEARLY_ZERO * apart
            found = _best(problem, penalty, w, kept, residuals, monitor)
            done = monitor(*found, residuals.iteration)
            if done or residuals.exhausted():
                return found[0]
        centre = np.einsum("ij,ij->j", M - Lam / rho, P) / np.maximum(columns, 1e-300)
        w = minimise(rho * columns, centre, w)
        before, image = M, P * w[:k]
        relaxed = relaxation * image + (1.0 - relaxation) * before
        M = shrink_singular_values(relaxed + Lam / rho, penalty.lam / rho)
        Lam += rho * (relaxed - M)
        # P Diag(w) = M; in w, the change of M and the multipliers count as Pᵀ takes them there.
        moved, pull = np.einsum("ij,ij->j", P, M - before), np.einsum("ij,ij->j", P, Lam)
        residuals.note(image - M, max(norm(image), norm(M)), rho * moved, norm(pull))
        # Of the size of the loss's curvature ρ does well, or is too small; to let it fall, too, makes it far too small.
        if adapts and residuals.iteration % EVERY == 0 and residuals.primal > BALANCE * residuals.dual:
            rho *= FACTOR


def _best(
    problem: Problem, penalty: TraceLasso, w: Vector, kept: Mask, residuals: Residuals, monitor: Monitor
) -> tuple[Vector, float, Vector, Vector]:
    """The weights without those that are 0, or these polished, or stepped on: loss, gradient and residual with them."""
    k, best = problem.n_penalised, None
    tidy = w.copy()
    tidy[:k][~kept] = 0.0
    if not monitor.wants_residuals:
        value, grad = problem.loss.value_and_grad(tidy)
        return tidy, value, grad, np.empty(0)
    for candidate in _candidates(problem, penalty, w, tidy, kept, residuals, monitor):
        value, grad = problem.loss.value_and_grad(candidate)
        held = penalty.residual(candidate[:k], grad[:k], ROUGHLY * monitor.absolute_tol)
        found = candidate, value, grad, np.append(held, grad[k:])
        if best is None or largest(found[3]) < largest(best[3]):
            best = found
        if largest(best[3]) <= monitor.absolute_tol:
            break
    assert best is not None
    return best


def _candidates(
    problem: Problem,
    penalty: TraceLasso,
    w: Vector,
    tidy: Vector,
    kept: Mask,
    residuals: Residuals,
    monitor: Monitor,
) -> Iterator[Vector]:
    """One after the other, the dearer ones only where the others do not do."""
    linear = isinstance(problem.loss, LinearLoss) and problem.loss.n_outputs == 1
    if residuals.near and linear:
        yield polished_trace(problem, penalty, w, kept, monitor)
    if not (residuals.met or residuals.last):
        yield tidy
        return
    stepped = proximal_step(problem, w)
    yield stepped
    if linear:
        yield polished_trace(problem, penalty, stepped, stepped[: len(kept)] != 0, monitor)
