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
from spinney.lm.storedtrie import stored_trie, trie_header, trie_tensors
from spinney.lm.stream import Ids, Stream, refuse_marks, stream_of
from spinney.lm.suffixtrie import SuffixTrie, trie_of_events
from spinney.lm.trie_kneser_ney import trie_kneser_ney
from spinney.structure import WordClasses


class _ByClass(LanguageModel):
    """What predicts a class, and then a word of that class."""

    def __init__(self, vocabulary: Vocabulary, class_of: Ids, log_emission: Vector, n_classes: int) -> None:
        if class_of.shape != (len(vocabulary),) or log_emission.shape != class_of.shape:
            raise OptionError("each word needs one class and one probability in that class")
        if n_classes > len(vocabulary) or np.any((class_of < 0) | (class_of >= n_classes)):
            raise OptionError(f"a class is not among the {n_classes} of the class model")
        if not np.allclose(np.bincount(class_of, np.exp(log_emission), n_classes), 1.0, rtol=0, atol=1e-9):
            raise OptionError("the probabilities of the words of a class must sum to 1")
        self.vocabulary, self.class_of, self.log_emission, self.n_classes = (
            vocabulary,
            class_of,
            log_emission,
            n_classes,
        )
        self.facts = {}

    def _classes(self, ids: Ids) -> Ids:
        """Classes in place of words; both marks are numbered after the last class; -1 stays -1."""
        return np.append(self.class_of, [self.n_classes, self.n_classes + 1, -1]).astype(np.int32)[ids]

    def _within_class(self, stream: Stream) -> Vector:
        """log p(word | class) of each event; the end is all of its class."""
        of_words: Vector = np.append(self.log_emission, [0.0, 0.0])[stream.ids[stream.events]]
        return of_words

    def _of_words(self, of_classes: Vector) -> Vector:
        """The distribution of words, given that of classes."""
        return np.append(of_classes[self.class_of] * np.exp(self.log_emission), of_classes[-1])


class ClassModel(_ByClass):
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

    kind: ClassVar[str] = "lm/ClassModel"

    def __init__(
        self, vocabulary: Vocabulary, class_of: Ids, log_emission: Vector, class_model: LanguageModel
    ) -> None:
        super().__init__(vocabulary, class_of, log_emission, len(class_model.vocabulary))
        self.class_model = class_model

    def components(self) -> Mapping[str, LanguageModel]:
        """The model of classes, which has a vocabulary of its own."""
        return {"classes": self.class_model}

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event."""
        of_classes = self.class_model.event_logprobs(Stream(self._classes(stream.ids), stream.room))
        return of_classes + self._within_class(stream)

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end."""
        return self._of_words(self.class_model.distribution(self._classes(history)))

    def match_depths(self, stream: Stream) -> Ids:
        """How many classes before each event were ever seen together in training."""
        return self.class_model.match_depths(Stream(self._classes(stream.ids), stream.room))

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """What the model keeps besides its vocabulary and facts."""
        counts = self.class_model.vocabulary.counts
        return Parts(
            {}, {"class_of": self.class_of, "log_emission": self.log_emission, "class_counts": counts}, {}
        )

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        """The model in a file."""
        counts = file.tensor("class_counts", np.int64, low=0)
        class_model = component_of(file, "classes", class_vocabulary(counts))
        with file.checked():
            return cls(vocabulary, *_emissions_of(file), class_model)


class ClassTargetModel(_ByClass):
    """p(y | x) = p(c(y) | x) p(y | c(y)): the class of the next word after words.

    Made by :func:`fit_class_targets`.

    Parameters
    ----------
    vocabulary, class_of, log_emission
        As for :class:`ClassModel`.
    trie
        Contexts of words, whose grams end with classes.
    logp : float64 [grams]
        log p of each gram.
    backoff : float64 [contexts]
        The logarithm of the weight of the lower order; below the empty context is the uniform distribution.
    """

    kind: ClassVar[str] = "lm/ClassTargetModel"

    def __init__(
        self,
        vocabulary: Vocabulary,
        class_of: Ids,
        log_emission: Vector,
        trie: SuffixTrie,
        logp: Vector,
        backoff: Vector,
    ) -> None:
        super().__init__(vocabulary, class_of, log_emission, trie.n_outcomes - 1)
        if trie.n_symbols != len(vocabulary) + 2 or trie.collapsed:
            raise OptionError("the contexts do not match the vocabulary, or are collapsed")
        if logp.shape != (trie.n_grams,) or backoff.shape != (trie.n_contexts,):
            raise OptionError("each n-gram needs a probability, and each context a weight")
        if not (np.all(logp <= 0) and np.all(backoff <= 0)):
            raise OptionError("a probability or weight is above 1, or not a number")
        self.trie, self.logp, self.backoff = trie, logp, backoff

    def _scored(self, stream: Stream) -> tuple[Vector, Ids]:
        """log p of the class of each event, and the depth of match."""
        from spinney.lm._class_kernels import class_scores

        events = stream.events
        outcomes = self._classes(stream.ids)[events].astype(np.int64)
        scores, depths = np.empty(len(events)), np.empty(len(events), np.int32)
        trie = self.trie
        class_scores(
            np.ascontiguousarray(stream.ids), events, stream.room[events], outcomes, trie.n_symbols, trie.n_outcomes,
            *trie.context_table, *trie.gram_table, self.logp, self.backoff, self._unseen, scores, depths,
        )  # fmt: skip
        scores[outcomes < 0] = -np.inf
        return scores, depths

    @property
    def _unseen(self) -> float:
        """log p, after the empty context, of a class that was never seen."""
        return float(self.backoff[0] - np.log(self.trie.n_outcomes))

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event."""
        return self._scored(stream)[0] + self._within_class(stream)

    def match_depths(self, stream: Stream) -> Ids:
        """How many symbols before each event were ever seen together in training, before anything."""
        return self._scored(stream)[1]

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end."""
        from spinney.lm._trie_kernels import find

        trie, p, u = self.trie, np.full(self.trie.n_outcomes, np.exp(self._unseen)), 0
        grams = slice(0, int(trie.gram_ptr[1]))
        p[trie.symbol[grams]] = np.exp(self.logp[grams])
        for symbol in history[::-1].tolist():
            u = -1 if symbol < 0 else int(find(u * trie.n_symbols + symbol, *trie.context_table))
            if u < 0:
                break
            grams = slice(int(trie.gram_ptr[u]), int(trie.gram_ptr[u + 1]))
            p *= np.exp(self.backoff[u])
            p[trie.symbol[grams]] = np.exp(self.logp[grams])
        return self._of_words(p)

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """What the model keeps besides its vocabulary and facts."""
        own: dict[str, NDArray[Any]] = {
            "class_of": self.class_of,
            "log_emission": self.log_emission,
            "logp": self.logp,
            "backoff": self.backoff,
        }
        return Parts(trie_header(self.trie), {**own, **trie_tensors(self.trie)}, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        """The model in a file."""
        trie = stored_trie(file, np.empty(0, np.int32))
        # Copies: kernels are compiled for arrays that can be written to.
        logp, backoff = (
            np.array(file.tensor(name, np.float64, low=-np.inf, high=0)) for name in ("logp", "backoff")
        )
        with file.checked():
            return cls(vocabulary, *_emissions_of(file), trie, logp, backoff)


def _emissions_of(file: ModelFile) -> tuple[Ids, Vector]:
    return file.tensor("class_of", np.int32), file.tensor("log_emission", np.float64, low=-np.inf)


# ---------------------------------------------------------------------------------------------- fitting


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
    [('rose', 0.547...), ('dog', 0.273...)]
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
        text.vocabulary,
        class_of,
        log_emissions(words, class_of),
        fit_ngram(of_classes, method, order=order, **options),
    )
    model.facts |= {
        "method": method,
        "order": order,
        "classes": n_classes,
        "sentences": len(text),
        "tokens": text.n_tokens,
    }
    return model


def fit_class_targets(text: TokenArrays, classes: WordClasses, *, order: int = 3) -> ClassTargetModel:
    """A model of the class that follows words, with modified Kneser-Ney smoothing, and of the words in each class.

    Parameters
    ----------
    text
        Sentences.
    classes
        As for :func:`fit_class_model`.
    order
        Contexts have up to ``order - 1`` words.

    Examples
    --------
    >>> from spinney.corpus import sample_sentences, sentence_arrays
    >>> text = sentence_arrays(sample_sentences(), min_count=2, unknown="<unk>")
    >>> words = list(text.vocabulary.words)
    >>> model = fit_class_targets(text, WordClasses(words, [len(word) for word in words]))
    >>> model.n_classes, model.trie.n_symbols == len(words) + 2
    (26, True)
    """
    if order < 1:
        raise OptionError(f"the order must be at least 1, not {order}")
    refuse_marks(text)
    class_of = classes_of_words(text.vocabulary, classes)
    n_classes, n_words = int(class_of.max(initial=-1)) + 1, len(text.vocabulary)
    stream = stream_of(text)
    events = stream.events
    outcomes = np.append(class_of, n_classes).astype(np.int32)[stream.ids[events]]
    trie = trie_of_events(
        stream.ids,
        events,
        stream.room[events],
        np.zeros(len(events), np.int32),
        outcomes,
        n_classes + 1,
        n_words + 2,
        order - 1,
    )
    smoothed = trie_kneser_ney(trie)
    with np.errstate(divide="ignore"):
        logp, backoff = (np.minimum(np.log(p), 0.0) for p in (smoothed.p, smoothed.weight))
    emission = log_emissions(np.bincount(text.ids, minlength=n_words), class_of)
    model = ClassTargetModel(text.vocabulary, class_of, emission, trie, logp, backoff)
    model.facts |= {"order": order, "classes": n_classes, "sentences": len(text), "tokens": text.n_tokens}
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
