"""One step of Newton's method on a loss plus a Gaussian prior on series, by preconditioned conjugate gradients.

The preconditioner is the diagonal of the loss's Hessian plus the whole prior: tridiagonal, so it is solved exactly
in a few passes over the coefficients. The number of iterations does not depend on how strongly series are shrunk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from spinney.optim import SquaredLoss
from spinney.optim.base import Vector
from spinney.trend.chains import Chains


class SeriesPoint(NamedTuple):
    """The series, of shape (T, J), with the value and the gradient of the loss there."""

    W: Vector
    value: float
    grad: Vector


def at(loss: Any, W: Vector) -> SeriesPoint:
    """Evaluate the loss."""
    value, grad = loss.value_and_grad(np.ascontiguousarray(W).ravel())
    return SeriesPoint(W, value, grad.reshape(W.shape))


class Newton:
    """Steps that decrease loss(W) + ½ Σ wⱼᵀRⱼwⱼ.

    Examples
    --------
    >>> from spinney.trend.chains import toeplitz
    >>> from spinney.trend.likelihoods import gaussian
    >>> loss = gaussian(np.ones((2, 1)), np.array([1.0, 2.0]), np.array([0, 1]), 2, bias=False)
    >>> point = Newton(loss).step(at(loss, np.zeros((2, 1))), toeplitz(2, [0.0]).scaled([2.0]))
    >>> point.W.round(6).ravel().tolist()  # halfway: as much shrunk as drawn
    [0.5, 1.0]
    """

    def __init__(self, loss: Any) -> None:
        self.loss = loss
        # The curvature of a quadratic is constant.
        self._diagonal = loss.hess_diag(np.zeros(loss.n_params)) if isinstance(loss, SquaredLoss) else None

    def step(self, point: SeriesPoint, R: Chains, forcing: float = 1e-10) -> SeriesPoint:
        """One step; ``forcing`` is the required reduction of the linear system's residual."""
        W, shape = point.W, point.W.shape
        w = np.ascontiguousarray(W).ravel()
        gradient = (point.grad + R.times(W)).ravel()
        if not np.any(gradient):
            return point
        curvature = self.loss.hess_vec(w)
        diagonal = self.loss.hess_diag(w) if self._diagonal is None else self._diagonal
        # A coordinate without curvature (no data, no prior) has no gradient either, so any positive number will do.
        factor = R.plus_diagonal(np.maximum(diagonal, 1e-12 * diagonal.max()).reshape(shape)).factor()
        n = len(w)
        hessian = LinearOperator(
            (n, n), lambda v: curvature(v) + R.times(v.reshape(shape)).ravel(), dtype=np.float64
        )
        preconditioner = LinearOperator(
            (n, n), lambda v: factor.solve(v.reshape(shape)).ravel(), dtype=np.float64
        )
        direction, _ = cg(hessian, -gradient, rtol=forcing, maxiter=10 * n, M=preconditioner)
        D, slope = direction.reshape(shape), float(direction @ gradient)
        before = point.value + 0.5 * float(np.sum(R.quadratic(W)))
        length = 1.0
        while True:
            new = at(self.loss, W + length * D)
            after = new.value + 0.5 * float(np.sum(R.quadratic(new.W)))
            if after <= before + 1e-4 * length * slope + 1e-13 * abs(before):
                return new
            length *= 0.5
            if length < 1e-10:
                return point
