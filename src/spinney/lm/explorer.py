"""The likeliest words after frequent contexts, which can be looked up without the model.

A page holds the likeliest continuations of many contexts. Its script looks for the longest of them that ends what was
typed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spinney.lm.model import LanguageModel
from spinney.lm.text import reading_of
from spinney.lm.views import frequent_contexts
from spinney.structure.words import largest
from spinney.views import Explorer

_LONGEST = 6  # maximum number of symbols in a context: nobody types more
_NUMBERS = 10_000_000  # approximate number of probabilities to compute, which limits the number of contexts
_FEWEST, _MOST = 300, 1000  # contexts
_CACHED = 256  # distributions kept at a time


def explorer(model: LanguageModel, k: int = 10) -> Explorer:
    """Frequent contexts with their ``k`` likeliest continuations.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> found = explorer(fit_ngram(text, "witten-bell", order=2), 1)
    >>> context, following, chances = found.contexts[1]
    >>> [found.words[i] for i in (*context, *following)]
    ['<s>', 'a']
    """

    @lru_cache(maxsize=_CACHED)
    def after(symbols: tuple[int, ...]) -> NDArray[np.float64]:
        return model.distribution(np.array(symbols, np.int32))

    # Fewer contexts of a model with very many words, where each takes longer.
    n = min(max(_NUMBERS // model.n_outcomes, _FEWEST), _MOST)
    found = [tuple(symbols) for symbols in frequent_contexts(model, n) if len(symbols) <= _LONGEST]
    found = list(dict.fromkeys([(), *found]))
    number: dict[int, int] = {}

    def numbered(symbol: int) -> int:
        return number.setdefault(symbol, len(number))

    contexts: dict[tuple[int, ...], list[object]] = {}
    # Sorted by their last words, so that contexts with the same ending are together.
    for symbols in sorted(found, key=lambda symbols: symbols[::-1]):
        following = largest(after(symbols), k)
        ends = [after(symbols[i:]) for i in range(len(symbols), -1, -1)]
        chances = [[float(f"{p[i]:.3g}") for p in ends] for i in following]
        contexts[symbols] = [[numbered(i) for i in symbols], [numbered(i) for i in following], chances]
    words = [model.word(i) if i >= 0 else "?" for i in number]
    ordered = [contexts[symbols] for symbols in found]
    return Explorer("", "", words, ordered, lowercase=reading_of(model).lowercase)
