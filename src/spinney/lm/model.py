"""What every language model can do: score text, measure perplexity, continue text, and be stored in a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays, Vocabulary, sentence_arrays
from spinney.corpus.text import Reading
from spinney.errors import InputError, OptionError, about
from spinney.files import FilePath, ModelFile, Parts
from spinney.importing import imported
from spinney.kinds import KINDS, load_task
from spinney.lm.stream import END, START, Ids, Stream, stream_of
from spinney.lm.units import Units
from spinney.model import Applied, Contents, Model
from spinney.settings import Settings, settings_or
from spinney.settings.lm import Apply, Evaluate, Explain, Inspect
from spinney.settings.report import Report
from spinney.views import Views

Vector = NDArray[np.float64]

_MISSING = "\0missing"  # stands for unseen words while text is read for a closed vocabulary


class Perplexity(NamedTuple):
    """The perplexity of a text under a stated convention."""

    #: exp of the mean negative log-probability of what was scored.
    perplexity: float
    #: The sum of log-probabilities (natural).
    log_likelihood: float
    #: Words and, if they count, sentence ends that were scored.
    scored: int
    #: Words that were left out, since the model does not know them.
    skipped: int
    #: Words that the model does not know, scored or not.
    unknown: int


class LanguageModel(Model, ABC):
    """A distribution over the next word, or the end of the sentence, given what comes before.

    A subclass defines :meth:`event_logprobs`, :meth:`distribution` and the contents of its file. Words are
    numbered by ``vocabulary``; the end of a sentence is number ``len(vocabulary)``, its start the number after it,
    which is never predicted. Words that are not in the vocabulary are its unknown symbol or, in a closed vocabulary,
    impossible.
    """

    vocabulary: Vocabulary
    #: What the vocabulary holds: words, or characters or pieces of words, into which text is divided first.
    units: Units = Units()

    @abstractmethod
    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event of a stream, in the order of ``stream.events``."""

    @abstractmethod
    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end, after a history: a stream so far, oldest first.

        Models of sentences look back to the last start; without one, the history is the middle of a sentence.
        """

    def match_depths(self, stream: Stream) -> Ids:
        """How many symbols before each event were ever seen together in training, before anything."""
        raise OptionError(f"{type(self).__name__} has no match depth")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.vocabulary):,} words)"

    # -- text -----------------------------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """What is predicted: the words and the end of a sentence."""
        return len(self.vocabulary) + 1

    @property
    def start(self) -> int:
        """The number of the start of a sentence."""
        return len(self.vocabulary) + 1

    @cached_property
    def reading_vocabulary(self) -> Vocabulary:
        """The vocabulary to read text with, which always knows what to do with an unseen word."""
        known = self.vocabulary
        if known.unknown is not None:
            return known
        return Vocabulary((*known.words, _MISSING), np.append(known.counts, 0), _MISSING)

    def stream(self, text: TokenArrays | Iterable[Sequence[str]]) -> Stream:
        """The numbers of a text: sentences, or arrays read with :attr:`reading_vocabulary`."""
        if not isinstance(text, TokenArrays):
            text = [list(sentence) for sentence in text]
            marked = next(
                (i for i, sentence in enumerate(text) if START in sentence or END in sentence), None
            )
            if marked is not None:
                raise InputError(f"sentence {marked + 1} contains {START} or {END}, which are not words")
            text = sentence_arrays(text, vocabulary=self.reading_vocabulary)
        if text.vocabulary is self.vocabulary or text.vocabulary.words == self.vocabulary.words:
            return stream_of(text)
        if text.vocabulary.words != self.reading_vocabulary.words:
            raise OptionError("the text was not read with the vocabulary of the model")
        missing = len(self.vocabulary)
        ids = np.where(text.ids == missing, np.int32(-1), text.ids)
        return stream_of(replace(text, ids=ids, vocabulary=self.vocabulary))

    # -- questions ------------------------------------------------------------------------------------

    def logprob(self, tokens: Sequence[str]) -> Vector:
        """The natural log-probability of each word of a sentence, and last of its end."""
        return self.event_logprobs(self.stream([list(tokens)]))

    def score(self, tokens: Sequence[str], *, end: bool = True) -> float:
        """The logarithm **to base 10** of the probability of a sentence, as KenLM and SRILM give it."""
        values = self.logprob(tokens)
        return float(values.sum() if end else values[:-1].sum()) / float(np.log(10.0))

    def perplexity(
        self, text: TokenArrays | Iterable[Sequence[str]], *, ends: bool = True, unknown: bool = True
    ) -> Perplexity:
        """The perplexity of a text.

        Parameters
        ----------
        text
            Sentences of units (words, unless :attr:`units` says otherwise), or arrays read with
            :attr:`reading_vocabulary`.
        ends
            Whether the ends of sentences are scored (KenLM and SRILM do; Nelakanti 2014 does not).
        unknown
            Whether words that the model does not know are scored, as its unknown symbol. KenLM does so by default,
            SRILM and the usual figures on closed vocabularies do not. Words without any probability are never scored.
        """
        stream = self.stream(text)
        return measured(stream, self.event_logprobs(stream), self.vocabulary, ends=ends, unknown=unknown)

    def next_words(
        self, context: Sequence[str], k: int = 10, *, start: bool = False
    ) -> list[tuple[str, float]]:
        """The likeliest continuations of a context, with their probabilities; ``</s>`` is the end.

        Parameters
        ----------
        context
            The words before, oldest first.
        start
            Whether the context is the beginning of a sentence.
        """
        if k < 1:
            raise OptionError(f"k must be at least 1, not {k}")
        p = self.distribution(self.history(context, start=start))
        best = np.argsort(-p, kind="stable")[:k]
        return [(self.word(i), float(p[i])) for i in best.tolist()]

    def sample(
        self,
        n: int = 1,
        *,
        context: Sequence[str] = (),
        max_words: int = 100,
        temperature: float = 1.0,
        random_state: int = 0,
    ) -> list[list[str]]:
        """Sample sentences; with a context, each continues these first words.

        A ``temperature`` below 1 makes likely words likelier, one above 1 makes them less likely.
        """
        if not temperature > 0:
            raise OptionError(f"the temperature must be above 0, not {temperature}")
        rng = np.random.default_rng(random_state)
        drawn = []
        for _ in range(n):
            history = self.history(context, start=True).tolist()
            sentence = list(context)
            while len(sentence) < max_words:
                with np.errstate(divide="ignore", over="ignore"):
                    logs = np.log(self.distribution(np.array(history, np.int32))) / temperature
                p = (
                    np.exp(logs - logs.max())
                    if np.isfinite(logs.max())
                    else (logs == logs.max()).astype(float)
                )
                following = int(rng.choice(len(p), p=p / p.sum()))
                if following == len(self.vocabulary):
                    break
                history.append(following)
                sentence.append(self.word(following))
            drawn.append(sentence)
        return drawn

    def history(self, context: Sequence[str], *, start: bool) -> Ids:
        """The numbers of a context."""
        if any(word in (START, END) for word in context):
            raise InputError(
                f"{START} and {END} are not words", remedy="say whether the context begins a sentence"
            )
        ids = self.vocabulary.encode(context, missing=-1)
        return np.concatenate(([self.start], ids)).astype(np.int32) if start else ids

    def word(self, number: int) -> str:
        """How a number is written."""
        n_words = len(self.vocabulary)
        return self.vocabulary.words[number] if number < n_words else (END, START)[number - n_words]

    # -- files ----------------------------------------------------------------------------------------

    @abstractmethod
    def parts(self) -> Parts:
        """What the model keeps besides its vocabulary and facts."""

    @classmethod
    @abstractmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        """The model in a file; ``file.header`` holds what :meth:`parts` put there."""

    def components(self) -> Mapping[str, LanguageModel]:
        """The models inside, by name; they have the same vocabulary."""
        return {}

    def all_parts(self) -> dict[str, Parts]:
        """What the components keep, theirs included, under nested names."""
        found = {}
        for name, component in self.components().items():
            own = component.parts()
            found[name] = own._replace(
                header={**own.header, "kind": component.kind, "facts": component.facts}
            )
            found |= {f"{name}/{inner}": parts for inner, parts in component.all_parts().items()}
        return found

    def contents(self) -> Contents:
        """What the model keeps in its file: its own, its vocabulary, and its components."""
        own = self.parts()
        header = {**own.header, "facts": self.facts, "unknown": self.vocabulary.unknown}
        tensors = {**own.tensors, "word_counts": self.vocabulary.counts}
        strings = {**own.strings, "words": self.vocabulary.words}
        if not self.units.are_words:
            header["units"] = self.units.name
        if self.units.tokenizer is not None:
            strings["tokenizer"] = [self.units.tokenizer]
        return Contents(header, tensors, strings, self.all_parts())

    @classmethod
    def from_file(cls, file: ModelFile) -> LanguageModel:  # type: ignore[override]
        """The language model in a file, of any kind."""
        unknown = file.header.get("unknown")
        if unknown is not None and not isinstance(unknown, str):
            raise file.error("damaged: the unknown symbol is not a word")
        words, counts = file.texts("words"), file.tensor("word_counts", np.int64, low=0)
        if len(set(words)) != len(words):
            raise file.error("damaged: there is no vocabulary")
        with file.checked():
            model = class_of(file.kind, file).from_parts(file, Vocabulary(tuple(words), counts, unknown))
        model.facts = file.fact("facts", dict)
        with about(str(file.path)):
            Reading.of(model.facts)  # refuses what no reading is
        if "units" in file.header:
            text = "\n".join(file.texts("tokenizer")) if "tokenizer" in file.strings else None
            with file.checked():
                model.units = Units(file.fact("units", str), unknown, text)
        return model

    # -- what people see and the commands do ----------------------------------------------------------

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.lm.views import summary

        return Views(summary(self))

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: facts, size by order, the strongest contexts; or what comes after a context."""
        from spinney.lm.views import continuations, inspection

        s = settings_or(Inspect, settings, given)
        return Views(inspection(self, s.top) if s.context is None else continuations(self, s.context, s.top))

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What the page shows; with data, a file of text or sentences, the losses of their words, too."""
        from spinney.lm.report import report

        return Views(report(self, data, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """The log10 probability of each word of a file of text, or of a list of sentences."""
        from spinney.lm.scoring import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """The perplexity of files of text, or of a list of sentences."""
        from spinney.lm.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Which part of the context gave how much of the probability of each word."""
        from spinney.lm.explaining import explained

        return Views(explained(self, data, settings_or(Explain, settings, given)))


def measured(
    stream: Stream, logprobs: Vector, vocabulary: Vocabulary, *, ends: bool = True, unknown: bool = True
) -> Perplexity:
    """The perplexity of events whose log-probabilities are known; see :meth:`LanguageModel.perplexity`."""
    predicted = stream.ids[stream.events]
    foreign = predicted < 0
    if vocabulary.unknown is not None:
        foreign |= predicted == vocabulary[vocabulary.unknown]
    impossible = ~np.isfinite(logprobs) & foreign
    skipped = foreign if not unknown else impossible
    counted = ~skipped & (ends | (predicted != len(vocabulary)))
    n = int(counted.sum())
    if not n:
        raise InputError("nothing to score", remedy="the text has no word that the model knows")
    total = float(logprobs[counted].sum())
    with np.errstate(over="ignore"):
        return Perplexity(float(np.exp(-total / n)), total, n, int(skipped.sum()), int(foreign.sum()))


def component_of(file: ModelFile, name: str, vocabulary: Vocabulary) -> LanguageModel:
    """A component that :meth:`LanguageModel.all_parts` put into a file."""
    inner = file.part(name)
    model = class_of(inner.fact("kind", str), file).from_parts(inner, vocabulary)
    model.facts = inner.fact("facts", dict)
    return model


def load_language_model(path: FilePath) -> LanguageModel:
    """Read any language model that :meth:`LanguageModel.save` wrote."""
    model: LanguageModel = load_task(path, "lm")
    return model


def class_of(kind: str, file: ModelFile) -> type[LanguageModel]:
    """The class of a kind of model, imported only now."""
    where = KINDS.get(kind if kind.startswith("lm/") else f"lm/{kind}")
    if where is None:
        raise file.error(f"an unknown kind of language model, {kind!r}")
    found: type[LanguageModel] = imported(where)
    return found
