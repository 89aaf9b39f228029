"""Subtracting discounts from counts: absolute discounting, Kneser-Ney and its modified form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary
from spinney.lm.backoff import BackoffModel
from spinney.lm.discounts import absolute_discount, counts_of_counts, given_discounts, modified_discounts
from spinney.lm.recursion import backed_off, interpolated
from spinney.lm.suffixtrie import Counts, SuffixTrie
from spinney.lm.tables import TrieCounts, trie_counts


def modified_kneser_ney(trie: SuffixTrie, vocabulary: Vocabulary) -> BackoffModel:
    """Interpolated Kneser-Ney smoothing with three discounts per order (Chen and Goodman 1998), as KenLM estimates it.

    Lower orders count in how many ways a gram is preceded; grams that begin a sentence keep their counts. The discounts
    of an order come from its counts of counts, and unigrams are mixed with the uniform distribution.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences, sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> model = fit_ngram(sentence_arrays(sample_sentences(), min_count=2, unknown="<unk>"), order=3)
    >>> [len(discounts) for discounts in model.facts["discounts"]]
    [3, 3, 3]
    """
    counts = trie_counts(trie)
    adjusted = counts.continuations()
    table = counts.table
    discounts = [
        modified_discounts(counts_of_counts(adjusted[table.grams_of(k)], 4), k)
        for k in range(1, table.order + 1)
    ]
    return _discounted(counts, adjusted, np.array(discounts), vocabulary)


def kneser_ney(
    trie: SuffixTrie,
    vocabulary: Vocabulary,
    *,
    discount: float | Sequence[float] | None = None,
    backoff: bool = False,
) -> BackoffModel:
    """Kneser-Ney smoothing with one discount per order, interpolated or, with ``backoff``, in its original form.

    Parameters
    ----------
    discount
        Taken from every count, between 0 and 1: one for all orders, or one for each, words first. None:
        n1 / (n1 + 2 n2) of each order.
    backoff
        Whether seen grams get nothing from the lower order.
    """
    counts = trie_counts(trie)
    adjusted = counts.continuations()
    return _discounted(
        counts, adjusted, _one_discount(counts, adjusted, discount), vocabulary, backoff=backoff
    )


def absolute_discounting(
    trie: SuffixTrie, vocabulary: Vocabulary, *, discount: float | Sequence[float] | None = None
) -> BackoffModel:
    """Interpolated absolute discounting: as :func:`kneser_ney`, but lower orders count as the highest does."""
    counts = trie_counts(trie)
    return _discounted(counts, counts.count, _one_discount(counts, counts.count, discount), vocabulary)


def _one_discount(
    counts: TrieCounts, adjusted: Counts, discount: float | Sequence[float] | None
) -> NDArray[np.float64]:
    """``[order, 3]``, all three the same."""
    table = counts.table
    if discount is not None:
        deltas = given_discounts(discount, table.order)
    else:
        orders = range(1, table.order + 1)
        deltas = [absolute_discount(counts_of_counts(adjusted[table.grams_of(k)], 2), k) for k in orders]
    return np.repeat(np.array(deltas), 3).reshape(-1, 3)


def _discounted(
    counts: TrieCounts,
    adjusted: Counts,
    discounts: NDArray[np.float64],
    vocabulary: Vocabulary,
    *,
    backoff: bool = False,
) -> BackoffModel:
    table = counts.table
    taken = np.empty(table.n_grams)
    for k in range(1, table.order + 1):
        grams = table.grams_of(k)
        taken[grams] = np.append(0.0, discounts[k - 1])[np.minimum(adjusted[grams], 3)]
    total = counts.per_context(adjusted)
    empty = total == 0  # the empty context of an empty text
    total[empty] = 1.0
    frequency = (adjusted - taken) / total[table.context]
    # From whole numbers, so that the sum has no rounding, and is that of `streamed_kneser_ney` to the last bit.
    depth = np.repeat(np.arange(table.order), np.diff(table.levels))
    n1, n2, n3 = (counts.per_context((np.minimum(adjusted, 3) == r).astype(np.int64)) for r in (1, 2, 3))
    D1, D2, D3 = discounts[depth].T
    left = np.where(empty, 1.0, (D1 * n1 + D2 * n2 + D3 * n3) / total)
    facts = {"discounts": discounts.tolist()}
    if backoff:
        return backed_off(counts, frequency, left, adjusted > 0, vocabulary, facts)
    return interpolated(counts, frequency, left, vocabulary, facts)
