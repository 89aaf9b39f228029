"""What a language model makes of a text: perplexity by several conventions, where the losses are, and comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import InputError, OptionError
from spinney.evaluate import BootstrapResult, paired_bootstrap
from spinney.lm.model import LanguageModel, Vector, measured
from spinney.lm.stream import Stream
from spinney.views import Table

_MANY = 10_000  # number of sentences above which fewer resamples suffice
_LOG10 = float(np.log(10.0))


@dataclass(frozen=True, eq=False)
class TextScores:
    """The log-probability of each event of a text, and which events count.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> scores = TextScores.of(fit_ngram(text, "witten-bell", order=2), text)
    >>> facts = scores.facts()
    >>> facts["scored"], facts["ends"], round(facts["perplexity"], 2), round(facts["perplexity_without_ends"], 2)
    (7, 2, 1.69, 1.86)
    """

    stream: Stream
    logprobs: Vector
    vocabulary: Vocabulary
    ends: bool = True
    unknown: bool = True

    @classmethod
    def of(cls, model: LanguageModel, text: TokenArrays, *, ends: bool = True, unknown: bool = True) -> Self:
        """The scores that a model gives."""
        stream = model.stream(text)
        return cls(stream, model.event_logprobs(stream), model.vocabulary, ends, unknown)

    @cached_property
    def predicted(self) -> NDArray[np.int32]:
        """The symbol of each event."""
        return self.stream.ids[self.stream.events]

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Which events are scored, by the convention of :func:`spinney.lm.model.measured`."""
        foreign = self.predicted < 0
        if self.vocabulary.unknown is not None:
            foreign |= self.predicted == self.vocabulary[self.vocabulary.unknown]
        skipped = foreign & ~np.isfinite(self.logprobs) if self.unknown else foreign
        counted: NDArray[np.bool_] = ~skipped & (self.ends | (self.predicted != len(self.vocabulary)))
        return counted

    @cached_property
    def sentence(self) -> NDArray[np.int64]:
        """The number of the sentence of each event."""
        return (np.cumsum(self.stream.room == 0) - 1)[self.stream.events]

    def facts(self) -> dict[str, Any]:
        """Perplexities and what they are computed from; None where nothing is left to score."""
        found = measured(self.stream, self.logprobs, self.vocabulary, ends=self.ends, unknown=self.unknown)
        return {
            "perplexity": found.perplexity,
            "perplexity_without_ends": self._perplexity(ends=False, unknown=self.unknown),
            "perplexity_without_unknown": self._perplexity(ends=self.ends, unknown=False),
            "log10_probability": found.log_likelihood / _LOG10,
            "scored": found.scored,
            "ends": int(np.count_nonzero(self.counted & (self.predicted == len(self.vocabulary)))),
            "unknown": found.unknown,
            "skipped": found.skipped,
            "sentences": int(np.count_nonzero(self.stream.room == 0)),
        }

    def _perplexity(self, *, ends: bool, unknown: bool) -> float | None:
        try:
            return measured(
                self.stream, self.logprobs, self.vocabulary, ends=ends, unknown=unknown
            ).perplexity
        except InputError:
            return None

    def by_depth(self, depths: NDArray[np.int32]) -> Table:
        """Mean losses by the length of the context that the model knows."""
        values = depths[self.counted]
        rows = [[str(depth), *self._loss(self.counted & (depths == depth))] for depth in np.unique(values)]
        return Table(
            "breakdown", "Loss by matched context", ["symbols", "scored", "log-loss", "perplexity"], rows
        )

    def by_frequency(self) -> Table:
        """Mean losses by how often the predicted word was seen in training; ends of sentences apart."""
        counts = self.vocabulary.counts
        if not counts.any():
            raise OptionError("the model does not know how often words were seen in training")
        words = self.counted & (self.predicted != len(self.vocabulary))
        often = np.zeros(len(words), np.int64)
        known = words & (self.predicted >= 0)
        often[known] = counts[self.predicted[known]]
        bucket = np.where(often > 0, np.frexp(often)[1].astype(np.int64), 0)  # 1, 2 to 3, 4 to 7, …
        rows = []
        for b in np.unique(bucket[words]).tolist():
            low, high = (1 << b) >> 1, (1 << b) - 1
            name = str(low) if high <= low else f"{low} to {high}"
            rows.append([name, *self._loss(words & (bucket == b))])
        if self.ends:
            rows.append(["ends", *self._loss(self.counted & ~words)])
        return Table(
            "breakdown", "Loss by frequency in training", ["seen", "scored", "log-loss", "perplexity"], rows
        )

    def _loss(self, which: NDArray[np.bool_]) -> list[Any]:
        loss = -float(self.logprobs[which].mean())
        with np.errstate(over="ignore"):
            return [int(which.sum()), loss, float(np.exp(loss))]

    def against(self, baseline: TextScores, random_state: int = 0) -> tuple[BootstrapResult, int]:
        """The difference of perplexities on the events that both score, tested over sentences; how many these are."""
        if len(self.logprobs) != len(baseline.logprobs):
            raise OptionError("the two models read the text differently: they see different words in it")
        both = self.counted & baseline.counted
        n = int(self.sentence[-1]) + 1

        def items(scores: TextScores) -> NDArray[np.float64]:
            sums = np.bincount(self.sentence[both], scores.logprobs[both], n)
            return np.column_stack((sums, np.bincount(self.sentence[both], minlength=n)))

        draws = 10_000 if n <= _MANY else 1_000
        found = paired_bootstrap(
            items(baseline), items(self), _perplexity_of_sums, resamples=draws, random_state=random_state
        )
        return found, int(both.sum())


def _perplexity_of_sums(items: NDArray[Any]) -> float:
    """Of columns: the log-probability of each sentence, and its events."""
    total, n = items.sum(axis=0)
    return float(np.exp(-total / n)) if n else float("nan")
