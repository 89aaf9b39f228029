"""From label strings to numbers, including partial labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.vocabulary import Numbering
from spinney.errors import InputError, did_you_mean

UNKNOWN = "_"
#: Between the labels that are possible, and such signs within labels.
_EITHER = re.compile(r"(?<!\\)\|")
_ESCAPED = re.compile(r"\\([|_])")


def encode_labels(
    symbols: NDArray[np.int32], pool: Numbering, *, partial: bool = False, known: Sequence[str] = ()
) -> tuple[NDArray[np.int32], NDArray[np.bool_], list[str]]:
    """Label numbers, the sets of possible labels of partial labels, and the sorted names of all labels.

    With ``partial``, ``_`` is a label that is not known and ``PER|LOC`` one of several; as numbers they are ``-1 - k``,
    where row k of the sets says which labels are possible. A label that has these signs in it is written with a
    backslash before them: ``K\\|S`` is one label. ``known`` labels are included even if they do not occur.

    Examples
    --------
    >>> pool = Numbering()
    >>> symbols = np.array([pool[x] for x in ["O", "PER", "_", "PER|LOC"]], np.int32)
    >>> labels, sets, names = encode_labels(symbols, pool, partial=True)
    >>> labels.tolist(), names, sets.tolist()
    ([1, 2, -1, -2], ['LOC', 'O', 'PER'], [[True, True, True], [True, False, True]])
    """
    texts = list(pool)
    used, inverse = np.unique(symbols, return_inverse=True)
    cells = [texts[symbol] for symbol in used.tolist()]
    choices = [_choices(cell) if partial else [cell] for cell in cells]
    names = sorted({name for several in choices for name in several}.union(known))
    if not names:
        raise InputError("no label is known", remedy="give some tokens a label")
    number = {name: i for i, name in enumerate(names)}
    sets = [np.ones(len(names), np.bool_)]
    numbers = np.empty(len(cells), np.int32)
    for i, several in enumerate(choices):
        if len(several) == 1:
            numbers[i] = number[several[0]]
        elif not several:
            numbers[i] = -1
        else:
            numbers[i] = -1 - len(sets)
            sets.append(np.isin(np.arange(len(names)), [number[name] for name in several]))
    return numbers[inverse.reshape(-1)], np.array(sets), names


def _choices(cell: str) -> list[str]:
    """The labels that a cell allows; an empty list for no restriction."""
    if cell == UNKNOWN:
        return []
    several = _EITHER.split(cell)
    if not all(several):
        raise InputError(
            f"label {cell!r} has an empty alternative",
            remedy="write PER|LOC for one of several labels, or _ for any",
        )
    return sorted({_ESCAPED.sub(r"\1", label) for label in several})


def allowed_labels(symbols: NDArray[np.int32], pool: Numbering, names: Sequence[str]) -> NDArray[np.bool_]:
    """For each token, the labels that its cell allows: ``_`` all, ``PER|LOC`` two, ``O`` one.

    Several labels may have the same name, and are then allowed together.
    """
    texts = list(pool)
    used, inverse = np.unique(symbols, return_inverse=True)
    rows = np.zeros((len(used), len(names)), np.bool_)
    for i, symbol in enumerate(used.tolist()):
        several = _choices(texts[symbol])
        for name in several:
            if name not in names:
                meant = did_you_mean(name, names) or "use only labels of the training data"
                raise InputError(f"label {name!r} was never seen in training", remedy=meant)
            rows[i] |= [name == other for other in names]
        rows[i] |= not several
    return rows[inverse.reshape(-1)]
