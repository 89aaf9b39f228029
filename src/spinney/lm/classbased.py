"""Language models on word classes: first the class of the next word, then the word (Brown et al. 1992)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import TokenArrays, Vocabulary
from spinney.errors import OptionError
from spinney.files import ModelFile, Parts
from spinney.lm.model import LanguageModel, Vector, component_of
from spinney.lm.stream import Ids, Stream, refuse_marks
from spinney.structure import WordClasses


class ClassModel(LanguageModel):
    """p(y | x) = p(c(y) | classes of x) p(y | c(y)); the end of a sentence is a class of its own.

    Made by :func:`fit_class_model`.

    Parameters
    ----------
    vocabulary
        The words.
    class_of : int32 [words]
        The class of each word.
    log_emission : float64 [words]
        log p(word | its class); over a class the probabilities sum to one.
    class_model
        A model whose words are the classes, in their order; it may be of any kind.
    """

    kind: ClassVar[str] = "ClassModel"

    def __init__(
        self, vocabulary: Vocabulary, class_of: Ids, log_emission: Vector, class_model: LanguageModel
    ) -> None:
        n_classes = len(class_model.vocabulary)
        if class_of.shape != (len(vocabulary),) or log_emission.shape != class_of.shape:
            raise OptionError("each word needs one class and one probability in it")
        if np.any((class_of < 0) | (class_of >= n_classes)):
            raise OptionError(f"a class that is none of the {n_classes} of the class model")
        if not np.allclose(np.bincount(class_of, np.exp(log_emission), n_classes), 1.0, rtol=0, atol=1e-9):
            raise OptionError("the probabilities of the words of a class must sum to 1")
        self.vocabulary, self.class_of, self.log_emission = vocabulary, class_of, log_emission
        self.class_model = class_model
        self.facts = {}

    def components(self) -> Mapping[str, LanguageModel]:
        """The model of classes, which has a vocabulary of its own."""
        return {"classes": self.class_model}

    def _classes(self, ids: Ids) -> Ids:
        """Classes in place of words; both marks follow the last class, and what is no word is no class."""
        n_classes = len(self.class_model.vocabulary)
        return np.append(self.class_of, [n_classes, n_classes + 1, -1]).astype(np.int32)[ids]

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event."""
        of_classes = self.class_model.event_logprobs(Stream(self._classes(stream.ids), stream.room))
        return of_classes + np.append(self.log_emission, [0.0, 0.0])[stream.ids[stream.events]]

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end."""
        of_classes = self.class_model.distribution(self._classes(history))
        return np.append(of_classes[self.class_of] * np.exp(self.log_emission), of_classes[-1])

    def match_depths(self, stream: Stream) -> Ids:
        """How many classes before each event were ever seen together in training."""
        return self.class_model.match_depths(Stream(self._classes(stream.ids), stream.room))

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """What the model keeps besides its vocabulary and facts."""
        own = self.class_model.vocabulary
        tensors = {"class_of": self.class_of, "log_emission": self.log_emission, "class_counts": own.counts}
        return Parts({}, tensors, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        """The model again."""
        counts = file.tensor("class_counts", np.int64)
        if np.any(counts < 0):
            raise file.error("damaged: a count of a class is negative")
        class_model = component_of(file, "classes", class_vocabulary(counts))
        try:
            return cls(vocabulary, file.tensor("class_of", np.int32), file.tensor("log_emission", np.float64), class_model)
        except OptionError as error:
            raise file.error(f"damaged: {error}") from None


def fit_class_model(
    text: TokenArrays,
    classes: WordClasses,
    method: str = "modified-kneser-ney",
    *,
    order: int = 3,
    **options: Any,
) -> ClassModel:
    """A model of the classes of a text, smoothed as any n-gram model, and of the words in each class.

    Parameters
    ----------
    text
        Sentences.
    classes
        The classes of words, by their names. Words without class go where the unknown symbol is, or share a new class.
    method, order, options
        How the n-grams of classes are estimated: see :func:`~spinney.lm.smoothing.fit_ngram`.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"], ["the", "dog"]])
    >>> classes = WordClasses(["a", "the", "rose", "dog"], [0, 0, 1, 1])
    >>> model = fit_class_model(text, classes, "witten-bell", order=2)
    >>> model.next_words(["the"], 2)
    [('rose', 0.55...), ('dog', 0.27...)]
    """
    from spinney.lm.smoothing import fit_ngram

    refuse_marks(text)
    class_of = classes_of_words(text.vocabulary, classes)
    n_classes = int(class_of.max(initial=-1)) + 1
    ids = class_of[text.ids] if n_classes else text.ids
    of_classes = replace(
        text,
        ids=ids,
        vocabulary=class_vocabulary(np.bincount(ids, minlength=n_classes)),
        labels={},
        heads=None,
    )
    words = np.bincount(text.ids, minlength=len(text.vocabulary))
    model = ClassModel(
        text.vocabulary, class_of, log_emissions(words, class_of), fit_ngram(of_classes, method, order=order, **options)
    )
    model.facts |= {
        "method": method,
        "order": order,
        "classes": n_classes,
        "sentences": len(text),
        "tokens": text.n_tokens,
    }
    return model


def classes_of_words(vocabulary: Vocabulary, classes: WordClasses) -> Ids:
    """The class of each word of a vocabulary, numbered anew so that each class has a word.

    Examples
    --------
    >>> classes_of_words(Vocabulary(("a", "rose", "is"), [1, 1, 1]), WordClasses(["rose", "a", "b"], [7, 2, 1]))
    array([0, 1, 2], dtype=int32)
    """
    found = classes.encode(vocabulary.words)
    unknown = -1 if vocabulary.unknown is None else int(found[vocabulary[vocabulary.unknown]])
    found[found < 0] = unknown if unknown >= 0 else classes.n_classes
    return np.unique(found, return_inverse=True)[1].astype(np.int32)


def log_emissions(counts: NDArray[np.int64], class_of: Ids) -> Vector:
    """log p(word | class) by absolute discounting: what seen words of a class give up, its unseen words share.

    The discount is n1 / (n1 + 2 n2), as for n-grams. Classes without any count are uniform, and those whose words were
    all seen are not discounted.

    Examples
    --------
    >>> np.exp(log_emissions(np.array([3, 1, 0, 2, 0]), np.array([0, 0, 0, 1, 2], np.int32))).round(3)
    array([0.667, 0.167, 0.167, 1.   , 1.   ])
    """
    n_classes = int(class_of.max(initial=-1)) + 1
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    discount = once / (once + 2 * twice) if once and twice else 0.5
    total, seen, size = (
        np.bincount(class_of, values, n_classes) for values in (counts, counts > 0, np.ones(len(counts)))
    )
    unseen = size - seen
    taken = np.where(unseen > 0, discount, 0.0)
    share = np.where(seen > 0, taken * seen, 1.0) / np.maximum(unseen, 1)
    mass = np.where(counts > 0, counts - taken[class_of], share[class_of])
    p: Vector = np.log(mass / np.where(seen > 0, total, 1.0)[class_of])
    return p


def class_vocabulary(counts: NDArray[np.int64]) -> Vocabulary:
    """Classes as words: their names are their numbers."""
    return Vocabulary(tuple(str(i) for i in range(len(counts))), counts)
