"""From dated documents and settings to a trend, and to a comparison of methods, for use in Python."""

from __future__ import annotations

import json
import os
import time as clock
import warnings
from typing import Any

from spinney.cluster import spread
from spinney.corpus import open_text
from spinney.errors import InputError, SettingError, about
from spinney.optim import EmptyModelWarning, warn_if_empty
from spinney.settings import Settings, choose, settings_of, settings_or
from spinney.settings.trend import FIT, Compare, LinearSeries, NumberSeries, WordSeries
from spinney.trend.choosing import Choice, choose_strengths
from spinney.trend.comparing import Comparison, built_in_grid, compare
from spinney.trend.dates import bin_label, binned, parse_time
from spinney.trend.model import MEASURES, Documents, TrendModel
from spinney.trend.regression import TimeSeriesClassifier, TimeSeriesRegressor
from spinney.trend.resolutions import choose_resolution
from spinney.trend.sources import Columns, Read, paths_of, read_dated
from spinney.trend.text import TimeSeriesTextModel
from spinney.trend.words import FrequentWords
from spinney.views import Views

#: The estimator of each task, with its settings.
_SERIES: dict[str, tuple[Any, type[Settings]]] = {
    "regression": (TimeSeriesRegressor, NumberSeries),
    "classification": (TimeSeriesClassifier, LinearSeries),
    "text": (TimeSeriesTextModel, WordSeries),
}
#: Defaults for dated documents that work better than those of the estimators.
_BETTER = {"regression": {"noise_variance": "residual"}}
_FEW = 2  # documents per time


@spread
def fit(train: Any, settings: Settings | None = None, **given: Any) -> TrendModel:
    """Fit series of weights to dated documents, to predict numbers, two classes, or the words themselves.

    Parameters
    ----------
    train
        Files: CSV or TSV with a column of times, or folders of years; or a data frame with such columns. Or
        :class:`~spinney.trend.model.Documents`, whose targets, if any, are predicted; their times are bins
        already unless ``every`` has several widths.
    settings
        Settings of :mod:`spinney.settings.trend`; or give them by name, ``method`` among them. Of several widths
        of time bins in ``every``, the one that forecasts best is chosen.

    Examples
    --------
    >>> import numpy as np
    >>> texts = ["war on all fronts", "war and peace", "peace and trade", "trade for all"]
    >>> documents = Documents(texts, times=np.array([194, 194, 195, 195]))
    >>> model = fit(documents, method="ridge-ts", lam=0.1, every=10, min_count=1)
    >>> model.labels, [strand.word for strand in model.strongest(2)["(all)"]]
    (['1940', '1950'], ['trade', 'war'])

    A war that ends within a decade is forecast better by single years than by decades:

    >>> years = np.arange(1920, 1960).repeat(3)
    >>> documents = Documents(["war" if year < 1945 else "peace" for year in years], times=years)
    >>> model = fit(documents, method="ridge-one", every=(1, 10), min_count=1)
    >>> model.every, model.facts["choice"]["held_out"]
    (1, '1950 to 1959')
    """
    s: Any = settings or choose(FIT, given)
    started = clock.perf_counter()
    model = _model(s, train)
    read = _read(train, s, model.task)
    ready = clock.perf_counter()
    with about(", ".join(paths_of(train) or ["the documents"])):
        try:
            model.fit(_choose(model, read.documents, s))
        except KeyboardInterrupt:
            if "objective" not in model.facts:
                raise
            model.facts["interrupted"] = True  # what was learned is kept
    seconds = clock.perf_counter() - ready
    model.facts |= {
        "train": paths_of(train),
        "skipped": read.skipped,
        "seconds": seconds,
        "reading_seconds": ready - started,
        "entries_per_second": model.facts["entries"] / max(seconds, 1e-9),
    }
    _warn_if_of_no_use(model)
    model.settings = s
    return model


def _choose(model: TrendModel, documents: Documents, s: Any) -> Documents:
    """Set what is left open to what forecasts the last times best; the documents, in bins of the resolution to fit."""
    if documents.times is None:
        return documents
    if len(s.resolutions) > 1:
        resolved = choose_resolution(model, documents, s.resolutions, s.values())
        model.every = resolved.every
        tried = [{"every": every, "loss": loss} for every, loss in resolved.losses.items()]
        _set_choice(model, resolved.choice, s)
        model.facts["choice"] |= {"every": resolved.every, "resolutions": tried}
        return resolved.documents
    found = choose_strengths(model, documents, s.values())
    if found is not None:
        _set_choice(model, found, s)
    return documents


def _set_choice(model: TrendModel, found: Choice, s: Any) -> None:
    """Set what was chosen, and keep with the model what that was."""
    model.series.set_params(**found.settings)
    labels = [bin_label(time, s.resolution) for time in found.times]
    times = labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"
    model.facts["choice"] = {
        "settings": found.settings, "held_out": times, "documents": found.documents, "tried": found.tried,
        "loss": found.loss, "measure": MEASURES[model.task], "starts": found.starts,
        "better": found.better_start,
    }  # fmt: skip


def _warn_if_of_no_use(model: TrendModel) -> None:
    """Say so, with a remedy, when a model is empty, or times have hardly a document each."""
    facts = model.facts
    if "active" not in facts:
        return
    wider = "group times with a wider every"
    if not facts["active"] and "choice" in facts:
        warnings.warn(
            f"the model is empty: no series forecasts {facts['choice']['held_out']} better than none; {wider}, or "
            "take a method without this prior, such as ridge-all",
            EmptyModelWarning,
            stacklevel=3,
        )
        return
    warn_if_empty(facts["active"], f"lower lam, raise floor, or {wider}")
    if facts["documents"] < _FEW * facts["times"]:
        warnings.warn(
            f"{facts['documents']:,} documents in {facts['times']:,} times: hardly one each, so that series are mostly "
            f"prior ({wider})",
            stacklevel=3,
        )


def _read(data: Any, s: Any, task: str) -> Read:
    return read_dated(data, Columns.of(s), s, s.resolution, numeric=task == "regression", classes=s.classes)


def _model(s: Any, data: Any) -> TrendModel:
    """The model that settings describe, not fitted."""
    task, extra = s.task, list(Columns.of(s).extra)
    if isinstance(data, Documents) and data.targets is not None and task == "text":
        task = "regression" if data.targets.dtype.kind in "iuf" else "classification"
    if task != "text" and getattr(s, "shared", False):
        raise SettingError("{shared} is for models of words, but these documents have targets")
    if isinstance(data, Documents) and data.extra is not None and not extra:
        extra = [f"extra {k}" for k in range(data.extra.shape[1])]
    covariates = list(data.columns if isinstance(data, Documents) else Columns.of(s).covariates)
    kind, takes = _SERIES[task]
    own = {setting.name for setting in settings_of(takes)}
    wanted = {name: value for name, value in s.values().items() if name in own and value is not None}
    words = FrequentWords(
        s.features or ("counts" if task == "text" else "binary"), min_count=s.min_count, skip_top=s.skip_top,
        max_features=s.max_features, ngrams=s.ngrams, lowercase=s.lowercase,
    )  # fmt: skip
    series = kind(**{**_BETTER.get(task, {}), **wanted})
    return TrendModel(series, words, covariates=covariates, extra=extra, every=s.resolution)


# ------------------------------------------------------------------------------------- rolling origin


@spread
def compare_methods(data: Any, settings: Settings | None = None, **given: Any) -> Comparison:
    """Compare methods by rolling origin: each test time is forecast from strictly earlier ones.

    The first test time also chooses the settings of each method, so the scores without it are the fair ones. A
    setting whose value is not its default, such as ``tau``, is not varied.

    Parameters
    ----------
    data
        Dated documents, as for :func:`fit`.
    settings
        :class:`~spinney.settings.trend.Compare`; or give them by name.
    """
    s = settings_or(Compare, settings, given)
    fixed = [setting.name for setting in settings_of(Compare) if getattr(s, setting.name) != setting.default]
    model = _model(s, data)
    grids = _grids(model.task, s, fixed)
    read = _read(data, s, model.task)
    first = None if s.start is None else _bin_of(s)
    with about(", ".join(paths_of(data) or ["the documents"])):
        found = compare(model, read.documents, grids, first_test=first, window=s.window, threads=s.threads)
    found.skipped = read.skipped
    return found


def comparison(data: Any, settings: Settings | None = None, **given: Any) -> Views:
    """What ``spinney trend compare`` shows: the views of :func:`compare_methods`."""
    from spinney.trend.views import comparison_views

    return Views(comparison_views(compare_methods(data, settings, **given)))


def _bin_of(s: Compare) -> Any:
    try:
        return binned([parse_time(str(s.start))], s.resolution).tolist()[0]
    except InputError as error:
        raise SettingError("{start}: {why}", why=str(error)) from None


def _grids(task: Any, s: Compare, fixed: list[str]) -> dict[str, dict[str, list[Any]]]:
    """The grid of each method, given or built in, without the settings that are fixed."""
    given = _space(s.space)
    if given is not None and (unknown := set(given) - set(s.methods)):
        raise SettingError(
            "{space} has settings for {names}, which {methods} does not name",
            names=", ".join(sorted(unknown)),
        )
    grids: dict[str, dict[str, list[Any]]] = {}
    for name in s.methods:
        grid = built_in_grid(task, name) if given is None else given.get(name, {})
        grids[name] = {option: values for option, values in grid.items() if option not in fixed}
    return grids


def _space(given: Any) -> dict[str, dict[str, list[Any]]] | None:
    if given is None:
        return None
    space = given
    if isinstance(given, str):
        try:
            if os.path.isfile(given):
                with open_text(given) as file:
                    given = file.read()
            space = json.loads(given)
        except (OSError, ValueError, RecursionError) as error:
            raise SettingError("{space} must be JSON or a JSON file: {why}", why=str(error)) from None
    plain = isinstance(space, dict) and all(
        isinstance(grid, dict) and all(isinstance(values, list) and values for values in grid.values())
        for grid in space.values()
    )
    if not plain:
        like = '{"ridge-ts": {"lam": [1, 10], "alpha": [1]}}'
        raise SettingError("{space} must be like {like}", like=like)
    return space  # type: ignore[no-any-return]
