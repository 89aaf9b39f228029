"""Comparison of methods by their forecasts: tables 3.1 and 3.2 of the thesis, for any dated documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney.errors import InputError, OptionError, unknown_choice
from spinney.optim.base import Vector
from spinney.settings.trend import Method
from spinney.trend.dates import bin_label
from spinney.trend.model import MEASURES, Documents, Task, TrendModel
from spinney.trend.rolling import RollingRow, candidates, rolling_origin, signed_rank
from spinney.trend.words import FrequentWords

_EVEN = np.logaddexp(0.0, 0.0)  # the loss at probability one half
_TESTS = 4  # test times by default, as many as in the thesis
#: λ, in the units of the likelihood: a document has one class or number, but many words.
_STRENGTHS = {"text": [1.0, 10.0, 100.0, 1000.0]}
_OTHER_STRENGTHS = [0.1, 1.0, 10.0, 100.0]


def built_in_grid(task: Task, method: str) -> dict[str, list[Any]]:
    """The settings of a method to try at the first test time.

    Examples
    --------
    >>> built_in_grid("text", "ridge-ts")["alpha"]
    [0.1, 1.0, 10.0]
    """
    if method not in get_args(Method):
        raise unknown_choice("methods must be", method, get_args(Method))
    strengths = _STRENGTHS.get(task, _OTHER_STRENGTHS)
    if method == "ridge-ts":
        return {"lam": strengths, "alpha": [0.1, 1.0, 10.0]}
    if method not in ("adaptive", "sparse"):
        return {"lam": strengths}
    # Series that are zero in the initial fit stay zero, so its method and strength, and the floor, matter more than τ.
    grid: dict[str, list[Any]] = {"floor": [1e-8, 1.0, 100.0], "lam": strengths}
    if task == "text":
        return grid | {"init": ["lasso-one", "ridge-ts"]}
    grid |= {"init": ["lasso-all", "ridge-ts"]}
    return grid | {"noise_variance": [0.5, "residual"]} if task == "regression" else grid


class TimeScores(NamedTuple):
    """The scores of all methods at one or several test times."""

    time: str
    documents: int
    words: int | None
    scores: dict[str, float]
    accuracy: dict[str, float] | None


@dataclass
class Comparison:
    """The result of :func:`compare`.

    Attributes
    ----------
    measure : the name of the score; lower is better.
    by_time : the scores at each test time; settings are chosen at the first.
    overall, without_first : the scores over all test times, and over all but the first (None if there is only one).
    wins : the number of documents on which the first method has a smaller loss than each other method.
    p, p_without_first : Wilcoxon's signed-rank test of the first method against each other method, over documents.
    chosen : the settings of each method.
    skipped : documents that could not be read.
    """

    task: Task
    measure: str
    methods: list[str]
    by_time: list[TimeScores]
    overall: TimeScores
    without_first: TimeScores | None
    wins: dict[str, int]
    p: dict[str, float]
    p_without_first: dict[str, float] | None
    chosen: dict[str, dict[str, Any]]
    skipped: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "task": self.task,
            "measure": self.measure,
            "methods": self.methods,
            "by_time": [row._asdict() for row in self.by_time],
            "overall": self.overall._asdict(),
            "without_first": None if self.without_first is None else self.without_first._asdict(),
            "wins": self.wins,
            "p": self.p,
            "p_without_first": self.p_without_first,
            "chosen": self.chosen,
        }


def compare(
    model: TrendModel,
    documents: Documents,
    grids: Mapping[str, Mapping[str, Sequence[Any]]],
    *,
    first_test: Any = None,
    window: int | None = None,
    threads: int | None = None,
) -> Comparison:
    """Forecast each test time from strictly earlier ones by several methods (:func:`rolling_origin`).

    Words, idf and covariates are those of the documents before the first test time.

    Parameters
    ----------
    model : TrendModel
        Its series have the settings that the grids do not vary; it is not fitted.
    documents : Documents
    grids : mapping of str to mapping
        The methods, first the one to test against the others, with the settings to try for each
        (:func:`built_in_grid`).
    first_test
        The first test time; by default the last four times are tested.
    window, threads
        As in :func:`rolling_origin`.

    Examples
    --------
    >>> from spinney.trend import FrequentWords, TimeSeriesTextModel
    >>> texts = ["war and war", "war and peace", "peace and trade", "trade and trade", "trade and war"]
    >>> model = TrendModel(TimeSeriesTextModel(), FrequentWords())
    >>> documents = Documents(texts, times=np.array([1, 2, 3, 4, 5]))
    >>> found = compare(model, documents, {"ridge-ts": {"lam": [1.0]}, "lasso-all": {}}, first_test=4, threads=1)
    >>> [row.time for row in found.by_time], found.measure
    (['4', '5'], 'nats per word')
    """
    times = documents.times
    if times is None:
        raise InputError("documents without times")
    tests = _test_times(times, first_test, model)
    columns = _prepared(model, documents, times < tests[0])
    data = columns.data(documents)
    methods = {name: _candidates(model.series, name, grid) for name, grid in grids.items()}
    rows = rolling_origin(methods, data, times, tests, window=window, threads=threads)
    lengths = np.asarray(data[0].sum(axis=1)).ravel() if model.task == "text" else None
    labels = {test: bin_label(test, model.every) for test in tests}
    summary = _Summary(list(methods), rows, documents, model.task == "classification", lengths)
    first, *others = methods
    later = tests[1:]
    return Comparison(
        model.task,
        MEASURES[model.task],
        list(methods),
        [summary.over(labels[test], [test]) for test in tests],
        summary.over("all", tests),
        summary.over(f"without {labels[tests[0]]}", later) if later else None,
        {other: summary.wins(first, other) for other in others},
        {other: signed_rank(rows, first, other) for other in others},
        {other: signed_rank(rows, first, other, development=False) for other in others} if later else None,
        {row.method: row.chosen for row in rows},
    )


def _candidates(series: Any, method: str, grid: Mapping[str, Sequence[Any]]) -> list[Any]:
    unknown = set(grid) - set(series.get_params())
    if unknown:
        first = sorted(unknown)[0]
        what = f"{method}: {first!r} is not a parameter of this method"
        raise OptionError(what, given=first, known=series.get_params())
    found = candidates(clone(series).set_params(method=method), **grid)
    for one in found:
        try:
            one._settings()
        except TypeError as error:
            raise OptionError(f"{method}: {error}") from None
    return found


def _test_times(times: NDArray[Any], first_test: Any, model: TrendModel) -> list[Any]:
    seen = np.unique(times)
    if first_test is None:
        first_test = seen[-min(_TESTS, max(len(seen) - 2, 1))]
    label = bin_label(first_test, model.every)
    tests = [time for time in seen.tolist() if time >= first_test]
    if not tests:
        raise InputError(f"no documents at or after the test time {label}", remedy="choose an earlier start")
    earlier = len(seen) - len(tests)
    if earlier < 2:
        what = "no documents" if not earlier else "documents of only one time"
        raise InputError(f"{what} before the first test time {label}", remedy="choose a later start")
    return tests


def _prepared(model: TrendModel, documents: Documents, before: NDArray[np.bool_]) -> TrendModel:
    """A model that knows the words and covariates of the documents before the first test time."""
    known = TrendModel(
        clone(model.series),
        FrequentWords(**model.words.parts().header),
        covariates=model.covariates.columns,
        extra=model.extra,
        every=model.every,
    )
    known.learn_columns(documents.rows(np.flatnonzero(before)))
    return known


class _Summary:
    """Losses of documents, gathered over test times."""

    def __init__(
        self,
        methods: list[str],
        rows: list[RollingRow],
        documents: Documents,
        classes: bool,
        lengths: Vector | None,
    ) -> None:
        assert documents.times is not None
        self.methods, self.times, self.lengths = methods, documents.times, lengths
        self.losses = {(row.method, row.time): row.losses for row in rows}
        self.first_class = None
        if classes:
            assert documents.targets is not None
            self.first_class = documents.targets == np.unique(documents.targets)[0]

    def wins(self, one: str, other: str) -> int:
        return sum(
            int(np.count_nonzero(losses < self.losses[other, test]))
            for (method, test), losses in self.losses.items()
            if method == one
        )

    def over(self, name: str, tests: Sequence[Any]) -> TimeScores:
        losses = {
            method: np.concatenate([self.losses[method, test] for test in tests]) for method in self.methods
        }
        # Test times follow each other as their losses do; those of one time are in the order of the documents.
        rows = np.concatenate([np.flatnonzero(self.times == test) for test in tests])
        words = None if self.lengths is None else int(self.lengths[rows].sum())
        n = len(rows) if words is None else max(words, 1)
        right = None
        if self.first_class is not None:
            first = self.first_class[rows]  # what is predicted where both are as probable
            right = {
                method: float(np.mean((of < _EVEN) | ((of == _EVEN) & first)))
                for method, of in losses.items()
            }
        scores = {method: float(of.sum()) / n for method, of in losses.items()}
        return TimeScores(name, len(rows), words, scores, right)
