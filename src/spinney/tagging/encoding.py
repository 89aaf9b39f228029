"""Phrase labels that are learned in a scheme other than that of the files.

A tagger that marks the last token of a phrase (E) and phrases of one token (S) often finds phrases better
(Ratinov and Roth 2009), but files use IOB1 or IOB2. So labels are rewritten before training and after labelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError
from spinney.evaluate import allowed_ends, allowed_transitions, convert
from spinney.evaluate.chunks import Scheme
from spinney.files import ModelFile, Parts
from spinney.tagging.columns import Columns

#: The schemes, in the order in which they are tried. Labels without phrases follow all three.
SCHEMES: tuple[Scheme, ...] = ("iob2", "iob1", "bioes")
_LEAST = 0.95  # of the sentences must be in the scheme
_MEANINGS = {"S": "B", "E": "I"}  # of the tags of BIOES, in IOB2


@dataclass(frozen=True)
class Encoding:
    """Labels of one scheme, ``own``, that a tagger learns in another, ``inner``.

    Parameters
    ----------
    inner, own : str
        ``"iob1"``, ``"iob2"`` or ``"bioes"``.
    labels : sequence of str
        The labels of the training data as they are written there.

    Examples
    --------
    >>> columns = Columns.from_sentences([[("Ada", "B-PER"), ("King", "I-PER"), ("in", "O"), ("London", "B-LOC")]])
    >>> encoding = Encoding.of(columns, "bioes")
    >>> encoding.own, encoding.encoded(columns).strings(1)
    ('iob2', ['B-PER', 'E-PER', 'O', 'S-LOC'])
    >>> encoding.decoded(["S-PER", "O", "B-LOC", "E-LOC"])
    ['B-PER', 'O', 'B-LOC', 'I-LOC']
    """

    inner: Scheme
    own: Scheme
    labels: tuple[str, ...]

    @classmethod
    def of(cls, columns: Columns, inner: Scheme) -> Self:
        """The encoding of columns, the last of which holds labels; their scheme is the one that most sentences have.

        Corpora have errors: a few sentences in another scheme are read as if they were in this one.
        """
        fitting = dict.fromkeys(SCHEMES, 0)
        used: set[str] = set()
        for labels in _sentences(columns):
            used.update(labels)
            for scheme in SCHEMES:
                fitting[scheme] += convert(labels, scheme) == labels
        own = max(SCHEMES, key=fitting.__getitem__)
        if fitting[own] < _LEAST * len(columns):
            fits = f"the best match, {own}, fits {fitting[own]} of {len(columns)} sentences"
            what = f"the labels do not follow a single scheme: {fits}"
            raise InputError(what, remedy=f"convert all labels to one of {', '.join(SCHEMES)}")
        return cls(inner, own, tuple(sorted(used)))

    def encoded(self, columns: Columns) -> Columns:
        """The columns with their last one, the labels, in the scheme to learn."""
        symbols = columns.symbols.copy()
        symbols[-1] = [
            columns.pool[label] for labels in _sentences(columns) for label in convert(labels, self.inner)
        ]
        return Columns(columns.offsets, symbols, columns.pool)

    def decoded(self, labels: Sequence[str], to: Scheme | None = None) -> list[str]:
        """The labels of a sentence as the training data write them, or in the scheme ``to``."""
        return convert(labels, to or self.own)

    def allowed(self, labels: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which learned labels may follow which, and end a sentence, so that every labelling is unambiguous."""
        return allowed_transitions(labels, self.inner), allowed_ends(labels, self.inner)

    def meanings(self, labels: Sequence[str], to: Scheme | None = None) -> list[str] | None:
        """Each learned label in the scheme of the training data or ``to``; None if that depends on its neighbours.

        Examples
        --------
        >>> Encoding("bioes", "iob2", ("B-X", "I-X")).meanings(["B-X", "E-X", "I-X", "O", "S-X"])
        ['B-X', 'I-X', 'I-X', 'O', 'B-X']
        >>> Encoding("bioes", "iob1", ("I-X",)).meanings(["S-X"]) is None
        True
        """
        to = to or self.own
        if self.inner == to:
            return list(labels)
        if (self.inner, to) != ("bioes", "iob2"):
            return None
        return [_MEANINGS.get(label[0], label[0]) + label[1:] for label in labels]

    def parts(self) -> Parts:
        """What a model file keeps."""
        return Parts({"inner": self.inner, "own": self.own}, {}, {"labels": list(self.labels)})

    @classmethod
    def from_parts(cls, file: ModelFile) -> Self:
        """Read what :meth:`parts` gave."""
        inner, own = (file.fact(key, str) for key in ("inner", "own"))
        for scheme in (inner, own):
            if scheme not in SCHEMES:
                raise file.error(f"damaged: {scheme!r} is not a label scheme")
        return cls(inner, own, tuple(file.texts("labels")))  # type: ignore[arg-type]


def _sentences(columns: Columns) -> Iterator[list[str]]:
    """The labels of each sentence."""
    labels = columns.strings(columns.width - 1)
    return (labels[start:stop] for start, stop in pairwise(columns.offsets.tolist()))
