"""Why a token has its class: what the word says, and what the words around it say."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spinney.classes.hidden import HiddenMarkov
from spinney.classes.model import NONE, WordClassModel
from spinney.corpus.text import Tokens, batch_arrays, first_sentences
from spinney.errors import InputError
from spinney.settings.classes import Explain
from spinney.views import Extra, Note, Table, View

_HIDDEN = (
    "The most probable class of each token against its rival, the next: the log-odds are the sum of what the word says "
    "(how much oftener one class gives it) and what the words around it say."
)
_FIXED = "The class of a word, whatever its context: the words beside it in the class are those most like it."


class TokenClass(NamedTuple):
    """A token, its class and its rival, and the log-odds between the two, as a sum of two parts."""

    word: str
    number: int
    probability: float
    rival: int
    log_odds: float
    from_word: float
    from_context: float


def token_classes(model: HiddenMarkov, sentences: list[Tokens], reading: Any) -> list[list[TokenClass]]:
    """Why each token of some sentences has its class.

    P(class | sentence) ∝ P(word | class) × what the other words say of the class, so the log-odds of two classes are a
    sum of the two.
    """
    arrays = batch_arrays(sentences, model.vocabulary_, reading)
    posteriors = np.asarray(model.posteriors(arrays), np.float64)
    emission = model.emission()
    found, at = [], 0
    for tokens in sentences:
        rows = []
        for word in tokens.words:
            chances, gives = posteriors[at], emission[arrays.ids[at]]
            best = int(chances.argmax())
            rival = int(np.where(np.arange(len(chances)) == best, -1.0, chances).argmax())
            odds = _log(chances[best]) - _log(chances[rival])
            own = _log(gives[best]) - _log(gives[rival])
            rows.append(TokenClass(word, best, float(chances[best]), rival, odds, own, odds - own))
            at += 1
        found.append(rows)
    return found


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def explained(model: WordClassModel, data: Any, s: Explain) -> list[View]:
    """A table for each sentence: the class of each token, and why."""
    reading = model.reading(s.words, s.parser)
    if not isinstance(model, HiddenMarkov):
        reading = replace(reading, tree=False, relations=False)
    sentences = [tokens for tokens in first_sentences(data, s, reading, s.documents) if tokens.words]
    if not sentences:
        raise InputError("no sentences to explain")
    views: list[View]
    found: list[Any] = []
    if isinstance(model, HiddenMarkov):
        views = [Note(_HIDDEN)]
        header = ["token", "class", "probability", "rival", "log-odds", "from the word", "from its context"]
        for number, rows in enumerate(token_classes(model, sentences, reading), start=1):
            pairs = dict.fromkeys(k for one in rows for k in (one.number, one.rival))
            words = dict(zip(pairs, model.class_words(list(pairs), min(s.top, 3))))
            named = {k: f"{k} ({', '.join(word for word, _ in some)})" for k, some in words.items()}
            shown = [[one.word, named[one.number], one[2], named[one.rival], *one[4:]] for one in rows]
            views.append(Table("", f"Sentence {number}", header, shown))
            found.append(rows)
        return [*views, Extra("explained", "", found)]
    views = [Note(_FIXED)]
    classes, _ = model.sentence_classes(sentences, reading)
    paths = model.class_paths()
    for number, (tokens, of_tokens) in enumerate(zip(sentences, classes), start=1):
        known = [k for k in dict.fromkeys(of_tokens) if k >= 0]
        words = dict(zip(known, model.class_words(known, s.top)))
        found.append([])
        shown = []
        for word, k in zip(tokens.words, of_tokens):
            path = paths[k] if paths is not None and k >= 0 else None
            others = [other for other, _ in words[k] if other != word] if k >= 0 else []
            shown.append([word, NONE if k < 0 else k, path or "", ", ".join(others)])
            found[-1].append({"word": word, "number": None if k < 0 else k, "path": path, "words": others})
        views.append(Table("", f"Sentence {number}", ["token", "class", "path", "words of the class"], shown))
    return [*views, Extra("explained", "", found)]
