"""Weights of labelled examples against their definition and against the thesis's claims about them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from spinney.errors import OptionError
from spinney.inference.strata import row_strata, stratum_weights


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 1000))
def test_weights_are_the_definition(strata, seed):
    q = np.random.default_rng(seed).dirichlet(np.ones(6))
    weights = stratum_weights(strata, q)
    by_hand = [q[x] / sum(other == x for other in strata) for x in strata]
    np.testing.assert_allclose(weights, by_hand, rtol=1e-12)
    seen = sorted(set(strata))
    np.testing.assert_allclose(weights.sum(), q[seen].sum(), rtol=1e-12)  # "weights sum to Σ_seen q ≤ 1"


@given(st.integers(0, 10_000))
def test_rows_are_equal_exactly_when_their_strata_are(seed):
    X = np.random.default_rng(seed).integers(0, 2, size=(12, 3)) * 0.5
    expected = (X[:, None, :] == X[None, :, :]).all(axis=2)
    for made in (X, X.tolist(), sparse.csr_array(X), sparse.csc_matrix(X)):
        strata = row_strata(made)
        np.testing.assert_array_equal(strata[:, None] == strata[None, :], expected)


def test_explicit_zeros_and_unsorted_indices_do_not_matter():
    X = sparse.csr_array((np.array([1.0, 0.0, 2.0, 2.0, 1.0]), [0, 1, 2, 2, 0], [0, 3, 5]), shape=(2, 3))
    assert row_strata(X).tolist() == [0, 0]
    assert X.nnz == 5, "the caller's matrix is left alone"


def test_bad_input_is_refused():
    with pytest.raises(OptionError, match="between 0 and 1"):
        stratum_weights([0, 2], [0.5, 0.5])
    with pytest.raises(OptionError, match="whole numbers"):
        stratum_weights([0.5], [0.5, 0.5])
    with pytest.raises(OptionError, match="≥ 0"):
        stratum_weights([0], [-0.5, 0.5])
