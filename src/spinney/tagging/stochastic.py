"""Stochastic training of CRFs: a good model quickly, and the start of the exact solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sequences import Sequences

ROOM = 1 << 27  # maximum number of label-pair potentials of one sentence
TRIAL = 1000  # sentences on which step sizes are tried


def is_simple(data: Sequences) -> bool:
    """Whether every token has bigram observation 0 and no other, or none has any: one matrix serves all tokens."""
    seen = data.bigrams
    return not seen.n or (seen.n == 1 and bool(np.all(np.diff(seen.ptr) == 1)) and seen.values is None)


def has_room(data: Sequences, n_labels: int) -> bool:
    """Whether the label-pair potentials of the longest sentence fit into memory."""
    matrices = 1 if is_simple(data) else int(data.lengths.max(initial=1))
    return matrices * (n_labels + 1) * n_labels <= ROOM


class _Passes:
    """The data and the weights of a loss in the shape that the kernels take."""

    def __init__(self, loss: CRFLoss) -> None:
        data, shape = loss.data, loss.shape
        assert data.labels is not None
        Y = shape.labels
        self.loss = loss
        self.simple = is_simple(data)
        longest = int(data.lengths.max(initial=1))
        matrices = 1 if self.simple else longest
        if not has_room(data, Y):
            raise OptionError(
                f"a sentence of {longest} tokens with bigram observations is too long for stochastic training: "
                "use lbfgs"
            )
        self.sets = data.label_sets if data.label_sets.shape[1] else np.ones((1, Y), np.bool_)
        self.weights = np.ones(len(data)) if data.weights is None else data.weights
        self.room = (
            np.empty((longest, Y)),
            np.empty((matrices, Y + 1, Y)),
            np.empty((matrices, Y + 1, Y)),
            np.empty((longest, Y + 1)),
            np.empty((2, Y)),
            np.empty(longest, np.int32),
        )

    @property
    def sentences(self) -> tuple[Any, ...]:
        """What the kernels read."""
        data = self.loss.data
        u, b = data.unigrams, data.bigrams
        seen = (u.ptr, u.ids, u.flat_values, b.ptr, b.ids, b.flat_values)
        return (data.offsets, *seen, data.labels, self.sets, self.weights)

    def split(self, w: Vector) -> tuple[Any, Any]:
        """Unigram weights (a view of w) and bigram weights with a row for the start label (a copy)."""
        shape, support = self.loss.shape, self.loss.support
        L = np.zeros((shape.bigrams, shape.labels + 1, shape.labels))
        if support is None:
            L[:, : shape.labels + shape.start] = shape.lam(w)
            return shape.mu(w), L
        self._pairs(L)[self._rows, support.pairs] = w[support.n_unigrams :]
        return w[: support.n_unigrams].reshape(1, -1), L

    def join(self, L: Any, w: Vector) -> None:
        """Put the bigram weights back."""
        shape, support = self.loss.shape, self.loss.support
        if support is None:
            shape.lam(w)[:] = L[:, : shape.labels + shape.start]
        else:
            w[support.n_unigrams :] = self._pairs(L)[self._rows, support.pairs]

    @property
    def places(self) -> tuple[Any, Any, Any]:
        """For a model with a support: its rows and labels, and which pairs of labels have weights."""
        shape, support = self.loss.shape, self.loss.support
        if support is None:
            ones = np.ones((shape.bigrams, shape.labels + 1, shape.labels))
            return np.empty(0, np.int64), np.empty(0, np.int32), ones
        is_open = np.zeros((shape.bigrams, shape.labels + 1, shape.labels))
        self._pairs(is_open)[self._rows, support.pairs] = 1.0
        return support.row, support.labels, is_open

    def _pairs(self, L: Any) -> Any:
        return L.reshape(len(L), L.shape[1] * L.shape[2])

    @property
    def _rows(self) -> Any:
        support = self.loss.support
        assert support is not None
        return np.repeat(np.arange(self.loss.shape.bigrams), np.diff(support.pair_row))


def sgd(
    loss: CRFLoss,
    w: Vector,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    passes: int = 5,
    step: float | None = None,
    decay: float | None = None,
    seed: int = 0,
    after_pass: Callable[[int, Vector], bool | None] | None = None,
) -> Vector:
    """Stochastic gradient descent with cumulative ℓ1 clipping (Tsuruoka et al. 2009).

    The step after k of n sentences is τ₀/(1 + decay·k/n). ``step`` is τ₀; by default it is chosen on a few sentences.
    ``decay`` is by default τ₀·l2, or 1 without an ℓ2 penalty: 1/(l2·k/n) in the long run, which is the rule of Bottou's
    ``crfsgd``, the program that Sokolovska (2010) ran. Her §3.3.3 prints ``decay`` = 1, whose steps fall faster.
    ``after_pass(pass, w)`` may stop.
    """
    from spinney.tagging import _stochastic_kernels as kernels

    data = _Passes(loss)
    rng = np.random.default_rng(seed)
    if step is None:
        step = best_step(loss, w, l1, l2, seed, decay)
    if decay is None:
        decay = step * l2 if l2 > 0.0 else 1.0
    if not 0.0 <= decay < np.inf:
        raise OptionError(f"decay must be a number ≥ 0, not {decay:g}")
    w = w.copy()
    W, L = data.split(w)
    received = [np.zeros((len(x), x[0].size)) if l1 > 0 and len(x) else np.zeros((1, 1)) for x in (W, L)]
    state = np.array([1.0, 0.0, step, 0.0, decay])
    for number in range(passes):
        order = rng.permutation(loss.n)
        kernels.sgd_pass(  # type: ignore[call-arg]
            order, *data.sentences, W, L, *data.places, *received, state, l1, l2,
            loss.shape.start, data.simple, data.room,
        )  # fmt: skip
        W *= state[0]
        L *= state[0]
        state[0] = 1.0
        data.join(L, w)
        if after_pass and after_pass(number + 1, w):
            break
    return w


def best_step(loss: CRFLoss, w: Vector, l1: float, l2: float, seed: int, decay: float | None = None) -> float:
    """A step size for the whole data: half of the one (0.1 times a power of 2) that is best for one pass over a sample.

    Half, because a sample tolerates larger steps than all sentences do.
    """
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(loss.n)[:TRIAL])
    sample = CRFLoss(
        loss.data.take(chosen), loss.shape.labels, start=loss.shape.start, support=loss.support, threads=1
    )
    share = len(chosen) / max(loss.n, 1)

    def after(step: float) -> float:
        tried = sgd(sample, w, l1=l1 * share, l2=l2 * share, passes=1, step=step, decay=decay, seed=seed)
        with np.errstate(over="ignore", invalid="ignore"):
            value = sample.value_and_grad(tried)[0]
            value += share * (0.5 * l2 * float(tried @ tried) + l1 * float(np.abs(tried).sum()))
        return value if np.isfinite(value) else np.inf

    best, lowest = 0.1, after(0.1)
    while np.isinf(lowest) and best > 1e-12:  # large values of observations need small steps
        best /= 8.0
        lowest = after(best)
    for factor in (2.0, 0.5):
        step = best * factor
        while (value := after(step)) < lowest:
            best, lowest, step = step, value, step * factor
    return 0.5 * best


def adagrad(
    loss: CRFLoss,
    w: Vector,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    passes: int = 5,
    step: float = 0.1,
    seed: int = 0,
    after_pass: Callable[[int, Vector], bool | None] | None = None,
) -> Vector:
    """Regularised dual averaging with AdaGrad's steps; starts from zero whatever ``w`` is."""
    from spinney.tagging import _stochastic_kernels as kernels

    if loss.support is not None:
        raise OptionError(
            "the solver adagrad trains the full model only: use sgd for observed or selected weights"
        )
    data = _Passes(loss)
    rng = np.random.default_rng(seed)
    sums, squares, w = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w)
    (W, L), (sum_W, sum_L), (square_W, square_L) = data.split(w), data.split(sums), data.split(squares)
    state = np.array([0.0, step])
    for number in range(passes):
        kernels.adagrad_pass(  # type: ignore[call-arg]
            rng.permutation(loss.n), *data.sentences, sum_W, sum_L, square_W, square_L,
            state, l1, l2, loss.shape.start, data.simple, data.room, W, L,
        )  # fmt: skip
        share = state[0] / max(loss.n, 1)
        data.join(sum_L, sums)
        data.join(square_L, squares)
        kernels.averaged(sums, squares, share * l1, share * l2, step, w)
        if after_pass and after_pass(number + 1, w):
            break
    return w
