"""A problem to solve, and the monitor that every solver reports to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from spinney.optim.base import Loss, Penalty, Step, Vector
from spinney.optim.certificate import fitted_bound, has_bound, lower_bound
from spinney.optim.penalties import Partial
from spinney.optim.penalties.elastic import squared_norm
from spinney.progress import Task

ROUNDING = 3e-12  # of the gradient of the null model: below this a violation cannot be told from rounding
STILL = 50  # iterations without a change, after which none is to be expected
PROOFS_APART = 0.1  # of the iterations so far
FINEST = 1e-3  # of the gradient of the null model: a smaller λ is no yardstick, for rounding

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

    An iterate is optimal when no condition is violated by more than ``tol`` times ``scale``, the gradient of the null
    model, **and** the objective is within ``tol`` of the optimum by the bound of :mod:`spinney.optim.certificate`.
    Where there is no such bound, violations are compared with λ. For an inner problem of a solver
    (``certifies=False``), only the violation counts.
    """

    #: Whether it asks for residuals. Where these are dear, solvers leave them out for one that only watches objectives.
    wants_residuals: ClassVar[bool] = True

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
    certifies: bool = False
    #: The highest lower bound on the optimum so far, and the objective minus it, relative to the objective.
    bound: float = -np.inf
    gap: float = np.inf
    next_proof: float = 0.0  # the iteration from which on a bound with fitted free coordinates is tried again
    violation: float = np.inf

    #: Whether the objective and the violation stay where they are, so that no smaller tolerance can be reached.
    stalled: bool = False

    def __post_init__(self) -> None:
        self.penalty = self.problem.penalty
        self.tol = max(self.tol, ROUNDING)
        self.best_violation, self.best_at = np.inf, 0
        self.absolute_tol = self.tol * self.scale
        lam = float(getattr(self.problem.inner, "lam", 0.0))
        zeros = self.certifies and self.problem.inner.makes_zeros and lam > 0
        self.yardstick = lam if zeros else self.scale
        #: Whether there is a lower bound on the optimum, as far as is known.
        self.bounded = self.certifies and has_bound(self.problem.loss)

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
        self.violation = largest(self.residual if self.unit is None else self.residual / self.unit)
        step = Step(
            len(self.trace) if iteration is None else iteration,
            time.perf_counter() - self.started,
            value + self.penalty.value(w),
            self.violation / self.yardstick,
        )
        self.trace.append(step)
        self.w = w.copy() if residual is None else w
        self.gap = np.inf
        if self.bounded and self.violation <= self.tol * self.scale:
            self.measure_gap(value, residual is grad)
        if self.violation <= self.absolute_tol and not self.converged:
            # Solvers work towards this; it must fall for them to go on.
            self.absolute_tol = max(0.1 * self.violation, 0.3 * ROUNDING * self.scale)
        if self.progress:
            done = step.iteration - (self.trace[-2].iteration if len(self.trace) > 1 else 0)
            known = f"gap {self.gap:.1%}, " if np.isfinite(self.gap) else ""
            note = f"objective {step.objective:.6g}, {known}violation {step.violation:.1e}"
            self.progress.update(done, note=note)
        wants_stop = bool(self.callback(step, self.w)) if self.callback else False
        return wants_stop or self.converged or step.iteration >= self.max_iter or self._nothing_moves()

    def _nothing_moves(self) -> bool:
        """Whether the last iterates have the same objective but for rounding, and none violates less than before."""
        if np.isnan(self.trace[-1].objective):
            return True
        if self.violation < self.best_violation:
            self.best_violation, self.best_at = self.violation, len(self.trace)
        if len(self.trace) - self.best_at < STILL:
            return False
        last = [step.objective for step in self.trace[-STILL:]]
        self.stalled = max(last) - min(last) <= 1e-14 * abs(last[-1])
        return self.stalled

    def measure_gap(self, value: float, whole: bool = False, *, prove: bool = False) -> None:
        """Set ``gap`` for the last iterate, where the loss is ``value``.

        ``whole``: what the solver gave as the gradient is that of the whole, smooth objective. Where there are free
        coordinates, a bound is proven only with these fitted, which costs several gradients: that is done when the
        bound would be good enough, or to ``prove`` it whatever it is. A proof that fails says that the free coordinates
        are still far away; the next is tried after a tenth as many iterations as there have been, so that proofs that
        fail do not become most of the work.
        """
        k, inner, loss = self.problem.n_penalised, self.problem.inner, self.problem.loss
        objective = self.trace[-1].objective
        if whole:
            found = (
                objective - 0.5 * squared_norm(self.residual[:k]) / inner.ridge if inner.ridge else -np.inf
            )
        else:
            found = lower_bound(inner, self.w[:k], value, self.grad[:k], self.residual[:k])
        self.bounded = bool(np.isfinite(found))
        self.gap = self._gap_to(found)
        if not self.bounded:
            return
        if loss.n_free:
            if self.gap > self.tol and not prove:
                return
            iteration = self.trace[-1].iteration
            if prove or iteration >= self.next_proof:
                self.bound = max(self.bound, fitted_bound(loss, inner, self.w))
                self.next_proof = iteration + PROOFS_APART * iteration
        else:
            self.bound = max(self.bound, found)
        self.gap = self._gap_to(self.bound)

    def _gap_to(self, bound: float) -> float:
        objective = self.trace[-1].objective
        return max(objective - bound, 0.0) / max(abs(objective), 1e-300)

    @property
    def converged(self) -> bool:
        """Whether the last iterate is optimal to the tolerance."""
        if not self.trace:
            return False
        if self.bounded:
            small = self.violation <= self.tol * self.scale
            return small and (self.gap <= self.tol or self.violation <= ROUNDING * self.scale)
        # Without a bound from the loss, λ is the yardstick; without one from the penalty, as some weights are free of
        # it, there may be no optimum, and nothing but the gradient to compare with.
        finest = FINEST if self.certifies and not has_bound(self.problem.loss) else 1.0
        return self.violation <= self.tol * max(self.yardstick, finest * self.scale)


def largest(x: Vector) -> float:
    """The ∞-norm, without a copy of x."""
    return max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
