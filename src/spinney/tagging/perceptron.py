"""Taggers that learn from their mistakes: the averaged perceptron and passive-aggressive updates.

Both decode a sentence with the current weights and update the weights in which the predicted and the true labelling
differ. They need no probabilities, so a pass costs little more than tagging. The result is the *average* of the
weights after each sentence, updated lazily: weights that a sentence does not touch cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector
from spinney.tagging.sequences import Sequences
from spinney.tagging.support import Shape

AfterPass = Callable[[int, Vector], bool | None]

PERCEPTRON = 0  # the rules of the kernel; 1 and 2 are PA-I and PA-II
ROOM = 1 << 27  # maximum number of label-pair scores of one sentence


def perceptron(
    data: Sequences,
    n_labels: int,
    *,
    start: bool = True,
    passes: int = 10,
    average: bool = True,
    seed: int = 0,
    w: Vector | None = None,
    after_pass: AfterPass | None = None,
) -> Vector:
    """The structured perceptron (Collins 2002).

    For a sentence with labels y where Viterbi finds ŷ, w ← w + φ(y) − φ(ŷ), times the weight of the sentence.
    Sentences come in a new random order in each pass.

    Parameters
    ----------
    data : Sequences
        With labels. For a sentence with partial labels, the target is the best labelling that agrees with them.
    n_labels : int
    start : bool
        Whether the first token of a sentence has bigram weights, from a start label.
    passes : int
    average : bool
        Whether to return the average of the weights after each sentence, rather than the last.
    seed : int
        Seed of the order of sentences.
    w : array, optional
        Where to start; 0 by default.
    after_pass : callable, optional
        Called as ``after_pass(pass, w)`` with the weights that would be returned; training ends if it returns true.

    Returns
    -------
    array
        The weights, laid out by :class:`~spinney.tagging.support.Shape`.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations
    >>> seen = Observations(np.array([0, 1, 2]), np.array([0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 2]), seen, Observations.none(2), labels=np.array([1, 0], np.int32))
    >>> perceptron(data, n_labels=2, average=False)
    array([-1.,  1.,  0.,  0.])
    """
    return _train(data, n_labels, PERCEPTRON, 1.0, start, passes, average, seed, w, after_pass)


def passive_aggressive(
    data: Sequences,
    n_labels: int,
    *,
    start: bool = True,
    C: float = 1.0,
    variant: Literal[1, 2] = 1,
    passes: int = 10,
    average: bool = True,
    seed: int = 0,
    w: Vector | None = None,
    after_pass: AfterPass | None = None,
) -> Vector:
    """Structured passive-aggressive updates, against the labelling of highest loss (Crammer et al. 2006).

    Every labelling y' should score lower than the correct one by the number of its wrong labels ρ(y, y') (not by its
    square root as in the paper, since Viterbi needs a sum over tokens). The labelling that violates this most, by ℓ =
    max ρ(y, y') − w·Δφ, Δφ = φ(y) − φ(y'), is found by Viterbi with the cost of each wrong label added to its score;
    then w ← w + τ·Δφ, the smallest change that puts it right, unless that is too large:

    - variant 1 (PA-I): τ = min(C, ℓ/‖Δφ‖²);
    - variant 2 (PA-II): τ = ℓ/(‖Δφ‖² + 1/2C).

    C is multiplied by the weight of the sentence. The other parameters are those of :func:`perceptron`.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations
    >>> seen = Observations(np.array([0, 1, 2]), np.array([0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 2]), seen, Observations.none(2), labels=np.array([1, 0], np.int32))
    >>> passive_aggressive(data, n_labels=2, average=False)
    array([-0.5,  0.5,  0.5, -0.5])
    """
    if variant not in (1, 2):
        raise OptionError(f"variant must be 1 (PA-I) or 2 (PA-II), not {variant}")
    if not 0.0 < C < np.inf:
        raise OptionError(f"C must be a finite number above 0, not {C:g}")
    return _train(data, n_labels, variant, float(C), start, passes, average, seed, w, after_pass)


def _train(
    data: Sequences,
    n_labels: int,
    rule: int,
    C: float,
    start: bool,
    passes: int,
    average: bool,
    seed: int,
    w: Vector | None,
    after_pass: AfterPass | None,
) -> Vector:
    from spinney.tagging._perceptron_kernels import learning_pass

    labels = data.known_labels(n_labels)
    shape = Shape(data.unigrams.n, data.bigrams.n, n_labels, start)
    if w is not None and len(w) != shape.n_params:
        raise OptionError(f"w has {len(w)} weights, but the model has {shape.n_params}")
    w = np.zeros(shape.n_params) if w is None else np.array(w, np.float64)
    u, b = data.unigrams, data.bigrams
    seen = (u.ptr, u.ids, u.flat_values, b.ptr, b.ids, b.flat_values)
    sets = data.label_sets if data.label_sets.shape[1] else np.ones((1, n_labels), np.bool_)
    weights = np.ones(len(data)) if data.weights is None else data.weights
    simple = b.n == 1 and b.values is None and bool(np.all(np.diff(b.ptr) == 1))
    room = _room(data, shape, simple)
    lag, steps = np.zeros_like(w), 0.0  # the weights minus their average, times the steps
    rng = np.random.default_rng(seed)
    learned = w
    for number in range(passes):
        steps = learning_pass(
            rng.permutation(len(data)), data.offsets, *seen, labels, sets, weights,
            shape.n_mu, n_labels + int(start), simple, rule, C, w, lag, steps, room,
        )  # fmt: skip
        if average and steps and (after_pass or number == passes - 1):
            learned = w - lag / steps
        if after_pass and after_pass(number + 1, learned):
            break
    return learned


def _room(data: Sequences, shape: Shape, simple: bool) -> tuple[Any, ...]:
    """Working memory of the kernel: enough for the longest sentence, and a Δφ of all weights."""
    Y, longest = shape.labels, int(data.lengths.max(initial=1))
    matrices = 1 if simple else longest
    if matrices * (Y + 1) * Y > ROOM:
        raise OptionError(
            f"a sentence of {longest} tokens with bigram observations is too long for this solver: use lbfgs"
        )
    observed = data.unigrams.ptr[data.offsets] + data.bigrams.ptr[data.offsets]
    places = 2 * int(np.diff(observed).max(initial=0))
    return (
        np.empty((longest, Y)),
        np.empty((matrices, Y + 1, Y)),
        np.empty(longest, np.int32),
        np.empty((longest, Y)),
        np.empty(longest, np.int32),
        np.empty(longest, np.int32),
        np.zeros(shape.n_params),
        np.empty(places, np.int64),
        np.empty(places),
    )
