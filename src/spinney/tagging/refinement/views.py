"""Views of a refinement HMM: its facts, its hidden states in words, and why words have their labels."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import ReadReport
from spinney.errors import InputError, SettingError
from spinney.model import FACTS
from spinney.tagging.scoring import batches_of
from spinney.views import Extra, Facts, Note, Share, Table, View

if TYPE_CHECKING:
    from spinney.tagging.refinement.tagger import RefinementTagger

_SHOWN = (
    "method", "sentences", "tokens", "labels", "states", "words", "classes", "parameters", "iterations",
    "log_likelihood", "skipped", "interrupted", "seconds", "tokens_per_second",
)  # fmt: skip
_NAMES = {key: FACTS.get(key, key.replace("_", " ")) for key in _SHOWN} | {
    "states": "hidden states per label",
    "words": "different words",
    "classes": "classes of rare words",
}
_COMMON = 200  # words of a label, most probable first, that may describe a direction
_OTHER = ("phrases", "force", "threshold", "scheme")


def refuse_other(s: Any) -> None:
    """Refuse what only other taggers can do."""
    for name in _OTHER:
        if getattr(s, name, None) not in (None, False):
            raise SettingError(f"{{{name}}} is not for a refinement model: leave it out")
    if getattr(s, "nbest", 1) > 1:
        raise SettingError("{nbest} is not for a refinement model: leave it out")
    if s.decoding != "viterbi":
        raise SettingError(
            "{decoding} is not for a refinement model, which always gives the best label of each token"
        )


def facts_view(tagger: RefinementTagger) -> Facts:
    """The facts of a fit."""
    return Facts("facts", "", tagger.facts, _NAMES)


class State(NamedTuple):
    """A hidden state of a label: its share of the places of the label, and what is typical of it."""

    label: str
    state: int
    share: float
    words: list[str]
    next: list[str]


class Direction(NamedTuple):
    """A coordinate of the hidden states of a label: the words at its ends."""

    label: str
    direction: int
    high: list[str]
    low: list[str]


def inspection(tagger: RefinementTagger, s: Any) -> list[View]:
    """What ``inspect`` shows."""
    if tagger.operators.D.ndim == 2:
        states = hidden_states(tagger, s.top)
        rows = [
            [one.label, one.state, Share(one.share), ", ".join(one.words), ", ".join(one.next)]
            for one in states
        ]
        title = "Hidden states of each label, with what is typical of them"
        table = Table("", title, ["label", "state", "share", "words", "next labels"], rows)
        return [facts_view(tagger), table, Extra("states", "", [one._asdict() for one in states])]
    found = directions(tagger, s.top)
    note = Note("Hidden states from moments are coordinates without a meaning of their own.")
    cells = [[one.label, one.direction, ", ".join(one.high), ", ".join(one.low)] for one in found]
    ends = Table(
        "", "Words at the ends of the directions", ["label", "direction", "one end", "the other"], cells
    )
    return [facts_view(tagger), note, ends, Extra("directions", "", [one._asdict() for one in found])]


def hidden_states(tagger: RefinementTagger, top: int) -> list[State]:
    """The states of each label after EM: words, classes of rare words and next labels that it has more than others."""
    ops, (A, m) = tagger.operators, tagger.operators.start.shape
    moves = ops.S.reshape(A, m, A, m).sum(axis=3)
    found = []
    for a, label in enumerate(tagger.labels_):
        pairs, names = _emitted(tagger, a)
        law = ops.D[pairs]
        excess = law * np.log(np.maximum(law, 1e-300) / np.maximum(law @ ops.before[a], 1e-300)[:, None])
        onward = moves[a] * np.log(
            np.maximum(moves[a], 1e-300) / np.maximum(ops.before[a] @ moves[a], 1e-300)
        )
        for number, h in enumerate(np.argsort(-ops.before[a], kind="stable").tolist(), start=1):
            best = [names[i] for i in _largest(excess[:, h], top)]
            following = [tagger.labels_[b] for b in _largest(onward[h], 3)]
            found.append(State(label, number, float(ops.before[a, h]), best, following))
    return found


def directions(tagger: RefinementTagger, top: int) -> list[Direction]:
    """The words at the ends of each coordinate of E[Z | label, word], among the most frequent words of each label."""
    ops = tagger.operators
    found = []
    for a, label in enumerate(tagger.labels_):
        pairs, names = _emitted(tagger, a)
        seen = np.einsum("kij,j->ki", ops.D[pairs], ops.after[a])
        chance = seen @ ops.before[a]
        some = np.argsort(-chance, kind="stable")[:_COMMON]
        some = some[chance[some] > 0]
        if len(some) < 2:
            continue
        means = seen[some] / chance[some, None]
        for k in range(means.shape[1]):
            order = np.argsort(means[:, k], kind="stable")
            if means[order[0], k] == means[order[-1], k]:
                continue
            low, high = ([names[some[i]] for i in part[:top]] for part in (order, order[::-1]))
            found.append(Direction(label, k + 1, high, low))
    return found


def _emitted(tagger: RefinementTagger, label: int) -> tuple[NDArray[np.int64], list[str]]:
    """The pairs of a label with a word or a class of rare words, and what these are called."""
    ops, symbols = tagger.operators, tagger.symbols
    symbol = np.repeat(np.arange(len(symbols)), np.diff(ops.D_ptr))
    pairs = np.flatnonzero((ops.D_label == label) & (symbol > 0))
    names = [*symbols.words, *(f"({name})" for name in symbols.classes)]
    return pairs, [names[x - 1] for x in symbol[pairs].tolist()]


def _largest(values: NDArray[np.float64], top: int) -> list[int]:
    best = np.argsort(-values, kind="stable")[:top]
    return [int(i) for i in best if values[i] > 0]


def explained(tagger: RefinementTagger, data: Any, s: Any) -> list[View]:
    """What each word alone says about its label, and what the sentence makes of it."""
    words = list(islice(_sentences(tagger, data, s), s.documents))
    if not words:
        raise InputError("no sentences to explain")
    views: list[View] = [
        Note(
            "p: probability of the label in the sentence. Rival: the next best label there. Alone: the label that the "
            "word has most often."
        )
    ]
    header = ["word", "known as", "label", "p", "rival", "its p", "alone", "p alone"]
    keys = [
        "word",
        "known_as",
        "label",
        "probability",
        "rival",
        "rival_probability",
        "alone",
        "alone_probability",
    ]
    names = ["(unknown word)", *tagger.symbols.words, *(f"({name})" for name in tagger.symbols.classes)]
    every = []
    for number, sentence in enumerate(words, start=1):
        ids, mu = tagger.symbols.encode(sentence), tagger.marginals(sentence)
        rows: list[list[Any]] = []
        for word, x, law in zip(sentence, ids, mu):
            alone = tagger.operators.of_word(x)
            best, *others = np.argsort(-law, kind="stable")[:2].tolist()
            rival = [(tagger.labels_[a], float(law[a])) for a in others if law[a] > 0] or [("–", 0.0)]
            usual = int(alone.argmax())
            rows.append(
                [
                    word,
                    names[x],
                    tagger.labels_[best],
                    float(law[best]),
                    *rival[0],
                    tagger.labels_[usual],
                    float(alone[usual]),
                ]
            )
        shown = [[f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row] for row in rows]
        views.append(Table("", f"Sentence {number}", header, shown))
        every.append([dict(zip(keys, row)) for row in rows])
    return [*views, Extra("explained", "", every)]


def _sentences(tagger: RefinementTagger, data: Any, s: Any) -> Any:
    for columns in batches_of(tagger, data, s, ReadReport()):
        words = columns.strings(0)
        yield from (words[a:b] for a, b in pairwise(columns.offsets.tolist()) if b > a)
