"""Views of a classifier: its size, the words of each class, its groups, its tree, and documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from spinney.classify.documents import documents_for, labels_text, renamed_labels
from spinney.classify.linear import PathPoint
from spinney.classify.model import NodeWords, TextModel
from spinney.classify.readout import (
    HIDDEN,
    GroupStatus,
    GroupView,
    ModelSize,
    SentenceLogOdds,
    Word,
    WordSpan,
    active_words,
    model_groups,
    model_size,
    sentence_log_odds,
    words_in,
)
from spinney.classify.sharing import shared_features
from spinney.classify.ways import Way, tree_ways
from spinney.optim.paths import LINES, Path, PathViews
from spinney.structure import ClassTree
from spinney.structure.words import largest, short
from spinney.views import (
    Extra,
    Facts,
    Mark,
    MarkedText,
    Node,
    Note,
    Outline,
    ScoredLines,
    Table,
    View,
    grown,
)

_SENTENCES = 200  # sentences of a document to examine
_CLASSES = 4  # classes below a branch to name
_TRIALS = 10  # trials that fit prints

#: Facts, with the names that are shown.
NAMES = {
    "method": "method",
    "documents": "documents",
    "features": "features",
    "entries": "non-zero entries",
    "outputs": "classes",
    "class_tree": "class tree",
    "tree_depth": "tree depth",
    "tree_nodes": "nodes with a model",
    "dot_products": "dot products per document",
    "parameters": "weights",
    "active": "non-zero weights",
    "penalty": "penalty",
    "lam": "λ",
    "lam_least": "smallest λ of a node",
    "lam_most": "largest λ of a node",
    "solver": "solver",
    "objective": "objective",
    "gap": "gap",
    "violation": "violation",
    "iterations": "iterations",
    "converged": "converged",
    "skipped": "documents skipped",
    "dropped": "documents dropped",
    "interrupted": "interrupted",
    "seconds": "seconds",
    "reading_seconds": "seconds reading",
    "tree_seconds": "seconds learning the tree",
    "entries_per_second": "entries per second",
}


def fact_views(model: TextModel) -> list[View]:
    """The facts about a fit, nested ones last."""
    facts, more = model.facts, dict[str, Any]()
    groups = facts.get("groups")
    if groups:
        more["groups"] = f"{groups['total']:,} with {groups['memberships']:,} members"
        for family, (selected, removed) in groups["families"].items():
            more[f"groups · {family}"] = f"{selected:,} selected, {removed:,} removed"
    for how in ("tuning",):
        found = facts.get(how)
        for name, value in (found if isinstance(found, dict) else {}).items():
            inner = (
                {f" · {key}": item for key, item in value.items()} if isinstance(value, dict) else {"": value}
            )
            for key, item in inner.items():
                if isinstance(item, int | float | str):
                    more[f"{how} · {name}{key}".replace("_", " ")] = item
    if renamed_labels(model):
        more["labels"] = labels_text(renamed_labels(model))
    return [Facts("facts", "", facts, NAMES), *([Facts("", "", more)] if more else [])]


def summary(model: TextModel) -> list[View]:
    """What ``fit`` prints: the facts and, after a search, the best trials, the chosen one first."""
    tuned = model.tuned
    if tuned is None:
        return [*fact_views(model), *(Note(line) for line in model.notes)]
    names = list(tuned.best_params)
    best = sorted(tuned.trials, key=lambda trial: (trial != tuned.best, -trial.score, trial.active))[:_TRIALS]
    rows = [
        [
            *(t.params[name] for name in names),
            f"{t.score:.4f}",
            t.active,
            f"{t.violation:.1e}",
            f"{t.seconds:.2f}",
        ]
        for t in best
    ]
    title = f"Tuning: the best {len(rows)} of {len(tuned.trials)} settings, the chosen one first"
    header = [*names, "dev score", "active", "violation", "seconds"]
    return [*fact_views(model), Table("", title, header, rows), Extra("trials", "", tuned.trials)]


# ------------------------------------------------------------------------------------------------- inspect


def inspection(model: TextModel, s: Any) -> list[View]:
    """What ``inspect`` shows: facts, size, words, groups or the tree, and how the model judges some documents."""
    read = None if s.data is None else documents_for(model, s.data, s, need_labels=False)
    n = s.documents or 3
    views = [*fact_views(model), *size_views(model)]
    strongest = model.strongest(s.top)
    if model.tree is not None:
        by_node = model.words_by_node(s.top, nodes=s.top)
        views += [*tree_views(model.tree), *_branch_table(model.tree, by_node)]
        views.append(Extra("strongest", "", strongest))
        if read is not None:
            views += way_views(read.ids[:n], tree_ways(model, read.inputs[:n]))
        return views
    rows = [[label, _weighted(words)] for label, words in strongest.items()]
    views += [
        Table("", "Strongest features", ["class", "features (weight)"], rows),
        Extra("strongest", "", strongest),
    ]
    status = model_groups(model, top=s.top)
    if status is not None:
        views += group_views(model, status)
    if model.output_tree is not None:
        views += sharing_views(model, model.output_tree, s.top)
    if read is not None:
        shown = DocumentViews(model)
        tried = [(id, shown.odds(text)) for id, text in zip(read.ids[:n], read.inputs[:n])]
        views += [shown.view(f"Document {id}: {shown.said(odds)}", odds) for id, odds in tried]
        views.append(Extra("log_odds", "", [_odds_facts(model, id, odds) for id, odds in tried]))
    return views


def _weighted(words: Iterable[tuple[str, float]]) -> str:
    return "  ".join(f"{short(word)} {weight:+.2f}" for word, weight in words) or "(none)"


def size_views(model: TextModel) -> list[View]:
    """The number of non-zero weights: in total and, if weights belong to classes, per class."""
    size = model_size(model)
    if model.tree is not None:  # along a tree, weights belong to branches
        size = replace(size, by_class={})
    views: list[View] = [Note(size_text(size)), Extra("size", "", {**asdict(size), "share": size.share})]
    if size.by_class:
        intercepts = np.atleast_1d(model.estimator.intercept_).tolist()
        if len(intercepts) < len(model.outputs):  # two classes share their weights
            intercepts = [-intercepts[0], intercepts[0]]
        rows = [[label, size.by_class[label], b] for label, b in zip(model.outputs, intercepts)]
        views.append(Table("", "Size", ["class", "non-zero weights", "intercept"], rows))
    return views


def size_text(size: ModelSize) -> str:
    """The size of a model in a sentence.

    Examples
    --------
    >>> size_text(ModelSize(6, 2, 6, 2, {"+": 1, "-": 1}))
    '2 of 6 weights are non-zero (33.33%), on 2 of 6 features.'
    """
    return (
        f"{size.active:,} of {size.parameters:,} weights are non-zero ({size.share:.2%}), on "
        f"{size.active_features:,} of {size.features:,} features."
    )


# -------------------------------------------------------------------------------------------------- groups


def group_views(model: TextModel, status: GroupStatus) -> list[View]:
    """How many groups were selected and removed, and the first of both with their words."""
    marks = Marks(model)
    by_copies = status.weighty is not None
    said = f"{status.n_selected:,} groups selected, {status.n_removed:,} removed"
    if by_copies:
        said += f", by the copies v_g of ADMM; {status.weighty:,} groups have non-zero weights w"
    views: list[View] = [Note(f"{said}.")]
    if status.families:
        counts = [[family, *pair] for family, pair in status.families.items()]
        views.append(Table("", "Families of groups", ["family", "selected", "removed"], counts))
    copied = ["‖v_g‖"] if by_copies else []
    selected = [
        [v.name, marks.group(v), *([v.copy_norm] if by_copies else []), v.norm, v.active, v.size]
        for v in status.selected
    ]
    removed = [[v.name, marks.group(v), v.weight, v.size] for v in status.removed]
    title = f"Selected, by norm{_first_of(len(selected), status.n_selected)}"
    views.append(Table("", title, ["group", "words", *copied, "norm", "active", "size"], selected))
    title = f"Removed, by weight in the penalty{_first_of(len(removed), status.n_removed)}"
    views.append(Table("", title, ["group", "words", "weight", "size"], removed))
    counts_of = model.facts.get("groups", {})
    if "stored" in counts_of:
        views.append(
            Note(
                f"The file contains {counts_of['stored']:,} of {counts_of['total']:,} groups: the selected ones with "
                "the largest norms and the removed ones with the largest weights."
            )
        )
    return [*views, Extra("groups", "", {**counts_of, **_group_facts(status)})]


def _first_of(some: int, n: int) -> str:
    return "" if some == n else f": the first {some:,} of {n:,}"


def _group_facts(status: GroupStatus) -> dict[str, Any]:
    def facts(view: GroupView) -> dict[str, Any]:
        known = {name: value for name, value in asdict(view).items() if value is not None}
        return {**known, "words": [word._asdict() for word in view.words]}

    weighty = {} if status.weighty is None else {"n_weighty": status.weighty}
    return {
        **weighty,
        "n_selected": status.n_selected,
        "n_removed": status.n_removed,
        "families": {family: list(pair) for family, pair in status.families.items()},
        "selected": [facts(view) for view in status.selected],
        "removed": [facts(view) for view in status.removed],
    }


class Marks:
    """Marks of words: the colour of their class, in three strengths relative to the model's largest weight."""

    def __init__(self, model: TextModel) -> None:
        self.outputs = model.outputs
        self._number = {label: k for k, label in enumerate(model.outputs)}
        finite = model.coef[np.isfinite(model.coef)]
        self._most = float(np.abs(finite).max(initial=0.0)) or 1.0

    def mark(self, start: int, stop: int, words: Sequence[Word | WordSpan]) -> Mark:
        """One mark for features that begin at the same word."""
        main = max(words, key=lambda word: abs(word.weight))
        share = abs(main.weight) / self._most
        note = "\n".join(f"{word.word}: {word.weight:+.3g} {word.label}" for word in words)
        strength = 1 + (share > 0.15) + (share > 0.5)
        return Mark(start, stop, self._number[main.label], strength, main.weight < 0, note)

    def group(self, view: GroupView) -> MarkedText:
        """The words of a group, class by class, so that it can be read without colours; those without weight last.

        A word with evidence against a class has a minus.
        """
        parts: list[str] = []
        marks: list[Mark] = []
        at = 0

        def add(text: str) -> None:
            nonlocal at
            parts.append(text)
            at += len(text)

        for label in self.outputs:
            of_class = [word for word in view.words if word.label == label and abs(word.weight) > HIDDEN]
            for i, word in enumerate(of_class):
                add(", " if i else f"{'  ' if parts else ''}{short(label)}: ")
                text = "−" * (word.weight < 0) + short(word.word)
                marks.append(self.mark(at, at + len(text), [word]))
                add(text)
        rest = [short(word.word) for word in view.words if abs(word.weight) <= HIDDEN]
        if rest:
            add(("  " if parts else "") + ", ".join(rest))
        if view.size > len(view.words):
            add(" …")
        return MarkedText("", "", "".join(parts), marks)


# ----------------------------------------------------------------------------------------- trees of classes


def tree_views(tree: ClassTree) -> list[View]:
    """A tree of classes: its size, and the tree itself with numbered inner nodes."""
    inner = len(tree.parent) - len(tree)
    names = [" ".join(short(name).split()) for name in tree.names] + [f"node {v}" for v in range(inner)]
    order = dict.fromkeys([int(tree.parent.argmin()), *tree.children()[1].tolist()])
    roots = grown(tree.parent.tolist(), [Node(name) for name in names], order)
    about = f"{len(tree):,} classes, {inner:,} inner nodes, depth {tree.depth:,}."
    return [Note(about), Outline("", "Tree", roots, "classes"), Extra("newick", "", tree.to_newick())]


def branch_name(classes: Sequence[str]) -> str:
    """The classes below a branch; if there are many, the first ones and their number.

    Examples
    --------
    >>> branch_name(["cat", "dog"]), branch_name(list("abcdefg"))
    ('cat, dog', 'a, b, c, d … (7 classes)')
    """
    some = ", ".join(short(name) for name in classes[:_CLASSES])
    return some if len(classes) <= _CLASSES else f"{some} … ({len(classes):,} classes)"


def _branch_table(tree: ClassTree, by_node: Sequence[NodeWords]) -> list[View]:
    """The words with the strongest evidence for each branch of some nodes."""
    inner = len(tree.parent) - len(tree)
    rows = [
        [str(found.node) if b == 0 else "", branch_name(branch.classes), _weighted(branch.words)]
        for found in by_node
        for b, branch in enumerate(found.branches)
    ]
    first = "" if len(by_node) == inner else f" at the first {len(by_node):,} of {inner:,} nodes"
    title = f"Strongest features for each branch{first}"
    nodes = [{"node": found.node, "branches": found.branches} for found in by_node]
    return [Table("", title, ["node", "branch to", "features (weight)"], rows), Extra("nodes", "", nodes)]


def sharing_views(model: TextModel, tree: ClassTree, top: int) -> list[View]:
    """The tree of classes that the penalty is on, and the features that belong to the classes of each node."""
    names, inner = model.names, len(tree)
    found = shared_features(tree, model.coef, top)
    rows = [
        [f"node {one.node - inner}" if one.node >= inner else "", branch_name(one.classes), one.n_features,
         "  ".join(short(names[j]) for j in one.features)]
        for one in found
    ]  # fmt: skip
    title = "Features by the smallest node with all their classes"
    facts = [
        {"node": max(one.node - inner, -1), "classes": one.classes, "n_features": one.n_features,
         "features": [names[j] for j in one.features]}
        for one in found
    ]  # fmt: skip
    return [
        *tree_views(tree),
        Table("", title, ["node", "classes", "features", "largest"], rows),
        Extra("shared", "", facts),
    ]


def way_views(ids: Sequence[str], ways: Sequence[Way]) -> list[View]:
    """The paths of documents down a class tree."""
    views: list[View] = [
        way_table(f"Document {id}: {way.label}, with probability {way.probability:.3f}", way)
        for id, way in zip(ids, ways)
    ]
    return [*views, Extra("ways", "", [{"id": id, **way._asdict()} for id, way in zip(ids, ways)])]


def way_table(title: str, way: Way) -> Table:
    """The steps of a document down a tree."""
    rows = [
        [step.node, branch_name(step.classes), step.probability, _weighted(step.words)] for step in way.steps
    ]
    return Table("", title, ["node", "branch to", "probability", "words that matter (contribution)"], rows)


# ----------------------------------------------------------------------------------------------- documents


class DocumentViews:
    """Documents with a score for each sentence, and words marked by class."""

    def __init__(self, model: TextModel) -> None:
        self.model, self._active, self._marks = model, active_words(model), Marks(model)

    def odds(self, text: str) -> SentenceLogOdds:
        """The log-odds of the sentences of a text."""
        return sentence_log_odds(self.model, text, limit=_SENTENCES)

    def said(self, odds: SentenceLogOdds) -> str:
        """The prediction as text."""
        if self.model.has_probabilities:
            return f"{odds.label}, with probability {math.exp(odds.outcome):.3f}"
        return odds.label if self.model.is_classifier else f"{odds.outcome:.4g}"

    def view(self, title: str, odds: SentenceLogOdds) -> ScoredLines:
        """The sentences of a document."""
        lines = []
        for sentence, score, seen in zip(odds.sentences, odds.scores.tolist(), odds.shown.tolist()):
            spans: dict[tuple[int, int], list[WordSpan]] = {}
            for span in words_in(sentence, self.model, self._active):
                if abs(span.weight) > HIDDEN:
                    spans.setdefault((span.start, span.stop), []).append(span)
            marks = [self._marks.mark(start, stop, words) for (start, stop), words in spans.items()]
            lines.append((MarkedText("", "", sentence, marks), score if seen else None))
        y = self.model.outputs.index(odds.label)
        against = 1 - y if len(self.model.outputs) == 2 else y + 1
        return ScoredLines("", title, lines, (y, against))


def _odds_facts(model: TextModel, id: str, odds: SentenceLogOdds) -> dict[str, Any]:
    """For a regressor, ``value`` is the predicted number; for a classifier, the probability is that of the class."""
    if model.is_classifier:
        known: dict[str, Any] = {"id": id, "label": odds.label, "probability": math.exp(odds.outcome)}
    else:
        known = {"id": id, "value": odds.outcome}
    scores = zip(odds.sentences, odds.scores.tolist())
    return {**known, "sentences": [{"text": text, "score": score} for text, score in scores]}


# ---------------------------------------------------------------------------------------------------- path


def weight_path(
    points: Sequence[PathPoint],
    names: Sequence[str],
    outputs: Sequence[str],
    scores: Mapping[str, Sequence[float]],
) -> Path:
    """The path of a linear model; weights are named after their feature and, if there are several classes, their class.

    Examples
    --------
    >>> from spinney.classify import LinearRegressor
    >>> points = LinearRegressor("l1").path(np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]]), [1.0, 2.0, 3.0], n=3)
    >>> path = weight_path(points, ["length", "old"], ["value"], {})
    >>> path.active, list(path.weights)
    ([0, 1, 1], ['length'])
    """
    path = Path()
    for i, point in enumerate(points):
        path.add(point, point.active, {name: values[i] for name, values in scores.items()})
    if not points:
        return path
    rows, p = points[0].coef.shape
    mean = np.zeros(rows * p)
    for point in points:
        mean += np.abs(point.coef).ravel()
    for place in largest(mean, LINES):
        if mean[place] > 0:
            k, j = divmod(place, p)
            name = f"{names[j]} → {outputs[k]}" if rows > 1 else names[j]
            path.weights[name] = [float(point.coef[k, j]) for point in points]
    return path


def path_views(path: Path, known: Mapping[str, Any]) -> PathViews:
    """The views of a path, and its points."""
    about = Note("The regularisation path of a linear model: weights become non-zero as λ decreases.")
    return PathViews([about, Facts("facts", "", known), *path.views()], path)
