"""Trace Lasso and its family Ω_P: the nuclear norm of a matrix whose columns are weighted by w."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays, Penalty, Vector, checked_strength
from spinney.optim.penalties.groups import checked_groups, disjoint_labels
from spinney.optim.penalties.matrix import Matrix, nuclear_norm, operator_norm, range_and_complement

# Solvers of trace Lasso problems take it from here.
from spinney.optim.penalties.matrix import shrink_singular_values as shrink_singular_values

MAX_ITER = 20_000
ROUGHLY = 0.1  # share of itself to which a rough residual is known


class DualBounds(NamedTuple):
    """lower ≤ Ω*(u) ≤ upper ≤ loose (Grave 2014, Prop. 5)."""

    lower: float
    upper: float
    loose: float


class TraceLasso(Penalty):
    """λΩ_P(w) = λ‖P Diag(w)‖_*: adapts to correlation, between ℓ1 (orthogonal columns) and ℓ2 (equal columns).

    With P = X, the design with columns of unit norm, it is the trace Lasso (Grave 2014, ch. 7): a convex surrogate
    of the rank of the selected predictors. Only PᵀP matters (Prop. 3), and ‖w‖₂ ≤ Ω_P(w) ≤ ‖w‖₁ for unit columns
    (Prop. 4). Columns are used as given: their norms are weights. A zero column is not penalised.

    Prox and residual are projections on {diag(PᵀZ) : ‖Z‖_op ≤ κ} and on a face of it, by an accelerated projected
    gradient method with restarts; each iteration takes one singular value decomposition. They stop at a relative
    duality gap of 1e-13 and a change of 1e-12.

    Parameters
    ----------
    lam : float
    P : array of shape (k, n)

    Examples
    --------
    >>> w = np.array([3.0, -4.0])
    >>> round(TraceLasso(1.0, np.eye(2)).value(w), 12), round(TraceLasso(1.0, np.ones((1, 2))).value(w), 12)
    (7.0, 5.0)
    """

    name: ClassVar[str] = "trace Lasso"
    key: ClassVar[str] = "trace"
    own_structure = "columns"

    def __init__(self, lam: float, P: ArrayLike) -> None:
        self.lam = checked_strength("lam", lam)
        self.P = np.ascontiguousarray(P, dtype=np.float64)
        if self.P.ndim != 2 or not np.all(np.isfinite(self.P)):
            raise OptionError("P must be a matrix of finite numbers")
        k, n = self.P.shape
        # Prop. 3: any root of the Gram matrix serves, and a tall P has a smaller one.
        self._root: Matrix = np.asarray(np.linalg.qr(self.P, mode="r")) if k > n else self.P
        self._squares = np.einsum("ki,ki->i", self.P, self.P)

    @classmethod
    def from_gram(cls, lam: float, gram: ArrayLike) -> Self:
        """From PᵀP alone.

        Examples
        --------
        >>> round(TraceLasso.from_gram(1.0, np.ones((2, 2))).value(np.array([3.0, -4.0])), 12)
        5.0
        """
        s, V = np.linalg.eigh(np.asarray(gram, dtype=np.float64))
        if np.any(s < -1e-10 * np.abs(s).max(initial=0.0)):
            raise OptionError(
                f"a Gram matrix is positive semi-definite; the smallest eigenvalue is {s.min():g}"
            )
        return cls(lam, np.sqrt(np.maximum(s, 0.0))[:, None] * V.T)

    @classmethod
    def l1(cls, lam: float, n: int) -> Self:
        """P = I: the ℓ1 norm."""
        return cls(lam, np.eye(n))

    @classmethod
    def l2(cls, lam: float, n: int) -> Self:
        """P = 1ᵀ: the ℓ2 norm (not squared). The thesis prints 1ᵀ/√n, which gives ‖w‖₂/√n."""
        return cls(lam, np.ones((1, n)))

    @classmethod
    def group(cls, lam: float, groups: GroupArrays) -> Self:
        """Σ_g weights_g‖w_g‖₂ over disjoint groups: a row for each group, constant on its members.

        Examples
        --------
        >>> from spinney.optim.penalties import FlatGroups
        >>> penalty = TraceLasso.group(1.0, FlatGroups.of([[0, 1], [2]], n_features=3))
        >>> round(penalty.value(np.array([3.0, 4.0, 1.0])), 12)
        6.0
        """
        flat = checked_groups(groups)
        group_of = disjoint_labels(flat)
        P = np.where(group_of == np.arange(flat.weights.size)[:, None], flat.weights[:, None], 0.0)
        return cls(lam, P)

    @property
    def gram(self) -> Matrix:
        """PᵀP, which is all that Ω_P depends on."""
        return self.P.T @ self.P

    def value(self, w: Vector) -> float:
        return self.lam * nuclear_norm(self._root * w)

    def subgradient(self, w: Vector) -> Vector:
        """One element of ∂λΩ_P(w): λ·diag(PᵀUVᵀ), where P Diag(w) = U S Vᵀ (Prop. 6, with M = 0)."""
        U, V, _, _ = range_and_complement(self._root * w)
        return self.lam * _diagonal(self._root, U, V)

    def prox(self, w: Vector, step: float) -> None:
        """Entries that come out under 1e-9 of the largest, or with the wrong sign, are zeros but for rounding."""
        u = _outside(w, self._root, np.eye(w.size), step * self.lam, float(self._squares.max(initial=0.0)))
        largest = np.max(np.abs(w), initial=0.0)
        w[:] = np.where((u * w > 0) & (np.abs(u) > 1e-9 * largest), u, 0.0)

    def residual(self, w: Vector, grad: Vector, accuracy: float = 0.0) -> Vector:
        """Smallest over the free multiplier M of Prop. 6: ‖M‖_op ≤ 1, UᵀM = 0, MV = 0.

        With an ``accuracy`` it is known to that or to a tenth of itself: the result is in ``grad + ∂λΩ(w)``, and so
        an upper bound of the violation, but not its smallest element.
        """
        U, V, U0, V0 = range_and_complement(self._root * w)
        fixed = grad + self.lam * _diagonal(self._root, U, V)
        curvature = float(self._squares.max(initial=0.0))
        return _outside(fixed, U0.T @ self._root, V0, self.lam, curvature, accuracy)

    def dual_bounds(self, u: Vector) -> DualBounds:
        """Bounds of the dual norm Ω*_P(u), which has no closed form (Prop. 5, for columns of any norm).

        Examples
        --------
        >>> [round(b, 12) for b in TraceLasso.l1(1.0, 2).dual_bounds(np.array([3.0, -4.0]))]
        [4.0, 4.0, 4.0]
        """
        held = self._squares > 0
        squares, root = self._squares[held], self._root[:, held]
        scaled = u[held] / squares
        return DualBounds(
            float(np.max(np.abs(scaled) * np.sqrt(squares), initial=0.0)),
            operator_norm(root * scaled),
            operator_norm(root) * float(np.max(np.abs(scaled), initial=0.0)),
        )

    def bound(self, rest: float, grad: Vector, residual: Vector) -> float:
        if self.lam == 0 or np.any(grad[self._squares == 0] != 0):  # weights without a penalty: no bound
            return -np.inf
        # The dual norm itself has no formula; but that of grad − residual is at most λ, so the residual's is enough.
        return max(0.0, rest * self.lam / (self.lam + self.dual_bounds(residual).upper))

    def lambda_max(self, grad: Vector) -> float:
        """‖P Diag(grad)‖_op (for unit columns): an upper bound. w = 0 is optimal there, and perhaps already below."""
        return self.dual_bounds(grad).upper


def _outside(
    c: Vector, A: Matrix, B: Matrix, radius: float, curvature: float, accuracy: float = 0.0
) -> Vector:
    """c less its projection on {z : z_i = a_iᵀZb_i, ‖Z‖_op ≤ radius}, a_i the columns of A and b_i the rows of B.

    FISTA on ½‖c − z‖² over Z, restarted when it turns back. ``curvature`` bounds the square of the map Z → z. The
    error is at most √2 times that of the duality gap; with an ``accuracy``, that is enough.
    """
    if radius == 0 or curvature == 0 or A.shape[0] == 0 or B.shape[1] == 0:
        return c.copy()
    scale = float(np.max(np.abs(c), initial=0.0))
    rounding = 1e-13 * scale * max(scale, radius * float(np.sqrt(curvature)))
    Z = Y = np.zeros((A.shape[0], B.shape[1]))
    momentum, before = 1.0, c
    for iteration in range(MAX_ITER):
        slope = (A * (c - _diagonal(A, Y, B))) @ B
        U, s, Vt = np.linalg.svd(Y + slope / curvature, full_matrices=False)
        new = (U * np.minimum(s, radius)) @ Vt
        if np.sum((Y - new) * (new - Z)) > 0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        Y = new + (momentum - 1.0) / following * (new - Z)
        Z, momentum = new, following
        if iteration % 10 == 9:
            z = _diagonal(A, Z, B)
            rest = c - z
            reach = radius * nuclear_norm((A * rest) @ B)
            error = np.sqrt(2.0 * max(reach - float(rest @ z), 0.0))
            if accuracy > 0 and error <= max(accuracy, ROUGHLY * float(np.max(np.abs(rest)))):
                break
            settled = np.max(np.abs(rest - before)) <= 1e-12 * scale
            if settled and reach - float(rest @ z) <= max(1e-13 * reach, rounding):
                break
            before = rest
    return c - _diagonal(A, Z, B)


def _diagonal(A: Matrix, Z: Matrix, B: Matrix) -> Vector:
    """a_iᵀZb_i for each i."""
    product: Vector = np.einsum("ki,ki->i", A, Z @ B.T)
    return product
