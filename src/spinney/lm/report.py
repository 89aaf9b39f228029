"""The page of a language model: its size by order, what matters most in it, and what comes after its contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import sentence_arrays
from spinney.errors import InputError, OptionError
from spinney.lm.explorer import explorer
from spinney.lm.model import LanguageModel
from spinney.lm.scores import TextScores
from spinney.lm.scoring import read_sentences
from spinney.lm.stream import END, START
from spinney.lm.text import reading_of
from spinney.lm.views import KINDS, NAMES, explored, model_facts, size_view, strongest
from spinney.optim.paths import how_chosen
from spinney.settings.report import Report
from spinney.structure.words import short
from spinney.views import Bars, Columns, Extra, Facts, Note, Section, Table, Token, Tokens, View

_CONTEXTS = 100  # in a table
_LISTED = 6  # words after each of them
_TOKENS = 200  # of a sentence that are shown
_BITS = (2, 5, 8, 12)  # where the shades change


def report(model: LanguageModel, data: Any, s: Report) -> list[View]:
    """What the page shows; ``data`` is a file of text, or sentences.

    Examples
    --------
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> views = report(fit_ngram(text, "witten-bell", order=2), [["a", "rose"]], Report())
    >>> [view.title for view in views if isinstance(view, Section)]
    ['Text', 'Losses', 'What comes next', 'Size by order', 'Contexts with the surest predictions']
    """
    kind = KINDS[model.kind]
    views: list[View] = [
        Note(
            f"A language model ({kind}): the probability of each word or sentence end, given the words before it."
        ),
        Facts("facts", "", model_facts(model), NAMES),
    ]
    if data is not None:
        views += _read_text(ReadText.of(model, _sentences(model, data, s)), s.documents)
    if model.units.are_words:  # what is typed is divided at spaces
        views.append(Section("What comes next", _explorer(model)))
    views += how_chosen(model.facts.get("tuning"), chosen=model.facts.get("lam"))
    size = size_view(model)
    if size is not None:
        grams = Bars("", "", [(str(row[0]), float(row[2])) for row in size.rows])
        views.append(Section(size.title, [Columns([replace(size, title=""), grams])]))
    views += [Section(view.title, [replace(view, title="")]) for view in strongest(model, s.top) if view.rows]
    parts = [view for name, part in model.components().items() for view in _part(name, part, s.top)]
    return [*views, Section("Parts", parts)] if parts else views


def _part(name: str, part: LanguageModel, top: int) -> list[View]:
    """A model inside the model."""
    views = [size_view(part), *strongest(part, min(top, 10))]
    tables = [replace(view, key="", title="") for view in views if view and view.rows]
    return [Section(f"{name}: {KINDS[part.kind]}", tables or [Note("This part has no tables.", faint=True)])]


def _explorer(model: LanguageModel) -> list[View]:
    """A box to type into, and the most frequent contexts in a table."""
    rows = [
        [context, "  ·  ".join(f"{short(word)} {p:.1%}" for word, p in words)]
        for context, words in explored(model, _CONTEXTS, _LISTED)
    ]
    found = explorer(model)
    said = (
        "Type some words to see what comes next. The page uses the longest final part of them that is among its "
        f"{len(found.contexts):,} frequent contexts. <s> is the start of a sentence, </s> its end. A bar is the "
        "probability after all these words, and the paler ones below it are those after fewer of them, down to none: "
        "they show what each word of the context contributes. Click a word to continue with it."
    )
    return [Note(said), found, Table("", "Frequent contexts", ["after", "likeliest next"], rows)]


# ------------------------------------------------------------------------------------------------ a text


@dataclass(frozen=True, eq=False)
class ReadText:
    """Sentences that a model read, and what it made of them."""

    sentences: Sequence[Sequence[str]]
    scores: TextScores
    depths: NDArray[np.int32] | None

    @classmethod
    def of(cls, model: LanguageModel, sentences: Sequence[Sequence[str]]) -> ReadText:
        """Let a model read."""
        arrays = sentence_arrays(sentences, vocabulary=model.reading_vocabulary)
        scores = TextScores.of(model, arrays)
        depths = None
        with suppress(OptionError):  # a model without contexts
            depths = model.match_depths(scores.stream)
        return cls(sentences, scores, depths)

    def losses(self, i: int) -> tuple[list[float], list[int] | None]:
        """Bits of each word of a sentence and of its end, and the length of the matched context, if known."""
        start = sum(len(words) + 1 for words in self.sentences[:i])
        stop = start + len(self.sentences[i]) + 1
        bits = -self.scores.logprobs[start:stop] / math.log(2.0)
        return bits.tolist(), None if self.depths is None else self.depths[start:stop].tolist()


def _sentences(model: LanguageModel, data: Any, s: Report) -> Sequence[Sequence[str]]:
    sentences = read_sentences(data, s, reading_of(model, parser=s.parser))
    if not sentences:
        raise InputError("there are no sentences", path=data if isinstance(data, str) else None)
    return [model.units.split(words) for words in sentences]


_SCORES = {
    "perplexity": "perplexity", "bits": "bits per word", "perplexity_without_ends": "perplexity without ends",
    "perplexity_without_unknown": "perplexity without unknown words", "scored": "scored", "unknown": "unknown words",
    "sentences": "sentences",
}  # fmt: skip


def _read_text(read: ReadText, n: int) -> list[View]:
    found = read.scores.facts()
    bits = math.log2(found["perplexity"]) if math.isfinite(found["perplexity"]) else math.inf
    shown = min(n, len(read.sentences))
    said = (
        f"{shown:,} of {len(read.sentences):,} sentences, words shaded by their loss in bits. Point at a word to see "
        "its loss and the part of its context that the model has seen."
    )
    bounds = [
        f"below {_BITS[0]}",
        *(f"{low} to {high}" for low, high in pairwise(_BITS)),
        f"{_BITS[-1]} and more",
    ]
    legend = Tokens("", "", [Token(name, shade=i) for i, name in enumerate(bounds)])
    lines = [_line(read, i) for i in range(shown)]
    losses = [read.scores.by_depth(read.depths)] if read.depths is not None else []
    with suppress(OptionError):  # a model that does not know how often words were seen
        losses.append(read.scores.by_frequency())
    return [
        Facts("", "", {"perplexity of the text": found["perplexity"]}),
        Extra("documents", "", len(read.sentences)),
        Section("Text", [Facts("scores", "", {**found, "bits": bits}, _SCORES), Note(said), legend, *lines]),
        Section("Losses", [Columns(losses)]),
    ]


def _line(read: ReadText, i: int) -> Tokens:
    """A sentence, its words shaded."""
    bits, depths = read.losses(i)
    words = [*read.sentences[i], END][:_TOKENS]
    tokens = []
    for t, word in enumerate(words):
        note = f"{bits[t]:.1f} bits" if math.isfinite(bits[t]) else "impossible"
        if depths is not None:
            before = [START, *words[:t]][t + 1 - depths[t] :]
            note += f"; matched context: {' '.join(map(short, before)) or 'none'}"
        shade = sum(bits[t] >= bound for bound in _BITS)
        tokens.append(Token(word, note=note, shade=shade, faint=t == len(read.sentences[i])))
    return Tokens("", "", tokens, more=len(read.sentences[i]) + 1 - len(words))
