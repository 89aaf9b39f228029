"""Choosing features by counts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_sequences import has, labels_before, sentences
from methods.feature_selection import frequency_cutoff

from spinney.errors import OptionError
from spinney.tagging.support import Shape, observed_support


def counted(data, shape):
    """Tokens for each weight of the full model, one by one."""
    counts = np.zeros(shape.n_params, int)
    before = labels_before(data, shape.labels)
    for t, y in enumerate(data.labels):
        for o, label in product(range(shape.unigrams), range(shape.labels)):
            shape.mu(counts)[o, label] += has(data.unigrams, t, o) and y == label
        for b, z, label in product(
            range(shape.bigrams), range(shape.labels + shape.start), range(shape.labels)
        ):
            shape.lam(counts)[b, z, label] += has(data.bigrams, t, b) and before[t] == z and y == label
    return counts


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 4), st.sampled_from([0.0, 0.3]))
def test_a_cutoff_of_pairs_keeps_what_is_counted_often_enough(seed, start, minimum, unknown):
    data = sentences(seed, unknown=unknown)
    shape = Shape(4, 3, 3, start)
    support = frequency_cutoff(data, 3, minimum, start=start, of="pairs")
    wanted = np.flatnonzero(counted(data, shape) >= minimum)
    np.testing.assert_array_equal(support.places(shape), wanted)
    if minimum == 1:
        np.testing.assert_array_equal(observed_support(data, shape).places(shape), wanted)


@pytest.mark.parametrize("start", [True, False])
def test_a_cutoff_of_observations_keeps_all_their_labels(start):
    data, shape = sentences(1), Shape(4, 3, 3, start)
    counts = np.array([sum(has(data.unigrams, t, o) for t in range(data.n_tokens)) for o in range(4)])
    pair_counts = np.array([sum(has(data.bigrams, t, o) for t in range(data.n_tokens)) for o in range(3)])
    for minimum in range(1, 20):
        flags = np.zeros(shape.n_params, bool)
        shape.mu(flags)[counts >= minimum] = True
        shape.lam(flags)[pair_counts >= minimum] = True
        support = frequency_cutoff(data, 3, minimum, start=start)
        np.testing.assert_array_equal(support.places(shape), np.flatnonzero(flags))


def test_bad_options_are_refused():
    data = sentences(5)
    for call in (
        lambda: frequency_cutoff(data, 3, 0),
        lambda: frequency_cutoff(data, 3, 1, of="words"),
        lambda: frequency_cutoff(data, 2, 1, of="pairs"),
    ):
        with pytest.raises(OptionError):
            call()
