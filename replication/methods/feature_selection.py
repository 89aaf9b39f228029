"""Plain ways to choose features before training: what sparse penalties are compared with (Sokolovska 2010, §6.2.1)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.tagging.sequences import Floats, Sequences
from spinney.tagging.support import Shape, Support, observed_support, seen_counts, seen_in

CELLS = 1 << 16  # counts that are worked on at once


def frequency_cutoff(
    data: Sequences,
    n_labels: int,
    minimum: int,
    *,
    start: bool = True,
    of: Literal["observations", "pairs"] = "observations",
) -> Support:
    """The weights of what is seen in at least so many tokens.

    Parameters
    ----------
    data : Sequences
        With labels, if pairs are counted.
    n_labels : int
    minimum : int
    start : bool
        Whether the model has a start label.
    of : str
        ``observations``: those seen often enough keep the weights of all labels. ``pairs``: an observation together
        with a label (a pair of labels) must be seen often enough; 1 is what CRFsuite takes by default.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations
    >>> seen = Observations(np.array([0, 1, 2, 3]), np.array([0, 0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 3]), seen, Observations.none(3), labels=np.array([1, 0, 1], np.int32))
    >>> frequency_cutoff(data, 2, 2).places(Shape(2, 0, 2)).tolist()
    [0, 1]
    >>> frequency_cutoff(data, 2, 1, of="pairs").places(Shape(2, 0, 2)).tolist()
    [0, 1, 3]
    """
    shape = Shape(data.unigrams.n, data.bigrams.n, n_labels, start)
    if minimum < 1:
        raise OptionError(f"a cut-off is at least 1, not {minimum}")
    if of == "observations":
        mu, lam = (
            np.flatnonzero(seen_in(seen).sum(axis=0) >= minimum) for seen in (data.unigrams, data.bigrams)
        )
        return Support(
            *_full_rows(mu, shape.unigrams, n_labels),
            *_full_rows(lam, shape.bigrams, shape.pairs),
        )
    if of != "pairs":
        raise unknown_choice("a cut-off is of", of, ("observations", "pairs"))
    return observed_support(data, shape, minimum)


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
    if k < 0:
        raise OptionError(f"cannot choose {k} weights")
    if k >= len(scores):
        return Support.of(np.arange(shape.n_params), shape)
    if k == 0:
        return Support.of(np.arange(0), shape)
    last = np.partition(scores, -k)[-k]
    above = np.flatnonzero(scores > last)
    level = np.flatnonzero(scores == last)[: k - len(above)]
    return Support.of(np.sort(np.concatenate([above, level])), shape)


def _full_rows(kept: NDArray[np.intp], n: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows of a support: all columns in the rows that are kept, none in the others."""
    widths = np.zeros(n + 1, np.int64)
    widths[kept + 1] = width
    return np.cumsum(widths), np.tile(np.arange(width, dtype=np.int32), len(kept))


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
