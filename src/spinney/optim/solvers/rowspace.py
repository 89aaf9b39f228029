"""L-BFGS for a ridge on more features than examples, on coordinates of the examples.

The gradient of a linear loss is a combination of the rows of X, and that of a ridge is a multiple of w. So every point
and every gradient of L-BFGS is w = Xᵀa + α·w₀: n + 1 numbers per output where w has p. The vectors of the method shrink
by p/n, whereas its steps stay the same. Next to its coordinates, each vector keeps its *image*, the inner products with
the rows of X and with w₀. Images give inner products of vectors and, since they are linear, the margins at each trial
of the line search, which then costs no product with X. An iteration takes two: Xᵀr and X·g.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.penalties import L2
from spinney.optim.problem import Monitor, Problem, largest
from spinney.optim.solvers.lbfgs import History, lbfgs

TIMES = 2  # more features per example than this make the detour worthwhile
LOOK = 5  # iterations between two looks of the monitor, which wants w
ARMIJO, WOLFE = 1e-4, 0.5
TRIALS = 40


def lies_in_row_space(problem: Problem) -> bool:
    """Whether this is a ridge on a linear loss with many more features than examples."""
    loss, inner = problem.loss, problem.inner
    wide = isinstance(loss, LinearLoss) and loss.p >= TIMES * loss.n
    return wide and type(inner) is L2 and inner.lam > 0


class PairHistory(History):
    """A history whose vectors are coordinates followed by their image, under the inner product of the weights."""

    def __init__(self, n: int, memory: int) -> None:
        super().__init__(2 * n, memory)
        self.half, self.lean = n, False

    @property
    def _filled(self) -> tuple[slice, slice]:
        """Where there are steps and changes of the gradient: slots fill up in order, and a short path fills few."""
        return slice(0, len(self.order)), slice(self.m, self.m + len(self.order))

    def project(self, g: Vector) -> Vector:
        found = np.zeros(2 * self.m)
        for some in self._filled:
            found[some] = self.vectors[some, : self.half] @ g[self.half :]
        return found

    def direction(self, delta: Vector, g: Vector) -> Vector:
        """The vector that has these coefficients."""
        steps, changes = self._filled
        found: Vector = delta[steps] @ self.vectors[steps]
        found += delta[changes] @ self.vectors[changes]
        found += delta[-1] * g
        return found

    def _products(self, g: Vector, new: Vector) -> Vector:
        y, n = new - g, self.half
        return np.array([y[:n] @ y[n:], g[:n] @ new[n:], new[:n] @ new[n:]])


class RowSpace:
    """The problem in coordinates (a, α, b) with a row per example, one for w₀ and one for the intercepts."""

    def __init__(self, problem: Problem, w: Vector) -> None:
        loss: Any = problem.loss
        self.loss, self.lam = loss, float(problem.inner.lam)
        self.n, self.p, self.K = loss.n, loss.p, loss.n_outputs
        self.shape = (self.n + 1 + loss.intercept, self.K)
        self.size = self.shape[0] * self.K
        W = w.reshape(-1, self.K)
        self.w0 = W[: self.p]
        self.warm = bool(self.w0.any())
        start = np.zeros(self.shape)
        start[self.n] = 1.0
        if loss.intercept:
            start[-1] = W[-1]
        self.start = self._pair(start, self.w0)

    def _pair(self, coordinates: Vector, weights: Vector) -> Vector:
        """Coordinates and, behind them, their image; ``weights`` are what they stand for."""
        image = np.empty(self.shape)
        image[: self.n] = self.loss.X @ weights
        image[self.n] = np.einsum("jk,jk->k", self.w0, weights) if self.warm else 0.0
        if self.loss.intercept:
            image[-1] = coordinates[-1]
        return np.concatenate([coordinates.ravel(), image.ravel()])

    def _weights(self, coordinates: Vector) -> Vector:
        found: Vector = self.loss.X.T @ coordinates[: self.n]
        if self.warm:
            found += coordinates[self.n] * self.w0
        return found

    def _margins(self, image: Vector) -> Vector:
        m = image[: self.n] + image[-1] if self.loss.intercept else image[: self.n]
        return m[:, 0] if self.K == 1 else m

    def split(self, pair: Vector) -> tuple[Vector, Vector]:
        """Coordinates and image, as matrices."""
        return pair[: self.size].reshape(self.shape), pair[self.size :].reshape(self.shape)

    def values(self, pair: Vector) -> tuple[float, Vector, float]:
        """The loss, its derivative in the margins, and ½λ‖w‖²."""
        coordinates, image = self.split(pair)
        value, r = self.loss.pointwise(self._margins(image), self.loss.y, self.loss.sample_weight)
        k = self.n + 1
        return value, r.reshape(self.n, self.K), 0.5 * self.lam * float(np.vdot(coordinates[:k], image[:k]))

    def gradient(self, pair: Vector, r: Vector) -> tuple[Vector, Vector, Vector]:
        """The gradient of the objective: as a pair, in the weights, and in the intercepts."""
        coordinates, _ = self.split(pair)
        found = np.empty(self.shape)
        found[: self.n] = r + self.lam * coordinates[: self.n]
        found[self.n] = self.lam * coordinates[self.n]
        if self.loss.intercept:
            found[-1] = r.sum(axis=0)
        weights = self._weights(found)
        return self._pair(found, weights), weights, found[self.n + 1 :]

    def point(self, pair: Vector) -> Vector:
        """The weights and intercepts."""
        coordinates, _ = self.split(pair)
        return joined(self._weights(coordinates), coordinates[self.n + 1 :])

    def slope(self, pair: Vector, r: Vector, direction: Vector) -> float:
        """The derivative of the objective along a direction."""
        coordinates, _ = self.split(pair)
        _, image = self.split(direction)
        k = self.n + 1
        along = float(np.vdot(r, image[: self.n])) + self.lam * float(np.vdot(coordinates[:k], image[:k]))
        return along + (float(r.sum(axis=0) @ image[-1]) if self.loss.intercept else 0.0)


def joined(weights: Vector, intercepts: Vector) -> Vector:
    """Weights and intercepts in one vector."""
    return np.concatenate([weights.ravel(), intercepts.ravel()])


def quasi_newton(
    problem: Problem, w: Vector, monitor: Monitor, *, memory: int | None = None, in_place: bool = False
) -> Vector:
    """Limited-memory BFGS: on the weights or, for a ridge on many features of few examples, on those of the examples.

    ``memory`` is how many past steps are kept, and ``in_place`` lets the caller's weights move; see
    :func:`spinney.optim.solvers.lbfgs.lbfgs`.
    """
    if not lies_in_row_space(problem):
        return lbfgs(problem, w, monitor, memory=memory, in_place=in_place)
    return row_space_lbfgs(problem, w, monitor, memory or 20)


def row_space_lbfgs(problem: Problem, w: Vector, monitor: Monitor, memory: int = 20) -> Vector:
    """L-BFGS on the coordinates of the examples; see above."""
    space = RowSpace(problem, w)
    history = PairHistory(space.size, memory)
    at = space.start
    value, r, ridge = space.values(at)
    g, *full = space.gradient(at, r)
    history.start(g)
    iteration, stuck = 0, False
    while True:
        near = max(map(largest, full)) <= monitor.absolute_tol
        if near or stuck or iteration % LOOK == 0 or iteration >= monitor.max_iter:
            w, residual = space.point(at), joined(*full)
            if monitor(w, value, residual, residual=residual, iteration=iteration) or stuck:
                break
        delta = history.coefficients()
        slope = float(delta @ history.dots[-1])
        if not history.order or slope >= 0:
            history.forget()
            delta[:] = 0.0
            delta[-1] = -1.0
            slope = -float(history.dots[-1, -1])
        step = 1.0 if history.order else min(1.0, 1.0 / max(float(np.sqrt(-slope)), 1e-300))
        direction = history.direction(delta, g)
        found = _line_search(space, at, direction, value + ridge, slope, step)
        if found is None:
            stuck = not history.order  # rounding has the last word
            history.forget()
            continue
        step, at, (value, r, ridge) = found
        new, *full = space.gradient(at, r)
        _, arrival = history.ahead(delta, g, new)
        history.remember(step, delta, g, new, arrival, direction)
        g = new
        iteration += 1
    # What the monitor was given is the gradient of the whole objective; it is to keep that of the loss.
    k = problem.n_penalised
    monitor.grad = monitor.grad.copy()
    monitor.grad[:k] -= space.lam * monitor.w[:k]
    return w


def _line_search(
    space: RowSpace, at: Vector, direction: Vector, objective: float, slope: float, step: float
) -> tuple[float, Vector, tuple[float, Vector, float]] | None:
    """A step for which the objective has fallen enough and the slope has flattened: secants between bounds."""
    low, high = (0.0, slope), (np.inf, 0.0)
    for _ in range(TRIALS):
        there = at + step * direction
        value, r, ridge = space.values(there)
        ahead = space.slope(there, r, direction)
        if not value + ridge <= objective + ARMIJO * step * slope + 1e-14 * abs(objective):
            high = (step, ahead)
        elif abs(ahead) <= -WOLFE * slope:
            return step, there, (value, r, ridge)
        elif ahead > 0:
            high = (step, ahead)
        else:
            low = (step, ahead)
        if np.isinf(high[0]):
            step = 4.0 * low[0]
            continue
        (a, da), (b, db) = low, high
        share = da / (da - db) if np.isfinite(db) and db > 0 else 0.5
        step = a + min(max(share, 0.1), 0.9) * (b - a)
        if b - a < 1e-15 * b:
            break
    return None
