"""What word vectors, spectral hidden Markov models and topics have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from spinney.corpus import ReadReport, TokenArrays, Vocabulary
from spinney.corpus.text import Reading, Tokens, batch_arrays
from spinney.errors import OptionError
from spinney.model import Applied, Model
from spinney.settings import Settings, settings_or
from spinney.settings.embed import Apply, Evaluate, Explain, Inspect, Neighbours
from spinney.structure import WordVectors
from spinney.structure.maps import PLOTTED, by_count
from spinney.views import View, Views

#: What is said of each sentence of some: a row of numbers for each token, or one number.
Said = Callable[[Sequence[Tokens]], Iterator[Any]]


class EmbedModel(Model):
    """A model that gives each word a vector.

    A subclass defines its vectors (:meth:`structures`), the contents of its file, and what it computes for sentences
    (:meth:`said`); the rest follows, and can be overridden.
    """

    def vectors(self) -> WordVectors:
        """The vector of each word."""
        found: WordVectors = self.structures()["vectors"]
        return found

    def reading(self, words: str | None = None, parser: str | None = None) -> Reading:
        """How text is read for it."""
        return Reading.of(self.facts, words, parser)

    def reading_of_words(self, s: Any) -> Reading:
        """How text is read where only its words count: the vector of a word is the same in any tree."""
        reading = self.reading(s.words, s.parser).without_trees()
        if s.parser is not None:
            reading.check_parser()
        return reading

    def said(self, what: str, reading: Reading) -> tuple[str, Said]:
        """What ``apply`` computes for sentences (see :class:`spinney.settings.embed.Apply`), and its name."""
        raise NotImplementedError

    def held_out(self, data: Any, s: Any) -> dict[str, Any]:
        """The perplexity of held-out text, and what the text consists of."""
        raise OptionError(
            "held-out text is for the methods hmm and topics: vectors give no probability to a text"
        )

    def export(self, output: str) -> dict[str, Any]:
        """Write the vectors as word2vec text; how much was written."""
        vectors = self.vectors()
        vectors.write_word2vec(output)
        return {"words": len(vectors), "dimensions": vectors.dimension}

    def strongest(self, n: int, words: int) -> list[View]:
        """The strongest words of the first dimensions."""
        from spinney.embed.views import dimensions

        return dimensions(self, n, words)

    # -- what people see and the commands do ----------------------------------------------------------

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.embed.views import facts

        return Views([facts(self)])

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: facts, the spectrum, and the strongest words of dimensions or topics."""
        from spinney.embed.views import facts

        s = settings_or(Inspect, settings, given)
        return Views([facts(self), *self.strongest(s.dimensions, s.top)])

    def plot_map(self, words: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw words such that those with similar vectors are close together, with Matplotlib (extra ``plots``).

        By default, the hundred most frequent words; see :meth:`spinney.structure.WordVectors.plot_map`.
        """
        vectors = self.vectors()
        known: Vocabulary | None = getattr(self, "vocabulary_", None)  # topics do not count words
        if words is None and known is not None:
            words = [vectors.words[i] for i in by_count(vectors.words, known.counts, PLOTTED, known.unknown)]
        return vectors.plot_map(words, ax)

    def neighbours(self, words: Sequence[str], settings: Settings | None = None, **given: Any) -> Views:
        """The words most similar to each given word, by the cosine of their vectors."""
        from spinney.embed.views import neighbours

        return Views(neighbours(self.vectors(), words, settings_or(Neighbours, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Vectors or states of the tokens of a file, or of a list of sentences; probabilities of sentences."""
        from spinney.embed.scoring import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """The nearest words of the tokens of a file, or of a list of sentences."""
        from spinney.embed.explaining import explained_words

        return Views(explained_words(self, data, settings_or(Explain, settings, given)))

    def evaluate(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """Word similarity, analogies, categories, sentiment, the perplexity of held-out text: what is asked for."""
        from spinney.embed.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))


def rows_of_tokens(numbers: Callable[[TokenArrays], Any], vocabulary: Vocabulary, reading: Reading) -> Said:
    """A function that gives a row of numbers for each token."""

    def said(batch: Sequence[Tokens]) -> Iterator[Any]:
        arrays = batch_arrays(batch, vocabulary, reading)
        yield from np.split(numbers(arrays), arrays.offsets[1:-1])

    return said


def text_facts(found: dict[str, Any], report: ReadReport) -> dict[str, Any]:
    """Scores of a text, with what was read of it."""
    share = report.unknown / max(report.tokens, 1)
    return {**found, "tokens": report.tokens, "unknown_share": share, "skipped": report.skipped}
