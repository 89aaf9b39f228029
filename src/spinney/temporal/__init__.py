"""Models of text whose coefficients change over time, tied by a sparse, adaptive prior (Yogatama 2015, ch. 3)."""

from spinney.temporal.prior import AdaptivePrior
from spinney.temporal.regression import TimeSeriesClassifier, TimeSeriesRegressor
from spinney.temporal.rolling import OverallRow, RollingRow, candidates, overall, rolling_origin, signed_rank
from spinney.temporal.series import Series, alpha_histogram, forecast, strongest_series
from spinney.temporal.text import TimeSeriesTextModel

__all__ = [
    "AdaptivePrior",
    "OverallRow",
    "RollingRow",
    "Series",
    "TimeSeriesClassifier",
    "TimeSeriesRegressor",
    "TimeSeriesTextModel",
    "alpha_histogram",
    "candidates",
    "forecast",
    "overall",
    "rolling_origin",
    "signed_rank",
    "strongest_series",
]
