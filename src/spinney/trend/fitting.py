"""The methods: how each fits documents at several times."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np

from spinney.optim import (
    L1,
    L2,
    ConvergenceWarning,
    Loss,
    Penalty,
    Solution,
    gradient_scale,
    lambda_max,
    solve,
)
from spinney.optim.base import Vector
from spinney.settings.trend import Series
from spinney.trend.adaptive import Fit, alternate, jointly
from spinney.trend.prior import AdaptivePrior
from spinney.trend.ridge_ts import fit_ridge_ts, ridge_ts_precision
from spinney.trend.sparse import fit_sparse

#: ε as a fraction of the typical Q of the initial fit.
_FLOORS = {"adaptive": 1e-8, "sparse": 1e-2}
#: λ as a fraction of the smallest λ with an empty Lasso.
_LASSO_RATIO = 0.05


class SeriesProblem(Protocol):
    """Data of documents at several times, as likelihoods of W of shape (T, J)."""

    n_times: int
    n_series: int
    replicates: int
    bias: bool  # whether the last series is an intercept

    def by_time(self, start: Vector | None = None) -> Loss:
        """The negative log-likelihood, or without ``start`` the loss of the baselines, whose λ has its units."""
        ...

    def one_copy(self, which: str) -> Loss:
        """The loss of one copy of the coefficients for the last time ("one") or for all together ("all")."""
        ...


class SeriesFit(NamedTuple):
    """The result of a method, with the prior (adaptive, sparse) or the strength λ (the others) that it used."""

    fit: Fit
    prior: AdaptivePrior | None
    lam: float | None


def fit_series(problem: SeriesProblem, settings: Series) -> SeriesFit:
    """Fit W by the method of the settings; with a ConvergenceWarning if it stopped too early."""
    if settings.method in ("adaptive", "sparse"):
        found = _under_prior(problem, settings)
    else:
        found = _baseline(problem, settings, settings.method)
    if not found.fit.converged and not found.fit.interrupted:
        warnings.warn(
            f"{settings.method} stopped after {len(found.fit.trace) - 1} iterations at violation "
            f"{found.fit.violation:.2g} (tolerance {settings.tol:g}): raise max_iter",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found


def _baseline(problem: SeriesProblem, settings: Series, method: str) -> SeriesFit:
    penalty_name, which = method.split("-")
    if which == "ts":
        return _ridge_ts(problem, settings)
    loss: Any = problem.one_copy(which)
    penalty = _strength(loss, L1(1.0) if penalty_name == "lasso" else L2(1.0), settings.lam)
    solution = solve(loss, penalty, tol=settings.tol, max_iter=settings.max_iter)
    return SeriesFit(_copied(solution, problem.n_times), None, penalty.lam)


def _strength(loss: Any, penalty: Penalty, lam: float | None) -> Penalty:
    """The penalty at its strength; by default a Lasso with some features, a ridge as strong as an average feature."""
    if lam is not None:
        return penalty.with_lam(lam)
    if isinstance(penalty, L1):
        return penalty.with_lam(_LASSO_RATIO * lambda_max(loss, penalty))
    return penalty.with_lam(_mean_curvature(loss))


def _mean_curvature(loss: Any) -> float:
    null = loss.null_point() if hasattr(loss, "null_point") else np.zeros(loss.n_params)
    diagonal = loss.hess_diag(null)[: loss.n_params - loss.n_free]
    return float(diagonal.mean()) if diagonal.size else 1.0


def _copied(solution: Solution, n_times: int) -> Fit:
    """One copy of the coefficients for every time, without copying memory."""
    W = np.broadcast_to(solution.w, (n_times, len(solution.w)))
    return Fit(
        W,
        np.empty(0),
        solution.objective,
        solution.violation,
        solution.converged,
        solution.trace,
        solution.interrupted,
    )


def _ridge_ts(problem: SeriesProblem, settings: Series) -> SeriesFit:
    loss: Any = problem.by_time()
    lam = _mean_curvature(loss) if settings.lam is None else settings.lam
    R = ridge_ts_precision(problem.n_times, problem.n_series, lam, settings.alpha, bias=problem.bias)
    start = np.zeros((problem.n_times, problem.n_series))
    fit = fit_ridge_ts(
        loss, R, start, tol=settings.tol, max_iter=settings.max_iter, scale=gradient_scale(loss)
    )
    return SeriesFit(fit, None, lam)


def _under_prior(problem: SeriesProblem, settings: Series) -> SeriesFit:
    begun = _baseline(problem, settings, settings.init).fit
    if begun.interrupted:
        raise KeyboardInterrupt
    start = np.array(begun.W)
    loss: Any = problem.by_time(start)
    prior = _prior(problem, settings, start)
    how: dict[str, Any] = {
        "tol": settings.tol,
        "max_iter": settings.max_iter,
        "scale": gradient_scale(loss),
    }
    if settings.method == "sparse":
        return SeriesFit(fit_sparse(loss, prior, start, **how), prior, None)
    if settings.solver == "lbfgs" or settings.l1 > 0:
        return SeriesFit(jointly(loss, prior, start, l1=settings.l1, bias=problem.bias, **how), prior, None)
    return SeriesFit(alternate(loss, prior, start, prune=settings.prune, **how), prior, None)


def _prior(problem: SeriesProblem, settings: Series, start: Vector) -> AdaptivePrior:
    """The prior, its floor in the units of the series: those of the start, less the intercept, by their median."""
    sparse = settings.method == "sparse"
    how = (problem.n_times, settings.tau, problem.replicates, settings.logdet, settings.kappa_sign)
    prior = AdaptivePrior(*how)
    Q = prior.norms(start, prior.kappa_of_nothing(start.shape[1] // problem.replicates))
    Q = Q[:-1] if problem.bias else Q
    typical = float(np.median(Q[Q > 0])) if np.any(Q > 0) else 1.0
    floor = (_FLOORS[settings.method] if settings.floor is None else settings.floor) * typical
    return AdaptivePrior(*how, floor=float(np.sqrt(floor)) if sparse else floor, exact_zeros=sparse)
