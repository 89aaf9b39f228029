"""From text to a sparse matrix of words: counts, presence or tf-idf, by scikit-learn's vectoriser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np

from spinney.errors import InputError, OptionError
from spinney.files import ModelFile, Parts

Weighting = Literal["tfidf", "counts", "binary"]


class TextFeatures:
    """Words (and n-grams of words) as columns.

    Parameters
    ----------
    weighting : {"tfidf", "counts", "binary"}
        tf-idf with smoothed idf and rows of unit length (as scikit-learn does), plain counts, or presence.
    ngrams : int
        The longest n-gram.
    min_count : int
        Words in fewer documents are left out.
    lowercase : bool
    stop_words : {"english"}, optional

    Examples
    --------
    >>> features = TextFeatures("counts")
    >>> X = features.fit_transform(["a cat and a dog", "a cat"])
    >>> features.names, X.toarray().tolist()
    (['and', 'cat', 'dog'], [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    """

    def __init__(
        self,
        weighting: Weighting = "tfidf",
        *,
        ngrams: int = 1,
        min_count: int = 1,
        lowercase: bool = True,
        stop_words: str | None = None,
    ) -> None:
        if weighting not in ("tfidf", "counts", "binary"):
            raise OptionError(f"features are tfidf, counts or binary, not {weighting!r}")
        if ngrams < 1 or min_count < 1:
            raise OptionError("ngrams and min_count must be ≥ 1")
        if stop_words not in (None, "english"):
            raise OptionError(f"stop_words is english or nothing, not {stop_words!r}")
        self.weighting = weighting
        self.ngrams = ngrams
        self.min_count = min_count
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.names: list[str] = []
        self.idf: np.ndarray[Any, np.dtype[np.float64]] | None = None

    def fit_transform(self, texts: Iterable[str]) -> Any:
        """Learn the vocabulary (and idf) and return the matrix of these texts."""
        self._vectoriser = self._new_vectoriser()
        try:
            counts = self._vectoriser.fit_transform(texts)
        except ValueError as error:
            raise InputError(
                f"no word is left to learn from: {error}", remedy="lower --min-count, or look at the text"
            ) from None
        self.names = self._vectoriser.get_feature_names_out().tolist()
        if self.weighting == "tfidf":
            n, containing = counts.shape[0], np.bincount(counts.indices, minlength=counts.shape[1])
            self.idf = np.log((1.0 + n) / (1.0 + containing)) + 1.0
        return self._weighted(counts)

    def transform(self, texts: Iterable[str]) -> Any:
        """The matrix of new texts; words not in the vocabulary are passed over."""
        return self._weighted(self._vectoriser.transform(texts))

    def _new_vectoriser(self, vocabulary: list[str] | None = None) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(
            lowercase=self.lowercase,
            stop_words=self.stop_words,
            ngram_range=(1, self.ngrams),
            min_df=self.min_count,
            binary=self.weighting == "binary",
            vocabulary=vocabulary,
            dtype=np.float64,
        )

    def _weighted(self, counts: Any) -> Any:
        if self.idf is None:
            return counts
        from sklearn.preprocessing import normalize

        counts.data *= self.idf[counts.indices]
        return normalize(counts, copy=False)

    def parts(self) -> Parts:
        """For a model file."""
        header = {
            name: getattr(self, name)
            for name in ("weighting", "ngrams", "min_count", "lowercase", "stop_words")
        }
        return Parts(header, {} if self.idf is None else {"idf": self.idf}, {"names": self.names})

    @classmethod
    def from_parts(cls, model: ModelFile) -> Self:
        """Out of a model file."""
        try:
            features = cls(**model.header)
        except (TypeError, OptionError) as error:
            raise model.error(f"damaged: {error}") from None
        features.names = model.texts("names")
        if features.weighting == "tfidf":
            features.idf = np.asarray(model.tensor("idf", np.float64))
            if len(features.idf) != len(features.names):
                raise model.error("damaged: as many idf as names are needed")
        if not features.names or len(set(features.names)) < len(features.names):
            raise model.error("damaged: the vocabulary is empty or has a word twice")
        features._vectoriser = features._new_vectoriser(features.names)
        return features
