"""Whitening, tensor decompositions and models of three views against exact moments of known models."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from spinney.embed.tensors import (
    pairs_with,
    symmetrised,
    tensor_power,
    to_simplex,
    whitening,
)
from spinney.errors import InputError, OptionError


def aligned(found, true):
    """The columns of ``found`` in the order that fits ``true`` best."""
    orders = itertools.permutations(range(true.shape[1]))
    return list(min(orders, key=lambda order: np.abs(found[:, list(order)] - true).sum()))


# -- whitening --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [30, 450])  # decomposed exactly, and by Lanczos
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
def test_whitening_makes_the_identity(size, form):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((size, 5))
    A = B @ B.T - 0.5 * np.outer(*[rng.standard_normal(size) / np.sqrt(size)] * 2)  # indefinite
    W, back, values = whitening(form(A), 5)
    np.testing.assert_allclose(W.T @ A @ W, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(back.T @ W, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:5], rtol=1e-9)


def test_whitening_takes_the_largest_values_not_the_largest_sizes():
    values = whitening(np.diag([-9.0, 3.0, 1.0, 2.0]), 2).values
    np.testing.assert_allclose(values, [3, 2])


def test_directions_without_a_positive_value_are_left_out():
    with pytest.warns(UserWarning, match="only 2 of 3"):
        W = whitening(np.diag([2.0, 1.0, -1.0, -3.0]), 3).W
    assert W.shape == (4, 2)
    with pytest.raises(InputError, match="no positive eigenvalue"):
        whitening(-np.eye(3), 2)
    for k in (0, 4):
        with pytest.raises(OptionError, match="from 1 to 3"):
            whitening(np.eye(3), k)


# -- tensors ----------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 6), st.data())
@settings(max_examples=40, deadline=None)
def test_orthogonal_tensors_are_taken_apart(seed, k, data):
    r = data.draw(st.integers(1, k))
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((k, k)))[0][:, :r]
    values = np.sort(rng.uniform(0.5, 3, r))[::-1]
    found = tensor_power(np.einsum("r,ir,jr,kr", values, vectors, vectors, vectors), r)
    np.testing.assert_allclose(found.values, values, rtol=1e-9)
    np.testing.assert_allclose(found.vectors, vectors, atol=1e-8)


def test_noise_moves_the_components_by_no_more_than_its_size():
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    T = np.einsum("r,ir,jr,kr", np.arange(6, 0, -1.0), vectors, vectors, vectors)
    noise = symmetrised(rng.standard_normal((6, 6, 6)))
    noise /= np.linalg.norm(noise)
    for size in (1e-2, 1e-4, 1e-6):
        found = tensor_power(T + size * noise)
        assert np.abs(found.vectors - vectors).max() < 5 * size
        assert np.abs(found.values - np.arange(6, 0, -1.0)).max() < 2 * size


def test_a_tensor_of_low_rank_says_so():
    v = np.array([0.6, 0.8])
    with pytest.warns(UserWarning, match="only 1 components"):
        found = tensor_power(-2 * np.einsum("i,j,k", v, v, v))
    np.testing.assert_allclose(found.values, [2])
    np.testing.assert_allclose(found.vectors[:, 0], -v)  # λ is positive


@pytest.mark.parametrize(
    ("T", "options"),
    [
        (np.zeros((2, 2)), {}),
        (np.zeros((2, 3, 2)), {}),
        (np.ones((2, 2, 2)), {"n_components": 3}),
        (np.ones((2, 2, 2)), {"restarts": 0}),
    ],
)
def test_bad_tensors_are_refused(T, options):
    with pytest.raises(OptionError):
        tensor_power(T, **options)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 30), st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_pairs_with_is_the_sum_of_outer_products(k, m, n, seed):
    rng = np.random.default_rng(seed)
    Y, Z = rng.standard_normal((n, k)), rng.standard_normal((n, m))
    np.testing.assert_allclose(pairs_with(Y, Z), np.einsum("di,dj,dk->ijk", Y, Y, Z), atol=1e-12)


def test_long_sums_are_taken_in_blocks(monkeypatch):
    Y = np.random.default_rng(0).standard_normal((1000, 5))
    whole = pairs_with(Y, Y)
    monkeypatch.setattr("spinney.embed.tensors._CHUNK", 100)
    np.testing.assert_allclose(pairs_with(Y, Y), whole, atol=1e-10)


@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=1, max_size=4))
def test_rows_on_the_simplex(rows):
    P = to_simplex(np.array(rows))
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1)


# -- three views ------------------------------------------------------------------------------------------
