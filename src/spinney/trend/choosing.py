"""The strengths of a fit, chosen by forecasts of its last times (the temporal protocol of Yogatama 2015, §3.4).

The last times are held out, settings are tried on the times before them, and the best are used for all times. Strengths
are climbed in steps of a constant factor, on and on while the best is at the edge of what was tried.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney import progress
from spinney.errors import InputError
from spinney.optim.base import Vector
from spinney.trend.words import FrequentWords

_SHARE = 0.1  # of the documents, at least, are held out
_STEP = math.sqrt(10.0)  # between strengths
_FLOOR_STEP = 10.0
_FLOORS = (1e-8, 1.0, 10.0, 100.0)  # the first is as good as Jeffreys' prior
_WORTH = 1e-3  # of the loss: a smaller gain is no reason to walk on
_FARTHEST = 12  # steps, up or down
_ROUNDS, _PRECISE = 100, 1e-4  # iterations and tolerance of a fit that is only to be compared with others
#: Where the adaptive prior may begin. Series that begin at zero stay there, so one of the starts has none of them.
_STARTS = {"text": ("ridge-ts", "lasso-one")}
_OTHER_STARTS = ("ridge-ts", "lasso-all")

K = TypeVar("K")


class Choice(NamedTuple):
    """The settings with the smallest loss on held-out documents, and how they were found."""

    settings: dict[str, Any]
    loss: float
    #: The best loss of each initial method by itself (``adaptive`` and ``sparse`` only).
    starts: dict[str, float]
    tried: int
    times: list[Any]
    documents: int

    @property
    def better_start(self) -> str | None:
        """A plain method that forecasts the held-out times clearly better (by 2 %), if there is one."""
        best = min(self.starts, key=lambda name: self.starts[name], default=None)
        return best if best is not None and self.starts[best] < 0.98 * self.loss else None


def held_out_times(times: NDArray[Any], share: float = _SHARE) -> list[Any]:
    """The last times that together have a share of the documents; none if fewer than two times would be left.

    Examples
    --------
    >>> held_out_times(np.array([1, 1, 1, 1, 2, 2, 2, 2, 3, 4]), 0.2)
    [3, 4]
    >>> held_out_times(np.array([1, 2]))
    []
    """
    seen, counts = np.unique(times, return_counts=True)
    enough = np.cumsum(counts[::-1]) >= share * len(times)
    n = int(np.argmax(enough)) + 1
    while n > 1 and len(seen) - n < 2:
        n -= 1
    return list(seen[len(seen) - n :].tolist()) if len(seen) - n >= 2 else []


def as_good(scores: Mapping[K, float]) -> list[K]:
    """Those with the least score, or one so near to it that the difference is no reason to prefer any of them.

    Examples
    --------
    >>> as_good({"a": 2.0, "b": 1.0005, "c": 1.0})
    ['b', 'c']
    """
    least = min(scores.values())
    return [k for k, value in scores.items() if value - least <= _WORTH * abs(least) or value == least]


def climb(score: Callable[[float], float], start: float, step: float) -> float:
    """The strength of the least score among ``start`` times powers of ``step``, walking on while it clearly falls.

    Of strengths whose scores differ by less than one in a thousand, the one nearest to ``start`` is taken.

    Examples
    --------
    >>> climb(lambda x: (x - 900) ** 2, 1.0, 10.0)
    1000.0
    """
    known = {k: score(start * step**k) for k in (-1, 0, 1)}
    while True:
        best = min(as_good(known), key=lambda k: (abs(k), known[k]))
        nearest = [k for k in (best - 1, best + 1) if k not in known]
        if not nearest or abs(best) >= _FARTHEST:
            return start * step**best
        for k in nearest:
            known[k] = score(start * step**k)


class _Search:
    """Losses of settings on held-out documents, each computed once."""

    def __init__(
        self,
        series: Any,
        train: Sequence[Any],
        times: NDArray[Any],
        test: Sequence[Any],
        words: Vector | None,
    ):
        self.series, self.train, self.times, self.test = series, train, times, test
        self.n = float(words.sum()) if words is not None else float(test[0].shape[0])
        self.known: dict[tuple[tuple[str, Any], ...], float] = {}

    def fitted(self, **settings: Any) -> Any:
        """A model of the times before."""
        model = clone(self.series).set_params(**settings)
        model.set_params(max_iter=min(model.max_iter, _ROUNDS), tol=max(model.tol, _PRECISE))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is only compared need not be exact, or may be empty
            return model.fit(*self.train, self.times)

    def loss(self, **settings: Any) -> float:
        """The mean loss of documents, or of words; infinite where a fit fails."""
        key = tuple(sorted(settings.items()))
        if key not in self.known:
            self.done.update(1, note=", ".join(f"{name} {value}" for name, value in settings.items()))
            losses = self.fitted(**settings).losses(*self.test)
            mean = float(np.sum(losses)) / max(self.n, 1.0)
            self.known[key] = mean if math.isfinite(mean) else math.inf
        return self.known[key]

    done: Any = None


def choose_strengths(model: Any, documents: Any, given: Mapping[str, Any]) -> Choice | None:
    """The settings that forecast the last times best; None if there are too few times, or nothing to choose.

    Parameters
    ----------
    model : TrendModel
        Not fitted; what is chosen is not set.
    documents : Documents
    given : mapping
        Settings that are not to be chosen.
    """
    last = held_out_times(documents.times)
    if not last or not _free(model.series.method, given):
        return None
    return best_forecast(model, documents, np.isin(documents.times, last), given)


def best_forecast(
    model: Any, documents: Any, held_out: NDArray[np.bool_], given: Mapping[str, Any]
) -> Choice | None:
    """The settings that forecast held-out documents best from the others; None if these allow no fit.

    Parameters
    ----------
    model : TrendModel
        Not fitted; what is chosen is not set.
    documents : Documents
    held_out : array of bool
        The documents to forecast, which are later than all others.
    given : mapping
        Settings that are not to be chosen. If that is all of them, their loss is found.
    """
    before, after = (documents.rows(np.flatnonzero(rows)) for rows in (~held_out, held_out))
    if len(np.unique(before.times)) < 2:
        return None
    known = type(model)(
        clone(model.series), FrequentWords(**model.words.parts().header), covariates=model.covariates.columns,
        extra=model.extra, every=model.every,
    )  # fmt: skip
    train = known.learn_columns(before)
    if model.task == "classification" and len(np.unique(before.targets)) < 2:
        return None
    test = known.data(after)
    words = np.asarray(test[0].sum(axis=1)) if model.task == "text" else None
    search = _Search(known.series, train, before.times, test, words)
    free = _free(model.series.method, given)
    starts: dict[str, float] = {}
    try:
        with progress.task("choosing strengths") as search.done:
            if not free:
                settings = {"method": model.series.method}
            elif model.series.method in ("adaptive", "sparse"):
                settings, starts = _of_prior(search, model, free, given)
            else:
                settings = _of_baseline(search, model.series.method, free)
            loss = search.loss(**settings)
    except InputError:  # the times before are too poor for this method: one class at the last of them, say
        return None
    chosen = {name: value for name, value in settings.items() if name != "method"}
    times = np.unique(after.times).tolist()
    return Choice(chosen, loss, starts, len(search.known), times, len(after))


def _free(method: str, given: Mapping[str, Any]) -> set[str]:
    """What can be chosen for a method."""
    names = {
        "adaptive": {"init", "lam", "floor"},
        "sparse": {"init", "lam", "floor"},
        "ridge-ts": {"lam", "alpha"},
    }
    return {name for name in names.get(method, {"lam"}) if given.get(name) is None}


def _of_baseline(search: _Search, method: str, free: set[str]) -> dict[str, Any]:
    """λ, and α of ridge-ts."""
    settings: dict[str, Any] = {"method": method}
    if "lam" in free:
        natural = search.fitted(method=method).lam_ or 1.0
        settings["lam"] = climb(lambda lam: search.loss(method=method, lam=lam), natural, _STEP)
    if method == "ridge-ts" and "alpha" in free:
        fixed = dict(settings)
        settings["alpha"] = climb(lambda alpha: search.loss(**fixed, alpha=alpha), 1.0, 10.0)
    return settings


def _of_prior(
    search: _Search, model: Any, free: set[str], given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, float]]:
    """The start with its λ, and the floor ε: from Jeffreys' prior to a ridge of which each series has its own α.

    λ is at first the best of the start by itself, and σ² what the start leaves of other documents than its own; when
    the floor is known, both are looked at again.
    """
    starts = _STARTS.get(model.task, _OTHER_STARTS) if "init" in free else (model.series.init,)
    best: dict[str, Any] = {}
    alone: dict[str, float] = {}
    for start in starts:
        begun = _of_baseline(search, start, free - {"alpha"})
        alone[start] = search.loss(**begun)
        settings = begun | {"method": model.series.method, "init": start}
        if model.task == "regression" and given.get("noise_variance") is None:
            settings["noise_variance"] = min(max(alone[start], 1e-12), 1e300)
        if "floor" in free:
            settings = _best_floor(search, settings)
        if not best or search.loss(**settings) < search.loss(**best):
            best = settings
    for name in ("lam", "noise_variance"):
        if name in best:
            score = partial(_loss_with, search, dict(best), name)
            best[name] = climb(score, best[name], _STEP)
    return best, alone


def _loss_with(search: _Search, settings: dict[str, Any], name: str, value: float) -> float:
    return search.loss(**settings | {name: value})


def _best_floor(search: _Search, settings: dict[str, Any]) -> dict[str, Any]:
    """With the best of some floors, and of larger ones while the largest is the best."""
    floors = list(_FLOORS)
    while True:
        tried = [settings | {"floor": floor} for floor in floors]
        best = min(tried, key=lambda one: search.loss(**one))
        if best["floor"] < floors[-1] or len(floors) > _FARTHEST:
            return best
        floors.append(floors[-1] * _FLOOR_STEP)
