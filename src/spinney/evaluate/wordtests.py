"""Vectors of words beside what people say about words: the tests that word classes and embeddings share."""

from __future__ import annotations

from typing import Any

from spinney.errors import about
from spinney.evaluate.categorisation import categorise, read_categories
from spinney.evaluate.measures import Measure
from spinney.evaluate.wordsim import common_pos, lookup, read_word_pairs, word_similarity
from spinney.structure import WordVectors


def similarity_scores(vectors: WordVectors, file: str, measure: Measure) -> dict[str, Any]:
    """Word similarity on the pairs of a file."""
    with about(file):
        return word_similarity(vectors, read_word_pairs(file), measure)


def category_scores(
    vectors: WordVectors, file: str, measure: Measure, level: int | None, pos: str = "auto"
) -> dict[str, Any]:
    """Categorisation of the words of a file, looked up as one part of speech where the vocabulary has them.

    ``pos`` is that part of speech; ``auto`` takes the one under which the vocabulary has the most words of the file,
    and ``any`` takes for each word the most frequent.
    """
    with about(file):
        pairs = read_categories(file, level)
        words, gold = [word for word, _ in pairs], [category for _, category in pairs]
        known = common_pos(vectors, words)  # None where the vocabulary has none
        used = None if known is None or pos == "any" else known if pos == "auto" else pos.upper()
        found = categorise(vectors, words, gold, measure, find=lookup(vectors, used))
    return {
        "purity": found.purity,
        "entropy": found.entropy,
        "clusters": len(found.confusion),
        "n": len(found.words),
        "words": len(pairs),
        "pos": used and used.lower(),
        "missing": found.missing,
    }
