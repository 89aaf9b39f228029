"""Katz back-off with Good-Turing discounts."""

from __future__ import annotations

import numpy as np

from spinney.corpus import Vocabulary
from spinney.errors import OptionError
from spinney.lm.backoff import BackoffModel
from spinney.lm.discounts import counts_of_counts, katz_discounts
from spinney.lm.recursion import backed_off
from spinney.lm.suffixtrie import SuffixTrie
from spinney.lm.tables import trie_counts


def katz(trie: SuffixTrie, vocabulary: Vocabulary, *, k: int = 5, tau: int = 0) -> BackoffModel:
    """Katz (1987): counts up to ``k`` are discounted, and what they lose goes to unseen words.

    Parameters
    ----------
    k
        Larger counts are not discounted (SRILM and Katz: 5 to 7).
    tau
        Grams seen at most this often count as unseen.

    Notes
    -----
    A context whose grams lose nothing would leave nothing to other words: its frequencies are then divided by its count
    plus one, as SRILM does. Unseen unigrams share what the unigrams lose equally.
    """
    if k < 0 or tau < 0:
        raise OptionError(f"k and tau must be at least 0, not {k} and {tau}")
    counts = trie_counts(trie)
    table = counts.table
    kept = counts.count.astype(np.float64)
    factors = []
    for order in range(1, table.order + 1):
        grams = table.grams_of(order)
        count = counts.count[grams]
        d = katz_discounts(counts_of_counts(count, k + 1), k, order)
        factors.append(d[1:].tolist())
        kept[grams] *= np.append(d, 1.0)[np.minimum(count, len(d))]
    kept[counts.count <= tau] = 0.0
    total, lost = counts.per_context(counts.count), counts.per_context(counts.count - kept)
    total += lost == 0
    lost[lost == 0] = 1.0
    facts = {"discounts": factors, "tau": tau}
    frequency = kept / total[table.context]
    return backed_off(counts, frequency, lost / total, counts.count > tau, vocabulary, facts)
