"""Overlapping groups: models of losses with one margin per example (squared, logistic), of the multinomial loss, and of
squared hinges of several classes.

Coordinate descent alone may stand still where it should not: no single coordinate can leave a group that is zero,
though several together could. The smallest subgradient (the residual) shows which, and a step along it frees them.
Once their groups are not zero, the norms are smooth there and descent goes on by coordinates. The other way round,
descent would shrink a group that should be zero for ever, so a separate test sets it to zero. Where many groups that
share members are on this edge at once, neither helps: the subgradient at weights of 1e-11 is far from the smallest one
nearby, and no step along it leads anywhere. When the violation stalls, a step of the proximal gradient method, whose
prox sees all groups at once, says which of them are zero.
"""

from __future__ import annotations

import numpy as np
import scipy

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss, MultinomialLoss, OneVsRestLoss
from spinney.optim.penalties import OverlappingGroups
from spinney.optim.penalties.elastic import soft_threshold
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.coordinate.columns import ColumnDesign, Columns
from spinney.optim.solvers.coordinate.model import Point, support_and_violators
from spinney.optim.solvers.coordinate.multinomial import LARGEST_MOVE
from spinney.optim.solvers.coordinate.support_newton import SupportModel

# Rounds of a model: a pass over the working set, then passes over its support, few where a Newton step follows.
ROUNDS, PASSES, FEW_PASSES = 2, 2, 5
ROW_ROUNDS, ROW_PASSES = (
    3,
    5,
)  # where whole rows move: a pass over the working set, and passes over what is not calm
LEAP = 0.05  # how far the first model is solved, as a share of the steepest slope
NEWTON_STEPS = 2  # after which a model is left: the loss has another one by then
VANISHING = (
    1e-10  # weights under this share of the largest are too near to the corner of a norm for its curvature
)
FEW = 0.1  # violators that can move alone are few, as a share of the support
TINY = 1e-3  # a group whose norm is this share of the largest weight may be on its way to 0
SMALL = 20_000  # so few copies that the smallest subgradient costs nothing
ROUGHLY = 0.1  # how accurately the residual is needed, as a share of the tolerance
CLOSELY = 1e-4  # how little may still move in the smallest subgradient, as a share of the tolerance
SORTED = 1e-12  # and in a prox that tells zeros, as a share of the largest weight


class OverlapModel:
    """What the kinds of loss share: the groups of each feature and their norms. Units are coordinates."""

    def __init__(self, penalty: OverlappingGroups, loss: LinearLoss) -> None:
        self.loss, self.penalty = loss, penalty
        self.l1, self.l2 = float(penalty.l1), float(penalty.l2)
        self.design = ColumnDesign.of(loss)
        from spinney.optim.solvers.coordinate._overlap_kernels import STRENGTH, WIDTH

        groups, n_groups = penalty.groups, len(penalty.groups.weights)
        held = scipy.sparse.csr_array(
            (np.zeros(len(groups.members), np.int8), groups.members, groups.ptr),
            (n_groups, groups.n_features),
        ).tocsc()
        self.held_ptr, self.held_by = held.indptr.astype(np.int64), held.indices.astype(np.int32)
        self.groups = np.zeros((n_groups, WIDTH))  # their state: see the kernels
        self.groups[:, STRENGTH] = penalty.strengths
        self.largest = 0.0  # weight so far
        self.lipschitz: float | None = None  # constant of the gradient, once it is asked for
        self.grad, self.push = np.empty(0), np.empty(0)
        self.stuck: Columns = np.empty(0, np.int64)  # what can leave 0 only together, along the push

    def residual(self, point: Point, grad: Vector, monitor: Monitor, exactly: bool = False) -> Vector:
        """The smallest subgradient or, far quicker and as a rule enough for a certificate, one that is nearly so."""
        k = len(grad) - self.loss.n_free
        accuracy = 0.0 if exactly else ROUGHLY * monitor.absolute_tol
        tol = CLOSELY * monitor.absolute_tol
        held = self.penalty.residual(point.w[:k], grad[:k], accuracy, tol)
        self.grad = grad
        return np.concatenate([held, grad[k:]])

    def working_set(self, w: Vector, residual: Vector) -> Columns:
        """The support and the worst violators or, once few of these can move one by one, all of them."""
        from spinney.optim.solvers.coordinate._overlap_kernels import set_groups, stuck_coordinates

        K = self.loss.n_outputs
        set_groups(self.groups, w, self.held_ptr, self.held_by, K)
        violators = np.flatnonzero((w == 0) & (residual != 0))
        stuck = stuck_coordinates(violators, self.grad, self.l1, self.groups, self.held_ptr, self.held_by, K)
        self.stuck = violators[stuck]
        self.push = -residual[self.stuck]
        if np.count_nonzero(~stuck) <= FEW * np.count_nonzero(w):
            return np.flatnonzero((w != 0) | (residual != 0))
        violations = np.abs(residual)
        violations[self.stuck] = 0.0
        self.stuck, self.push = self.stuck[:0], self.push[:0]
        return support_and_violators(w, violations)

    def settled(self, problem: Problem, point: Point, monitor: Monitor) -> Point:
        """The point with the groups at 0 that are nearly there and may stay there, if that does not cost anything."""
        k = problem.n_penalised
        w = point.w[:k]
        norms = self.penalty.group_norms(w)
        self.largest = max(self.largest, float(np.max(np.abs(w), initial=0.0)))
        tiny = (norms > 0) & (norms <= TINY * self.largest) & (self.penalty.strengths > 0)
        if not tiny.any():
            return point
        groups = self.penalty.groups
        features = groups.members[tiny[np.repeat(np.arange(len(norms)), np.diff(groups.ptr))]]
        leaving = np.zeros((groups.n_features, self.loss.n_outputs), np.bool_)
        leaving[features] = True
        leaving = leaving.ravel() & (w != 0)
        bare = point.w.copy()
        bare[:k][leaving] = 0.0
        bare_point = Point.at(self.loss, bare)
        grad = self.loss.pull_back(bare_point.r)
        small = groups.members.size * self.loss.n_outputs <= SMALL
        pushed = np.abs(self.residual(bare_point, grad, monitor, exactly=small)[:k])
        pushed = pushed > ROUGHLY * monitor.absolute_tol
        bare[:k] = np.where(leaving & pushed, w, bare[:k])
        candidate = Point.at(self.loss, bare)
        after = candidate.value + self.penalty.value(bare[:k])
        before = point.value + self.penalty.value(w)
        return candidate if after <= before + 1e-12 * abs(before) else point

    def sorted_out(self, problem: Problem, point: Point) -> Point:
        """A step of the proximal gradient method: a short one, but with the right groups at 0."""
        if self.lipschitz is None:
            self.lipschitz = max(self.loss.lipschitz(), 1e-300)
        k = problem.n_penalised
        w = point.w - self.loss.pull_back(point.r) / self.lipschitz
        part = w[:k].copy()
        self.penalty.prox(part, 1.0 / self.lipschitz, SORTED)
        w[:k] = part
        found = Point.at(self.loss, w)
        before, after = self.penalty.value(point.w[:k]), self.penalty.value(part)
        return found if found.value + after <= point.value + before else point

    def _freed(self, point: Point) -> Vector:
        """The weights, with those that can leave 0 only together moved off it."""
        from spinney.optim.solvers.coordinate._overlap_kernels import set_groups

        w = point.w.copy()
        if len(self.stuck):
            # Along −residual the norms of zero groups grow linearly, so the loss alone says how far to go.
            direction = np.zeros_like(w)
            direction[self.stuck] = self.push
            square = float(self.push @ self.push)
            bend = float(direction @ self.loss.hess_vec(point.w)(direction)) + self.l2 * square
            w += direction * square / max(bend, 1e-300)
            k = len(w) - self.loss.n_free
            set_groups(self.groups, w[:k], self.held_ptr, self.held_by, self.loss.n_outputs)
        return w


class LinearOverlapModel(OverlapModel):
    """One margin an example."""

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        from spinney.optim.solvers.coordinate._kernels import column_curvatures, move_along_columns
        from spinney.optim.solvers.coordinate._overlap_kernels import overlap_passes

        h = np.ascontiguousarray(self.loss.curvature(point.margins))
        w = self._freed(point)
        q = point.r.copy()
        move_along_columns(*self.design.arrays, working, (w - point.w)[working], h, q)
        curvature = np.zeros(self.loss.p)
        curvature[working] = column_curvatures(*self.design.arrays, working, h) + self.l2
        free_curvature = float(h.sum()) if self.loss.intercept else 0.0
        groups = (self.groups, self.held_ptr, self.held_by)

        def descend(columns: Columns, max_passes: int) -> float:
            model = (columns, curvature, w, h, q, self.l1, self.l2)
            return float(
                overlap_passes(*self.design.arrays, *model, *groups, free_curvature, tol, max_passes)
            )

        on_support = SupportModel(
            self.design,
            self.loss.intercept,
            w,
            h,
            q,
            self.groups,
            self.held_ptr,
            self.held_by,
            self.l1,
            self.l2,
        )
        steps = 0
        while steps < NEWTON_STEPS and descend(working, 1) > tol:
            if descend(working[w[working] != 0], FEW_PASSES) > tol:
                on_support.step(working[np.abs(w[working]) > VANISHING * np.max(np.abs(w))])
                steps += 1
        return w, self.design.change_of_margins(working, w - point.w, self.loss.intercept)


class MultinomialOverlapModel(OverlapModel):
    """K margins per example; a coordinate is a pair of a feature and a class."""

    def __init__(self, penalty: OverlappingGroups, loss: MultinomialLoss) -> None:
        super().__init__(penalty, loss)
        self.reach = LARGEST_MOVE / np.maximum(self.design.largest_entries(), 1e-300)

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        from scipy.special import softmax

        from spinney.optim.solvers.coordinate._overlap_kernels import multinomial_overlap_passes

        loss = self.loss
        K = loss.n_outputs
        P = np.ascontiguousarray(softmax(point.margins, axis=1).T)
        w = self._freed(point)
        D = np.ascontiguousarray(loss.margins(w).T - point.margins.T)
        S = np.einsum("ki,ki->i", P, D)
        W = w.reshape(-1, K)
        free_slope = grad[-K:] if loss.intercept else np.empty(0)
        groups = (self.groups, self.held_ptr, self.held_by)

        def descend(pairs: Columns, max_passes: int) -> float:
            at_start = (pairs // K, pairs % K, grad[pairs], point.w[pairs], self.reach[pairs // K])
            state = (W, P, loss.sample_weight, D, S, self.l1, self.l2, free_slope)
            return float(
                multinomial_overlap_passes(*self.design.arrays, *at_start, *state, *groups, tol, max_passes)
            )

        for _ in range(ROUNDS):
            if descend(working, 1) <= tol:
                break
            descend(working[w[working] != 0], PASSES)
        return w, D.T


class RowOverlapModel(OverlapModel):
    """K margins per example whose curvatures do not mix: the weights of a feature for all outputs move at once."""

    def __init__(self, penalty: OverlappingGroups, loss: OneVsRestLoss) -> None:
        super().__init__(penalty, loss)

    def leap(self, problem: Problem, point: Point) -> Point:
        """Where one model leads from an empty one if everything may move; the point itself if that is no better.

        The smallest subgradient, which says what should leave 0, is nowhere as expensive as where all groups are zero.
        """
        k = problem.n_penalised
        grad = self.loss.pull_back(point.r)
        push = -soft_threshold(grad[:k], self.l1)
        self.stuck = np.flatnonzero(push)
        self.push = push[self.stuck]
        if not len(self.stuck):
            return point
        w, _ = self.minimise(point, grad, self.stuck, LEAP * float(np.max(np.abs(self.push))))
        found = Point.at(self.loss, w)
        before, after = problem.penalty.value(point.w), problem.penalty.value(w)
        return found if found.value + after < point.value + before else point

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        from spinney.optim.solvers.coordinate._row_kernels import row_curvatures
        from spinney.optim.solvers.coordinate._row_overlap_kernels import row_overlap_passes

        loss, K = self.loss, self.loss.n_outputs
        h = np.ascontiguousarray(loss.curvature(point.margins))
        w = self._freed(point)
        q = np.ascontiguousarray(point.r + h * (loss.margins(w) - point.margins))
        W = w.reshape(-1, K)
        touched = np.zeros(loss.p, np.bool_)
        touched[working // K] = True
        features = np.flatnonzero(touched)
        curvature = row_curvatures(*self.design.arrays, features, h)
        free = np.maximum(h.sum(axis=0), 1e-12) if loss.intercept else np.empty(0)
        groups = (self.groups, self.held_ptr, self.held_by)
        for _ in range(ROW_ROUNDS):
            model = (features, curvature, W, h, q, self.l1, self.l2, *groups, free)
            if row_overlap_passes(*self.design.arrays, *model, tol, ROW_PASSES) <= tol:
                break
        return w, loss.margins(w) - point.margins
