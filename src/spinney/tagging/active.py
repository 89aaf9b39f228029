"""Elastic-net training on an active set of weights, which grows until the optimality conditions hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim import ElasticNet, solve
from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem
from spinney.tagging.support import Support

GROWTH = 2.0  # in one round the set grows by at most this multiple of its size,
LEAST = 1000  # or by this many weights


def active_set(problem: Problem, w: Vector, monitor: Monitor, *, memory: int = 10) -> Vector:
    """Minimise a CRF's loss + l1·‖w‖₁ + ½l2‖w‖² over a growing set of weights; the others stay at zero.

    A round solves the problem on the set by OWL-QN, drops what became zero, computes the gradient of *all* weights and
    takes in those that violate the optimality conditions most. It ends when none does, so the certificate is that of
    the full problem. Works for a loss with ``restricted(support)``.
    """
    if not hasattr(problem.inner, "l1_l2"):
        raise OptionError(
            f"the solver active-set needs an elastic-net penalty: use fista for {problem.inner.describe()}"
        )
    loss = problem.loss
    l1, l2 = problem.inner.l1_l2(loss.n_params)
    if not np.any(l1):
        raise OptionError("without an ℓ1 penalty every weight is active: use the solver lbfgs or owlqn")
    weights = None if np.ndim(l1) == 0 else np.asarray(l1)
    support = loss.support  # type: ignore[attr-defined]
    of_full = np.arange(loss.n_params) if support is None else support.places(loss.shape)  # type: ignore[attr-defined]
    w = w.copy()
    value, grad = loss.value_and_grad(w)
    while not monitor(w, value, grad):
        places = np.union1d(np.flatnonzero(w), _worst(monitor.residual, w, monitor))
        restricted = loss.restricted(Support.of(of_full[places], loss.shape))  # type: ignore[attr-defined]
        penalty = ElasticNet(1.0, l2, weights[places]) if weights is not None else ElasticNet(float(l1), l2)
        # The inner problem need not be solved more precisely than the set is complete.
        tol = max(0.5 * monitor.absolute_tol, 0.1 * monitor.violation)
        inner = solve(
            restricted, penalty, "owlqn", tol=tol, scale=1.0, w0=w[places], max_iter=200, memory=memory
        )
        w[places] = inner.w
        if inner.interrupted:
            monitor(w, *loss.value_and_grad(w))
            raise KeyboardInterrupt
        value, grad = loss.value_and_grad(w)
    return w


def _worst(residual: Vector, w: Vector, monitor: Monitor) -> NDArray[np.int64]:
    """The zero weights that violate the conditions most, at most as many as the set may grow by."""
    size = np.abs(residual)
    outside = np.flatnonzero((size > monitor.absolute_tol) & (w == 0))
    most = int(max(LEAST, GROWTH * np.count_nonzero(w)))
    if len(outside) > most:
        outside = outside[np.argpartition(-size[outside], most)[:most]]
    return outside
