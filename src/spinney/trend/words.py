"""From text to a sparse matrix of the words of some band of frequency, by scikit-learn's vectoriser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np

from spinney.errors import InputError, OptionError, unknown_choice
from spinney.files import ModelFile, Parts
from spinney.optim.base import Vector

Weighting = Literal["counts", "binary", "tfidf"]
_SETTINGS = ("weighting", "min_count", "skip_top", "max_features", "ngrams", "lowercase")


class FrequentWords:
    """Words (and n-grams of words) as columns, by the rank of their frequency.

    Parameters
    ----------
    weighting : {"counts", "binary", "tfidf"}
        Counts, presence, or tf-idf with smoothed idf and rows of unit length (as scikit-learn has it).
    min_count : int
        Words in fewer documents are left out.
    skip_top : int
        So many of the most frequent words are left out; the thesis takes ranks 101 to 10,101.
    max_features : int, optional
        No more than so many of those that follow.
    ngrams : int
        The longest n-gram.
    lowercase : bool

    Examples
    --------
    >>> words = FrequentWords(skip_top=1)
    >>> words.fit_transform(["an oil tax and an oil war", "an oil tax"]).toarray().tolist(), words.names
    ([[1.0, 2.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0]], ['and', 'oil', 'tax', 'war'])
    """

    def __init__(
        self,
        weighting: Weighting = "counts",
        *,
        min_count: int = 1,
        skip_top: int = 0,
        max_features: int | None = None,
        ngrams: int = 1,
        lowercase: bool = True,
    ) -> None:
        if weighting not in ("counts", "binary", "tfidf"):
            raise unknown_choice("features are", weighting, ("counts", "binary", "tfidf"))
        if min_count < 1 or ngrams < 1 or skip_top < 0 or (max_features is not None and max_features < 1):
            raise OptionError("min_count, ngrams and max_features must be ≥ 1, skip_top ≥ 0")
        self.weighting = weighting
        self.min_count = min_count
        self.skip_top = skip_top
        self.max_features = max_features
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.names: list[str] = []
        self.idf: Vector | None = None

    def fit_transform(self, texts: Iterable[str]) -> Any:
        """Learn the words (and idf) and return the matrix of these texts."""
        vectoriser = self._vectoriser_of(None)
        try:
            counts = vectoriser.fit_transform(texts)
        except ValueError as error:
            raise InputError(f"no word is left to learn from: {error}", remedy="lower min_count") from None
        frequency = np.asarray(counts.sum(axis=0)).ravel()
        ranked = np.argsort(-frequency, kind="stable")[self.skip_top :][: self.max_features]
        if not len(ranked):
            raise InputError(f"there are but {len(frequency)} words", remedy="lower skip_top")
        columns = np.sort(ranked)
        self.names = vectoriser.get_feature_names_out()[columns].tolist()
        self._vectoriser = self._vectoriser_of(self.names)
        counts = counts[:, columns]
        if self.weighting == "tfidf":
            n, containing = counts.shape[0], np.bincount(counts.indices, minlength=len(columns))
            self.idf = np.log((1.0 + n) / (1.0 + containing)) + 1.0
        return self._weighted(counts)

    def transform(self, texts: Iterable[str]) -> Any:
        """The matrix of new texts; other words are passed over."""
        return self._weighted(self._vectoriser.transform(texts))

    def _vectoriser_of(self, vocabulary: list[str] | None) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(
            lowercase=self.lowercase,
            ngram_range=(1, self.ngrams),
            min_df=self.min_count,
            vocabulary=vocabulary,
            dtype=np.float64,
        )

    def _weighted(self, counts: Any) -> Any:
        from scipy.sparse import csr_array

        if self.weighting == "binary":
            counts.data[:] = 1.0
        if self.idf is not None:
            from sklearn.preprocessing import normalize

            counts.data *= self.idf[counts.indices]
            counts = normalize(counts, copy=False)
        return csr_array(counts)

    def parts(self) -> Parts:
        """For a model file."""
        header = {name: getattr(self, name) for name in _SETTINGS}
        return Parts(header, {} if self.idf is None else {"idf": self.idf}, {"names": self.names})

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """Out of a model file."""
        with file.checked(TypeError):
            words = cls(**file.header)
        words.names = file.texts("names")
        if not words.names or len(set(words.names)) < len(words.names):
            raise file.error("damaged: the vocabulary is empty or has a word twice")
        if words.weighting == "tfidf":
            words.idf = np.asarray(file.tensor("idf", np.float64))
            if len(words.idf) != len(words.names):
                raise file.error("damaged: as many idf as words are needed")
        words._vectoriser = words._vectoriser_of(words.names)
        return words
