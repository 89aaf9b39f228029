"""Features with values that others computed: cells such as ``len:5|cap``, and their matrix."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spinney.errors import InputError

_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
_PLAIN_ITEM = rf"[^|:\\]*+:{_NUMBER.pattern}"
_PLAIN = re.compile(rf"{_PLAIN_ITEM}(?:\|{_PLAIN_ITEM})*+", re.ASCII)
_PLAIN_PARTS = re.compile(r"([^|:]*):([^|]*)")
_ITEM = re.compile(r"(?:[^\\|]|\\.|\\$)+")
_NAMED = re.compile(r"((?:[^\\]|\\.|\\$)*):([^:]*)")


def values_of(cell: str) -> list[tuple[str, float]]:
    """The named values in a cell, as the tagger's pattern ``%value`` and features ``values`` of classifiers read them.

    Several have ``|`` between them; ``\\:`` and ``\\|`` stand for the signs themselves. A name alone has the value 1;
    a number alone is the value of the observation without a name. A cell ``|`` has none.

    Examples
    --------
    >>> values_of("len:5|cap|ratio\\\\:x:-.5"), values_of("2.5"), values_of("|")
    ([('len', 5.0), ('cap', 1.0), ('ratio:x', -0.5)], [('', 2.5)], [])
    """
    # Nearly all cells written by programs (vectors, posteriors) are plain, and there are millions of them.
    if _PLAIN.fullmatch(cell):
        plain = [(name, float(number)) for name, number in _PLAIN_PARTS.findall(cell)]
        if math.isfinite(sum([value for _, value in plain])):
            return plain
    return _any_values_of(cell)


def _any_values_of(cell: str) -> list[tuple[str, float]]:
    found = []
    for item in _ITEM.findall(cell):
        named = _NAMED.fullmatch(item)
        if named:
            name, number = named.groups()
        else:
            name, number = ("", item) if _NUMBER.fullmatch(item) else (item, "1")
        value = float(number) if _NUMBER.fullmatch(number) else float("inf")
        if abs(value) == float("inf"):
            raise InputError(
                f"{item!r}: {number!r} is not a finite number",
                remedy="write \\: for a colon that is part of a name",
            )
        found.append((re.sub(r"\\(.)", r"\1", name), value))
    return found


class ValueVectoriser:
    """From cells to a matrix with one column for each name, in their order; has the methods of scikit-learn's.

    Parameters
    ----------
    min_count
        Names in fewer cells are left out.
    vocabulary
        The names, if they are known; others are then left out.

    Examples
    --------
    >>> made = ValueVectoriser()
    >>> made.fit_transform(["len:5|cap", "len:2|len:1"]).toarray(), made.names
    (array([[1., 5.], [0., 3.]]), ['cap', 'len'])
    """

    def __init__(self, min_count: int = 1, vocabulary: Sequence[str] | None = None) -> None:
        self.min_count = min_count
        self.names = [] if vocabulary is None else list(vocabulary)

    def fit_transform(self, cells: Iterable[str]) -> Any:
        """Learn the names, and return the matrix of these cells."""
        rows = list(_rows(cells))
        counts = Counter(name for row in rows for name in {name for name, _ in row})
        self.names = sorted(name for name, count in counts.items() if count >= self.min_count)
        if not self.names:
            raise ValueError("no names of values")
        return self._matrix(rows)

    def transform(self, cells: Iterable[str]) -> Any:
        """The matrix of new cells."""
        return self._matrix(list(_rows(cells)))

    def get_feature_names_out(self) -> Any:
        """The names."""
        return np.array(self.names, dtype=object)

    def _matrix(self, rows: list[list[tuple[str, float]]]) -> Any:
        from scipy.sparse import csr_matrix

        place = {name: j for j, name in enumerate(self.names)}
        entries = [
            (i, place[name], value) for i, row in enumerate(rows) for name, value in row if name in place
        ]
        at, columns, values = zip(*entries) if entries else ((), (), ())
        shape = (len(rows), len(self.names))
        matrix = csr_matrix(
            (np.array(values, np.float64), (np.array(at, int), np.array(columns, int))), shape
        )
        matrix.sum_duplicates()
        return matrix


def _rows(cells: Iterable[str]) -> Iterable[list[tuple[str, float]]]:
    for number, cell in enumerate(cells, 1):
        try:
            yield values_of(cell)
        except InputError as error:
            raise InputError(f"document {number}: {error}") from None
