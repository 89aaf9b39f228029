"""A problem to solve, and the monitor that every solver reports to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from spinney.optim.base import Loss, Penalty, Step, Vector
from spinney.optim.penalties import Partial
from spinney.progress import Task

Callback = Callable[[Step, Vector], bool | None]


@dataclass(frozen=True)
class Problem:
    """``loss(w) + penalty(w)``, where ``inner`` governs all coordinates but the last ``loss.n_free``."""

    loss: Loss
    inner: Penalty

    @property
    def penalty(self) -> Penalty:
        """The penalty over all coordinates: zero on the free ones."""
        return Partial(self.inner, self.loss.n_free) if self.loss.n_free else self.inner

    @property
    def n_penalised(self) -> int:
        """How many leading coordinates the penalty governs."""
        return self.loss.n_params - self.loss.n_free


@dataclass
class Monitor:
    """Records each iterate and decides when to stop: one rule and one certificate for all solvers.

    A solver calls ``monitor(w, value, grad)`` with the smooth loss and its gradient at each iterate and returns
    when the answer is true. One that knows the residual and will not change ``w`` afterwards gives it along, and saves
    two large arrays; one that does not look at every iteration says which this is. ``residual`` is the smallest
    element of the subdifferential at the last iterate. ``unit`` is what each coordinate of it is measured in.
    """

    problem: Problem
    tol: float
    max_iter: int
    scale: float
    callback: Callback | None = None
    trace: list[Step] = field(default_factory=list)
    w: Vector = field(default_factory=lambda: np.empty(0))
    grad: Vector = field(default_factory=lambda: np.empty(0))
    residual: Vector = field(default_factory=lambda: np.empty(0))
    unit: Vector | None = None
    primal_dual: tuple[float, float] | None = None
    copy_norms: Vector | None = None
    started: float = field(default_factory=time.perf_counter)
    progress: Task | None = None

    def __post_init__(self) -> None:
        self.penalty = self.problem.penalty

    def __call__(
        self,
        w: Vector,
        value: float,
        grad: Vector,
        residual: Vector | None = None,
        iteration: int | None = None,
    ) -> bool:
        self.grad = grad
        self.residual = self.penalty.residual(w, grad) if residual is None else residual
        of_unit = self.residual if self.unit is None else self.residual / self.unit
        violation = largest(of_unit) / self.scale
        step = Step(
            len(self.trace) if iteration is None else iteration,
            time.perf_counter() - self.started,
            value + self.penalty.value(w),
            violation,
        )
        self.trace.append(step)
        self.w = w.copy() if residual is None else w
        if self.progress:
            done = step.iteration - (self.trace[-2].iteration if len(self.trace) > 1 else 0)
            self.progress.update(done, note=f"objective {step.objective:.6g}, violation {violation:.1e}")
        wants_stop = bool(self.callback(step, self.w)) if self.callback else False
        return wants_stop or self.converged or step.iteration >= self.max_iter

    @property
    def absolute_tol(self) -> float:
        """The tolerance in the units of the gradient."""
        return self.tol * self.scale

    @property
    def violation(self) -> float:
        """The violation at the last iterate, in the units of the gradient."""
        return self.trace[-1].violation * self.scale

    @property
    def converged(self) -> bool:
        """Whether the last iterate is optimal to the tolerance."""
        return bool(self.trace) and self.trace[-1].violation <= self.tol


def largest(x: Vector) -> float:
    """The ∞-norm, without a copy of x."""
    return max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
