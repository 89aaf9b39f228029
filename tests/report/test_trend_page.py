"""The page of a trend model, and small charts in a terminal."""

import numpy as np
import pytest

from spinney.report.html import view_page
from spinney.report.terminal import show_views, sparkline
from spinney.trend import (
    Documents,
    FrequentWords,
    TimeSeriesClassifier,
    TimeSeriesRegressor,
    TimeSeriesTextModel,
    TrendModel,
    compare,
)
from spinney.trend.views import comparison_views

HOSTILE = "</script><img src=x onerror=alert(1)>"
TEXTS = ["war war peace", "war peace", "war trade peace", "trade peace", "trade trade", "trade peace tax"]
TIMES = np.array([190, 190, 191, 191, 192, 192])


def trend_page(model, title):
    return view_page(title, model.report_views())


@pytest.fixture(scope="module")
def model():
    sides = ["Left", HOSTILE] * 3
    fitted = TrendModel(
        TimeSeriesTextModel("ridge-ts", lam=0.1), FrequentWords(), covariates=["side"], every=10
    )
    return fitted.fit(Documents(TEXTS, TIMES, None, {"side": sides}))


def test_page(model):
    text = trend_page(model, HOSTILE).html()
    assert text == trend_page(model, HOSTILE).html()
    assert "<img" not in text
    assert text.count("<script") == 1
    assert text.count('<figure class="chart"') == 4  # strongest and most changed, of two sides
    for name in ("war", "1900", "1920", "ridge-ts", "side=Left"):
        assert name in text


def test_pages_of_the_other_tasks():
    X = TEXTS * 4
    times = np.tile(TIMES, 4)
    y = np.array([text.count("war") for text in X], dtype=float)
    series = TimeSeriesRegressor(noise_variance=0.01, init="ridge-all")
    numbers = TrendModel(series, FrequentWords(), every=10).fit(Documents(X, times, y))
    text = trend_page(numbers, "cost").html()
    assert "Stiffness" in text
    assert "expected next" in text
    labels = np.array(["yes" if n else "no" for n in y])
    labels[::5] = "yes"
    series = TimeSeriesClassifier("ridge-ts", lam=0.1)
    classes = TrendModel(series, FrequentWords(), every=10).fit(Documents(X, times, labels))
    assert "they are evidence for yes" in trend_page(classes, "sides").html()


def test_an_empty_model_has_a_page():
    fitted = TrendModel(TimeSeriesTextModel("lasso-all", lam=1e9), FrequentWords(), every=10)
    fitted.fit(Documents(TEXTS, TIMES))
    assert "all weights are 0" in trend_page(fitted, "nothing").html()


def test_terminal(model, capsys):
    show_views(model.views(top=3, words=["war"]))
    out = capsys.readouterr().out
    assert "Series of the given words, 1900 to 1920" in out
    strand = next(strand for strand in model.strongest(9)["side=Left"] if strand.word == "war")
    assert sparkline(strand.values) in out
    documents = Documents(TEXTS, TIMES, None, {"side": ["Left", "Right"] * 3})
    found = compare(model, documents, {"ridge-ts": {"lam": [1.0, 10.0]}, "lasso-all": {}}, threads=1)
    show_views(comparison_views(found))
    out = capsys.readouterr().out
    assert "1920 (dev)" in out
    assert "lam=" in out
