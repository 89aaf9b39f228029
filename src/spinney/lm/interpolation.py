"""Mixing maximum likelihood with the lower order: Witten-Bell, Jelinek-Mercer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import OptionError
from spinney.lm.backoff import BackoffModel
from spinney.lm.model import Vector
from spinney.lm.recursion import interpolated, lower
from spinney.lm.stream import Ids, stream_of
from spinney.lm.suffixtrie import SuffixTrie
from spinney.lm.tables import TrieCounts, trie_counts

_LEAST = 1e-4  # weights stay this far from 0 and 1


def witten_bell(trie: SuffixTrie, vocabulary: Vocabulary) -> BackoffModel:
    """Witten-Bell smoothing: the lower order has the weight N1+(x •) / (N1+(x •) + c(x)) after x.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> model = fit_ngram(sentence_arrays([["a", "a", "b"]]), "witten-bell", order=1)
    >>> [(word, round(p, 4)) for word, p in model.next_words([])]
    [('a', 0.4286), ('b', 0.2857), ('</s>', 0.2857)]
    """
    counts = trie_counts(trie)
    total, types = counts.per_context(counts.count), counts.per_context(counts.count > 0)
    weight = np.where(total > 0, types / np.maximum(types + total, 1.0), 1.0)
    return _mixed(counts, total, weight, vocabulary, {})


def jelinek_mercer(
    trie: SuffixTrie, vocabulary: Vocabulary, *, heldout: TokenArrays | Literal["deleted"] = "deleted"
) -> BackoffModel:
    """Jelinek-Mercer interpolation, the weights tied among contexts of an order that were seen about as often.

    The weights of an order maximise the likelihood of held-out text, lower orders first: the fixed point of EM,
    found by bisection, for the likelihood is concave. A class of contexts holds those with 2^b to
    2^(b+1) - 1 occurrences.

    Parameters
    ----------
    heldout
        Text read with the same vocabulary, or ``"deleted"``: each event of the training text in turn is left out of
        the counts and predicted by the others.
    """
    counts = trie_counts(trie)
    if isinstance(heldout, TokenArrays):
        if heldout.vocabulary.words != vocabulary.words:
            raise OptionError("the held-out text was not read with the vocabulary of the model")
        weights = _heldout_weights(counts, stream_of(heldout).ids)
    elif heldout == "deleted":
        weights = _deleted_weights(counts)
    else:
        raise OptionError(f"heldout must be a text or 'deleted', not {heldout!r}")
    table, total = counts.table, counts.per_context(counts.count)
    depth = np.repeat(np.arange(table.order), np.diff(table.levels))
    weight = np.where(total > 0, 1.0 - weights[depth, _bucket(total)], 1.0)
    facts = {"weights": weights.tolist(), "heldout": heldout if isinstance(heldout, str) else "text"}
    return _mixed(counts, total, weight, vocabulary, facts)


def _mixed(
    counts: TrieCounts, total: Vector, weight: Vector, vocabulary: Vocabulary, facts: dict[str, object]
) -> BackoffModel:
    share = (1.0 - weight) / np.maximum(total, 1.0)
    return interpolated(counts, counts.count * share[counts.table.context], weight, vocabulary, facts)


def _heldout_weights(counts: TrieCounts, ids: Ids) -> NDArray[np.float64]:
    """``[depth, class of contexts]``: γ for the events of another text."""
    table, total = counts.table, counts.per_context(counts.count)
    contexts, grams = table.walk(ids)
    n_events = len(contexts)

    def events(order: int, p: Vector | None) -> tuple[Vector, Vector, Vector, Vector]:
        context, gram = contexts[:, order - 1], grams[:, order - 1]
        high = np.where(gram >= 0, counts.count[gram], 0)
        low = np.full(n_events, 1.0 / table.n_outcomes) if p is None else p
        return high, np.where(context >= 0, total[context], 0.0), low, np.ones(n_events)

    return _weights(table.order, events)


def _deleted_weights(counts: TrieCounts) -> NDArray[np.float64]:
    """γ for the events of the text itself, each left out of the counts: equal grams are equal events."""
    table, total = counts.table, counts.per_context(counts.count)

    def events(order: int, p: Vector | None) -> tuple[Vector, Vector, Vector, Vector]:
        grams = table.grams_of(order)
        count = counts.count[grams]
        low = (
            lower(counts, np.empty(0), 1)
            if p is None
            else p[counts.up[grams] - table.grams_of(order - 1).start]
        )
        return np.maximum(count - 1, 0), total[table.context[grams]] - 1.0, low, count.astype(np.float64)

    return _weights(table.order, events)


#: Of an order, given the probabilities of the events of the order below: how often event and context were seen, the
#: probability without the oldest symbol, and how many events these are.
_Events = Callable[[int, Vector | None], tuple[Vector, Vector, Vector, Vector]]


def _weights(order: int, events: _Events) -> NDArray[np.float64]:
    p = None
    weights = np.empty((order, 64))
    for k in range(1, order + 1):
        count, total, low, times = events(k, p)
        known = total > 0
        ml = count / np.where(known, total, 1.0)
        bucket = _bucket(total)
        use = known & (times > 0)
        gamma = weights[k - 1] = _best_weights(ml[use], low[use], times[use], bucket[use])
        p = np.where(known, gamma[bucket] * ml + (1.0 - gamma[bucket]) * low, low)
    return weights


def _best_weights(high: Vector, low: Vector, times: Vector, bucket: NDArray[np.int64]) -> Vector:
    """γ of each bucket that maximises Σ log(γ high + (1 − γ) low); without data, between those of its neighbours."""
    gain = times * (high - low)
    least, most = np.full(64, _LEAST), np.full(64, 1.0 - _LEAST)
    for _ in range(40):
        middle = 0.5 * (least + most)
        mixed = low + middle[bucket] * (high - low)
        rising = np.bincount(bucket, gain / mixed, minlength=64) > 0
        least, most = np.where(rising, middle, least), np.where(rising, most, middle)
    filled = np.unique(bucket)
    gamma = 0.5 * (least + most)
    return np.interp(np.arange(64), filled, gamma[filled]) if len(filled) else np.full(64, 0.5)


def _bucket(total: Vector) -> NDArray[np.int64]:
    """⌊log2⌋ of a count."""
    return np.maximum(np.frexp(total)[1].astype(np.int64) - 1, 0)
