"""How a morphological tagger is trained: dual averaging with steps of AdaGrad, under an elastic net.

The objective is the negative log-likelihood of the labels, summed over sentences, plus l1·|w| + l2/2·w². First every
token is by itself, over all labels; then sentences are chains over the candidates of their tokens, to which the true
labels belong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.optim.penalties import ElasticNet
from spinney.tagging.morphology.labels import Composed
from spinney.tagging.morphology.lattices import MARGIN, arrays_of, room
from spinney.tagging.morphology.observations import Seen
from spinney.tagging.morphology.weights import Floats, Weights

#: Step of AdaGrad, and passes in which tokens are still by themselves.
STEP = 0.15
ALONE = 2


@dataclass(frozen=True, eq=False)
class Treebank:
    """Sentences as numbers: their observations and their labels."""

    offsets: NDArray[np.int64]
    seen: Seen
    gold: NDArray[np.int32]

    @property
    def longest(self) -> int:
        """The length of the longest sentence."""
        return int(np.diff(self.offsets).max(initial=0))


@dataclass
class Trained:
    """Weights, their objective, and how far they are from the conditions of its optimum, relative to l1."""

    weights: Weights
    passes: int
    objective: float
    violation: float
    interrupted: bool


def offsets_of(sentences: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
    """Where each sentence begins among all tokens, and where the last ends.

    Examples
    --------
    >>> offsets_of([["a", "b"], ["c"]])
    array([0, 2, 3])
    """
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)


def loss_and_gradient(
    data: Treebank, labels: Composed, weights: Weights, *, chained: bool = True
) -> tuple[float, Floats, Floats]:
    """The negative log-likelihood of the labels, and its gradient in the weights of observations and of transitions.

    It is that of lattices which hold the candidates of these weights and the true labels.
    """
    from spinney.tagging.morphology import _lattice_kernels as kernels

    gradient, of_tables = np.zeros_like(weights.w), np.zeros_like(weights.transitions)
    loss = kernels.loss_and_gradient(  # type: ignore[call-arg]
        data.offsets, tuple(data.seen), data.gold, weights.rows, arrays_of(labels), weights.w, gradient,
        np.zeros_like(gradient), weights.transitions, of_tables, np.zeros_like(of_tables), MARGIN, chained,
        room(data.longest, labels),
    )  # fmt: skip
    return float(loss), gradient, of_tables


def train(
    data: Treebank,
    labels: Composed,
    weights: Weights,
    *,
    l1: float,
    l2: float,
    passes: int,
    alone: int = ALONE,
    seed: int = 0,
    after_pass: Callable[[int, Weights], bool] | None = None,
) -> Trained:
    """Learn ``weights``, which are 0, in so many passes over the sentences.

    An interrupt ends it with what was learned so far. In the first ``alone`` passes, every token is by itself.

    ``after_pass(number, weights)`` is called after each pass, and may end the training by returning true.
    """
    from spinney.tagging.morphology import _lattice_kernels as kernels

    sums, squares = (np.zeros_like(weights.w) for _ in range(2))
    table_sums, table_squares = (np.zeros_like(weights.transitions) for _ in range(2))
    seen, shape = tuple(data.seen), arrays_of(labels)
    n = len(data.offsets) - 1
    state, loss = np.array([0.0, STEP]), 0.0
    stamp = np.zeros(len(weights.ptr) - 1)  # when the weights of an observation were last computed
    work, rng = room(data.longest, labels), np.random.default_rng(seed)
    done, interrupted = 0, False

    def settle() -> None:
        share = state[0] / max(n, 1)
        kernels.averaged(sums, squares, 0, len(sums), share * l1, share * l2, STEP, weights.w)  # type: ignore[call-arg]
        kernels.averaged(  # type: ignore[call-arg]
            table_sums, table_squares, 0, len(table_sums), share * l1, share * l2, STEP, weights.transitions
        )

    with progress.task("training", total=passes) as bar:
        try:
            for number in range(passes):
                loss = kernels.train_pass(  # type: ignore[call-arg]
                    rng.permutation(n), data.offsets, seen, data.gold, weights.rows, shape, weights.w, sums, squares,
                    weights.transitions, table_sums, table_squares, state, stamp, l1, l2, MARGIN, number >= alone, work,
                )  # fmt: skip
                done = number + 1
                bar.update(1, note=f"loss {loss / max(len(data.gold), 1):.3f} a token")
                if after_pass is not None:
                    settle()
                    if after_pass(done, weights):
                        break
        except KeyboardInterrupt:
            if not done:
                raise
            interrupted = True
    settle()
    return Trained(weights, done, *_certified(data, labels, weights, l1, l2, done > alone), interrupted)


def _certified(
    data: Treebank, labels: Composed, weights: Weights, l1: float, l2: float, chained: bool
) -> tuple[float, float]:
    """The objective, and how far the weights are from the conditions of its optimum, relative to l1."""
    loss, *gradients = loss_and_gradient(data, labels, weights, chained=chained)
    w = np.concatenate([weights.w, weights.transitions])
    penalty = ElasticNet(l1, l2)
    return loss + penalty.value(w), penalty.violation(w, np.concatenate(gradients)) / (l1 or 1.0)
