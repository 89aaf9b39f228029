"""EM for hidden Markov chains and trees: batch and online (Grave 2014, §2.2.1; Cappé & Moulines 2009)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.classes.expecting import Shard, expectations, expectations_of_text, grouped, shards
from spinney.classes.statistics import Statistics
from spinney.corpus import TokenArrays
from spinney.inference.forests import TokenForest, sentence_trees
from spinney.inference.hidden import Beliefs, Laws, sparse_sum_product, sum_product
from spinney.interrupts import uninterrupted
from spinney.progress import Task

#: Tokens whose posteriors are computed together: enough for good matrix products, few enough for the cache.
PIECE = 4096


class Trees(NamedTuple):
    """Sentences with their trees: what inference reads."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    heads: NDArray[np.int32] | None
    kinds: NDArray[np.int32] | None


@dataclass(frozen=True)
class Corpus:
    """Text of a model: the arrays, whether their heads count, and the kind of edge of each relation."""

    arrays: TokenArrays
    tree: bool = False
    kind_of: NDArray[np.int32] | None = None

    def pieces(self, tokens: int = PIECE) -> list[TokenArrays]:
        """Consecutive sentences, about this many tokens at a time."""
        return self.arrays.shards(max(1, round(self.arrays.n_tokens / tokens)))

    @cached_property
    def kept_shards(self) -> list[Shard]:
        """All sentences, as the workers of a cluster keep them from one pass to the next."""
        return shards(self)

    def trees(self, piece: TokenArrays) -> Trees:
        """The sentences of a piece, read from disk if need be."""
        kinds = None
        if self.kind_of is not None:
            kinds = self.kind_of[np.asarray(piece.labels["deprel"].ids)]
        heads = np.asarray(piece.heads) if self.tree else None
        return Trees(np.asarray(piece.ids), piece.offsets, heads, kinds)


@dataclass(frozen=True)
class Messages:
    """How messages are passed: exactly, or projected to their k largest entries, to 1 - ε of their mass, or both."""

    k: int | None = None
    epsilon: float | None = None

    def beliefs(self, trees: Trees, laws: Laws) -> tuple[NDArray[np.int64], NDArray[np.int32], Beliefs]:
        """The token and the word of each node, and what was found."""
        if self.k is None and self.epsilon is None:
            forest = TokenForest.from_heads(*trees[1:])
            words = trees.ids[forest.tokens]
            return forest.tokens, words, sum_product(forest, words, laws)
        laid = sentence_trees(*trees[1:])
        words = trees.ids[laid.tokens]
        found = sparse_sum_product(laid, words, laws, k=self.k or 0, epsilon=self.epsilon or 0.0)
        return laid.tokens, words, found


class Pass(NamedTuple):
    """What a pass over the text found, with the parameters that it had on its way."""

    log_likelihood: float
    support: float  # mean number of entries kept in a message
    revived: int


class Half(NamedTuple):
    """A part of a pass: the batches that were made, and their totals."""

    batches: int = 0
    log_likelihood: float = 0.0
    kept: float = 0.0
    sent: int = 0
    revived: int = 0
    seconds: float = 0.0

    def after(self, found: Sequence[Beliefs], revived: int = 0, seconds: float = 0.0) -> Half:
        """The part with one more batch."""
        total, kept, sent = self.log_likelihood, self.kept, self.sent
        for one in found:
            total, kept, sent = total + one.log_likelihood, kept + one.support[0], sent + one.support[1]
        return Half(
            self.batches + 1,
            float(total),
            float(kept),
            int(sent),
            self.revived + revived,
            self.seconds + seconds,
        )

    def result(self) -> Pass:
        """What the whole pass found."""
        return Pass(self.log_likelihood, self.kept / max(self.sent, 1), self.revived)


NO_BATCH = Half()


@dataclass(frozen=True)
class Learner:
    """The settings of EM that do not change on the way."""

    messages: Messages
    smoothing: float
    backoff: float
    dtype: Any
    threads: int
    noise: float

    def laws(self, statistics: Statistics) -> Laws:
        """The M-step."""
        return statistics.laws(self.smoothing, self.backoff, self.dtype)

    def batch_pass(self, corpus: Corpus, statistics: Statistics, work: Task) -> tuple[Statistics, Pass]:
        """One iteration of EM: the expected counts of the whole text under one set of parameters."""
        laws = self.laws(statistics)
        V, C = statistics.omega.shape
        new = Statistics.zeros(V, C, len(statistics.tau), np.float64)
        total = Half()
        every = expectations_of_text(self.messages, corpus, laws, self.threads)
        for group, (words, found) in zip(grouped(corpus.pieces()), every):
            new.add(words, found)
            total = total.after([found])
            work.update(sum(piece.n_tokens for piece in group))
        new.omega = new.omega.astype(statistics.omega.dtype)
        return new, total.result()

    def online_pass(
        self,
        corpus: Corpus,
        statistics: Statistics,
        batches: Sequence[Sequence[TokenArrays]],
        alpha: Callable[[int], float],
        steps: int,
        rng: Callable[[int], np.random.Generator],
        work: Task,
        watch: Callable[[int, Half], None],
        half: Half = NO_BATCH,
    ) -> Pass:
        """Online EM over batches of pieces; ``alpha(t)`` is the size of step t, of which ``steps`` were made before.

        The statistics change in place, and whole batches at a time: they are sound whenever the work is interrupted,
        and ``watch`` has then been told what was done with them, so that the pass can go on from there.
        """
        for t, batch in enumerate(batches[half.batches :], steps + 1):
            began = time.perf_counter()
            groups = ([piece] for piece in batch)
            found = list(expectations(self.messages, corpus, groups, self.laws(statistics), self.threads))
            with uninterrupted():
                statistics.step(found, alpha(t))
                revived = statistics.revive(rng(t), self.noise)
                half = half.after([beliefs for _, beliefs in found], revived, time.perf_counter() - began)
                watch(t, half)
            work.update(sum(piece.n_tokens for piece in batch))
        return half.result()

    def log_likelihood(self, corpus: Corpus, laws: Laws) -> float:
        """Of all words, by exact inference whatever the messages of learning."""
        found = expectations_of_text(Messages(), corpus, laws, self.threads)
        return sum(beliefs.log_likelihood for _, beliefs in found)


def step_sizes(gamma: float, delay: float) -> Callable[[int], float]:
    """α_t = 1 / (delay + t)^γ (Grave 2014, §2.2.1)."""
    return lambda t: 1.0 / (delay + t) ** gamma


def shuffled_batches(corpus: Corpus, tokens: int, rng: np.random.Generator) -> list[list[TokenArrays]]:
    """The pieces of a corpus in random order, a few to a batch of about ``tokens``."""
    pieces = corpus.pieces(min(tokens, PIECE))
    each = max(1, round(tokens / min(tokens, PIECE)))
    order = rng.permutation(len(pieces)).tolist()
    return [[pieces[i] for i in order[first : first + each]] for first in range(0, len(order), each)]
