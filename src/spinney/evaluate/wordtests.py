"""Vectors of words beside what people say about words: the tests that word classes and embeddings share."""

from __future__ import annotations

from typing import Any

from spinney.errors import about
from spinney.evaluate.categorisation import categorise, read_categories
from spinney.evaluate.measures import Measure
from spinney.evaluate.wordsim import read_word_pairs, word_similarity
from spinney.structure import WordVectors


def similarity_scores(vectors: WordVectors, file: str, measure: Measure) -> dict[str, Any]:
    """Word similarity on the pairs of a file."""
    with about(file):
        return word_similarity(vectors, read_word_pairs(file), measure)


def category_scores(vectors: WordVectors, file: str, measure: Measure, level: int | None) -> dict[str, Any]:
    """Categorisation of the words of a file."""
    with about(file):
        pairs = read_categories(file, level)
        found = categorise(vectors, [word for word, _ in pairs], [category for _, category in pairs], measure)
    return {
        "purity": found.purity,
        "entropy": found.entropy,
        "clusters": len(found.confusion),
        "n": len(found.words),
        "words": len(pairs),
        "missing": found.missing,
    }
