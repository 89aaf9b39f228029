"""Taxonomies: trees over classes, learned from how alike their samples are (Nelakanti 2014, ch. 4).

:func:`learn_taxonomy` learns from samples, :func:`word_taxonomy` from counts of words after vectors,
:func:`text_taxonomy` from a text, :func:`learn_taxonomy_from_moments` from moments, :func:`taxonomy_from_confusion`
from a classifier's mistakes. All give a :class:`~spinney.structure.ClassTree` for other models to use.
"""

from spinney.taxonomy.learning import (
    METHODS,
    learn_taxonomy,
    learn_taxonomy_from_moments,
    taxonomy_from_confusion,
    word_taxonomy,
)
from spinney.taxonomy.proximity import Residual, incomplete_cholesky, merged, residual_matrix
from spinney.taxonomy.text import text_taxonomy

__all__ = [
    "METHODS",
    "Residual",
    "incomplete_cholesky",
    "learn_taxonomy",
    "learn_taxonomy_from_moments",
    "merged",
    "residual_matrix",
    "taxonomy_from_confusion",
    "text_taxonomy",
    "word_taxonomy",
]
