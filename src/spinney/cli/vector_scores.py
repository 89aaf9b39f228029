"""What vectors of words are worth beside what people say of words: for ``spinney classes`` and ``spinney embed``."""

from __future__ import annotations

import math
from os.path import basename
from typing import TYPE_CHECKING, Any

from spinney.cli.inputs import about

if TYPE_CHECKING:
    from spinney.structure import WordVectors


def similarity_scores(vectors: WordVectors, file: str, measure: Any) -> dict[str, Any]:
    """Word similarity on the pairs of a file."""
    from spinney.evaluate import read_word_pairs, word_similarity

    with about(file):
        return word_similarity(vectors, read_word_pairs(file), measure)


def category_scores(vectors: WordVectors, file: str, measure: Any, level: int | None) -> dict[str, Any]:
    """Categorisation of the words of a file."""
    from spinney.evaluate import categorise, read_categories

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


def plain(value: Any) -> Any:
    """As JSON has it: lists for arrays, null for what is not a number."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show_vector_scores(scores: dict[str, Any]) -> None:
    """A table for word similarity and one for categorisation, as far as they are there."""
    from spinney.report.tables import show_rows

    for name, title, keys in (
        ("similarity", "Word similarity", ("pearson", "spearman", "n", "pairs", "coverage")),
        ("categories", "Categorisation", ("purity", "entropy", "clusters", "n", "words")),
    ):
        if name in scores:
            rows = [[basename(file), *(row[key] for key in keys)] for file, row in scores[name].items()]
            show_rows(title, ["file", *keys], rows)
