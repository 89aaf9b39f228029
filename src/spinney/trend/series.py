"""Summaries of series: the most important ones, their expected next values, how stiff they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import InputError, OptionError, unknown_choice
from spinney.optim.base import Vector
from spinney.trend.alpha import C
from spinney.trend.chains import toeplitz


class Series(NamedTuple):
    """One feature's coefficients over time, and the score by which it was ranked."""

    name: str
    score: float
    values: Vector


def strongest_series(
    coef: ArrayLike,
    names: Sequence[str] | None = None,
    k: int = 10,
    *,
    by: Literal["norm", "change", "last"] = "norm",
) -> list[Series]:
    """The ``k`` series with the largest norm, the largest change (norm of the steps in time) or the largest last value.

    Parameters
    ----------
    coef : array of shape (T, I)
        ``coef_`` of a model; for one covariate of a text model ``coef_[:, :, f]``.
    names : sequence of str, optional
        The names of the features; by default numbers from 0.

    Examples
    --------
    >>> coef = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> [one.name for one in strongest_series(coef, ["up", "flat"], by="change")]
    ['up']
    """
    coef = np.asarray(coef, dtype=np.float64)
    names = [str(i) for i in range(coef.shape[1])] if names is None else names
    if len(names) != coef.shape[1]:
        raise InputError(f"{len(names)} names for {coef.shape[1]} series")
    if by == "norm":
        score = np.sqrt((coef**2).sum(axis=0))
    elif by == "change":
        score = np.sqrt((np.diff(coef, axis=0) ** 2).sum(axis=0))
    elif by == "last":
        score = np.abs(coef[-1])
    else:
        raise unknown_choice("by must be", by, ("norm", "change", "last"))
    order = np.argsort(-score, kind="stable")[:k]
    return [Series(names[i], float(score[i]), coef[:, i].copy()) for i in order if score[i] > 0]


def forecast(coef: ArrayLike, e_alpha: ArrayLike, steps: int = 1) -> Vector:
    """The next values of each series, shape (steps, I): their mean given the past, under the prior at E[α].

    A model predicts with the last copy of its coefficients, as the thesis does; this is what its prior expects
    instead. One step ahead, the value is −α times the last, so at most half of it: under the prior, series only shrink,
    and a longer future makes them stiffer.

    Examples
    --------
    >>> forecast([[1.0], [2.0]], [-0.4], steps=2).round(4).tolist()
    [[0.9524], [0.381]]
    """
    if steps < 1:
        raise OptionError(f"steps must be at least 1, not {steps}")
    last, e = np.asarray(coef, dtype=np.float64)[-1], np.asarray(e_alpha, dtype=np.float64)
    pull = np.zeros((steps, len(last)))
    pull[0] = -e * last  # of the unknown times, only the first touches a known one
    return toeplitz(steps, e).solve(pull)


def alpha_histogram(e_alpha: ArrayLike, coef: Any = None, bins: int = 20) -> tuple[NDArray[np.int64], Vector]:
    """The number of features with E[α] in each bin of (−C, 0), and the edges (Yogatama 2015, fig. 3.2).

    With ``coef`` of shape (T, I) only features with a non-zero series are counted.

    Examples
    --------
    >>> alpha_histogram([-0.49, -0.26, -0.24, -0.01], bins=2)[0].tolist()
    [2, 2]
    """
    e_alpha = np.asarray(e_alpha, dtype=np.float64)
    if coef is not None:
        e_alpha = e_alpha[np.any(np.asarray(coef) != 0, axis=0)]
    counts, edges = np.histogram(e_alpha, bins=bins, range=(-C, 0.0))
    return counts.astype(np.int64), edges
