"""Scaled counts and pointwise mutual information, entry by entry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from spinney.embed.weighting import TRANSFORMS, correlations, inverse_root, like, pmi, scaled, transformed
from spinney.errors import OptionError

G = {"raw": lambda n: n, "sqrt": np.sqrt, "log": np.log1p, "two-thirds": lambda n: n ** (2 / 3)}


def counts_of(dense):
    return sparse.csr_array(np.asarray(dense, np.float32))


# Zeros are frequent, whole rows and columns of them too.
tables = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.integers(-3, 9)).map(
    lambda table: np.maximum(table, 0)
)


@given(
    tables, st.sampled_from(TRANSFORMS), st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from([1.0, 0.75, 0.5])
)
@settings(max_examples=80, deadline=None)
def test_correlations(table, transform, pseudo, exponent):
    found, rows, columns = correlations(
        counts_of(table), transform=transform, pseudo=pseudo, context_exponent=exponent
    )
    g = G[transform]
    assert found.dtype == np.float32
    n_w, n_c = table.sum(axis=1), table.sum(axis=0)
    for w in range(table.shape[0]):
        for c in range(table.shape[1]):
            expected = 0.0
            if table[w, c]:
                expected = g(table[w, c]) / np.sqrt((g(n_w[w]) + pseudo) * (g(n_c[c] ** exponent) + pseudo))
            assert found[w, c] == pytest.approx(expected, rel=1e-5)
    assert np.all(np.isfinite(rows))
    assert np.all(np.isfinite(columns))
    if pseudo == 0:
        np.testing.assert_array_equal(rows > 0, n_w > 0)
        np.testing.assert_array_equal(columns > 0, n_c > 0)
    dense = np.diag(rows) @ g(table.astype(float)) @ np.diag(columns)
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-5)


@given(tables)
@settings(max_examples=50, deadline=None)
def test_plain_correlations_are_never_above_one(table):
    found = correlations(counts_of(table), transform="raw")[0].toarray()
    values = np.linalg.svd(found, compute_uv=False)
    assert values[0] <= 1 + 1e-5
    assert (values[0] >= 1 - 1e-5) == bool(table.any())


@given(
    tables,
    st.sampled_from([None, 0.0, -0.5, 0.3]),
    st.sampled_from([0.0, np.log(5), -1.0]),
    st.sampled_from([1.0, 0.75]),
    st.sampled_from([0.0, 2.0, 3.0]),
)
@settings(max_examples=150, deadline=None)
def test_pmi(table, floor, shift, exponent, min_count):
    matrix = counts_of(table)
    before = matrix.copy()
    found = pmi(matrix, floor=floor, shift=shift, context_exponent=exponent, min_count=min_count)
    assert found.shape == table.shape
    assert found.format == "csr"
    dense, N = found.toarray(), table.sum()
    smoothed = table.sum(axis=0) ** float(exponent)
    for w, c in np.ndindex(*table.shape):
        expected = 0.0
        if table[w, c] and table[w, c] >= min_count:
            p_w, p_c = table[w].sum() / N, smoothed[c] / smoothed.sum()
            expected = np.log(table[w, c] / N / (p_w * p_c)) - shift
            if floor is not None and abs(expected - floor) < 1e-5:
                continue  # which side of the floor is a matter of rounding
            if floor is not None and expected <= floor:
                expected = 0.0
        assert dense[w, c] == pytest.approx(expected, rel=1e-4, abs=2e-6)
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())  # the counts are left as they were
    if floor == 0.0:
        assert np.all(found.data > 0)


def test_pmi_of_independent_words_is_zero():
    matrix = counts_of(np.outer([1, 2, 4], [3, 1, 5, 2]))
    np.testing.assert_allclose(pmi(matrix, floor=None).toarray(), 0, atol=1e-6)


def test_pmi_of_nothing():
    for shape in ((3, 2), (1, 1)):
        found = pmi(sparse.csr_array(shape, dtype=np.float32))
        assert found.shape == shape
        assert found.nnz == 0
    assert pmi(counts_of([[1, 1], [1, 1]]), floor=5.0).nnz == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_margins_of_large_counts_are_exact(axis):
    """Single precision stops counting at 2²⁴: 16 million and one are 16 million."""
    counts = np.ones((1 << 16, 1), np.float32)
    counts[0] = 1 << 24
    matrix = sparse.csr_array(counts if axis == 0 else counts.T)
    total = (1 << 24) + (1 << 16) - 1
    factors = correlations(matrix, transform="raw")[2 - axis]
    assert factors[0] == pytest.approx(1 / np.sqrt(total), rel=1e-9)
    # One word, or one context, is independent of the others.
    np.testing.assert_allclose(pmi(matrix, floor=None).data[[0, -1]], 0, atol=1e-5)


def test_scaling_leaves_the_counts_alone():
    matrix = counts_of([[1, 0, 2], [0, 3, 4]])
    before = matrix.toarray()
    rows, columns = np.array([2.0, 0.0]), np.array([1.0, 10.0, 0.5])
    np.testing.assert_allclose(
        scaled(matrix, rows, columns).toarray(), np.diag(rows) @ before @ np.diag(columns)
    )
    correlations(matrix)
    np.testing.assert_array_equal(matrix.toarray(), before)
    np.testing.assert_array_equal(like(matrix, matrix.data * 2).toarray(), before * 2)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(transform):
    counts = np.array([0.0, 0.5, 1.0, 8.0, 1e6])
    np.testing.assert_allclose(transformed(counts, transform), G[transform](counts), rtol=1e-12)


def test_inverse_roots_drop_what_is_never_seen():
    np.testing.assert_allclose(inverse_root(np.array([4.0, 0.0, 0.25])), [0.5, 0, 2])
    np.testing.assert_allclose(inverse_root(np.array([3.0, 0.0]), pseudo=1.0), [0.5, 1.0])


def test_bad_options():
    with pytest.raises(OptionError, match="raw, sqrt, log or two-thirds, not 'cube'"):
        correlations(counts_of([[1]]), transform="cube")
