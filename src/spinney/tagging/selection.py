"""Plain ways to choose features, before training or after: what sparse penalties are compared with.

Sokolovska 2010, §6.1: cut-offs, mutual information, and weights set to zero by their size. Also what is left: how many
active weights each pattern has, and how many bigrams are active under an inactive unigram.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.tagging.sequences import Floats, Sequences
from spinney.tagging.support import Shape, Support, observed_support, seen_counts, seen_in

Flags = NDArray[np.bool_]
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


def threshold(w: Floats, tau: float, rule: Literal["interval", "positive"] = "interval") -> Floats:
    """Weights without the small ones, post hoc: |w| ≤ τ become 0 (``interval``), or all w ≤ τ (``positive``).

    Examples
    --------
    >>> threshold(np.array([-0.6, 0.2, 0.5]), 0.5).tolist(), threshold(np.array([-0.6, 0.2]), 0.0, "positive").tolist()
    ([-0.6, 0.0, 0.0], [0.0, 0.2])
    """
    if rule not in ("interval", "positive"):
        raise unknown_choice("the rule is", rule, ("interval", "positive"))
    if not tau >= 0:
        raise OptionError(f"tau must be ≥ 0, not {tau}")
    return np.where((np.abs(w) if rule == "interval" else w) > tau, w, 0.0)


class Active(NamedTuple):
    """How many weights are not 0."""

    unigrams: int
    bigrams: int


def active_counts(
    w: Floats,
    shape: Shape,
    pattern_of_unigrams: NDArray[np.integer[Any]],
    pattern_of_bigrams: NDArray[np.integer[Any]],
    names: Sequence[str],
) -> dict[str, Active]:
    """The active weights of each pattern.

    Parameters
    ----------
    w : array
        The weights of the full model.
    shape : Shape
    pattern_of_unigrams, pattern_of_bigrams : int arrays
        The pattern of each observation, as :meth:`~spinney.tagging.extract.Extractor.pattern_of` tells.
    names : sequence of str
        Of the patterns.

    Examples
    --------
    >>> w = np.array([1.0, 0.0, -1.0, 2.0, 0.0, 3.0])
    >>> active_counts(w, Shape(3, 0, 2), np.array([0, 0, 1]), np.array([], int), ["word", "suffix"])
    {'word': Active(unigrams=3, bigrams=0), 'suffix': Active(unigrams=1, bigrams=0)}
    """
    mu, lam = _active(w, shape)
    if len(pattern_of_unigrams) != shape.unigrams or len(pattern_of_bigrams) != shape.bigrams:
        raise OptionError("each observation needs its pattern")
    of_mu = np.bincount(pattern_of_unigrams, mu.sum(axis=1), minlength=len(names)).astype(int)
    of_lam = np.bincount(pattern_of_bigrams, lam.sum(axis=(1, 2)), minlength=len(names)).astype(int)
    return {name: Active(int(a), int(b)) for name, a, b in zip(names, of_mu, of_lam, strict=True)}


class Orphans(NamedTuple):
    """Active bigram weights λ(y', y, x), and those among them whose parent unigram weight μ(y, x) is 0."""

    active: int
    orphans: int


def orphans(w: Floats, shape: Shape, parents: NDArray[np.integer[Any]]) -> Orphans:
    """How many active bigrams there are under inactive unigrams (Sokolovska 2010, §6.1: few, so there is a hierarchy).

    Parameters
    ----------
    w : array
        The weights of the full model.
    shape : Shape
    parents : int array of shape (shape.bigrams,)
        The unigram observation that sees what a bigram observation sees; −1 where there is none. The weights of
        bigram observations without a parent are not counted.

    Examples
    --------
    >>> shape = Shape(unigrams=1, bigrams=1, labels=2, start=False)
    >>> orphans(np.array([0.5, 0.0, 1.0, 1.0, 0.0, 0.0]), shape, parents=np.array([0]))
    Orphans(active=2, orphans=1)
    """
    mu, lam = _active(w, shape)
    if len(parents) != shape.bigrams or np.any(parents >= shape.unigrams):
        raise OptionError(
            f"each of {shape.bigrams} bigram observations needs a parent below {shape.unigrams}, or −1"
        )
    has = np.flatnonzero(parents >= 0)
    active = lam[has].sum(axis=1)  # [observations, y]
    return Orphans(int(active.sum()), int(active[~mu[parents[has]]].sum()))


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


def _active(w: Floats, shape: Shape) -> tuple[Flags, Flags]:
    if len(w) != shape.n_params:
        raise OptionError(f"{len(w)} weights where the full model has {shape.n_params}")
    return shape.mu(w) != 0, shape.lam(w) != 0
