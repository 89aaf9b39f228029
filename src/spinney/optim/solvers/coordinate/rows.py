"""Disjoint groups of features with several margins an example: multinomial losses and squared hinges."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import MultinomialLoss, SeveralOutputs
from spinney.optim.penalties import GroupL2
from spinney.optim.solvers.coordinate.columns import ColumnDesign, Columns
from spinney.optim.solvers.coordinate.model import Point, support_and_violators

ROUNDS, PASSES = 3, 5  # of a model: a pass over the working set, then passes over its support


class RowGroupModel:
    """K margins per example; units are groups of features, each with all its weights.

    The Hessian diag(p) − ppᵀ of a multinomial loss is bounded by a diagonal, which is separable over outputs as that of
    the hinges is: so the weights of a feature for all outputs are moved at once.
    """

    def __init__(self, penalty: GroupL2, loss: SeveralOutputs) -> None:
        from spinney.optim.solvers.coordinate._row_kernels import crowding

        self.loss = loss
        self.l1, self.l2 = float(penalty.l1), float(penalty.l2)
        self.design = ColumnDesign.of(loss)
        groups, K = penalty.groups, loss.n_outputs
        held = np.ascontiguousarray(groups.members[::K] // K).astype(np.int64)
        alone = np.setdiff1d(np.arange(loss.p), held).astype(np.int64)
        self.members = np.concatenate([held, alone])
        ptr = groups.ptr // K
        self.ptr = np.concatenate([ptr, ptr[-1] + 1 + np.arange(len(alone))]).astype(np.int64)
        self.lam = np.concatenate([penalty.lam * groups.weights, np.zeros(len(alone))])
        self.group_of = np.empty(loss.p, np.int64)
        self.group_of[self.members] = np.repeat(np.arange(len(self.lam)), np.diff(self.ptr))
        self.crowd = crowding(self.design.indices, self.design.indptr, self.ptr, self.members, loss.n)

    def working_set(self, w: Vector, residual: Vector) -> Columns:
        K = self.loss.n_outputs
        active, violations = np.zeros(len(self.lam)), np.zeros(len(self.lam))
        active[self.group_of[w.reshape(-1, K).any(axis=1)]] = 1.0
        np.maximum.at(violations, self.group_of, np.abs(residual.reshape(-1, K)).max(axis=1))
        return support_and_violators(active, violations)

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        from spinney.optim.solvers.coordinate._row_kernels import row_curvatures, row_passes

        loss, K = self.loss, self.loss.n_outputs
        h = np.ascontiguousarray(self._curvature(point))
        q, W = np.ascontiguousarray(point.r.copy()), point.w.reshape(-1, K).copy()
        widths = np.diff(self.ptr)[working]
        places = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        features = self.members[np.repeat(self.ptr[working] - places[:-1], widths) + np.arange(places[-1])]
        curvature = row_curvatures(*self.design.arrays, features, h)
        free = np.maximum(h.sum(axis=0), 1e-12) if loss.intercept else np.empty(0)

        def descend(chosen: Any, max_passes: int) -> float:
            return float(
                row_passes(
                    *self.design.arrays, self.ptr, self.members, working[chosen], places[:-1][chosen], curvature,
                    self.crowd, W, h, q, self.lam, self.l1, self.l2, free, tol, max_passes,
                )
            )  # fmt: skip

        for _ in range(ROUNDS):
            if descend(slice(None), PASSES) <= tol:
                break
        w = W.ravel()
        return w, loss.margins(w) - point.margins

    def _curvature(self, point: Point) -> Vector:
        if isinstance(self.loss, MultinomialLoss):
            from scipy.special import softmax

            P: Vector = softmax(point.margins, axis=1)
            # Both p and, by diagonal dominance, 2p(1 − p) bound the Hessian of an example; the latter fades with doubt.
            h = np.where(P.max(axis=1, keepdims=True) > 0.5, 2.0 * P * (1.0 - P), P)
            return np.maximum(self.loss.sample_weight[:, None] * h, 1e-100)
        return self.loss.curvature(point.margins)


def not_of_rows(loss: SeveralOutputs, penalty: GroupL2) -> str | None:
    """What is wrong where disjoint groups do not hold all the weights of their features."""
    groups, K = penalty.groups, loss.n_outputs
    wrong = f"needs groups that hold all {K} weights of their features"
    if groups.members.size % K or np.any(groups.ptr % K):
        return wrong
    rows = groups.members.reshape(-1, K)
    whole = np.all(rows[:, 0] % K == 0) and np.all(rows == rows[:, :1] + np.arange(K))
    return None if whole else wrong
