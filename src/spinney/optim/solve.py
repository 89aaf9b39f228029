"""The entry point to all solvers: :func:`solve` a problem, or walk its regularisation path."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spinney import progress
from spinney.checking import finite, whole
from spinney.errors import InputError, OptionError, shown
from spinney.optim import penalties as pen
from spinney.optim.base import Loss, Penalty, Solution, Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.penalties.elastic import checked_weights
from spinney.optim.problem import Callback, Monitor, Problem
from spinney.optim.solvers import SOLVERS
from spinney.optim.solvers.needs import check_options

Function = Callable[..., Vector]

SMALL = 500  # number of parameters up to which Newton's method is always fast
FASTEST = ("newton", "lbfgs", "cd", "irls", "admm", "owlqn", "fista")  # of those that take a pair, the first


class ConvergenceWarning(UserWarning):
    """A solver stopped before its solution was optimal to the tolerance."""


def solve(
    loss: Loss,
    penalty: Penalty,
    solver: str | Function = "auto",
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    w0: Vector | None = None,
    callback: Callback | None = None,
    scale: float | None = None,
    metric: Vector | None = None,
    unit: Vector | None = None,
    certify: bool = True,
    **options: Any,
) -> Solution:
    """Minimise ``loss(w) + penalty(w)``.

    Parameters
    ----------
    loss : Loss
        A smooth convex loss; its last ``n_free`` coordinates are not penalised.
    penalty : Penalty
    solver : str or callable
        A name in :data:`spinney.optim.SOLVERS`, ``"auto"``, or a function with the signature of those.
    tol : float
        Stop when the objective is proven to be within this of the optimum, relative to the objective, and no
        optimality condition is violated by more than this times the gradient of the null model. Where no bound on the
        optimum is known, stop when none is violated by more than this times λ.
    max_iter : int
        Maximum number of iterations (passes, for stochastic solvers).
    w0 : array, optional
        The starting point; the null model (all penalised coordinates 0) when absent.
    callback : callable, optional
        Called as ``callback(step, w)`` after each iteration; a true answer stops the solver.
    scale : float, optional
        The ∞-norm of the gradient at the null model, where it is known already (:func:`gradient_scale`).
    metric : array, optional
        For the solvers ``fista`` and ``ista``: the curvature of each coordinate, up to a factor, which steps are
        divided by.
    unit : array, optional
        What the residual of each coordinate, and ``scale``, is measured in: √metric where there is a metric, else 1.
    certify : bool
        If false, only the violation relative to ``scale`` counts: for inner problems of a larger one.
    **options
        Passed on to the solver.

    Returns
    -------
    Solution
        With its certificate: ``gap`` and ``violation``. An interrupted solver (Ctrl-C) returns its last iterate.

    Examples
    --------
    >>> from spinney.optim import L1, SquaredLoss, solve
    >>> X, y = np.eye(3), np.array([3.0, -0.5, 1.0])
    >>> solution = solve(SquaredLoss(X, y, intercept=False), L1(1.0))
    >>> solution.w.round(6).tolist(), solution.converged
    ([2.0, 0.0, 0.0], True)
    """
    finite("tol", tol, 0)
    whole("max_iter", max_iter, 0)
    if not isinstance(solver, str) and not callable(solver):
        raise OptionError(f"solver must be a name or a function, not {shown(solver)}")
    if metric is not None:
        options["metric"] = metric = _checked_metric(metric, loss, penalty)
        unit = np.sqrt(metric) if unit is None else unit
    if isinstance(penalty, pen.LatentGroups):
        return _solve_on_copies(
            loss, penalty, solver, tol=tol, max_iter=max_iter, callback=callback, scale=scale,
            certify=certify, **options
        )  # fmt: skip
    if solver == "auto" and isinstance(penalty, pen.Composite):
        penalty = penalty.as_overlapping() or penalty
    problem = Problem(loss, penalty)
    name = choose_solver(loss, penalty) if solver == "auto" else solver
    if isinstance(name, str):
        _check(name, loss, penalty, options)
    function = SOLVERS[name].run if isinstance(name, str) else name
    scale = gradient_scale(loss, unit) if scale is None else scale
    monitor = Monitor(problem, tol, max_iter, scale, callback, unit=unit, certifies=certify)
    label = name if isinstance(name, str) else getattr(name, "__name__", "custom")
    # Solvers do not change their starting point, so it need not be copied, which could take much memory.
    w = _null_point(loss) if w0 is None else np.ascontiguousarray(w0, dtype=np.float64)
    if len(w) != loss.n_params:
        raise OptionError(f"w0 has {len(w)} coordinates, but the problem has {loss.n_params}")
    if not np.all(np.isfinite(w)):
        raise OptionError("w0 has values that are not finite")
    interrupted = False
    try:
        with progress.task(f"solving by {label}") as monitor.progress:
            function(problem, w, monitor, **options)
    except KeyboardInterrupt:
        if not monitor.trace:
            raise
        interrupted = True
    last = monitor.trace[-1]
    if np.isnan(last.objective) or not np.all(np.isfinite(monitor.w)):
        remedy = "scale the data, or choose smaller steps or another solver"
        raise InputError(f"solver {label!r} met numbers too large to compute with", remedy=remedy)
    if monitor.bounded and not monitor.converged:
        # What was not good enough to stop is to be known all the same.
        monitor.residual = problem.penalty.residual(monitor.w, monitor.grad)
        monitor.measure_gap(last.objective - problem.penalty.value(monitor.w), prove=True)
    return Solution(
        monitor.w.copy() if monitor.w is w0 else monitor.w,
        last.objective,
        last.violation,
        monitor.converged,
        last.iteration,
        label,
        time.perf_counter() - monitor.started,
        monitor.grad,
        interrupted,
        monitor.trace,
        monitor.primal_dual,
        monitor.gap,
        monitor.copy_norms,
        monitor.stalled,
    )


def choose_solver(loss: Loss, penalty: Penalty) -> str:
    """The name of the fastest solver that takes this pair."""
    # Few parameters: Newton is as fast as L-BFGS, and exact where that ends in the rounding of the objective.
    few = isinstance(loss, LinearLoss) and loss.n_params <= SMALL
    names = FASTEST if few else FASTEST[1:]
    return next(name for name in names if SOLVERS[name].fits(loss, penalty))


def _check(name: str, loss: Loss, penalty: Penalty, options: dict[str, Any]) -> None:
    """Refuse, before any work, a solver that does not take the pair or the options."""
    if name not in SOLVERS:
        raise OptionError(
            f"there is no solver {name!r}; there are {', '.join(SOLVERS)} and auto", given=name, known=SOLVERS
        )
    wrong = SOLVERS[name].wrong_with(loss, penalty)
    if wrong is not None:
        others = [other for other, solver in SOLVERS.items() if solver.fits(loss, penalty)]
        raise OptionError(f"the solver {name} {wrong}; for {penalty.describe()} use {' or '.join(others)}")
    check_options(name, SOLVERS[name], options)


def _checked_metric(metric: Vector, loss: Loss, penalty: Penalty) -> Vector:
    if not penalty.takes_metric:
        raise OptionError(f"there is no prox in a metric for {penalty.describe()}: leave out the metric")
    checked = checked_weights(metric, loss.n_params, "metric")
    if not np.all(checked > 0):
        raise OptionError("metric must be above 0")
    return checked


def lambda_max(loss: Loss, penalty: Penalty) -> float:
    """The strength from which on the null model (all penalised coordinates 0) is optimal.

    Strengths that are multiples of λ follow it (:meth:`Penalty.tied <spinney.optim.Penalty.tied>`).

    Examples
    --------
    >>> from spinney.optim import GroupL2, L1, SquaredLoss, lambda_max
    >>> from spinney.optim.penalties import FlatGroups
    >>> loss = SquaredLoss(np.eye(2), [3.0, -4.0], intercept=False)
    >>> lambda_max(loss, L1(1.0))
    4.0
    >>> both = GroupL2(1.0, FlatGroups.of([[0, 1]], n_features=2))
    >>> lambda_max(loss, both), round(lambda_max(loss, both.tied(l1=1.0)), 3)
    (5.0, 2.101)
    """
    _, grad = loss.value_and_grad(_null_point(loss))
    grad = grad[: loss.n_params - loss.n_free]
    return _tied_lambda_max(penalty, -grad) if penalty.times_lam.get("l1") else penalty.lambda_max(grad)


def _tied_lambda_max(penalty: Penalty, x: Vector) -> float:
    """The dual norm of Ω + times·‖·‖₁, with ℓ1 tied to λ, by Newton's method: right to about 1e-6.

    ⟨x, u⟩/Ω(u) is a lower bound for every u, and with u the prox at a bound the next one is better.
    """
    without_ridge = {"l2": 0.0} if "l2" in penalty.knobs else {}
    penalty = penalty.tied(**{**penalty.times_lam, **without_ridge})
    unit, lower, u = penalty.with_lam(1.0), 0.0, x
    while np.any(u):
        bound = float(x @ u) / unit.value(u)
        if bound <= (1.0 + 1e-7) * lower:
            return (1.0 + 1e-6) * lower
        lower, u = bound, x.copy()
        penalty.with_lam(lower).prox(u, 1.0)
    return lower


def lambda_grid(largest: float, n: int = 50, ratio: float = 1e-2) -> Vector:
    """``n`` strengths, evenly spaced in the logarithm, from ``largest`` down to ``ratio`` times it."""
    if not 0 < finite("ratio", ratio) <= 1:
        raise OptionError(f"ratio must be between 0 and 1, not {ratio:g}")
    return finite("largest", largest, 0) * np.logspace(0.0, np.log10(ratio), whole("n", n, 1))


def path(
    loss: Loss,
    penalty: Penalty,
    lams: Iterable[float] | Vector | None = None,
    *,
    w0: Vector | None = None,
    **how: Any,
) -> Iterator[tuple[float, Solution]]:
    """Solutions along a grid of strengths, each warm-started at the one before.

    ``lams`` defaults to 50 values from :func:`lambda_max` down to a hundredth of it; ``how`` goes to :func:`solve`.

    Examples
    --------
    >>> from spinney.optim import L1, SquaredLoss, path
    >>> loss = SquaredLoss(np.eye(3), [3.0, -0.5, 1.0], intercept=False)
    >>> [(lam, int((s.w != 0).sum())) for lam, s in path(loss, L1(1.0), [3.0, 1.0, 0.2])]
    [(3.0, 0), (1.0, 1), (0.2, 3)]
    """
    if lams is None:
        lams = lambda_grid(lambda_max(loss, penalty))
    so_far = Walked(w0)
    for lam in map(float, lams):
        solution, so_far = path_step(loss, penalty, lam, so_far, **how)
        yield lam, solution
        if solution.interrupted:
            return


class Walked(NamedTuple):
    """Where a path is: its start, its last two points, and the scale of its gradients, once it is known."""

    w0: Vector | None = None
    last: tuple[tuple[float, Solution], ...] = ()
    scale: float | None = None


def path_step(
    loss: Loss, penalty: Penalty, lam: float, so_far: Walked, **how: Any
) -> tuple[Solution, Walked]:
    """The next point of a path, and where the path is then: a pure function, so any process may go on with it."""
    w0, last, scale = so_far
    scale = gradient_scale(loss) if scale is None else scale
    if last:
        w0, guess = _predicted(last, lam)
        if how.get("solver", "auto") in ("auto", "cd") and choose_solver(loss, penalty) == "cd":
            how["guess"] = guess
    solution = solve(loss, penalty.with_lam(lam), w0=w0, scale=scale, **how)
    return solution, Walked(so_far.w0, (*last[-1:], (lam, solution)), scale)


def _predicted(last: Sequence[tuple[float, Solution]], lam: float) -> tuple[Vector, Vector]:
    """The next point of a path and the gradient there, on the line through the last two; no weight changes sign."""
    now_lam, now = last[-1]
    lam_before, before = last[0]
    if lam_before == now_lam:
        return now.w, now.grad
    ahead = (lam - now_lam) / (now_lam - lam_before)
    active = np.flatnonzero(now.w != 0)
    here = now.w[active]
    there = here + ahead * (here - before.w[active])
    w = now.w.copy()
    w[active] = np.where(there * here > 0, there, here)
    return w, now.grad + ahead * (now.grad - before.grad)


def warn_unless_converged(solution: Solution, tol: float) -> None:
    """Warn if a solver stopped before it converged."""
    if not solution.converged and not solution.interrupted:
        remedy = (
            "hardly anything moves any more"
            if solution.stalled
            else "raise max_iter, or choose another solver"
        )
        warnings.warn(
            f"solver {solution.solver!r} stopped after {solution.n_iter} iterations {_how_far(solution)} "
            f"(tolerance {tol:g}): {remedy}",
            ConvergenceWarning,
            stacklevel=3,
        )


def _how_far(solution: Solution) -> str:
    if np.isfinite(solution.gap):
        return f"at most {solution.gap:.2g} of the objective above the optimum"
    return f"at violation {solution.violation:.2g}"


class EmptyModelWarning(UserWarning):
    """A penalty was so strong that no weight is left."""


def warn_if_empty(active: int, remedy: str) -> None:
    """Say so when a fit is right and yet of no use: every penalised weight is 0."""
    if not active:
        warnings.warn(
            f"the model is empty: the penalty left no weight ({remedy})", EmptyModelWarning, stacklevel=3
        )


def _null_point(loss: Loss) -> Vector:
    return np.asarray(loss.null_point()) if hasattr(loss, "null_point") else np.zeros(loss.n_params)


def gradient_scale(loss: Loss, unit: Vector | None = None) -> float:
    """The ∞-norm of the gradient, over ``unit``, at the null model: what violations are relative to."""
    grad = np.abs(loss.value_and_grad(_null_point(loss))[1])
    largest = float(np.max(grad if unit is None else grad / unit, initial=0.0))
    return largest if largest > 0 else 1.0


class _OnCopies:
    """A loss over copies v of the coordinates: w is the sum of the copies of each (latent groups)."""

    def __init__(self, loss: Loss, members: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        self.loss, self.members = loss, members
        self.n_free = loss.n_free
        self.n_params = len(members) + loss.n_free

    def gather(self, v: Vector) -> Vector:
        """w from its copies."""
        k, m = self.loss.n_params - self.n_free, len(self.members)
        return np.append(np.bincount(self.members, weights=v[:m], minlength=k), v[m:])

    def value_and_grad(self, v: Vector) -> tuple[float, Vector]:
        value, grad = self.loss.value_and_grad(self.gather(v))
        k = self.loss.n_params - self.n_free
        return value, np.append(grad[:k][self.members], grad[k:])

    def fit_free(self, v: Vector) -> Vector:
        k = self.loss.n_params - self.n_free
        fitted: Vector = self.loss.fit_free(self.gather(v))  # type: ignore[attr-defined]
        return np.append(v[: len(self.members)], fitted[k:])

    def null_point(self) -> Vector:
        return np.append(
            np.zeros(len(self.members)), _null_point(self.loss)[self.loss.n_params - self.n_free :]
        )


def _solve_on_copies(loss: Loss, penalty: pen.LatentGroups, solver: str | Function, **how: Any) -> Solution:
    """Latent overlapping groups: a plain group Lasso on one copy of a coordinate for each group that holds it."""
    members, on_copies = penalty.duplicate
    copies = _OnCopies(loss, members)
    solution = solve(copies, on_copies, "fista" if solver == "auto" else solver, **how)
    solution.w = copies.gather(solution.w)
    return solution
