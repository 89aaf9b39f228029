# mypy: ignore-errors
"""x log x in fixed point: the one function of counts that all clusterings add up."""

from __future__ import annotations

import math

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def phi(x, table, scale):
    """x log x in units of 1/scale; ``table`` holds the values for small counts.

    x is not negative, and callers see to that: a guard here makes every clustering nine times slower.
    """
    if x < len(table):
        return table[np.uint64(x)]  # unsigned: no check for places counted from the end
    return np.int64(np.rint(x * math.log(x) * scale))
