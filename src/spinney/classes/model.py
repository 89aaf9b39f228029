"""What all models of word classes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from spinney.corpus import TokenArrays, Vocabulary
from spinney.corpus.text import Reading, Tokens
from spinney.errors import OptionError
from spinney.model import Applied, Model, Structures
from spinney.settings import Settings, settings_or
from spinney.settings.classes import Apply, Evaluate, Explain, Inspect, Neighbours
from spinney.settings.report import Report
from spinney.structure import WordClasses, WordVectors
from spinney.structure.classviews import Floats, class_shares, class_words, path_vectors
from spinney.views import Views

#: What gives some sentences their new column: a cell for each token.
Cells = Callable[[Sequence[Tokens]], list[str]]
#: The class of each token of some sentences, and perhaps its probability.
InClasses = tuple[list[list[int]], list[list[float]] | None]
#: What stands for the class of a word without one.
NONE = "_"


@dataclass(frozen=True)
class Homonym:
    """A word with several classes: how often it was seen, and the share of each class."""

    word: str
    count: int
    classes: list[tuple[int, float]]


class EdgeKind(NamedTuple):
    """Relations that share transitions, and ``[child, parent]``: how often classes meet in such edges."""

    relations: list[str]
    counts: Floats


class WordClassModel(Model):
    """A model that assigns classes to words.

    A subclass defines :meth:`word_classes` and the contents of its file. All else follows from the classes; a model
    that knows more than the class of each word overrides other methods.
    """

    #: Whether the class of a word depends on its context.
    contextual: ClassVar[bool] = False

    def word_classes(self) -> WordClasses:
        """The class of each word."""
        raise NotImplementedError

    def structures(self) -> Structures:
        """What other models can use: word classes."""
        return Structures(classes=self.word_classes)

    # -- classes and their words ----------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that it knows, with how often each was seen (0 if that is not known)."""
        classes = self.word_classes()
        counts = np.zeros(len(classes), np.int64) if classes.counts is None else classes.counts
        reading = self.facts.get("reading")  # of a file that anyone may have written
        symbol = reading.get("unknown") if isinstance(reading, dict) else None
        unknown = symbol if isinstance(symbol, str) and symbol in classes else None
        return Vocabulary(tuple(classes.words), counts, unknown)

    @property
    def is_tree(self) -> bool:
        """Whether the class of a word depends on that of its head, not on that of the word before it."""
        return self.facts.get("structure") == "tree"

    def class_shares(self) -> Floats:
        """The share of each class in all tokens."""
        return class_shares(self.word_classes())

    def class_words(self, numbers: Sequence[int], top: int) -> list[list[tuple[str, float]]]:
        """The most frequent words of each of some classes, with the share of each in its class."""
        return class_words(self.word_classes(), numbers, top)

    def classes_of_word(self, word: str, least: float = 0.01) -> list[tuple[int, float]]:
        """The classes of a word with the share of each in its tokens, largest first."""
        return [(self.word_classes()[word], 1.0)]

    def homonyms(self, top: int = 20) -> list[Homonym]:
        """Words with several classes; there are none if the classes do not depend on the context."""
        return []

    def class_paths(self) -> list[str] | None:
        """The path of each class in a tree of classes, if there is one."""
        return self.word_classes().paths

    def transitions(self) -> Floats | None:
        """``[child, parent]``: how likely each class is after (in a tree: below) each other, if that is known."""
        return None

    def head_transitions(self, *relations: str) -> Floats | None:
        """``[child, parent]`` of a model whose vectors are distributions over hidden classes.

        Where relations have transitions of their own, those of the relations that are named.
        """
        return None

    def edge_kinds(self) -> dict[str, EdgeKind]:
        """The kinds of edges that have transitions of their own, by name; nothing if all edges share theirs."""
        return {}

    def comparable_vectors(self) -> WordVectors:
        """A vector for each word, so that words can be compared: by default by the paths of their classes."""
        return path_vectors(self.word_classes())

    # -- text -----------------------------------------------------------------------------------------

    def reading(self, words: str | None = None, parser: str | None = None) -> Reading:
        """How text is read for it, trees and all."""
        return replace(Reading.of(self.facts, words, parser), tree=self.is_tree, relations=False)

    def cells(self, what: str, top: int, reading: Reading, roots: bool = False) -> Cells:
        """What writes ``what`` of each token (see :class:`spinney.settings.classes.Apply`)."""
        if what not in ("class", "path"):
            raise OptionError(f"{what}: this model has only one class for each word (ask for class or path)")
        classes = self.word_classes()
        paths = self.class_paths() if what == "path" else [str(i) for i in range(classes.n_classes)]
        if paths is None:
            raise OptionError("path: these classes are flat and have no paths")
        names: Sequence[str] = paths

        def of_words(batch: Sequence[Tokens]) -> list[str]:
            ids = classes.encode([word for tokens in batch for word in tokens.words])
            return [NONE if i < 0 else names[i] for i in ids.tolist()]

        return of_words

    def sentence_classes(self, sentences: Sequence[Tokens], reading: Reading) -> InClasses:
        """The class of each token of some sentences (-1: none), and its probability where the model has one."""
        classes = self.word_classes()
        return [classes.encode(tokens.words).tolist() for tokens in sentences], None

    def held_out(self, text: TokenArrays, threads: int | None = None) -> dict[str, float]:
        """The log-likelihood of a text that was read with its vocabulary, and what else is measured on it."""
        raise OptionError("these classes give no likelihood to a text")

    # -- what people see and the commands do ----------------------------------------------------------

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.classes.views import summary

        return Views(summary(self))

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: facts, the largest classes and their transitions; or the classes of a word."""
        from spinney.classes.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: classes, a map of words, transitions; with data, sentences labelled with classes."""
        from spinney.classes.report import report

        return Views(report(self, data, settings_or(Report, settings, given)))

    def plot_map(self, words: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw words such that those of similar classes are close together, with Matplotlib (extra ``plots``).

        Parameters
        ----------
        words : sequence of str, optional
            The words to draw; by default the hundred most frequent ones.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from spinney.structure.maps import PLOTTED, by_count, plot_words

        vectors, vocabulary = self.comparable_vectors(), self.vocabulary
        if words is None:
            counts = vocabulary.counts if vocabulary.counts.any() else None
            order = by_count(vocabulary.words, counts, len(vocabulary.words), vocabulary.unknown)
            # A word that never had a class has no vector.
            words = [word for word in (vocabulary.words[i] for i in order) if word in vectors][:PLOTTED]

        def class_of(word: str) -> int:
            return self.classes_of_word(word)[0][0]

        return plot_words(vectors, words, class_of=class_of, metric="hellinger", ax=ax)

    def neighbours(self, word: str, settings: Settings | None = None, **given: Any) -> Views:
        """The words most similar to a word, and the classes of that word."""
        from spinney.classes.views import neighbours

        return Views(neighbours(self, word, settings_or(Neighbours, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """The class of each token of a file, or of a list of sentences."""
        from spinney.classes.scoring import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why the tokens of a file, or of a list of sentences, have their classes."""
        from spinney.classes.explaining import explained

        return Views(explained(self, data, settings_or(Explain, settings, given)))

    def evaluate(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """The likelihood of held-out text, and how the classes agree with human judgements about words."""
        from spinney.classes.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))
