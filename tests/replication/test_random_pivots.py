"""Random pivots give the prox that heaps give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from methods.random_pivots import PivotTree

from spinney.optim import TreeLinf


def _random_tree(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.array([-1] + [int(rng.integers(-1, i)) for i in range(1, n)], np.int32)


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0.01, 2.0), st.booleans())
def test_they_agree_with_heaps(seed: int, n: int, radius: float, collapsed: bool) -> None:
    rng = np.random.default_rng(seed)
    parent, w = _random_tree(rng, n), np.round(rng.random(n), 1)  # with ties
    copies = rng.integers(1, 4, n).astype(float) if collapsed else None
    by_heaps = w.copy()
    TreeLinf(radius, parent, multiplicity=copies).prox(by_heaps, 1.0)
    PivotTree(parent, copies).prox(w, radius, seed)
    assert w == pytest.approx(by_heaps, abs=1e-12)


def test_it_counts_what_groups_lower() -> None:
    # The leaf loses 1 of its 4 and is 3, as its parent is; then both lose half a unit each.
    assert PivotTree([-1, 0, 0]).prox(np.array([3.0, 4.0, 0.5]), 1.0).tolist() == [2, 1]
