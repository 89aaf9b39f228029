"""The explorer of a language model: type some words, and see what comes next. It works without the model.

A page holds the likeliest continuations of many contexts. The script looks for the longest of them that ends what was
typed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.lm.model import LanguageModel
from spinney.lm.views import frequent_contexts
from spinney.report.page import Html, escape
from spinney.structure.words import largest

_LONGEST = 6  # symbols of a context: more are not typed
_NUMBERS = 10_000_000  # probabilities that are looked at, about: so many contexts as fit
_FEWEST, _MOST = 300, 1000  # contexts
_CACHED = 256  # distributions kept at a time


def _n_explored(model: LanguageModel) -> int:
    """How many contexts a page holds: fewer of a model with very many words, where each takes longer."""
    return min(max(_NUMBERS // model.n_outcomes, _FEWEST), _MOST)


def explorer(found: Mapping[str, Any], *, lowercase: bool = False) -> Html:
    """A box to type into, with what comes next below it.

    Parameters
    ----------
    found
        Of :func:`exploration`.
    lowercase
        Whether the model read its text in lower case; so is then what one types.

    Examples
    --------
    >>> explorer({"words": ["rose"], "contexts": [[[], [0], [[0.5]]]]}).startswith('<div class="explorer"')
    True
    """
    data = json.dumps({**found, "lowercase": lowercase}, ensure_ascii=False, separators=(",", ":"))
    return Html(
        f'<div class="explorer" data-explorer="{escape(data)}" hidden>\n<label>Words before '
        '<input type="text" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="type some words">'
        '</label>\n<p class="readout" aria-live="polite"></p>\n<table class="bars next"><tbody></tbody></table>\n'
        '<template><svg class="bar c0" aria-hidden="true"><rect fill="currentColor"/></svg></template></div>\n'
    )


def exploration(model: LanguageModel, k: int = 10) -> dict[str, Any]:
    """Contexts with their likeliest continuations, as plain values.

    ``words`` are those that occur. Each of ``contexts`` is the numbers of its words, the numbers of ``k``
    continuations, and for each of these its probabilities after none of the words, the last one, … and all.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> found = exploration(fit_ngram(text, "witten-bell", order=2), 1)
    >>> context, following, chances = found["contexts"][1]
    >>> [found["words"][i] for i in (*context, *following)]
    ['<s>', 'a']
    """

    @lru_cache(maxsize=_CACHED)
    def after(symbols: tuple[int, ...]) -> NDArray[np.float64]:
        return model.distribution(np.array(symbols, np.int32))

    found = [
        tuple(symbols) for symbols in frequent_contexts(model, _n_explored(model)) if len(symbols) <= _LONGEST
    ]
    found = list(dict.fromkeys([(), *found]))
    number: dict[int, int] = {}

    def numbered(symbol: int) -> int:
        return number.setdefault(symbol, len(number))

    contexts: dict[tuple[int, ...], list[object]] = {}
    # In the order of their last words, so that what ends alike comes together.
    for symbols in sorted(found, key=lambda symbols: symbols[::-1]):
        following = largest(after(symbols), k)
        ends = [after(symbols[i:]) for i in range(len(symbols), -1, -1)]
        chances = [[float(f"{p[i]:.3g}") for p in ends] for i in following]
        contexts[symbols] = [[numbered(i) for i in symbols], [numbered(i) for i in following], chances]
    words = [model.word(i) if i >= 0 else "?" for i in number]
    return {"words": words, "contexts": [contexts[symbols] for symbols in found]}
