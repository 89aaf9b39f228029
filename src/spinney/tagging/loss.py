"""The negative conditional log-likelihood of a linear-chain CRF, and its gradient.

    p(y|x) = exp Σ_t [ Σ_{o at t} μ(o, y_t) + Σ_{b at t} λ(b, y_{t−1}, y_t) ] / Z(x)        (Sokolovska 2010, §3.1)

One pass goes through the sentences in blocks (scores, exponentials, forward-backward), leaves for each token the
difference between expected and seen labels, and then goes through the *observations*, each of which gathers those
differences over its tokens. So threads never write to the same place and need no copies of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.optim.base import Vector
from spinney.parallel import Kept, Pure, Visit, default_threads, elsewhere, in_order, map_reduce
from spinney.tagging.sequences import Floats, Observations, Sequences
from spinney.tagging.support import Shape, Support

BLOCK = 4096  # tokens whose scores fit into the cache at once
EDGES = 1 << 26  # maximum number of label-pair potentials that a shard keeps in memory
PIECES = 8  # shards of data of usual size: what 8 workers share is not cut finer than need be
LARGEST = 1 << 17  # tokens of a shard
AWAY = 1e7  # observations of tokens, times labels, from which on a gradient is worth sending to a cluster
SPARSE = 0.1  # share of label pairs with weights below which the sparse recursion is faster

Estimate = Callable[[Vector], tuple[float, Vector]]


class Kinds(NamedTuple):
    """Tokens that have the same bigram observations are of one kind, and share a matrix of label-pair scores."""

    of: NDArray[np.int32]
    sums: Any  # kinds × bigram observations, sparse: λ of a kind is this times λ

    @property
    def n(self) -> int:
        """The number of kinds."""
        return int(self.sums.shape[0])


def token_kinds(seen: Observations) -> Kinds:
    """Sort tokens into kinds."""
    from scipy.sparse import csr_array

    width = np.diff(seen.ptr)
    if (
        seen.values is None and len(width) and np.all(width == width[0])
    ):  # the usual case: the same number for each token
        rows = seen.ids.reshape(len(width), width[0])
        several = np.dtype((np.void, 4 * int(width[0]))) if width[0] > 1 else np.int32
        keys = np.ascontiguousarray(rows).view(several).ravel() if width[0] else np.zeros(len(rows))
        _, first, of = np.unique(keys, return_index=True, return_inverse=True)
        ids = rows[first].ravel()
        ptr, values = np.arange(len(first) + 1) * width[0], np.ones(len(ids))
    else:
        known: dict[bytes, int] = {}
        of = np.empty(len(width), np.int64)
        pieces: list[slice] = []
        for t, (a, b) in enumerate(zip(seen.ptr[:-1].tolist(), seen.ptr[1:].tolist())):
            key = seen.ids[a:b].tobytes()
            key += b"" if seen.values is None else seen.values[a:b].tobytes()
            of[t] = known.setdefault(key, len(known))
            if of[t] == len(pieces):
                pieces.append(slice(a, b))
        ptr = np.cumsum([0] + [piece.stop - piece.start for piece in pieces])
        ids = np.concatenate([seen.ids[:0]] + [seen.ids[piece] for piece in pieces])
        weights = np.ones(len(seen.ids)) if seen.values is None else seen.values
        values = np.concatenate([weights[:0]] + [weights[piece] for piece in pieces])
    sums = csr_array((values, ids, ptr), shape=(len(ptr) - 1, seen.n))
    return Kinds(of.astype(np.int32), sums)


class OpenPairs(NamedTuple):
    """The pairs of labels that have weights at each kind of token, whatever the weights are, zeros too."""

    ptr: NDArray[np.int64]  # those of kind k are ptr[k] to ptr[k+1]
    before: NDArray[np.int32]
    here: NDArray[np.int32]
    sums: Any  # pairs of kinds × bigram weights, sparse: scores are this times the weights

    @classmethod
    def of(cls, kinds: Kinds, support: Support, shape: Shape) -> OpenPairs:
        """Those of a support. (A sparse product of kinds and weights would leave out the zeros.)"""
        from scipy.sparse import csr_array

        seen = kinds.sums.indices
        width = np.diff(support.pair_row)[seen]
        place = np.arange(width.sum()) + np.repeat(support.pair_row[seen] - np.cumsum(width) + width, width)
        kind = np.repeat(np.repeat(np.arange(kinds.n), np.diff(kinds.sums.indptr)), width)
        keys, at = np.unique(kind * shape.pairs + support.pairs[place], return_inverse=True)
        sums = csr_array(
            (np.repeat(kinds.sums.data, width), (at, place)), shape=(len(keys), len(support.pairs))
        )
        kind, pair = np.divmod(keys, shape.pairs)
        before, here = np.divmod(pair.astype(np.int32), np.int32(shape.labels))
        return cls(np.searchsorted(kind, np.arange(kinds.n + 1)), before, here, sums)


@dataclass
class Shard:
    """Some sentences, on which one thread works, and the kinds of their tokens."""

    first: int  # token
    data: Sequences
    kinds: Kinds
    weights: Floats
    partial: NDArray[np.bool_]

    @classmethod
    def of(cls, data: Sequences, start: int, stop: int, kinds: Kinds | None = None) -> Shard:
        """Sentences ``start`` to ``stop``; ``kinds`` are those of all tokens, if they are known."""
        part = data.part(start, stop)
        first, end = int(data.offsets[start]), int(data.offsets[stop])
        own = token_kinds(part.bigrams) if kinds is None else Kinds(kinds.of[first:end], kinds.sums)
        weights = np.ones(len(part)) if part.weights is None else part.weights
        return cls(first, part, own, weights, part.is_partial)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Runs of sentences that have about BLOCK tokens."""
        offsets = self.data.offsets
        start = 0
        while start < len(self.data):
            stop = int(np.searchsorted(offsets, offsets[start] + BLOCK, side="right")) - 1
            stop = min(max(stop, start + 1), len(self.data))
            yield start, stop
            start = stop


class CRFLoss:
    """Σ_i weight_i·(log Z(x_i) − score(y_i, x_i)), summed over sentences.

    Tokens whose label is known only to lie in a set are summed over: the score becomes the log-sum-exp of all
    labellings that agree with the sets (Tsuboi et al. 2008). Such a loss is not convex.

    Parameters
    ----------
    data : Sequences
        With labels.
    n_labels : int
    start : bool
        Whether the first token of a sentence has bigram weights, from a start label.
    support : Support, optional
        The weights that the model has; all by default.
    threads : int, optional
        By default one for each processor.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations, Sequences
    >>> seen = Observations(np.array([0, 1, 2]), np.array([0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 2]), seen, Observations.always(2), labels=np.array([1, 0], np.int32))
    >>> loss = CRFLoss(data, n_labels=2)
    >>> value, gradient = loss.value_and_grad(np.zeros(loss.n_params))
    >>> round(float(value / np.log(2)), 6), loss.shape.mu(gradient).tolist()
    (2.0, [[0.5, -0.5], [-0.5, 0.5]])
    """

    n_free = 0

    def __init__(
        self,
        data: Sequences,
        n_labels: int,
        *,
        start: bool = True,
        support: Support | None = None,
        threads: int | None = None,
    ) -> None:
        data.known_labels(n_labels)
        self.data = data
        self.threads = default_threads() if threads is None else threads
        self.shape = Shape(data.unigrams.n, data.bigrams.n, n_labels, start)
        self.support = support
        self.n = len(data)
        self._open_pairs: dict[int, OpenPairs | None] = {}  # by the kinds of a shard, which live as long

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.support.n_params if self.support else self.shape.n_params

    @property
    def n_mu(self) -> int:
        """The number of unigram weights, which come first."""
        return self.support.n_unigrams if self.support else self.shape.n_mu

    @property
    def convex(self) -> bool:
        """Whether the loss is convex: each token has one label."""
        return not bool(np.any(self.data.is_partial))

    def restricted(self, support: Support | None) -> CRFLoss:
        """The same loss with fewer weights; what was prepared for the data is shared."""
        other = CRFLoss(
            self.data, self.shape.labels, start=self.shape.start, support=support, threads=self.threads
        )
        other.shards, other.columns, other.gold_pairs = self.shards, self.columns, self.gold_pairs
        return other

    def narrowed(self, support: Support) -> CRFLoss:
        """The same loss with few weights: observations that have none are left out of its data.

        Its ``shape`` and ``support`` number only the observations that are left, in their order.
        """
        wanted = np.diff(support.row) > 0
        data = replace(self.data, unigrams=self.data.unigrams.keep(wanted))
        row = np.concatenate([[0], support.row[1:][wanted]])
        other = CRFLoss(
            data,
            self.shape.labels,
            start=self.shape.start,
            support=replace(support, row=row),
            threads=self.threads,
        )
        other.gold_pairs = self.gold_pairs
        other.shards = []
        first = 0
        for shard in self.shards:
            part = data.part(first, first + len(shard.data))
            other.shards.append(replace(shard, data=part))
            first += len(shard.data)
        return other

    @cached_property
    def shards(self) -> list[Shard]:
        """The data in pieces of whole sentences, so that no piece has too many kinds of tokens.

        How many depends on the data alone: sums over pieces have the same bits on any number of threads or workers.
        """
        data, Y = self.data, self.shape.labels
        kinds = token_kinds(data.bigrams)
        pieces = max(1, min(data.n_tokens // BLOCK, PIECES), data.n_tokens // LARGEST)
        if kinds.n * (Y + 1) * Y <= EDGES:
            return [Shard.of(data, a, b, kinds) for a, b in even_cuts(data.offsets, pieces)]
        # There are so many kinds that each piece should have only its own.
        pieces = max(pieces, -(-kinds.n * (Y + 1) * Y // EDGES) * 2)
        return [Shard.of(data, a, b) for a, b in even_cuts(data.offsets, pieces)]

    def open_pairs(self, kinds: Kinds) -> OpenPairs | None:
        """The pairs of labels with weights for each kind of token, unless so many that a dense matrix is faster."""
        key = id(kinds.sums)
        if key not in self._open_pairs:
            assert self.support is not None
            most = int(np.diff(self.support.pair_row)[kinds.sums.indices].sum())
            few = most < SPARSE * max(kinds.n * self.shape.pairs, 1)
            self._open_pairs[key] = OpenPairs.of(kinds, self.support, self.shape) if few else None
        return self._open_pairs[key]

    @cached_property
    def columns(self) -> Any:
        """For each unigram observation, the tokens that have it, with their values."""
        from scipy.sparse import csr_array

        seen = self.data.unigrams
        values = np.ones(len(seen.ids), np.int8) if seen.values is None else seen.values
        columns = csr_array((values, seen.ids, seen.ptr), shape=(seen.n_tokens, seen.n)).tocsc()
        columns.indptr = columns.indptr.astype(np.int64)
        return columns

    @cached_property
    def gold_pairs(self) -> Any:
        """How often each bigram observation was seen with each pair of labels in fully labelled sentences, weighted."""
        from scipy.sparse import csr_array

        data, shape = self.data, self.shape
        assert data.labels is not None
        weights = np.ones(len(data)) if data.weights is None else data.weights
        token_weight = np.repeat(np.where(data.is_partial, 0.0, weights), data.lengths)
        if not shape.start:
            token_weight[data.starts] = 0.0
        used = np.flatnonzero(token_weight)
        pairs = data.labels_before(shape.labels)[used] * shape.labels + data.labels[used]
        to_pair = csr_array((token_weight[used], (used, pairs)), shape=(data.n_tokens, shape.pairs))
        seen = data.bigrams
        values = np.ones(len(seen.ids)) if seen.values is None else seen.values
        return csr_array((values, seen.ids, seen.ptr), shape=(data.n_tokens, seen.n)).T.tocsr() @ to_pair

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient at ``w``."""
        if elsewhere() and len(self.data.unigrams.ids) * self.shape.labels >= AWAY:
            return self._value_and_grad_elsewhere(w)
        residuals, gradient = self._residuals, np.empty(self.n_params)
        edges = Edges(self, w)
        edges.prepare(self.shards[0].kinds)  # here, so that the threads need not do it again
        value, gradient[self.n_mu :] = map_reduce(
            lambda shard: self._shard_pass(shard, w, edges, residuals),
            self.shards,
            threads=self.threads,
            reduce=lambda one, other: (one[0] + other[0], one[1] + other[1]),
        )
        value -= edges.gold_score()
        gradient[self.n_mu :] -= edges.gold
        self.gather(residuals, gradient)
        # Where all potentials of a token underflow, log Z is −∞, which a line search must not take for a low value.
        return value if np.isfinite(value) else np.inf, gradient

    def _value_and_grad_elsewhere(self, w: Vector) -> tuple[float, Vector]:
        """The same, by the shards on a cluster: each gets the weights of what it has, and gives their gradient."""
        from spinney.tagging._crf_kernels import add_part

        edges, gradient = Edges(self, w), np.zeros(self.n_params)
        mu, of_mu = self._by_observation(w), self._by_observation(gradient)
        tasks = (Visit(kept, self._weights_at(places, w, mu)) for kept, places in self._parts)
        value, pairs = 0.0, np.zeros(self.n_params - self.n_mu)
        found = in_order(Pure(part_gradient), tasks, self.threads)
        for i, ((_, places), (own, own_pairs, own_mu)) in enumerate(zip(self._parts, found)):
            value, pairs = (value + own, pairs + own_pairs) if i else (own, own_pairs)
            add_part(places, own_mu.reshape(len(places), -1), of_mu)
        value -= edges.gold_score()
        gradient[self.n_mu :] = pairs - edges.gold
        return value if np.isfinite(value) else np.inf, gradient

    def _weights_at(self, places: NDArray[np.int64], w: Vector, mu: Floats) -> Vector:
        """The weights of a part: its own of the observations, and all of the pairs."""
        lam = w[self.n_mu :]
        own = np.empty(len(places) * mu.shape[1] + len(lam))
        n = len(own) - len(lam)
        np.take(mu, places, axis=0, out=own[:n].reshape(len(places), -1), mode="clip")
        own[n:] = lam
        return own

    def _by_observation(self, w: Vector) -> Floats:
        """The unigram weights in rows: of all labels of an observation, or of one weight where some are left out."""
        return w[: self.n_mu].reshape(-1, 1) if self.support else self.shape.mu(w)

    @cached_property
    def _parts(self) -> list[tuple[Kept[CRFLoss], NDArray[np.int64]]]:
        """Each shard as a loss of its own, which stays with a worker, and which weights or rows of weights it has."""
        found = []
        for shard in self.shards:
            used = np.zeros(self.shape.unigrams, np.bool_)
            used[shard.data.unigrams.ids] = True
            data = replace(shard.data, unigrams=shard.data.unigrams.keep(used))
            support, places = self.support, np.flatnonzero(used)
            if support is not None:
                width = np.where(used, np.diff(support.row), 0)
                places = np.flatnonzero(np.repeat(used, np.diff(support.row)))
                row = np.concatenate([[0], np.cumsum(width[used])])
                support = replace(support, row=row, labels=support.labels[places])
            part = CRFLoss(data, self.shape.labels, start=self.shape.start, support=support, threads=1)
            part.shards = [replace(shard, first=0, data=data)]
            found.append((Kept(part), places))
        return found

    @cached_property
    def _residuals(self) -> Floats:
        """Memory for the residuals of each token; allocating it at each pass would cost as much as the sums."""
        return np.empty((self.data.n_tokens, self.shape.labels))

    def _shard_pass(self, shard: Shard, w: Vector, edges: Edges, residuals: Floats) -> tuple[float, Floats]:
        """Sums over the sentences of a shard; the residuals (expected minus seen) of its tokens are written."""
        data, labels = shard.data, shard.data.labels
        assert labels is not None
        part = edges.of(shard.kinds)
        longest = int(data.lengths.max(initial=0))
        alpha, beta = np.empty((longest, self.shape.labels + 1)), np.empty((2, self.shape.labels))
        value = 0.0
        for start, stop in shard.blocks():
            a, b = int(data.offsets[start]), int(data.offsets[stop])
            psi = residuals[shard.first + a : shard.first + b]
            offsets, kinds = data.offsets[start : stop + 1] - a, shard.kinds.of[a:b]
            weights, unsure = shard.weights[start:stop], shard.partial[start:stop]
            unigram_scores(data.unigrams.part(a, b), self.shape, self.support, w, psi)
            sure = np.flatnonzero(np.repeat(~unsure, np.diff(offsets)))
            seen = sure, labels[a:b][sure]
            token_weight = np.repeat(weights, np.diff(offsets))
            value -= float(token_weight[sure] @ psi[seen])
            shift = psi.max(axis=1)
            psi -= shift[:, None]
            np.exp(psi, out=psi)
            if np.any(unsure):
                tokens, numerator, lines = _kept(data.part(start, stop), unsure, psi, self.shape.labels)
            value += part.sum_product(offsets, kinds, psi, weights, shift, alpha, beta)
            psi[seen] -= token_weight[sure]
            if np.any(unsure):
                value += part.sum_product(
                    lines, kinds[tokens], numerator, -weights[unsure], shift[tokens], alpha, beta
                )
                psi[tokens] += numerator
        return value, part.expected()

    def curvature(self, w: Vector) -> Vector:
        """The second derivative by each weight of a model with a support, as if tokens did not depend on each other.

        That is Σ_t value²·p(1 − p) over the tokens of a weight, p the probability of its label or pair of labels.
        """
        support = self.support
        assert support is not None
        variances, diagonal = self._residuals, np.empty(self.n_params)
        scores = pair_scores(self.shape, support, w)

        def of_shard(shard: Shard) -> Floats:
            from spinney.tagging._quasinewton_kernels import chain_variances

            of_kinds = (shard.kinds.sums @ scores).toarray()
            edges = DenseEdges.of(self, shard.kinds, of_kinds).fresh()
            psi = variances[shard.first : shard.first + shard.data.n_tokens]
            unigram_scores(shard.data.unigrams, self.shape, support, w, psi)
            psi -= psi.max(axis=1, keepdims=True)
            np.exp(psi, out=psi)
            chain_variances(shard.data.offsets, shard.kinds.of, psi, edges.M, shard.weights, edges.pairs)
            counts = edges.pairs[:, : self.shape.labels + self.shape.start]
            squares = shard.kinds.sums.power(2).T @ counts.reshape(shard.kinds.n, self.shape.pairs)
            rows = np.repeat(np.arange(self.shape.bigrams), np.diff(support.pair_row))
            return np.asarray(squares[rows, support.pairs])

        diagonal[self.n_mu :] = map_reduce(of_shard, self.shards, threads=self.threads)
        self.gather(variances, diagonal, squared=True)
        return diagonal

    def gather(self, residuals: Floats, gradient: Vector, *, squared: bool = False) -> None:
        """The gradient of the unigram weights, from the residuals of the tokens; values count ``squared`` or as is."""
        from spinney.tagging._crf_kernels import gather_gradient, gather_sparse_gradient

        columns, support = self.columns, self.support
        values = np.empty(0) if self.data.unigrams.values is None else columns.data
        values = values**2 if squared else values
        bounds = np.array([*(shard.first for shard in self.shards), self.data.n_tokens])

        def gather(part: tuple[int, int]) -> int:
            where = (*part, columns.indptr, columns.indices, values, residuals, bounds)
            if support is None:
                gather_gradient(*where, self.shape.mu(gradient))
            else:
                gather_sparse_gradient(*where, support.row, support.labels, gradient)
            return 0

        map_reduce(gather, even_cuts(columns.indptr, 4 * self.threads), threads=self.threads)

    def minibatches(self, batch: int, rng: np.random.Generator) -> Iterator[Estimate]:
        """Estimates of the whole loss from random sentences, each sentence once per pass."""
        order = rng.permutation(self.n)
        for start in range(0, self.n, batch):
            chosen = np.sort(order[start : start + batch])
            part = CRFLoss(
                self.data.take(chosen),
                self.shape.labels,
                start=self.shape.start,
                support=self.support,
                threads=1,
            )
            scale = self.n / len(chosen)

            def estimate(w: Vector, part: CRFLoss = part, scale: float = scale) -> tuple[float, Vector]:
                value, gradient = part.value_and_grad(w)
                return scale * value, scale * gradient

            yield estimate


def part_gradient(loss: CRFLoss, w: Vector) -> tuple[float, Floats, Floats]:
    """The value of a part without its gold pairs, the expected pairs, and the gradient of its unigram weights."""
    (shard,), residuals = loss.shards, np.empty((loss.data.n_tokens, loss.shape.labels))
    value, pairs = loss._shard_pass(shard, w, Edges(loss, w), residuals)
    gradient = np.empty(loss.n_mu)
    loss.gather(residuals, gradient)
    return value, pairs, gradient


def unigram_scores(seen: Observations, shape: Shape, support: Support | None, w: Vector, out: Floats) -> None:
    """The scores of labels at tokens, by their unigram observations."""
    from spinney.tagging._crf_kernels import add_scores, add_sparse_scores

    rows = seen.ptr, seen.ids, seen.flat_values
    if support is None:
        add_scores(*rows, shape.mu(w), out)
    else:
        add_sparse_scores(*rows, support.row, support.labels, w, out)


def pair_scores(shape: Shape, support: Support | None, w: Vector) -> Any:
    """The bigram weights as a matrix of observations × pairs of labels, sparse if there is a support."""
    from scipy.sparse import csr_array

    if support is None:
        return w[shape.n_mu :].reshape(shape.bigrams, shape.pairs)
    lam = w[support.n_unigrams :]
    return csr_array((lam, support.pairs, support.pair_row), shape=(shape.bigrams, shape.pairs))


class Edges:
    """The potentials of adjacent labels at the current weights, dense or sparse, whichever is faster."""

    def __init__(self, loss: CRFLoss, w: Vector) -> None:
        self.loss = loss
        self.lam = w[loss.n_mu :]
        self.matrix = pair_scores(loss.shape, loss.support, w)
        self.shared: tuple[Any, DenseEdges | SparseEdges] | None = None

    @property
    def gold(self) -> Floats:
        """Observed counts at the positions of the bigram weights."""
        counts, support = self.loss.gold_pairs, self.loss.support
        if support is None:
            return np.asarray(counts.toarray()).ravel()
        return _sampled(counts, support)

    def gold_score(self) -> float:
        """The bigram part of the score of all labels seen."""
        return float(self.lam @ self.gold) if len(self.lam) else 0.0

    def of(self, kinds: Kinds) -> DenseEdges | SparseEdges:
        """The potentials of the tokens of a shard, with new memory for the expected counts of their pairs."""
        return self.prepare(kinds).fresh()

    def prepare(self, kinds: Kinds) -> DenseEdges | SparseEdges:
        """The potentials of kinds; the last ones are cached, as most shards share them."""
        shared = self.shared  # read once: another thread may replace it
        if shared is None or shared[0] is not kinds.sums:
            shared = self.shared = (kinds.sums, self._potentials(kinds))
        return shared[1]

    def _potentials(self, kinds: Kinds) -> DenseEdges | SparseEdges:
        support = self.loss.support
        if support is not None:
            found = self.loss.open_pairs(kinds)
            if found is not None:
                scores = found.sums @ self.lam
                # 1 + (exp(λ) − 1) loses digits where λ is far below zero.
                if scores.min(initial=0.0) > -15.0:
                    return SparseEdges(self.loss, found, np.expm1(scores), np.empty(0))
        scores = kinds.sums @ self.matrix
        return DenseEdges.of(self.loss, kinds, scores if support is None else scores.toarray())


@dataclass
class DenseEdges:
    """A full matrix of potentials for each kind of token."""

    loss: CRFLoss
    kinds: Kinds
    M: Floats  # [kinds, Y + 1, Y]
    shift: Floats  # what was taken from the scores of each kind
    pairs: Floats

    @classmethod
    def of(cls, loss: CRFLoss, kinds: Kinds, scores: Floats) -> DenseEdges:
        Y = loss.shape.labels
        M = np.zeros((kinds.n, Y + 1, Y))
        M[:, : Y + loss.shape.start] = scores.reshape(kinds.n, Y + loss.shape.start, Y)
        shift = M.max(axis=(1, 2), initial=0.0)
        M -= shift[:, None, None]
        np.exp(M, out=M)
        return cls(loss, kinds, M, shift, np.empty(0))

    def fresh(self) -> DenseEdges:
        return replace(self, pairs=np.zeros_like(self.M))

    def sum_product(
        self,
        offsets: NDArray[np.int64],
        kinds: NDArray[np.int32],
        psi: Floats,
        weights: Floats,
        shift: Floats,
        alpha: Floats,
        beta: Floats,
    ) -> float:
        """Σ weight·log Z; ``psi`` becomes the marginals, and the pairs are counted."""
        from spinney.inference._kernels import forward_backward

        log_z = np.empty(len(weights))
        forward_backward(offsets, kinds, psi, self.M, weights, alpha, beta, self.pairs, log_z)
        shifts = np.repeat(weights, np.diff(offsets)) @ (shift + self.shift[kinds])
        return float(weights @ log_z) + float(shifts)

    def expected(self) -> Floats:
        """The expected number of each pair of labels, at the positions of the bigram weights."""
        shape, support = self.loss.shape, self.loss.support
        self.pairs *= self.M
        counts = self.pairs[:, : shape.labels + shape.start].reshape(self.kinds.n, shape.pairs)
        counts = self.kinds.sums.T @ counts
        if support is None:
            return np.asarray(counts).ravel()
        rows = np.repeat(np.arange(shape.bigrams), np.diff(support.pair_row))
        return np.asarray(counts[rows, support.pairs])


@dataclass
class SparseEdges:
    """Potentials that are 1 except for the pairs with weights (Sokolovska 2010, §7.2)."""

    loss: CRFLoss
    open: OpenPairs
    excess: Floats
    pairs: Floats

    def fresh(self) -> SparseEdges:
        return replace(self, pairs=np.zeros_like(self.excess))

    def sum_product(
        self,
        offsets: NDArray[np.int64],
        kinds: NDArray[np.int32],
        psi: Floats,
        weights: Floats,
        shift: Floats,
        alpha: Floats,
        beta: Floats,
    ) -> float:
        """Σ weight·log Z; ``psi`` becomes the marginals, and the pairs are counted."""
        from spinney.inference._kernels import sparse_forward_backward

        log_z = np.empty(len(weights))
        chains = (offsets, kinds, psi, self.open.ptr, self.open.before, self.open.here, self.excess)
        sparse_forward_backward(*chains, weights, alpha, beta, self.pairs, log_z)
        return float(weights @ log_z) + float(np.repeat(weights, np.diff(offsets)) @ shift)

    def expected(self) -> Floats:
        """The expected number of each pair of labels, at the positions of the bigram weights."""
        return np.asarray(self.open.sums.T @ (self.pairs * (1.0 + self.excess)))


def _sampled(counts: Any, support: Support) -> Floats:
    """The entries of a sparse matrix (bigram observations × pairs) at the places of the support."""
    n_pairs = counts.shape[1]
    counts = counts.tocsr()
    counts.sort_indices()
    keys = np.repeat(np.arange(counts.shape[0]) * n_pairs, np.diff(counts.indptr)) + counts.indices
    wanted = np.repeat(np.arange(counts.shape[0]) * n_pairs, np.diff(support.pair_row)) + support.pairs
    if not len(keys):
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, counts.data[at], 0.0)


def _kept(
    data: Sequences, unsure: NDArray[np.bool_], psi: Floats, n_labels: int
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """The sentences with partial labels: their tokens, the potentials of their possible labels, their offsets."""
    tokens = np.flatnonzero(np.repeat(unsure, data.lengths))
    offsets = np.concatenate([[0], np.cumsum(data.lengths[unsure])])
    return tokens, psi[tokens] * data.allowed(n_labels)[tokens], offsets


def even_cuts(ptr: NDArray[np.int64], pieces: int) -> list[tuple[int, int]]:
    """At most this many runs of rows, at least one, with about the same number of entries each."""
    goals = np.linspace(0, int(ptr[-1]), pieces + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ptr, goals), [len(ptr) - 1]]))
    return list(pairwise(cuts.tolist())) or [(0, 0)]
