"""Scores: pure functions on outputs."""

from spinney.evaluate.chunks import (
    Chunk,
    allowed_ends,
    allowed_transitions,
    chunks,
    confusions,
    conlleval_report,
    convert,
    tagging_scores,
)
from spinney.evaluate.classification import classification_scores, regression_scores

__all__ = [
    "Chunk",
    "allowed_ends",
    "allowed_transitions",
    "chunks",
    "classification_scores",
    "confusions",
    "conlleval_report",
    "convert",
    "regression_scores",
    "tagging_scores",
]
