"""Linear classifiers and regressors, with any penalty, of matrices and of text."""

from spinney.classify.asymptotics import Asymptotics, asymptotics
from spinney.classify.crossval import LinearClassifierCV, LinearRegressorCV
from spinney.classify.features import TextFeatures
from spinney.classify.hellinger import HellingerClassifier, hellinger_rows
from spinney.classify.linear import LinearClassifier, LinearRegressor, PathPoint
from spinney.classify.model import TextModel
from spinney.classify.semisupervised import SemiSupervisedClassifier, density_ratio, semi_supervised_weights

__all__ = [
    "Asymptotics",
    "HellingerClassifier",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "PathPoint",
    "SemiSupervisedClassifier",
    "TextFeatures",
    "TextModel",
    "asymptotics",
    "density_ratio",
    "hellinger_rows",
    "semi_supervised_weights",
]
