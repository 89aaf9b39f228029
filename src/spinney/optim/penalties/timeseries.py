"""A Gaussian prior that ties the coefficients of a feature at neighbouring times."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Penalty, Vector, checked_strength


class TimeSeries(Penalty):
    """½λ Σ_i w_iᵀA(α)w_i, where w_i is the series of feature i (Yogatama 2015, §3).

    A(α) is tridiagonal, with 1 on the diagonal and α beside it: the precision of a Gaussian prior. α = 0 leaves the
    times independent (then it is :class:`L2`); α near −½ makes neighbouring times agree.

    Parameters
    ----------
    lam : float
    n_times : int
        Length T of each series; ``w.reshape(-1, n_times)`` has one feature a row.
    alpha : float
        Autocorrelation in the precision. Positive definite when ``|α| < 1/(2cos(π/(T+1)))``, a little more than ½.

    Examples
    --------
    >>> w = np.array([1.0, 1.0, 1.0, -1.0])
    >>> penalty = TimeSeries(1.0, n_times=2, alpha=-0.5)
    >>> penalty.value(w)  # ½ for the series that stays, 3/2 for the one that changes sign
    2.0
    >>> penalty.grad(w).tolist()
    [0.5, 0.5, 1.5, -1.5]
    """

    name: ClassVar[str] = "time series"
    key: ClassVar[str] = "timeseries"
    makes_zeros = False
    knobs: ClassVar[tuple[str, ...]] = ("lam", "alpha")
    own_structure = "times"
    clips_to_nonnegative: ClassVar[bool] = False  # the times are coupled with signs

    def __init__(self, lam: float, n_times: int, alpha: float) -> None:
        self.lam = checked_strength("lam", lam)
        if n_times < 1:
            raise OptionError(f"n_times must be at least 1, not {n_times}")
        limit = 1.0 / (2.0 * np.cos(np.pi / (n_times + 1))) if n_times > 1 else np.inf
        if not abs(alpha) < limit:
            raise OptionError(
                f"alpha must lie between ±{limit:.6g} for a prior on {n_times} times to be proper, not {alpha:g}"
            )
        self.n_times, self.alpha = int(n_times), float(alpha)

    def _times_A(self, w: Vector) -> Vector:
        series = w.reshape(-1, self.n_times)
        product = series.copy()
        product[:, 1:] += self.alpha * series[:, :-1]
        product[:, :-1] += self.alpha * series[:, 1:]
        return product.ravel()

    def value(self, w: Vector) -> float:
        return 0.5 * self.lam * float(w @ self._times_A(w))

    def grad(self, w: Vector) -> Vector:
        """λA w_i for each series."""
        return self.lam * self._times_A(w)

    def prox(self, w: Vector, step: float) -> None:
        """One tridiagonal system, I + step·λA, with a right-hand side for each feature."""
        from scipy.linalg import solveh_banded

        kappa = step * self.lam
        bands = np.full((2, self.n_times), kappa * self.alpha)
        bands[1] = 1.0 + kappa
        w[:] = solveh_banded(bands, w.reshape(-1, self.n_times).T, check_finite=False).T.ravel()

    def residual(self, w: Vector, grad: Vector) -> Vector:
        return grad + self.grad(w)

    def lambda_max(self, grad: Vector) -> float:
        """Where a path may start: ‖grad‖∞. No finite strength makes w = 0 optimal unless the gradient is 0."""
        return float(np.max(np.abs(grad), initial=0.0))

    def describe(self) -> str:
        return f"{self.name} of {self.n_times} steps, α = {self.alpha:g}, λ = {self.lam:g}"
