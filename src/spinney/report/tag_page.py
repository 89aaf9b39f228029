"""The page of a tagger: its labels and what follows what, the observations that speak for them, and some sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.evaluate import tagging_scores
from spinney.report.charts import heat_map
from spinney.report.page import (
    Html,
    Page,
    Section,
    bars,
    colour,
    columns,
    escape,
    facts,
    heading,
    joined,
    paragraph,
    table,
)
from spinney.report.path_page import chosen_section
from spinney.structure import WordClasses
from spinney.structure.words import largest
from spinney.tagging import Tagger
from spinney.tagging.columns import Columns
from spinney.tagging.patterns import Pattern
from spinney.tagging.summary import hmm_laws, label_pairs

_LABELS = 50  # whose observations are shown
_MATRIX = 40  # labels of a heat map at most
_NEGLIGIBLE = 1e-3  # the share of the likeliest symbol below which none is told
_ERRORS = 15  # pairs of labels
_TOKENS = 120  # of a sentence that are shown

_KINDS = {
    "crf": "conditional random field",
    "memm": "maximum-entropy Markov model",
    "hmm": "hidden Markov model",
}
_FACTS = {
    "sentences": "sentences", "tokens": "tokens", "labels": "labels", "observations": "observations",
    "parameters": "weights", "active": "weights ≠ 0", "penalty": "penalty", "solver": "solver",
    "iterations": "iterations", "objective": "objective", "violation": "violation", "converged": "converged",
    "dev_token_error": "token error on --dev", "seconds": "seconds", "tokens_per_second": "tokens a second",
}  # fmt: skip
_SCORES = {
    "accuracy": "right tokens", "token_error": "wrong tokens", "sequence_error": "sentences with an error",
    "precision": "precision", "recall": "recall", "f1": "F1",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tagged:
    """Sentences that a tagger labelled: their words, its labels, how sure it was, and the right labels if known."""

    words: list[list[str]]
    labels: list[list[str]]
    chances: list[list[float]]
    gold: list[list[str]] | None = None

    @classmethod
    def of(cls, tagger: Tagger, data: Columns, *, labelled: bool) -> Tagged:
        """Label sentences; ``labelled`` says that the last column holds the right labels."""
        found = list(tagger.label_columns_with_probabilities(data.without_last() if labelled else data))
        bounds = list(pairwise(data.offsets.tolist()))

        def cells(column: int) -> list[list[str]]:
            strings = data.strings(column)
            return [strings[a:b] for a, b in bounds]

        labels, chances = [one[0] for one in found], [one[1] for one in found]
        return cls(cells(0), labels, chances, cells(-1) if labelled else None)

    @cached_property
    def scores(self) -> dict[str, Any] | None:
        """What ``eval`` says."""
        return None if self.gold is None else tagging_scores(self.gold, self.labels)

    def chosen(self, n: int) -> list[int]:
        """Which sentences to show: those with the surest errors, up to half of them, then the first; in their order."""
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


def tag_page(
    tagger: Tagger, title: str, tried: Tagged | None = None, *, documents: int = 10, top: int = 20
) -> Page:
    """The whole page.

    Parameters
    ----------
    tagger
        A fitted one.
    title
        Of the page.
    tried
        Sentences that it labelled.
    documents
        How many of them to show.
    top
        How many observations a label.

    Examples
    --------
    >>> X, y = [["the", "dog", "barks"], ["a", "dog", "sleeps"]], [["D", "N", "V"], ["D", "N", "V"]]
    >>> page = tag_page(Tagger("U:%x[0,0]\\nB", lam=0.1).fit(X, y), "dogs")
    >>> [section.title for section in page.sections]
    ['Transitions', 'Observations', 'Labels', 'Patterns']
    """
    known: dict[str, object] = {"kind": _KINDS.get(tagger.model, tagger.model)}
    known |= {name: tagger.facts_[key] for key, name in _FACTS.items() if _plain(tagger.facts_.get(key))}
    sections = []
    if tried is not None:
        if tried.scores is not None:
            main = "f1" if "f1" in tried.scores else "accuracy"
            known[f"{_SCORES[main]} on {len(tried.words):,} sentences"] = f"{tried.scores[main]:.2%}"
            sections.append(_scores(tagger, tried))
        if documents:
            sections.append(_sentences(tagger, tried, documents))
    sections += [*_transitions(tagger, top), _observations(tagger, top), _labels(tagger), _patterns(tagger)]
    if tagger.extractor_.structures:
        sections.append(_structures(tagger))
    sections += chosen_section(tagger.facts_.get("tried"), chosen=tagger.lam)
    return Page(
        title,
        f"A tagger ({_KINDS.get(tagger.model, tagger.model)}): a label for each token.",
        known,
        sections,
    )


def _plain(value: object) -> bool:
    """Whether a fact can be shown: a file may hold anything, and counts have no violation."""
    return isinstance(value, str | int | float) and value == value


# -------------------------------------------------------------------------------------------- the model


def _colours(labels: Sequence[str]) -> dict[str, int | None]:
    """A colour for each kind of phrase (B-NP and I-NP are of one) or each label; none for O."""
    kinds = {
        label: label[2:] if label[1:2] == "-" and label[:1] in "BIOESLUMW" else label for label in labels
    }
    number = {kind: k for k, kind in enumerate(sorted(set(kinds.values()) - {"O"}))}
    return {label: number.get(kind) for label, kind in kinds.items()}


def _counts(tagger: Tagger) -> dict[str, int]:
    """How often each label was seen in training, if the file tells."""
    found = tagger.facts_.get("label_counts")
    if not isinstance(found, dict) or not all(isinstance(n, int) for n in found.values()):
        return {}
    return found


def _transitions(tagger: Tagger, top: int) -> list[Section]:
    """What follows what: a heat map of all pairs of labels, and the strongest pairs where more is looked at."""
    pairs, blocks = label_pairs(tagger.weights_, tagger.extractor_), []
    if pairs is not None:
        about, values = _told_pairs(tagger, pairs)
        counts = _counts(tagger)
        weight = np.array([counts.get(label, 0) for label in tagger.labels_], np.float64)
        if not weight.any():
            weight = np.abs(pairs[: len(tagger.labels_)]).sum(axis=1)
        shown = sorted(largest(weight, _MATRIX))
        if len(shown) < len(tagger.labels_):
            about += f" The {len(shown)} labels that matter most, of {len(tagger.labels_)}."
        rows = [*shown, *range(len(tagger.labels_), len(pairs))]
        names = [*tagger.labels_, "(start)"]
        cells = np.ix_(rows, shown)
        blocks += [
            paragraph(about),
            heat_map(
                values[cells].tolist(),
                [names[i] for i in rows],
                [names[i] for i in shown],
                caption="Rows: the label before. Columns: the label.",
            ),
        ]
    if any(tagger.extractor_.patterns[p].fields for p in tagger.extractor_.pattern_of("b").tolist()):
        likely, unlikely = tagger.transitions(top)
        both = (*likely, *reversed(unlikely))
        told = [[f"{before} → {label}", seen, weight] for seen, before, label, weight in both]
        blocks += [heading("Strongest pairs"), table(["labels", "where is seen", "weight"], told)]
    return [Section("Transitions", blocks)] if blocks else []


def _told_pairs(tagger: Tagger, pairs: NDArray[np.float64]) -> tuple[str, NDArray[np.float64]]:
    if tagger.model == "hmm":
        return "The probability of each label after another.", hmm_laws(tagger.weights_)[0]
    if tagger.model == "memm":
        chances = np.exp(pairs - pairs.max(axis=1, keepdims=True))
        about = "The probability of each label after another, at a token of which nothing else is seen."
        return about, chances / chances.sum(axis=1, keepdims=True)
    about = (
        "The weight of each pair of labels at any token: above 0 it speaks for the pair, below 0 against it."
    )
    return about, pairs


def _observations(tagger: Tagger, top: int) -> Section:
    counts, colours = _counts(tagger), _colours(tagger.labels_)
    found: Mapping[str, Sequence[tuple[str, float]]]
    if tagger.model == "hmm":
        chances, names = hmm_laws(tagger.weights_)[1], tagger.extractor_.names("u")
        found = {
            label: _likely([(names[o], float(chances[o, y])) for o in largest(chances[:, y], top)])
            for y, label in enumerate(tagger.labels_)
        }
        about = "The likeliest symbols of each label, with their probability given the label."
    else:
        found = tagger.strongest(top)
        about = "For each label, the observations that speak most for it, with their weights."
    order = sorted(found, key=lambda label: -counts.get(label, 0))  # stable: without counts, as they are
    blocks = [
        joined(
            [
                heading(label),
                bars(found[label], colour_of=_grey(colours[label]))
                if found[label]
                else paragraph("No weights above 0.", faint=True),
            ]
        )
        for label in order[:_LABELS]
    ]
    left = len(order) - len(blocks)
    rest = [paragraph(f"{left:,} more labels are not shown.", faint=True)] if left else []
    return Section("Observations", [paragraph(about), columns(blocks), *rest])


def _likely(symbols: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Without those that are there by smoothing only, all equally improbable."""
    return [(name, p) for name, p in symbols if p > _NEGLIGIBLE * symbols[0][1]]


def _grey(number: int | None) -> int:
    return 7 if number is None else number


def _labels(tagger: Tagger) -> Section:
    counts = _counts(tagger)
    weights = tagger.weights_
    active = np.count_nonzero(weights.shape.mu(weights.full()), axis=0).tolist()
    if not counts:
        rows: list[list[object]] = [[label, n] for label, n in zip(tagger.labels_, active)]
        return Section("Labels", [table(["label", "unigram weights ≠ 0"], rows)])
    total = max(sum(counts.values()), 1)
    rows = [
        [label, counts.get(label, 0), counts.get(label, 0) / total, n]
        for label, n in zip(tagger.labels_, active)
    ]
    rows.sort(key=lambda row: -row[1])  # type: ignore[operator]
    header = ["label", "tokens in training", "share", "unigram weights ≠ 0"]
    return Section("Labels", [table(header, rows)])


def _patterns(tagger: Tagger) -> Section:
    active = tagger.active_by_pattern()
    kept: Counter[int] = Counter()
    for which in ("u", "b"):
        kept.update(tagger.extractor_.pattern_of(which).tolist())  # type: ignore[arg-type]
    seen = tagger.facts_.get("observations_by_pattern")
    seen = seen if isinstance(seen, dict) and all(isinstance(n, int) for n in seen.values()) else {}
    rows = []
    for p, pattern in enumerate(tagger.extractor_.patterns):
        unigrams, bigrams = active.get(pattern.text, (0, 0))
        rows.append(
            [pattern.text, *([seen.get(pattern.text, 0)] if seen else []), kept[p], unigrams, bigrams]
        )
    n_labels = len(tagger.labels_)
    about = (
        f"What the tagger looks at. Every observation has {n_labels:,} unigram weights, one a label, or as many bigram "
        "weights as there are pairs of labels. Observations whose weights are all 0 are not kept."
    )
    header = ["pattern", *(["observations in training"] if seen else [])]
    header += ["kept", "unigram weights ≠ 0", "bigram weights ≠ 0"]
    return Section("Patterns", [paragraph(about), table(header, rows)])


def _looks_at(pattern: Pattern, structure: str) -> bool:
    looks = [field.look for field in pattern.fields]
    return any(look.view in ("class", "path", "vector") and look.argument == structure for look in looks)


def _structures(tagger: Tagger) -> Section:
    """The word classes and vectors that patterns look at."""
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
    about = "Structure learnt from text without labels, which the patterns look at."
    return Section(
        "Classes and vectors", [paragraph(about), table(["name", "what", "patterns", "weights ≠ 0"], rows)]
    )


# ----------------------------------------------------------------------------------------- the sentences


def _scores(tagger: Tagger, tried: Tagged) -> Section:
    assert tried.scores is not None
    assert tried.gold is not None
    told: dict[str, object] = {
        name: f"{tried.scores[key]:.2%}" for key, name in _SCORES.items() if key in tried.scores
    }
    told |= {"sentences": len(tried.words), "tokens": sum(map(len, tried.words))}
    blocks = [facts(told)]
    if "types" in tried.scores:
        rows = [
            [kind, row["phrases"], row["found"], row["precision"], row["recall"], row["f1"]]
            for kind, row in tried.scores["types"].items()
        ]
        blocks.append(table(["type", "phrases", "found", "precision", "recall", "F1"], rows))
    wrong = Counter(
        (right, label)
        for gold, labels in zip(tried.gold, tried.labels)
        for right, label in zip(gold, labels)
        if right != label
    )
    if wrong:
        rows = [[right, label, n] for (right, label), n in wrong.most_common(_ERRORS)]
        blocks += [heading("Commonest errors"), table(["right label", "given", "tokens"], rows)]
    return Section("Scores", blocks)


def _sentences(tagger: Tagger, tried: Tagged, n: int) -> Section:
    chosen = tried.chosen(n)
    about = f"{len(chosen):,} of {len(tried.words):,} sentences. Point at a token for the probability of its label."
    if tried.gold is not None:
        about += " Wrong labels are struck through, the right ones beside them; up to half of the sentences have some."
    colours = _colours(sorted({*tagger.labels_, *(label for gold in tried.gold or [] for label in gold)}))
    return Section("Sentences", [paragraph(about), *(_sentence(tried, i, colours) for i in chosen)])


def _sentence(tried: Tagged, i: int, colours: Mapping[str, int | None]) -> Html:
    gold = tried.gold[i] if tried.gold is not None else tried.labels[i]
    tokens = [
        _token(word, label, chance, right, colours)
        for word, label, chance, right in zip(tried.words[i], tried.labels[i], tried.chances[i], gold)
    ][:_TOKENS]
    left = len(tried.words[i]) - len(tokens)
    rest = f' <span class="faint">… {left:,} more tokens</span>' if left else ""
    return Html(f'<p class="tokens"><b class="faint">{i + 1:,}</b> {" ".join(tokens)}{rest}</p>\n')


def _token(word: str, label: str, chance: float, right: str, colours: Mapping[str, int | None]) -> str:
    note = f"{word}: {label}, probability {chance:.3f}"
    shown = f"<small>{escape(label)}</small>"
    if label != right:
        note += f"; right: {right}"
        shown = f"<small><s>{escape(label)}</s> <b>{escape(right)}</b></small>"
    number = colours.get(label)
    style = "faint" if number is None else colour(number)
    style += " wrong" if label != right else " unsure" if chance < 0.7 else ""
    return f'<span class="token {style}" title="{escape(note)}"><span>{escape(word)}</span>{shown}</span>'
