"""Bigrams of classes: how likely a text is under a clustering, and a hierarchy for classes that have none."""

from __future__ import annotations

import numpy as np

from spinney.classes.clustering import Clustering
from spinney.classes.hidden import HiddenMarkov
from spinney.classes.merging import hierarchy
from spinney.classes.pairs import Neighbours, PairCounts
from spinney.errors import OptionError

#: Expected counts are scaled to about this many in all, and rounded.
_COUNTS = 1 << 30


def bigram_log_likelihood(clustering: Clustering, pairs: PairCounts) -> float:
    """Σ log p(class | class of the parent) p(word | class) over the words of a text, in nats.

    Each law of a next class gains one token that is spread like classes are in all, and a word that was never seen
    counts once, so that no text is impossible.

    Parameters
    ----------
    clustering
        The classes, and the counts that give the laws.
    pairs
        What :func:`pair_counts` counted in a text that was read with the clustering's words.

    Examples
    --------
    >>> from spinney.classes import brown, pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b] for a in ("the", "a") for b in ("dog", "cat")] * 100)
    >>> pairs = pair_counts(arrays)
    >>> value = bigram_log_likelihood(brown(pairs, arrays.vocabulary, 2, root=True), pairs)
    >>> round(float(np.exp(-value / arrays.n_tokens)), 2)  # there are always two words to choose from
    2.0
    """
    classes, n = clustering.classes, clustering.classes.n_classes
    if pairs.n_words != len(classes):
        raise OptionError(f"the pairs are of {pairs.n_words} words, but the clustering has {len(classes)}")
    counts, roots = clustering.class_pairs.astype(np.float64), clustering.class_roots.astype(np.float64)
    prior = counts.sum(axis=0) + roots + 1.0
    prior /= prior.sum()
    log_next = np.log((counts + prior) / (counts.sum(axis=1, keepdims=True) + 1.0))
    log_first = np.log((roots + prior) / (roots.sum() + 1.0))
    seen = np.ones(len(classes)) if classes.counts is None else np.maximum(classes.counts, 1)
    log_word = np.log(seen / np.bincount(classes.ids, seen, minlength=n)[classes.ids])
    of_classes = (pairs.of_classes(classes.ids, n) * log_next).sum()
    of_roots = pairs.roots_of_classes(classes.ids, n) @ log_first
    return float(of_classes + of_roots + pairs.counts @ log_word)


def class_paths(model: HiddenMarkov) -> list[str]:
    """The path of each class of a hidden Markov model in the tree that Brown's merging of its classes gives.

    The classes are merged as words are in :func:`brown`, by the expected counts of their pairs.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"] * 25
    >>> model = HiddenMarkov(3, em="batch", passes=30, random_state=1)
    >>> model = model.fit(sentence_arrays(line.split() for line in text))
    >>> sorted(class_paths(model))
    ['0', '10', '11']
    """
    from scipy.sparse import csr_array

    statistics = model.statistics_
    expected = statistics.tau.sum(axis=0).T  # parents by children
    scale = _COUNTS / max(float(expected.sum() + statistics.rho.sum()), np.finfo(np.float64).tiny)
    counts = csr_array(np.rint(scale * expected).astype(np.int64))
    columns = counts.tocsc()
    pairs = PairCounts(
        Neighbours(counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data),
        Neighbours(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), columns.data),
        np.rint(scale * statistics.rho).astype(np.int64),
        np.rint(scale * statistics.gain * statistics.mass).astype(np.int64),
        model.structure == "tree",
    )
    n = statistics.n_classes
    return hierarchy(pairs, np.arange(n, dtype=np.int32), n, root=True)
