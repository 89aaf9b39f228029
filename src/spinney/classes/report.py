"""The page of word classes: their words, a map, their tree, their transitions, and labelled sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spinney.classes.model import WordClassModel
from spinney.classes.views import NAMES, children, class_order, class_views, homonym_views
from spinney.corpus.text import first_sentences
from spinney.errors import about
from spinney.structure.classviews import (
    ClassView,
    Floats,
    class_map,
    class_section,
    sentence_section,
    tree_sections,
)
from spinney.structure.maps import SHOWN, by_count
from spinney.views import Facts, HeatMap, Note, Section, Series, Share, Table, View

_CLASSES = 1000  # in the table of transitions
_HEAT = 40  # in the heat map
_ORDERED = 512  # classes at most that are ordered by what follows them

_ABOUT = {
    "hmm": "A hidden Markov model of word classes: the class of a token depends on the class {}, and emits the word.",
    "brown": "Brown clusters: every word belongs to one class, chosen so that classes predict what comes {}.",
    "pairs": "A mixture of pairs of words: a word chooses a class, which chooses what comes {}.",
    "exchange": "Clusters by exchange: every word belongs to one class, chosen such that classes predict what "
    "comes {}.",
}


def report(model: WordClassModel, data: Any, s: Any) -> list[View]:
    """The views of the page.

    Examples
    --------
    >>> from spinney.classes import fit
    >>> from spinney.settings.report import Report
    >>> model = fit([[a, b] for a in ("the", "a") for b in ("dog", "cat")], classes=2, root=True)
    >>> [view.title for view in report(model, None, Report()) if isinstance(view, Section)]
    ['Classes', 'Map of words', 'Tree of classes', 'Which classes follow which']
    """
    shown = class_views(model, top=s.top)
    used = [view for view in shown if view.words]
    named = {view.number: view.named(3) for view in used}
    said = _ABOUT.get(str(model.facts.get("method")), "Word classes: every word belongs to one class.")
    facts = Facts("facts", "", model.facts, NAMES)
    if not facts.shown():
        facts = Facts("facts", "", {"words": len(model.vocabulary), "classes": len(shown)})
    views: list[View] = [Note(said.format(_place(model))), facts]
    if data is not None:
        views.append(_sentences(model, data, s, named))
    views += [class_section(shown), *_map(model, named), *tree_sections(used)]
    matrix = model.transitions()
    if matrix is not None:
        views.append(_transitions(model, matrix, used))
    if model.contextual:
        views += [_homonyms(model), *_learning(model.facts)]
    return views


def _place(model: WordClassModel) -> str:
    if model.contextual:
        return "of its head" if model.is_tree else "before it"
    return "below a word in its tree" if model.is_tree else "next"


def _sentences(model: WordClassModel, data: Any, s: Any, named: Mapping[int, str]) -> Section:
    reading = model.reading(parser=s.parser)
    if not model.contextual:
        reading = replace(reading, tree=False, relations=False)
    with about(str(data)):
        some = first_sentences(data, s, reading, s.documents)
        classes, chances = model.sentence_classes(some, reading)
    return sentence_section([tokens.words for tokens in some], classes, named, chances)


def _map(model: WordClassModel, named: Mapping[int, str]) -> list[View]:
    vectors, vocabulary = model.comparable_vectors(), model.vocabulary
    counts = vocabulary.counts if vocabulary.counts.any() else None
    # A word that never had a class has no vector.
    found = by_count(vocabulary.words, counts, SHOWN, vocabulary.unknown)
    chosen = [i for i in found if vocabulary.words[i] in vectors]
    words = [vocabulary.words[i] for i in chosen]
    seen = None if counts is None else counts[chosen].tolist()
    of_words = [model.classes_of_word(word) for word in words]
    if model.contextual:
        return class_map(vectors, words, seen, of_words, named, "Neighbours have similar class distributions")
    return class_map(vectors, words, seen, of_words, named)


def _transitions(model: WordClassModel, matrix: Floats, used: Sequence[ClassView]) -> Section:
    largest = {view.number: view for view in used[:_HEAT]}
    order = sorted(largest)
    if len(matrix) <= _ORDERED:
        order = [number for number in class_order(model, matrix) if number in largest]
    names = [largest[number].named(3) for number in order]
    values = matrix[np.ix_(order, order)].T
    link = "below" if model.is_tree else "after"
    which = (
        "all classes" if len(order) == len(matrix) else f"the {len(order)} largest of {len(matrix):,} classes"
    )
    caption = (
        f"The probability of each class (column) {link} each other class (row), for {which}, similar ones together. "
        "The shade is the square root of the probability."
    )
    shades = np.sqrt(np.clip(values, 0.0, 1.0))
    rows = [
        [
            parent.named(4),
            Share(parent.share),
            "  ·  ".join(f"{child.named(3)} {chance:.0%}" for child, chance in some) or "(nothing)",
        ]
        for parent, some in children(model, used[:_CLASSES], 4)
    ]
    return Section(
        "Which classes depend on which" if model.is_tree else "Which classes follow which",
        [
            HeatMap("heat", "", values.tolist(), names, names, shades.tolist(), caption),
            Table("", "", ["class", "share of tokens", f"most likely {link} it"], rows),
        ],
    )


def _homonyms(model: WordClassModel) -> Section:
    table, listed = homonym_views(model, 60, "")  # a page has the table alone
    said = "Frequent words whose tokens belong to two or more classes, the most evenly mixed first."
    if not listed.data():
        said = "None: no frequent word clearly belongs to several classes."
    return Section("Words with several classes", [Note(said), table])


def _learning(facts: Mapping[str, Any]) -> list[View]:
    """The likelihood, pass by pass, as far as the file has it."""
    trace = facts.get("trace")
    rows = [one for one in trace if isinstance(one, dict)] if isinstance(trace, list) else []
    values = [one.get("log_likelihood") for one in rows]
    known = [float(value) for value in values if isinstance(value, int | float)]
    if len(known) < 2 or len(known) < len(values):
        return []
    at = [str(i + 1) for i in range(len(known))]
    return [Section("Passes", [Series("passes", "", {"log-likelihood per token": known}, at)])]
