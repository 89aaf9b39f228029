"""Scaled forward-backward, dense and sparse, against sums over all labellings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.inference._kernels import forward_backward, sparse_forward_backward


def brute_force(offsets, kinds, psi, M, weights):
    """Marginals, pair counts and log Z, by their definitions."""
    Y = psi.shape[1]
    marginals, pairs, log_z = np.zeros_like(psi), np.zeros_like(M), np.zeros(len(weights))
    for i, weight in enumerate(weights):
        first, end = offsets[i], offsets[i + 1]
        parts = []
        for labels in product(range(Y), repeat=end - first):
            before, p = Y, 1.0
            for t, y in zip(range(first, end), labels):
                p *= psi[t, y] * M[kinds[t], before, y]
                before = y
            parts.append((labels, p))
        Z = sum(p for _, p in parts)
        log_z[i] = np.log(Z)
        for labels, p in parts:
            before = Y
            for t, y in zip(range(first, end), labels):
                marginals[t, y] += weight * p / Z
                pairs[kinds[t], before, y] += weight * p / Z
                before = y
    return marginals, pairs, log_z


def dense(offsets, kinds, psi, M, weights):
    Y, longest = psi.shape[1], int(np.diff(offsets).max(initial=0))
    psi, pairs, log_z = psi.copy(), np.zeros_like(M), np.empty(len(weights))
    forward_backward(
        offsets, kinds, psi, M, weights, np.empty((longest, Y + 1)), np.empty((2, Y)), pairs, log_z
    )
    return psi, pairs * M, log_z


def sparse(offsets, kinds, psi, M, weights):
    """The potentials that differ from 1, and some that do not, are given as excess."""
    Y, longest = psi.shape[1], int(np.diff(offsets).max(initial=0))
    given_pairs = M != 1.0
    given_pairs[:, 0, 0] = True
    kind, before, here = np.nonzero(given_pairs)
    ptr = np.searchsorted(kind, np.arange(len(M) + 1))
    psi, log_z, found = psi.copy(), np.empty(len(weights)), np.zeros(len(kind))
    sparse_forward_backward(
        offsets, kinds, psi, ptr, before.astype(np.int32), here.astype(np.int32), M[given_pairs] - 1.0, weights,
        np.empty((longest, Y + 1)), np.empty((2, Y)), found, log_z,
    )  # fmt: skip
    pairs = np.zeros_like(M)
    pairs[given_pairs] = found
    return psi, pairs * M, log_z, given_pairs


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.floats(0, 1),
    st.integers(0, 10**6),
)
def test_equals_brute_force(Y, lengths, n_kinds, share, seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    T = int(offsets[-1])
    kinds = rng.integers(0, n_kinds, T).astype(np.int32)
    psi = np.exp(rng.normal(size=(T, Y)))
    M = np.where(rng.random((n_kinds, Y + 1, Y)) < share, np.exp(rng.normal(size=(n_kinds, Y + 1, Y))), 1.0)
    weights = rng.normal(size=len(lengths))
    marginals, pairs, log_z = brute_force(offsets, kinds, psi, M, weights)
    for name, found in zip(("p", "pairs", "Z"), dense(offsets, kinds, psi, M, weights)):
        expected = {"p": marginals, "pairs": pairs, "Z": log_z}[name]
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)
    p, found_pairs, z, given_pairs = sparse(offsets, kinds, psi, M, weights)
    np.testing.assert_allclose(p, marginals, atol=1e-12)
    np.testing.assert_allclose(z, log_z, atol=1e-12)
    np.testing.assert_allclose(found_pairs, np.where(given_pairs, pairs, 0.0), atol=1e-12)


def test_long_chains_neither_overflow_nor_lose_digits():
    rng = np.random.default_rng(0)
    T, Y = 20_000, 3
    offsets, kinds, weights = np.array([0, T]), np.zeros(T, np.int32), np.ones(1)
    psi = np.exp(rng.normal(size=(T, Y)) * 20)
    M = np.exp(rng.normal(size=(1, Y + 1, Y)))
    p, pairs, log_z = dense(offsets, kinds, psi, M, weights)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    assert pairs.sum() == pytest.approx(T, rel=1e-9)
    # log Z by log-sum-exp, another way to the same number.
    a = np.log(psi[0]) + np.log(M[0, Y])
    for t in range(1, T):
        a = np.log(psi[t]) + np.logaddexp.reduce(a[:, None] + np.log(M[0, :Y]), axis=0)
    assert log_z[0] == pytest.approx(np.logaddexp.reduce(a), rel=1e-10)
