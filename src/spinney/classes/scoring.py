"""Word classes applied to text, and evaluated against human judgements about words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os.path import basename
from typing import Any, Literal

from spinney.classes.model import WordClassModel
from spinney.classes.relations import NAMES_OF_RELATIONS
from spinney.classes.views import NAMES
from spinney.corpus import ReadReport
from spinney.corpus.text import Source, sentence_batches, warn_of_skipped, warn_of_unknown
from spinney.errors import SettingError, about
from spinney.evaluate import (
    bless_boxes,
    bless_precision_recall,
    composition_correlation,
    cross_pos,
    deviance_scores,
    read_bless,
    read_comparisons,
    read_deviance,
)
from spinney.evaluate.composition import Structure
from spinney.evaluate.ellipsis import ClausePair
from spinney.evaluate.phrases import PhrasePair
from spinney.evaluate.wordtests import category_scores, cluster_views, similarity_scores
from spinney.model import Applied
from spinney.settings.classes import Apply, Evaluate
from spinney.structure import WordVectors
from spinney.views import Extra, Facts, Table, View

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
        views += _bless(model, vectors, s.bless, measure)
    if s.composition:
        views += _composition(model, vectors, s, measure)
    if s.deviance:
        views += _deviance(model, vectors, s.deviance)
    if data is not None:
        views.append(Facts("facts", "Held-out text", _likelihood(model, data, s), NAMES))
    return views


def vector_tests(vectors: WordVectors, s: Evaluate, measure: Any) -> list[View]:
    """A table for word similarity and one for categorisation, as far as they are asked for."""
    views: list[View] = []
    if s.similarity:
        found = {file: similarity_scores(vectors, file, measure) for file in s.similarity}
        keys = ("pearson", "spearman", "n", "pairs", "coverage")
        views += _scores("similarity", "Word similarity", found, keys)
    if s.categories:
        found = {
            file: category_scores(vectors, file, measure, s.level, s.pos, s.linkage) for file in s.categories
        }
        of_categories = ("purity", "entropy", "clusters", "n", "words", "pos")
        views += _scores("categories", "Categorisation", found, of_categories)
        for file, row in found.items() if s.clusters else []:
            views += cluster_views(basename(file), row)
    return views


def _scores(key: str, title: str, found: dict[str, Any], keys: Sequence[str]) -> list[View]:
    rows = [[basename(file), *(row[name] for name in keys)] for file, row in found.items()]
    return [Table("", title, ["file", *keys], rows), Extra(key, "", found)]


def _bless(model: WordClassModel, vectors: WordVectors, file: str, measure: Any) -> list[View]:
    """As they are, and with words of other parts of speech moved into the classes of their heads, if that can be."""
    transforms: dict[str, Any] = {"plain": None}
    matrix, structure = model.head_transitions(), _structure(model)
    if matrix is not None:
        transforms["transformed"] = cross_pos(matrix, structure)
    own = _by_relation(model)
    if own is not None:
        arguments = model.head_transitions(*NAMES_OF_RELATIONS["nsubj"], *NAMES_OF_RELATIONS["obj"])
        transforms["by relation"] = cross_pos(own["amod"], structure, verbs=arguments)
    found: dict[str, Any] = {}
    with about(file):
        pairs = read_bless(file)
        for name, transform in transforms.items():
            boxes = bless_boxes(vectors, pairs, measure, transform)
            curve = bless_precision_recall(vectors, pairs, measure, transform)
            found[name] = {
                "average_precision": curve["average_precision"],
                "recall": curve["recall"],
                "precision": curve["precision"],
                "quartiles": boxes["quartiles"],
            }
            found |= {key: boxes[key] for key in ("concepts", "pairs", "coverage")}
    title = f"BLESS: {found['concepts']} concepts, coverage {found['coverage']:.0%}; medians by relation"
    rows = [
        [name, *(found[kind]["quartiles"][name][2] for kind in transforms)]
        for name in found["plain"]["quartiles"]
    ]
    rows.append(["average precision", *(found[kind]["average_precision"] for kind in transforms)])
    return [Table("", title, ["relation", *transforms], rows), Extra("bless", "", found)]


def _structure(model: WordClassModel) -> Structure:
    return "tree" if model.is_tree else "chain"


def _by_relation(model: WordClassModel) -> dict[str, Any] | None:
    """The transitions of the relations that evaluations look at, if relations have their own."""
    if not model.edge_kinds():
        return None
    return {name: model.head_transitions(*known) for name, known in NAMES_OF_RELATIONS.items()}


def _composition(model: WordClassModel, vectors: WordVectors, s: Evaluate, measure: Any) -> list[View]:
    """All operators. Clauses that differ in their verbs alone are compared with the bare second verb.

    Where relations have transitions of their own, t-add and t-mult take these, and once more those of all relations.
    """
    shared, own = model.head_transitions(), _by_relation(model)
    operators: dict[str, tuple[Any, Any]] = {name: (name, None) for name in ("baseline", "add", "mult")}
    if shared is not None:
        operators |= {name: (name, shared if own is None else own) for name in ("t-add", "t-mult")}
    if own is not None:
        operators |= {f"{name}, shared": (name, shared) for name in ("t-add", "t-mult")}
    all_found: dict[str, Any] = {}
    views: list[View] = []
    for file in s.composition:
        all_found[file] = {}
        with about(file):
            items = read_comparisons(file, second_subjects=s.second_subjects)
            for kind, some in _kinds_of_phrases(items).items():
                second = _second(some)
                found = {
                    name: composition_correlation(
                        vectors, some, T, operator, _structure(model), measure, second=second
                    )
                    for name, (operator, T) in operators.items()
                }
                what = f"{kind} pairs" if kind else f"the second verb {second}"
                views.append(_operator_table(f"Composition: {basename(file)}, {what}", found))
                if kind:
                    all_found[file][kind] = found
                else:
                    all_found[file] = {"second": second, **found}
    return [*views, Extra("composition", "", all_found)]


def _kinds_of_phrases(items: Sequence[ClausePair] | Sequence[PhrasePair]) -> dict[str, list[Any]]:
    """Phrases by their kind; clauses are of one kind without a name."""
    kinds: dict[str, list[Any]] = {}
    for one in items:
        kinds.setdefault(one.first.kind if isinstance(one, PhrasePair) else "", []).append(one)
    return kinds


def _second(items: Sequence[Any]) -> Literal["bare", "composed"]:
    """What becomes of the second expression: if only verbs differ, it is a landmark."""
    landmarks = all(
        isinstance(one, ClausePair) and one.first._replace(verb="") == one.second._replace(verb="")
        for one in items
    )
    return "bare" if landmarks else "composed"


def _operator_table(title: str, found: dict[str, dict[str, Any]]) -> Table:
    keys = ("pearson", "spearman", "n", "items")
    rows = [[name, *(row[key] for key in keys)] for name, row in found.items()]
    return Table("", title, ["operator", *keys], rows)


def _deviance(model: WordClassModel, vectors: WordVectors, files: Sequence[str]) -> list[View]:
    """Welch's test on the plausibility of adjectives with nouns (Grave 2014, §3.4.3)."""
    T = model.head_transitions(*NAMES_OF_RELATIONS["amod"])
    if T is None:
        raise SettingError("{deviance} needs transitions between hidden classes: fit with the method hmm")
    found = {}
    for file in files:
        with about(file):
            found[file] = deviance_scores(vectors, read_deviance(file), T, _structure(model))
    keys = ("t", "df", "p", "deviant", "acceptable", "n_deviant", "n_acceptable", "phrases")
    title = "Deviance: Welch's test of the mean plausibility of deviant and acceptable phrases"
    return _scores("deviance", title, found, keys)


def _likelihood(model: WordClassModel, data: Any, s: Evaluate) -> dict[str, Any]:
    """The log-likelihood per token of a text, and what the text consists of."""
    reading, report = model.reading(s.words, s.parser), ReadReport()
    vocabulary = model.vocabulary
    source = Source([data], s.format, s.encoding, s.on_error, s.text, s.header)
    with about(data):
        arrays = source.read(reading, report, vocabulary=vocabulary)
        warn_of_unknown(data, report, vocabulary)
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
