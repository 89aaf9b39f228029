"""The sparse, adaptive prior of time series of coefficients, with its variational bound (Yogatama 2015, ch. 3).

Each series w_i of T coefficients is Normal(0, λ_i·A(α_i)⁻¹), λ_i has Jeffreys' prior and α_i a truncated exponential
one of rate τ. The posterior of λ_i is approximated by a Gamma(a, b), that of α_i by a truncated exponential of rate
κ_i. The best b is Q_i/((a − 1)T) with Q_i = w_iᵀE[A_i]w_i; then a depends on T alone. It remains, with e_i = E[α_i], to

    minimise  Σ_i  (T/2) ln Q_i − E[½ ln det A_i] + τ(e_i + C) + E[ln q(α_i)] + constant

in the series and the κ_i, in addition to the negative log-likelihood. R series that share λ_i and α_i count as one of
RT coefficients. Since ln Q is unbounded where a series vanishes, it is replaced by ln(Q + ε): λ then has an inverse
gamma prior whose scale is ε/2 rather than Jeffreys'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, polygamma

from spinney.errors import OptionError, unknown_choice
from spinney.optim.base import Vector, checked_strength
from spinney.trend.alpha import (
    C,
    average_half_logdet,
    logdet,
    logdet_slopes,
    mean_alpha,
    mean_alpha_slope,
    negative_entropy,
)
from spinney.trend.chains import Chains, toeplitz

LogDet = Literal["jensen", "quadrature"]
KappaSign = Literal["any", "positive"]


@lru_cache(maxsize=256)
def gamma_shape(n: int) -> float:
    """The best shape a of q(λ) for n = RT coefficients: the root of 1 + n/(2(a−1)) = (n/2 + a)·Ψ₁(a).

    Examples
    --------
    >>> [round(gamma_shape(n), 4) for n in (1, 2, 10, 50)]
    [1.6441, 2.1998, 6.2938, 26.3247]
    """

    def slope(a: float) -> float:
        return float(1.0 + n / (2.0 * (a - 1.0)) - (n / 2.0 + a) * polygamma(1, a))

    return float(brentq(slope, 1.0 + 1e-6, n / 2.0 + 3.0, xtol=1e-13, rtol=1e-15))


def bound(
    Q: ArrayLike,
    kappa: ArrayLike,
    n_times: int,
    tau: float,
    *,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    replicates: int = 1,
    logdet_by: LogDet = "jensen",
) -> Vector:
    """The bound on ln p(w_i) of each series (Yogatama 2015, fig. 3.1, corrected); larger is better.

    ``b`` is by default the best one, Q/((a − 1)RT), and ``a`` is :func:`gamma_shape`.

    Examples
    --------
    >>> bound([2.0], [1.0], 3, 1.0) >= bound([2.0], [1.0], 3, 1.0, a=[2.0])
    array([ True])
    """
    Q, kappa, n = np.asarray(Q, dtype=np.float64), np.asarray(kappa, dtype=np.float64), n_times * replicates
    a = np.asarray(gamma_shape(n) if a is None else a, dtype=np.float64)
    b = Q / ((a - 1.0) * n) if b is None else np.asarray(b, dtype=np.float64)
    log_lambda = digamma(a) + np.log(b)  # E[ln λ]
    likelihood = (
        -0.5 * n * log_lambda
        + replicates * half_logdet(kappa, n_times, logdet_by)
        - Q / (2.0 * (a - 1.0) * b)
    )
    log_q_lambda = (a - 1.0) * log_lambda - a - gammaln(a) - a * np.log(b)
    prior_alpha = -tau * (mean_alpha(kappa) + C)
    return np.asarray(likelihood + prior_alpha - log_lambda - log_q_lambda - negative_entropy(kappa))


def half_logdet(kappa: ArrayLike, n_times: int, by: LogDet = "jensen") -> Vector:
    """½ ln det E[A] ("jensen", as in the thesis; never less) or E[½ ln det A] ("quadrature", a true bound)."""
    if by == "jensen":
        return 0.5 * logdet(mean_alpha(kappa), n_times)
    return average_half_logdet(kappa, n_times).mean


@dataclass(frozen=True)
class AdaptivePrior:
    """−(the bound) as a function of the series and of κ, for groups of ``replicates`` series each.

    Parameters
    ----------
    n_times : int
        T.
    tau : float
        Rate of the prior of α: the larger, the stiffer the series.
    replicates : int
        R, the number of series that share one λ and one α.
    logdet : "jensen" or "quadrature"
    kappa_sign : "any" or "positive"
        With "positive" E[α] lies between −C and −C/2: series always depend on their past.
    floor : float
        ε; in the units of Q, or of √Q with ``exact_zeros``.
    exact_zeros : bool
        Whether it is RT·ln(√Q + ε) in place of (RT/2)·ln(Q + ε). Both are the bound when ε → 0, but this one has a
        kink where the series vanishes, as a norm has, so that the best series may be exactly zero.
    """

    n_times: int
    tau: float = 1.0
    replicates: int = 1
    logdet: LogDet = "jensen"
    kappa_sign: KappaSign = "any"
    floor: float = 1e-8
    exact_zeros: bool = False

    def __post_init__(self) -> None:
        checked_strength("tau", self.tau)
        if not self.floor > 0:
            raise OptionError(f"floor must be above 0, not {self.floor:g}")
        for name, value, allowed in (
            ("logdet", self.logdet, get_args(LogDet)),
            ("kappa_sign", self.kappa_sign, get_args(KappaSign)),
        ):
            if value not in allowed:
                raise unknown_choice(f"{name} is", value, allowed)

    @property
    def n(self) -> int:
        """The number of coefficients that share one λ: RT."""
        return self.n_times * self.replicates

    # -- statistics of the series, W of shape (T, R·groups), the groups running fastest ---------------------

    def squares_and_products(self, W: Vector) -> tuple[Vector, Vector]:
        """S = Σ w_t² and P = Σ w_t·w_{t+1} of each group: the sufficient statistics of the series for the prior."""
        S, P = (W * W).sum(axis=0), (W[1:] * W[:-1]).sum(axis=0)
        if self.replicates == 1:
            return S, P
        return S.reshape(self.replicates, -1).sum(axis=0), P.reshape(self.replicates, -1).sum(axis=0)

    def norms(self, W: Vector, kappa: Vector) -> Vector:
        """Q of each group."""
        S, P = self.squares_and_products(W)
        return np.maximum(S + 2.0 * mean_alpha(kappa) * P, 0.0)

    def spread(self, of_groups: Vector) -> Vector:
        """A number for each group, repeated for each of its series."""
        return np.tile(of_groups, self.replicates) if self.replicates > 1 else of_groups

    # -- the objective -------------------------------------------------------------------------------------

    def profile(self, Q: Vector) -> Vector:
        """The cost of Q: (RT/2)·ln(Q + ε) or RT·ln(√Q + ε)."""
        if self.exact_zeros:
            return self.n * np.log(np.sqrt(Q) + self.floor)
        return 0.5 * self.n * np.log(Q + self.floor)

    def shrinkage(self, Q: Vector) -> Vector:
        """E[1/λ], twice the slope of :meth:`profile`; its quadratic ½E[1/λ]Q majorises it up to a constant."""
        if self.exact_zeros:
            root = np.sqrt(Q)
            return self.n / (np.maximum(root, 1e-300) * (root + self.floor))
        return self.n / (Q + self.floor)

    def of_kappa(self, kappa: Vector) -> Vector:
        """The terms that do not depend on the series."""
        a, n = gamma_shape(self.n), self.n
        constant = (0.5 * n + a) * digamma(a) - 0.5 * n * np.log((a - 1.0) * n) - a - gammaln(a) + 0.5 * n
        return np.asarray(
            constant
            - self.replicates * half_logdet(kappa, self.n_times, self.logdet)
            + self.tau * (mean_alpha(kappa) + C)
            + negative_entropy(kappa)
        )

    def value(self, W: Vector, kappa: Vector) -> float:
        """The negative bound, summed over groups."""
        return float(np.sum(self.profile(self.norms(W, kappa)) + self.of_kappa(kappa)))

    def value_and_grads(self, W: Vector, kappa: Vector) -> tuple[float, Vector, Vector]:
        """The same, with its gradients in the series and in κ."""
        S, P = self.squares_and_products(W)
        e = mean_alpha(kappa)
        Q = np.maximum(S + 2.0 * e * P, 0.0)
        shrinkage = self.shrinkage(Q)
        value = float(np.sum(self.profile(Q) + self.of_kappa(kappa)))
        in_W = self.precision(kappa, shrinkage).times(W)
        in_kappa = -mean_alpha_slope(kappa) * (self._demand(kappa)[0] - self.tau - shrinkage * P)
        return value, in_W, in_kappa

    def precision(self, kappa: Vector, shrinkage: Vector) -> Chains:
        """E[1/λ]·E[A] for every series."""
        return toeplitz(self.n_times, self.spread(mean_alpha(kappa))).scaled(self.spread(shrinkage))

    # -- κ ---------------------------------------------------------------------------------------------------

    def _demand(self, kappa: Vector) -> tuple[Vector, Vector]:
        """κ + R·d(½ ln det)/de, which is τ + E[1/λ]·P where κ is best; and its slope, at least 1."""
        if self.logdet == "jensen":
            first, second = logdet_slopes(mean_alpha(kappa), self.n_times)
            slope = second * mean_alpha_slope(kappa)
        else:
            averages = average_half_logdet(kappa, self.n_times)
            first, slope = averages.ratio, averages.ratio_slope
        return kappa + self.replicates * first, 1.0 + self.replicates * np.maximum(slope, 0.0)

    def best_kappa(self, pull: ArrayLike, start: Vector | None = None) -> Vector:
        """The κ for which E[1/λ]·P is ``pull``: Newton's method, kept in a bracket, for all groups at once.

        The bound is concave in e = E[α], because ln det is concave and exponential families preserve this, so there is
        one root. It lies between τ + pull − R·max d(½ ln det)/dα and τ + pull.
        """
        target = self.tau + np.asarray(pull, dtype=np.float64)
        steepest = float(logdet_slopes(np.array([-C]), self.n_times)[0][0])
        low, high = target - self.replicates * steepest, target.copy()
        kappa = 0.5 * (low + high) if start is None else np.clip(start, low, high)
        gap = np.full_like(kappa, np.inf)
        for _ in range(200):
            demand, slope = self._demand(kappa)
            last, gap = gap, demand - target
            low, high = np.where(gap < 0, kappa, low), np.where(gap > 0, kappa, high)
            step = kappa - gap / slope
            astray = (
                (step < low)
                | (step > high)
                | (2.0 * np.abs(gap) > np.abs(last) + 1e-11 * (1.0 + np.abs(target)))
            )
            new = np.where(astray, 0.5 * (low + high), step)
            moved = np.abs(new - kappa)
            kappa = new
            if np.all(moved <= 1e-11 * (1.0 + np.abs(kappa))):
                break
        return np.maximum(kappa, 0.0) if self.kappa_sign == "positive" else kappa

    def updated_kappa(self, W: Vector, kappa: Vector, rounds: int = 3) -> Vector:
        """κ that decreases the objective: majorise ln Q and minimise in κ, ``rounds`` times."""
        S, P = self.squares_and_products(W)
        there = np.flatnonzero(S > 0)
        updated = self.kappa_of_nothing(len(S))
        S, P, kappa = S[there], P[there], kappa[there]
        for _ in range(rounds):
            Q = np.maximum(S + 2.0 * mean_alpha(kappa) * P, 0.0)
            kappa = self.best_kappa(self.shrinkage(Q) * P, kappa)
        updated[there] = kappa
        return updated

    def kappa_of_nothing(self, groups: int) -> Vector:
        """κ of a group without series."""
        return np.repeat(self.best_kappa(np.zeros(1)), groups)
