"""Numbers with a sign: products of operators from moments represent probabilities, but may be negative."""

from __future__ import annotations

from typing import NamedTuple


class Signed(NamedTuple):
    """A number as its sign (-1, 0 or 1) and the logarithm of its magnitude.

    Examples
    --------
    >>> Signed(-1.0, 0.0)  # -1
    Signed(sign=-1.0, log_magnitude=0.0)
    """

    sign: float
    log_magnitude: float
