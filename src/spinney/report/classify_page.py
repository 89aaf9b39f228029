"""A classifier or regressor of text on one page: training, size, words, groups, scores, documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.classify import TextModel
from spinney.classify.readout import (
    HIDDEN,
    GroupStatus,
    GroupView,
    Word,
    WordSpan,
    active_words,
    model_groups,
    model_size,
    sentence_log_odds,
    weights_by_class,
    words_in,
)
from spinney.classify.ways import tree_ways
from spinney.evaluate import classification_scores, regression_scores
from spinney.report.charts import heat_map
from spinney.report.classify_tree import tree_sections, tree_size, way_rows
from spinney.report.page import (
    Html,
    Mark,
    Page,
    Section,
    bars,
    columns,
    facts,
    heading,
    joined,
    marked,
    paragraph,
    scored_lines,
    signed,
    table,
)
from spinney.report.path_page import chosen_section
from spinney.views import flat_facts

_CLASSES = 50  # classes whose words are shown
_MATRIX = 40  # classes that a confusion matrix has at most
_SENTENCES = 200  # sentences of a document that are shown at most
_START = 300  # letters of a document whose way is shown


#: Facts by the names that a person reads, and those that the head of the page tells.
_NAMES = {
    "lam": "λ", "outputs": "classes", "entries": "entries that are not 0", "n iter": "iterations",
    "parameters": "weights", "tuning · chosen · lam": "tuning · λ", "cross validation · score": "cross-validated score",
    "cross validation · folds": "folds", "skipped": "documents passed over", "dropped": "documents left out",
}  # fmt: skip
_UNTOLD = ("n active", "penalty", "documents", "features")
_EVENTS = ("skipped", "dropped")  # told if there are any


@dataclass(frozen=True)
class Evidence:
    """Documents that a model was tried on: what it said of them and, if their labels are known, how well it did."""

    inputs: Any
    ids: Sequence[str]
    labels: Sequence[str] | None
    predicted: list[str]
    proba: NDArray[np.float64] | None
    scores: dict[str, Any] | None


def evidence(model: TextModel, inputs: Any, ids: Sequence[str], labels: Sequence[str] | None) -> Evidence:
    """Try a model on documents; labels must be among its classes (of a regressor: numbers).

    Examples
    --------
    >>> from spinney.classify import LinearClassifier, TextFeatures
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> evidence(model, ["such fun"], ["1"], ["+"]).scores["accuracy"]
    1.0
    """
    X = model.matrix(inputs)
    predicted = [str(value) for value in model.estimator.predict(X).tolist()]
    proba = model.estimator.predict_proba(X) if model.is_classifier else None
    scores: dict[str, Any] | None = None
    if labels is not None and model.is_classifier:
        scores = classification_scores(labels, predicted, proba, model.outputs)
        if model.tree is not None:
            scores["dot_products"] = float(model.estimator.dot_products(X).mean())
    elif labels is not None:
        found = regression_scores(
            [float(label) for label in labels], [float(value) for value in predicted]
        ).items()
        scores = {name: value if math.isfinite(value) else None for name, value in found}
    return Evidence(inputs, ids, labels, predicted, proba, scores)


def classify_page(
    model: TextModel, title: str, tried: Evidence | None = None, *, documents: int = 10, top: int = 20
) -> Page:
    """The page of a model.

    Parameters
    ----------
    title
        What to call it: the name of its file.
    tried
        What it said of documents; without, the page speaks of the model alone.
    documents
        How many documents to show.
    top
        How many words of each class, and ten times as many groups.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier, TextFeatures
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> "<h2>Words</h2>" in classify_page(model, "reviews").html()
    True
    """
    size = model_size(model)
    what = f"classifier with {len(model.outputs)} classes" if model.is_classifier else "regressor"
    what += ", along a tree of them" if model.tree is not None else ""
    known: dict[str, object] = {
        "trained on": _some(model.facts.get("documents"), "documents"),
        "features": size.features,
        "weights ≠ 0": f"{size.active:,} of {size.parameters:,} ({size.share:.2%})",
        "penalty": model.facts.get("penalty"),
    }
    sections = []
    if tried is not None and tried.scores is not None:
        main = "accuracy" if model.is_classifier else "r2"
        known[f"{main} on {len(tried.ids):,} documents"] = tried.scores[main]
    if model.tree is not None:  # of groups, the facts of training tell how many were selected
        sections += tree_sections(model, top)
    else:
        sections.append(_words(model, top))
        status = model_groups(model, top=10 * top, words=12)
        if status is not None:
            sections.append(_groups(model, status))
    if tried is not None:
        if tried.scores is not None:
            sections.append(_scores(model, tried))
        if model.features is not None and documents:
            sections.append((_documents if model.tree is None else _ways)(model, tried, documents))
    for how in ("tuning", "cross_validation"):
        found = model.facts.get(how)
        if isinstance(found, dict):
            measure = "accuracy" if model.is_classifier else "R²"
            sections += chosen_section(found.get("tried"), measure, model.facts.get("lam"))
    sections.append(_training(model))
    return Page(title, f"A linear {what}.", known, sections)


def _some(count: object, of: str) -> str | None:
    return f"{count:,} {of}" if isinstance(count, int) else None


# -------------------------------------------------------------------------------------------- the model


def _training(model: TextModel) -> Section:
    size = model_size(model) if model.tree is None else tree_size(model)
    told = {
        _NAMES.get(name, name): value
        for name, value in flat_facts(model.facts)
        if name not in _UNTOLD and not name.endswith("tried") and not (name in _EVENTS and not value)
    }
    if model.features is not None:
        how = model.features
        told |= {"weighting": how.weighting, "longest n-gram": how.ngrams, "lower case": how.lowercase}
        told |= {"stop words": how.stop_words or "kept", "least documents a word": how.min_count}
    about = (
        f"{size.active:,} of {size.parameters:,} weights are not 0 ({size.share:.2%}), on {size.active_features:,} of "
        f"{size.features:,} features."
    )
    blocks = [facts(told), heading("Size"), paragraph(about)]
    if size.by_class:
        intercepts = np.atleast_1d(model.estimator.intercept_).tolist()
        if len(intercepts) < len(model.outputs):  # of two classes that share their weights
            intercepts = [-intercepts[0], intercepts[0]]
        rows = [[label, size.by_class[label], b] for label, b in zip(model.outputs, intercepts)]
        blocks.append(table(["class", "weights that are not 0", "intercept"], rows))
    return Section("Training and size", blocks)


def _words(model: TextModel, top: int) -> Section:
    found = weights_by_class(model, top)
    blocks = [
        joined([heading(label), bars(words, colour_of=k) if words else paragraph("No weights.", faint=True)])
        for k, (label, words) in enumerate(list(found.items())[:_CLASSES])
    ]
    left = len(found) - len(blocks)
    rest = [paragraph(f"{left:,} more classes are not shown.", faint=True)] if left else []
    about = "The features with the largest weights" + (", for each class." if model.is_classifier else ".")
    return Section("Words", [paragraph(about), columns(blocks), *rest])


def _groups(model: TextModel, status: GroupStatus) -> Section:
    strength = _Strength(model)

    selected = [
        [view.name, _group_words(view, strength), view.norm, view.active, view.size]
        for view in status.selected
    ]
    removed = [[view.name, _group_words(view, strength), view.size, view.weight] for view in status.removed]
    blocks = [paragraph(f"{status.n_selected:,} selected, {status.n_removed:,} removed.")]
    if status.families:
        counts = [[family, *pair] for family, pair in status.families.items()]
        blocks.append(table(["family", "selected", "removed"], counts))
    if selected:
        title = heading(f"Selected{_first_of(len(selected), status.n_selected)}")
        blocks += [title, table(["group", "words", "norm", "active", "size"], selected)]
    if removed:
        title = heading(f"Removed{_first_of(len(removed), status.n_removed)}")
        blocks += [title, table(["group", "words", "size", "weight in the penalty"], removed)]
    return Section("Groups", blocks)


def _first_of(some: int, n: int) -> str:
    return "" if some == n else f": the first {some:,} of {n:,}"


class _Strength:
    """How words are marked: in the colour of their class, in three strengths by the model's largest weight."""

    def __init__(self, model: TextModel) -> None:
        self._number = {label: k for k, label in enumerate(model.outputs)}
        finite = model.coef[np.isfinite(model.coef)]
        self._most = float(np.abs(finite).max(initial=0.0)) or 1.0

    def mark(self, start: int, stop: int, words: Sequence[Word | WordSpan]) -> Mark:
        """One mark for features that begin at the same word."""
        main = max(words, key=lambda word: abs(word.weight))
        share = abs(main.weight) / self._most
        note = "\n".join(f"{word.word}: {signed(word.weight)} {word.label}" for word in words)
        strength = 1 + (share > 0.15) + (share > 0.5)
        return Mark(start, stop, self._number[main.label], strength, main.weight < 0, note)


def _group_words(view: GroupView, strength: _Strength) -> Html:
    shown = [
        marked(word.word, [strength.mark(0, len(word.word), [word])] if abs(word.weight) > HIDDEN else [])
        for word in view.words
    ]
    return joined([joined(shown, ", "), " …" if view.size > len(view.words) else ""])


# ----------------------------------------------------------------------------------------- the documents


def _scores(model: TextModel, tried: Evidence) -> Section:
    assert tried.scores is not None
    assert tried.labels is not None
    blocks = [
        facts({name.replace("_", " "): value for name, value in tried.scores.items() if name != "classes"})
    ]
    if model.is_classifier:
        rows = [[label, *row.values()] for label, row in tried.scores["classes"].items()]
        blocks.append(table(["class", "precision", "recall", "F1", "documents"], rows))
        blocks += [heading("Confusions"), _confusions(model.outputs, tried.labels, tried.predicted)]
    return Section("Scores", blocks)


def _confusions(outputs: Sequence[str], truth: Sequence[str], predicted: Sequence[str]) -> Html:
    """A matrix, or of very many classes the commonest errors."""
    place = {label: k for k, label in enumerate(outputs)}
    counts = np.zeros((len(outputs), len(outputs)), np.int64)
    np.add.at(counts, ([place[label] for label in truth], [place[label] for label in predicted]), 1)
    if len(outputs) <= _MATRIX:
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        about = "Rows: the true class. Columns: the predicted one. Shades: shares of the row."
        return heat_map(counts.tolist(), outputs, outputs, shades=shares.tolist(), caption=about)
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_MATRIX]
    pairs = [divmod(int(cell), len(outputs)) for cell in order if counts.flat[cell]]
    return table(
        ["true class", "predicted", "documents"],
        [[outputs[i], outputs[j], int(counts[i, j])] for i, j in pairs],
    )


def chosen_documents(tried: Evidence, outputs: Sequence[str], n: int) -> list[int]:
    """Which documents to show: the surest errors, up to half of them, then the first ones; in their order.

    Examples
    --------
    >>> tried = Evidence([], "abcd", ["x", "y", "y", "y"], ["x", "x", "x", "y"],
    ...     np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.1, 0.9]]), None)
    >>> chosen_documents(tried, ["x", "y"], 2)
    [0, 2]
    """
    wrong: list[int] = []
    if tried.labels is not None and tried.proba is not None:
        errors = [i for i, label in enumerate(tried.labels) if label != tried.predicted[i]]
        wrong = sorted(errors, key=lambda i: tried.proba[i, outputs.index(tried.labels[i])])[: n // 2]  # type: ignore[index]
    first = [i for i in range(len(tried.ids)) if i not in wrong][: n - len(wrong)]
    return sorted(wrong + first)


def _documents(model: TextModel, tried: Evidence, n: int) -> Section:
    active, strength = active_words(model), _Strength(model)
    what = "the log-odds log p(class | document) − log p(class | document without the sentence)"
    what = what if model.is_classifier else "what the sentence adds to the number predicted"
    blocks = [
        paragraph(
            f"Before each sentence: {what}, unless it is smaller than {HIDDEN:g}. Words are coloured by the class that "
            "they say most of; what speaks against it is dotted."
        )
    ]
    for i in chosen_documents(tried, model.outputs, n):
        blocks += _document(model, tried, i, active, strength)
    return Section("Documents", blocks)


def _ways(model: TextModel, tried: Evidence, n: int) -> Section:
    """Documents on their way down a tree of classes."""
    chosen = chosen_documents(tried, model.outputs, n)
    about = (
        "The way of a document down the tree: the branch that is taken at each node, its probability there, and the "
        "words that matter most, with what they add."
    )
    blocks = [paragraph(about)]
    for i, way in zip(chosen, tree_ways(model, [tried.inputs[i] for i in chosen])):
        told = f"{way.label}, with probability {way.probability:.3f}{_truth(model, tried, i)}"
        text = " ".join(str(tried.inputs[i]).split())
        start = text if len(text) <= _START else text[:_START] + " …"
        header = ["node", "branch to", "probability", "words that matter"]
        blocks += [heading(tried.ids[i]), paragraph(f"Predicted: {told}"), paragraph(start, faint=True)]
        blocks.append(table(header, way_rows(way)))
    return Section("Documents", blocks)


def _truth(model: TextModel, tried: Evidence, i: int) -> str:
    """What is to be said of a prediction, if the truth is known."""
    if tried.labels is None:
        return ""
    right = model.is_classifier and tried.labels[i] == tried.predicted[i]
    return ", which is right." if right else f"; in truth {tried.labels[i]}."


def _document(
    model: TextModel, tried: Evidence, i: int, active: dict[str, Word], strength: _Strength
) -> list[Html]:
    odds = sentence_log_odds(model, tried.inputs[i], limit=_SENTENCES)
    y = model.outputs.index(odds.label)
    if model.is_classifier:
        told = f"{odds.label}, with probability {math.exp(odds.outcome):.3f}"
    else:
        told = f"{odds.outcome:.4g}"
    told += _truth(model, tried, i)
    lines = []
    for sentence, score, seen in zip(odds.sentences, odds.scores.tolist(), odds.shown.tolist()):
        spans: dict[tuple[int, int], list[WordSpan]] = {}
        for span in words_in(sentence, model, active):
            if abs(span.weight) > HIDDEN:
                spans.setdefault((span.start, span.stop), []).append(span)
        marks = [strength.mark(start, stop, words) for (start, stop), words in spans.items()]
        lines.append((marked(sentence, marks), score if seen else None))
    against = 1 - y if len(model.outputs) == 2 else y + 1
    sentences = model.features.sentences_of(tried.inputs[i]) if model.features else []
    left = len(sentences) - len(odds.sentences)
    return [
        heading(tried.ids[i]),
        paragraph(f"Predicted: {told}"),
        scored_lines(lines, colours=(y, against)),
        *([paragraph(f"{left:,} more sentences are not shown.", faint=True)] if left else []),
    ]
