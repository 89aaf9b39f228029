"""How far an iterate is from the optimum: a lower bound on the optimum that holds, from one gradient.

A convex loss lies above its tangent planes, and a loss that is a sum of log-losses or squares is never below 0. So for
every s in [0, 1] and every point u

    L(u) ≥ s·(L(w) + ∇L(w)·(u − w)),    hence    min L + Ω ≥ s·(L(w) − ∇L(w)·w) − Ω*(−s·∇L(w)),

where Ω* is the conjugate of the penalty. For a norm Ω* is 0 in the dual ball, so that s need only shrink the gradient
into it (the dual scaling of the Lasso, without the conjugate of the loss: it holds for CRFs as for regressions); for a
ridge Ω* is a square. The distance of the objective from the best such bound is the *gap*. At the optimum it is 0.

Coordinates that are not penalised, such as intercepts, must be fitted before, or the plane has no lowest point: losses
that have them offer ``fit_free``. A loss that is not convex says so (``convex = False``), and has no gap.
"""

from __future__ import annotations

from typing import Any

from spinney.optim.base import Loss, Penalty, Vector
from spinney.optim.penalties.elastic import squared_norm


def has_bound(loss: Loss) -> bool:
    """Whether the planes of a loss bound it from below."""
    return bool(getattr(loss, "convex", True)) and (loss.n_free == 0 or hasattr(loss, "fit_free"))


def lower_bound(penalty: Penalty, w: Vector, value: float, grad: Vector, residual: Vector) -> float:
    """A bound on min L + Ω from below, from the loss and its gradient at ``w``; −∞ if the penalty gives none.

    ``residual`` is the smallest element of ∇L(w) + ∂Ω(w). All arguments are of the penalised coordinates; the others
    must be optimal.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.optim import L1, SquaredLoss
    >>> loss, w = SquaredLoss(np.eye(2), [3.0, 0.5], intercept=False), np.array([2.0, 0.0])  # the optimum at λ = 1
    >>> value, grad = loss.value_and_grad(w)
    >>> round(lower_bound(L1(1.0), w, value, grad, L1(1.0).residual(w, grad)), 6)
    2.625
    """
    found = penalty.bound(value - float(grad @ w), grad, residual)
    if penalty.ridge:
        # A strongly convex objective lies above a parabola.
        parabola = value + penalty.value(w) - 0.5 * squared_norm(residual) / penalty.ridge
        found = max(found, parabola)
    return found


def fitted_bound(loss: Any, penalty: Penalty, w: Vector) -> float:
    """The same where some coordinates are free: these are fitted first, which costs one more gradient."""
    fitted = loss.fit_free(w)
    value, grad = loss.value_and_grad(fitted)
    k = loss.n_params - loss.n_free
    return lower_bound(penalty, fitted[:k], value, grad[:k], penalty.residual(fitted[:k], grad[:k]))
