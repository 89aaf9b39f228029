"""Transformers of scikit-learn from texts to means of word vectors and to proportions of topics."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.token_features import TokenFeatures, bags, tokenized_documents
from spinney.embed.documents import table_of
from spinney.embed.recipes import fit
from spinney.embed.topics import MomentTopics
from spinney.errors import InputError, unknown_choice
from spinney.kinds import load_task
from spinney.model import Model
from spinney.structure.reading import word_vectors

Weighting = Literal["mean", "tfidf"]


@dataclass(eq=False, repr=False)
class VectorFeatures(TokenFeatures):
    """The mean of the vectors of the words of a text.

    Parameters
    ----------
    vectors : WordVectors, a fitted model, or a file, optional
        The vectors; a model that has some, such as one of :func:`spinney.embed.fit`; its file, or word2vec text. By
        default they are learned in :meth:`fit` from the training texts, by :func:`spinney.embed.fit`.
    weighting : {"mean", "tfidf"}
        Every token counts the same; or as the smoothed inverse document frequency of its word in the training texts.
    method, dimensions, lowercase, how, random_state, threads
        How vectors are learned where none are given: the method, the number of dimensions, whether words are in lower
        case, and any other settings of :mod:`spinney.settings.embed`, such as ``{"min_count": 2}``.

    Attributes
    ----------
    word_vectors_ : WordVectors
    idf_ : array, the weight of each word; None unless ``weighting="tfidf"``.
    names_ : the names of the columns, ``vector7``.

    Examples
    --------
    >>> from spinney.structure import WordVectors
    >>> vectors = WordVectors(["good", "fun", "dull"], [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> VectorFeatures(vectors).fit_transform(["good fun", "unknown words"]).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """

    vectors: Any = None
    _: KW_ONLY
    weighting: Weighting = "mean"
    method: str = "cca"
    dimensions: int = 100
    lowercase: bool = True
    how: Mapping[str, Any] | None = None
    random_state: int = 0
    threads: int | None = None

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Take the vectors, or learn them from these texts, and count documents; labels are not used."""
        if self.weighting not in get_args(Weighting):
            raise unknown_choice("weighting must be", self.weighting, get_args(Weighting))
        documents = tokenized_documents(texts)
        if self.vectors is None:
            sentences = [sentence for document in documents for sentence in document]
            own = {"method": self.method, "dimensions": self.dimensions, **_learning(self)}
            found = word_vectors(fit(sentences, **own))
        else:
            found = word_vectors(
                os.fspath(self.vectors) if isinstance(self.vectors, os.PathLike) else self.vectors
            )
        self.idf_: NDArray[np.float64] | None = None
        if self.weighting == "tfidf":
            counts = bags(documents, found.encode, len(found))
            containing = np.bincount(counts.indices, minlength=counts.shape[1])
            self.idf_ = np.log((1.0 + len(documents)) / (1.0 + containing)) + 1.0
        self.names_ = [f"vector{d}" for d in range(found.dimension)]
        self.word_vectors_ = found
        return self

    def transform(self, texts: Any) -> NDArray[np.float64]:
        """A row for each text; zeros for a text without known words."""
        self.check_fitted()
        W = bags(tokenized_documents(texts), self.word_vectors_.encode, len(self.word_vectors_))
        if self.idf_ is not None:
            W.data *= self.idf_[W.indices]
        total = np.asarray(W.sum(axis=1)).ravel()
        sums = W @ self.word_vectors_.matrix
        sums = sums.toarray() if hasattr(sums, "toarray") else np.asarray(sums)
        return np.asarray(sums / np.where(total > 0, total, 1.0)[:, None], dtype=np.float64)


@dataclass(eq=False, repr=False)
class TopicFeatures(TokenFeatures):
    """The proportions of topics in a text.

    Parameters
    ----------
    topics : MomentTopics or its file, optional
        A fitted model of topics. By default one is learned in :meth:`fit` from the training texts, by
        :func:`spinney.embed.fit` with the method ``topics``.
    n_topics, alpha0, polish, lowercase, how, random_state, threads
        How topics are learned where none are given: their number, the sum of the Dirichlet parameters (None: each text
        has one topic), passes of EM, whether words are in lower case, and any other settings of the method ``topics``
        in :mod:`spinney.settings.embed`, such as ``{"stop_words": 50}``.

    Attributes
    ----------
    model_ : MomentTopics
    names_ : the names of the columns, ``topic7``.

    Examples
    --------
    >>> texts = ["ball game ball", "game ball game", "vote law vote", "law vote law"] * 5
    >>> features = TopicFeatures(n_topics=2, how={"stop_words": 0, "min_count": 1}, threads=1)
    >>> X = features.fit_transform(texts)
    >>> bool(X[0].argmax() == X[1].argmax()), bool(X[0].argmax() == X[2].argmax())
    (True, False)
    """

    topics: Any = None
    _: KW_ONLY
    n_topics: int = 10
    alpha0: float | None = 0.3
    polish: int = 20
    lowercase: bool = True
    how: Mapping[str, Any] | None = None
    random_state: int = 0
    threads: int | None = None

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Take the topics, or learn them from these texts; labels are not used."""
        words = _words(texts)
        if self.topics is None:
            own = {"topics": self.n_topics, "alpha0": self.alpha0, "polish": self.polish, **_learning(self)}
            model: Any = fit(words, method="topics", **own)
        elif isinstance(self.topics, Model):
            model = self.topics
        else:
            model = load_task(os.fspath(self.topics), "embed")
        if not isinstance(model, MomentTopics):
            raise InputError(
                f"a model of the kind {model.kind} has no topics",
                remedy="give one of embed fit with the method topics",
            )
        self.names_ = [f"topic{k}" for k in range(len(model.weights_))]
        self.model_ = model
        return self

    def transform(self, texts: Any) -> NDArray[np.float64]:
        """A row for each text, which sums to 1; words that the topics do not know are left out."""
        self.check_fitted()
        documents = _words(texts)
        if self.model_.reading().lowercase:
            documents = [[word.lower() for word in document] for document in documents]
        return np.asarray(self.model_.transform(table_of(documents, self.model_.words_)), dtype=np.float64)


def _words(texts: Any) -> list[list[str]]:
    return [[word for sentence in document for word in sentence] for document in tokenized_documents(texts)]


def _learning(features: Any) -> dict[str, Any]:
    """The settings that all methods have."""
    own = {"lowercase": features.lowercase, "seed": features.random_state, "threads": features.threads}
    return own | dict(features.how or {})
