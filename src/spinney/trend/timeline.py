"""Times as steps 0 … T−1: years with their gaps, or any labels that can be sorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError
from spinney.trend.likelihoods import Steps

_MANY_STEPS = 1000


@dataclass(frozen=True)
class Timeline:
    """The times of a model in order, one per step.

    Integers are consecutive: a year without documents between others is a step without data. Other labels
    (strings, dates) are in sorted order.

    Examples
    --------
    >>> line = Timeline.of([2003, 2001, 2001])
    >>> line.labels.tolist(), line.steps([2001, 2003, 2010]).tolist()
    ([2001, 2002, 2003], [0, 2, 2])
    """

    labels: NDArray[Any]

    @classmethod
    def of(cls, times: Any) -> Timeline:
        """The times that occur, and the integers between them."""
        seen = np.unique(checked_times(times))
        if seen.dtype.kind not in "iu":
            return cls(seen)
        span = int(seen[-1]) - int(seen[0]) + 1
        if span > _MANY_STEPS and span > 10 * len(seen):
            raise InputError(
                f"{len(seen)} different times spread over {span} steps",
                remedy="number the times consecutively, or give years",
            )
        return cls(np.arange(int(seen[0]), int(seen[-1]) + 1))

    @classmethod
    def given(cls, times: Any, n: int) -> tuple[Timeline, Steps]:
        """The timeline of n documents, and the step of each; without times, all are of one step."""
        times = np.zeros(n, dtype=np.int64) if times is None else times
        _check_number(times, n)
        timeline = cls.of(times)
        return timeline, timeline.steps(times)

    def __len__(self) -> int:
        return len(self.labels)

    def steps(self, times: Any) -> Steps:
        """The step of each time: that of the last label not after it."""
        times = checked_times(times)
        if (times.dtype.kind in "iuf") != (self.labels.dtype.kind in "iuf"):
            raise InputError(
                f"times such as {times[0]!s}, but the model has times such as {self.labels[0]!s}"
            )
        steps = np.searchsorted(self.labels, times, side="right") - 1
        if np.any(steps < 0):
            early = times[int(np.argmin(steps))]
            raise InputError(
                f"time {early!s} is before the first time of the model, {self.labels[0]!s}",
                remedy="train on earlier documents",
            )
        return np.asarray(steps, dtype=np.intp)

    def rows(self, times: Any, n: int) -> Iterator[tuple[int, Any]]:
        """Each step that n documents have, with their rows; without times, all are of the last step."""
        if times is None:
            yield -1, slice(None)
            return
        steps = self.steps(times)
        _check_number(steps, n)
        for step in np.unique(steps).tolist():
            yield step, np.flatnonzero(steps == step)


def _check_number(times: Any, n: int) -> None:
    if len(times) != n:
        raise InputError(f"{len(times)} times for {n} documents", remedy="give one time per document")


def checked_times(values: Any) -> NDArray[Any]:
    """Times as an array of integers, numbers or strings, or an `InputError`."""
    times: NDArray[Any] = np.asarray(values)
    if times.ndim != 1 or times.dtype.kind not in "iufUM":
        raise InputError("times must be a list of whole numbers, numbers, dates or strings")
    if times.dtype.kind == "f":
        if not np.all(np.isfinite(times)):
            raise InputError("a time is not a finite number", remedy="leave out documents without a time")
        if np.all(times == np.round(times)):
            return times.astype(np.int64)
    return times
