"""Iteratively reweighted least squares (the η-trick) for the Lasso and the trace Lasso; squared loss only."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.optim.losses import SquaredLoss
from spinney.optim.penalties import TraceLasso
from spinney.optim.problem import Monitor, Problem

SMALLEST_MU = 10 * np.finfo(np.float64).eps  # Grave 2014, §7.3.1
NEARLY_ZERO = 1e-7  # iterates are never exactly sparse: weights below this share of the largest count as 0


def irls(problem: Problem, w: Vector, monitor: Monitor, *, decay: float = 0.8) -> Vector:
    """Replace the norm by the quadratic that touches it at the current point, solve, repeat (Grave 2014, §7.3).

    The smoothing μ falls by ``decay`` at each step, to ten times machine epsilon. Starts from ridge regression: at a
    tiny μ, w = 0 would be a fixed point.
    """
    loss, inner, k = problem.loss, problem.inner, problem.n_penalised
    if not isinstance(loss, SquaredLoss) or not (hasattr(inner, "l1_l2") or isinstance(inner, TraceLasso)):
        raise OptionError("solver 'irls' needs a squared loss with an l1, elastic-net or trace-Lasso penalty")
    X, y, x_mean, y_mean = _centred(loss)
    columns = np.einsum("ij,ij->j", X, X)
    coefficients = _weighted_ridge(X, y, np.full(k, max(float(columns.mean()), 1e-12)))
    scale = float(np.max(coefficients**2, initial=0.0)) or 1.0
    mu = scale
    while True:
        tidy = np.where(np.abs(coefficients) > NEARLY_ZERO * np.abs(coefficients).max(), coefficients, 0.0)
        w = np.append(tidy, y_mean - x_mean @ tidy) if loss.intercept else tidy
        if monitor(w, *loss.value_and_grad(w)):
            return w
        if isinstance(inner, TraceLasso):
            D = inner.lam * _trace_weights(inner.P, coefficients, mu)
        else:
            l1, l2 = inner.l1_l2(k)
            D = l1 / np.sqrt(coefficients**2 + mu) + l2
        coefficients = _weighted_ridge(X, y, D)
        mu = max(mu * decay, SMALLEST_MU * scale)


def _centred(loss: SquaredLoss) -> tuple[Vector, Vector, Vector, float]:
    """√s-weighted X and y with the intercept projected out, and the means that give it back."""
    X = np.asarray(loss.X.todense()) if sparse.issparse(loss.X) else loss.X
    s, root = loss.sample_weight, np.sqrt(loss.sample_weight)
    if not loss.intercept:
        return root[:, None] * X, root * loss.y, np.zeros(loss.p), 0.0
    x_mean, y_mean = np.average(X, axis=0, weights=s), float(np.average(loss.y, weights=s))
    return root[:, None] * (X - x_mean), root * (loss.y - y_mean), x_mean, y_mean


def _trace_weights(P: Vector, w: Vector, mu: float) -> Vector:
    """diag(Pᵀ S⁻¹ P) with S = (P·Diag(w)²·Pᵀ + μI)^{1/2}, by the eigenvectors of the inner matrix."""
    eigenvalues, U = linalg.eigh((P * w**2) @ P.T)
    inverse_root = 1.0 / np.sqrt(np.maximum(eigenvalues, 0.0) + mu)
    return np.asarray(np.einsum("jk,jk,k->j", P.T @ U, P.T @ U, inverse_root))


def _weighted_ridge(X: Vector, y: Vector, D: Vector) -> Vector:
    """argmin ½‖y − Xw‖² + ½ Σ D_j w_j², through the smaller of the two Gram matrices."""
    n, p = X.shape
    if p <= n:
        return np.asarray(linalg.solve(X.T @ X + np.diag(D), X.T @ y, assume_a="pos"))
    XD = X / D  # Woodbury: w = D⁻¹Xᵀ(XD⁻¹Xᵀ + I)⁻¹y
    return np.asarray(XD.T @ linalg.solve(XD @ X.T + np.eye(n), y, assume_a="pos"))
