"""Iteratively reweighted least squares (the η-trick) for the Lasso and the trace Lasso; squared loss only.

A norm is the smallest of the quadratics that touch it. Each iteration takes the one that touches it at the current
weights (smoothed by μ, so that it exists where weights are 0), solves the ridge regression that is left, and lets
μ fall (Grave 2014, §6.4 and §7.3.1). The fixed-point iteration is linear near the solution and slow where a weight
is on its way to 0; Anderson's mixing of the last few iterates takes some five times fewer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.losses import SquaredLoss
from spinney.optim.penalties import TraceLasso
from spinney.optim.problem import Monitor, Problem

Mask = NDArray[np.bool_]

SMALLEST_MU = 10 * np.finfo(np.float64).eps  # Grave 2014, §7.3.1; times the square of the largest weight
COLD, WARM = 1.0, 1e-4  # where μ starts, in the same units
NEARLY_ZERO = (
    10.0  # in units of √μ: what ends at 0 comes out as √μ·t/√(1 − t²), where t is its share of the bound
)
SMALL = 1e-3  # a weight under this share of the largest that does not settle is on its way to 0
CHECK_EVERY = 10  # the certificate costs more than an iteration
LARGEST_FALL = 0.1  # a mixed iterate keeps this share of each weight: from 0, none comes back soon


def irls(problem: Problem, w: Vector, monitor: Monitor, *, decay: float = 0.1, memory: int = 5) -> Vector:
    """Minimise a squared loss with an ℓ1, elastic-net or trace-Lasso penalty.

    Starts from ``w`` with a small μ if ``w`` is not 0, else from ridge regression with a large one: at a tiny μ, w = 0
    is almost a fixed point. The certificate is taken when the smoothed problem is solved and every tenth iteration,
    at weights whose nearly zero part is set to 0.

    Parameters
    ----------
    decay : float
        What μ is multiplied by after each iteration, down to ten times machine epsilon (of the weights squared).
    memory : int
        How many earlier iterates are mixed in; 0 for the plain iteration of the thesis.
    """
    norm = _norm_of(problem)
    loss = problem.loss
    assert isinstance(loss, SquaredLoss)
    fit = LeastSquares.centred(loss)
    here = w[: problem.n_penalised].copy()
    warm = bool(np.any(here))
    if not warm:
        here = fit.ridge(np.full(loss.p, max(fit.mean_curvature, 1e-12)))
    unit = float(np.max(here**2, initial=0.0)) or 1.0
    mu, smallest_mu = (WARM if warm else COLD) * unit, SMALLEST_MU * unit
    mixer = Mixer(memory)
    recent: deque[float] = deque(maxlen=max(memory, 1))
    plain, settled = here, monitor.absolute_tol
    iteration = 0
    while True:
        D, size = norm.weights(here, mu)
        objective = fit.value(here) + size
        if here is not plain and objective > max(recent):  # mixing led uphill, where the plain iteration never does
            mixer.forget()
            here = plain
            D, size = norm.weights(here, mu)
            objective = fit.value(here) + size
        recent.append(objective)
        plain = fit.ridge(D)
        at_rest = (
            mu == smallest_mu and float(np.max(np.abs(fit.gradient(here) + D * here), initial=0.0)) <= settled
        )
        if at_rest or iteration % CHECK_EVERY == 0:
            tidy = _tidied(fit, norm, plain, mu, monitor.absolute_tol) if mu == smallest_mu else plain
            w = np.append(tidy, fit.y_mean - fit.x_mean @ tidy) if loss.intercept else tidy
            if monitor(w, *loss.value_and_grad(w)):
                return w
            settled *= 0.5 if at_rest else 1.0
        here = mixer.mix(here, plain)
        mu = max(decay * mu, smallest_mu)
        iteration += 1


class LeastSquares:
    """½‖y − Xw‖², with sample weights and the intercept worked into X and y."""

    def __init__(self, X: Vector, y: Vector, x_mean: Vector, y_mean: float) -> None:
        self.X, self.y, self.x_mean, self.y_mean = X, y, x_mean, y_mean
        n, p = X.shape
        self.gram = X.T @ X if p <= n else None
        self.mean_curvature = float(np.mean(np.einsum("ij,ij->j", X, X)))

    @classmethod
    def centred(cls, loss: SquaredLoss) -> LeastSquares:
        """Rows times √s and columns less their means, which give the intercept back."""
        X = np.asarray(loss.X.todense()) if sparse.issparse(loss.X) else loss.X
        s, root = loss.sample_weight, np.sqrt(loss.sample_weight)
        if not loss.intercept:
            return cls(root[:, None] * X, root * loss.y, np.zeros(loss.p), 0.0)
        x_mean, y_mean = np.average(X, axis=0, weights=s), float(np.average(loss.y, weights=s))
        return cls(root[:, None] * (X - x_mean), root * (loss.y - y_mean), x_mean, y_mean)

    def on(self, kept: Mask) -> LeastSquares:
        """The problem over some of the weights."""
        return LeastSquares(self.X[:, kept], self.y, self.x_mean[kept], self.y_mean)

    def value(self, w: Vector) -> float:
        r = self.X @ w - self.y
        return 0.5 * float(r @ r)

    def gradient(self, w: Vector) -> Vector:
        return np.asarray(self.X.T @ (self.X @ w - self.y))

    def ridge(self, D: Vector) -> Vector:
        """argmin ½‖y − Xw‖² + ½ Σ D_j w_j², through the smaller of the two Gram matrices."""
        if self.gram is not None or not np.all(D > 0):
            gram = self.X.T @ self.X if self.gram is None else self.gram
            return np.asarray(linalg.solve(gram + np.diag(D), self.X.T @ self.y, assume_a="pos"))
        XD = self.X / D  # Woodbury: w = D⁻¹Xᵀ(XD⁻¹Xᵀ + I)⁻¹y
        return np.asarray(XD.T @ linalg.solve(XD @ self.X.T + np.eye(len(self.y)), self.y, assume_a="pos"))


class Reweighted(Protocol):
    """A norm, seen as the smallest of the quadratics ½ Σ D_j w_j² + constant that touch it."""

    def weights(self, w: Vector, mu: float) -> tuple[Vector, float]:
        """The D that touches at ``w``, and the smoothed norm there; with μ = 0, only what is not 0 counts."""
        ...

    def support(self, w: Vector, mu: float) -> Mask:
        """The weights of the solution of the problem smoothed by ``mu`` that are not 0 without smoothing."""
        ...

    def on(self, kept: Mask) -> Reweighted:
        """The norm of some of the weights when the others are 0."""
        ...


class Lasso:
    """Σ l1_j|w_j| + ½ l2‖w‖²."""

    def __init__(self, l1: Vector, l2: float) -> None:
        self.l1, self.l2 = l1, l2

    def weights(self, w: Vector, mu: float) -> tuple[Vector, float]:
        root = np.sqrt(w**2 + mu)
        return self.l1 / np.maximum(root, 1e-300) + self.l2, float(self.l1 @ root) + 0.5 * self.l2 * float(
            w @ w
        )

    def support(self, w: Vector, mu: float) -> Mask:
        return np.asarray((np.abs(w) > NEARLY_ZERO * np.sqrt(mu)) | (self.l1 == 0))

    def on(self, kept: Mask) -> Lasso:
        return Lasso(self.l1[kept], self.l2)


class Trace:
    """λ‖P Diag(w)‖_*: D = λ·diag(PᵀS⁻¹P) with S = (P Diag(w)²Pᵀ + μI)^½."""

    def __init__(self, lam: float, P: Vector) -> None:
        self.lam, self.P = lam, P

    def weights(self, w: Vector, mu: float) -> tuple[Vector, float]:
        if mu > 0:
            s, U = np.linalg.eigh((self.P * w**2) @ self.P.T)
            roots = np.sqrt(np.maximum(s, 0.0) + mu)
        else:  # the eigenvalues would lose half of the digits
            U, roots, _ = np.linalg.svd(self.P * w, full_matrices=False)
            U, roots = U[:, roots > 0], roots[roots > 0]
        return self.lam * ((self.P.T @ U) ** 2 @ (1.0 / roots)), self.lam * float(roots.sum())

    def support(self, w: Vector, mu: float) -> Mask:
        """The largest weights, as many as the rank of P Diag(w) allows."""
        s = np.linalg.eigvalsh((self.P * w**2) @ self.P.T)
        rank = int(np.sum(s > NEARLY_ZERO**2 * mu))
        return largest_of_rank(self.P, w, rank)

    def on(self, kept: Mask) -> Trace:
        return Trace(self.lam, self.P[:, kept])


def largest_of_rank(P: Vector, w: Vector, rank: int) -> Mask:
    """The largest columns of P Diag(w), as many as keep the rank within ``rank``; all if that is no restriction."""
    kept = np.ones(len(w), dtype=bool)
    if rank < min(P.shape):
        order = np.argsort(-np.linalg.norm(P, axis=0) * np.abs(w))
        sizes = range(1, len(w) + 1)
        m = bisect_right(sizes, rank, key=lambda m: int(np.linalg.matrix_rank(P[:, order[:m]])))
        kept[order[m:]] = False
    return kept


class Mixer:
    """Anderson mixing: the combination of the last images whose steps cancel best."""

    def __init__(self, memory: int) -> None:
        self.images: deque[Vector] = deque(maxlen=memory + 1)
        self.steps: deque[Vector] = deque(maxlen=memory + 1)

    def forget(self) -> None:
        self.images.clear()
        self.steps.clear()

    def mix(self, point: Vector, image: Vector) -> Vector:
        """The point to go on from, given that the iteration maps ``point`` to ``image``."""
        self.images.append(image)
        self.steps.append(image - point)
        if len(self.steps) < 2:
            return image
        turns, moves = np.diff(np.array(self.steps), axis=0).T, np.diff(np.array(self.images), axis=0).T
        mixed = image - moves @ np.linalg.lstsq(turns, self.steps[-1], rcond=1e-10)[0]
        least = LARGEST_FALL * np.abs(image)
        return np.where(np.abs(mixed) < least, np.copysign(least, image), mixed)


def _tidied(fit: LeastSquares, norm: Reweighted, w: Vector, mu: float, tol: float) -> Vector:
    """Weights that are nearly 0 set to 0, and the others fitted anew: only exact zeros can have a certificate."""
    kept = norm.support(w, mu)
    tidy = np.where(kept, w, 0.0)
    for _ in range(10):
        if not kept.any():
            break
        fit_kept, norm_kept = fit.on(kept), norm.on(kept)
        D, _ = norm_kept.weights(tidy[kept], 0.0)
        tidy[kept] = fit_kept.ridge(D)
        D, _ = norm_kept.weights(tidy[kept], 0.0)
        slope = np.zeros(len(w))
        slope[kept] = np.abs(fit_kept.gradient(tidy[kept]) + D * tidy[kept])
        falling = (slope > tol) & (np.abs(tidy) < SMALL * np.abs(tidy).max())
        if not falling.any():
            break
        kept &= ~falling
        tidy[~kept] = 0.0
    return tidy


def _norm_of(problem: Problem) -> Reweighted:
    inner, k = problem.inner, problem.n_penalised
    if isinstance(problem.loss, SquaredLoss):
        if isinstance(inner, TraceLasso):
            return Trace(inner.lam, root_of(inner, k))
        if hasattr(inner, "l1_l2"):
            l1, l2 = inner.l1_l2(k)
            return Lasso(np.broadcast_to(l1, k), float(l2))
    raise OptionError("solver 'irls' needs a squared loss with an l1, elastic-net or trace-Lasso penalty")


def root_of(penalty: TraceLasso, n: int) -> Vector:
    """P, or a smaller matrix with the same Gram matrix, which is all that matters (Grave 2014, Prop. 3)."""
    rows, columns = penalty.P.shape
    if columns != n:
        raise OptionError(f"P has {columns} columns where the problem has {n} penalised weights")
    return np.asarray(np.linalg.qr(penalty.P, mode="r")) if rows > columns else penalty.P
