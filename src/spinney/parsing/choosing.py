"""Strengths chosen by held-out trees, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from spinney.progress import log

Fitted = TypeVar("Fitted")


class Chosen(NamedTuple, Generic[Fitted]):
    """The best model, the values that it has, and the score of every trial."""

    model: Fitted
    values: dict[str, float]
    trace: list[dict[str, float]]


def choose_each(
    start: Mapping[str, float],
    grid: Mapping[str, Sequence[float]],
    fit: Callable[..., Fitted],
    judge: Callable[[Fitted], float],
) -> Chosen[Fitted]:
    """The best value of each name in turn, the others being as they are by then: far fewer fits than a full grid.

    Parameters
    ----------
    start
        All values, with which the search begins.
    grid
        The values to try for the names that are open, in the order in which they are chosen.
    fit
        A model for values that are given by name.
    judge
        Its score on held-out data. A value is changed only for a better score.

    Examples
    --------
    >>> found = choose_each({"a": 1, "b": 1}, {"a": (1, 2, 3), "b": (0, 1)}, dict, lambda v: -abs(v["a"] - 3) - v["b"])
    >>> found.values, len(found.trace)
    ({'a': 3, 'b': 0}, 4)
    """
    values = dict(start)
    best = fit(**values)
    score = judge(best)
    trace = [{**values, "score": score}]
    for name, candidates in grid.items():
        here = values[name]
        for value in candidates:
            if value == here:
                continue
            trial = {**values, name: value}
            model = fit(**trial)
            reached = judge(model)
            trace.append({**trial, "score": reached})
            log.info("%s %g: %.2f on held-out trees", name, value, 100 * reached)
            if reached > score:
                best, score, values = model, reached, trial
    return Chosen(best, values, trace)


def said(values: Mapping[str, float]) -> str:
    """Chosen values in words.

    Examples
    --------
    >>> said({"rule_smoothing": 10.0, "cutoff": 1e-6})
    'rule_smoothing 10, cutoff 1e-06'
    """
    return ", ".join(f"{name} {value:g}" for name, value in values.items())
