"""Linear classifiers and regressors, with any penalty, of matrices and of text."""

from spinney.classify.crossval import LinearClassifierCV, LinearRegressorCV
from spinney.classify.features import TextFeatures
from spinney.classify.linear import LinearClassifier, LinearRegressor, PathPoint
from spinney.classify.model import TextModel

__all__ = [
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "PathPoint",
    "TextFeatures",
    "TextModel",
]
