"""What word classes look like to a person: their words, what follows them, words of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from spinney.classes.model import WordClassModel
from spinney.errors import OptionError, unknown_choice
from spinney.settings.classes import Inspect, Neighbours
from spinney.structure import WordVectors
from spinney.structure.classviews import ClassView, Floats, class_table
from spinney.structure.words import known_word, largest, readings
from spinney.structure.wordvectors import Metric
from spinney.views import Extra, Facts, Note, Table, View

#: What people see of the facts of a fit, in this order, and by what name.
NAMES = {
    "method": "method", "structure": "structure", "sentences": "sentences", "tokens": "tokens", "words": "words",
    "placed": "placed", "classes": "classes", "kinds_of_edges": "kinds of edges", "parameters": "parameters",
    "passes": "passes", "log_likelihood": "log-likelihood per token", "perplexity": "perplexity",
    "dev_log_likelihood": "held-out log-likelihood per token", "dev_perplexity": "held-out perplexity",
    "best_pass": "best pass on held-out text",
    "ami": "mutual information, nats per pair", "gamma": "gamma", "device": "device",
    "precision": "precision of products", "seconds": "seconds",
    "tokens_per_second": "tokens per second", "unknown_share": "unknown words", "skipped": "bad sentences skipped",
    "long": "long sentences cut or left out", "joined": "parses with several roots joined",
    "revived": "dead classes revived", "interrupted": "interrupted",
}  # fmt: skip


def class_views(
    model: WordClassModel, numbers: Sequence[int] | None = None, top: int = 10
) -> list[ClassView]:
    """Classes with their ``top`` words: those with these numbers, or all by falling share.

    Examples
    --------
    >>> from spinney.classes import brown, pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b] for a in ("the", "the", "a") for b in ("dog", "cat")])
    >>> [view.words for view in class_views(brown(pair_counts(arrays), arrays.vocabulary, 2, root=True))]
    [[('the', 0.66...), ('a', 0.33...)], [('dog', 0.5), ('cat', 0.5)]]
    """
    shares = model.class_shares()
    if numbers is None:
        numbers = np.argsort(-shares, kind="stable").tolist()
    for number in numbers:
        if not 0 <= number < len(shares):
            raise OptionError(f"no class {number}: there are {len(shares)}, numbered from 0")
    words, paths = model.class_words(numbers, top), _own_paths(model)
    unknown = model.vocabulary.unknown
    return [
        ClassView(number, float(shares[number]), some, None if paths is None else paths[number], unknown)
        for number, some in zip(numbers, words)
    ]


def _own_paths(model: WordClassModel) -> list[str] | None:
    """The paths that classes were learned with, not those that could be made of them."""
    return model.word_classes().paths


def likeliest(matrix: Floats, parent: int, top: int = 3) -> list[tuple[int, float]]:
    """The likeliest children of a class, with their probabilities; none that never occur."""
    column = np.ascontiguousarray(matrix[:, parent])
    return [(i, float(column[i])) for i in largest(column, top) if column[i] > 0]


def relation_transitions(model: WordClassModel, relation: str) -> Floats:
    """``[child, parent]`` in edges of a relation that has transitions of its own, or of a kind of relations."""
    kinds = model.edge_kinds()
    if not kinds:
        raise OptionError("this model has one matrix of transitions for all relations (fit trees with typed)")
    known = [*kinds, *(one for kind in kinds.values() for one in kind.relations if one not in kinds)]
    if relation not in known:
        raise unknown_choice("relation must be", relation, known)
    return cast(Floats, model.head_transitions(relation))


def children(
    model: WordClassModel, parents: Sequence[ClassView], top: int = 3, relation: str | None = None
) -> list[tuple[ClassView, list[tuple[ClassView, float]]]]:
    """Classes, each with the likeliest below or after it; nothing where that is not known."""
    matrix = model.transitions() if relation is None else relation_transitions(model, relation)
    if matrix is None:
        return []
    below = {view.number: likeliest(matrix, view.number, top) for view in parents}
    numbers = sorted({number for row in below.values() for number, _ in row})
    view_of = {view.number: view for view in class_views(model, numbers, 4)} if numbers else {}
    return [
        (parent, [(view_of[number], chance) for number, chance in below[parent.number]]) for parent in parents
    ]


def class_order(model: WordClassModel, matrix: Floats) -> list[int]:
    """The classes such that similar ones stand together: by their paths, or by clustering what follows them."""
    paths = _own_paths(model)
    if paths is not None:
        return sorted(range(len(paths)), key=paths.__getitem__)
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(matrix) < 3:
        return list(range(len(matrix)))
    roots = np.sqrt(np.hstack([matrix.T, matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)]))
    return [int(i) for i in leaves_list(linkage(roots, "average", optimal_ordering=len(matrix) <= 512))]


# ------------------------------------------------------------------------------------------ the views


def summary(model: WordClassModel) -> list[View]:
    """What ``fit`` prints."""
    return [Facts("facts", "", model.facts, NAMES)]


def inspection(model: WordClassModel, s: Inspect) -> list[View]:
    """What ``inspect`` shows."""
    if s.homonyms and not model.contextual:
        raise OptionError("homonyms: this model has one class for each word (fit with the method hmm)")
    facts = {name: value for name, value in model.facts.items() if name != "trace"}
    views: list[View] = []
    if s.word is not None:
        vectors = model.comparable_vectors()
        word = known_word(vectors, s.word)
        of_word = model.classes_of_word(word)
        shown = class_views(model, [number for number, _ in of_word], s.top)
        views += [
            Extra("word", "", {"word": word, "classes": of_word}),
            _word_table(word, of_word, shown),
            *_other_readings(vectors, s.word),
        ]
    else:
        shares = model.class_shares()
        numbers = [s.only] if s.only is not None else largest(shares, s.classes)
        shown = class_views(model, numbers, s.top)
        title = (
            "Classes"
            if len(shown) in (1, len(shares))
            else f"The {len(shown)} largest of {len(shares)} classes"
        )
        views.append(class_table(title, shown))
    names = NAMES if s.word is None and s.only is None else {}
    views.insert(0, Facts("facts", "", facts, names))
    views.append(Extra("largest_classes", "", [view.as_dict() for view in shown]))
    views += transition_views(model, shown, s.relation)
    if s.word is None and s.only is None and s.relation is None:
        views += relation_views(model)
    if s.homonyms:
        views += homonym_views(model, 20)
    return views


def _word_table(word: str, shares: Sequence[tuple[int, float]], shown: Sequence[ClassView]) -> Table:
    rows = [[number, f"{share:.0%}", view.listed()] for (number, share), view in zip(shares, shown)]
    return Table("", f"Classes of {word}", ["class", "share", "words"], rows)


def _other_readings(vectors: WordVectors, word: str) -> list[View]:
    """What else a word that was given without its part of speech could stand for."""
    others = readings(vectors, word)[1:]
    return [Note(f"{word} is also known as {', '.join(others)}", faint=True)] if others else []


def transition_views(
    model: WordClassModel, shown: Sequence[ClassView], relation: str | None = None
) -> list[View]:
    """A line for each class: its words, and those of the likeliest classes below or after it."""
    below = children(model, shown, relation=relation)
    if not below:
        return []
    link = "most likely below it" if model.is_tree else "most likely after it"
    rows = [
        [parent.named(4), " / ".join(f"{child.named(3)} {p:.0%}" for child, p in some) or "(nothing)"]
        for parent, some in below
    ]
    numbers = {str(view.number): [[child.number, p] for child, p in some] for view, some in below}
    title = "Transitions" if relation is None else f"Transitions of {relation}"
    return [Table("", title, ["class", link], rows), Extra("transitions", "", numbers)]


def relation_views(model: WordClassModel, top: int = 2) -> list[View]:
    """A line for each kind of edge that has its own transitions: its share, and the classes that meet most often."""
    counts = {name: kind.counts for name, kind in model.edge_kinds().items()}
    total = sum(float(one.sum()) for one in counts.values())
    if not total:
        return []
    best = {name: [divmod(i, len(one)) for i in largest(one.ravel(), top)] for name, one in counts.items()}
    numbers = sorted({number for pairs in best.values() for pair in pairs for number in pair})
    named = {view.number: view.named(3) for view in class_views(model, numbers, 4)}
    rows = [
        [
            name,
            f"{counts[name].sum() / total:.1%}",
            "  ·  ".join(f"{named[child]} ← {named[parent]}" for child, parent in pairs),
        ]
        for name, pairs in best.items()
    ]
    shares = {name: float(one.sum()) / total for name, one in counts.items()}
    table = Table("", "Relations", ["relation", "share", "most frequent: class ← class of the head"], rows)
    return [table, Extra("relations", "", shares)]


def homonym_views(model: WordClassModel, top: int, title: str = "Words with several classes") -> list[View]:
    """A line for each word of several classes; nothing if there is none."""
    found = model.homonyms(top)
    numbers = sorted({number for one in found for number, _ in one.classes})
    names = {view.number: view.named(3) for view in class_views(model, numbers, 4)} if numbers else {}
    rows = [
        [one.word, one.count, "  ·  ".join(f"{share:.0%} {names[number]}" for number, share in one.classes)]
        for one in found
    ]
    listed = [{"word": one.word, "count": one.count, "classes": one.classes} for one in found]
    table = Table("", title, ["word", "count", "classes"], rows)
    return [table, Extra("homonyms", "", listed)]


# -------------------------------------------------------------------------------------------- neighbours


def neighbours(model: WordClassModel, word: str, s: Neighbours) -> list[View]:
    """The words most similar to a word, and the classes of that word."""
    vectors = model.comparable_vectors()
    others = _other_readings(vectors, word)
    word = known_word(vectors, word)
    measure = s.measure.replace("-", "_")
    kind, found = nearest(frequent(model, vectors, s.min_count, word), word, s.top, measure)
    of_word = model.classes_of_word(word)[:3]
    shown = class_views(model, [number for number, _ in of_word], 8)
    rows = [[other, round(value, 4)] for other, value in found]
    return [
        Facts("facts", "", {"word": word, "measure": s.measure}, {}),
        _word_table(word, of_word, shown),
        Table("", "Neighbours", ["word", kind], rows),
        *others,
        Extra("neighbours", "", [{"word": other, kind: value} for other, value in found]),
    ]


def frequent(model: WordClassModel, vectors: WordVectors, least: int, beside: str) -> WordVectors:
    """The vectors of words seen at least ``least`` times, and that of one word in any case."""
    if least <= 1:
        return vectors
    vocabulary = model.vocabulary
    count_of = dict(zip(vocabulary.words, vocabulary.counts.tolist()))
    kept = [word for word in vectors.words if count_of[word] >= least or word == beside]
    return WordVectors(kept, vectors.rows(kept))


def nearest(
    vectors: WordVectors, word: str, top: int = 10, measure: str = "hellinger"
) -> tuple[str, list[tuple[str, float]]]:
    """The words most like a word, and whether the numbers beside them are similarities or distances.

    The similarity of ``hellinger`` and ``bhattacharyya`` is the Bhattacharyya coefficient Σ √(p q).

    Examples
    --------
    >>> vectors = WordVectors(["tea", "coffee", "car"], [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> nearest(vectors, "tea", 1, "chi2")
    ('distance', [('coffee', 0.039...)])
    """
    metrics: dict[str, Metric] = {"hellinger": "hellinger", "bhattacharyya": "hellinger", "cosine": "cosine"}
    if measure in metrics:
        return "similarity", vectors.neighbours(word, top, metrics[measure])
    from spinney.evaluate import distances

    apart = distances(vectors.rows([word]), vectors.matrix, measure)[0]  # type: ignore[arg-type]
    order = [i for i in np.argsort(apart, kind="stable").tolist() if vectors.words[i] != word]
    return "distance", [(vectors.words[i], float(apart[i])) for i in order[:top]]
