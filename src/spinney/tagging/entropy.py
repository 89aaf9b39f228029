"""Entropy regularisation: a CRF that is encouraged to be confident on unlabelled sentences."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from spinney.errors import OptionError
from spinney.optim.base import Vector, checked_strength
from spinney.parallel import map_reduce
from spinney.tagging.loss import CRFLoss, Kinds, Shard, pair_scores, unigram_scores
from spinney.tagging.sequences import Floats, Sequences
from spinney.tagging.support import Shape, Support


class EntropyLoss:
    """The loss of labelled sentences plus ρ Σ_u weight_u·H(p(·|x_u)) over unlabelled ones.

    Minimum entropy regularisation (Grandvalet & Bengio 2004) for CRFs (Jiao et al. 2006; Sokolovska 2010, eq. 4.9). The
    gradient, −Cov(features, score), costs as much as forward-backward up to a factor: O(T·Y²) (Mann & McCallum 2007).
    **Not convex**: start the solver at the optimum of ``supervised`` alone (``w0=``).

    Both parts are sums. Where the thesis averages over n labelled and over m unlabelled examples, its ρ times n/m
    is the ``rho`` here; it found 0.001 best, and more than 0.01 harmful.

    Parameters
    ----------
    supervised : CRFLoss
    unlabelled : Sequences
        With the observations of the labelled sentences; labels, if any, are ignored.
    rho : float
        ρ, the cost of one nat of entropy.
    threads : int, optional
        As many as ``supervised`` by default.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations
    >>> seen = Observations(np.array([0, 1, 2]), np.array([0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 2]), seen, Observations.always(2), labels=np.array([1, 0], np.int32))
    >>> loss = EntropyLoss(CRFLoss(data, n_labels=2), data, rho=0.5)
    >>> value, gradient = loss.value_and_grad(np.zeros(loss.n_params))
    >>> round(float(value / np.log(2)), 6)  # 2 bits for the labels, half a coin for each of 2 tokens
    3.0
    """

    n_free = 0

    def __init__(
        self, supervised: CRFLoss, unlabelled: Sequences, rho: float, threads: int | None = None
    ) -> None:
        self.supervised = supervised
        self.unlabelled = unlabelled
        self.rho = checked_strength("rho", rho)
        self.threads = supervised.threads if threads is None else threads
        self.n = supervised.n
        shape = supervised.shape
        if (unlabelled.unigrams.n, unlabelled.bigrams.n) != (shape.unigrams, shape.bigrams):
            raise OptionError(
                f"the unlabelled sentences have {unlabelled.unigrams.n} + {unlabelled.bigrams.n} observations, "
                f"but the labelled ones have {shape.unigrams} + {shape.bigrams}"
            )

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.supervised.n_params

    @property
    def shape(self) -> Shape:
        """The size of the full model."""
        return self.supervised.shape

    @property
    def support(self) -> Support | None:
        """Which weights there are; all where None."""
        return self.supervised.support

    def restricted(self, support: Support | None) -> EntropyLoss:
        """The same loss with fewer weights; what was prepared for the data is shared."""
        other = EntropyLoss(self.supervised.restricted(support), self.unlabelled, self.rho, self.threads)
        other._model = self._model.restricted(support)
        return other

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The criterion and its gradient at ``w``."""
        value, gradient = self.supervised.value_and_grad(w)
        if self.rho > 0.0:
            entropy, of_entropy = self.entropy_and_grad(w)
            value += self.rho * entropy
            of_entropy *= self.rho
            gradient += of_entropy
        return value, gradient

    def entropy_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """Σ_u weight_u·H(p(·|x_u)) in nats, and its gradient."""
        model, gradient = self._model, np.empty(self.n_params)
        residuals, matrix = self._residuals, pair_scores(self.shape, self.support, w)
        first = model.shards[0].kinds
        common = self._pair_scores(first, matrix)

        def over(shard: Shard) -> tuple[float, Floats]:
            pairs = common if shard.kinds.sums is first.sums else self._pair_scores(shard.kinds, matrix)
            return self._shard_pass(shard, w, *pairs, residuals)

        value, gradient[model.n_mu :] = map_reduce(
            over,
            model.shards,
            threads=self.threads,
            reduce=lambda one, other: (one[0] + other[0], one[1] + other[1]),
        )
        model.gather(residuals, gradient)
        return value, gradient

    @cached_property
    def _model(self) -> CRFLoss:
        """The same CRF over the unlabelled sentences; its labels (all unknown) are not used."""
        nothing = np.full(self.unlabelled.n_tokens, -1, np.int32)
        hidden = replace(self.unlabelled, labels=nothing, label_sets=np.ones((1, 0), np.bool_))
        shape = self.shape
        return CRFLoss(hidden, shape.labels, start=shape.start, support=self.support, threads=self.threads)

    @cached_property
    def _residuals(self) -> Floats:
        """Memory for ∂H/∂score of the labels of each token."""
        return np.empty((self.unlabelled.n_tokens, self.shape.labels))

    def _shard_pass(
        self, shard: Shard, w: Vector, L: Floats, M: Floats, residuals: Floats
    ) -> tuple[float, Floats]:
        """Sums over the sentences of a shard; ∂H/∂score of its tokens' labels is written to the residuals."""
        from spinney.tagging._entropy_kernels import entropies

        data, Y = shard.data, self.shape.labels
        pairs = np.zeros_like(L)
        longest = int(data.lengths.max(initial=0))
        chain, rows = np.empty((5, longest + 1, Y + 1)), np.empty((7, Y + 1))
        value = 0.0
        for start, stop in shard.blocks():
            a, b = int(data.offsets[start]), int(data.offsets[stop])
            scores = residuals[shard.first + a : shard.first + b]
            offsets, weights = data.offsets[start : stop + 1] - a, shard.weights[start:stop]
            unigram_scores(data.unigrams.part(a, b), self.shape, self.support, w, scores)
            entropy = np.empty(len(weights))
            entropies(offsets, shard.kinds.of[a:b], scores, L, M, weights, chain, rows, pairs, entropy)
            value += float(weights @ entropy)
        return value, self._by_weight(shard.kinds, pairs)

    def _pair_scores(self, kinds: Kinds, matrix: Any) -> tuple[Floats, Floats]:
        """The scores of adjacent labels for each kind of token, the highest of each 0, and their exponentials."""
        Y, before = self.shape.labels, self.shape.labels + self.shape.start
        scores = kinds.sums @ matrix
        if self.support is not None:
            scores = scores.toarray()
        L = np.zeros((kinds.n, Y + 1, Y))
        L[:, :before] = scores.reshape(kinds.n, before, Y)
        L -= L.max(axis=(1, 2), keepdims=True, initial=-np.inf)
        return L, np.exp(L)

    def _by_weight(self, kinds: Kinds, pairs: Floats) -> Floats:
        """Derivatives with respect to the scores of kinds, at the positions of the bigram weights."""
        shape, support = self.shape, self.support
        by_score = kinds.sums.T @ pairs[:, : shape.labels + shape.start].reshape(kinds.n, shape.pairs)
        if support is None:
            return np.asarray(by_score).ravel()
        rows = np.repeat(np.arange(shape.bigrams), np.diff(support.pair_row))
        return np.asarray(by_score[rows, support.pairs])
