"""Rolling-origin evaluation: predict each time from strictly earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from spinney import progress
from spinney.errors import InputError, OptionError
from spinney.optim.base import Vector
from spinney.parallel import Kept, Pure, default_threads, in_order, one_blas_thread
from spinney.trend.timeline import checked_times


class RollingRow(NamedTuple):
    """One method at one test time: the loss of each document, their mean, and the chosen settings."""

    method: str
    time: Any
    n: int
    n_train: int
    mean: float
    losses: Vector
    chosen: dict[str, Any]


def candidates(model: Any, **grid: Sequence[Any]) -> list[Any]:
    """Copies of a model with every combination of some parameters.

    Examples
    --------
    >>> from spinney.trend import TimeSeriesRegressor
    >>> [model.tau for model in candidates(TimeSeriesRegressor(), tau=[0.1, 1.0])]
    [0.1, 1.0]
    """
    return [clone(model).set_params(**values) for values in ParameterGrid(grid)]


def rolling_origin(
    methods: Mapping[str, Any],
    data: Sequence[Any],
    times: Any,
    test_times: Sequence[Any],
    *,
    window: int | None = None,
    threads: int | None = None,
) -> list[RollingRow]:
    """Train on the documents before each test time, and score those of the test time.

    The first test time is the development time as well: there the best of a method's candidates is chosen, by mean
    loss, and kept for the later ones. (So the row of that time flatters methods with many candidates.)

    Parameters
    ----------
    methods : mapping of str to model or list of models
        For each name, the candidates (:func:`candidates`). A model has ``fit(*data, times)`` and ``losses(*data)``.
    data : (X, y) or (counts, covariates)
        Arrays or CSR matrices with one row per document.
    times : array of shape (n,)
    test_times : sequence
    window : int, optional
        Train on at most this many preceding times with documents.
    threads : int, optional

    Returns
    -------
    list of RollingRow
        By test time, then by method.

    Examples
    --------
    >>> from spinney.trend import TimeSeriesRegressor
    >>> X, times = np.ones((8, 1)), np.repeat([1, 2, 3, 4], 2)
    >>> y = times + np.tile([0.1, -0.1], 4)
    >>> one = candidates(TimeSeriesRegressor("ridge-one"), lam=[0.1, 1.0])
    >>> rows = rolling_origin({"ridge-one": one}, (X, y), times, [3, 4], threads=1)
    >>> [(row.time, row.n, round(row.mean, 2)) for row in rows]  # always a step behind
    [(3, 2, 1.01), (4, 2, 1.01)]
    """
    times = checked_times(times)
    tests = sorted(checked_times(test_times).tolist())
    if not tests or not methods:
        raise OptionError("give at least one method and one test time")
    if window is not None and window < 1:
        raise OptionError(f"window must be at least 1, not {window}")
    folds = [_fold(times, test, window) for test in tests]
    lists = {name: list(of) if isinstance(of, Sequence) else [of] for name, of in methods.items()}

    kept = Kept((tuple(data), times, folds))

    threads = default_threads() if threads is None else threads
    jobs = [(model, 0) for models in lists.values() for model in models]
    best: dict[str, Any] = {}
    rows: list[RollingRow] = []
    n_fits = len(jobs) + (len(tests) - 1) * len(lists)
    with one_blas_thread(), progress.task("rolling origin", total=n_fits) as done:
        found = in_order(Pure(_score, kept), jobs, threads)
        for name, models in lists.items():
            tried = [(float(losses.mean()), k, losses) for k, losses in zip(range(len(models)), found)]
            done.update(len(models), note=f"{tests[0]!s}, {name}")
            _, k, losses = min(tried, key=lambda one: (one[0], one[1]))
            best[name] = models[k]
            rows.append(_row(name, tests[0], folds[0], losses, _varied(models, k)))
        later = [(name, fold) for fold in range(1, len(tests)) for name in lists]
        scores = in_order(Pure(_score, kept), [(best[name], fold) for name, fold in later], threads)
        for (name, fold), losses in zip(later, scores):
            done.update(1, note=f"{tests[fold]!s}, {name}")
            chosen = _varied(lists[name], lists[name].index(best[name]))
            rows.append(_row(name, tests[fold], folds[fold], losses, chosen))
    return rows


def _score(known: tuple[Any, ...], job: tuple[Any, int]) -> Vector:
    """The losses of a new model on the test documents of a fold: a pure function."""
    data, times, folds = known
    model, fold = job
    train, test = folds[fold]
    fitted = clone(model).fit(*(part[train] for part in data), times[train])
    return np.asarray(fitted.losses(*(part[test] for part in data)))


def _fold(times: NDArray[Any], test: Any, window: int | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows before a test time, and the rows of the test time."""
    earlier = np.unique(times[times < test])
    if not len(earlier):
        raise InputError(f"no documents before the test time {test!s}", remedy="test later times")
    first = earlier[0] if window is None else earlier[-min(window, len(earlier))]
    rows = np.flatnonzero(times == test)
    if not len(rows):
        raise InputError(f"no documents at the test time {test!s}", remedy="leave this time out")
    return np.flatnonzero((times >= first) & (times < test)), rows


def _varied(models: list[Any], k: int) -> dict[str, Any]:
    """The parameters of one candidate in which the candidates differ."""
    every = [model.get_params() for model in models]
    return {name: value for name, value in every[k].items() if any(other[name] != value for other in every)}


def _row(name: str, time: Any, fold: Any, losses: Vector, chosen: dict[str, Any]) -> RollingRow:
    return RollingRow(name, time, len(losses), len(fold[0]), float(losses.mean()), losses, chosen)


class OverallRow(NamedTuple):
    """One method over several test times: documents, the sum of their losses and its mean."""

    method: str
    n: int
    total: float
    mean: float


def overall(rows: Sequence[RollingRow], *, development: bool = True) -> list[OverallRow]:
    """All documents of each method together, as in the thesis; without ``development``, not the first time."""
    found = []
    for name in dict.fromkeys(row.method for row in rows):
        losses = _losses(rows, name, development)
        found.append(OverallRow(name, len(losses), float(losses.sum()), float(losses.mean())))
    return found


def signed_rank(rows: Sequence[RollingRow], one: str, other: str, *, development: bool = True) -> float:
    """The p-value of Wilcoxon's signed-rank test (two-sided) of equal errors of two methods, over all documents.

    1 if they have the same losses.
    """
    difference = _losses(rows, one, development) - _losses(rows, other, development)
    return float(wilcoxon(difference).pvalue) if np.any(difference) else 1.0


def _losses(rows: Sequence[RollingRow], name: str, development: bool) -> Vector:
    first = min(row.time for row in rows)
    parts = [row.losses for row in rows if row.method == name and (development or row.time != first)]
    if not parts:
        raise OptionError(f"there are no rows for the method {name!r}")
    return np.concatenate(parts)
