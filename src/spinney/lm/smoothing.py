"""Smoothed n-gram models from a text, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spinney.checking import whole
from spinney.corpus import TokenArrays
from spinney.errors import OptionError, unknown_choice
from spinney.lm.backoff import BackoffModel
from spinney.lm.flat import additive, good_turing
from spinney.lm.interpolation import jelinek_mercer, witten_bell
from spinney.lm.katz import katz
from spinney.lm.kneser_ney import absolute_discounting, kneser_ney, modified_kneser_ney
from spinney.lm.model import LanguageModel
from spinney.lm.pruning import prune_counts as pruned_by_counts
from spinney.lm.stream import refuse_marks, stream_of
from spinney.lm.streamed_kneser_ney import STREAMED, streamed_kneser_ney
from spinney.lm.suffixtrie import SuffixTrie, suffix_trie
from spinney.lm.tables import trie_counts

#: The estimators by name; each takes a trie, a vocabulary and options of its own.
METHODS: dict[str, Callable[..., LanguageModel]] = {
    "modified-kneser-ney": modified_kneser_ney,
    "kneser-ney": kneser_ney,
    "absolute": absolute_discounting,
    "witten-bell": witten_bell,
    "jelinek-mercer": jelinek_mercer,
    "katz": katz,
    "additive": additive,
    "good-turing": good_turing,
}


def fit_ngram(
    text: TokenArrays,
    method: str = "modified-kneser-ney",
    *,
    order: int = 5,
    prune_counts: Sequence[int] | None = None,
    **options: Any,
) -> LanguageModel:
    """Count the grams of a text and smooth them.

    Parameters
    ----------
    text
        Sentences. If unseen words are to have a probability, read them with an unknown symbol.
    method
        One of :data:`METHODS`.
    order
        Words of the longest grams: an order of ``n`` looks back at ``n - 1`` words.
    prune_counts
        Remove the grams of order 1, 2, … that were seen no more often than this, as ``lmplz --prune`` does; see
        :func:`~spinney.lm.pruning.prune_counts`.
    options
        Those of the estimator, such as ``discount=`` of ``"kneser-ney"``.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> model = fit_ngram(text, "kneser-ney", order=3, discount=0.5)
    >>> round(model.perplexity(text).perplexity, 3)
    1.429
    """
    if method not in METHODS:
        raise unknown_choice("method must be", method, METHODS)
    whole("order", order, 1)
    refuse_marks(text)
    model: LanguageModel
    known = {"discount"} if method != "modified-kneser-ney" else set()
    if method in STREAMED and set(options) <= known and prune_counts is None:
        model = streamed_kneser_ney(text, order, method=method, **options)
    else:
        trie = suffix_trie(stream_of(text), len(text.vocabulary), order - 1)
        model = METHODS[method](trie, text.vocabulary, **options)
        if prune_counts is not None:
            model = without_rare(model, trie, prune_counts, method, **options)
    model.facts |= {"method": method, "order": order, "sentences": len(text), "tokens": text.n_tokens}
    return model


def without_rare(
    model: LanguageModel, trie: SuffixTrie, thresholds: Sequence[int], method: str, **options: Any
) -> BackoffModel:
    """The model of a trie without the grams that were seen too rarely; the thresholds are those of each order."""
    if not isinstance(model, BackoffModel):
        raise OptionError(
            "only back-off models can be pruned: this one has no shorter contexts to fall back on"
        )
    # Back-off in the form of Katz gives seen grams nothing of the lower order.
    interpolated = method != "katz" and not options.get("backoff", False)
    return pruned_by_counts(model, trie_counts(trie).count, thresholds, interpolated=interpolated)
