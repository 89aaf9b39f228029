"""Training a log-linear model: accelerated proximal gradient with a step of its own for each word."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.lm.suffixloss import SuffixTrieLoss
from spinney.lm.triepenalty import TriePenalty
from spinney.optim import Solution, Step

Vector = NDArray[np.float64]

_LOOK = 10  # iterations between two looks at the certificate, which costs a gradient


def word_scale(loss: SuffixTrieLoss) -> Vector:
    """D of each gram: how often its word was seen, times the largest Σ_k x_k² of its contexts.

    The Hessian of a softmax is at most that of independent words: diag(π) − ππᵀ ⪯ diag(π). So the block of word v is at
    most Σ_events π_v φφᵀ, whose eigenvalues are at most max ‖φ‖² Σ π_v; and Σ π_v is the count of v at the optimum, up
    to the penalty. A common step would have to suit the most frequent word, thousands of times too short for most.
    """
    from spinney.lm._loglinear_kernels import from_roots, sums_from_ancestors

    trie = loss.trie
    squares = (
        loss.feature**2 / trie.length[trie.context]
    )  # the contexts of a collapsed node share the feature
    sums_from_ancestors(squares, trie.up)
    count = trie.count.astype(np.float64)
    from_roots(count, trie.up)
    return count * max(float(squares.max(initial=0.0)), 1e-12)


def words_fista(
    loss: SuffixTrieLoss,
    penalty: TriePenalty,
    scale: Vector,
    *,
    w0: Vector | None = None,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callable[[Step, Vector], bool | None] | None = None,
) -> Solution:
    """Minimise loss + penalty by FISTA (Nelakanti 2014, Alg. 3 with its errata) in the metric of the words.

    ``tol`` bounds the residual of each gram over √D of its word, relative to the largest at w = 0.
    """
    copies = loss.trie.length[loss.trie.context].astype(np.float64)
    metric = scale * copies  # of the vector with a coordinate for each context of a collapsed node
    width = np.sqrt(scale)

    def violation(w: Vector, grad: Vector) -> float:
        return float(np.max(np.abs(penalty.residual(w, grad)) / width, initial=0.0))

    started = time.perf_counter()
    null = loss.value_and_grad(np.zeros(loss.n_params))[1]
    null_scale = max(float(np.max(np.maximum(-null / copies, 0.0) / width, initial=0.0)), 1e-300)
    w = np.zeros(loss.n_params) if w0 is None else w0.copy()
    z = w.copy()
    best_t = t = 1.0
    L = 1.0
    trace: list[Step] = []
    converged = interrupted = False
    iteration = 0
    value, grad = loss.value_and_grad(w)
    objective = value + penalty.value(w)
    with progress.task("training by FISTA, a step for each word") as bar:
        try:
            while True:
                if iteration % _LOOK == 0:
                    if iteration:
                        value, grad = loss.value_and_grad(w)
                    found = violation(w, grad) / null_scale
                    step = Step(iteration, time.perf_counter() - started, objective, found)
                    trace.append(step)
                    bar.update(min(iteration, _LOOK), f"objective {objective:.6g}, violation {found:.2g}")
                    converged = found <= tol
                    if converged or iteration >= max_iter or (callback is not None and callback(step, w)):
                        break
                iteration += 1
                momentum = (best_t - 1.0) / t
                bar_w = w + momentum * (w - z)
                bar_value, bar_grad = loss.value_and_grad(bar_w)
                z = w
                while True:
                    w = bar_w - bar_grad / (L * metric)
                    penalty.prox(w, 1.0 / L)
                    move = w - bar_w
                    value = loss.value(w)
                    bound = bar_value + float(bar_grad @ move) + 0.5 * L * float(metric @ (move * move))
                    if value <= bound + 1e-10 * abs(bound):
                        break
                    L *= 2.0
                objective = value + penalty.value(w)
                best_t, t = t, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
                if float(((bar_w - w) * metric) @ (w - z)) > 0.0:
                    best_t = t = 1.0
                else:
                    L *= 0.95
        except KeyboardInterrupt:
            if not trace:
                raise
            interrupted = True
    seconds = time.perf_counter() - started
    return Solution(
        w, objective, trace[-1].violation, converged, iteration, "words", seconds, grad, interrupted, trace
    )
