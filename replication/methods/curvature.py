"""Second derivatives of a CRF's loss: Var(Σ_t f_k), exactly or with positions taken as independent."""

from __future__ import annotations

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sbcd import State
from spinney.tagging.sequences import Floats


def exact_second_derivative(loss: CRFLoss, w: Vector, k: int) -> float:
    """∂²loss/∂w_k² = Σ_i weight_i·Var(F_k | x_i), by a forward recursion for that weight alone.

    It carries Σ over labellings of ψ, of ψ·F and of ψ·F² (Cappé et al. 2005): time T·Y² for *each* weight, so it
    serves to check others.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations, Sequences
    >>> data = Sequences(np.array([0, 2]), Observations.always(2), Observations.none(2), np.array([1, 0], np.int32))
    >>> loss = CRFLoss(data, n_labels=2)
    >>> exact_second_derivative(loss, np.zeros(2), 0)
    0.5
    """
    data, shape = loss.data, loss.shape
    if np.any(data.is_partial):
        raise OptionError("second derivatives need a label for every token")
    full = np.zeros(shape.n_params)
    places = np.arange(shape.n_params) if loss.support is None else loss.support.places(shape)
    full[places] = w
    f = np.zeros(shape.n_params)
    f[places[k]] = 1.0
    weights = np.ones(len(data)) if data.weights is None else data.weights
    total = 0.0
    for i in range(len(data)):
        a = np.zeros((3, shape.labels + 1))
        a[0, shape.labels] = 1.0  # before the first token there is only the start
        for t in range(int(data.offsets[i]), int(data.offsets[i + 1])):
            score = _pair_values(loss, full, t)
            W, F = np.exp(score - score.max()), _pair_values(loss, f, t)
            a0 = a[0] @ W
            a1 = a[1] @ W + a[0] @ (W * F)
            a2 = a[2] @ W + 2.0 * (a[1] @ (W * F)) + a[0] @ (W * F**2)
            a = np.hstack([np.stack([a0, a1, a2]) / a0.sum(), np.zeros((3, 1))])
        z, first, second = a.sum(axis=1)
        total += float(weights[i]) * float(second / z - (first / z) ** 2)
    return total


def _pair_values(loss: CRFLoss, w: Vector, t: int) -> Floats:
    """Σ_k w_k f_k(y', y) at token t, [Y + 1, Y]: with the weights the scores, with a unit vector one feature."""
    shape, (u, b) = loss.shape, (loss.data.unigrams, loss.data.bigrams)
    values = np.zeros((shape.labels + 1, shape.labels))
    for e in range(int(u.ptr[t]), int(u.ptr[t + 1])):
        values += shape.mu(w)[u.ids[e]] * (1.0 if u.values is None else u.values[e])
    for e in range(int(b.ptr[t]), int(b.ptr[t + 1])):
        lam = shape.lam(w)[b.ids[e]] * (1.0 if b.values is None else b.values[e])
        values[: len(lam)] += lam
    return values


def approximate_second_derivatives(loss: CRFLoss, w: Vector) -> Vector:
    """Σ_i weight_i Σ_t (p − p²), p the probability that feature k fires at token t, for every weight.

    Exact where a feature can fire at one token of a sentence at most (Sokolovska 2010, ch. 6).

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations, Sequences
    >>> seen = Observations(np.arange(3), np.array([0, 1], np.int32), n=2)
    >>> loss = CRFLoss(Sequences(np.array([0, 2]), seen, seen, np.array([1, 0], np.int32)), n_labels=2)
    >>> h = approximate_second_derivatives(loss, np.zeros(loss.n_params))
    >>> loss.shape.mu(h).tolist(), loss.shape.lam(h)[1].tolist()
    ([[0.25, 0.25], [0.25, 0.25]], [[0.1875, 0.1875], [0.1875, 0.1875], [0.0, 0.0]])
    """
    return State(loss, w).second_derivatives()
