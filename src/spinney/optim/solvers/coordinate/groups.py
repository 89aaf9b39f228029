"""Group-Lasso models of losses with one margin an example (squared, logistic)."""

from __future__ import annotations

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.penalties import GroupL2
from spinney.optim.solvers.coordinate.columns import ColumnDesign, Columns
from spinney.optim.solvers.coordinate.model import MAX_PASSES, Point, support_and_violators

LARGEST_BLOCK = 128  # groups wider than this are not worth a Gram block


class GroupModel:
    """One margin an example, units are groups; coordinates in no group are groups of their own without a norm."""

    def __init__(self, penalty: GroupL2, loss: LinearLoss) -> None:
        self.loss = loss
        self.l1, self.l2 = float(penalty.l1), float(penalty.l2)
        self.design = ColumnDesign.of(loss)
        groups = penalty.groups
        alone = np.setdiff1d(np.arange(loss.p), groups.members).astype(np.int64)
        self.members = np.concatenate([groups.members.astype(np.int64), alone])
        self.ptr = np.concatenate([groups.ptr, groups.ptr[-1] + 1 + np.arange(len(alone))]).astype(np.int64)
        self.lam = np.concatenate([penalty.lam * groups.weights, np.zeros(len(alone))])
        self.group_of = np.empty(loss.p, np.int64)
        self.group_of[self.members] = np.repeat(np.arange(len(self.lam)), np.diff(self.ptr))

    def working_set(self, w: Vector, residual: Vector) -> Columns:
        active, violations = np.zeros(len(self.lam)), np.zeros(len(self.lam))
        active[self.group_of[w != 0]] = 1.0
        np.maximum.at(violations, self.group_of, np.abs(residual))
        return support_and_violators(active, violations)

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        from spinney.optim.solvers.coordinate._group_kernels import group_blocks, group_bounds, group_passes

        h = np.ascontiguousarray(self.loss.curvature(point.margins))
        q, w = point.r.copy(), point.w.copy()
        free_curvature = float(h.sum()) if self.loss.intercept else 0.0
        widths = self.ptr[working + 1] - self.ptr[working]
        areas = np.where(widths <= LARGEST_BLOCK, widths**2, 0)
        block_ptr = np.concatenate([[0], np.cumsum(areas)]).astype(np.int64)
        of_groups = (*self.design.arrays, self.ptr, self.members, working)
        blocks = group_blocks(*of_groups, block_ptr, h)
        bounds = group_bounds(*of_groups, blocks, block_ptr, h)
        for _ in range(MAX_PASSES):
            worst = group_passes(
                *of_groups,
                blocks,
                block_ptr,
                bounds,
                w,
                h,
                q,
                self.lam,
                self.l1,
                self.l2,
                free_curvature,
                tol,
                10,
            )
            if worst <= tol:
                break
        columns = np.flatnonzero(w[: self.loss.p] != point.w[: self.loss.p])
        return w, self.design.change_of_margins(columns, w - point.w, self.loss.intercept)
