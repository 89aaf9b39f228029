"""Elastic-net models of the multinomial loss.

Descent over pairs of a feature and a class finds out which weights are 0. Where the others hold each other, which they
do the more the smaller λ is, it takes hundreds of passes to bring them to their places: there, conjugate gradients on
those weights alone, for which the penalty is smooth, take the rest of the way.
"""

from __future__ import annotations

from typing import NamedTuple

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

LARGEST_MOVE = 4.0  # how far one weight may move any margin in one step
NEAR = 0.01  # of λ: from violations as small as this on, a model of the loss is worth being solved exactly
FORCING = 0.1  # how far they reduce the residual
HALVINGS = 6


class Effort(NamedTuple):
    """What is spent on one model of the loss before it is time for a better one."""

    rounds: int  # of descent: over all units,
    passes: int  # and over those that are not 0 in between
    products: int  # of conjugate gradients


ROUGH, EXACT = Effort(4, 2, 20), Effort(20, 4, 50)


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
        effort = ROUGH if self._is_far(point.w[working], grad[working], working) else EXACT
        at = _Quadratic(self, point, grad)
        for _ in range(effort.rounds):
            if at.descend(working, 1, tol) <= tol:
                break
            support = working[at.W.ravel()[working] != 0]
            if at.descend(support, effort.passes, tol) > tol:
                at.step_on_face(support[at.W.ravel()[support] != 0], effort.products)
        return at.W.ravel(), at.D.T

    def _is_far(self, w: Vector, grad: Vector, working: Columns) -> bool:
        """Whether the conditions of optimality are violated by more than a small share of λ."""
        slope, l1 = grad + self.tilt[working] + self.l2[working] * w, self.l1[working]
        held = np.where(w != 0, np.abs(slope + l1 * np.sign(w)), np.maximum(np.abs(slope) - l1, 0.0))
        return bool(np.max(held, initial=0.0) > NEAR * np.max(l1, initial=0.0) > 0.0)


class _Quadratic:
    """The quadratic model of the loss at a point, and the weights ``W`` (p + intercept, K) on their way to its minimum.

    ``P`` are the probabilities of classes [K, n], ``D`` the change of the margins so far, ``S`` the mean Σ_k p_k·d_k
    of that in each example.
    """

    def __init__(self, model: MultinomialModel, point: Point, grad: Vector) -> None:
        from spinney.optim._loss_kernels import softmax_columns

        loss = model.loss
        self.model, self.start, self.grad = model, point.w, grad
        self.K, self.s = loss.n_outputs, loss.sample_weight
        self.P = np.empty((self.K, loss.n))
        softmax_columns(np.ascontiguousarray(point.margins), self.P)
        self.D, self.S = np.zeros_like(self.P), np.zeros(loss.n)
        self.W = point.w.reshape(-1, self.K).copy()
        self.free_slope = grad[-self.K :] if loss.intercept else np.empty(0)

    def descend(self, pairs: Columns, max_passes: int, tol: float) -> float:
        """Cyclic descent; the largest violation that was met in the last pass."""
        from spinney.optim.solvers.coordinate._multinomial_kernels import multinomial_passes

        of, K = self.model, self.K
        slope = self.grad[pairs] + of.tilt[pairs]
        at_start = (pairs // K, pairs % K, slope, self.start[pairs], of.reach[pairs // K])
        state = (self.W, self.P, self.s, self.D, self.S, of.l1[pairs], of.l2[pairs], self.free_slope)
        return float(multinomial_passes(*of.design.arrays, *at_start, *state, tol, max_passes))

    def step_on_face(self, support: Columns, products: int) -> None:
        """A Newton step of the weights that are not 0, and of the intercepts: none changes its sign, but stops at 0.

        Weights that went as far as the model is trusted stay where they are.
        """
        gone = np.abs(self.W.ravel()[support] - self.start[support])
        support = support[gone < (1.0 - 1e-9) * self.model.reach[support // self.K]]
        old = np.append(self.W.ravel()[support], self.W[-1] if len(self.free_slope) else [])
        face = _Face(self, support)
        gradient = face.gradient(old)
        direction = face.solved(-gradient, products)
        low, high = face.bounds(old)
        # Weights that stop may turn a step uphill; one that ends where the first of them stops cannot.
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(direction > 0, high - old, low - old) / direction
        sizes = [*0.5 ** np.arange(HALVINGS), float(np.min(room, initial=1.0, where=direction != 0))]
        for size in sizes:
            new = np.clip(old + size * direction, low, high)
            change = new - old
            moved = face.margins(change)
            slope = float(gradient @ change)
            # On its face the penalty is a parabola, so that the model is one, too.
            gain = slope + 0.5 * float(face.slopes(moved) @ change) + 0.5 * float(face.l2 @ change**2)
            if gain <= 1e-4 * slope <= 0.0:
                self.W.ravel()[support] = new[: len(support)]
                if len(self.free_slope):
                    self.W[-1] = new[len(support) :]
                self.D += moved
                self.S += np.einsum("kn,kn->n", self.P, moved)
                return


class _Face:
    """The model among weights of the same signs: a quadratic function of those in ``support`` and of the intercepts."""

    def __init__(self, at: _Quadratic, support: Columns) -> None:
        from spinney.optim.solvers.coordinate._multinomial_kernels import pair_curvatures

        of, K = at.model, at.K
        self.at, self.arrays, self.support = at, of.design.arrays, support
        self.features, self.classes = support // K, support % K
        self.free = len(at.free_slope)
        self.l2 = np.append(of.l2[support], np.zeros(self.free))
        curvature = pair_curvatures(*self.arrays, self.features, self.classes, at.P, at.s)
        if self.free:
            curvature = np.append(curvature, (at.P * (1.0 - at.P)) @ at.s)
        self.diagonal = np.maximum(curvature + self.l2, 1e-12)

    def gradient(self, w: Vector) -> Vector:
        """Of the model and the penalty."""
        of, at = self.at.model, self.at
        start = np.append(at.grad[self.support] + of.tilt[self.support], at.free_slope)
        pull = np.append(of.l1[self.support], np.zeros(self.free)) * np.sign(w)
        return np.asarray(start + self.slopes(at.D) + self.l2 * w + pull)

    def margins(self, v: Vector) -> Vector:
        """What these weights change in the margins [K, n]."""
        from spinney.optim.solvers.coordinate._multinomial_kernels import pair_margins

        out = np.zeros_like(self.at.D)
        if self.free:
            out += v[len(self.support) :, None]
        pair_margins(*self.arrays, self.features, self.classes, v, out)
        return out

    def slopes(self, margins: Vector) -> Vector:
        """The Hessian of the loss times a change of the margins, pulled back to the weights."""
        from spinney.optim.solvers.coordinate._multinomial_kernels import bent, pair_slopes

        slopes = bent(self.at.P, self.at.s, margins)
        found = pair_slopes(*self.arrays, self.features, self.classes, slopes)
        return np.append(found, slopes.sum(axis=1)) if self.free else found

    def bounds(self, w: Vector) -> tuple[Vector, Vector]:
        """Between which each weight may move: to 0, if there is a kink, and as far as the model is trusted."""
        of, at = self.at.model, self.at
        kink = np.append(of.l1[self.support] > 0, np.zeros(self.free, bool))
        start = np.append(at.start[self.support], w[len(self.support) :])
        reach = np.append(of.reach[self.features], np.full(self.free, LARGEST_MOVE))
        low = np.where(kink & (w > 0), np.maximum(start - reach, 0.0), start - reach)
        return low, np.where(kink & (w < 0), np.minimum(start + reach, 0.0), start + reach)

    def solved(self, target: Vector, products: int) -> Vector:
        """H⁻¹·target by so many steps of conjugate gradients at most, preconditioned by the diagonal."""
        found, residual = np.zeros_like(target), target.copy()
        z = residual / self.diagonal
        p, rz = z.copy(), float(residual @ z)
        enough = FORCING**2 * rz
        for _ in range(products):
            Hp = self.slopes(self.margins(p)) + self.l2 * p
            pHp = float(p @ Hp)
            if pHp <= 0.0:
                break
            found += rz / pHp * p
            residual -= rz / pHp * Hp
            z = residual / self.diagonal
            rz, last = float(residual @ z), rz
            if rz <= enough:
                break
            p = z + rz / last * p
        return found
