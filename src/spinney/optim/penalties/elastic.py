"""Penalties that act on each coordinate alone: none, ℓ2², ℓ1, elastic net and ℓ0.

Two capabilities, found by attribute, let solvers do more than a prox step:

``grad(w)``
    the gradient, for penalties that are smooth everywhere (``NoPenalty``, ``L2`` and
    :class:`~spinney.optim.penalties.TimeSeries`);
``l1_l2(n)``
    the pair (l1, l2) for which the penalty is Σ l1_i|w_i| + ½·l2·‖w‖² on ``n`` coordinates; ``l1`` is a number or a
    vector (``NoPenalty``, ``L2``, ``L1``, ``ElasticNet``). Coordinate and quasi-Newton solvers work from these.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector, checked_strength

_ROUNDING = 1e-16


def soft_threshold(x: Vector, threshold: float | Vector) -> Vector:
    """sign(x)·max(|x| − threshold, 0), element by element.

    Examples
    --------
    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0).tolist()
    [2.0, 0.0, -1.0]
    """
    # x less its clipped self is exactly 0 inside the band, and never -0.0.
    return x - np.clip(x, -threshold, threshold)


def squared_norm(w: Vector) -> float:
    """‖w‖², in pieces: BLAS would wake its threads for a long vector, and wait for them longer than it computes.

    Examples
    --------
    >>> squared_norm(np.array([3.0, 4.0]))
    25.0
    """
    piece = 1 << 13
    return float(sum(w[i : i + piece] @ w[i : i + piece] for i in range(0, len(w), piece)))


def for_kernels(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """``values`` as kernels take them: of one type, contiguous, and writeable, or Numba would compile them anew."""
    return np.require(values, dtype, ["C", "W"])


def checked_weights(weights: ArrayLike, n: int | None = None, what: str = "weights") -> Vector:
    """``weights`` as a vector of finite numbers ≥ 0 (of length ``n``), or an OptionError."""
    checked = for_kernels(weights, np.float64)
    if checked.ndim != 1 or (n is not None and checked.size != n):
        raise OptionError(f"{what} must be a vector" + (f" of length {n}" if n is not None else ""))
    if not (np.all(np.isfinite(checked)) and np.all(checked >= 0)):
        raise OptionError(f"{what} must be finite and ≥ 0")
    return checked


def hardly_any(part: Vector, whole: Vector) -> bool:
    """Whether what a part of a vector has cannot be told from the rounding of the whole.

    Examples
    --------
    >>> hardly_any(np.array([1e-17, 0.0]), np.array([2.0, 1e-17, 0.0]))
    True
    """
    return bool(np.max(np.abs(part), initial=0.0) <= _ROUNDING * np.max(np.abs(whole), initial=0.0))


def ridge_bound(rest: float, square: float) -> float:
    """max over s in [0, 1] of s·rest − ½s²·square."""
    s = 1.0 if rest >= square else max(rest, 0.0) / square
    return s * rest - 0.5 * s * s * square


class NoPenalty(Penalty):
    """No penalty at all: λΩ = 0.

    Examples
    --------
    >>> NoPenalty().describe()
    'no penalty'
    """

    name: ClassVar[str] = "no penalty"
    key: ClassVar[str] = "none"
    separable: ClassVar[bool] = True
    makes_zeros = False

    def __init__(self, lam: float = 0.0) -> None:
        if lam != 0:
            raise OptionError(f"without a penalty there is no strength to set: lam must be 0, not {lam:g}")
        self.lam = 0.0

    def value(self, w: Vector) -> float:
        return 0.0

    def grad(self, w: Vector) -> Vector:
        """0."""
        return np.zeros_like(w)

    def prox(self, w: Vector, step: float) -> None:
        pass

    def residual(self, w: Vector, grad: Vector) -> Vector:
        return grad.copy()

    def lambda_max(self, grad: Vector) -> float:
        """0: there is no strength to vary."""
        return 0.0

    def with_lam(self, lam: float) -> Self:
        return type(self)(lam)

    def l1_l2(self, n: int) -> tuple[float, float]:
        """(0, 0)."""
        return 0.0, 0.0

    def describe(self) -> str:
        return self.name


class L2(Penalty):
    """½λ‖w‖², the squared ℓ2 norm (ridge), always with the factor ½.

    A paper that writes λ‖w‖² means ``L2(2 * lam)``.

    Examples
    --------
    >>> w = np.array([3.0, -1.0])
    >>> penalty = L2(2.0)
    >>> penalty.value(w)
    10.0
    >>> penalty.prox(w, step=1.0)
    >>> w.tolist()
    [1.0, -0.3333333333333333]
    """

    name: ClassVar[str] = "ℓ2²"
    key: ClassVar[str] = "l2"
    separable: ClassVar[bool] = True
    makes_zeros = False

    def __init__(self, lam: float) -> None:
        self.lam = checked_strength("lam", lam)

    def value(self, w: Vector) -> float:
        return 0.5 * self.lam * squared_norm(w)

    def grad(self, w: Vector) -> Vector:
        """λw."""
        return self.lam * w

    def prox(self, w: Vector, step: float) -> None:
        w /= 1.0 + step * self.lam

    def residual(self, w: Vector, grad: Vector) -> Vector:
        return grad + self.lam * w

    @property
    def ridge(self) -> float:
        return self.lam

    def bound(self, rest: float, grad: Vector, residual: Vector) -> float:
        return ridge_bound(rest, squared_norm(grad) / self.lam) if self.lam else -np.inf

    def lambda_max(self, grad: Vector) -> float:
        """Where a path may start: ‖grad‖∞. No finite strength makes w = 0 optimal unless the gradient is 0."""
        return float(np.max(np.abs(grad), initial=0.0))

    def l1_l2(self, n: int) -> tuple[float, float]:
        """(0, λ)."""
        return 0.0, self.lam


class WeightedL2(Penalty):
    """½λ Σ weights_i·w_i², a ridge with a factor for each coordinate.

    Examples
    --------
    >>> WeightedL2(2.0, [1.0, 3.0]).value(np.array([1.0, 1.0]))
    4.0
    """

    name: ClassVar[str] = "weighted ℓ2²"
    key: ClassVar[str] = "l2"
    separable: ClassVar[bool] = True
    makes_zeros = False

    def __init__(self, lam: float, weights: ArrayLike) -> None:
        self.lam = checked_strength("lam", lam)
        self.weights = checked_weights(weights)

    def value(self, w: Vector) -> float:
        return 0.5 * self.lam * float(self.weights @ (w * w))

    def grad(self, w: Vector) -> Vector:
        """λ·weights·w."""
        return self.lam * self.weights * w

    def prox(self, w: Vector, step: float) -> None:
        w /= 1.0 + step * self.lam * self.weights

    def residual(self, w: Vector, grad: Vector) -> Vector:
        return grad + self.grad(w)

    @property
    def ridge(self) -> float:
        return self.lam * float(np.min(self.weights, initial=np.inf))

    def bound(self, rest: float, grad: Vector, residual: Vector) -> float:
        strengths = self.lam * self.weights
        return ridge_bound(rest, float(np.sum(grad * grad / strengths))) if np.all(strengths > 0) else -np.inf

    def lambda_max(self, grad: Vector) -> float:
        """Where a path may start: ‖grad‖∞. No finite strength makes w = 0 optimal unless the gradient is 0."""
        return float(np.max(np.abs(grad), initial=0.0))

    @property
    def own_structure(self) -> str:
        return "weights"


class ElasticNet(Penalty):
    """λ Σ weights_i|w_i| + ½·l2·‖w‖²: two free knobs (Sokolovska 2010, ρ1 and ρ2).

    Parameters
    ----------
    lam : float
        Strength of the ℓ1 part, which makes zeros.
    l2 : float
        Strength of the squared ℓ2 part, which shares weight among correlated features and bounds the curvature
        from below.
    weights : array, optional
        One factor ≥ 0 for each coordinate of the ℓ1 part (adaptive Lasso); a coordinate of weight 0 is free of it.

    Examples
    --------
    >>> w = np.array([3.0, -0.5])
    >>> ElasticNet(1.0, l2=1.0).prox(w, step=1.0)
    >>> w.tolist()
    [1.0, 0.0]
    """

    name: ClassVar[str] = "elastic net"
    key: ClassVar[str] = "elasticnet"
    separable: ClassVar[bool] = True
    knobs: ClassVar[tuple[str, ...]] = ("lam", "l2")

    def __init__(self, lam: float, l2: float, weights: ArrayLike | None = None) -> None:
        self.lam = checked_strength("lam", lam)
        self.l2 = checked_strength("l2", l2)
        self.weights = None if weights is None else checked_weights(weights)

    @property
    def _l1(self) -> float | Vector:
        return self.lam if self.weights is None else self.lam * self.weights

    def value(self, w: Vector) -> float:
        size = np.abs(w) if self.weights is None else self.weights * np.abs(w)
        return self.lam * float(size.sum()) + (0.5 * self.l2 * float(np.square(w).sum()) if self.l2 else 0.0)

    def prox(self, w: Vector, step: float) -> None:
        threshold = step * self._l1
        w -= np.clip(w, -threshold, threshold)
        if self.l2:
            w /= 1.0 + step * self.l2

    def residual(self, w: Vector, grad: Vector) -> Vector:
        smooth = grad + self.l2 * w if self.l2 else grad
        residual = soft_threshold(smooth, self._l1)
        active = np.flatnonzero(w != 0)  # few, as a rule
        l1 = self._l1 if self.weights is None else self.lam * self.weights[active]
        residual[active] = smooth[active] + l1 * np.sign(w[active])
        return residual

    def lambda_max(self, grad: Vector) -> float:
        """``max_i |grad_i|/weights_i``, over the coordinates of positive weight."""
        if self.weights is None:
            return float(np.max(np.abs(grad), initial=0.0))
        held = self.weights > 0
        return float(np.max(np.abs(grad[held]) / self.weights[held], initial=0.0))

    def bound(self, rest: float, grad: Vector, residual: Vector) -> float:
        if not self.l2:
            return super().bound(rest, grad, residual)
        size = np.abs(grad)
        over = np.flatnonzero(size > self._l1)  # of the others the conjugate is 0
        size = size[over]
        l1 = self.lam if self.weights is None else self.lam * self.weights[over]

        def slope(s: float) -> float:
            return rest - float(size @ np.maximum(s * size - l1, 0.0)) / self.l2

        low, high = 0.0, 1.0
        if slope(1.0) >= 0:
            low = 1.0
        else:
            for _ in range(50):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        above = np.maximum(low * size - l1, 0.0)
        return low * rest - 0.5 * squared_norm(above) / self.l2

    def l1_l2(self, n: int) -> tuple[float | Vector, float]:
        """(λ·weights, l2)."""
        return self._l1, self.l2

    def describe(self) -> str:
        weighted = "weighted " if self.weights is not None else ""
        ridge = f", ℓ2 = {self.l2:g}" if self.l2 else ""
        return f"{weighted}{self.name}, λ = {self.lam:g}{ridge}"

    @property
    def own_structure(self) -> str:
        return "" if self.weights is None else "weights"


class L1(ElasticNet):
    """λ Σ weights_i|w_i|, the Lasso; with ``weights`` the adaptive Lasso.

    Examples
    --------
    >>> w = np.array([3.0, -0.5])
    >>> L1(1.0).prox(w, step=1.0)
    >>> w.tolist()
    [2.0, 0.0]
    >>> L1(1.0).lambda_max(np.array([0.5, -4.0]))
    4.0
    """

    name: ClassVar[str] = "ℓ1"
    key: ClassVar[str] = "l1"
    knobs: ClassVar[tuple[str, ...]] = ("lam",)

    def __init__(self, lam: float, weights: ArrayLike | None = None) -> None:
        super().__init__(lam, 0.0, weights)


class L0(Penalty):
    """λ·#{i : w_i ≠ 0}: the number of non-zeros. Not convex; its prox is the hard threshold.

    Every zero is a local minimum in its coordinate, so stationarity asks nothing there: ``residual`` is the gradient
    where w ≠ 0 and 0 elsewhere. A proximal method stops at a point that is also a fixed point of its own step,
    which is stronger, but depends on the step.

    Examples
    --------
    >>> w = np.array([3.0, -1.0])
    >>> L0(1.0).prox(w, step=1.0)  # keeps what exceeds √(2λ)
    >>> w.tolist()
    [3.0, 0.0]
    """

    name: ClassVar[str] = "ℓ0"
    key: ClassVar[str] = "l0"
    separable: ClassVar[bool] = True
    makes_zeros = False
    convex: ClassVar[bool] = False

    def __init__(self, lam: float) -> None:
        self.lam = checked_strength("lam", lam)

    def value(self, w: Vector) -> float:
        return self.lam * float(np.count_nonzero(w))

    def prox(self, w: Vector, step: float) -> None:
        w[w * w <= 2.0 * step * self.lam] = 0.0

    def residual(self, w: Vector, grad: Vector) -> Vector:
        return np.where(w == 0, 0.0, grad)

    def lambda_max(self, grad: Vector) -> float:
        """½‖grad‖∞²: from here on w = 0 is the optimum of a loss of unit curvature (a proximal step of size 1)."""
        return 0.5 * float(np.max(grad * grad, initial=0.0))
