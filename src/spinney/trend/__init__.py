"""Models of text whose coefficients change over time, tied by a sparse, adaptive prior (Yogatama 2015, ch. 3)."""

from spinney.trend.comparing import Comparison, TimeScores, built_in_grid, compare
from spinney.trend.model import Documents, Strand, TrendModel
from spinney.trend.prior import AdaptivePrior
from spinney.trend.recipes import compare_methods, fit
from spinney.trend.regression import TimeSeriesClassifier, TimeSeriesRegressor
from spinney.trend.rolling import OverallRow, RollingRow, candidates, overall, rolling_origin, signed_rank
from spinney.trend.series import Series, alpha_histogram, forecast, strongest_series
from spinney.trend.text import TimeSeriesTextModel
from spinney.trend.words import FrequentWords

__all__ = [
    "AdaptivePrior",
    "Comparison",
    "Documents",
    "FrequentWords",
    "OverallRow",
    "RollingRow",
    "Series",
    "Strand",
    "TimeScores",
    "TimeSeriesClassifier",
    "TimeSeriesRegressor",
    "TimeSeriesTextModel",
    "TrendModel",
    "alpha_histogram",
    "built_in_grid",
    "candidates",
    "compare",
    "compare_methods",
    "fit",
    "forecast",
    "overall",
    "rolling_origin",
    "signed_rank",
    "strongest_series",
]
