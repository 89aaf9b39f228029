"""Elastic-net models of losses with one margin an example (squared, logistic)."""

from __future__ import annotations

import numpy as np
import scipy

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.problem import Problem
from spinney.optim.solvers.coordinate.columns import NEVER, ColumnDesign, Columns
from spinney.optim.solvers.coordinate.model import (
    MAX_PASSES,
    Point,
    strengths,
    support_and_violators,
)

PASSES = 5  # over the support, before conjugate gradients take over
PRODUCTS, HALVINGS = 50, 4  # of conjugate gradients, and of the step that they find
#: How large a Gram matrix may be, in entries of its columns: of dense ones it is a fast matrix product; of sparse ones
#: it should be small, unless conjugate gradients have come to no end.
LARGE, SMALL = 8, 1
TURNS = 10  # of descent on the Gram matrix and steps on the face
NEARLY_SINGULAR = 1e-12  # of the diagonal, added where columns explain each other


class ElasticNetModel:
    """One margin an example (squared, logistic), units are coordinates.

    Between passes over the working set its non-zero part is iterated alone: where its Gram matrix is small, on that
    matrix, once passes over the columns have taken as long as computing it would; else by passes and a Newton step.
    """

    def __init__(self, problem: Problem, loss: LinearLoss) -> None:
        self.loss = loss
        self.l1, self.l2, self.tilt = strengths(problem)
        self.design = ColumnDesign.of(loss)
        self.room = SMALL if self.design.dense is None else LARGE

    def working_set(self, w: Vector, residual: Vector) -> Columns:
        return support_and_violators(w, np.abs(residual))

    def minimise(self, point: Point, grad: Vector, working: Columns, tol: float) -> tuple[Vector, Vector]:
        from spinney.optim.solvers.coordinate._kernels import column_curvatures, elastic_net_passes

        h = self.loss.curvature(point.margins)
        q, w = point.r.copy(), point.w.copy()
        curvature = column_curvatures(*self.design.arrays, working, h) + self.l2[working]
        strength = (self.l1, self.l2, self.tilt, float(h.sum()) if self.loss.intercept else 0.0)

        def descend(columns: Columns, curvature: Vector, max_passes: int) -> bool:
            point = (columns, curvature, w, h, q)
            return bool(elastic_net_passes(*self.design.arrays, *point, *strength, tol, max_passes) <= tol)

        for _ in range(MAX_PASSES):
            if descend(working, curvature, 1):
                break
            active = w[working] != 0
            support = working[active]
            worth = self.design.passes_worth_a_gram_matrix(support, self.room)
            if descend(support, curvature[active], worth if worth < NEVER else PASSES):
                continue
            if worth < NEVER:
                self._descend_on_gram(support, w, h, q, tol)
            else:
                active = w[working] != 0
                if not self._step_on_face(working[active], curvature[active], w, h, q, tol):
                    self.room = LARGE
        return w, self.design.change_of_margins(working, w - point.w, self.loss.intercept)

    def _descend_on_gram(self, support: Columns, w: Vector, h: Vector, q: Vector, tol: float) -> None:
        from spinney.optim.solvers.coordinate._kernels import (
            column_slopes,
            gram_descent,
            move_along_columns,
            move_intercept,
        )

        G = self.design.gram(support, h)
        slope = column_slopes(*self.design.arrays, support, q) + self.tilt[support]
        coordinates, l1, l2 = w[support], self.l1[support], self.l2[support]
        if self.loss.intercept:
            cross = column_slopes(*self.design.arrays, support, h)
            G = np.block([[G, cross[:, None]], [cross[None, :], np.array([[h.sum()]])]])
            slope, coordinates = np.append(slope, q.sum()), np.append(coordinates, w[-1])
            l1, l2 = np.append(l1, 0.0), np.append(l2, 0.0)
        for _ in range(TURNS):
            if gram_descent(G, slope, coordinates, l1, l2, 0.3 * tol, MAX_PASSES // TURNS):
                break
            _newton_on_face(G, slope, coordinates, l1, l2)
        move_along_columns(*self.design.arrays, support, coordinates[: len(support)] - w[support], h, q)
        w[support] = coordinates[: len(support)]
        if self.loss.intercept:
            move_intercept(coordinates[-1] - w[-1], h, q)
            w[-1] = coordinates[-1]

    def _step_on_face(
        self, support: Columns, curvature: Vector, w: Vector, h: Vector, q: Vector, tol: float
    ) -> bool:
        """A Newton step of the weights that are not 0, and of the intercept: none changes its sign, but stops at 0.

        Descent needs the more passes the more these weights hold each other; conjugate gradients see them all at once.
        False if they did not come to an end, as where columns nearly explain each other.
        """
        from spinney.optim.solvers.coordinate._face_kernels import (
            face_margins,
            face_slopes,
            newton_direction,
        )

        place, free = (*self.design.arrays, support), int(self.loss.intercept)
        l1, l2 = np.append(self.l1[support], np.zeros(free)), np.append(self.l2[support], np.zeros(free))
        old, sign = np.append(w[support], w[len(w) - free :]), np.append(np.sign(w[support]), np.zeros(free))
        gradient = np.empty(len(old))
        face_slopes(*place, q, gradient)
        gradient += l2 * old + l1 * sign
        gradient[: len(support)] += self.tilt[support]
        diagonal = np.maximum(np.append(curvature, np.full(free, h.sum())), 1e-300)
        direction = np.zeros(len(old))
        products = newton_direction(*place, h, l2, diagonal, gradient, direction, tol, PRODUCTS)
        kinked, margins = l1 > 0, np.empty(len(h))
        # Weights that stop may turn a step uphill; one that ends where the first of them stops cannot.
        stops = kinked & (old * direction < 0)
        room = float(np.min(-old[stops] / direction[stops], initial=1.0))
        for size in (*0.5 ** np.arange(HALVINGS), room):
            new = old + size * direction
            new[kinked & (new * old <= 0)] = 0.0
            change = new - old
            face_margins(*place, change, margins)
            slope = float(gradient @ change)
            # On its face the penalty is a parabola, so that the model is one, too.
            if slope + 0.5 * float(h @ margins**2) + 0.5 * float(l2 @ change**2) <= 1e-4 * slope <= 0.0:
                w[support] = new[: len(support)]
                w[len(w) - free :] = new[len(support) :]
                q += h * margins
                break
        return bool(products < PRODUCTS)


def _newton_on_face(G: Vector, slope: Vector, w: Vector, l1: Vector, l2: Vector) -> None:
    """Move ``w`` to the minimum of the model among weights of the same signs, or to the first that becomes zero.

    Columns that nearly explain each other make descent crawl along a valley; on the face, the model is a linear system.
    ``slope`` stays the gradient of the model's smooth part but for the ridge, as in ``gram_descent``.
    """
    free = np.flatnonzero((w != 0) | (l1 == 0))
    if not len(free):
        return
    uphill = slope[free] + l2[free] * w[free] + l1[free] * np.sign(w[free])
    own = G[np.ix_(free, free)]
    own[np.diag_indices_from(own)] += l2[free] + NEARLY_SINGULAR * np.diag(own)
    try:
        # By its factors: `solve` would warn of a condition that is known, and made harmless above.
        factors = scipy.linalg.cho_factor(own, check_finite=False)
        move = -scipy.linalg.cho_solve(factors, uphill, check_finite=False)
    except (scipy.linalg.LinAlgError, ValueError):
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        until_zero = np.where((l1[free] > 0) & (w[free] * move < 0), -w[free] / move, np.inf)
    nearest = int(np.argmin(until_zero))
    share = min(1.0, float(until_zero[nearest]))
    w[free] += share * move
    if until_zero[nearest] <= 1.0:
        w[free[nearest]] = 0.0
    slope += G[:, free] @ (share * move)
