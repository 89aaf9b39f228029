"""Recent words are likely to recur: a model of the recent past alone (Kuhn & De Mori 1990).

It knows nothing of any training text, and is useful inside a mixture.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary
from spinney.errors import OptionError
from spinney.files import ModelFile, Parts
from spinney.lm.model import LanguageModel, Vector
from spinney.lm.stream import Ids, Stream


class CacheModel(LanguageModel):
    """Counts of the last words of the stream so far, over the sentences, however they were predicted.

    With w₁ … w_t what was said, word w_j weighs ``decay ** (t - j)`` if it is one of the last ``window``. The unigram
    cache is p₁(w) = (c(w) + base/W) / (c + base), W the number of outcomes. Longer caches look where the same last one
    or two words stood: p_k(w | h) = (c(h w) + T(h) p_{k-1}(w)) / (c(h) + T(h)), the rule of Witten and Bell, where T(h)
    is the number of different words after h, each with the weight of the last time it came.

    Parameters
    ----------
    vocabulary
        The vocabulary of the models with which it is mixed.
    window
        Number of words that it remembers.
    decay
        Weight of a word relative to the next one, above 0 and at most 1.
    order
        1 counts words, 2 also pairs, 3 also triples.
    ends
        Whether the end of a sentence counts as a word; if not, words follow each other over sentences. Words outside a
        closed vocabulary are skipped.
    base
        Weight of the uniform distribution below it, as a number of words.

    Examples
    --------
    >>> model = CacheModel(Vocabulary(("a", "rose", "is"), [2, 2, 1]), decay=1.0, order=2, ends=False)
    >>> np.exp(model.logprob("a rose is a rose".split())).round(2)
    array([0.25, 0.13, 0.08, 0.31, 0.62, 0.02])
    >>> model.next_words("a rose is a".split(), 1)
    [('rose', 0.625)]
    """

    kind: ClassVar[str] = "lm/CacheModel"

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        window: int = 2000,
        decay: float = 0.995,
        order: int = 1,
        ends: bool = True,
        base: float = 1.0,
    ) -> None:
        if not 1 <= window < 1 << 62:
            raise OptionError(f"the cache must hold at least 1 word and fewer than 2**62, not {window}")
        if not 0 < decay <= 1:
            raise OptionError(f"the decay must be above 0 and at most 1, not {decay}")
        if not 1 <= order <= 3:
            raise OptionError(f"the order of a cache must be 1 to 3, not {order}")
        if not 1e-100 <= base <= 1e100:
            raise OptionError(f"base must be from 1e-100 to 1e100, not {base}")
        self.vocabulary = vocabulary
        self.window, self.decay, self.order, self.ends, self.base = window, decay, order, ends, base
        self.facts = {}

    def _is_cached(self, ids: Ids) -> NDArray[np.bool_]:
        return (ids >= 0) & (ids < len(self.vocabulary) + self.ends)

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event; the cache is empty before the first."""
        from spinney.lm._cache_kernels import cache_logprobs

        predicted = stream.ids[stream.events]
        cached = self._is_cached(predicted)
        event = np.where(cached, np.cumsum(cached) - 1, np.where(predicted < 0, -2, -1))
        grams, n_grams = _numbered(predicted[cached], self.order, self.n_outcomes)
        # The context of a gram is the gram of one word less that ended just before.
        contexts = np.full_like(grams, -1)
        contexts[0] = 0
        contexts[1:, 1:] = grams[:-1, :-1]
        contexts[1:][contexts[1:] >= 0] += 1
        said: NDArray[np.int64] = np.cumsum(cached) - cached  # before each event
        before = np.full((self.order, len(event)), -1)
        before[0] = 0
        before[1:, said > 0] = grams[:-1, said[said > 0] - 1]
        before[1:][before[1:] >= 0] += 1
        logprobs: Vector = cache_logprobs(
            event,
            grams,
            contexts,
            before,
            self.window,
            self.decay,
            self.base,
            self.n_outcomes,
            n_grams,
            n_grams + 1,
        )
        return logprobs

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end; the history may hold many sentences."""
        said = history[self._is_cached(history)].astype(np.int64)
        p = np.full(self.n_outcomes, 1.0 / self.n_outcomes)
        recent = np.arange(max(0, len(said) - self.window), len(said))
        for k in range(min(self.order, len(said))):
            recent = recent[recent >= k]
            if k:
                recent = recent[said[recent - k] == said[len(said) - k]]
            if not recent.size:
                break
            weight = self.decay ** (len(said) - 1.0 - recent)
            counts = np.bincount(said[recent], weight, self.n_outcomes)
            latest = np.zeros(self.n_outcomes)
            np.maximum.at(latest, said[recent], weight)
            rest = latest.sum() if k else self.base
            if not rest > 0:  # all of it so long ago that its weight is nothing
                continue
            p = (counts + rest * p) / (weight.sum() + rest)
        return p

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        names = ("window", "decay", "order", "ends", "base")
        return Parts({name: getattr(self, name) for name in names}, {}, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        with file.checked():
            return cls(
                vocabulary,
                window=file.fact("window", int),
                decay=file.fact("decay", float),
                order=file.fact("order", int),
                ends=file.fact("ends", bool),
                base=file.fact("base", float),
            )


def _numbered(words: Ids, order: int, n_outcomes: int) -> tuple[NDArray[np.int64], int]:
    """The grams of 1 to ``order`` words that end at each word, numbered from the shortest on; -1 where too early."""
    from spinney.lm._trie_kernels import number_keys

    grams = np.full((order, len(words)), -1)
    grams[0] = words
    n_grams = n_outcomes
    for k in range(1, order):
        keys = grams[k - 1, k - 1 : -1] * n_outcomes + words[k:]
        number, example, _ = number_keys(keys, max(1, int(n_grams * n_outcomes).bit_length()))
        grams[k, k:] = n_grams + number
        n_grams += len(example)
    return grams, n_grams
