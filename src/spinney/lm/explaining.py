"""Which part of the context gave how much of a word's probability, in base-10 logarithms that add up.

- A back-off model has the probability of the longest n-gram that it knows, and the back-off weights of the longer
  contexts in which the word was never seen.
- A log-linear model has the scores of the active suffixes of the context, and the logarithm of its normaliser.
- Of every other model, the probability is found without context, after the last word, after the last two, and so on:
  each longer context adds the difference that it makes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spinney.errors import InputError
from spinney.lm.backoff import BackoffModel
from spinney.lm.loglinear import LogLinearModel
from spinney.lm.model import LanguageModel
from spinney.lm.scoring import read_sentences
from spinney.lm.stream import END, Ids
from spinney.lm.text import reading_of
from spinney.lm.views import in_words
from spinney.views import Extra, Note, Table, View

_LOG10 = math.log(10.0)
_ROUNDING = 1e-9  # smaller differences are not those of contexts
_CONTEXT = 4  # words of context that are told apart where a model has no order of its own
_SAID = (
    "log10 p is the sum of the contributions. Contexts are in brackets: (…) is no context, and a back-off weight is the"
    " cost of a context after which the word was never seen."
)


class WordExplanation(NamedTuple):
    """A word, log10 of its probability, the words of the longest context that matters, and what adds up to it."""

    word: str
    log10: float
    matched: int
    contributions: list[tuple[str, float]]


def explained(model: LanguageModel, data: Any, s: Any) -> list[View]:
    """A table for each sentence: words, their probabilities, and where these come from."""
    sentences = read_sentences(data, s, reading_of(model, s.words, s.parser))[: s.documents]
    if not sentences:
        raise InputError("no sentences to explain")
    views: list[View] = [Note(_SAID)]
    found = []
    for number, words in enumerate(sentences, start=1):
        every = word_explanations(model, model.units.split(words))
        rows = [
            [
                one.word,
                one.log10,
                one.matched,
                " · ".join(f"{n} {v:+.3g}" for n, v in one.contributions[: s.top]),
            ]
            for one in every
        ]
        views.append(Table("", f"Sentence {number}", ["word", "log10 p", "matched", "contributions"], rows))
        found.append([{**one._asdict(), "contributions": one.contributions[: s.top]} for one in every])
    return [*views, Extra("explained", "", found)]


def word_explanations(model: LanguageModel, words: Sequence[str]) -> list[WordExplanation]:
    """Where the probability of each word of a sentence, and last of its end, comes from.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> model = fit_ngram(text, "witten-bell", order=2)
    >>> [(one.word, one.matched, [name for name, _ in one.contributions]) for one in word_explanations(model, ["a"])]
    [('a', 1, ['(<s>)']), ('</s>', 0, ['(…)', 'back-off of (a)'])]
    """
    stream = model.stream([list(words)])
    logs = model.event_logprobs(stream) / _LOG10
    symbols = [*words, END]
    found = []
    for e, place in enumerate(stream.events.tolist()):
        history, log10 = np.ascontiguousarray(stream.ids[:place]), float(logs[e])
        if not math.isfinite(log10):
            found.append(WordExplanation(symbols[e], log10, 0, []))
            continue
        number = int(stream.ids[place])
        if isinstance(model, BackoffModel):
            matched, parts = _backed_off(model, history, number)
        elif isinstance(model, LogLinearModel):
            matched, parts = _log_linear(model, history, number, log10)
        else:
            matched, parts = _by_order(model, history, number, log10)
        found.append(WordExplanation(symbols[e], log10, matched, parts))
    return found


def _context(model: LanguageModel, history: Ids, n: int) -> str:
    return f"({in_words(model, history[len(history) - n :].tolist()) if n else '…'})"


def _backed_off(model: BackoffModel, history: Ids, word: int) -> tuple[int, list[tuple[str, float]]]:
    contexts = model.table.contexts_after(history)
    depth, logp = 0, float(model.logp[word])
    for d, context in enumerate(contexts):
        grams = slice(int(model.table.gram_ptr[context]), int(model.table.gram_ptr[context + 1]))
        here = np.flatnonzero(model.table.symbol[grams] == word)
        if len(here):
            depth, logp = d, float(model.logp[grams][here[0]])
    parts = [(_context(model, history, depth), logp / _LOG10)]
    for d in range(depth + 1, len(contexts)):
        name = f"back-off of {_context(model, history, d)}"
        parts.append((name, float(model.backoff[contexts[d]]) / _LOG10))
    return depth, parts


def _log_linear(
    model: LogLinearModel, history: Ids, word: int, log10: float
) -> tuple[int, list[tuple[str, float]]]:
    parts, matched = [], 0
    for length, theta in model.active_scores(history, word):
        parts.append((_context(model, history, length), theta / _LOG10))
        matched = max(matched, length)
    return matched, [*parts, ("normaliser", log10 - sum(value for _, value in parts))]


def _by_order(
    model: LanguageModel, history: Ids, word: int, log10: float
) -> tuple[int, list[tuple[str, float]]]:
    parts, before, matched = [], 0.0, 0
    for n in range(min(len(history), _CONTEXT) + 1):
        whole = n == len(history)
        p = (
            math.exp(log10 * _LOG10)
            if whole
            else float(model.distribution(history[len(history) - n :])[word])
        )
        value = log10 if whole else math.log10(p) if p > 0 else -math.inf
        if not math.isfinite(value):  # a model that says nothing of so short a context
            continue
        if abs(value - before) > _ROUNDING:
            matched = n
        parts.append((_context(model, history, n), value - before))
        before = value
    if abs(log10 - before) > _ROUNDING:
        parts.append(("longer contexts", log10 - before))
        matched = len(history)
    return matched, parts
