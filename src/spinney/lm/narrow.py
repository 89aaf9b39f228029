"""Whole numbers in model files, in as few bytes as plain arrays allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.files import ModelFile
from spinney.lm.diskcolumns import Columns, HeldColumn, filled, in_pieces

_MANY = 255  # in a byte, stands for a number that is elsewhere


def count_tensors(name: str, counts: NDArray[Any], column: Columns = HeldColumn) -> dict[str, NDArray[Any]]:
    """Counts, most of which are small: a byte each, and those of 255 and more in a list of their own.

    Examples
    --------
    >>> found = count_tensors("n", np.array([3, 1000, 1]))
    >>> found["n"], found["n.many"]
    (array([  3, 255,   1], dtype=uint8), array([1000]))
    """
    pieces = (counts[start:stop] for start, stop in in_pieces(0, len(counts)))
    many = [piece[piece >= _MANY].astype(np.int64) for piece in pieces]
    few = filled(
        column(name, np.uint8), len(counts), lambda start, stop: np.minimum(counts[start:stop], _MANY)
    )
    return {name: few, f"{name}.many": np.concatenate([np.empty(0, np.int64), *many])}


def stored_counts(file: ModelFile, name: str, high: int = 1 << 62) -> NDArray[np.int64]:
    """The counts that :func:`count_tensors` put into a file."""
    counts = file.tensor(name, np.uint8).astype(np.int64)
    many = file.tensor(f"{name}.many", np.int64, low=_MANY, high=high)
    large = np.flatnonzero(counts == _MANY)
    if len(large) != len(many):
        raise file.error(f"damaged: the counts {name!r} are not complete")
    counts[large] = many
    return counts


def symbol_tensors(
    name: str, symbols: NDArray[np.int32], n_symbols: int, column: Columns = HeldColumn
) -> dict[str, NDArray[Any]]:
    """Numbers below ``n_symbols``: two bytes each, or three if they are more than 65,536."""
    low, high = f"{name}.low", f"{name}.high"
    n = len(symbols)
    found = {low: filled(column(low, np.uint16), n, lambda start, stop: symbols[start:stop] & 0xFFFF)}
    if n_symbols > 1 << 16:
        above = column(high, _high(n_symbols))
        found[high] = filled(above, n, lambda start, stop: symbols[start:stop] >> 16)
    return found


def stored_symbols(file: ModelFile, name: str, n_symbols: int) -> NDArray[np.int32]:
    """The numbers that :func:`symbol_tensors` put into a file; they may be ``n_symbols`` or more in a damaged one."""
    symbols = file.tensor(f"{name}.low", np.uint16).astype(np.int32)
    if n_symbols > 1 << 16:
        high = file.tensor(f"{name}.high", _high(n_symbols), high=(1 << 15) - 1)
        if len(high) != len(symbols):
            raise file.error(f"damaged: the numbers {name!r} are not complete")
        symbols |= high.astype(np.int32) << 16
    return symbols


def _high(n_symbols: int) -> type[np.uint8] | type[np.uint16]:
    return np.uint8 if n_symbols <= 1 << 24 else np.uint16
