"""Whole numbers in model files, in as few bytes as plain arrays allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.files import ModelFile

_MANY = 255  # in a byte, stands for a number that is elsewhere


def count_tensors(name: str, counts: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Counts, most of which are small: a byte each, and those of 255 and more in a list of their own.

    Examples
    --------
    >>> found = count_tensors("n", np.array([3, 1000, 1]))
    >>> found["n"], found["n.many"]
    (array([  3, 255,   1], dtype=uint8), array([1000]))
    """
    return {
        name: np.minimum(counts, _MANY).astype(np.uint8),
        f"{name}.many": counts[counts >= _MANY].astype(np.int64),
    }


def stored_counts(file: ModelFile, name: str, high: int = 1 << 62) -> NDArray[np.int64]:
    """The counts that :func:`count_tensors` put into a file."""
    counts = file.tensor(name, np.uint8).astype(np.int64)
    many = file.tensor(f"{name}.many", np.int64, low=_MANY, high=high)
    large = np.flatnonzero(counts == _MANY)
    if len(large) != len(many):
        raise file.error(f"damaged: the counts {name!r} are not complete")
    counts[large] = many
    return counts


def symbol_tensors(name: str, symbols: NDArray[np.int32], n_symbols: int) -> dict[str, NDArray[Any]]:
    """Numbers below ``n_symbols``: two bytes each, or three if they are more than 65,536."""
    found: dict[str, NDArray[Any]] = {f"{name}.low": (symbols & 0xFFFF).astype(np.uint16)}
    if n_symbols > 1 << 16:
        found[f"{name}.high"] = (symbols >> 16).astype(_high(n_symbols))
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
