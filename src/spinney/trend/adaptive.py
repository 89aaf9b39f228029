"""Two solvers for the adaptive prior: alternating (majorise-minimise) and joint L-BFGS, as in the thesis.

Both minimise the same objective, the negative log-likelihood minus the bound of :mod:`spinney.trend.prior`, and
both leave series that start at zero there: within the floor ε that is a local optimum.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from spinney import progress
from spinney.optim import L1, Loss, NoPenalty, Penalty, solve
from spinney.optim.base import Step, Vector
from spinney.trend.likelihoods import restricted
from spinney.trend.newton import Newton, SeriesPoint, at
from spinney.trend.prior import AdaptivePrior

_VANISHED = 1e-8  # Q of a series on its way to zero, as a fraction of the largest
_FORCING = 0.1  # of the linear systems of the alternating solver, which will be others in the next round


class Fit(NamedTuple):
    """The result of a solver: W of shape (T, J), κ of each group (empty without groups), and the trace.

    An interrupted fit has the last iterate, with the objective and violation of the iteration before.
    """

    W: Vector
    kappa: Vector
    objective: float
    violation: float
    converged: bool
    trace: list[Step]
    interrupted: bool = False


class stopping:
    """Within this context, Ctrl-C ends the fit once there is an iterate to return."""

    def __init__(self, trace: list[Step]) -> None:
        self.trace, self.interrupted = trace, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.interrupted = kind is KeyboardInterrupt and len(self.trace) > 0
        return self.interrupted


class Kept:
    """The non-zero groups, and the problem restricted to them."""

    def __init__(self, loss: Any, prior: AdaptivePrior, groups: NDArray[np.intp], n_groups: int) -> None:
        self.prior, self.groups, self.n_groups = prior, groups, n_groups
        J = prior.replicates * n_groups
        self.series = (np.arange(prior.replicates)[:, None] * n_groups + groups).ravel()
        columns = (np.arange(prior.n_times)[:, None] * J + self.series).ravel()
        self.shape = (prior.n_times, J)
        self.loss: Loss = loss if len(groups) == n_groups else restricted(loss, columns)
        # A group without a series costs what its best κ makes it cost.
        nothing = prior.kappa_of_nothing(1)
        self.of_zeros = float(
            (n_groups - len(groups)) * (prior.profile(np.zeros(1)) + prior.of_kappa(nothing))[0]
        )

    def whole(self, W: Vector, kappa: Vector) -> tuple[Vector, Vector]:
        """All series and all κ, from the kept ones."""
        every, every_kappa = np.zeros(self.shape), self.prior.kappa_of_nothing(self.n_groups)
        every[:, self.series], every_kappa[self.groups] = W, kappa
        return every, every_kappa

    def objective(self, point: SeriesPoint, kappa: Vector) -> float:
        return point.value + self.prior.value(point.W, kappa) + self.of_zeros


def _kept_at_start(loss: Any, prior: AdaptivePrior, W: Vector) -> Kept:
    S, _ = prior.squares_and_products(W)
    return Kept(loss, prior, np.flatnonzero(S > 0), len(S))


def alternate(
    loss: Any,
    prior: AdaptivePrior,
    W: Vector,
    *,
    prune: bool = True,
    tol: float = 1e-5,
    max_iter: int = 500,
    scale: float = 1.0,
) -> Fit:
    """Fix E[1/λ] and E[A], take a Newton step in the series, find the best κ, and so on.

    With E[1/λ] fixed, ½E[1/λ]·Q lies above the logarithm of the bound and touches it, so each round decreases the
    objective. ``prune`` sets groups to zero permanently when their Q is below the floor and that decreases the
    objective: on the way only those whose Q has all but vanished, for a series that is small now may yet grow; all
    others once the series have converged.
    """
    started = time.perf_counter()
    trace: list[Step] = []
    kept = _kept_at_start(loss, prior, W)
    point = at(kept.loss, W[:, kept.series])
    newton = Newton(kept.loss)
    kappa = prior.updated_kappa(point.W, prior.kappa_of_nothing(len(kept.groups)))
    with progress.task("fitting series") as task, stopping(trace) as stop:
        while True:
            Q = prior.norms(point.W, kappa)
            R = prior.precision(kappa, prior.shrinkage(Q))
            residual = np.abs(point.grad + R.times(point.W))
            violation = float(np.max(residual, initial=0.0)) / scale
            objective = kept.objective(point, kappa)
            converged = violation <= tol
            trace.append(Step(len(trace), time.perf_counter() - started, objective, violation))
            task.update(1, note=f"objective {objective:.6g}, {len(kept.groups)} series")
            if len(trace) > max_iter:
                break
            if converged:
                fewer = _pruned(loss, kept, point, kappa, prior.floor) if prune else None
                if fewer is None:
                    break
            else:
                point = newton.step(point, R, _FORCING)
                kappa = prior.updated_kappa(point.W, kappa)
                vanished = min(prior.floor, _VANISHED * float(np.max(Q, initial=0.0)))
                fewer = _pruned(loss, kept, point, kappa, vanished) if prune else None
            if fewer is not None:
                kept, point, kappa = fewer
                newton = Newton(kept.loss)
    return Fit(*kept.whole(point.W, kappa), objective, violation, converged, trace, stop.interrupted)


def _pruned(
    loss: Any, kept: Kept, point: SeriesPoint, kappa: Vector, below: float
) -> tuple[Kept, SeriesPoint, Vector] | None:
    """Without the groups whose Q is at most ``below``, if that does not increase the objective."""
    prior = kept.prior
    stays = prior.norms(point.W, kappa) > below
    if np.all(stays):
        return None
    fewer = Kept(loss, prior, kept.groups[stays], kept.n_groups)
    there = at(fewer.loss, point.W[:, np.tile(stays, prior.replicates)])
    if fewer.objective(there, kappa[stays]) > kept.objective(point, kappa):
        return None
    return fewer, there, kappa[stays]


class JointObjective:
    """The whole objective as a function of the series and κ, one after the other in a flat vector.

    With ``kappa_sign="positive"`` the last coordinates are η, and κ = ln(1 + eᶯ).
    """

    def __init__(self, loss: Any, prior: AdaptivePrior, shape: tuple[int, int]) -> None:
        self.loss, self.prior, self.shape = loss, prior, shape
        self.n_series = shape[0] * shape[1]
        self.n_free = shape[1] // prior.replicates  # κ has no penalty
        self.n_params = self.n_series + self.n_free

    def pack(self, W: Vector, kappa: Vector) -> Vector:
        """The flat vector."""
        if self.prior.kappa_sign == "positive":
            kappa = np.maximum(kappa, 1e-2)  # further down the softplus is flat
            kappa = kappa + np.log(-np.expm1(-kappa))
        return np.concatenate([W.ravel(), kappa])

    def unpack(self, x: Vector) -> tuple[Vector, Vector]:
        """The series and κ."""
        W, last = x[: self.n_series].reshape(self.shape), x[self.n_series :]
        return W, np.logaddexp(0.0, last) if self.prior.kappa_sign == "positive" else last

    def value_and_grad(self, x: Vector) -> tuple[float, Vector]:
        W, kappa = self.unpack(x)
        value, grad = self.loss.value_and_grad(x[: self.n_series])
        of_prior, in_W, in_kappa = self.prior.value_and_grads(W, kappa)
        if self.prior.kappa_sign == "positive":
            in_kappa = in_kappa * expit(x[self.n_series :])
        return value + of_prior, np.concatenate([grad + in_W.ravel(), in_kappa])


def jointly(
    loss: Any,
    prior: AdaptivePrior,
    W: Vector,
    *,
    l1: float = 0.0,
    bias: bool = False,
    tol: float = 1e-5,
    max_iter: int = 500,
    scale: float = 1.0,
) -> Fit:
    """L-BFGS on the series and κ together, a and b being eliminated (Yogatama 2015, §3.3).

    With ``l1``, OWL-QN on the same and ℓ1·Σ|w_t| over single times, which the thesis tried and dropped (§3.3.3); with
    ``bias`` the last series, which is the intercept, is left out of it.
    """
    kept = _kept_at_start(loss, prior, W)
    W = np.ascontiguousarray(W[:, kept.series])
    objective = JointObjective(kept.loss, prior, W.shape)
    start = objective.pack(W, prior.kappa_of_nothing(len(kept.groups)))
    penalty: Penalty = NoPenalty()
    if l1 > 0 and W.size:
        weighs = np.ones(W.shape)
        if bias and kept.series[-1] == kept.n_groups * prior.replicates - 1:
            weighs[:, -1] = 0.0
        penalty = L1(l1, weighs.ravel())
    solver = "lbfgs" if isinstance(penalty, NoPenalty) else "owlqn"
    solution = solve(objective, penalty, solver, tol=tol, max_iter=max_iter, w0=start, scale=scale)
    trace = [step._replace(objective=step.objective + kept.of_zeros) for step in solution.trace]
    return Fit(
        *kept.whole(*objective.unpack(solution.w)),
        solution.objective + kept.of_zeros,
        solution.violation,
        solution.converged,
        trace,
        solution.interrupted,
    )
