"""The truncated exponential distribution of α on (−C, 0], and log-determinants under it (Yogatama 2015, §3.2-3.3).

q(α) ∝ exp(−κα). Everything is written in terms of x = κC/2 and the Langevin function L(x) = coth x − 1/x, because the
formula of the thesis, 1/κ − C/(1 − exp(−κC)), loses all precision near κ = 0. Then κ may be any real number: 0 gives
the uniform distribution, negative κ one with its mass near α = 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from spinney.optim.base import Vector

C = 0.5 - 1e-5  # within (−C, C) A(α) is positive definite for any number of times

_SMALL = 0.1  # |x| below which series in x are exact up to rounding
_TAIL = 40.0  # q beyond _TAIL/|κ| from its mode is under e⁻⁴⁰
_NODES = 48


def mean_alpha(kappa: ArrayLike) -> Vector:
    """e(κ) = E[α], from −C (κ → ∞) over −C/2 (κ = 0) to 0 (κ → −∞).

    Examples
    --------
    >>> mean_alpha([-10.0, 1e-8, 10.0]).round(4).tolist()
    [-0.0966, -0.25, -0.4034]
    """
    x = 0.5 * C * np.asarray(kappa, dtype=np.float64)
    small, y = np.abs(x) < _SMALL, np.maximum(np.abs(x), _SMALL)
    with np.errstate(over="ignore"):
        gap = 1.0 / y - 2.0 / np.expm1(2.0 * y)  # 1 − L(|x|), without cancellation where it is tiny
    one_plus = np.where(small, 1.0 + _langevin_series(x), np.where(x < 0, gap, 2.0 - gap))
    return -0.5 * C * one_plus


def mean_alpha_slope(kappa: ArrayLike) -> Vector:
    """e'(κ) = −Var[α], always negative."""
    x = 0.5 * C * np.asarray(kappa, dtype=np.float64)
    small, y = np.abs(x) < _SMALL, np.maximum(np.abs(x), _SMALL)
    q = np.exp(-2.0 * y)
    x2 = np.where(small, x * x, 0.0)
    series = 1 / 3 - x2 / 15 + 2 * x2**2 / 189 - x2**3 / 675 + 2 * x2**4 / 10395
    slope = np.where(small, series, 1.0 / y**2 - 4.0 * q / (1.0 - q) ** 2)  # L'(x)
    return -0.25 * C * C * slope


def negative_entropy(kappa: ArrayLike) -> Vector:
    """E[ln q(α)] = x·L(x) − ln(sinh(x)/x) − ln C, even in κ."""
    x = 0.5 * C * np.asarray(kappa, dtype=np.float64)
    small, y = np.abs(x) < _SMALL, np.maximum(np.abs(x), _SMALL)
    with np.errstate(over="ignore"):
        xL = y - 1.0 + 2.0 * y / np.expm1(2.0 * y)
    log_sinhc = y + np.log1p(-np.exp(-2.0 * y)) - np.log(2.0 * y)
    x2 = np.where(small, x * x, 0.0)
    log_sinhc_series = x2 / 6 - x2**2 / 180 + x2**3 / 2835 - x2**4 / 37800 + x2**5 / 467775
    of_x = np.where(small, x * _langevin_series(x) - log_sinhc_series, xL - log_sinhc)
    return np.asarray(of_x - np.log(C))


def _langevin_series(x: Vector) -> Vector:
    x2 = np.minimum(x * x, _SMALL**2)
    return x * (1 / 3 - x2 / 45 + 2 * x2**2 / 945 - x2**3 / 4725 + 2 * x2**4 / 93555)


# ------------------------------------------------------------------------------------- log-determinants


def logdet(alpha: ArrayLike, n_times: int) -> Vector:
    """ln det A(α) = Σ_k ln(1 + 2α cos(kπ/(T+1))), in closed form (the printed index is off by one).

    The determinant is (r₊ᵀ⁺¹ − r₋ᵀ⁺¹)/(r₊ − r₋), where r± are the roots of r² − r + α² = 0.

    Examples
    --------
    >>> np.exp(logdet(-0.37, 5)).round(4).item()
    0.5086
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    u = np.sqrt((1.0 - 2.0 * alpha) * (1.0 + 2.0 * alpha))
    ratio = (2.0 * alpha / (1.0 + u)) ** 2  # r₋/r₊
    return np.asarray(
        (n_times + 1) * np.log(0.5 * (1.0 + u)) - np.log(u) + np.log1p(-(ratio ** (n_times + 1)))
    )


def logdet_slopes(alpha: ArrayLike, n_times: int) -> tuple[Vector, Vector]:
    """The first and the second derivative of ½ ln det A(α)."""
    c = np.cos(np.arange(1, n_times + 1) * np.pi / (n_times + 1))[:, None]
    ratio = c / (1.0 + 2.0 * np.asarray(alpha, dtype=np.float64) * c)
    return ratio.sum(axis=0), -2.0 * (ratio**2).sum(axis=0)


class Averages(NamedTuple):
    """Under q(α): the mean of ½ ln det A, its covariance with α over the variance of α, and that ratio's slope in κ."""

    mean: Vector
    ratio: Vector
    ratio_slope: Vector


def average_half_logdet(kappa: ArrayLike, n_times: int) -> Averages:
    """E[½ ln det A] by Gauss-Legendre quadrature where q has its mass, with derivatives for Newton's method.

    Examples
    --------
    >>> averages = average_half_logdet([3.0], 8)
    >>> (2 * averages.mean).round(3).item()  # Jensen's replacement, ln det E[A], is −0.785
    -1.148
    """
    kappa = np.asarray(kappa, dtype=np.float64)
    if len(kappa) > 4096:  # pieces that stay in the cache
        pieces = [average_half_logdet(part, n_times) for part in np.array_split(kappa, len(kappa) // 2048)]
        return Averages(*(np.concatenate(column) for column in zip(*pieces)))
    nodes, weights = _gauss_legendre()
    length = np.minimum(C, _TAIL / np.maximum(np.abs(kappa), 1e-300))
    alpha = np.where(kappa > 0, -C, -length) + length * nodes[:, None]
    mode = np.where(kappa > 0, -C, 0.0)
    p = weights[:, None] * np.exp(-kappa * (alpha - mode))
    p /= p.sum(axis=0)
    g = 0.5 * logdet(alpha, n_times)
    mean = (p * g).sum(axis=0)
    dg, da = g - mean, alpha - (p * alpha).sum(axis=0)
    variance = (p * da * da).sum(axis=0)
    ratio = (p * dg * da).sum(axis=0) / variance
    # d/dκ E[h] = −Cov(h, α), so second moments go down by third ones.
    ratio_slope = (ratio * (p * da**3).sum(axis=0) - (p * dg * da * da).sum(axis=0)) / variance
    return Averages(mean, ratio, ratio_slope)


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Vector, Vector]:
    """Nodes and weights on (0, 1), in the square root: ln det has a singularity not far below −C."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    root = 0.5 * (nodes + 1.0)
    return root**2, weights * root
