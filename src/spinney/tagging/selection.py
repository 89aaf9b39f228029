"""Weights set to zero by their size after training, and what remains of a model (Sokolovska 2010, §6.1).

How many active weights each pattern has, and how many bigrams are active under an inactive unigram.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.tagging.sequences import Floats
from spinney.tagging.support import Shape

Flags = NDArray[np.bool_]


def threshold(w: Floats, tau: float, rule: Literal["interval", "positive"] = "interval") -> Floats:
    """Weights without the small ones, post hoc: |w| ≤ τ become 0 (``interval``), or all w ≤ τ (``positive``).

    Examples
    --------
    >>> threshold(np.array([-0.6, 0.2, 0.5]), 0.5).tolist(), threshold(np.array([-0.6, 0.2]), 0.0, "positive").tolist()
    ([-0.6, 0.0, 0.0], [0.0, 0.2])
    """
    if rule not in ("interval", "positive"):
        raise unknown_choice("rule must be", rule, ("interval", "positive"))
    if not tau >= 0:
        raise OptionError(f"tau must be ≥ 0, not {tau}")
    return np.where((np.abs(w) if rule == "interval" else w) > tau, w, 0.0)


class Active(NamedTuple):
    """The numbers of non-zero weights."""

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
        The pattern of each observation, as :meth:`~spinney.tagging.extract.Extractor.pattern_of` returns.
    names : sequence of str
        Names of the patterns.

    Examples
    --------
    >>> w = np.array([1.0, 0.0, -1.0, 2.0, 0.0, 3.0])
    >>> active_counts(w, Shape(3, 0, 2), np.array([0, 0, 1]), np.array([], int), ["word", "suffix"])
    {'word': Active(unigrams=3, bigrams=0), 'suffix': Active(unigrams=1, bigrams=0)}
    """
    mu, lam = _active(w, shape)
    if len(pattern_of_unigrams) != shape.unigrams or len(pattern_of_bigrams) != shape.bigrams:
        raise OptionError("there must be one pattern per observation")
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
        The unigram observation with the same content as a bigram observation; −1 where there is none. The weights of
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


def _active(w: Floats, shape: Shape) -> tuple[Flags, Flags]:
    if len(w) != shape.n_params:
        raise OptionError(f"{len(w)} weights, but the full model has {shape.n_params}")
    return shape.mu(w) != 0, shape.lam(w) != 0
