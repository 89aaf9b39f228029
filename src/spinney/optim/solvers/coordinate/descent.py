"""The loop of coordinate descent with working sets: proximal Newton for linear models.

Each iteration takes the full gradient (one pass over the data), gathers the non-zero units (coordinates, pairs of a
feature and a class, or groups) and the worst violators into a working set, minimises the quadratic model there by
cyclic descent, and searches along the step.
"""

from __future__ import annotations

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss, MultinomialLoss
from spinney.optim.penalties import GroupL2
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.coordinate.elastic_net import ElasticNetModel
from spinney.optim.solvers.coordinate.groups import GroupModel
from spinney.optim.solvers.coordinate.model import Model
from spinney.optim.solvers.coordinate.multinomial import MultinomialModel


def coordinate_descent(problem: Problem, w: Vector, monitor: Monitor) -> Vector:
    """Minimise a squared, logistic or multinomial loss with an elastic-net or (sparse) group penalty."""
    loss, inner, k = problem.loss, problem.inner, problem.n_penalised
    model: Model
    if isinstance(loss, MultinomialLoss) and hasattr(inner, "l1_l2"):
        model = MultinomialModel(problem, loss, monitor)
    elif isinstance(loss, LinearLoss) and hasattr(inner, "l1_l2"):
        model = ElasticNetModel(problem, loss, monitor)
    elif (
        isinstance(loss, LinearLoss) and isinstance(inner, GroupL2) and not isinstance(loss, MultinomialLoss)
    ):
        model = GroupModel(inner, loss, monitor)
    else:
        raise OptionError(
            "solver 'cd' needs a squared or logistic loss with an elastic-net or group penalty, or a multinomial "
            f"loss with an elastic net; use 'fista' for {inner.describe()}"
        )
    assert isinstance(loss, LinearLoss)
    w = w.copy()
    margins = loss.margins(w)
    value, r = loss.pointwise(margins, loss.y, loss.sample_weight)
    while True:
        grad = loss.pull_back(r)
        if monitor(w, value, grad):
            return w
        working = model.working_set(w[:k], monitor.residual[:k])
        target, change = model.minimise(w, margins, r, grad, working)
        penalty_value = monitor.trace[-1].objective - value
        w, margins, value, r = _line_search(
            problem, loss, w, target, margins, change, value, penalty_value, grad
        )


def _line_search(
    problem: Problem,
    loss: LinearLoss,
    w: Vector,
    target: Vector,
    margins: Vector,
    change: Vector,
    value: float,
    penalty_value: float,
    grad: Vector,
) -> tuple[Vector, Vector, float, Vector]:
    """Backtrack from ``target`` towards ``w`` until the objective falls by its share of the predicted decrease.

    Returns the point found, its margins, its loss and the derivative of the loss in the margins.
    """
    penalty = problem.penalty
    moved = np.flatnonzero(target != w)
    direction = target[moved] - w[moved]
    candidate, candidate_penalty = target, penalty.value(target)
    predicted = min(float(grad[moved] @ direction) + candidate_penalty - penalty_value, 0.0)
    size = 1.0
    while True:
        new_margins = margins + size * change
        new_value, r = loss.pointwise(new_margins, loss.y, loss.sample_weight)
        bound = value + penalty_value + 1e-4 * size * predicted
        if new_value + candidate_penalty <= bound + 1e-12 * abs(bound) or size < 1e-10:
            return candidate, new_margins, new_value, r
        size /= 2
        candidate = w.copy()
        candidate[moved] += size * direction
        candidate_penalty = penalty.value(candidate)
