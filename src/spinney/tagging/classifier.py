"""A tagger for features computed elsewhere: one dictionary per token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spinney.settings import takes
from spinney.settings.tag import Estimator
from spinney.tagging.columns import Columns
from spinney.tagging.reading import attribute_cell
from spinney.tagging.tagger import Tagger

Features = Sequence[Mapping[str, Any]]


@takes(Estimator, without=("patterns", "classes", "vectors"))
class CRFClassifier(Tagger):
    """A :class:`Tagger` whose tokens come as dictionaries of features, as sklearn-crfsuite takes them.

    A feature that is a string counts 1 under ``name=value``, a number counts itself, True counts 1. All parameters are
    those of :class:`Tagger`, except for the patterns and their structures.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog", "short": True}], [{"word": "a"}, {"word": "cat", "short": True}]]
    >>> crf = CRFClassifier(lam=0.1).fit(X, [["D", "N"], ["D", "N"]])
    >>> crf.predict([[{"word": "the"}, {"word": "rat", "short": True}]])
    [['D', 'N']]
    """

    patterns: Any = "U:%value[0,0]\nB"
    classes: Any = ()
    vectors: Any = ()

    def columns(
        self, X: Iterable[Features], y: Iterable[Sequence[str]] | None = None, like: Columns | None = None
    ) -> Columns:
        """The features of each token as one cell, and its label, if there are labels."""
        cells = [[(attribute_cell(dict(token)),) for token in sentence] for sentence in X]
        return super().columns(cells, y, like)
