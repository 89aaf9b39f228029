"""Transformers of scikit-learn from texts to word classes and to the states of a hidden Markov model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.classes.hidden import HiddenMarkov
from spinney.classes.recipes import fit
from spinney.corpus import TokenArrays
from spinney.corpus.sparse_tables import as_asked
from spinney.corpus.token_features import Document, TokenFeatures, bags, tokenized_documents
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.kinds import load_task
from spinney.model import Model
from spinney.structure import WordClasses
from spinney.structure.reading import word_classes

Weighting = Literal["shares", "counts", "binary"]

_TOKENS = 50_000  # whose posteriors are in memory at a time


@dataclass(eq=False, repr=False)
class ClassFeatures(TokenFeatures):
    """How much each word class occurs in a text; or each prefix of the paths of classes, in coarser clusterings.

    Parameters
    ----------
    classes : WordClasses, a fitted model, or a file, optional
        The classes; a model that has some, such as one of :func:`spinney.classes.fit`; its file, or a Brown paths file.
        By default they are learned in :meth:`fit` from the training texts, by :func:`spinney.classes.fit`.
    prefixes : sequence of int, optional
        Columns for the prefixes of paths of these lengths (a shorter path counts as a whole), rather than for classes.
    weighting : {"shares", "counts", "binary"}
        The share of a class among the tokens that have one, so that long texts and short ones are alike; how often it
        occurs; or whether it does.
    method, n_classes, lowercase, how, random_state, threads
        How classes are learned where none are given: the method, the number of classes (by default by the size of the
        text), whether words are in lower case, and any other settings of :mod:`spinney.settings.classes`.

    Attributes
    ----------
    word_classes_ : WordClasses
    names_ : the names of the columns, ``class7`` or, of a prefix, ``path0110``.

    Examples
    --------
    >>> classes = WordClasses(["cat", "dog", "runs"], [0, 1, 2], paths=["00", "01", "1"])
    >>> features = ClassFeatures(classes, prefixes=(1, 2), weighting="counts")
    >>> features.fit_transform(["The dog runs. A cat runs.", ["dog"]]).toarray().tolist()
    [[2.0, 2.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]]
    >>> features.get_feature_names_out().tolist()
    ['path0', 'path1', 'path00', 'path01']
    """

    classes: Any = None
    _: KW_ONLY
    prefixes: Sequence[int] | None = None
    weighting: Weighting = "shares"
    method: Literal["brown", "exchange", "hmm"] = "brown"
    n_classes: int | None = None
    lowercase: bool = True
    how: Mapping[str, Any] | None = None
    random_state: int = 0
    threads: int | None = None

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Take the classes, or learn them from these texts; labels are not used."""
        if self.weighting not in get_args(Weighting):
            raise unknown_choice("weighting must be", self.weighting, get_args(Weighting))
        documents = tokenized_documents(texts)
        if self.classes is None:
            found = _learned(self, documents, self.method, self.n_classes).word_classes()
        else:
            found = word_classes(_path_or(self.classes))
        self._columns, self.names_ = _columns(found, self.prefixes)
        self.word_classes_ = found
        return self

    def transform(self, texts: Any) -> Any:
        """A row for each text: a sparse matrix."""
        self.check_fitted()
        X = bags(tokenized_documents(texts), self.word_classes_.encode, self.word_classes_.n_classes)
        if self.weighting == "shares":
            total = np.asarray(X.sum(axis=1)).ravel()
            X.data /= np.repeat(total, np.diff(X.indptr))
        X = X @ self._columns
        if self.weighting == "binary":
            X.data[:] = 1.0
        return as_asked(self, X, texts, few=True)


def _columns(classes: WordClasses, prefixes: Sequence[int] | None) -> tuple[Any, list[str]]:
    """Which columns a class counts in, as a sparse matrix [classes, columns], and their names."""
    from scipy.sparse import csr_array, eye_array

    if prefixes is None:
        return eye_array(classes.n_classes, format="csr"), [f"class{c}" for c in range(classes.n_classes)]
    if classes.paths is None:
        raise OptionError("these classes are flat: they have no paths, so leave out prefixes")
    lengths = sorted(set(prefixes))
    if not lengths or lengths[0] < 1:
        raise OptionError(f"prefixes must be lengths of at least 1, not {prefixes!r}")
    number: dict[str, int] = {}
    for length in lengths:
        for prefix in sorted({path[:length] for path in classes.paths}):
            number.setdefault(prefix, len(number))
    pairs = sorted({(c, number[path[:n]]) for c, path in enumerate(classes.paths) for n in lengths})
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    table = csr_array((np.ones(len(rows)), (rows, columns)), shape=(classes.n_classes, len(number)))
    return table, [f"path{prefix}" for prefix in number]


@dataclass(eq=False, repr=False)
class PosteriorFeatures(TokenFeatures):
    """The mean of the posterior probabilities of hidden states over the tokens of a text.

    Parameters
    ----------
    model : HiddenMarkov or its file, optional
        A model of a chain. By default one is learned in :meth:`fit` from the training texts, by
        :func:`spinney.classes.fit` with the method ``hmm``.
    n_states, lowercase, how, random_state, threads
        How the model is learned where none is given: the number of states (by default by the size of the text), whether
        words are in lower case, and any other settings of :class:`spinney.settings.classes.Hidden`.

    Attributes
    ----------
    model_ : HiddenMarkov
    names_ : the names of the columns, ``state7``.

    Examples
    --------
    >>> texts = ["the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks"] * 10
    >>> features = PosteriorFeatures(n_states=3, threads=1)
    >>> X = features.fit_transform(texts)
    >>> X.shape, X.sum(axis=1).round(4).tolist()[:2]
    ((40, 3), [1.0, 1.0])
    """

    model: Any = None
    _: KW_ONLY
    n_states: int | None = None
    lowercase: bool = True
    how: Mapping[str, Any] | None = None
    random_state: int = 0
    threads: int | None = None

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Take the model, or learn it from these texts; labels are not used."""
        documents = tokenized_documents(texts)
        if self.model is None:
            model: Any = _learned(self, documents, "hmm", self.n_states)
        elif isinstance(self.model, Model):
            model = self.model
        else:
            model = load_task(os.fspath(self.model), "classes")
        if not isinstance(model, HiddenMarkov):
            raise InputError(
                f"a model of the kind {model.kind} has no hidden states",
                remedy="give one of classes fit with the method hmm",
            )
        if model.structure == "tree":
            raise InputError(
                "a model of trees needs parsed text", remedy="give a hidden Markov model of a chain"
            )
        self.names_ = [f"state{c}" for c in range(model.laws_.n_classes)]
        self.model_ = model
        return self

    def transform(self, texts: Any) -> NDArray[np.float64]:
        """A row for each text, which sums to 1; zeros for a text without words."""
        self.check_fitted()
        documents = tokenized_documents(texts)
        X = np.zeros((len(documents), len(self.names_)))
        lowercase = self.model_.reading().lowercase
        for first, some in _batches(documents):
            words = [[_folded(sentence, lowercase) for sentence in document] for document in some]
            arrays = self._arrays([sentence for document in words for sentence in document])
            if not arrays.n_tokens:
                continue
            sizes = np.array([sum(map(len, document)) for document in words])
            row = np.repeat(np.arange(len(sizes)), sizes)
            means = np.zeros((len(sizes), X.shape[1]))
            np.add.at(means, row, self.model_.posteriors(arrays))
            X[first : first + len(sizes)] = means / np.maximum(sizes, 1)[:, None]
        return X

    def _arrays(self, sentences: list[list[str]]) -> TokenArrays:
        vocabulary = self.model_.vocabulary_
        ids = vocabulary.encode(word for sentence in sentences for word in sentence)
        offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences], dtype=np.int64)])
        return TokenArrays(ids, offsets.astype(np.int64), vocabulary)


def _learned(features: Any, documents: list[Document], method: str, classes: int | None) -> Any:
    """A model of the sentences of some documents."""
    sentences = [sentence for document in documents for sentence in document]
    own = {"lowercase": features.lowercase, "seed": features.random_state, "threads": features.threads}
    return fit(sentences, method=method, classes=classes, **own, **(features.how or {}))


def _path_or(given: Any) -> Any:
    return os.fspath(given) if isinstance(given, os.PathLike) else given


def _folded(sentence: list[str], lowercase: bool) -> list[str]:
    return [word.lower() for word in sentence] if lowercase else sentence


def _batches(documents: list[Document]) -> Iterator[tuple[int, list[Document]]]:
    """Documents in batches, each with the number of its first."""
    start, tokens = 0, 0
    for number, document in enumerate(documents):
        tokens += sum(map(len, document))
        if tokens >= _TOKENS or number + 1 == len(documents):
            yield start, documents[start : number + 1]
            start, tokens = number + 1, 0
