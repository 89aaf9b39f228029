"""Truncated SVDs against LAPACK's, on every kind of matrix; the inverse roots against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from spinney.errors import OptionError
from spinney.linalg import METHODS, inverse_sqrt, inverse_values, orthonormal, truncated_svd

FORMS = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array, "operator": aslinearoperator}


def with_spectrum(n, m, s, seed=0):
    """A dense matrix with these singular values."""
    rng = np.random.default_rng(seed)
    U, V = (orthonormal(rng.standard_normal((size, len(s)))) for size in (n, m))
    return (U * s) @ V.T


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(90, 60), (60, 90)])
def test_methods_agree_on_spectra_that_decay(method, form, dtype, shape):
    values = 10 * 0.5 ** np.arange(40)
    A = with_spectrum(*shape, values)
    U, s, V = truncated_svd(FORMS[form](A.astype(dtype)), 6, method)
    exact = np.linalg.svd(A)
    tolerance = 1e-9 if dtype == np.float64 else 2e-5
    assert_allclose(s, values[:6], rtol=tolerance)
    assert_allclose((U * s) @ V.T, (exact[0][:, :6] * values[:6]) @ exact[2][:6], atol=10 * tolerance)
    assert_allclose(U.T @ U, np.eye(6), atol=tolerance)
    assert_allclose(V.T @ V, np.eye(6), atol=tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("matrix", "values"),
    [
        ([[1, 1, 2], [1, 2, 2], [1, 1, 2]], [4.529, 0.698, 0]),
        ([[1, 1, 2], [1, 2, 2], [1, 1, 3]], [5.000, 0.978, 0.204]),
    ],
)
def test_the_slides(method, matrix, values):
    """The two matrices of the tutorial, of rank 2 and 3, as lists, integers and sparse integers."""
    for A in (matrix, np.array(matrix), sparse.csr_array(np.array(matrix))):
        found = truncated_svd(A, 3, method)
        assert_allclose(found.s, values, atol=6e-4)
        assert_allclose((found.U * found.s) @ found.V.T, matrix, atol=1e-9)
        assert_allclose(truncated_svd(A, 2, method).s, values[:2], atol=6e-4)


def test_the_first_so_many_triples_are_the_best_approximation():
    """Eckart and Young: the error is that of the values left out, and no other matrix of that rank does better."""
    A = np.random.default_rng(0).standard_normal((12, 9))
    full = np.linalg.svd(A, compute_uv=False)
    for k in range(1, 10):
        U, s, V = truncated_svd(A, k)
        assert np.sum((A - (U * s) @ V.T) ** 2) == pytest.approx(np.sum(full[k:] ** 2), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.integers(1, 15))
@settings(max_examples=15, deadline=None)
def test_small_matrices_of_any_shape(method, seed, n, m, k):
    A = np.random.default_rng(seed).standard_normal((n, m))
    U, s, V = truncated_svd(A, k, method)
    k = min(k, n, m)
    assert (U.shape, s.shape, V.shape) == ((n, k), (k,), (m, k))
    assert_allclose(s, np.linalg.svd(A, compute_uv=False)[:k], rtol=1e-7, atol=1e-9)
    assert_allclose(A @ V, U * s, atol=1e-7)
    assert np.all(np.diff(s) <= 0)
    largest = V[np.abs(V).argmax(axis=0), np.arange(k)]
    assert np.all(largest > 0)


@pytest.mark.parametrize("method", METHODS)
def test_signs_do_not_depend_on_the_method(method):
    A = with_spectrum(80, 50, 10 * 0.5 ** np.arange(20))
    exact, found = truncated_svd(A, 5, "exact"), truncated_svd(A, 5, method)
    assert_allclose(found.U, exact.U, atol=1e-6)
    assert_allclose(found.V, exact.V, atol=1e-6)
    # -A has the same V, and the opposite U
    turned = truncated_svd(-A, 5, method)
    assert_allclose(turned.U, -exact.U, atol=1e-6)
    assert_allclose(turned.V, exact.V, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_randomized_finds_the_energy_of_a_spectrum_that_falls_slowly(dtype):
    """Values 1/√i, as those of scaled counts: single vectors may mix, but not what they hold together."""
    A = with_spectrum(500, 450, 1 / np.sqrt(np.arange(1, 451))).astype(dtype)
    U, s, V = truncated_svd(A, 50, "randomized")
    best = np.sum(1 / np.arange(1, 51))
    assert best * 0.995 <= np.sum(s.astype(float) ** 2) <= best * (1 + 1e-5)
    assert best * 0.995 <= np.sum((A.T @ U).astype(float) ** 2) <= best * (1 + 1e-5)
    assert U.dtype == V.dtype == s.dtype == dtype
    more = truncated_svd(A, 50, "randomized", power=30).s.astype(float)
    assert_allclose(more[:40], 1 / np.sqrt(np.arange(1, 41)), rtol=1e-3)


def test_single_precision_keeps_more_than_the_leading_direction():
    A = with_spectrum(300, 200, 10.0 ** -np.arange(0, 4, 0.5)).astype(np.float32)
    s = truncated_svd(A, 7, "randomized", power=8).s
    assert_allclose(s, 10.0 ** -np.arange(0, 3.5, 0.5), rtol=1e-3)


def test_large_matrices_are_decomposed_at_random_by_default():
    A = with_spectrum(450, 420, 0.5 ** np.arange(60))
    found, chosen = truncated_svd(A, 4), truncated_svd(A, 4, "randomized")
    assert_allclose(found.U, chosen.U, rtol=0)
    assert_allclose(found.U, truncated_svd(A, 4, "exact").U, atol=1e-8)


@pytest.mark.parametrize("method", ["lanczos", "randomized"])
def test_runs_with_one_seed_are_the_same(method):
    A = np.random.default_rng(0).standard_normal((160, 150))
    first, second = (truncated_svd(A, 5, method, random_state=3) for _ in range(2))
    for one, other in zip(first, second):
        np.testing.assert_array_equal(one, other)
    other = truncated_svd(A, 5, method, random_state=4)
    assert not np.array_equal(first.U, other.U)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", FORMS)
def test_the_zero_matrix(method, form):
    U, s, V = truncated_svd(FORMS[form](np.zeros((7, 5))), 2, method)
    assert_allclose(s, 0)
    assert U.shape == (7, 2)
    assert V.shape == (5, 2)
    assert np.all(np.isfinite(U))
    assert np.all(np.isfinite(V))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", FORMS)
def test_more_triples_than_the_rank(method, form):
    A = with_spectrum(30, 20, [3.0, 2.0, 1.0])
    U, s, V = truncated_svd(FORMS[form](A), 8, method)
    assert_allclose(s, [3, 2, 1, 0, 0, 0, 0, 0], atol=1e-7)
    assert_allclose((U * s) @ V.T, A, atol=1e-7)
    assert_allclose(V.T @ V, np.eye(8), atol=1e-7)
    assert_allclose(U.T @ U, np.eye(8), atol=1e-7)


@pytest.mark.parametrize("shape", [(3, 5000), (5000, 3)])
def test_a_long_side_of_an_operator_costs_nothing(shape):
    """Exact decompositions multiply with as many columns as the shorter side has, never with the longer."""
    A = np.random.default_rng(0).standard_normal(shape)

    def product(matrix):
        def times(V):
            assert V.ndim == 1 or V.shape[1] <= 3
            return matrix @ V

        return times

    forth, back = product(A), product(A.T)
    operator = LinearOperator(shape, matvec=forth, rmatvec=back, matmat=forth, rmatmat=back, dtype=np.float64)
    assert_allclose(truncated_svd(operator, 2).s, np.linalg.svd(A, compute_uv=False)[:2], rtol=1e-9)


def test_an_operator_that_knows_only_its_products():
    A = with_spectrum(50, 40, 0.5 ** np.arange(20))
    operator = LinearOperator(A.shape, matvec=A.__matmul__, rmatvec=A.T.__matmul__, dtype=A.dtype)
    for method in METHODS:
        assert_allclose(truncated_svd(operator, 3, method).s, [1, 0.5, 0.25], rtol=1e-9)


def test_orthonormal_spans_the_same():
    A = np.random.default_rng(0).standard_normal((20, 4))
    Q = orthonormal(A.copy())
    assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
    assert subspace_angles(Q, A).max() < 1e-7


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 8), st.floats(0, 5))
@settings(max_examples=40, deadline=None)
def test_inverse_sqrt_whitens_what_varies(seed, d, rank, ridge):
    rng = np.random.default_rng(seed)
    rank = min(rank, d)
    basis = orthonormal(rng.standard_normal((d, d)))[:, :rank]
    C = (basis * rng.uniform(0.1, 10, rank)) @ basis.T
    W = inverse_sqrt(C, ridge)
    assert_allclose(W, W.T, atol=1e-12)
    if ridge > 1e-6:
        assert_allclose(W @ (C + ridge * np.eye(d)) @ W, np.eye(d), atol=1e-6)
    elif ridge == 0:
        assert_allclose(W @ C @ W, basis @ basis.T, atol=1e-9)
        assert_allclose(W @ W, np.linalg.pinv(C, rcond=1e-9, hermitian=True), atol=1e-7)


@given(
    st.lists(st.just(0.0) | st.floats(1e-100, 1e6), max_size=6),
    st.floats(0, 10),
    st.sampled_from([1e-12, 1e-6, 0.1]),
)
@settings(max_examples=50, deadline=None)
def test_inverse_values_are_those_of_the_pseudo_inverse(values, ridge, cutoff):
    found = inverse_values(values, cutoff, ridge)
    for s, inverse in zip(values, found):
        kept = s > cutoff * max(values)
        assert inverse == pytest.approx(s / (s * s + ridge) if kept else 0.0, rel=1e-12, abs=0)
    assert len(found) == len(values)


def test_bad_options():
    with pytest.raises(OptionError, match="auto, exact, lanczos or randomized, not 'fast'"):
        truncated_svd(np.eye(3), 2, "fast")
    with pytest.raises(OptionError, match="k must be at least 1, not 0"):
        truncated_svd(np.eye(3), 0)
