"""What transformers of tokens have in common: texts in, rows of numbers out, as scikit-learn asks for it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from spinney.corpus.raw import tokenized_sentences
from spinney.corpus.text_features import one_column
from spinney.errors import InputError, shown

Document = list[list[str]]


def tokenized_documents(texts: Any) -> list[Document]:
    """The sentences of each document, each a list of tokens.

    A document is a text, which is split into sentences and tokens here; a list of tokens; or a list of sentences, each
    a list of tokens.

    Examples
    --------
    >>> tokenized_documents(["It works. Does it?", ["It", "works"], [["It", "works"], ["Does", "it"]]])
    [[['It', 'works', '.'], ['Does', 'it', '?']], [['It', 'works']], [['It', 'works'], ['Does', 'it']]]
    """
    texts = one_column(texts)
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be a list of documents, not {shown(texts)}")
    found = [_document(text, number) for number, text in enumerate(texts, 1)]
    if not found:
        raise InputError("no documents")
    return found


def _document(text: Any, number: int) -> Document:
    if isinstance(text, str):
        return list(tokenized_sentences(text))
    if isinstance(text, Iterable) and not isinstance(text, bytes):
        parts = list(text)
        if all(isinstance(part, str) for part in parts):
            return [parts] if parts else []
        sentences = [
            list(part) for part in parts if isinstance(part, Sequence) and not isinstance(part, str | bytes)
        ]
        if len(sentences) == len(parts) and all(isinstance(word, str) for one in sentences for word in one):
            return [sentence for sentence in sentences if sentence]
    raise InputError(f"document {number} must be text, or lists of tokens, not {shown(text)}")


class TokenFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer of texts, or of lists of tokens, whose columns have names once it is fitted: ``names_``."""

    names_: list[str]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns."""
        self.check_fitted()
        return np.array(self.names_, dtype=object)

    def check_fitted(self) -> None:
        """Raise an error unless ``fit`` has been called."""
        if not hasattr(self, "names_"):
            raise NotFittedError(
                f"this {type(self).__name__} has not been fitted: call fit or fit_transform first"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "names_")

    def __sklearn_clone__(self) -> Self:
        """Itself before it was fitted, with the same objects as parameters.

        Structures and fitted models that are parameters are never changed here, so they are not copied; and clone would
        take a fitted model that is an estimator for one that is to be fitted.
        """
        twin = type(self)(**self.get_params(deep=False))
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(twin, name, copy.deepcopy(getattr(self, name)))
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def bags(documents: Sequence[Document], columns: Any, width: int) -> Any:
    """How often each document has each column: a sparse matrix; ``columns`` numbers tokens, −1 for none.

    Examples
    --------
    >>> number = {"a": 0, "b": 1}
    >>> bags([[["a", "b"], ["a"]], [["c"]]], lambda words: np.array([number.get(w, -1) for w in words]), 2).toarray()
    array([[2., 1.],
           [0., 0.]])
    """
    from scipy.sparse import csr_array

    words = [word for document in documents for sentence in document for word in sentence]
    sizes = [sum(map(len, document)) for document in documents]
    column = np.asarray(columns(words), dtype=np.int64)
    row = np.repeat(np.arange(len(documents)), sizes)
    kept = column >= 0
    counts = csr_array(
        (np.ones(int(kept.sum())), (row[kept], column[kept])), shape=(len(documents), width), dtype=np.float64
    )
    counts.sum_duplicates()
    return counts
