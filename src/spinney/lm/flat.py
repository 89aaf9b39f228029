"""Models that look at one order only: seen grams have their probability, other words after a context a common one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from spinney.corpus import Vocabulary
from spinney.errors import OptionError
from spinney.files import ModelFile, Parts
from spinney.lm.discounts import simple_good_turing
from spinney.lm.model import LanguageModel, Vector
from spinney.lm.storedgrams import gram_tensors, in_order, stored_grams
from spinney.lm.stream import Ids, Stream
from spinney.lm.suffixtrie import SuffixTrie
from spinney.lm.tables import GramTable, trie_counts


class FlatModel(LanguageModel):
    """Probabilities of grams, and for each context a floor for the words that were not seen after it.

    The context is as long as the order and the sentence allow, never shorter; after one that was never seen
    all words are equally probable. Made by :func:`~spinney.lm.smoothing.fit_ngram`.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]])
    >>> model = fit_ngram(text, "additive", order=2, d=0.5)
    >>> [(word, round(p, 4)) for word, p in model.next_words(["a"])]
    [('rose', 0.625), ('a', 0.125), ('is', 0.125), ('</s>', 0.125)]
    """

    kind: ClassVar[str] = "lm/FlatModel"

    def __init__(
        self,
        vocabulary: Vocabulary,
        table: GramTable,
        logp: Vector,
        floor: Vector,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self.vocabulary, self.table, self.logp, self.floor = vocabulary, table, logp, floor
        self.facts = dict(facts or {})

    def __repr__(self) -> str:
        return f"FlatModel(order {self.order}, {len(self.vocabulary):,} words)"

    @property
    def order(self) -> int:
        """The length of the longest grams."""
        return self.table.order

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event of a stream."""
        contexts, grams = self.table.walk(np.ascontiguousarray(stream.ids))
        events = stream.events
        here, depth = np.arange(len(events)), np.minimum(stream.room[events], self.order - 1)
        context, gram = contexts[here, depth], grams[here, depth]
        unseen = np.where(context >= 0, self.floor[context], -np.log(self.n_outcomes))
        values = np.where(gram >= 0, self.logp[gram], unseen)
        return np.where(stream.ids[events] >= 0, values, -np.inf)

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end, after a history."""
        recent = np.asarray(history)[max(0, len(history) - self.order + 1) :]
        starts = np.flatnonzero(recent == self.start)
        depth = len(recent) - (int(starts[-1]) if len(starts) else 0)
        contexts = self.table.contexts_after(recent)
        if len(contexts) - 1 < depth:
            return np.full(self.n_outcomes, 1.0 / self.n_outcomes)
        context = contexts[depth]
        grams = slice(self.table.gram_ptr[context], self.table.gram_ptr[context + 1])
        p = np.full(self.n_outcomes + 1, np.exp(self.floor[context]))
        p[self.table.symbol[grams]] = np.exp(self.logp[grams])
        return p[:-1]

    def match_depths(self, stream: Stream) -> Ids:
        """How many symbols before each event were ever seen together in training, before anything."""
        contexts, _ = self.table.walk(np.ascontiguousarray(stream.ids))
        return np.asarray(np.count_nonzero(contexts >= 0, axis=1) - 1, np.int32)

    def parts(self) -> Parts:
        """What the model keeps besides its vocabulary and facts."""
        ordered = in_order(self.table)
        values = {"logp": self.logp[ordered.grams], "floor": self.floor[ordered.contexts]}
        return Parts({}, {**gram_tensors(ordered.table), **values}, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        """The model in a file."""
        table = stored_grams(file, len(vocabulary))
        logp, floor = (
            np.array(file.tensor(name, np.float64, low=-np.inf, high=0)) for name in ("logp", "floor")
        )
        if len(logp) != table.n_grams or len(floor) != table.n_contexts:
            raise file.error("damaged: some n-grams have no probability, or some contexts no floor")
        return cls(vocabulary, table, logp, floor)


def additive(trie: SuffixTrie, vocabulary: Vocabulary, *, d: float = 1.0) -> FlatModel:
    """p(y | x) = (c(x y) + d) / (c(x) + d |V|): Laplace's for d = 1, Lidstone's below."""
    if not 0 < d <= 1e100:
        raise OptionError(f"d must be above 0 and at most 1e100, not {d}")
    counts = trie_counts(trie)
    table = counts.table
    total = counts.per_context(counts.count) + d * table.n_outcomes
    return _flat(
        vocabulary, table, counts.count + np.float64(d), np.full(table.n_contexts, d), total, {"d": d}
    )


def good_turing(trie: SuffixTrie, vocabulary: Vocabulary) -> FlatModel:
    """p(y | x) in proportion to c*(x y), the Good-Turing estimate of the count of x y.

    The pairs of a seen context and a symbol are the population of an order: those that were never seen share the
    mass of those seen once. Counts of counts are smoothed by :func:`~spinney.lm.discounts.simple_good_turing`.
    """
    counts = trie_counts(trie)
    table = counts.table
    smoothed, missing = np.zeros(table.n_grams), np.zeros(table.n_contexts)
    for order in range(1, table.order + 1):
        grams = table.grams_of(order)
        contexts = slice(int(table.levels[order - 1]), int(table.levels[order]))
        count = counts.count[grams]
        estimate = simple_good_turing(count, order)
        n_unseen = (contexts.stop - contexts.start) * table.n_outcomes - int(np.count_nonzero(count))
        missing[contexts] = estimate.unseen / max(n_unseen, 1)
        found = count > 0
        smoothed[grams][found] = estimate.smoothed[np.searchsorted(estimate.seen, count[found])]
        smoothed[grams][~found] = missing[contexts.start]
    smoothed[table.n_outcomes] = 0.0
    unseen = table.n_outcomes - counts.per_context(counts.count > 0)
    total = counts.per_context(np.where(counts.count > 0, smoothed, 0.0)) + unseen * missing
    return _flat(vocabulary, table, smoothed, missing, total, {})


def _flat(
    vocabulary: Vocabulary,
    table: GramTable,
    gram: Vector,
    missing: Vector,
    total: Vector,
    facts: Mapping[str, Any],
) -> FlatModel:
    """Shares of the total of each context, for its grams and for each symbol that is not among them."""
    gram[table.n_outcomes] = 0.0  # the start of a sentence
    with np.errstate(divide="ignore"):
        logp, floor = np.log(gram / total[table.context]), np.log(missing / total)
    return FlatModel(vocabulary, table, np.minimum(logp, 0.0), np.minimum(floor, 0.0), facts)
