"""Modified Kneser-Ney on any suffix trie, whatever its grams end with: words, classes, or decisions of a tree."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.lm.discounts import DiscountWarning, counts_of_counts, modified_discounts
from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import SuffixTrie

Vector = NDArray[np.float64]


class Smoothed(NamedTuple):
    """p(gram) = what its discounted count gives + weight(context) · lower(gram)."""

    #: [grams]
    p: Vector
    #: [contexts]: what the lower order weighs after a context.
    weight: Vector
    #: [grams]: the probability after the parent context; uniform at roots.
    lower: Vector


def trie_kneser_ney(trie: SuffixTrie, root_sizes: Ids | None = None, *, warn: bool = True) -> Smoothed:
    """Interpolated modified Kneser-Ney (Chen and Goodman 1998), generation by generation of a trie.

    A node of a collapsed trie is smoothed as its shortest context is.

    Parameters
    ----------
    root_sizes
        How many symbols each root chooses from; by default all outcomes.
    warn
        Whether to say so where a text is too small for the formulas of the discounts.
    """
    generation = np.zeros(trie.n_contexts, np.int64)
    for _ in range(int(trie.depth.max(initial=0))):
        deeper = np.where(trie.parent < 0, 0, generation[trie.parent] + 1)
        if np.array_equal(deeper, generation):
            break
        generation = deeper
    of = generation[trie.context]
    # Only grams of the highest order, or that begin a sentence, are preceded by nothing.
    preceded = (trie.n_extensions > 0) & (trie.length[trie.context] == 1)
    adjusted = np.where(preceded, trie.n_extensions, trie.count)
    taken = np.empty(trie.n_grams)
    members = [np.flatnonzero(of == k) for k in range(int(of.max(initial=-1)) + 1)]
    for k, grams in enumerate(members):
        with warnings.catch_warnings():
            if not warn:
                warnings.simplefilter("ignore", DiscountWarning)
            discounts = modified_discounts(counts_of_counts(adjusted[grams], 4), k + 1)
        taken[grams] = np.array((0.0, *discounts))[np.minimum(adjusted[grams], 3)]
    total = np.bincount(trie.context, adjusted, trie.n_contexts)
    empty = total == 0  # a root that nothing followed
    weight = np.where(
        empty, 1.0, np.bincount(trie.context, taken, trie.n_contexts) / np.where(empty, 1.0, total)
    )
    p, lower = np.empty(trie.n_grams), np.empty(trie.n_grams)
    n_roots = np.count_nonzero(trie.parent < 0)
    sizes = np.full(n_roots, trie.n_outcomes) if root_sizes is None else root_sizes
    for k, grams in enumerate(members):
        lower[grams] = p[trie.up[grams]] if k else 1.0 / sizes[trie.context[grams]]
        context = trie.context[grams]
        p[grams] = (adjusted[grams] - taken[grams]) / total[context] + weight[context] * lower[grams]
    return Smoothed(p, weight, lower)
