"""The page of a tagger: its labels and their transitions, the observations that support them, and some sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, SettingError, about
from spinney.evaluate import tagging_scores
from spinney.optim.paths import how_chosen
from spinney.settings.report import Report
from spinney.structure import WordClasses
from spinney.structure.words import largest
from spinney.tagging.columns import Columns
from spinney.tagging.patterns import Pattern
from spinney.tagging.reading import FORMATS, format_of, read_columns_of
from spinney.tagging.summary import hmm_laws, label_pairs
from spinney.tagging.views import called, facts_view
from spinney.tagging.weights import ChainWeights
from spinney.views import Bars, Extra, Facts, HeatMap, Note, Section, Share, Table, Token, Tokens, View
from spinney.views import Columns as SideBySide

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger

_LABELS = 50  # whose observations are shown
_MATRIX = 40  # labels of a heat map at most
_NEGLIGIBLE = 1e-3  # the share of the likeliest symbol below which none is shown
_ERRORS = 15  # pairs of labels
_TOKENS = 120  # of a sentence that are shown
_GREY = 7
_BARE = ("lines", "letters")  # formats that hold no labels
_SCORES = {
    "accuracy": "correct tokens", "token_error": "wrong tokens", "sequence_error": "sentences with an error",
    "precision": "precision", "recall": "recall", "f1": "F1",
}  # fmt: skip


def report(tagger: Tagger, data: Any, s: Report) -> list[View]:
    """The views of the page; with ``data`` (a file, or columns), also sentences labelled by the tagger.

    Examples
    --------
    >>> from spinney.tagging import Tagger
    >>> X, y = [["the", "dog", "barks"], ["a", "dog", "sleeps"]], [["D", "N", "V"], ["D", "N", "V"]]
    >>> views = report(Tagger("U:%x[0,0]\\nB", lam=0.1).fit(X, y), None, Report())
    >>> [view.title for view in views if isinstance(view, Section)]
    ['Transitions', 'Observations', 'Labels', 'Patterns']
    """
    views: list[View] = [Note(f"A tagger ({called(tagger)}): one label per token."), facts_view(tagger)]
    if data is not None:
        views += _tried(
            tagger, data if isinstance(data, Tagged) else Tagged.read(tagger, data, s), s.documents
        )
    views += [*_transitions(tagger, s.top), _observations(tagger, s.top), _labels(tagger), _patterns(tagger)]
    if tagger.extractor_.structures:
        views.append(_structures(tagger))
    return views + how_chosen(tagger.facts_.get("tried"), chosen=tagger.lam)


# ----------------------------------------------------------------------------------------- sentences


@dataclass(frozen=True, eq=False)
class Tagged:
    """Sentences that a tagger labelled: words, labels with their probabilities, and the true labels if known."""

    words: list[list[str]]
    labels: list[list[str]]
    chances: list[list[float]]
    gold: list[list[str]] | None = None

    @classmethod
    def read(cls, tagger: Tagger, data: Any, s: Report) -> Tagged:
        """Label a file, or columns; whether the last column holds labels is detected."""
        if isinstance(data, Columns):
            return cls.of(tagger, data, labelled=has_labels(tagger, data))
        format = format_of(data, s)
        if format not in FORMATS:
            raise SettingError(
                "{format} must be one of {known} for a tagger, not {given}",
                known=", ".join(FORMATS),
                given=repr(format),
            )
        with about(data):
            columns = read_columns_of(data, format, encoding=s.encoding, on_error=s.on_error)
            if not columns.n_tokens:
                raise InputError("no sentences", path=data)
            return cls.of(tagger, columns, labelled=format not in _BARE and has_labels(tagger, columns))

    @classmethod
    def of(cls, tagger: Tagger, data: Columns, *, labelled: bool) -> Tagged:
        """Label sentences; ``labelled`` says that the last column holds the true labels."""
        found = list(tagger.label_columns_with_probabilities(data.without_last() if labelled else data))
        bounds = list(pairwise(data.offsets.tolist()))

        def cells(column: int) -> list[list[str]]:
            strings = data.strings(column)
            return [strings[a:b] for a, b in bounds]

        labels, chances = [one[0] for one in found], [one[1] for one in found]
        if not labelled:
            return cls(cells(0), labels, chances)
        return cls(cells(0), list(tagger.in_scheme_of(data, labels)), chances, cells(-1))

    @cached_property
    def scores(self) -> dict[str, Any] | None:
        """The scores that ``eval`` shows."""
        return None if self.gold is None else tagging_scores(self.gold, self.labels)

    def chosen(self, n: int) -> list[int]:
        """The sentences to show: the most confident errors, up to half of them, then the first ones, in order."""
        wrong: list[int] = []
        if self.gold is not None:
            sureness = {}
            for i, (gold, labels, chances) in enumerate(zip(self.gold, self.labels, self.chances)):
                errors = [p for right, label, p in zip(gold, labels, chances) if right != label]
                if errors:
                    sureness[i] = max(errors)
            wrong = sorted(sureness, key=lambda i: -sureness[i])[: n // 2]
        first = [i for i in range(len(self.words)) if i not in wrong][: n - len(wrong)]
        return sorted(wrong + first)


def has_labels(tagger: Tagger, data: Columns) -> bool:
    """Whether the last column holds labels: most of its cells are labels of the model, and no pattern looks at it."""
    if data.width <= max(tagger.extractor_.required_columns, 1) or not data.n_tokens:
        return False
    known = set(tagger.labels_)
    counts = Counter(data.symbols[-1].tolist())
    texts = list(data.pool)
    return 2 * sum(n for symbol, n in counts.items() if texts[symbol] in known) > data.n_tokens


def _tried(tagger: Tagger, tried: Tagged, documents: int) -> list[View]:
    views: list[View] = [Extra("documents", "", len(tried.words))]
    if tried.scores is not None:
        main = "f1" if "f1" in tried.scores else "accuracy"
        name = f"{_SCORES[main]} on {len(tried.words):,} sentences"
        views += [Facts("", "", {name: f"{tried.scores[main]:.2%}"}), _scores(tried, tried.scores)]
    if documents:
        views.append(_sentences(tagger, tried, documents))
    return views


def _scores(tried: Tagged, scores: Mapping[str, Any]) -> Section:
    shown: dict[str, Any] = {name: f"{scores[key]:.2%}" for key, name in _SCORES.items() if key in scores}
    shown |= {"sentences": len(tried.words), "tokens": sum(map(len, tried.words))}
    views: list[View] = [Facts("", "", shown), Extra("scores", "", scores)]
    if "types" in scores:
        keys = ("phrases", "found", "precision", "recall", "f1")
        rows = [[kind, *(row[key] for key in keys)] for kind, row in scores["types"].items()]
        views.append(Table("", "", ["type", *keys[:-1], "F1"], rows))
    pairs = zip(tried.gold or [], tried.labels)
    wrong = Counter(pair for gold, labels in pairs for pair in zip(gold, labels) if pair[0] != pair[1])
    rows = [[right, label, n] for (right, label), n in wrong.most_common(_ERRORS)]
    views.append(Table("errors", "Most frequent errors", ["correct label", "predicted", "tokens"], rows))
    return Section("Scores", views)


def _sentences(tagger: Tagger, tried: Tagged, n: int) -> Section:
    chosen = tried.chosen(n)
    said = f"{len(chosen):,} of {len(tried.words):,} sentences. Point at a token to see the probability of its label."
    if tried.gold is not None:
        said += " Wrong labels are struck through, with the correct ones beside them, in up to half of the sentences."
    colours = _colours(sorted({*tagger.labels_, *(label for gold in tried.gold or [] for label in gold)}))
    return Section("Sentences", [Note(said), *(_sentence(tried, i, colours) for i in chosen)])


def _sentence(tried: Tagged, i: int, colours: Mapping[str, int | None]) -> Tokens:
    words, labels, chances = tried.words[i], tried.labels[i], tried.chances[i]
    gold = labels if tried.gold is None else tried.gold[i]
    tokens = []
    for word, label, chance, right in list(zip(words, labels, chances, gold))[:_TOKENS]:
        note = f"{word}: {label}, probability {chance:.3f}" + f"; correct: {right}" * (label != right)
        shown = right if label != right else ""
        tokens.append(Token(word, label, colours.get(label), note, chance < 0.7, shown))
    return Tokens("", f"{i + 1:,}", tokens, more=len(words) - len(tokens))


# -------------------------------------------------------------------------------------------- the model


def _colours(labels: Sequence[str]) -> dict[str, int | None]:
    """One colour per kind of phrase (shared by B-NP and I-NP) or per label; none for O."""
    kinds = {
        label: label[2:] if label[1:2] == "-" and label[:1] in "BIOESLUMW" else label for label in labels
    }
    number = {kind: k for k, kind in enumerate(sorted(set(kinds.values()) - {"O"}))}
    return {label: number.get(kind) for label, kind in kinds.items()}


def _counts(found: object) -> dict[str, int]:
    """Counts by name, if they are valid: a file may contain anything."""
    if not isinstance(found, dict) or not all(isinstance(n, int) for n in found.values()):
        return {}
    return found


def _weighed(weights: ChainWeights, pairs: NDArray[np.float64]) -> tuple[str, NDArray[np.float64]]:
    said = (
        "The weight of each pair of labels at any token: evidence for the pair above 0, against it below 0."
    )
    return said, pairs


def _normalised(weights: ChainWeights, pairs: NDArray[np.float64]) -> tuple[str, NDArray[np.float64]]:
    chances = np.exp(pairs - pairs.max(axis=1, keepdims=True))
    said = "The probability of each label after another, at a token without any other observation."
    return said, chances / chances.sum(axis=1, keepdims=True)


def _counted(weights: ChainWeights, pairs: NDArray[np.float64]) -> tuple[str, NDArray[np.float64]]:
    return "The probability of each label after another.", hmm_laws(weights)[0]


#: The meaning of label pairs, for the methods whose weights are probabilities.
_PAIRS: dict[str, Callable[..., tuple[str, NDArray[np.float64]]]] = {"memm": _normalised, "hmm": _counted}


def _transitions(tagger: Tagger, top: int) -> list[View]:
    """Transitions: a heat map of all pairs of labels and, if bigram patterns have fields, the strongest pairs."""
    pairs = label_pairs(tagger.weights_, tagger.extractor_)
    views: list[View] = []
    labels = tagger.labels_
    if pairs is not None:
        said, values = _PAIRS.get(tagger.method, _weighed)(tagger.weights_, pairs)
        counts = _counts(tagger.facts_.get("label_counts"))
        weight = np.array([counts.get(label, 0) for label in labels], np.float64)
        if not weight.any():
            weight = np.abs(pairs[: len(labels)]).sum(axis=1)
        shown = sorted(largest(weight, _MATRIX))
        if len(shown) < len(labels):
            said += f" The {len(shown)} most important labels of {len(labels)}."
        rows, names = [*shown, *range(len(labels), len(pairs))], [*labels, "(start)"]
        cells = values[np.ix_(rows, shown)].tolist()
        caption = "Rows: the previous label. Columns: the label."
        called_so = [names[i] for i in rows], [names[i] for i in shown]
        views += [Note(said), HeatMap("transitions", "", cells, *called_so, caption=caption)]
    if any(tagger.extractor_.patterns[p].fields for p in tagger.extractor_.pattern_of("b").tolist()):
        likely, unlikely = tagger.transitions(top)
        both = (*likely, *reversed(unlikely))
        table = [[f"{before} → {label}", seen, weight] for seen, before, label, weight in both]
        views.append(Table("pairs", "Strongest pairs", ["labels", "observation", "weight"], table))
    return [Section("Transitions", views)] if views else []


def _observations(tagger: Tagger, top: int) -> Section:
    counts, colours = _counts(tagger.facts_.get("label_counts")), _colours(tagger.labels_)
    found: Mapping[str, Sequence[tuple[str, float]]]
    if tagger.method == "hmm":
        chances, names = hmm_laws(tagger.weights_)[1], tagger.extractor_.names("u")
        found = {
            label: _likely([(names[o], float(chances[o, y])) for o in largest(chances[:, y], top)])
            for y, label in enumerate(tagger.labels_)
        }
        said = "The most likely symbols of each label, with their probability given the label."
    else:
        found = tagger.strongest(top)
        said = "For each label, the observations with the strongest evidence for it, with their weights."
    order = sorted(found, key=lambda label: -counts.get(label, 0))  # stable: without counts, the order stays
    bars: list[View] = []
    for label in order[:_LABELS]:
        colour = colours[label]
        if found[label]:
            bars.append(Bars("", label, found[label], _GREY if colour is None else colour))
        else:
            bars.append(Table("", label, [""], [["No weights above 0."]]))
    left = len(order) - len(bars)
    rest = [Note(f"{left:,} more labels are not shown.", faint=True)] if left else []
    return Section("Observations", [Note(said), Extra("strongest", "", found), SideBySide(bars), *rest])


def _likely(symbols: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Without symbols that are only there by smoothing, all equally improbable."""
    return [(name, p) for name, p in symbols if p > _NEGLIGIBLE * symbols[0][1]]


def _labels(tagger: Tagger) -> Section:
    counts, weights = _counts(tagger.facts_.get("label_counts")), tagger.weights_
    active = np.count_nonzero(weights.shape.mu(weights.full()), axis=0).tolist()
    total = max(sum(counts.values()), 1)
    rows = [
        [label, *([counts.get(label, 0), Share(counts.get(label, 0) / total)] if counts else []), n]
        for label, n in zip(tagger.labels_, active)
    ]
    header = ["label", *(["tokens in training", "share"] if counts else []), "unigram weights ≠ 0"]
    if counts:
        rows.sort(key=lambda row: -row[1])
    return Section("Labels", [Table("labels", "", header, rows)])


def _patterns(tagger: Tagger) -> Section:
    active = tagger.active_by_pattern()
    kept: Counter[int] = Counter()
    for which in ("u", "b"):
        kept.update(tagger.extractor_.pattern_of(which).tolist())
    seen = _counts(tagger.facts_.get("observations_by_pattern"))
    rows = [
        [
            pattern.text,
            *([seen.get(pattern.text, 0)] if seen else []),
            kept[p],
            *active.get(pattern.text, (0, 0)),
        ]
        for p, pattern in enumerate(tagger.extractor_.patterns)
    ]
    said = (
        f"The patterns of the tagger. Every observation has {len(tagger.labels_):,} unigram weights, one per label, "
        "or as many bigram weights as there are pairs of labels. Observations whose weights are all 0 are not kept."
    )
    header = ["pattern", *(["observations in training"] if seen else [])]
    header += ["kept", "unigram weights ≠ 0", "bigram weights ≠ 0"]
    return Section("Patterns", [Note(said), Table("patterns", "", header, rows)])


def _looks_at(pattern: Pattern, structure: str) -> bool:
    looks = [field.look for field in pattern.fields]
    return any(look.view in ("class", "path", "vector") and look.argument == structure for look in looks)


def _structures(tagger: Tagger) -> Section:
    """The word classes and vectors that patterns use."""
    active = tagger.active_by_pattern()
    rows = []
    for name, structure in tagger.extractor_.structures.items():
        using = [pattern for pattern in tagger.extractor_.patterns if _looks_at(pattern, name)]
        if isinstance(structure, WordClasses):
            what = f"word classes: {len(structure):,} words, {structure.n_classes:,} classes"
        else:
            what = f"word vectors: {len(structure):,} words, {structure.dimension:,} numbers each"
        n = sum(sum(active.get(pattern.text, (0, 0))) for pattern in using)
        rows.append([name, what, "  ·  ".join(pattern.text for pattern in using), n])
    said = "Structure learned from unlabelled text, which the patterns use."
    table = Table("structures", "", ["name", "what", "patterns", "weights ≠ 0"], rows)
    return Section("Classes and vectors", [Note(said), table])
