"""Linear classifiers and regressors with any penalty, for matrices and for text."""

from spinney.classify.crossval import LinearClassifierCV, LinearRegressorCV
from spinney.classify.grouping import (
    Families,
    cluster_groups,
    combined,
    constituent_groups,
    document_groups,
    neighbour_groups,
    sentence_groups,
    topic_groups,
)
from spinney.classify.hierarchical import TreeClassifier
from spinney.classify.linear import LinearClassifier, LinearRegressor, PathPoint
from spinney.classify.model import TextModel
from spinney.classify.readout import group_status, sentence_log_odds
from spinney.classify.recipes import fit, path
from spinney.classify.semisupervised import SemiSupervisedClassifier, density_ratio, semi_supervised_weights
from spinney.classify.topics import lda_topics
from spinney.classify.tuning import THESIS_GRIDS, Grid, Trial, Tuned, tune
from spinney.corpus.text_features import TextFeatures
from spinney.structure.topics import Topics, read_topics

__all__ = [
    "THESIS_GRIDS",
    "Families",
    "Grid",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "PathPoint",
    "SemiSupervisedClassifier",
    "TextFeatures",
    "TextModel",
    "Topics",
    "TreeClassifier",
    "Trial",
    "Tuned",
    "cluster_groups",
    "combined",
    "constituent_groups",
    "density_ratio",
    "document_groups",
    "fit",
    "group_status",
    "lda_topics",
    "neighbour_groups",
    "path",
    "read_topics",
    "semi_supervised_weights",
    "sentence_groups",
    "sentence_log_odds",
    "topic_groups",
    "tune",
]
