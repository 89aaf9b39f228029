"""Stochastic solvers: an iteration is a shuffled pass in mini-batches. Quick to a fair solution, slow to a fine one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.problem import Monitor, Problem

Estimate = Callable[[Vector], tuple[float, Vector]]


def _passes(problem: Problem, monitor: Monitor, w: Vector, batch: int, seed: int) -> Iterator[Estimate]:
    """Mini-batch estimates, pass after pass, until the monitor is content with ``w``, which changes in place."""
    loss: Any = problem.loss
    rng = np.random.default_rng(seed)
    while not monitor(w, *loss.value_and_grad(w)):
        yield from loss.minibatches(batch, rng)


def _elastic_net(problem: Problem) -> tuple[Vector, float]:
    inner: Any = problem.inner
    l1_inner, l2 = inner.l1_l2(problem.n_penalised)
    l1 = np.zeros(problem.loss.n_params)
    l1[: problem.n_penalised] = l1_inner
    return l1, float(l2)


def _step(problem: Problem, step: float | None) -> float:
    """The given step, or the inverse of the Lipschitz constant of the whole loss."""
    if step is not None:
        return step
    return 1.0 / float(problem.loss.lipschitz()) if hasattr(problem.loss, "lipschitz") else 0.1


def sgd(
    problem: Problem,
    w: Vector,
    monitor: Monitor,
    *,
    batch: int = 32,
    step: float | None = None,
    seed: int = 0,
) -> Vector:
    """Stochastic gradient descent with the cumulative ℓ1 penalty of Tsuruoka, Tsujii & Ananiadou (2009).

    Each coordinate is clipped at zero by the ℓ1 penalty it could have received so far minus what it did receive,
    which gives sparse weights in spite of noisy gradients. Step τ_i = τ₀/(1 + i/N) (Sokolovska 2010, §3.3.3).
    """
    l1, l2 = _elastic_net(problem)
    k = problem.n_penalised
    w = w.copy()
    tau0 = _step(problem, step)
    due, received = np.zeros_like(w), np.zeros_like(w)
    N = max(1, -(-getattr(problem.loss, "n", batch) // batch))  # mini-batches in a pass
    for i, estimate in enumerate(_passes(problem, monitor, w, batch, seed)):
        tau = tau0 / (1.0 + i / N)
        grad = estimate(w)[1]
        grad[:k] += l2 * w[:k]
        w -= tau * grad
        due += tau * l1
        before = w.copy()
        np.maximum(0.0, w - (due + received), out=w, where=before > 0)
        np.minimum(0.0, w + (due - received), out=w, where=before < 0)
        received += w - before
    return w


def adagrad(
    problem: Problem, w: Vector, monitor: Monitor, *, batch: int = 32, step: float = 0.1, seed: int = 0
) -> Vector:
    """Proximal AdaGrad (Duchi, Hazan & Singer 2011): each coordinate has its own falling step."""
    l1, l2 = _elastic_net(problem)
    k = problem.n_penalised
    w = w.copy()
    squares = np.zeros_like(w)
    for estimate in _passes(problem, monitor, w, batch, seed):
        grad = estimate(w)[1]
        grad[:k] += l2 * w[:k]
        squares += grad * grad
        steps = step / (np.sqrt(squares) + 1e-12)
        w -= steps * grad
        np.copyto(w, np.sign(w) * np.maximum(np.abs(w) - steps * l1, 0.0))
    return w


def rda(
    problem: Problem,
    w: Vector,
    monitor: Monitor,
    *,
    batch: int = 32,
    gamma: float | None = None,
    seed: int = 0,
) -> Vector:
    """Regularised dual averaging (Xiao 2010): w minimises ⟨ḡ, w⟩ + penalty + γ/(2√t)‖w‖²; any penalty with a prox."""
    penalty = problem.penalty
    w = w.copy()
    average = np.zeros_like(w)
    gamma = gamma if gamma is not None else 1.0 / _step(problem, None)
    for t, estimate in enumerate(_passes(problem, monitor, w, batch, seed), start=1):
        average += (estimate(w)[1] - average) / t
        reach = np.sqrt(t) / gamma
        w[:] = -reach * average
        penalty.prox(w, reach)
    return w


def sage(
    problem: Problem,
    w: Vector,
    monitor: Monitor,
    *,
    batch: int = 128,
    strong_convexity: float = 0.0,
    noise: float | None = None,
    lipschitz: float | None = None,
    seed: int = 0,
) -> Vector:
    """SAGE, accelerated stochastic proximal descent (Hu, Kwok & Pan 2009; Nelakanti 2014, Alg. 4, corrected).

    ``strong_convexity`` is μ, the modulus of the whole objective. With μ = 0 the general-convex schedule is used, in
    which ``noise`` (b in Lip + b(t+1)^{3/2}, as a share of Lip) makes the steps fall so that the noise averages out.
    ``lipschitz`` is Lip where the loss does not know it, or knows one that is too cautious.
    """
    penalty, mu = problem.penalty, strong_convexity
    lip = 1.0 / _step(problem, None) if lipschitz is None else lipschitz
    b = lip * (1e-3 if noise is None else noise)
    w, z = w.copy(), w.copy()
    tau = delta = 1.0
    rho = lip + mu
    for t, estimate in enumerate(_passes(problem, monitor, w, batch, seed), start=1):
        wbar = (1.0 - tau) * w + tau * z
        w[:] = wbar - estimate(wbar)[1] / rho
        penalty.prox(w, 1.0 / rho)
        z = (rho * tau * z + (mu - rho) * wbar + rho * w) / (rho * tau + mu)
        if mu > 0:
            rho = lip + mu / delta
            tau = 0.5 * (np.sqrt(4.0 * delta + delta * delta) - delta)
            delta *= 1.0 - tau
        else:
            tau, rho = 2.0 / (t + 2.0), lip + b * (t + 1.0) ** 1.5
    return w
