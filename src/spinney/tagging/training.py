"""From a loss and a penalty to weights: the choice of the solver, its start, and its reports."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from spinney import progress
from spinney.errors import OptionError, unknown_choice
from spinney.optim import SOLVERS as SOLVERS_OF_OPTIM
from spinney.optim import Solution, gradient_scale, solve
from spinney.optim.base import Penalty, Step, Vector
from spinney.optim.certificate import lower_bound
from spinney.parallel import one_blas_thread
from spinney.tagging.active import active_set, descends
from spinney.tagging.loss import CRFLoss
from spinney.tagging.merging import Merged, merge
from spinney.tagging.stochastic import adagrad, has_room, sgd
from spinney.tagging.support import observed_support

GIVEN = {
    "start",
    "passes",
    "seed",
    "w",
    "after_pass",
    "l1",
    "l2",
    "step",
    "sweeps",
    "in_place",
}  # by the plan
SOLVERS = (
    "auto",
    "lbfgs",
    "owlqn",
    "active-set",
    "sgd",
    "adagrad",
    "sbcd",
    "cd",
    "fista",
    "perceptron",
    "pa",
)
START_PASSES = 6  # of stochastic descent before an exact solver takes over,
FEW_PASSES, FIRST_STEP = 3, 0.4  # and those of a model with a support, from which quasi-Newton steps lead on

Watch = Callable[[Step, Vector], bool | None]


@dataclass(frozen=True)
class Plan:
    """How to train."""

    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = 500
    passes: int = 10
    step: float | None = None
    seed: int = 0
    options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise unknown_choice("solver must be one of", self.solver, SOLVERS)
        if not self.tol >= 0:
            raise OptionError(f"tol must be a number ≥ 0, not {self.tol:g}")
        if self.step is not None and not 0 < self.step < np.inf:
            raise OptionError(f"step must be a number above 0, not {self.step:g}")


@one_blas_thread()  # its threads would only get in the way of ours: an elastic net took eight times as long with two
def train(
    loss: CRFLoss, penalty: Penalty, plan: Plan, w0: Vector | None = None, watch: Watch | None = None
) -> Solution:
    """Weights of the full model (or of the support of the loss) that minimise loss + penalty, with their certificate.

    By default ℓ2 penalties go to L-BFGS and elastic nets to an active set, both from a few passes of stochastic
    descent; other penalties go to FISTA. ``watch(step, w)`` is called with each iterate and may stop the solver.
    """
    started = time.perf_counter()
    solver = _chosen(plan.solver, penalty, loss)
    if solver in ("sgd", "adagrad", "perceptron", "pa"):
        solution = _stochastic(loss, penalty, solver, plan, w0, watch)
    elif solver == "lbfgs" and hasattr(penalty, "grad") and hasattr(penalty, "l1_l2") and _has_room(loss):
        solution = _smooth(loss, penalty, plan, w0, watch)
    else:
        w = w0
        if w is None and solver == "active-set" and not descends(loss, penalty):
            w = _start(loss, penalty, plan)
        solution = solve(
            loss, penalty, _function(solver), tol=plan.tol, max_iter=plan.max_iter, w0=w, callback=watch,
            **_options(solver, plan),
        )  # fmt: skip
    return replace(solution, solver=solver, seconds=time.perf_counter() - started)


def _has_room(loss: Any) -> bool:
    """Whether stochastic descent can come first: for a CRF whose sentences are not too long."""
    return isinstance(loss, CRFLoss) and has_room(loss.data, loss.shape.labels)


def _chosen(solver: str, penalty: Penalty, loss: Any) -> str:
    if solver != "auto":
        return solver
    if hasattr(penalty, "grad"):
        return "lbfgs"
    if not hasattr(penalty, "l1_l2"):
        return "fista"
    some = hasattr(loss, "restricted") and np.any(penalty.l1_l2(loss.n_params)[0])
    return "active-set" if some else "owlqn"


def _function(solver: str) -> Any:
    if solver == "active-set":
        return active_set
    if solver in ("sbcd", "cd"):
        from spinney.tagging.sbcd import sbcd

        return sbcd
    if solver in ("perceptron", "pa"):
        from spinney.tagging.perceptron import passive_aggressive, perceptron

        return perceptron if solver == "perceptron" else passive_aggressive
    if solver in ("sgd", "adagrad"):
        return sgd if solver == "sgd" else adagrad
    return solver


def _options(solver: str, plan: Plan) -> dict[str, Any]:
    """The options of the plan, checked against those of the solver."""
    options = dict(plan.options or {})
    function = _function(solver)
    function = SOLVERS_OF_OPTIM[function].run if isinstance(function, str) else function
    known = [name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY]
    known = [name for name in known if name not in GIVEN]
    for name in options:
        if name not in known:
            some = f"; it takes {', '.join(known)}" if known else "; it takes none"
            raise OptionError(f"the solver {solver} has no option {name!r}{some}", given=name, known=known)
    return {"mode": "coordinate"} | options if solver == "cd" else options


def _start(loss: CRFLoss, penalty: Any, plan: Plan) -> Vector | None:
    """A few stochastic passes: each costs as much as one gradient, and they save many more."""
    if not _has_room(loss) or not hasattr(penalty, "l1_l2"):
        return None
    l1, l2 = penalty.l1_l2(loss.n_params)
    if np.ndim(l1) > 0:
        return None
    if loss.support is not None:
        with progress.task("initialising by stochastic descent", FEW_PASSES) as task:
            w = sgd(
                loss, np.zeros(loss.n_params), l1=float(l1), l2=float(l2), step=FIRST_STEP, decay=1.0,
                passes=FEW_PASSES, seed=plan.seed, after_pass=lambda number, w: task.update(1),
            )  # fmt: skip
        return w if np.all(np.isfinite(w)) else None
    with progress.task("initialising by stochastic descent", START_PASSES) as task:
        return adagrad(
            loss, np.zeros(loss.n_params), l1=float(l1), l2=float(l2), step=0.5, passes=START_PASSES, seed=plan.seed,
            after_pass=lambda number, w: task.update(1),
        )  # fmt: skip


def _smooth(loss: CRFLoss, penalty: Any, plan: Plan, w0: Vector | None, watch: Watch | None) -> Solution:
    """ℓ2 (or no) penalty: merge observations that always occur together, descend stochastically, then run L-BFGS."""
    l2 = float(penalty.l1_l2(loss.n_params)[1])
    merged = merge(loss.data.unigrams)
    data = replace(loss.data, unigrams=merged.observations)
    small = CRFLoss(data, loss.shape.labels, start=loss.shape.start, threads=loss.threads)
    if loss.support is not None:
        small = small.restricted(observed_support(data, small.shape))
        if not _is_observed(
            loss
        ):  # then observations that always occur together need not have the same labels
            merged, small = (
                Merged(loss.data.unigrams, np.arange(loss.shape.unigrams), np.ones(loss.shape.unigrams)),
                loss,
            )
    back = _Back(merged, loss, small)
    if w0 is None:
        with progress.task("initialising by stochastic descent", START_PASSES) as task:
            u = sgd(
                small, np.zeros(small.n_params), l2=l2, passes=START_PASSES, step=plan.step, seed=plan.seed,
                after_pass=lambda number, w: task.update(1),
            )  # fmt: skip
    else:
        u = back.gather(w0)
    if not np.all(np.isfinite(u)):
        u = np.zeros(small.n_params)
    # The scale of the given problem, so that the certificate is that of the given problem, too (or stricter).
    scale = back.largest(small.value_and_grad(np.zeros(small.n_params))[1])
    see = (lambda step, u: watch(step, back.spread(u))) if watch else None
    solution = solve(
        small, penalty, "lbfgs", tol=plan.tol, max_iter=plan.max_iter, w0=u, callback=see, scale=scale or 1.0,
        in_place=True, **_options("lbfgs", plan),
    )  # fmt: skip
    return replace(solution, w=back.spread(solution.w), grad=back.spread(solution.grad))


def _is_observed(loss: CRFLoss) -> bool:
    """Whether the support of a loss is what was observed."""
    assert loss.support is not None
    observed = observed_support(loss.data, loss.shape).places(loss.shape)
    return np.array_equal(loss.support.places(loss.shape), observed)


@dataclass(frozen=True)
class _Back:
    """The way between the weights of the merged problem and those of the given one."""

    merged: Merged
    loss: CRFLoss
    small: CRFLoss

    def spread(self, u: Vector) -> Vector:
        """Weights of the given problem."""
        support, shape = self.small.support, self.small.shape
        if support is None:
            w = np.empty(self.loss.shape.n_params)
            self.merged.spread(shape.mu(u), self.loss.shape.mu(w))
            w[self.loss.shape.n_mu :] = u[shape.n_mu :]
            return w
        group = self.merged.group
        lengths, first = np.diff(support.row)[group], support.row[:-1][group]
        ends = np.cumsum(lengths)
        where = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + lengths, lengths)
        mu = u[where] / np.repeat(self.merged.root[group], lengths)
        return np.concatenate([mu, u[support.n_unigrams :]])

    def largest(self, gradient: Vector) -> float:
        """The ∞-norm of the gradient of the given problem, out of that of the merged one."""
        small, n_mu = self.small, self.small.n_mu
        width = small.shape.labels if small.support is None else np.diff(small.support.row)
        mu = np.abs(gradient[:n_mu])
        mu /= np.repeat(self.merged.root, width)
        return float(max(mu.max(initial=0.0), np.abs(gradient[n_mu:]).max(initial=0.0)))

    def gather(self, w: Vector) -> Vector:
        """Weights of the merged problem."""
        if self.loss.support is None:
            shape = self.loss.shape
            return np.concatenate([self.merged.gather(shape.mu(w)).ravel(), w[shape.n_mu :]])
        full = np.zeros(self.loss.shape.n_params)
        full[self.loss.support.places(self.loss.shape)] = w
        small = self.small
        assert small.support is not None
        whole = self.loss.shape
        merged = np.concatenate([self.merged.gather(whole.mu(full)).ravel(), full[whole.n_mu :]])
        return merged[small.support.places(small.shape)]


def _stochastic(
    loss: CRFLoss, penalty: Any, solver: str, plan: Plan, w0: Vector | None, watch: Watch | None
) -> Solution:
    """A fixed number of passes, then the certificate of the result."""
    if not hasattr(penalty, "l1_l2"):
        raise OptionError(
            f"the solver {solver} needs an elastic-net penalty: use fista for {penalty.describe()}"
        )
    if not isinstance(loss, CRFLoss):
        raise OptionError(f"the solver {solver} trains CRFs only: use lbfgs or owlqn")
    if solver in ("perceptron", "pa") and loss.support is not None:
        raise OptionError(
            f"the solver {solver} trains the full model only: use sgd for observed or selected weights"
        )
    l1, l2 = penalty.l1_l2(loss.n_params)
    started, steps, interrupted = time.perf_counter(), [], False
    w = np.zeros(loss.n_params) if w0 is None else w0
    with progress.task(f"training by {solver}", plan.passes) as task:

        def after_pass(number: int, new: Vector) -> bool:
            nonlocal w
            task.update(1)
            w = new.copy()  # the result of an interrupt
            step = Step(number, time.perf_counter() - started, np.nan, np.nan)
            steps.append(step)
            return bool(watch and watch(step, w))

        start = w
        how: dict[str, Any] = {"passes": plan.passes, "seed": plan.seed, "after_pass": after_pass}
        if solver in ("perceptron", "pa"):
            how |= _options(solver, plan)
            run = partial(
                _function(solver), loss.data, loss.shape.labels, start=loss.shape.start, w=w0, **how
            )
        else:
            how |= {"l1": float(l1), "l2": float(l2)} | ({} if plan.step is None else {"step": plan.step})
            run = partial(_function(solver), loss, start, **how, **_options(solver, plan))
        try:
            w = run()
        except KeyboardInterrupt:
            interrupted = True
    value, grad = loss.value_and_grad(w)
    residual, objective = penalty.residual(w, grad), value + penalty.value(w)
    zeros = penalty.makes_zeros and penalty.lam > 0
    violation = float(np.max(np.abs(residual), initial=0.0)) / (
        penalty.lam if zeros else gradient_scale(loss)
    )
    bound = lower_bound(penalty, w, value, grad, residual) if loss.convex else -np.inf
    gap = max(objective - bound, 0.0) / max(abs(objective), 1e-300)
    seconds = time.perf_counter() - started
    return Solution(
        w,
        objective,
        violation,
        gap <= plan.tol,
        len(steps),
        solver,
        seconds,
        grad,
        interrupted,
        steps,
        gap=gap,
    )
