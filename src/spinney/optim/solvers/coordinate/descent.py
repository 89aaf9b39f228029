"""The loop of coordinate descent with working sets: proximal Newton for linear models.

Each iteration takes the full gradient (one pass over the data), gathers the non-zero units (coordinates, pairs of a
feature and a class, or groups) and the worst violators into a working set, minimises the quadratic model there by
cyclic descent, and searches along the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss, MultinomialLoss, OneVsRestLoss, SeveralOutputs, SquaredLoss
from spinney.optim.penalties import GroupL2, OverlappingGroups, PairwiseElasticNet
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.coordinate.columns import ColumnDesign
from spinney.optim.solvers.coordinate.elastic_net import ElasticNetModel
from spinney.optim.solvers.coordinate.groups import GroupModel
from spinney.optim.solvers.coordinate.model import Model, Point, model_tolerance
from spinney.optim.solvers.coordinate.multinomial import MultinomialModel
from spinney.optim.solvers.coordinate.overlap import (
    LinearOverlapModel,
    MultinomialOverlapModel,
    OverlapModel,
    RowOverlapModel,
)
from spinney.optim.solvers.coordinate.pairwise import pairwise_descent
from spinney.optim.solvers.coordinate.rows import RowGroupModel, not_of_rows

VANISHING = 1e-100  # the square of a weight should not be lost
FORCING, GROUP_FORCING, ROW_FORCING = 0.05, 0.2, 0.1  # how far a model is solved, as a share of the violation
EXACT = 0.01  # how much closer than asked
STAGE = 10**0.5  # by how much λ falls at a time on the way to a small one
STAGE_STEPS, ROUGHLY = 3, 0.1  # how many steps there are at each, and how exact they are
STALLED, IMPATIENT, LITTLE = 0.5, 4.0, 0.1  # a violation that does not halve has stalled


def coordinate_descent(
    problem: Problem, w: Vector, monitor: Monitor, *, guess: Vector | None = None
) -> Vector:
    """Minimise a squared, logistic or multinomial loss with an elastic-net or a (sparse, overlapping) group penalty.

    ``guess`` is an estimate of the gradient at ``w`` from which the first working set is chosen, so that a step along a
    path costs one gradient and not two.
    """
    if isinstance(problem.loss, SquaredLoss) and isinstance(problem.inner, PairwiseElasticNet):
        return pairwise_descent(problem, w, monitor)
    model = _model(problem)
    loss, k, penalty = problem.loss, problem.n_penalised, problem.penalty
    assert isinstance(loss, LinearLoss)
    point = Point.at(loss, _start(loss, w))
    before, patience, ahead = np.inf, 1.0, 0
    empty = not point.w[:k].any()
    cold = isinstance(model, MultinomialModel) and empty
    if isinstance(model, RowOverlapModel) and empty:
        point = model.leap(problem, point)
    while True:
        if guess is not None and not isinstance(loss, SeveralOutputs):
            grad, guess = guess, None
            known = model.residual(point, grad, monitor) if isinstance(model, OverlapModel) else None
            residual = penalty.residual(point.w, grad) if known is None else known
        else:
            grad = loss.pull_back(point.r)
            known = None
            if isinstance(model, OverlapModel):
                known = model.residual(point, grad, monitor, exactly=patience < LITTLE)
            if monitor(point.w, point.value, grad, known, len(monitor.trace) + ahead):
                return point.w
            if cold:
                point, ahead = approached(problem, loss, point, grad, monitor.max_iter)
                cold, ahead = False, max(ahead - 1, 0)
                continue
            residual = monitor.residual
        violation = float(np.max(np.abs(residual), initial=0.0))
        # Where many coordinates hold each other, a pass moves each by little however far they all are from the
        # minimum: when the violation stalls, passes must go on for longer.
        patience = patience / IMPATIENT if violation > STALLED * before else min(IMPATIENT * patience, 1.0)
        before = violation
        forcing = GROUP_FORCING if isinstance(model, OverlapModel) else FORCING
        if isinstance(model, RowOverlapModel):
            forcing = ROW_FORCING
        final = monitor.absolute_tol
        if isinstance(model, MultinomialModel):  # near the end, conjugate gradients make exact models cheap
            forcing, final = min(forcing, np.sqrt(violation / monitor.scale)), EXACT * final
        tol = patience * model_tolerance(loss, violation, final, forcing)
        working = model.working_set(point.w[:k], residual[:k])
        target, change = model.minimise(point, grad, working, tol)
        point = _line_search(problem, loss, point, target, change, grad)
        if isinstance(model, OverlapModel):
            point = model.settled(problem, point, monitor)
            if patience < LITTLE:
                point = model.sorted_out(problem, point)


def approached(
    problem: Problem, loss: LinearLoss, point: Point, grad: Vector, max_iter: int
) -> tuple[Point, int]:
    """The way from an empty multinomial model to a small λ: roughly solved at larger ones, and how many steps it took.

    From 0, the model of the loss says little of where hundreds of weights belong, and much of its minimum is undone.
    """
    target, steps, k = float(getattr(problem.inner, "lam", 0.0)), 0, problem.n_penalised
    if not target > 0.0:
        return point, steps
    lam = problem.inner.lambda_max(grad[:k]) / STAGE
    while lam > np.sqrt(STAGE) * target and steps < max_iter:
        stage = Problem(loss, problem.inner.with_lam(lam))
        model = _model(stage)
        for _ in range(STAGE_STEPS):
            grad = loss.pull_back(point.r)
            residual = stage.penalty.residual(point.w, grad)
            violation = float(np.max(np.abs(residual), initial=0.0))
            if violation <= ROUGHLY * lam or steps >= max_iter:
                break
            working = model.working_set(point.w[:k], residual[:k])
            to, change = model.minimise(point, grad, working, ROUGHLY * violation)
            point, steps = _line_search(stage, loss, point, to, change, grad), steps + 1
        lam /= STAGE
    return point, steps


def _start(loss: LinearLoss, w: Vector) -> Vector:
    """A copy of ``w`` with those weights at 0 that descent could not move.

    A weight that no example feels has no curvature, and is 0 at an optimum; one whose square is 0 has no norm.
    """
    from spinney.optim.solvers.coordinate._kernels import column_curvatures

    w = w.copy()
    K, k = loss.n_outputs, loss.p * loss.n_outputs
    held = w[:k].reshape(loss.p, K)
    held[np.abs(held) < VANISHING] = 0.0
    features = np.flatnonzero(held.any(axis=1))
    if len(features):
        felt = column_curvatures(*ColumnDesign.of(loss).arrays, features, loss.sample_weight)
        held[features[felt == 0.0]] = 0.0
    return w


def outputs_differ(loss: Any, penalty: Any) -> str | None:
    """What is wrong where groups are not over the features of a loss with several outputs."""
    if isinstance(penalty, GroupL2) and isinstance(loss, SeveralOutputs):
        return not_of_rows(loss, penalty)
    if not isinstance(penalty, OverlappingGroups) or penalty.n_outputs == loss.n_outputs:
        return None
    return f"needs groups of features, with n_outputs={loss.n_outputs}, not {penalty.n_outputs}"


def _model(problem: Problem) -> Model:
    loss, inner = problem.loss, problem.inner
    assert isinstance(loss, LinearLoss)
    if isinstance(inner, OverlappingGroups):
        if isinstance(loss, MultinomialLoss):
            return MultinomialOverlapModel(inner, loss)
        if isinstance(loss, OneVsRestLoss):
            return RowOverlapModel(inner, loss)
        disjoint = inner.as_disjoint()
        return LinearOverlapModel(inner, loss) if disjoint is None else GroupModel(disjoint, loss)
    if isinstance(inner, GroupL2):
        if isinstance(loss, SeveralOutputs):
            return RowGroupModel(inner, loss)
        return GroupModel(inner, loss)
    if isinstance(loss, MultinomialLoss):
        return MultinomialModel(problem, loss)
    return ElasticNetModel(problem, loss)


def _line_search(
    problem: Problem, loss: LinearLoss, point: Point, target: Vector, change: Vector, grad: Vector
) -> Point:
    """Backtrack from ``target`` towards ``point`` until the objective falls by its share of the predicted decrease.

    ``change`` is that of the margins on the whole way.
    """
    penalty = problem.penalty
    moved = np.flatnonzero(target != point.w)
    direction = target[moved] - point.w[moved]
    before, after = penalty.value(point.w), penalty.value(target)
    predicted = min(float(grad[moved] @ direction) + after - before, 0.0)
    candidate, size = target, 1.0
    while True:
        margins = point.margins + size * change
        value, r = loss.pointwise(margins, loss.y, loss.sample_weight)
        bound = point.value + before + 1e-4 * size * predicted
        if value + after <= bound + 1e-12 * abs(bound) or size < 1e-10:
            return Point(candidate, margins, value, r)
        size /= 2
        candidate = point.w.copy()
        candidate[moved] += size * direction
        after = penalty.value(candidate)
