"""Which groups of features a model selected, and which it removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim.base import GroupArrays

Floats = NDArray[np.float64]


class Selection(NamedTuple):
    """For each group: the norm of its weights, how many of them are not 0, and whether it is selected."""

    norms: Floats
    active: NDArray[np.int64]
    kept: NDArray[np.bool_]


def selection(coef: Floats, groups: GroupArrays, copy_norms: Floats | None = None) -> Selection:
    """The norms and active members of groups, which must not be empty; ``coef`` has one row per output.

    A group is selected if any of its weights is not 0; with the norms of ADMM's copies v_g, if its v_g is not 0
    (Yogatama 2015, §5.4.3), whatever its weights are.

    Examples
    --------
    >>> from spinney.structure import Groups
    >>> selection(np.array([[3.0, 4.0, 0.0]]), Groups.from_lists([[0, 1], [2]], 3))
    Selection(norms=array([5., 0.]), active=array([2, 0]), kept=array([ True, False]))
    """
    if copy_norms is not None and len(copy_norms) != len(groups.ptr) - 1:
        raise OptionError(f"{len(copy_norms)} norms of copies for {len(groups.ptr) - 1} groups")
    if groups.n_features != coef.shape[1]:
        raise OptionError(f"groups over {groups.n_features} features, but a model with {coef.shape[1]}")
    starts = groups.ptr[:-1]
    if not len(starts):
        return Selection(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.bool_))
    squares = np.einsum("ij,ij->j", coef, coef)
    used = np.asarray(coef.any(axis=0))
    # No group is empty: reduceat would take the first member of the next one.
    norms = np.sqrt(np.add.reduceat(squares[groups.members], starts))
    active = np.add.reduceat(used[groups.members], starts, dtype=np.int64)
    # Not by the norms of weights, since the squares of tiny ones are 0.
    kept = active > 0 if copy_norms is None else np.asarray(copy_norms) > 0
    return Selection(norms, active, kept)


def foremost(groups: GroupArrays, found: Selection, top: int) -> tuple[list[int], list[int]]:
    """The selected groups with the largest norms, and the removed ones with the largest weights (then: the largest).

    Examples
    --------
    >>> from spinney.structure import Groups
    >>> groups = Groups.from_lists([[0], [1], [2, 3]], 4)
    >>> foremost(groups, selection(np.array([[0.0, 4.0, 0.0, 0.0]]), groups), 10)
    ([1], [2, 0])
    """
    kept = found.kept
    first = largest(top, np.where(kept, found.norms, -1.0))
    last = largest(top, np.where(kept, -1.0, groups.weights), np.diff(groups.ptr))
    return [g for g in first if kept[g]], [g for g in last if not kept[g]]


def family_counts(names: Sequence[str], kept: NDArray[np.bool_]) -> dict[str, tuple[int, int]]:
    """How many groups of each family are selected and removed, if every name is ``family: something``; else nothing.

    Examples
    --------
    >>> family_counts(["lda: topic 0", "lda: topic 1"], np.array([True, False]))
    {'lda': (1, 1)}
    """
    parts = [name.partition(": ") for name in names]
    if not parts or not all(family and colon for family, colon, _ in parts):
        return {}
    counts = Counter((family, selected) for (family, _, _), selected in zip(parts, kept.tolist()))
    families = sorted({family for family, _ in counts})
    return {family: (counts[family, True], counts[family, False]) for family in families}


def largest(k: int, *keys: NDArray[np.float64] | NDArray[np.int64]) -> list[int]:
    """The positions of the ``k`` largest numbers; ties go by the keys that follow, then by order.

    Examples
    --------
    >>> largest(2, np.array([1.0, 3.0, 3.0]), np.array([0, 1, 2]))
    [2, 1]
    """
    k = min(k, len(keys[0]))
    if k == 0:
        return []
    least = np.partition(keys[0], len(keys[0]) - k)[len(keys[0]) - k]
    some = np.flatnonzero(keys[0] >= least)  # including all that equal the last one
    order = np.lexsort([-key[some] for key in reversed(keys)])
    return [int(i) for i in some[order[:k]]]
