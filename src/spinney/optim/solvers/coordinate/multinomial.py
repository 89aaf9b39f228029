"""Elastic-net models of the multinomial loss."""

from __future__ import annotations

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import MultinomialLoss
from spinney.optim.problem import Problem
from spinney.optim.solvers.coordinate.columns import ColumnDesign, Columns
from spinney.optim.solvers.coordinate.model import (
    Point,
    strengths,
    support_and_violators,
)

ROUNDS, PASSES = 20, 100  # of descent on one model: over all units, and over those that are not 0 in between
LARGEST_MOVE = 4.0  # how far one weight may move any margin in one step


class MultinomialModel:
    """K margins per example; units are pairs of a feature and a class."""

    def __init__(self, problem: Problem, loss: MultinomialLoss) -> None:
        self.loss = loss
        self.l1, self.l2, self.tilt = strengths(problem)
        self.design = ColumnDesign.of(loss)
        self.reach = LARGEST_MOVE / np.maximum(self.design.largest_entries(), 1e-300)

    def working_set(self, w: Vector, residual: Vector) -> Columns:
        return support_and_violators(w, np.abs(residual))

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        from scipy.special import softmax

        from spinney.optim.solvers.coordinate._multinomial_kernels import multinomial_passes

        K = self.loss.n_outputs
        P = np.ascontiguousarray(softmax(point.margins, axis=1).T)
        D, S = np.zeros_like(P), np.zeros(self.loss.n)
        W = point.w.reshape(-1, K).copy()
        free_slope = grad[-K:] if self.loss.intercept else np.empty(0)

        def descend(pairs: Columns, max_passes: int) -> float:
            slope = grad[pairs] + self.tilt[pairs]
            at_start = (pairs // K, pairs % K, slope, point.w[pairs], self.reach[pairs // K])
            state = (W, P, self.loss.sample_weight, D, S, self.l1[pairs], self.l2[pairs], free_slope)
            return float(multinomial_passes(*self.design.arrays, *at_start, *state, tol, max_passes))

        for _ in range(ROUNDS):  # where a model takes longer, it is time for a better one
            if descend(working, 1) <= tol:
                break
            descend(working[W.ravel()[working] != 0], PASSES)
        return W.ravel(), D.T
