"""Sequence taggers: linear-chain conditional random fields and their plainer relatives; patterns; decoding."""

from spinney.tagging.classifier import CRFClassifier
from spinney.tagging.extract import Extractor
from spinney.tagging.loss import CRFLoss
from spinney.tagging.patterns import parse_patterns, read_patterns
from spinney.tagging.tagger import PathPoint, Tagger

__all__ = ["CRFClassifier", "CRFLoss", "Extractor", "PathPoint", "Tagger", "parse_patterns", "read_patterns"]
