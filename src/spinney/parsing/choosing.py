"""Strengths chosen by held-out trees, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from spinney.parallel import in_order
from spinney.progress import log

Fitted = TypeVar("Fitted")


class Attempt(NamedTuple, Generic[Fitted]):
    """A model, and its score on held-out data."""

    model: Fitted
    score: float


class Chosen(NamedTuple, Generic[Fitted]):
    """The best model, the values that it has, and the score of every trial."""

    model: Fitted
    values: dict[str, float]
    trace: list[dict[str, float]]


def choose_each(
    start: Mapping[str, float],
    grid: Mapping[str, Sequence[float]],
    attempt: Callable[[dict[str, float]], Attempt[Fitted]],
) -> Chosen[Fitted]:
    """The best value of each name in turn, the others being as they are by then: far fewer fits than a full grid.

    Parameters
    ----------
    start
        The values with which the search begins; a name without one has none until a value of it is better.
    grid
        The values to try for the names that are open, one or more, in the order in which they are chosen.
    attempt
        A model for some values, with its score. A value is changed only for a better score. The values of one name are
        tried side by side on a cluster, if this is a :class:`~spinney.parallel.Pure` function.

    Examples
    --------
    >>> grid = {"a": (1, 2, 3), "b": (0, 1)}
    >>> found = choose_each({"a": 1, "b": 1}, grid, lambda v: Attempt(v, -abs(v["a"] - 3) - v["b"]))
    >>> found.values, len(found.trace)
    ({'a': 3, 'b': 0}, 4)
    """
    values, trace = dict(start), list[dict[str, float]]()
    best: Attempt[Fitted] | None = None
    for name, candidates in grid.items():
        trials = [{**values, name: value} for value in candidates if value != values.get(name)]
        if best is None:
            trials.insert(0, values)
        for trial, found in zip(trials, in_order(attempt, trials, 1)):
            trace.append({**trial, "score": found.score})
            log.info("%s: %.2f on held-out trees", said(trial), 100 * found.score)
            if best is None or found.score > best.score:
                best, values = found, trial
    assert best is not None  # the grid has a name
    return Chosen(best.model, values, trace)


def said(values: Mapping[str, float]) -> str:
    """Chosen values in words.

    Examples
    --------
    >>> said({"rule_smoothing": 10.0, "cutoff": 1e-6})
    'rule_smoothing 10, cutoff 1e-06'
    """
    return ", ".join(f"{name} {value:g}" for name, value in values.items())
