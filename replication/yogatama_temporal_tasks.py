"""The tasks of the replication of Yogatama (2015), chapter 3: data, test times, settings to choose from."""

from __future__ import annotations

from typing import Any

from spectral_common import Setting
from yogatama_temporal_data import FIRST_RANK_OF_TEXTS, Texts, Volatility, abstracts, speeches, stocks

from spinney.settings.trend import Method
from spinney.trend import TimeSeriesRegressor, TimeSeriesTextModel, candidates

#: Test times, the first of which is the development time: documents of June to December 2015; the 1960s to the 2010s.
MONTHS = range(17, 24)
DECADES = range(196, 202)
TEST_YEARS = range(2014, 2019)


def month(number: int) -> str:
    """The name of a month, counted from January 2014."""
    return f"{2014 + number // 12}-{number % 12 + 1:02d}"


def decade(number: int) -> str:
    """The name of a decade."""
    return f"{number}0s"


def of_stocks(setting: Setting, relative: bool) -> Volatility:
    """Tweets and volatilities."""
    return stocks(setting.data, MONTHS[0], 2100 if setting.quick else 10_101, relative)


def of_speeches(setting: Setting) -> Texts:
    """State of the Union addresses."""
    return speeches(setting.data, DECADES[0], 1500 if setting.quick else 5501)


def of_abstracts(setting: Setting) -> Texts:
    """Abstracts."""
    return abstracts(setting.data, TEST_YEARS[0], FIRST_RANK_OF_TEXTS, 1500 if setting.quick else 5501)


def regressors(setting: Setting) -> dict[str, list[Any]]:
    """Methods and their settings, for volatility."""
    taus = [1.0, 100.0] if setting.quick else [0.001, 1.0, 10.0, 100.0]
    shared: dict[str, Any] = {
        "noise_variance": [0.5, 0.1, 0.02, "residual"],
        "init": ["lasso-one", "lasso-all"],
    }
    adaptive = {"tau": taus, "floor": [1e-8, 1.0], **shared}
    grids: dict[Method, dict[str, Any]] = {
        "ridge-one": {"lam": [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]},
        "ridge-all": {"lam": [30.0, 100.0, 300.0, 1000.0, 3000.0]},
        "ridge-ts": {"lam": [3.0, 10.0, 30.0, 100.0, 300.0], "alpha": [1.0, 10.0, 100.0, 1000.0]},
        "lasso-one": {"lam": [0.3, 1.0, 3.0, 10.0]},
        "lasso-all": {"lam": [3.0, 10.0, 30.0, 100.0]},
    }
    methods: dict[str, list[Any]] = {
        name: candidates(TimeSeriesRegressor(name), **grid) for name, grid in grids.items()
    }
    methods["adaptive"] = candidates(TimeSeriesRegressor("adaptive"), **adaptive)
    methods["quadrature"] = candidates(TimeSeriesRegressor("adaptive", logdet="quadrature"), **adaptive)
    methods["sparse"] = candidates(TimeSeriesRegressor("sparse"), tau=[1.0], **shared)
    return methods


def text_models(setting: Setting, which: str) -> dict[str, list[Any]]:
    """Methods and their settings, for texts; "background" has no covariates to speak of."""
    taus = [1.0, 100.0] if setting.quick else [0.001, 1.0, 100.0]
    starts = ["lasso-one", "lasso-all"]
    lams: list[float | None] = [None]
    ridges, lassos = [1.0, 3.0, 10.0, 30.0, 100.0], [1.0, 3.0, 10.0, 30.0]
    if which == "speeches":
        lams = [3.0] if setting.quick else [1.0, 3.0]
        ridges, lassos = [10.0, 30.0, 100.0, 300.0], [3.0, 10.0, 30.0]
    adaptive = TimeSeriesTextModel("adaptive")
    honest = TimeSeriesTextModel("adaptive", logdet="quadrature")
    shared = TimeSeriesTextModel("adaptive", shared=True)
    return {
        "background": [TimeSeriesTextModel("ridge-one", lam=1e9)],
        "ridge-one": candidates(TimeSeriesTextModel("ridge-one"), lam=ridges),
        "ridge-all": candidates(TimeSeriesTextModel("ridge-all"), lam=ridges),
        "ridge-ts": candidates(TimeSeriesTextModel("ridge-ts"), lam=ridges, alpha=[1.0, 10.0, 100.0]),
        "lasso-one": candidates(TimeSeriesTextModel("lasso-one"), lam=lassos),
        "lasso-all": candidates(TimeSeriesTextModel("lasso-all"), lam=lassos),
        "adaptive": candidates(adaptive, tau=taus, floor=[1e-8, 0.1, 1.0, 10.0], init=starts, lam=lams),
        "quadrature": candidates(
            honest, floor=[1.0] if setting.quick else [1e-8, 1.0], init=starts, lam=lams
        ),
        "shared": candidates(shared, tau=taus, floor=[1e-8, 0.1, 1.0], lam=lams),
        "sparse": candidates(TimeSeriesTextModel("sparse"), floor=[1e-2, 1.0], init=starts, lam=lams),
    }


def with_pooled_background(setting: Setting) -> dict[str, list[Any]]:
    """Methods for which a covariate that is always 1 has series, in place of a background of each time."""
    ridge = TimeSeriesTextModel("ridge-ts", background="all")
    adaptive = TimeSeriesTextModel("adaptive", background="all")
    starts = ["ridge-ts"] if setting.quick else ["lasso-all", "ridge-ts"]
    return {
        "ridge-ts, θ all": candidates(ridge, lam=[1.0, 3.0, 10.0], alpha=[1.0, 10.0, 100.0]),
        "adaptive, θ all": candidates(adaptive, floor=[1e-8, 10.0], init=starts),
    }
