"""Limited-memory BFGS whose vectors are touched twice an iteration (Chen, Wang & Zhou 2014).

The two-loop recursion only ever adds multiples of the last steps s, the gradient changes y and the gradient g. So it
can run on *coefficients*: all it needs to know are the inner products of these 2m + 1 vectors, and of those only the
ones with the new gradient have to be computed. What remains is one pass over the vectors for these products and one to
add the vectors up. Large problems keep s and y in single precision, and share the passes among threads.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.smooth import Smooth
from spinney.parallel import map_reduce

LARGE = 1 << 20  # coordinates from which on the history is kept in single precision
ARMIJO, WOLFE = 1e-4, 0.9
_PARTS = 16  # of the vectors, which threads share


class Arrival(NamedTuple):
    """Inner products with the gradient at the end of a step."""

    against: Vector  # with the vectors of the history
    change: float  # y·y
    crossed: float  # g·new
    square: float  # new·new


class History:
    """The last m steps and gradient changes, and the inner products of them all and of the gradient."""

    def __init__(self, n: int, memory: int, threads: int = 1) -> None:
        self.m = memory
        self.lean = n >= LARGE
        self.vectors = np.zeros((2 * memory, n), np.float32 if self.lean else np.float64)  # s…, y…
        self.dots = np.zeros((2 * memory + 1, 2 * memory + 1))
        self.order: list[int] = []  # slots, oldest first
        self.threads = threads
        # Always as many, so that sums over the parts have the same bits on any number of threads.
        cuts = np.linspace(0, n, _PARTS + 1).astype(np.int64).tolist()
        self.parts = list(pairwise(cuts))

    def _over_parts(self, kernel: Callable[..., None], size: int, *arguments: Any) -> Vector:
        """Run a kernel on all parts of the vectors, and add up the ``size`` sums that each part gives."""

        def one(part: tuple[int, int]) -> Vector:
            out = np.zeros(size)
            kernel(*part, *arguments, out)
            return out

        return map_reduce(one, self.parts, threads=self.threads)

    def project(self, g: Vector) -> Vector:
        """The inner product of every vector with g."""
        if not self.lean:
            return np.asarray(self.vectors @ g)
        from spinney.optim.solvers._lbfgs_kernels import project

        return self._over_parts(project, 2 * self.m, self.vectors, g)

    def start(self, g: Vector) -> None:
        """Take g as the gradient; the vectors are unchanged."""
        self.dots[-1, :-1] = self.dots[:-1, -1] = self.project(g)
        self.dots[-1, -1] = self._products(g, g)[-1]

    def coefficients(self) -> Vector:
        """The quasi-Newton direction −H·g as coefficients of the vectors and, last, of g."""
        delta = np.zeros(2 * self.m + 1)
        delta[-1] = -1.0
        dots, m = self.dots, self.m
        kept = {}
        for i in reversed(self.order):
            kept[i] = (delta @ dots[i]) / dots[i, m + i]
            delta[m + i] -= kept[i]
        if self.order:
            last = self.order[-1]
            delta *= dots[last, m + last] / dots[m + last, m + last]
        for i in self.order:
            delta[i] += kept[i] - (delta @ dots[m + i]) / dots[i, m + i]
        return delta

    def move(self, w: Vector, step: float, delta: Vector, g: Vector) -> None:
        """Add step·direction to w, in place, the direction given by its coefficients."""
        if not self.lean:
            w += step * (delta[:-1] @ self.vectors + delta[-1] * g)
            return
        from spinney.optim.solvers._lbfgs_kernels import move

        self._over_parts(move, 1, self.vectors, step * delta, g, w)

    def ahead(self, delta: Vector, g: Vector, new: Vector) -> tuple[float, Arrival]:
        """The slope along the direction where the gradient is ``new``, and the inner products that tell it."""
        arrival = Arrival(self.project(new), *self._products(g, new).tolist())
        return float(delta[:-1] @ arrival.against + delta[-1] * arrival.crossed), arrival

    def remember(
        self,
        step: float,
        delta: Vector,
        g: Vector,
        new: Vector,
        arrival: Arrival,
        direction: Vector | None = None,
    ) -> None:
        """Add the step just taken, s = step·direction, and the change y of the gradient from g to ``new``.

        A caller that has the direction itself, and not just its coefficients, saves a pass over the vectors.
        """
        m, dots = self.m, self.dots
        along, before = step * (delta @ dots), dots[-1].copy()
        ahead = step * float(delta[:-1] @ arrival.against + delta[-1] * arrival.crossed)  # s·new
        turned = ahead - float(along[-1])  # s·y
        slot = len(self.order) if len(self.order) < m else self.order[0]
        # Where the gradient has not changed but for rounding there is no curvature to learn from.
        curved = turned > 1e-12 * arrival.change and arrival.change > 1e-28 * arrival.square
        if curved:
            self.order = [*(i for i in self.order if i != slot), slot]
            if direction is None:
                self._store(step * delta, g, new, slot)
            else:
                self.vectors[slot], self.vectors[m + slot] = step * direction, new - g
        s_row, y_row, g_row = along[:-1].copy(), arrival.against - before[:-1], arrival.against.copy()
        if curved:
            s_row[slot], y_row[m + slot] = step * float(delta @ along), arrival.change
            s_row[m + slot] = y_row[slot] = turned
            g_row[slot], g_row[m + slot] = ahead, arrival.square - arrival.crossed
            dots[slot, :-1] = dots[:-1, slot] = s_row
            dots[m + slot, :-1] = dots[:-1, m + slot] = y_row
        dots[-1, :-1] = dots[:-1, -1] = g_row
        dots[-1, -1] = arrival.square

    def _products(self, g: Vector, new: Vector) -> Vector:
        """y·y, g·new, new·new, where y = new − g."""
        if not self.lean:
            y = new - g
            return np.array([y @ y, g @ new, new @ new])
        from spinney.optim.solvers._lbfgs_kernels import products

        return self._over_parts(products, 3, g, new)

    def _store(self, scaled: Vector, g: Vector, new: Vector, slot: int) -> None:
        if not self.lean:
            self.vectors[slot] = scaled[:-1] @ self.vectors + scaled[-1] * g
            self.vectors[self.m + slot] = new - g
            return
        from spinney.optim.solvers._lbfgs_kernels import store

        self._over_parts(store, 1, self.vectors, scaled, g, new, slot)

    def forget(self) -> None:
        """Start again from steepest descent."""
        self.order.clear()


def lbfgs(
    problem: Problem, w: Vector, monitor: Monitor, *, memory: int | None = None, in_place: bool = False
) -> Vector:
    """Limited-memory BFGS with a line search for the Wolfe conditions.

    ``memory`` is how many past steps are kept: 20, or 4 in single precision from a million coordinates on. Besides
    these, there are the weights, which move (those of the caller, if ``in_place``), and two gradients.
    """
    smooth = Smooth(problem)
    if memory is None:
        memory = 4 if len(w) >= LARGE else 20
    history = History(len(w), memory, getattr(problem.loss, "threads", 1))
    w = w if in_place else w.copy()
    value, g = smooth.in_place(w)
    history.start(g)
    try:
        while not monitor(w, value - smooth.inner.value(w[: smooth.k]), g, residual=g):
            delta = history.coefficients()
            slope = float(delta @ history.dots[-1])
            if not history.order or slope >= 0:
                history.forget()
                delta[:] = 0.0
                delta[-1] = -1.0
                slope = -float(history.dots[-1, -1])
            if slope == 0.0:
                break
            step = 1.0 if history.order else min(1.0, 1.0 / float(np.sqrt(-slope)))
            found = _line_search(smooth, history, w, value, delta, g, slope, step)
            if found is None:
                if not history.order:
                    break  # rounding has the last word
                history.forget()
                continue
            value, g = found
    finally:
        # What the monitor was given is the gradient of the whole objective; it is to keep that of the loss.
        monitor.grad = smooth.loss_gradient(monitor.w, monitor.grad)
    return w


def _line_search(
    smooth: Smooth,
    history: History,
    w: Vector,
    value: float,
    delta: Vector,
    g: Vector,
    slope: float,
    step: float,
) -> tuple[float, Vector] | None:
    """Move w by a step for which the objective has fallen enough and the slope has flattened, or leave it where it was.

    Bisection between bounds. Returns the objective and the gradient there.
    """
    low, high, at = 0.0, np.inf, 0.0
    new: Vector | None
    try:
        for _ in range(60):
            history.move(w, step - at, delta, g)
            at = step
            new = None  # room for the next
            reached, new = smooth.in_place(w)
            if not reached <= value + ARMIJO * step * slope + 1e-14 * abs(value):
                high = step
            else:
                ahead, arrival = history.ahead(delta, g, new)
                if ahead >= WOLFE * slope:
                    history.remember(step, delta, g, new, arrival)
                    return reached, new
                low = step
            step = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
            if high - low < 1e-15 * high:
                break
    except KeyboardInterrupt:
        history.move(w, -at, delta, g)
        raise
    history.move(w, -at, delta, g)
    return None
