"""The pairwise elastic net whose matrix need not be positive semi-definite, by coordinate descent.

    ½‖y − Xw‖² + λ |w|ᵀP|w|    with P symmetric, entrywise ≥ 0, and P_ii > 0

With the P = I + 11ᵀ − XᵀX that Grave (2014, section 6.4.5) prints first, the objective is not convex. Each step is
exact for its coordinate, so the objective never rises, and the descent ends where no single weight can lower it.
"""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit
from spinney.optim.base import Vector


def printed_pairs(X: Vector) -> Vector:
    """P = I + 11ᵀ − XᵀX, for columns of unit norm.

    Examples
    --------
    >>> printed_pairs(np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])).round(2).tolist()
    [[1.0, 1.0, 0.4], [1.0, 1.0, 0.2], [0.4, 0.2, 1.0]]
    """
    P = np.maximum(1.0 - X.T @ X, 0.0)  # rounding may leave a cosine just over 1
    np.fill_diagonal(P, 1.0)
    return P


def pairwise_descent(
    gram: Vector, products: Vector, P: Vector, lam: float, w: Vector, *, tol: float, max_sweeps: int = 10_000
) -> Vector:
    """Weights at which no coordinate moves by more than ``tol`` times the largest of them, from those given.

    Parameters
    ----------
    gram, products
        XᵀX and Xᵀy.
    P, lam
        The matrix of the penalty, and its strength.
    w
        Where to start; it is left as it is.
    tol, max_sweeps
        When to end.

    Examples
    --------
    >>> pairwise_descent(np.eye(2), np.array([3.0, 1.0]), np.ones((2, 2)), 0.5, np.zeros(2), tol=1e-9)
    array([1.5, 0. ])
    """
    found = w.copy()
    _descend(found, gram @ found, P @ np.abs(found), gram, products, P, lam, tol, max_sweeps)
    return found


@njit(cache=True, nogil=True)
def _descend(
    w: Vector,
    fitted: Vector,
    pulled: Vector,
    gram: Vector,
    products: Vector,
    P: Vector,
    lam: float,
    tol: float,
    max_sweeps: int,
) -> None:
    """Exact steps, coordinate by coordinate; ``fitted`` is XᵀXw and ``pulled`` P|w|, both kept up to date."""
    for _ in range(max_sweeps):
        moved, largest = 0.0, 0.0
        for i in range(w.size):
            pull = products[i] - fitted[i] + gram[i, i] * w[i]
            threshold = 2.0 * lam * (pulled[i] - P[i, i] * abs(w[i]))
            size = max(abs(pull) - threshold, 0.0) / (gram[i, i] + 2.0 * lam * P[i, i])
            new = size if pull > 0 else -size
            change, growth = new - w[i], size - abs(w[i])
            if change != 0.0:
                for j in range(w.size):
                    fitted[j] += change * gram[i, j]
                    pulled[j] += growth * P[i, j]
                w[i] = new
                moved = max(moved, abs(change))
            largest = max(largest, size)
        if moved <= tol * largest:
            break
