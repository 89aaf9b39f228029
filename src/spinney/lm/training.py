"""Training a log-linear model: accelerated proximal gradient with a step of its own for each word."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.errors import OptionError
from spinney.lm.suffixloss import SuffixTrieLoss
from spinney.lm.triepenalty import TriePenalty
from spinney.optim import Solution, Step

Vector = NDArray[np.float64]
Callback = Callable[[Step, Vector], bool | None]

_STEEPEST = 1e60  # curvature, relative to what it should be
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
    callback: Callback | None = None,
) -> Solution:
    """Minimise loss + penalty by FISTA (Nelakanti 2014, Alg. 3 with its errata) in the metric of the words.

    ``tol`` bounds the residual of each gram over √D of its word, relative to the largest at w = 0.
    """
    from spinney.lm._loglinear_kernels import descend, extrapolate, goes_back, slope_and_square

    copies = loss.trie.length[loss.trie.context].astype(np.float64)
    metric = scale * copies  # of the vector with a coordinate for each context of a collapsed node
    watch = _Watch(loss, penalty, copies, np.sqrt(scale), tol, max_iter, callback)
    w = np.zeros(loss.n_params) if w0 is None else w0.astype(np.float64)
    before, ahead = w.copy(), np.empty_like(w)
    t_before = t = L = 1.0
    value = loss.value(w)
    interrupted = False
    with progress.task("training by FISTA, a step for each word", total=max_iter) as bar:
        try:
            while not watch(w, value, bar):
                extrapolate(w, before, (t_before - 1.0) / t, ahead)
                ahead_value, grad = loss.value_and_grad(ahead)
                before, w = w, before
                while True:
                    descend(ahead, grad, metric, L, w)
                    penalty.prox(w, 1.0 / L)
                    value = loss.value(w)
                    slope, square = slope_and_square(ahead, w, grad, metric)
                    bound = ahead_value + slope + 0.5 * L * square
                    if value <= bound + 1e-10 * abs(bound):  # near the optimum both sides agree to rounding
                        break
                    L *= 2.0
                    if L > _STEEPEST:
                        raise OptionError(
                            "no step leads downhill: the features are too large, or the penalty too small"
                        )
                t_before, t = t, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
                if goes_back(ahead, w, before, metric):
                    t_before = t = 1.0
                else:
                    L *= 0.95  # let a too cautious estimate relax
        except KeyboardInterrupt:
            if not watch.trace:
                raise
            interrupted = True
            w = watch.w
    return watch.solution(w, interrupted)


class _Watch:
    """Looks at the certificate from time to time, and says when to stop."""

    def __init__(
        self,
        loss: SuffixTrieLoss,
        penalty: TriePenalty,
        copies: Vector,
        width: Vector,
        tol: float,
        max_iter: int,
        callback: Callback | None,
    ) -> None:
        self._loss, self._penalty, self._width = loss, penalty, width
        self._tol, self._max_iter, self._callback = tol, max_iter, callback
        self._started = time.perf_counter()
        null = loss.value_and_grad(np.zeros(loss.n_params))[1]
        self._null = max(float(np.max(np.maximum(-null / copies, 0.0) / width, initial=0.0)), 1e-300)
        self._iteration = -1
        self._converged = False
        self.trace: list[Step] = []

    def __call__(self, w: Vector, value: float, bar: progress.Task) -> bool:
        self._iteration += 1
        bar.update(1 if self._iteration else 0)
        if self._iteration % _LOOK and self._iteration < self._max_iter:
            return False
        self.w = w.copy()
        self._grad = self._loss.value_and_grad(w)[1]
        residual = np.abs(self._penalty.residual(w, self._grad)) / self._width
        violation = float(np.max(residual, initial=0.0)) / self._null
        objective = value + self._penalty.value(w)
        step = Step(self._iteration, time.perf_counter() - self._started, objective, violation)
        self.trace.append(step)
        bar.update(0, f"objective {objective:.6g}, violation {violation:.2g}")
        self._converged = violation <= self._tol
        stop = self._callback is not None and self._callback(step, w)
        return bool(self._converged or stop or self._iteration >= self._max_iter)

    def solution(self, w: Vector, interrupted: bool) -> Solution:
        """What was found."""
        last = self.trace[-1]
        seconds = time.perf_counter() - self._started
        return Solution(
            w, last.objective, last.violation, self._converged, last.iteration, "words", seconds, self._grad,
            interrupted, self.trace,
        )  # fmt: skip
