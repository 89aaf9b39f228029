"""The resolution of a trend, chosen by forecasts: several widths of time bins forecast the same documents.

The last times of the coarsest resolution are held out. For each resolution, strengths are chosen by forecasts of these
documents from all others, as they are for a single one; then the losses of the best strengths are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, listed
from spinney.trend.choosing import Choice, as_good, best_forecast, held_out_times
from spinney.trend.dates import Every, binned_again
from spinney.trend.model import Documents, TrendModel


class Resolved(NamedTuple):
    """The resolution that was chosen, and how well each of them forecasts."""

    every: Every
    #: With times in bins of this resolution.
    documents: Documents
    #: Its settings. The held-out times are those of the documents, not of bins; all settings that were tried count.
    choice: Choice
    #: The loss of each resolution on the same documents; None where no fit of the others is possible.
    losses: dict[Every, float | None]


def choose_resolution(
    model: TrendModel, documents: Documents, resolutions: Sequence[Every], given: Mapping[str, Any]
) -> Resolved:
    """The resolution that forecasts the last documents best; of those that are as good, the coarsest.

    Parameters
    ----------
    model : TrendModel
        Not fitted; what is chosen is not set.
    documents : Documents
        Their times are each by itself: numbers, or dates as text.
    resolutions : sequence of int or str
    given : mapping
        Settings that are not to be chosen.

    Examples
    --------
    >>> from spinney.trend import FrequentWords, TimeSeriesTextModel
    >>> years = np.arange(1920, 1960).repeat(3)
    >>> documents = Documents(["war" if year < 1945 else "peace" for year in years], years)
    >>> model = TrendModel(TimeSeriesTextModel("ridge-one", lam=1.0), FrequentWords())
    >>> found = choose_resolution(model, documents, [1, 10], {"lam": 1.0})
    >>> found.every, found.choice.documents, found.losses[1] < found.losses[10]
    (1, 30, True)
    """
    assert documents.times is not None
    times = {every: binned_again(documents.times, every) for every in resolutions}
    enough, held_out = _common_cut(times)
    tried = {
        every: best_forecast(model, replace(documents, times=times[every]), held_out, given)
        for every in enough
    }
    choices = {every: choice for every, choice in tried.items() if choice is not None}
    if not choices:
        raise InputError(
            f"none of the resolutions {_named(resolutions)} can forecast the last documents from those before them",
            remedy="give a single resolution",
        )
    losses = {every: choice.loss for every, choice in choices.items()}
    best = as_good(losses)[0]  # the coarsest
    choice = choices[best]._replace(
        times=np.unique(documents.times[held_out]).tolist(),
        tried=sum(one.tried for one in choices.values()),
    )
    return Resolved(
        best,
        replace(documents, times=times[best]),
        choice,
        {every: losses.get(every) for every in resolutions},
    )


def _common_cut(times: Mapping[Every, NDArray[Any]]) -> tuple[list[Every], NDArray[np.bool_]]:
    """The resolutions that have enough times, the coarsest first, and the documents that it holds out, for all of them.

    The cut of a finer one could lie within a bin of a coarser one, which would then forecast itself.
    """
    coarse_first = sorted(times, key=lambda every: len(np.unique(times[every])))
    last = {every: held_out_times(times[every]) for every in coarse_first}
    enough = [every for every in coarse_first if last[every]]
    if not enough:
        raise InputError(
            f"too few times to choose one of the resolutions {_named(times)} by forecasts",
            remedy="use narrower bins: a choice needs three times or more",
        )
    return enough, np.isin(times[enough[0]], last[enough[0]])


def _named(resolutions: Iterable[Every]) -> str:
    return listed(map(str, resolutions), "and")
