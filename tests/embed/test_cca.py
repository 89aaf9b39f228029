"""CCA against scikit-learn's, its own definition and counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cross_decomposition import CCA as PeerCCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.embed.cca import CCA
from spinney.errors import InputError, OptionError


@parametrize_with_checks([CCA(), CCA(covariance="diagonal", ridge=(0.1, 0.0))])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def two_views(seed=0, n=300, d_x=6, d_y=5, k=3, mean=0.0):
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((n, k)) * [2, 1, 0.5][:k]
    X = h @ rng.standard_normal((k, d_x)) + rng.standard_normal((n, d_x)) + mean
    Y = h @ rng.standard_normal((k, d_y)) + rng.standard_normal((n, d_y)) - mean
    return X, Y


def one_hot(words, size):
    return sparse.csr_array((np.ones(len(words)), words, np.arange(len(words) + 1)), shape=(len(words), size))


def word_pairs(seed=0, n=500, size_x=8, size_y=7):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(size_x * size_y, 0.3))
    pairs = rng.choice(size_x * size_y, n, p=P)
    return one_hot(pairs // size_y, size_x), one_hot(pairs % size_y, size_y)


def assert_same_up_to_signs(A, B, **tolerance):
    signs = np.sign((A * B).sum(axis=0))
    np.testing.assert_allclose(A, B * signs, **tolerance)


# -- canonical correlations -------------------------------------------------------------------------------


@pytest.mark.parametrize("svd", ["auto", "exact", "lanczos", "randomized"])
def test_parity_with_scikit_learn(svd):
    X, Y = two_views(mean=3.0)
    ours = CCA(3, svd=svd).fit(X, Y)
    peer = PeerCCA(3, scale=False, max_iter=10_000, tol=1e-14).fit(X, Y)
    x, y = peer.transform(X, Y)
    correlations = [np.corrcoef(x[:, i], y[:, i])[0, 1] for i in range(3)]
    np.testing.assert_allclose(ours.correlations_, correlations, atol=1e-6)
    for found, theirs in zip(ours.transform(X, Y), (x, y)):
        assert_same_up_to_signs(found, theirs / theirs.std(axis=0), atol=1e-4)


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_projections_are_white_and_correlated_with_their_partners_alone(seed, center, is_sparse):
    X, Y = two_views(seed, n=60, mean=1.0)
    form = sparse.csr_array if is_sparse else np.asarray
    cca = CCA(5, center=center).fit(form(X), form(Y))
    x, y = cca.transform(form(X), form(Y))
    np.testing.assert_allclose(x.T @ x / 60, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(y.T @ y / 60, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(x.T @ y / 60, np.diag(cca.correlations_), atol=1e-8)
    assert np.all(np.diff(cca.correlations_) <= 0)
    assert cca.correlations_[0] <= 1 + 1e-12
    if center:
        np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-9)


def test_linear_maps_of_a_view_change_nothing():
    X, Y = two_views()
    rng = np.random.default_rng(1)
    one = CCA(3).fit(X, Y)
    other = CCA(3).fit(X @ rng.standard_normal((6, 6)) + rng.standard_normal(6), 100 * Y)
    np.testing.assert_allclose(one.correlations_, other.correlations_, rtol=1e-10)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("forms", [(0, 1), (1, 0), (1, 1)])
def test_sparse_views_are_dense_ones(covariance, center, forms):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (200, 12)) * 1.0
    Y = X[:, :9] + rng.poisson(0.3, (200, 9))
    how = {"covariance": covariance, "center": center, "ridge": 0.01, "svd": "exact"}
    dense = CCA(4, **how).fit(X, Y)
    X_form, Y_form = (sparse.csr_array(Z) if is_sparse else Z for Z, is_sparse in zip((X, Y), forms))
    found = CCA(4, **how).fit(X_form, Y_form)
    np.testing.assert_allclose(found.correlations_, dense.correlations_, rtol=1e-10)
    for name in ("x_weights_", "y_weights_"):
        assert_same_up_to_signs(getattr(found, name), getattr(dense, name), atol=1e-9)
    for ours, theirs in zip(found.transform(X_form, Y_form), dense.transform(X, Y)):
        assert_same_up_to_signs(ours, theirs, atol=1e-9)
    assert found.get_feature_names_out().tolist() == ["cca0", "cca1", "cca2", "cca3"]


@pytest.mark.parametrize("svd", ["lanczos", "randomized"])
def test_wide_sparse_views_stay_sparse(svd, monkeypatch):
    """100,000 features a view, and the methods that only use products."""
    rng = np.random.default_rng(0)
    classes = rng.integers(4, size=20_000)
    words = classes * 25_000 + rng.integers(20, size=20_000)
    contexts = classes * 25_000 + rng.integers(20, size=20_000)
    X, Y = one_hot(words, 100_000), one_hot(contexts, 100_000)
    for kind in (sparse.csr_array, sparse.csc_array):
        monkeypatch.setattr(kind, "toarray", lambda self: pytest.fail("made dense"))
    found = CCA(4, covariance="diagonal", center=False, svd=svd).fit(X, Y)
    np.testing.assert_allclose(found.correlations_, 1, atol=1e-9)  # the classes do not mix
    assert found.x_weights_.shape == (100_000, 4)
    with pytest.raises(OptionError, match=r'100,000 features of X is too large.*covariance="diagonal"'):
        CCA(4).fit(X, Y)


def test_one_hot_views_are_scaled_counts():
    """The matrix count(w, c)/√(count(w) count(c)), whose first triple is that of the margins."""
    X, Y = word_pairs()
    counts = (X.T @ Y).toarray()
    n_w, n_c = counts.sum(axis=1), counts.sum(axis=0)
    U, s, Vt = np.linalg.svd(counts / np.sqrt(np.outer(n_w, n_c)))
    cca = CCA(4, covariance="diagonal", center=False).fit(X, Y)
    np.testing.assert_allclose(cca.correlations_, s[:4], rtol=1e-10)
    assert cca.correlations_[0] == pytest.approx(1, rel=1e-12)
    N = counts.sum()
    assert_same_up_to_signs(cca.x_weights_, U[:, :4] / np.sqrt(n_w / N)[:, None], atol=1e-9)
    assert_same_up_to_signs(cca.y_weights_, Vt[:4].T / np.sqrt(n_c / N)[:, None], atol=1e-9)
    np.testing.assert_allclose(np.abs(cca.x_weights_[:, 0]), 1, atol=1e-9)
    full = CCA(4, covariance="full", center=False).fit(X, Y)
    np.testing.assert_allclose(full.correlations_, s[:4], rtol=1e-10)


def test_centring_takes_the_trivial_triple_away():
    X, Y = word_pairs()
    uncentred = CCA(5, covariance="diagonal", center=False).fit(X, Y)
    centred = CCA(4).fit(X, Y)
    np.testing.assert_allclose(centred.correlations_, uncentred.correlations_[1:], rtol=1e-9)
    for ours, theirs in zip(centred.transform(X, Y), uncentred.transform(X, Y)):
        assert_same_up_to_signs(ours, theirs[:, 1:], atol=1e-8)


@given(st.integers(0, 10**6), st.floats(0, 10), st.floats(0, 10), st.sampled_from(["full", "diagonal"]))
@settings(max_examples=25, deadline=None)
def test_ridges_are_added_to_the_variances(seed, ridge_x, ridge_y, covariance):
    X, Y = two_views(seed, n=50)
    n = len(X)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    C_XX, C_YY = Xc.T @ Xc / n, Yc.T @ Yc / n
    if covariance == "diagonal":
        C_XX, C_YY = np.diag(np.diag(C_XX)), np.diag(np.diag(C_YY))
    # An independent route: σ² are the eigenvalues of C_XX⁻¹ C_XY C_YY⁻¹ C_YX.
    C_XY = Xc.T @ Yc / n
    product = np.linalg.solve(C_XX + ridge_x * np.eye(6), C_XY) @ np.linalg.solve(
        C_YY + ridge_y * np.eye(5), C_XY.T
    )
    expected = np.sqrt(np.sort(np.linalg.eigvals(product).real)[::-1][:3])
    found = CCA(3, ridge=(ridge_x, ridge_y), covariance=covariance).fit(X, Y)
    np.testing.assert_allclose(found.correlations_, expected, rtol=1e-7)


def test_limits_of_the_ridge():
    X, Y = two_views()
    exact = CCA(3).fit(X, Y)
    np.testing.assert_allclose(CCA(3, ridge=1e-9).fit(X, Y).correlations_, exact.correlations_, rtol=1e-7)
    # A huge ridge whitens nothing: singular vectors of the covariance itself (partial least squares).
    huge = CCA(3, ridge=1e9).fit(X, Y)
    C_XY = (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)) / len(X)
    U, s, _ = np.linalg.svd(C_XY)
    np.testing.assert_allclose(huge.correlations_ * 1e9, s[:3], rtol=1e-6)
    assert_same_up_to_signs(huge.x_weights_ * np.sqrt(1e9), U[:, :3], atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_constant_and_repeated_features(form, covariance):
    X, Y = two_views()
    plain = CCA(3, covariance="full").fit(X, Y)
    X2 = np.column_stack([X, np.full(len(X), 0.1), np.full(len(X), 1e3), np.zeros(len(X))])
    if covariance == "full":
        X2 = np.column_stack([X2, X[:, 0] - 2 * X[:, 1]])
    found = CCA(9, covariance=covariance).fit(form(X2), form(Y))
    assert found.correlations_.shape == (5,)  # Y has no more
    assert np.all(np.isfinite(found.x_weights_))
    np.testing.assert_allclose(found.x_weights_[6:9], 0, atol=1e-9)
    if covariance == "full":
        np.testing.assert_allclose(found.correlations_[:3], plain.correlations_, rtol=1e-7)
        x, _ = found.transform(form(X2), form(Y))
        np.testing.assert_allclose(x.T @ x / len(X), np.eye(5), atol=1e-7)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_view_that_does_not_vary(form, covariance):
    X, _ = two_views()
    with pytest.raises(InputError, match="Y does not vary"):
        CCA(2, covariance=covariance).fit(form(X), form(np.full((len(X), 2), 0.1)))


def test_more_features_than_examples_fit_perfectly_unless_there_is_a_ridge():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 40)), rng.standard_normal((20, 40))
    np.testing.assert_allclose(CCA(10).fit(X, Y).correlations_, 1, rtol=1e-9)
    assert CCA(10, ridge=10.0).fit(X, Y).correlations_[0] < 0.9


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": (1.0, -1.0)}, "ridge"),
        ({"ridge": (1.0, 1.0, 1.0)}, "ridge"),
        ({"covariance": "spherical"}, "full or diagonal"),
        ({"svd": "fast"}, "method must be"),
    ],
)
def test_bad_options(options, says):
    with pytest.raises(OptionError, match=says):
        CCA(**options).fit(*two_views())


def test_bad_data():
    X, Y = two_views()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CCA().fit(X, Y[:-1])
    with pytest.raises(InputError, match="Y has 4 features, but was fitted with 5"):
        CCA().fit(X, Y).transform(X, Y[:, :4])
    with pytest.raises(ValueError, match="NaN"):
        CCA().fit(X, np.where(Y > 0, np.nan, Y))


# -- canonical regression ---------------------------------------------------------------------------------
