"""Sequence taggers: linear-chain conditional random fields and simpler chain models, patterns, and decoding."""

from spinney.tagging.classifier import CRFClassifier
from spinney.tagging.columns import labelled_columns
from spinney.tagging.extract import Extractor
from spinney.tagging.loss import CRFLoss
from spinney.tagging.paths import PathPoint, TaggerPath
from spinney.tagging.patterns import parse_patterns, read_patterns
from spinney.tagging.recipes import export, fit, import_model, path
from spinney.tagging.tagger import Tagger
from spinney.tagging.thresholds import PrunedTagger, prune

__all__ = [
    "CRFClassifier",
    "CRFLoss",
    "Extractor",
    "PathPoint",
    "PrunedTagger",
    "Tagger",
    "TaggerPath",
    "export",
    "fit",
    "import_model",
    "labelled_columns",
    "parse_patterns",
    "path",
    "prune",
    "read_patterns",
]
