"""Tokens of words in their sentences, on one map with words out of context (Grave 2014, figure 2.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from spinney.classes.hidden import HiddenMarkov
from spinney.classes.model import WordClassModel
from spinney.corpus import ReadReport
from spinney.corpus.text import Tokens, batch_arrays, sentence_batches, warn_of_skipped
from spinney.errors import InputError, OptionError, about
from spinney.structure.classviews import Floats

_BESIDE = 5  # words of the sentence that are shown on either side


class TokenInContext(NamedTuple):
    """A token: its word, its sentence, its place there, and P(class | the sentence)."""

    word: str
    sentence: list[str]
    place: int
    posterior: Floats

    def shown(self) -> str:
        """The token with the words around it.

        Examples
        --------
        >>> TokenInContext("head", "she is the head of the team".split(), 3, np.ones(1)).shown()
        'she is the [head] of the team'
        """
        start, stop = max(0, self.place - _BESIDE), self.place + _BESIDE + 1
        marked = [f"[{w}]" if i == self.place else w for i, w in enumerate(self.sentence[start:stop], start)]
        return " ".join(["…"] * (start > 0) + marked + ["…"] * (stop < len(self.sentence)))


def tokens_in_context(
    model: WordClassModel, data: Any, words: Sequence[str], most: int, s: Any
) -> list[TokenInContext]:
    """The first tokens of each of some words in a text, at most ``most`` of each, with their posteriors.

    Parameters
    ----------
    model
        A hidden Markov model.
    data
        A file, read as ``s`` says (settings of :class:`spinney.settings.text.TextFiles` and ``parser``), or a list of
        sentences.
    words
        Words as the model has them.

    Examples
    --------
    >>> from spinney.classes import fit
    >>> from spinney.settings.classes import Plot
    >>> text = ["the dog barks".split(), "a dog sleeps".split(), "the cat sleeps".split()]
    >>> model = fit(text * 5, method="hmm", classes=3, passes=1, threads=1)
    >>> [one.shown() for one in tokens_in_context(model, text, ["dog"], 10, Plot())]
    ['the [dog] barks', 'a [dog] sleeps']
    """
    if not isinstance(model, HiddenMarkov):
        raise OptionError("tokens: this model has one class for each word (fit with the method hmm)")
    reading, report = model.reading(None, s.parser), ReadReport()
    wanted, seen = set(words), Counter[str]()
    found: list[TokenInContext] = []
    with about(data) if isinstance(data, str) else nullcontext():
        for batch in sentence_batches(data, s, reading, report):
            some: list[Tokens] = []
            places: list[tuple[int, int]] = []
            for tokens in batch:
                here = []
                for place, word in enumerate(tokens.words):
                    if word in wanted and seen[word] < most:
                        seen[word] += 1
                        here.append((len(some), place))
                if here:
                    some.append(tokens)
                    places += here
            if not some:
                continue
            arrays = batch_arrays(some, model.vocabulary, reading)
            posteriors = np.asarray(model.posteriors(arrays), np.float64)
            for i, place in places:
                row = posteriors[arrays.offsets[i] + place]
                found.append(TokenInContext(some[i].words[place], list(some[i].words), place, row))
            if all(seen[word] >= most for word in wanted):
                break
    warn_of_skipped(report)
    missing = [word for word in words if not seen[word]]
    if missing:
        raise InputError(
            f"{missing[0]!r} does not occur in the text", path=data if isinstance(data, str) else None
        )
    return found
