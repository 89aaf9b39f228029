"""What the three kinds of quadratic models share: the choice of a working set and of a tolerance."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss, SquaredLoss
from spinney.optim.problem import Problem
from spinney.optim.solvers.coordinate.columns import Columns

SMALLEST_WORKING_SET = 200
MAX_PASSES = 1000


class Point(NamedTuple):
    """Weights, and what the loss makes of them: margins, value, and derivative ``r`` in the margins."""

    w: Vector
    margins: Vector
    value: float
    r: Vector

    @classmethod
    def at(cls, loss: LinearLoss, w: Vector) -> Self:
        """The point of these weights."""
        margins = loss.margins(w)
        return cls(w, margins, *loss.pointwise(margins, loss.y, loss.sample_weight))


class Model(Protocol):
    """How one kind of problem minimises its quadratic model over a working set."""

    def working_set(self, w: Vector, residual: Vector) -> Columns:
        """The units to work on, given the penalised weights and their violations."""
        ...

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        """The minimiser of the model at ``point`` plus the penalty over the working set, and the change of the margins.

        ``tol`` is the largest violation to leave.
        """
        ...


def support_and_violators(active: Vector, violations: Vector) -> Columns:
    """The active units and the worst violators among the others: twice the support at most, or 200."""
    support = np.flatnonzero(active != 0)
    violators = np.flatnonzero((violations != 0) & (active == 0))
    room = max(len(support), SMALLEST_WORKING_SET - len(support))
    if len(violators) > room:
        violators = violators[np.argpartition(-violations[violators], room)[:room]]
    return np.sort(np.concatenate([support, violators])).astype(np.int64)


def model_tolerance(loss: LinearLoss, violation: float, final: float, forcing: float) -> float:
    """Inexact Newton: solve each model to a fraction of the violation (of a squared loss: a small one)."""
    if isinstance(loss, SquaredLoss):
        forcing = 0.01
    return max(forcing * violation, 0.3 * final)


def strengths(problem: Problem) -> tuple[Vector, Vector, Vector]:
    """Of each penalised coordinate the ℓ1 strength, the ridge and the tilt (a linear term)."""
    k, inner = problem.n_penalised, problem.inner
    l1, l2 = inner.l1_l2(k)  # type: ignore[attr-defined]
    tilt = getattr(inner, "tilt", 0.0)
    return _vector(l1, k), _vector(l2, k), _vector(tilt, k)


def _vector(value: float | Vector, k: int) -> Vector:
    return np.ascontiguousarray(np.broadcast_to(value, k), dtype=np.float64)
