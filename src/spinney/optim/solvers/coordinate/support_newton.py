"""Newton's method on the support, where the norms of overlapping groups are smooth.

Coordinate descent is slow where many frequent words hold each other in the same groups: conjugate gradients see them
all at once. A weight that would change its sign stops at 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.optim.base import Vector
from spinney.optim.solvers.coordinate.columns import ColumnDesign, Columns

MAX_PRODUCTS = 100  # of conjugate gradients
FORCING = 0.05  # how far they reduce the residual
HALVINGS = 6


@dataclass
class SupportModel:
    """The quadratic model of a loss with one margin an example, plus Σ_g λ_g‖w_g‖ + l1‖w‖₁ + ½l2‖w‖².

    ``w`` (with the intercept last), ``q`` (the derivative of the model in the margins) and ``groups`` (their state, see
    :mod:`spinney.optim.solvers.coordinate._overlap_kernels`) are kept up to date.
    """

    design: ColumnDesign
    intercept: bool
    w: Vector
    h: Vector
    q: Vector
    groups: Vector
    held_ptr: NDArray[np.int64]
    held_by: NDArray[np.int32]
    l1: float
    l2: float

    def step(self, support: Columns) -> bool:
        """One Newton step on these coordinates, none of which is 0; whether it got anywhere."""
        from spinney.optim.solvers.coordinate._overlap_kernels import group_diagonals

        if not len(support):
            return False
        old = self.w[support]
        pull, loose = group_diagonals(support, self.groups, self.held_ptr, self.held_by)
        gradient = self._pulled_back(support, self.q)
        gradient[: len(support)] += (self.l2 + pull) * old + self.l1 * np.sign(old)
        direction = self._newton_direction(support, old, gradient, pull, loose)
        return self._walk(support, old, gradient, direction)

    def _pulled_back(self, support: Columns, q: Vector) -> Vector:
        from spinney.optim.solvers.coordinate._kernels import column_slopes

        slopes = column_slopes(*self.design.arrays, support, q)
        return np.append(slopes, q.sum()) if self.intercept else np.asarray(slopes)

    def _margins(self, support: Columns, v: Vector) -> Vector:
        from spinney.optim.solvers.coordinate._kernels import move_along_columns

        out = np.full(len(self.q), v[-1] if self.intercept else 0.0)
        move_along_columns(*self.design.arrays, support, v[: len(support)], np.ones(len(self.q)), out)
        return out

    def _newton_direction(
        self, support: Columns, w: Vector, gradient: Vector, pull: Vector, loose: Vector
    ) -> Vector:
        """−H⁻¹·gradient by conjugate gradients, preconditioned by the diagonal."""
        from spinney.optim.solvers.coordinate._kernels import column_curvatures
        from spinney.optim.solvers.coordinate._overlap_kernels import less_radial_part

        k = len(support)
        radial = np.zeros(len(self.groups))
        curvature = column_curvatures(*self.design.arrays, support, self.h) + self.l2
        diagonal = curvature + np.maximum(pull - loose * w**2, 0.0)
        if self.intercept:
            diagonal = np.append(diagonal, self.h.sum())
        diagonal = np.maximum(diagonal, 1e-12)

        def product(v: Vector) -> Vector:
            out = self._pulled_back(support, self.h * self._margins(support, v))
            part = (self.l2 + pull) * v[:k]
            less_radial_part(support, w, v[:k], self.groups, self.held_ptr, self.held_by, radial, part)
            out[:k] += part
            return out

        direction, residual = np.zeros_like(gradient), -gradient
        z = residual / diagonal
        p, rz = z.copy(), float(residual @ z)
        enough = FORCING**2 * rz
        for _ in range(MAX_PRODUCTS):
            Hp = product(p)
            pHp = float(p @ Hp)
            if pHp <= 0.0:
                break
            direction += rz / pHp * p
            residual -= rz / pHp * Hp
            z = residual / diagonal
            rz, last = float(residual @ z), rz
            if rz <= enough:
                break
            p = z + rz / last * p
        return direction

    def _walk(self, support: Columns, old: Vector, gradient: Vector, direction: Vector) -> bool:
        """Take as much of the direction as lowers the model."""
        from spinney.optim.solvers.coordinate._overlap_kernels import set_groups

        k, features = len(support), len(self.held_ptr) - 1
        before = self._penalty(self.groups, old)
        w, groups = self.w.copy(), self.groups.copy()
        size = 1.0
        for _ in range(HALVINGS):
            new = old + size * direction[:k]
            new[new * old < 0] = 0.0
            w[support] = new
            change = np.append(new - old, size * direction[k:])
            margins = self._margins(support, change)
            set_groups(groups, w[:features], self.held_ptr, self.held_by, 1)
            after = self._penalty(groups, new)
            gain = float(self.q @ margins) + 0.5 * float(self.h @ margins**2) + after - before
            if gain <= 1e-4 * size * float(gradient @ direction):
                self.w[support] = new
                if self.intercept:
                    self.w[-1] += change[-1]
                self.q += self.h * margins
                self.groups[:] = groups
                return True
            size /= 2
        return False

    def _penalty(self, groups: Vector, w: Vector) -> float:
        """Of weights that are ``w`` on the support: what lies elsewhere does not change."""
        from spinney.optim.solvers.coordinate._overlap_kernels import SQUARE, STRENGTH

        norms = groups[:, STRENGTH] @ np.sqrt(groups[:, SQUARE])
        return float(norms) + self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)
