"""Phrase labels that are learned in a scheme other than that of the files.

A tagger that marks the last token of a phrase (E) and phrases of one token (S) often finds phrases better
(Ratinov and Roth 2009), but files use IOB1 or IOB2. So labels are rewritten before training and after labelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
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
        used = sorted(set(columns.strings(-1)))
        convert(used, inner)  # raises an error for a label that is not one of phrases
        fitting = sentences_in(columns)
        own = max(SCHEMES, key=fitting.__getitem__)
        if fitting[own] < _LEAST * len(columns):
            fits = f"the best match, {own}, fits {fitting[own]} of {len(columns)} sentences"
            what = f"the labels do not follow a single scheme: {fits}"
            raise InputError(what, remedy=f"convert all labels to one of {', '.join(SCHEMES)}")
        return cls(inner, own, tuple(used))

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


def sentences_in(columns: Columns) -> dict[Scheme, int]:
    """The number of sentences whose labels, in the last column, are valid in each scheme.

    Examples
    --------
    >>> sentences_in(Columns.from_sentences([[("Ada", "I-PER"), ("slept", "O")], [("Hush", "O")]]))
    {'iob2': 1, 'iob1': 2, 'bioes': 1}
    """
    symbols, place = np.unique(columns.symbols[-1], return_inverse=True)
    place = place.reshape(-1)
    texts = list(columns.pool)
    labels = [texts[symbol] for symbol in symbols.tolist()]
    filled = np.diff(columns.offsets) > 0
    first, last = columns.offsets[:-1][filled], columns.offsets[1:][filled] - 1
    before = np.empty_like(place)
    before[1:] = place[:-1]
    before[first] = len(labels)  # the start of a sentence
    found: dict[Scheme, int] = {}
    for scheme in SCHEMES:
        usable = np.array([is_label_of(label, scheme) for label in labels], np.bool_)
        kept = list(compress(labels, usable))
        rows = np.append(np.flatnonzero(usable), len(labels))
        allowed, ends = np.zeros((len(labels) + 1, len(labels)), np.bool_), usable.copy()
        allowed[np.ix_(rows, rows[:-1])] = allowed_transitions(kept, scheme)
        ends[usable] = allowed_ends(kept, scheme)
        valid = allowed[before, place]
        valid[last] &= ends[place[last]]
        wrong = np.add.reduceat(~valid, first) if len(first) else np.zeros(0)
        found[scheme] = int(np.count_nonzero(wrong == 0) + np.count_nonzero(~filled))
    return found


def scheme_of(columns: Columns) -> Scheme | None:
    """The scheme of the labels in the last column; None if there are no phrases, or most sentences do not agree.

    Examples
    --------
    >>> scheme_of(Columns.from_sentences([[("Ada", "I-PER"), ("slept", "O")], [("Hush", "O")]]))
    'iob1'
    >>> scheme_of(Columns.from_sentences([[("Ada", "NNP"), ("slept", "VBD")]])) is None
    True
    """
    found = sentences_in(columns)
    best = max(SCHEMES, key=found.__getitem__)
    return best if len(set(found.values())) > 1 and found[best] >= _LEAST * len(columns) else None


def is_label_of(label: str, scheme: Scheme) -> bool:
    """Whether a label has one of the prefixes of a scheme."""
    try:
        return bool(allowed_ends([label], scheme).size)
    except InputError:
        return False


def _sentences(columns: Columns) -> Iterator[list[str]]:
    """The labels of each sentence."""
    labels = columns.strings(columns.width - 1)
    return (labels[start:stop] for start, stop in pairwise(columns.offsets.tolist()))
