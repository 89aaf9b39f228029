"""Scores: pure functions on outputs."""

from spinney.evaluate.bless import (
    Related,
    Transform,
    bless_boxes,
    bless_precision_recall,
    cross_pos,
    read_bless,
)
from spinney.evaluate.categorisation import (
    CategorisationResult,
    categorise,
    purity_and_entropy,
    read_categories,
)
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
from spinney.evaluate.composition import (
    compose,
    composition_correlation,
    deviance,
    deviance_test,
    head_space,
)
from spinney.evaluate.ellipsis import Clause, Comparison, read_composition, transitive
from spinney.evaluate.measures import MEASURES, Measure, distances, l1_normalised, pairwise_rows, similarity
from spinney.evaluate.wordsim import correlations, lookup, read_word_pairs, word_similarity

__all__ = [
    "MEASURES",
    "CategorisationResult",
    "Chunk",
    "Clause",
    "Comparison",
    "Measure",
    "Related",
    "Transform",
    "allowed_ends",
    "allowed_transitions",
    "bless_boxes",
    "bless_precision_recall",
    "categorise",
    "chunks",
    "classification_scores",
    "compose",
    "composition_correlation",
    "confusions",
    "conlleval_report",
    "convert",
    "correlations",
    "cross_pos",
    "deviance",
    "deviance_test",
    "distances",
    "head_space",
    "l1_normalised",
    "lookup",
    "pairwise_rows",
    "purity_and_entropy",
    "read_bless",
    "read_categories",
    "read_composition",
    "read_word_pairs",
    "regression_scores",
    "similarity",
    "tagging_scores",
    "transitive",
    "word_similarity",
]
