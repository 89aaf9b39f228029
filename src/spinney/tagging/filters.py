"""Features chosen before training, by what they tell about the label: what sparse penalties are compared with.

Mutual information ranks single weights (Sokolovska 2010, §6.2.1), information gain whole observations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.tagging.sequences import Floats, Sequences
from spinney.tagging.support import Shape, Support, seen_counts

CELLS = 1 << 16  # counts that are worked on at once


def mutual_information(data: Sequences, n_labels: int, *, start: bool = True) -> Floats:
    """For each weight of the full model, the mutual information of its two events over tokens, in nats.

    For a unigram weight these are y_t = y, and that the observation is made at t; for a bigram weight, y_t = y, and
    that the observation is made at t while y_{t−1} = y'. Tokens whose labels are not known are left out.

    Parameters
    ----------
    data : Sequences
        With labels.
    n_labels : int
    start : bool
        Whether the model has a start label.

    Returns
    -------
    array of shape (n_params,)

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations
    >>> seen = Observations(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 4]), seen, Observations.none(4), labels=np.array([0, 0, 1, 1], np.int32))
    >>> (mutual_information(data, 2) / np.log(2)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    shape = Shape(data.unigrams.n, data.bigrams.n, n_labels, start)
    counts = seen_counts(data, shape)
    made = counts.unigrams.sum(axis=1).reshape(-1, 1)
    scores = np.empty(shape.n_params)
    _fill(shape.mu(scores), counts.unigrams, made, counts.labels)
    lam = shape.lam(scores).reshape(-1, n_labels)  # a row for each (observation, y')
    rows = counts.bigrams.reshape((lam.shape[0], n_labels)).tocsr()
    _fill(lam, rows, rows.sum(axis=1).reshape(-1, 1), counts.labels_after)
    return scores


def top(scores: Floats, k: int, shape: Shape) -> Support:
    """The ``k`` weights of the full model with the highest scores; of equal ones, the first.

    Examples
    --------
    >>> shape = Shape(unigrams=2, bigrams=0, labels=2)
    >>> top(np.array([0.1, 0.4, 0.3, 0.4]), 3, shape).places(shape).tolist()
    [1, 2, 3]
    """
    if len(scores) != shape.n_params:
        raise OptionError(f"{len(scores)} scores for {shape.n_params} weights")
    return Support.of(highest(scores, k), shape)


def highest(scores: Floats, k: int) -> NDArray[np.int64]:
    """The places of the ``k`` highest scores, sorted; of equal ones, the first.

    Examples
    --------
    >>> highest(np.array([0.1, 0.4, 0.3, 0.4]), 2).tolist()
    [1, 3]
    """
    if k < 0:
        raise OptionError(f"cannot choose {k} of {len(scores)}")
    if k >= len(scores):
        return np.arange(len(scores))
    if k == 0:
        return np.arange(0)
    last = np.partition(scores, -k)[-k]
    above = np.flatnonzero(scores > last)
    level = np.flatnonzero(scores == last)[: k - len(above)]
    return np.sort(np.concatenate([above, level]))


def information_gain(data: Sequences, n_labels: int, *, start: bool = True) -> tuple[Floats, Floats]:
    """How many nats each unigram and each bigram observation tells about the label of a token, on average.

    For a unigram observation, this is the mutual information of y_t and whether the observation is made at t; for a
    bigram observation, that of y_t and what it sees: y_{t−1} where it is made, and nothing elsewhere. Tokens whose
    labels are not known are left out.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations
    >>> seen = Observations(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 4]), seen, Observations.always(4), labels=np.array([0, 0, 1, 1], np.int32))
    >>> [gain.round(3).tolist() for gain in information_gain(data, 2)]
    [[0.693, 0.693], [0.347]]
    """
    shape = Shape(data.unigrams.n, data.bigrams.n, n_labels, start)
    counts = seen_counts(data, shape)
    return _gains(counts.unigrams, 1, counts.labels), _gains(
        counts.bigrams, n_labels + start, counts.labels_after
    )


def _gains(joint: Any, events: int, labels: Floats) -> Floats:
    """For each row, the mutual information of labels and of its events, or of none of them.

    A row holds how often each of its events is seen with each label; in all other tokens, nothing is seen.
    """
    N, Y = float(labels.sum()), len(labels)
    gains, step = np.zeros(joint.shape[0]), max(1, CELLS // max(events * Y, 1))
    for a in range(0, len(gains), step):
        cells = joint[a : a + step].toarray().reshape(-1, events, Y)
        cells = np.concatenate([cells, labels - cells.sum(axis=1, keepdims=True)], axis=1)
        chance = cells.sum(axis=2, keepdims=True) * labels
        ratio = np.divide(cells * N, chance, out=np.ones_like(cells), where=(cells > 0) & (chance > 0))
        gains[a : a + step] = (cells * np.log(ratio)).sum(axis=(1, 2)) / max(N, 1.0)
    return np.maximum(gains, 0.0)


def _fill(out: Floats, joint: Any, made: Floats, labels: Floats) -> None:
    """Mutual information of events that happen ``made[row]`` and ``labels[column]`` times, and ``joint`` together."""
    N, step = float(labels.sum()), max(1, CELLS // max(len(labels), 1))
    for a in range(0, out.shape[0], step):
        n_v, n_vz = made[a : a + step], joint[a : a + step].toarray()
        value = np.zeros(n_vz.shape)
        for cell, row, column in (
            (n_vz, n_v, labels),
            (n_v - n_vz, n_v, N - labels),
            (labels - n_vz, N - n_v, labels),
            (N - n_v - labels + n_vz, N - n_v, N - labels),
        ):
            chance = row * column
            ratio = np.divide(cell * N, chance, out=np.ones_like(value), where=(cell > 0) & (chance > 0))
            value += cell * np.log(ratio)
        out[a : a + step] = np.maximum(value / max(N, 1.0), 0.0)
