"""Residuals: three forms, the merge, and what a split does to them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Ridge

from spinney.errors import InputError, OptionError
from spinney.taxonomy import incomplete_cholesky, merged, residual_matrix
from spinney.taxonomy.proximity import merged_groups
from spinney.taxonomy.sources import CountedSamples, Moments, Samples


def data(seed=0, n=40, d=7, n_classes=5):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    X = rng.standard_normal((n_classes, d))[y] + rng.standard_normal((n, d)) + 3.0
    X[rng.random((n, d)) < 0.4] = 0.0
    return X, y


def from_the_definition(X, y, delta):
    """Q = Yᵀ(I − X(XᵀX + δI)⁻¹Xᵀ)Y with X centred."""
    X = X - X.mean(axis=0)
    Y = (np.asarray(y)[:, None] == np.unique(y)).astype(float)
    hat = X @ np.linalg.inv(X.T @ X + delta * np.eye(X.shape[1])) @ X.T
    return Y.T @ (np.eye(len(X)) - hat) @ Y


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.001, 1.0, 1000.0]), st.sampled_from([3, 7, 60]))
def test_the_forms_agree(seed, delta, d):
    X, y = data(seed, d=d)
    expected = from_the_definition(X, y, delta)
    for design in (X, sparse.csr_array(X), sparse.csc_matrix(X)):
        for form in ("primal", "dual", "low-rank", "auto"):
            Q = residual_matrix(design, y, delta, form, rank=len(X))
            np.testing.assert_allclose(Q, expected, atol=1e-6 * max(1, 1e-3 / delta))


def test_columns_are_ridge_residuals():
    X, y = data()
    Y = np.eye(5)[y]
    fit = Ridge(alpha=2.0, fit_intercept=False).fit(X - X.mean(axis=0), Y).predict(X - X.mean(axis=0))
    np.testing.assert_allclose(residual_matrix(X, y, 2.0), Y.T @ (Y - fit), atol=1e-10)


def test_the_constant_vector():
    X, y = data()
    np.testing.assert_allclose(residual_matrix(X, y).sum(axis=1), np.bincount(y), atol=1e-10)


def test_a_low_rank_is_an_approximation_from_above():
    X, y = data(d=30)
    Q = residual_matrix(X, y, form="primal")
    gaps = [np.linalg.eigvalsh(residual_matrix(X, y, form="low-rank", rank=r) - Q) for r in (2, 10, 40)]
    assert all(gap.min() > -1e-8 for gap in gaps)
    assert gaps[0].max() > gaps[1].max() > gaps[2].max()
    assert gaps[2].max() < 1e-8


def test_a_merge_is_exact():
    X, y = data()
    Q = residual_matrix(X, y)
    for p, q in [(0, 1), (3, 1), (4, 0)]:
        together = np.where(y == max(p, q), min(p, q), y)
        np.testing.assert_allclose(merged(Q, p, q), residual_matrix(X, together), atol=1e-10)
    groups = np.array([1, 0, 1, 2, 0])
    np.testing.assert_allclose(merged_groups(Q, groups), residual_matrix(X, groups[y]), atol=1e-10)
    with pytest.raises(OptionError, match="two different classes"):
        merged(Q, 1, 1)


def test_a_split_is_not_the_sub_matrix():
    X, y = data()
    some = np.array([0, 2, 3])
    here = np.isin(y, some)
    recomputed = residual_matrix(X[here], y[here])
    assert np.abs(recomputed - residual_matrix(X, y)[np.ix_(some, some)]).max() > 0.1
    source = Samples(X, y, 1.0)
    np.testing.assert_allclose(source.residual(some).matrix(), recomputed, atol=1e-10)
    np.testing.assert_allclose(
        Samples(sparse.csr_array(X), y, 1.0).residual(some).matrix(), recomputed, atol=1e-10
    )


def test_counts_are_samples_that_repeat():
    rng = np.random.default_rng(1)
    V, C = rng.standard_normal((12, 3)) + 1, rng.poisson(1.0, (12, 5))
    context, label = np.nonzero(C)
    times = C[context, label]
    X, y = V[np.repeat(context, times)], np.repeat(label, times)
    for classes in (np.arange(5), np.array([1, 4])):
        expected = Samples(X, y, 0.5).residual(classes).matrix()
        np.testing.assert_allclose(CountedSamples(V, C, 0.5).residual(classes).matrix(), expected, atol=1e-9)


def test_moments_of_classes_are_exact_and_pooled_ones_nearly():
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(6), 300)
    X = 2 * rng.standard_normal((6, 4))[y] + rng.standard_normal((len(y), 4))
    Y = np.eye(6)[y]
    by_class = np.array([X[y == k].T @ X[y == k] for k in range(6)])
    sizes = Y.sum(axis=0)
    for classes in (np.arange(6), np.array([0, 3, 4])):
        expected = Samples(X, y, 1.0).residual(classes).matrix()
        exact = Moments(by_class, X.T @ Y, sizes, 1.0).residual(classes).matrix()
        pooled = Moments(X.T @ X, X.T @ Y, sizes, 1.0).residual(classes).matrix()
        np.testing.assert_allclose(exact, expected, atol=1e-8)
        share = 1e-10 if len(classes) == 6 else 0.05
        np.testing.assert_allclose(pooled, expected, atol=share * sizes[0])
    submatrix = Samples(X, y, 1.0).residual(np.arange(6)).of(classes).matrix()
    assert np.abs(submatrix - expected).max() > 3 * np.abs(pooled - expected).max()


def test_incomplete_cholesky():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((10, 4))
    G = A @ A.T
    R = incomplete_cholesky(G.diagonal(), lambda j: G[:, j], 10)
    assert R.shape == (10, 4)
    np.testing.assert_allclose(R @ R.T, G, atol=1e-10)
    assert incomplete_cholesky(np.zeros(3), lambda j: np.zeros(3), 2).shape == (3, 0)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (OptionError, lambda X, y: residual_matrix(X, y, delta=0.0)),
        (OptionError, lambda X, y: residual_matrix(X, y, form="other")),
        (OptionError, lambda X, y: residual_matrix(X, y, form="low-rank", rank=0)),
        (InputError, lambda X, y: residual_matrix(X[:-1], y)),
        (InputError, lambda X, y: residual_matrix(X * np.nan, y)),
        (InputError, lambda X, y: residual_matrix(sparse.csr_array(X) * np.inf, y)),
        (InputError, lambda X, y: residual_matrix(X[:0], y[:0])),
        (InputError, lambda X, y: residual_matrix(X[0], y)),
        (InputError, lambda X, y: CountedSamples(X, -np.ones((len(X), 2)), 1.0)),
        (InputError, lambda X, y: CountedSamples(X, np.ones((3, 2)), 1.0)),
        (OptionError, lambda X, y: Moments(np.eye(3), np.ones((2, 2)), [1, 1], 1.0)),
        (OptionError, lambda X, y: Moments(np.eye(2), np.ones((2, 2)), [1, -1], 1.0)),
    ],
)
def test_bad_input(error, call):
    with pytest.raises(error):
        call(*data())
