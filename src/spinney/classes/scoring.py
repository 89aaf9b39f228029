"""Word classes applied to text, and evaluated against human judgements about words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os.path import basename
from typing import Any

from spinney.classes.heads import bless_views, composition_views, deviance_views, scores_table
from spinney.classes.model import WordClassModel
from spinney.classes.views import NAMES
from spinney.cluster import spread
from spinney.corpus import ReadReport, TokenArrays
from spinney.corpus.text import Source, sentence_batches, warn_of_skipped, warn_of_unknown
from spinney.errors import SettingError, about
from spinney.evaluate.wordtests import category_scores, cluster_views, similarity_scores
from spinney.model import Applied
from spinney.settings.classes import Apply, Evaluate
from spinney.structure import WordVectors
from spinney.views import Facts, View

# -------------------------------------------------------------------------------------------- apply


def applied(model: WordClassModel, data: Any, s: Apply) -> Applied:
    """The sentences of a text with the class of each token in a column of its own, a record for each."""
    what = s.what or ("viterbi" if model.contextual else "class")
    reading = model.reading(s.words, s.parser)
    if what in ("class", "path", "type"):
        reading = replace(reading, tree=False, relations=False)
    if hasattr(model, "threads"):
        model.threads = s.threads
    cells = model.cells(what, s.top, reading, s.roots)
    report, facts = ReadReport(), {}
    batches = sentence_batches(data, s, reading, report)

    def records() -> Iterator[dict[str, Any]]:
        for batch in batches:
            column = iter(cells(batch))
            for tokens in batch:
                yield _Row(tokens.rows, words=tokens.words, **{what: [next(column) for _ in tokens.words]})
        facts["skipped"] = report.skipped
        warn_of_skipped(report)

    def lines(record: _Row) -> str:
        place = -1 if s.before_label else None
        written = []
        for row, cell in zip(record.rows, record[what]):
            row = list(row)
            written.append("\t".join([*row[:place], cell, *(row[place:] if place else [])]))
        return "\n".join(written) + "\n\n"

    return Applied("sentences", records(), lines, facts)


class _Row(dict[str, Any]):
    """A record that knows the rows of its sentence in the file."""

    def __init__(self, rows: Sequence[Sequence[str]], **values: Any) -> None:
        super().__init__(values)
        self.rows = rows


# --------------------------------------------------------------------------------------------- eval


@spread
def evaluated(model: WordClassModel, data: Any, s: Evaluate) -> list[View]:
    """Word similarity, categorisation, BLESS, composition, deviance, held-out likelihood: what is asked for."""
    of_words = s.similarity or s.categories or s.bless or s.composition or s.deviance
    if data is None and not of_words:
        raise SettingError(
            "say what to evaluate: {similarity}, {categories}, {bless}, {composition}, {deviance}, or held-out text"
        )
    measure: Any = s.measure.replace("-", "_")
    views: list[View] = []
    if of_words:
        vectors = model.comparable_vectors()
        views += vector_tests(vectors, s, measure)
    if s.bless:
        views += bless_views(model, vectors, s.bless, measure)
    if s.composition:
        views += composition_views(model, vectors, s, measure)
    if s.deviance:
        views += deviance_views(model, vectors, s.deviance)
    if data is not None:
        views.append(Facts("facts", "Held-out text", _likelihood(model, data, s), NAMES))
    if s.against is not None:
        from spinney.classes.comparing import against_views

        views += against_views(model, data, s)
    return views


def vector_tests(vectors: WordVectors, s: Evaluate, measure: Any) -> list[View]:
    """A table for word similarity and one for categorisation, as far as they are asked for."""
    views: list[View] = []
    if s.similarity:
        found = {file: similarity_scores(vectors, file, measure) for file in s.similarity}
        keys = ("pearson", "spearman", "n", "pairs", "coverage")
        views += scores_table("similarity", "Word similarity", found, keys)
    if s.categories:
        found = {
            file: category_scores(vectors, file, measure, s.level, s.pos, s.linkage) for file in s.categories
        }
        of_categories = ("purity", "entropy", "clusters", "n", "words", "pos")
        views += scores_table("categories", "Categorisation", found, of_categories)
        for file, row in found.items() if s.clusters else []:
            views += cluster_views(basename(file), row)
    return views


def held_out_text(model: WordClassModel, data: Any, s: Evaluate) -> tuple[TokenArrays, ReadReport]:
    """A text as the model reads it, and what the reader noted."""
    reading, report = model.reading(s.words, s.parser), ReadReport()
    vocabulary = model.vocabulary
    source = Source([data], s.format, s.encoding, s.on_error, s.text, s.header)
    arrays = source.read(reading, report, vocabulary=vocabulary)
    warn_of_unknown(data, report, vocabulary)
    return arrays, report


def _likelihood(model: WordClassModel, data: Any, s: Evaluate) -> dict[str, Any]:
    """The log-likelihood per token of a text, and what the text consists of."""
    with about(data):
        arrays, report = held_out_text(model, data, s)
        found = model.held_out(arrays, s.threads)
    value = found["log_likelihood"] / arrays.n_tokens
    return {
        **found,
        "log_likelihood": value,
        "perplexity": math.exp(-value),
        "sentences": len(arrays),
        "tokens": arrays.n_tokens,
        "unknown_share": report.unknown / max(report.tokens, 1),
        "skipped": report.skipped,
        "long": report.long,
    }
