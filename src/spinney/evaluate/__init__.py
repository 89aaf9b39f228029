"""Scores: pure functions on outputs."""

from spinney.evaluate.classification import classification_scores, regression_scores

__all__ = ["classification_scores", "regression_scores"]
