"""What words add to a forecast is the forecast."""

import numpy as np
import pytest

from spinney.trend import (
    Documents,
    FrequentWords,
    TimeSeriesClassifier,
    TimeSeriesRegressor,
    TimeSeriesTextModel,
    TrendModel,
)
from spinney.trend.explaining import forecasts

TEXTS = ["oil war", "peace tax", "oil tax oil", "war peace"] * 9
TIMES = np.repeat(np.arange(2001, 2007), 6)
PARTY = {"party": ["Left", "Right", "Right"] * 12}


@pytest.mark.parametrize("task", ["regression", "classification", "text"])
def test_parts_add_up(task):
    rng = np.random.default_rng(0)
    series, targets, more = {
        "regression": (TimeSeriesRegressor("ridge-ts", lam=0.1), rng.normal(size=36), {}),
        "classification": (TimeSeriesClassifier("ridge-ts", lam=0.1), np.array(["a", "b", "b"] * 12), {}),
        "text": (TimeSeriesTextModel("ridge-ts"), None, {"covariates": ["party"]}),
    }[task]  # fmt: skip
    documents = Documents(TEXTS, TIMES, targets, PARTY if task == "text" else {})
    model = TrendModel(series, FrequentWords(), **more).fit(documents)
    found = forecasts(model, documents)
    assert [one.time for one in found] == [str(time) for time in TIMES]
    values = np.array([one.value for one in found])
    assert values == pytest.approx([sum(value for _, value in one.contributions) for one in found])
    if task == "regression":
        assert values == pytest.approx(model.predict(documents))
    elif task == "classification":
        chances = model.predict_proba(documents)
        assert values == pytest.approx(np.log(chances[:, 1] / chances[:, 0]))
    else:
        assert values == pytest.approx(model.losses(documents))
    words = {name for name, _ in found[0].contributions}
    assert words - {"(intercept)"} <= set(TEXTS[0].split())
