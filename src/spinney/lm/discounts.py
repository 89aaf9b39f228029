"""Discounts: how much probability seen n-grams give to unseen ones, in closed form from the counts of counts.

``n[r]`` is the number of grams of an order that were seen ``r`` times. On tiny texts the forms are undefined, or give
values that are too large; they are then replaced by usable values, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.lm.suffixtrie import Counts

Discounts = NDArray[np.float64]

#: Taken from what was seen once, twice, and more often, where the closed forms fail (KenLM's choice).
FALLBACK = (0.5, 1.0, 1.5)


class DiscountWarning(UserWarning):
    """The text is too small for the usual discounts."""


def counts_of_counts(counts: Counts, largest: int) -> Counts:
    """n[0..largest], n[0] being 0.

    Examples
    --------
    >>> counts_of_counts(np.array([1, 1, 2, 7]), 3)
    array([0, 2, 1, 0])
    """
    n = np.bincount(counts[(counts > 0) & (counts <= largest)], minlength=largest + 1)
    n[0] = 0
    return n


def given_discounts(discount: float | Sequence[float], order: int) -> list[float]:
    """The discount of each order, given as one for all orders or as one for each, words first.

    Short sentences may have no grams of the highest orders: there may be more discounts than orders.

    Examples
    --------
    >>> given_discounts(0.5, 3), given_discounts((0.5, 0.7, 0.8), 3)
    ([0.5, 0.5, 0.5], [0.5, 0.7, 0.8])
    """
    given = [*discount] if isinstance(discount, Sequence) else [discount]
    for one in given:
        if not 0 < one < 1:
            raise OptionError(f"the discount must be between 0 and 1, not {one}")
    if 1 != len(given) < order:
        raise OptionError(
            f"discount has {len(given)} values for {order} orders: give one, or one for each order"
        )
    return given * order if len(given) == 1 else given[:order]


def absolute_discount(n: Counts, order: int) -> float:
    """δ = n1 / (n1 + 2 n2) (Ney, Essen and Kneser 1994).

    Examples
    --------
    >>> absolute_discount(np.array([0, 6, 2]), 1)
    0.6
    """
    if n[1] and n[2]:
        return float(n[1] / (n[1] + 2 * n[2]))
    if n.any():
        _warn(
            order, f"no discount from {n[1]} grams seen once and {n[2]} seen twice", f"{FALLBACK[0]} is used"
        )
    return FALLBACK[0]


def modified_discounts(n: Counts, order: int) -> tuple[float, float, float]:
    """D1, D2 and D3+ of Chen and Goodman (1998), from n[0..4].

    Examples
    --------
    >>> [round(d, 4) for d in modified_discounts(np.array([0, 100, 40, 20, 12]), 1)]
    [0.5556, 1.1667, 1.6667]
    """
    if n[1:4].all():
        Y = n[1] / (n[1] + 2 * n[2])
        D1, D2, D3 = (float(r - (r + 1) * Y * n[r + 1] / n[r]) for r in (1, 2, 3))
        if 0 < D1 <= 1 and 0 < D2 <= 2 and 0 < D3 <= 3:
            return D1, D2, D3
    if n.any():
        _warn(order, f"no discounts from counts of counts {n[1:5].tolist()}", f"{FALLBACK} are used")
    return FALLBACK


def katz_discounts(n: Counts, k: int, order: int) -> Discounts:
    """d[r] for r = 0..k, the factors of counts up to k (Katz 1987); larger counts are not discounted.

    d_r = (r*/r − A) / (1 − A) with r* = (r+1) n_{r+1} / n_r and A = (k+1) n_{k+1} / n_1. If some factor is
    not between 0 and 1, the largest k for which all are is taken.

    Examples
    --------
    >>> katz_discounts(np.array([0, 100, 40, 20]), 2, 1).round(4)
    array([0.   , 0.5  , 0.375])
    """
    for largest in range(k, 0, -1):
        if not n[1 : largest + 2].all():
            continue
        r = np.arange(1, largest + 1)
        common = (largest + 1) * n[largest + 1] / n[1]
        if common == 1:
            continue
        d = ((r + 1) * n[r + 1] / (n[r] * r) - common) / (1 - common)
        if np.all((d > 0) & (d < 1)):
            if largest < k:
                _warn(
                    order, f"no discounts of counts up to {k}", f"only counts up to {largest} are discounted"
                )
            return np.concatenate(([0.0], d))
    if k > 0 and n.any():
        _warn(order, "no Good-Turing discounts", "contexts reserve one count for unseen words")
    return np.zeros(1)


class GoodTuring(NamedTuple):
    """Smoothed counts of what was seen, and the mass of what was not."""

    #: r* of each count r: the place in ``seen``.
    smoothed: Discounts
    #: The counts that occur, in order.
    seen: Counts
    #: The sum of smoothed counts of everything that was not seen: n1.
    unseen: float


def simple_good_turing(counts: Counts, order: int) -> GoodTuring:
    """Simple Good-Turing (Gale and Sampson 1995).

    r* = (r+1) n_{r+1} / n_r while the counts of counts are good for it, then the same with a line through them in
    logarithms: from the first r on for which n_{r+1} is 0, or the two differ by less than 1.65 standard deviations.
    """
    seen, n = np.unique(counts[counts > 0], return_counts=True)
    if not len(seen):
        return GoodTuring(np.zeros(0), seen, 1.0)
    undiscounted = seen.astype(np.float64)
    if len(seen) < 2:
        _warn(
            order,
            "all were seen equally often",
            "they keep their counts, and the unseen ones share one count",
        )
        return GoodTuring(undiscounted, seen, 1.0)
    before, after = np.concatenate(([0], seen[:-1])), np.append(seen[1:], 2 * seen[-1] - seen[-2])
    slope = np.polyfit(np.log(seen), np.log(2.0 * n / (after - before)), 1)[0]
    if slope >= -1:
        _warn(
            order,
            "rare ones are not more numerous than frequent ones",
            "they keep their counts, and the unseen ones share one count",
        )
        return GoodTuring(undiscounted, seen, 1.0)
    smoothed = undiscounted * (1 + 1 / undiscounted) ** (slope + 1)
    for i, r in enumerate(seen.tolist()[:-1]):
        if seen[i + 1] != r + 1:
            break
        turing = (r + 1) * n[i + 1] / n[i]
        deviation = (r + 1) * np.sqrt(n[i + 1] / n[i] ** 2 * (1 + n[i + 1] / n[i]))
        if abs(turing - smoothed[i]) <= 1.65 * deviation:
            break
        smoothed[i] = turing
    once = float(n[0]) if seen[0] == 1 else 1.0
    return GoodTuring(smoothed, seen, once)


def _warn(order: int, what: str, fallback: str) -> None:
    warnings.warn(f"grams of order {order}: {what}, so {fallback}", DiscountWarning, stacklevel=4)
