"""The page of word classes: their words, a map, their tree, what follows what, and some sentences in classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinney.classes import HiddenMarkov, WordClassModel
from spinney.classes import views
from spinney.classes.views import ClassView
from spinney.errors import OptionError
from spinney.report.charts import heat_map, line_chart
from spinney.report.maps import COMPARED, SHOWN, by_count, label, map_points, word_map
from spinney.report.outline import Node, grown, outline
from spinney.report.page import Html, Page, Section, Share, colour, escape, paragraph, table
from spinney.report.tables import told
from spinney.structure import ClassTree

_CLASSES = 1000  # in the table
_HEAT = 40  # in the heat map
_ORDERED = 512  # classes at most that are ordered by what follows them
_TOKENS = 200  # of a sentence

_ABOUT = {
    "hmm": "Hidden Markov classes of words: a token's class depends on the class {} and gives the word.",
    "brown": "Brown clusters: every word is of one class, chosen such that classes tell what comes {}.",
    "exchange": "Clusters by exchange: every word is of one class, chosen such that classes tell what comes {}.",
}


@dataclass(frozen=True)
class Classed:
    """Sentences, with the class of each token (-1: none) and its probability, where the model has one."""

    words: Sequence[Sequence[str]]
    classes: Sequence[Sequence[int]]
    chances: Sequence[Sequence[float]] | None = None


def classes_page(
    model: WordClassModel, title: str, tried: Classed | None = None, *, documents: int = 10, top: int = 20
) -> Page:
    """The whole page.

    Parameters
    ----------
    model
        A clustering or a hidden Markov model.
    title
        Of the page.
    tried
        Sentences to show.
    documents
        How many of them.
    top
        How many words a class.

    Examples
    --------
    >>> from spinney.classes import brown, pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b] for a in ("the", "a") for b in ("dog", "cat")])
    >>> text = classes_page(brown(pair_counts(arrays), arrays.vocabulary, 2, root=True), "dogs").html()
    >>> "<h2>Classes</h2>" in text, "<h2>Map of words</h2>" in text
    (True, True)
    """
    facts, tree = model.facts, model.is_tree
    shown = views.class_views(model, top=top)
    # A class that no token is of has nothing to show.
    used = [view for view in shown if view.words]
    named = {view.number: view.named(3) for view in used}
    sections = []
    if tried is not None:
        sections.append(Section("Sentences", _sentences(tried, named, documents)))
    sections.append(Section("Classes", _table(used, len(shown))))
    points = _map(model, named)
    if points:
        sections.append(Section("Map of words", points))
    if any(view.path is not None for view in used):
        hierarchy = _hierarchy(used)
        sections += [Section("Tree of classes", hierarchy)] if hierarchy else []
    matrix = model.transitions()
    if matrix is not None:
        title_of = "What hangs below what" if tree else "What follows what"
        sections.append(Section(title_of, _transitions(model, matrix, used, tree)))
    if isinstance(model, HiddenMarkov):
        sections.append(Section("Words of several classes", _homonyms(model)))
        sections += _learning(facts)
    about = _ABOUT.get(str(facts.get("method")), "Word classes: every word is of one class.")
    known = told(model.facts, views.NAMES) or {"words": len(model.vocabulary), "classes": len(shown)}
    return Page(title, about.format(_place(facts, tree)), known, sections)


def _place(facts: Mapping[str, Any], tree: bool) -> str:
    if facts.get("method") == "hmm":
        return "of the word that it hangs on" if tree else "before it"
    return "below a word in its tree" if tree else "next"


# ------------------------------------------------------------------------------------------ the model


def _table(used: Sequence[ClassView], n_classes: int) -> list[Html]:
    about = f"{len(used):,} classes with their most frequent words."
    if len(used) < n_classes:
        about += f" {n_classes - len(used):,} more have no words."
    if len(used) > _CLASSES:
        about = f"The {_CLASSES:,} largest of {len(used):,} classes with their most frequent words."
    paths = any(view.path is not None for view in used)
    rows = [
        [view.number, Share(view.share), *([view.path or ""] if paths else []), view.listed()]
        for view in used[:_CLASSES]
    ]
    header = ["class", "share of tokens", *(["path"] if paths else []), "words"]
    return [paragraph(about), table(header, rows)]


def _map(model: WordClassModel, named: Mapping[int, str]) -> list[Html]:
    vectors, vocabulary = model.comparable_vectors(), model.vocabulary
    counts: Any = vocabulary.counts if vocabulary.counts.any() else None
    # A word that never had a class has no vector.
    found = by_count(vocabulary.words, counts, SHOWN, vocabulary.unknown)
    chosen = [i for i in found if vocabulary.words[i] in vectors]
    words = [vocabulary.words[i] for i in chosen]
    if len(words) < 2:
        return []
    of_words = [model.classes_of_word(word) for word in words]
    groups = [some[0][0] if some else 0 for some in of_words]
    notes = [
        _note(None if counts is None else int(counts[i]), some, named) for i, some in zip(chosen, of_words)
    ]
    points = map_points(vectors, words, groups=groups, notes=notes, metric="hellinger")
    about = (
        f"{_these(len(words), len(vectors))} Words that stand together are of similar classes; what is far apart, and "
        "the axes, mean nothing. Colours tell classes apart, but there are only eight. "
    )
    about += (
        "Neighbours have similar shares of classes"
        if isinstance(model, HiddenMarkov)
        else "Neighbours share the most of their paths"
    )
    about += f", among the {COMPARED:,} most frequent words." if len(vectors) > COMPARED else "."
    return [paragraph(about), word_map(points)]


def _these(shown: int, of: int) -> str:
    return f"All {of:,} words." if shown >= of else f"The {shown:,} most frequent of {of:,} words."


def _note(count: int | None, classes: Sequence[tuple[int, float]], named: Mapping[int, str]) -> str:
    told = [f"seen {count:,} times"] if count is not None else []
    for number, share in classes[:3]:
        told.append(f"class {number}{'' if share > 0.995 else f' ({share:.0%})'}: {named.get(number, '')}")
    return " · ".join(told)


def _hierarchy(used: Sequence[ClassView]) -> list[Html]:
    try:
        tree = ClassTree.from_paths([str(view.number) for view in used], [view.path or "" for view in used])
    except OptionError:  # a path that begins another: no tree
        return []
    leaves = [
        Node(view.named(8), f"class {view.number} · {view.share:.2%} · {view.path}", tells=(view.named(1),))
        for view in used
    ]
    order = np.lexsort((tree.branch, tree.parent)).tolist()
    about = "Classes that were merged late stand far apart; those that stand together tell nearly the same."
    return [paragraph(about), outline(grown(tree.parent.tolist(), leaves, order), leaves="classes")]


def _transitions(
    model: WordClassModel, matrix: views.Floats, used: Sequence[ClassView], tree: bool
) -> list[Html]:
    largest = {view.number: view for view in used[:_HEAT]}
    if len(matrix) <= _ORDERED:
        order = [number for number in views.class_order(model, matrix) if number in largest]
    else:
        order = sorted(largest)
    names = [largest[number].named(3) for number in order]
    values = matrix[np.ix_(order, order)].T
    link = "below" if tree else "after"
    caption = (
        f"The probability of each class (column) {link} each other (row), "
        + (
            "all classes"
            if len(order) == len(matrix)
            else f"the {len(order)} largest of {len(matrix):,} classes"
        )
        + ", similar ones side by side. The shade is the root of the number."
    )
    shades = np.sqrt(np.clip(values, 0.0, 1.0))
    rows = [
        [
            parent.named(4),
            Share(parent.share),
            "  ·  ".join(f"{child.named(3)} {chance:.0%}" for child, chance in some) or "(nothing)",
        ]
        for parent, some in views.children(model, used[:_CLASSES], 4)
    ]
    header = ["class", "share of tokens", f"most likely {link} it"]
    return [
        heat_map(values.tolist(), names, names, shades=shades.tolist(), caption=caption),
        table(header, rows),
    ]


def _homonyms(model: HiddenMarkov) -> list[Html]:
    found = views.homonyms(model, top=60)
    if not found:
        return [paragraph("None: no frequent word is clearly of several classes.")]
    numbers = sorted({number for one in found for number, _ in one.classes})
    names = {view.number: view.named(3) for view in views.class_views(model, numbers, 4)}
    rows = [
        [one.word, one.count, "  ·  ".join(f"{share:.0%} {names[number]}" for number, share in one.classes)]
        for one in found
    ]
    about = "Frequent words whose tokens are of two classes or more, those first that are most evenly mixed."
    return [paragraph(about), table(["word", "count", "classes"], rows)]


def _learning(facts: Mapping[str, Any]) -> list[Section]:
    """The likelihood, pass by pass, as far as the file tells it."""
    trace = facts.get("trace")
    rows = [one for one in trace if isinstance(one, dict)] if isinstance(trace, list) else []
    values = [one.get("log_likelihood") for one in rows]
    known = [float(value) for value in values if isinstance(value, int | float)]
    if len(known) < 2 or len(known) < len(values):
        return []
    chart = line_chart({"log-likelihood a token": known}, [str(i + 1) for i in range(len(known))])
    return [Section("Passes", [chart])]


# ------------------------------------------------------------------------------------------ sentences


def _sentences(tried: Classed, named: Mapping[int, str], documents: int) -> list[Html]:
    n = min(documents, len(tried.words))
    about = f"{n:,} sentences. The number below a word is its class: point at it for the words of that class."
    return [paragraph(about), *(_sentence(tried, i, named) for i in range(n))]


def _sentence(tried: Classed, i: int, named: Mapping[int, str]) -> Html:
    tokens = []
    for t, (word, number) in enumerate(zip(tried.words[i][:_TOKENS], tried.classes[i])):
        chance = None if tried.chances is None else tried.chances[i][t]
        note = f"class {number}: {named.get(number, '')}" if number >= 0 else "no class"
        note += "" if chance is None else f", probability {chance:.2f}"
        style = "faint" if number < 0 else colour(number)
        style += " unsure" if chance is not None and chance < 0.7 else ""
        tokens.append(
            f'<span class="token {style}" title="{escape(note)}"><span>{escape(label(word))}</span>'
            f"<small>{number if number >= 0 else '–'}</small></span>"
        )
    left = len(tried.words[i]) - len(tokens)
    rest = f' <span class="faint">… {left:,} more tokens</span>' if left else ""
    return Html(f'<p class="tokens"><b class="faint">{i + 1:,}</b> {" ".join(tokens)}{rest}</p>\n')
