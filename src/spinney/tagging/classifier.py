"""A tagger for features computed elsewhere: a dictionary or a list of strings per token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from spinney.errors import InputError, shown
from spinney.settings import takes
from spinney.settings.tag import Estimator
from spinney.tagging.attributes import attribute_cell, attributes
from spinney.tagging.columns import Columns
from spinney.tagging.summary import label_pairs
from spinney.tagging.tagger import Tagger

Features = Sequence[Mapping[str, Any] | Sequence[str]]
#: What a model of attributes looks at: the attributes of each token, and pairs of labels.
PATTERNS = "U:%value[0,0]\nB"


@takes(Estimator, without=("patterns", "classes", "vectors"))
class CRFClassifier(Tagger):
    """A :class:`Tagger` whose tokens come as dictionaries of features, as sklearn-crfsuite takes them.

    A feature that is a string counts 1 under ``name:value``, a number counts itself, True counts 1; lists, sets and
    inner dictionaries are several features under ``name:item``. A token may also be a list of strings. The names are
    those of python-crfsuite: see :func:`spinney.tagging.attributes.attributes`. All parameters are those of
    :class:`Tagger`, except for the patterns and their structures; :class:`spinney.tagging.crfsuite.CRF` has those of
    sklearn-crfsuite instead.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog", "short": True}], [{"word": "a"}, {"word": "cat", "short": True}]]
    >>> crf = CRFClassifier(lam=0.1).fit(X, [["D", "N"], ["D", "N"]])
    >>> crf.predict([[{"word": "the"}, {"word": "rat", "short": True}]])
    [['D', 'N']]
    >>> crf.classes_.tolist(), round(crf.state_features_["short", "N"], 2)
    (['D', 'N'], 0.64)
    """

    patterns: Any = PATTERNS
    classes: Any = ()
    vectors: Any = ()

    def columns(
        self, X: Iterable[Features], y: Iterable[Sequence[str]] | None = None, like: Columns | None = None
    ) -> Columns:
        """The features of each token as one cell, and its label, if there are labels."""
        return super().columns(attribute_rows(X), y, like)

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each attribute with each label, where it is not zero."""
        self.check_fitted()
        mu = self.weights_.shape.mu(self.weights_.full())
        names, labels = attribute_names(self), self.labels_
        rows, columns = np.nonzero(mu)
        return {
            (names[o], labels[y]): w
            for o, y, w in zip(rows.tolist(), columns.tolist(), mu[rows, columns].tolist())
        }

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each pair of a label and the next, where it is not zero."""
        self.check_fitted()
        pairs, labels = label_pairs(self.weights_, self.extractor_), self.labels_
        if pairs is None:
            return {}
        return {
            (labels[before], labels[y]): float(pairs[before, y])
            for before, y in zip(*(places.tolist() for places in np.nonzero(pairs[: len(labels)])))
        }


def attribute_rows(X: Iterable[Features]) -> list[list[tuple[str]]]:
    """Sentences of tokens with features as rows of one cell each."""
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise InputError(f"sentences must be a list, not {shown(X)}")
    rows = []
    for i, sentence in enumerate(X):
        if isinstance(sentence, str | bytes | Mapping) or not isinstance(sentence, Iterable):
            raise InputError(f"sentence {i} must be a list of tokens, not {shown(sentence)}")
        try:
            rows.append([(attribute_cell(attributes(token)),) for token in sentence])
        except InputError as error:
            raise InputError(f"sentence {i}: {error.what}", remedy=error.remedy) from None
    return rows


def attribute_names(tagger: Tagger) -> list[str]:
    """The attributes that a tagger knows, in the order of its weights, without the name of their pattern."""
    patterns = tagger.extractor_.patterns
    heads = [len(patterns[p].literals[0]) for p in tagger.extractor_.pattern_of("u").tolist()]
    return [name[head:] for name, head in zip(tagger.extractor_.names("u"), heads)]
