"""From text to a sparse matrix of words: counts, presence or tf-idf, by scikit-learn's vectoriser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from spinney.checking import whole
from spinney.corpus.lines import fields as split_fields
from spinney.corpus.raw import split_sentences, tokenize
from spinney.corpus.sparse_tables import as_asked
from spinney.corpus.tokenisers import is_spacy, spacy_tokens
from spinney.corpus.values import ValueVectoriser, values_of
from spinney.errors import InputError, OptionError, SettingError, SpinneyError, shown, unknown_choice
from spinney.files import ModelFile, Parts

Weighting = Literal["tfidf", "counts", "binary", "values"]
Tokens = Literal["words", "all", "spaces"]


@dataclass(eq=False, repr=False)
class TextFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Words (and n-grams of words) as columns; a transformer of scikit-learn, for pipelines and grid searches.

    Parameters
    ----------
    weighting : {"tfidf", "counts", "binary", "values"}
        tf-idf with smoothed idf and rows of unit length (as scikit-learn does), plain counts, or presence. With
        ``"values"`` a document is no text but features with their values, such as ``len:5|cap``
        (:func:`spinney.corpus.values.values_of`), and only ``min_count``, ``skip_top`` and ``max_features`` count.
    ngrams : int
        The longest n-gram.
    min_count : int
        Words in fewer documents are left out.
    skip_top : int
        Number of most frequent words to leave out.
    max_features : int, optional
        Maximum number of the remaining words to keep, the most frequent first.
    lowercase : bool
    stop_words : {"english"}, optional
    tokens : {"words", "all", "spaces"} or "spacy:NAME"
        What a word is: two or more letters or digits (as in scikit-learn); every token of
        :func:`spinney.corpus.tokenize`, punctuation and words of one letter too; or what stands between ASCII white
        space, for text that is tokenized already, such as the leaves of trees; then a line is a sentence. Or every
        token of a spaCy pipeline, such as ``"spacy:en"`` (see :func:`spinney.corpus.tokenisers.tokeniser`).

    Examples
    --------
    >>> features = TextFeatures("counts")
    >>> X = features.fit_transform(["a cat and a dog", "a cat"])
    >>> features.names, X.toarray().tolist()
    (['and', 'cat', 'dog'], [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    >>> features = TextFeatures("counts", tokens="all")
    >>> _ = features.fit_transform(["A cat isn't a dog."])
    >>> features.names
    ['.', 'a', 'cat', 'dog', 'is', "n't"]
    """

    weighting: Weighting = "tfidf"
    _: KW_ONLY
    ngrams: int = 1
    min_count: int = 1
    skip_top: int = 0
    max_features: int | None = None
    lowercase: bool = True
    stop_words: str | None = None
    tokens: Tokens | str = "words"

    def __post_init__(self) -> None:
        self._check()
        self.names: list[str] = []
        self.idf: np.ndarray[Any, np.dtype[np.float64]] | None = None

    def _check(self) -> None:
        if self.weighting not in get_args(Weighting):
            raise unknown_choice("features must be", self.weighting, get_args(Weighting))
        for name, least in (("ngrams", 1), ("min_count", 1), ("skip_top", 0), ("max_features", 1)):
            if getattr(self, name) is not None or name != "max_features":
                whole(name, getattr(self, name), least)
        if self.weighting == "values":
            for name, usual in (("ngrams", 1), ("stop_words", None), ("tokens", "words")):
                if getattr(self, name) != usual:
                    raise OptionError(f"{name} is for words, not for values: leave it out")
        if self.stop_words not in (None, "english"):
            raise unknown_choice("stop_words must be", self.stop_words, ("english", "nothing"))
        if self.tokens not in get_args(Tokens) and not is_spacy(self.tokens):
            raise unknown_choice("tokens must be", self.tokens, (*get_args(Tokens), "spacy:NAME"))

    def fit(self, texts: Iterable[str], y: Any = None) -> Self:
        """Learn the vocabulary (and idf); labels are not used."""
        self.fit_sparse(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> Any:
        """Learn the vocabulary (and idf) and return the matrix of these texts; labels are not used."""
        return as_asked(self, self.fit_sparse(texts), texts)

    def fit_sparse(self, texts: Iterable[str]) -> Any:
        """As :meth:`fit_transform`, always a sparse matrix, whatever output scikit-learn is set to."""
        self._check()  # set_params may have changed something
        self.idf = None
        self._vectoriser = self._new_vectoriser()
        found = _checked_texts(one_column(texts))
        try:
            counts = self._vectoriser.fit_transform(found)
        except SpinneyError:  # of the tokeniser
            raise
        except ValueError as error:
            what = "there is no word to learn from ({error}): lower {min_count}, or check the text"
            raise SettingError(what, error=error) from None
        self.names = self._vectoriser.get_feature_names_out().tolist()
        if self.skip_top or self.max_features is not None:
            counts = self._in_band(counts)
        if self.weighting == "tfidf":
            n, containing = counts.shape[0], np.bincount(counts.indices, minlength=counts.shape[1])
            self.idf = np.log((1.0 + n) / (1.0 + containing)) + 1.0
        return self._weighted(counts)

    def _in_band(self, counts: Any) -> Any:
        """The columns of the words whose rank by frequency is wanted; the others are forgotten."""
        frequency = np.asarray(counts.sum(axis=0)).ravel()
        ranked = np.argsort(-frequency, kind="stable")[self.skip_top :][: self.max_features]
        if not len(ranked):
            raise InputError(f"there are only {len(frequency)} words", remedy="lower skip_top")
        columns = np.sort(ranked)
        self.names = [self.names[j] for j in columns]
        self._vectoriser = self._new_vectoriser(self.names)
        return counts[:, columns]

    def transform(self, texts: Iterable[str]) -> Any:
        """The matrix of new texts; words not in the vocabulary are left out."""
        return as_asked(self, self.sparse(texts), texts)

    def sparse(self, texts: Iterable[str]) -> Any:
        """As :meth:`transform`, always a sparse matrix."""
        return self._weighted(self._fitted().transform(one_column(texts)))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The words, as scikit-learn asks for them."""
        self._fitted()
        return np.array(self.names, dtype=object)

    def _fitted(self) -> Any:
        if not hasattr(self, "_vectoriser"):
            raise NotFittedError("these features have no vocabulary yet: call fit or fit_transform first")
        return self._vectoriser

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_vectoriser")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def occurrences(self, texts: Iterable[str]) -> Any:
        """How often each feature occurs in each text, whatever the weighting (1 for presence alone).

        Examples
        --------
        >>> features = TextFeatures()
        >>> _ = features.fit_transform(["a cat and a dog"])
        >>> features.occurrences(["cat and cat"]).toarray()
        array([[1., 2., 0.]])
        """
        return self._present(self._fitted().transform(one_column(texts)))

    def tokens_of(self, text: str) -> list[str]:
        """The tokens that features are made of, in order; those that are :attr:`ignored` too.

        Examples
        --------
        >>> TextFeatures().tokens_of("A Cat isn't a dog.")
        ['cat', 'isn', 'dog']
        """
        if self.weighting == "values":
            return [name for name, _ in values_of(text)]
        vectoriser = self._new_vectoriser()
        tokens: list[str] = vectoriser.build_tokenizer()(vectoriser.build_preprocessor()(text))
        return tokens

    def sentences_of(self, text: str) -> list[str]:
        """The sentences of a text: its lines if ``tokens="spaces"``, else as :func:`spinney.corpus.split_sentences`.

        Examples
        --------
        >>> TextFeatures().sentences_of("It works. Does it?")
        ['It works.', 'Does it?']
        >>> TextFeatures(tokens="spaces").sentences_of("x = f . y\\nreturn x\\n")
        ['x = f . y', 'return x']
        """
        if self.weighting == "values":
            return [text]
        if self.tokens == "spaces":
            return [line for line in text.split("\n") if split_fields(line)]
        return split_sentences(text)

    @property
    def ignored(self) -> frozenset[str]:
        """The stop words: tokens that are neither features nor parts of features."""
        if self.weighting == "values":
            return frozenset()
        return frozenset(self._new_vectoriser().get_stop_words() or ())

    def _new_vectoriser(self, vocabulary: list[str] | None = None) -> Any:
        if self.weighting == "values":
            return ValueVectoriser(self.min_count, vocabulary)
        from sklearn.feature_extraction.text import CountVectorizer

        # The tokenizer recognises abbreviations by their case, so text is lower-cased afterwards.
        by_spacy = is_spacy(self.tokens)
        own: dict[str, Any] = {
            "all": _lowered_tokens if self.lowercase else tokenize,
            "spaces": split_fields,
        }
        if by_spacy:
            own[self.tokens] = partial(spacy_tokens, self.tokens, self.lowercase)
        words = {} if self.tokens == "words" else {"tokenizer": own[self.tokens], "token_pattern": None}
        return CountVectorizer(
            **words,
            lowercase=self.lowercase and self.tokens != "all" and not by_spacy,
            stop_words=self.stop_words,
            ngram_range=(1, self.ngrams),
            min_df=self.min_count,
            vocabulary=vocabulary,
            dtype=np.float64,
        )

    def _present(self, counts: Any) -> Any:
        if self.weighting == "binary":
            counts.data[:] = 1.0
        return counts

    def _weighted(self, counts: Any) -> Any:
        if self.idf is None:
            return self._present(counts)
        from sklearn.preprocessing import normalize

        counts.data *= self.idf[counts.indices]
        return normalize(counts, copy=False)

    def parts(self) -> Parts:
        """The contents for a model file."""
        header = {field.name: getattr(self, field.name) for field in fields(self)}
        return Parts(header, {} if self.idf is None else {"idf": self.idf}, {"names": self.names})

    @classmethod
    def from_parts(cls, model: ModelFile) -> Self:
        """The features in a model file; settings that an older file lacks get their defaults."""
        with model.checked(TypeError):
            features = cls(**model.header)
        features.names = model.texts("names")
        if features.weighting == "tfidf":
            features.idf = np.asarray(model.tensor("idf", np.float64))
            if len(features.idf) != len(features.names):
                raise model.error("damaged: the numbers of idf weights and of names differ")
        if not features.names or len(set(features.names)) < len(features.names):
            raise model.error("damaged: the vocabulary is empty, or a word appears twice")
        features._vectoriser = features._new_vectoriser(features.names)
        return features


def one_column(texts: Any) -> Any:
    """Texts from a table of one column, as a ColumnTransformer hands them over, or as they are."""
    values = np.asarray(texts) if len(getattr(texts, "shape", ())) == 2 else None
    if values is None:
        return texts
    if values.shape[1] != 1:
        raise InputError(
            f"{values.shape[1]} columns of text", remedy="make features for each column by itself"
        )
    return values[:, 0]


def _lowered_tokens(text: str) -> list[str]:
    tokens = tokenize(text)
    return " ".join(tokens).lower().split(" ") if tokens else tokens


def _checked_texts(texts: Any) -> list[str]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be a list of documents, not {shown(texts)}")
    found = list(texts)
    for number, text in enumerate(found, 1):
        if not isinstance(text, str):
            raise InputError(f"document {number} must be text, not {shown(text)}")
    return found
