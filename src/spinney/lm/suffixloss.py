"""The negative log-likelihood of a log-linear model on a suffix trie, as a loss of the optimisation core.

The loss of a large trie is a sum over shards (:mod:`spinney.lm.trieshards`), which a cluster can share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.lm.stream import Ids
from spinney.lm.suffixtrie import SuffixTrie
from spinney.lm.trieshards import Shard, shard_gradient, shard_value, trie_shards
from spinney.parallel import Pure, Visit, in_order

Vector = NDArray[np.float64]


def word_scale(loss: SuffixTrieLoss) -> Vector:
    """D of each gram: how often its word was seen, times the largest Σ_k x_k² of its contexts.

    The Hessian of a softmax is at most that of independent words: diag(π) − ππᵀ ⪯ diag(π). So the block of word v is at
    most Σ_events π_v φφᵀ, whose eigenvalues are at most max ‖φ‖² Σ π_v; and Σ π_v is the count of v at the optimum, up
    to the penalty. A common step would have to suit the most frequent word, thousands of times too short for most.
    """
    from spinney.lm._loglinear_kernels import from_roots, sums_from_ancestors

    trie = loss.trie
    # The contexts of a collapsed node share the feature.
    squares = loss.feature**2 / trie.length[trie.context]
    sums_from_ancestors(squares, trie.up)
    count = trie.count.astype(np.float64)
    from_roots(count, trie.up)
    return count * max(float(squares.max(initial=0.0)), 1e-12)


class SuffixTrieLoss:
    """−Σ log P(y | x) with P(v | x) ∝ exp Σ_k x_k(v) w_k(v), a weight w for each gram of a trie.

    The sum in the exponent runs over the grams (x_k, v) of the suffixes x_k of the context. A sum over events:
    Nelakanti (2014) divides by their number.

    Parameters
    ----------
    trie
        Contexts and grams; with several roots, a softmax for each.
    feature
        The value x of each gram: β(k) for a context of k symbols, times the lengths that a collapsed node stands for.
    root_sizes
        How many symbols each root chooses from; by default, all outcomes.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.stream import stream_of
    >>> from spinney.lm.suffixtrie import suffix_trie
    >>> trie = suffix_trie(stream_of(sentence_arrays([["a", "rose"], ["is", "a", "rose"]])), 3, 1)
    >>> loss = SuffixTrieLoss(trie, np.ones(trie.n_grams))
    >>> value, grad = loss.value_and_grad(np.zeros(trie.n_grams))
    >>> round(float(value / np.log(4)), 10), grad[:4]  # 7 events, each of 4 symbols equally likely
    (7.0, array([-0.25, -0.25,  0.75, -0.25]))
    """

    n_free = 0

    def __init__(self, trie: SuffixTrie, feature: Vector, root_sizes: Ids | None = None) -> None:
        self.trie, self.feature = trie, np.ascontiguousarray(feature, np.float64)
        self._silent = silent_symbols(trie, root_sizes)

    @cached_property
    def shards(self) -> list[Shard]:
        """What is below the roots, in pieces; none where a trie is better left whole."""
        return trie_shards(self.trie, self.feature, self._ends_with(), len(self._silent))

    @cached_property
    def _ends_at_roots(self) -> Vector:
        """Events that have a gram of a root as their longest."""
        return self._ends_with()[: self.trie.gram_ptr[len(self._silent)]].astype(np.float64)

    def _ends_with(self) -> NDArray[np.int64]:
        """Events that have each gram as their longest."""
        return np.bincount(self.trie.event_gram, minlength=self.trie.n_grams)

    @cached_property
    def _whole(self) -> _Whole:
        trie = self.trie
        return _Whole(
            self._ends_with().astype(np.float64),
            trie.ends.astype(np.float64),
            trie.count.astype(np.float64),
            np.empty(trie.n_grams),
            np.empty(trie.n_contexts),
            np.empty(trie.n_grams),
        )

    @property
    def n_params(self) -> int:
        """One weight a gram."""
        return self.trie.n_grams

    @property
    def n(self) -> int:
        """Events."""
        return len(self.trie.event_gram)

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient, in time and memory linear in the grams."""
        if self.shards:
            return self._over_shards(w)
        whole = self._whole
        return self._of_events(w, whole.ends_with, whole.ends, whole.counts)

    def value(self, w: Vector) -> float:
        """The loss alone, which costs half of the two."""
        from spinney.lm._loglinear_kernels import negative_log_likelihood

        if self.shards:
            roots = self._at_roots(w)
            visits = (Visit(shard.kept, shard.of(w)) for shard in self.shards)
            return sum(in_order(Pure(shard_value, roots.e, roots.Z), visits, 1), roots.value)
        whole = self.normalise(w)
        return float(negative_log_likelihood(whole.e, whole.Z, self.trie.context, whole.ends_with))

    def lipschitz_bound(self) -> float:
        """½ n max‖φ‖², since no softmax has a curvature above ½: safe, and mostly ten times too cautious.

        It is not called ``lipschitz``, for FISTA would begin with it, which finds a better one by itself.
        """
        from spinney.lm._loglinear_kernels import sums_from_ancestors

        squares = self.feature**2
        sums_from_ancestors(squares, self.trie.up)
        return 0.5 * self.n * float(squares.max(initial=0.0))

    def minibatches(
        self, batch: int, rng: np.random.Generator
    ) -> Iterator[Callable[[Vector], tuple[float, Vector]]]:
        """Estimates of the loss from ``batch`` events at a time, scaled to all of them; one shuffled pass."""
        order = rng.permutation(self.n)
        for start in range(0, self.n, batch):
            events = order[start : start + batch]

            def estimate(w: Vector, events: NDArray[np.int64] = events) -> tuple[float, Vector]:
                return self._on_batch(w, events)

            yield estimate

    def _on_batch(self, w: Vector, events: NDArray[np.int64]) -> tuple[float, Vector]:
        from spinney.lm._loglinear_kernels import sums_to_ancestors

        trie, scale = self.trie, self.n / len(events)
        each = np.full(len(events), scale)
        ends_with = np.bincount(trie.event_gram[events], each, trie.n_grams).astype(np.float64)
        ends = np.bincount(trie.event_context[events], each, trie.n_contexts).astype(np.float64)
        count = ends_with.copy()
        sums_to_ancestors(count, trie.up)
        return self._of_events(w, ends_with, ends, count)

    def _of_events(self, w: Vector, ends_with: Vector, ends: Vector, count: Vector) -> tuple[float, Vector]:
        from spinney.lm._loglinear_kernels import expected_counts, negative_log_likelihood

        trie, whole = self.trie, self.normalise(w)
        value = negative_log_likelihood(whole.e, whole.Z, trie.context, ends_with)
        expected_counts(whole.e, whole.Z, trie.up, trie.context, trie.parent, ends, whole.expected)
        return value, self.feature * (whole.expected - count)

    def normalise(self, w: Vector) -> _Whole:
        """Bring exp of the score of each gram, and the normaliser of each context, up to date."""
        normalise(self.trie, self.feature * w, self._silent, self._whole.e, self._whole.Z)
        return self._whole

    # -- by shards -------------------------------------------------------------------------------------

    def _at_roots(self, w: Vector) -> _Roots:
        """Scores and normalisers of the roots, and the loss of the events that have no longer gram."""
        from spinney.lm._loglinear_kernels import negative_log_likelihood, scores_at_roots

        trie, n_roots = self.trie, len(self._silent)
        n = int(trie.gram_ptr[n_roots])
        e, Z = np.empty(n), np.empty(n_roots)
        theta = self.feature[:n] * w[:n]
        scores_at_roots(theta, trie.gram_ptr[: n_roots + 1], self._silent, e, Z, np.ones(n_roots))
        return _Roots(e, Z, float(negative_log_likelihood(e, Z, trie.context[:n], self._ends_at_roots)))

    def _over_shards(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient: each shard gets the weights of its grams, and gives their gradient.

        The grams of a root are in many shards. What each of them expects is added up in their order.
        """
        trie, roots, gradient = self.trie, self._at_roots(w), np.empty(self.n_params)
        n, n_roots = len(roots.e), len(roots.Z)
        share, rest, expected = trie.ends[:n_roots] / roots.Z, np.zeros(n), np.zeros(n)
        visits = (Visit(shard.kept, shard.of(w)) for shard in self.shards)
        value = roots.value
        for shard, found in zip(self.shards, in_order(Pure(shard_gradient, roots.e, roots.Z), visits, 1)):
            value += found.value
            shard.put(gradient, found.gradient)
            share += found.share
            rest[shard.kept.value.root_grams] += found.rest
            expected[shard.kept.value.root_grams] += found.expected
        rest += share[trie.context[:n]]
        expected += roots.e * np.maximum(rest, 0.0)
        gradient[:n] = self.feature[:n] * (expected - trie.count[:n])
        return value, gradient


class _Whole(NamedTuple):
    """Counts of a trie that is not cut, and what is computed anew for each vector of weights."""

    ends_with: Vector  # events that have a gram as their longest
    ends: Vector
    counts: Vector
    e: Vector
    Z: Vector
    expected: Vector


class _Roots(NamedTuple):
    """The roots under some weights."""

    e: Vector
    Z: Vector
    value: float


def normalise(trie: SuffixTrie, theta: Vector, silent: Vector, e: Vector, Z: Vector) -> Vector:
    """Fill exp of the score of each gram and the normaliser of each context; returns exp 0 at each root."""
    from spinney.lm._loglinear_kernels import scores_and_normalisers

    silent_e = np.ones(len(silent))
    scores_and_normalisers(theta, trie.up, trie.parent, trie.gram_ptr, silent, e, Z, silent_e)
    return silent_e


def silent_symbols(trie: SuffixTrie, root_sizes: Ids | None = None) -> Vector:
    """How many symbols each root could predict but never saw."""
    n_roots = int(np.count_nonzero(trie.parent < 0))  # they come first
    sizes = np.full(n_roots, trie.n_outcomes) if root_sizes is None else root_sizes
    return (sizes - np.diff(trie.gram_ptr[: n_roots + 1])).astype(np.float64)
