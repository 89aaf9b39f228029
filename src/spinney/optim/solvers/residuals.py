"""When ADMM looks at the certificate, and when it stops: by its primal and dual residuals (Boyd et al. 2011, §3.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem

FIRST_LOOK, RARER = 10, 1.2  # the certificate costs more than an iteration: take it ever more rarely
TIGHTER = 0.1  # what the residuals must fall to when they were met and the certificate was not
ENOUGH = 1e-2  # of the tolerance: residuals with which ADMM is done, whatever the certificate says
ROUNDING = 1e-14  # residuals that cannot fall
NEAR = 1e-3  # residuals from which on the support is worth a polish


def proximal_step(problem: Problem, w: Vector) -> Vector:
    """A proximal gradient step: near an optimum it changes little, but puts to 0 what is 0 there."""
    L = float(problem.loss.lipschitz()) if hasattr(problem.loss, "lipschitz") else 1.0
    moved = w - problem.loss.value_and_grad(w)[1] / L
    problem.penalty.prox(moved, 1.0 / L)
    return moved


class Residuals:
    """The primal and dual residuals, as shares of what they are residuals of, and the rule that they make.

    When both are within the tolerance, the certificate is taken, besides looks that become ever rarer. Where it does
    not hold, the residuals have to fall to a tenth before they ask for the next look; at a hundredth of the tolerance
    ADMM stops with the certificate that it has. With a ``change_tol`` it also stops when w no longer changes by more
    than that share of itself, which says nothing about the optimum (Yogatama 2015, §5.3.3).
    """

    def __init__(self, monitor: Monitor, change_tol: float = 0.0) -> None:
        self.monitor, self.change_tol, self.change = monitor, change_tol, float("inf")
        self.iteration = self._next_look = 0
        self.primal = self.dual = float("inf")
        self._tolerance = max(monitor.tol, ROUNDING)
        self._enough = max(ENOUGH * monitor.tol, ROUNDING)

    def note(
        self,
        primal: ArrayLike,
        of_primal: float | np.floating,
        dual: ArrayLike,
        of_dual: float | np.floating,
        change: float = float("inf"),
    ) -> None:
        """An iteration was done: its residuals, and the norms that theirs are compared with."""
        self.iteration += 1
        self.change = change
        self.monitor.stalled = change < self.change_tol
        self.primal = float(np.linalg.norm(primal) / (of_primal + 1e-300))
        self.dual = float(np.linalg.norm(dual) / (of_dual + 1e-300))
        self.monitor.primal_dual = (self.primal, self.dual)

    @property
    def met(self) -> bool:
        """Whether both are within the tolerance."""
        return max(self.primal, self.dual) <= self._tolerance

    @property
    def near(self) -> bool:
        """Whether they are so small that the support may have been found."""
        return self.last or max(self.primal, self.dual) <= max(NEAR, self._tolerance)

    @property
    def last(self) -> bool:
        """Whether there is no iteration left, or no change that is worth one."""
        return self.iteration >= self.monitor.max_iter or self.change < self.change_tol

    def look(self) -> bool:
        """Whether to take the certificate now."""
        if not (self.met or self.last or self.iteration >= self._next_look):
            return False
        self._next_look = max(self.iteration + FIRST_LOOK, int(RARER * self.iteration))
        return True

    def exhausted(self) -> bool:
        """After a look that did not suffice: whether the residuals are so small that it is of no use to go on."""
        if not self.met:
            return False
        worst = max(self.primal, self.dual)
        self._tolerance = max(TIGHTER * worst, self._enough)
        self.monitor.stalled = worst <= self._enough
        return self.monitor.stalled
