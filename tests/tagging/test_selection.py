"""Choosing weights by size, and counting what is left."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.errors import OptionError
from spinney.tagging.selection import active_counts, orphans, threshold
from spinney.tagging.support import Shape


def test_threshold():
    w = np.array([-2.0, -0.5, 0.0, 0.5, 0.6])
    assert threshold(w, 0.5).tolist() == [-2.0, 0.0, 0.0, 0.0, 0.6]
    assert threshold(w, 0.0).tolist() == w.tolist()
    assert threshold(w, 0.0, "positive").tolist() == [0.0, 0.0, 0.0, 0.5, 0.6]
    assert w[0] == -2.0


def test_active_weights_by_pattern_add_up():
    rng = np.random.default_rng(4)
    shape = Shape(7, 5, 3)
    w = threshold(rng.normal(size=shape.n_params), 1.0)
    counts = active_counts(w, shape, rng.integers(0, 3, 7), rng.integers(0, 3, 5), ["a", "b", "c"])
    assert sum(sum(count) for count in counts.values()) == np.count_nonzero(w)
    assert sum(count.unigrams for count in counts.values()) == np.count_nonzero(shape.mu(w))


@given(st.integers(0, 1000), st.booleans())
def test_orphans_are_counted_one_by_one(seed, start):
    rng = np.random.default_rng(seed)
    shape = Shape(4, 3, 3, start)
    w = threshold(rng.normal(size=shape.n_params), 0.7)
    parents = rng.integers(-1, 4, 3)
    active = lone = 0
    for o, z, y in product(range(3), range(3 + start), range(3)):
        if parents[o] >= 0 and shape.lam(w)[o, z, y] != 0:
            active += 1
            lone += shape.mu(w)[parents[o], y] == 0
    assert orphans(w, shape, parents) == (active, lone)


def test_bad_options_are_refused():
    shape = Shape(4, 3, 3)
    w = np.zeros(shape.n_params)
    for call in (
        lambda: threshold(w, -1.0),
        lambda: threshold(w, 1.0, "ball"),
        lambda: orphans(w, shape, np.array([0])),
        lambda: orphans(w, shape, np.array([0, 1, 4])),
        lambda: active_counts(w, shape, np.array([0]), np.array([0]), ["a"]),
    ):
        with pytest.raises(OptionError):
            call()
