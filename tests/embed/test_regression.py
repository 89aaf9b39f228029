"""Canonical regression against its penalised problem, and principal components against a pipeline."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney.embed import CCA, CanonicalRegression, PrincipalRegression
from spinney.errors import OptionError


@parametrize_with_checks([PrincipalRegression()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def two_views(seed=0, n=300, d_x=6, d_y=5, k=3, mean=0.0):
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((n, k)) * [2, 1, 0.5][:k]
    X = h @ rng.standard_normal((k, d_x)) + rng.standard_normal((n, d_x)) + mean
    Y = h @ rng.standard_normal((k, d_y)) + rng.standard_normal((n, d_y)) - mean
    return X, Y


def labels(X, seed=0):
    rng = np.random.default_rng(seed)
    return X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(len(X)) + 2.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("center", [True, False])
def test_shrinkage_minimises_the_penalised_squares(form, center):
    """Over the examples that the views were whitened by, β = λ·mean(x z) is a minimum of a general optimiser."""
    X, Y = two_views(n=100, mean=1.0)
    z = labels(X)
    model = CanonicalRegression(CCA(5, center=center)).fit(
        form(X), z, X_unlabelled=form(X), Y_unlabelled=form(Y)
    )
    lam, x = model.cca_.correlations_, model.cca_.transform(form(X))

    def objective(v):
        residual = z - x @ v[:-1] - (v[-1] if center else 0.0)
        return np.mean(residual**2) + ((1 - lam) / lam) @ v[:-1] ** 2

    best = minimize(objective, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(model.shrunk_, best.x[:-1], atol=1e-5)
    predicted = x @ best.x[:-1] + (best.x[-1] if center else 0.0)
    np.testing.assert_allclose(model.predict(form(X)), predicted, atol=1e-4)


def test_perfectly_correlated_views_leave_least_squares():
    X, _ = two_views()
    z = labels(X)
    model = CanonicalRegression(CCA(6)).fit(X, z, X_unlabelled=X, Y_unlabelled=X @ np.diag(np.arange(1, 7)))
    peer = LinearRegression().fit(X, z)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-8)
    assert model.intercept_ == pytest.approx(peer.intercept_)


def test_the_views_may_be_fitted_before():
    X, Y = two_views()
    z = labels(X)
    cca = CCA(4).fit(X, Y)
    before = CanonicalRegression(cca).fit(X[:50], z[:50])
    together = CanonicalRegression(CCA(4)).fit(X[:50], z[:50], X_unlabelled=X, Y_unlabelled=Y)
    np.testing.assert_allclose(before.coef_, together.coef_)
    assert before.cca_ is cca
    # scikit-learn's clones are not fitted, unless they are frozen
    assert cross_val_score(CanonicalRegression(FrozenEstimator(cca)), X, z, error_score="raise").min() > 0
    with pytest.raises(OptionError, match="not fitted: fit it, or give X_unlabelled"):
        CanonicalRegression(CCA(4)).fit(X, z)
    with pytest.raises(OptionError, match="give both"):
        CanonicalRegression(cca).fit(X, z, X_unlabelled=X)
    with pytest.raises(ValueError, match="features"):
        CanonicalRegression(cca).fit(X[:, :4], z)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_principal_regression_is_that_of_a_pipeline(form):
    X, _ = two_views(mean=2.0)
    z = labels(X)
    peer = make_pipeline(PCA(3), LinearRegression()).fit(X, z)
    model = PrincipalRegression(3).fit(form(X), z)
    np.testing.assert_allclose(model.predict(form(X)), peer.predict(X), rtol=1e-8)
    np.testing.assert_allclose(  # all components: least squares
        PrincipalRegression(99).fit(form(X), z).coef_, LinearRegression().fit(X, z).coef_, rtol=1e-7
    )
    with pytest.raises(OptionError, match="at least 1"):
        PrincipalRegression(0).fit(X, z)


def test_canonical_regression_needs_fewer_labels_than_principal_components():
    """Foster and Kakade's point: the signal is what both views share, but noise of one view varies more."""
    rng = np.random.default_rng(0)
    n, d, k = 5000, 40, 3
    h = rng.standard_normal((n, k))
    z = h @ [1.0, -1.0, 1.0] + 0.3 * rng.standard_normal(n)

    def view():
        noise = rng.standard_normal((n, 20)) * 10  # private to the view, and far larger than the signal
        parts = np.hstack(
            [h + 0.3 * rng.standard_normal((n, k)), noise, rng.standard_normal((n, d - 20 - k))]
        )
        return parts @ np.linalg.qr(rng.standard_normal((d, d)))[0]

    X, Y = view(), view()
    labelled, held_out = slice(30), slice(1000, None)
    cca = CanonicalRegression(CCA(40)).fit(X[labelled], z[labelled], X_unlabelled=X, Y_unlabelled=Y)
    scores = {}
    for m in (3, 10, 20, 25):
        pcr = PrincipalRegression(m).fit(X[labelled], z[labelled], X_unlabelled=X)
        scores[m] = pcr.score(X[held_out], z[held_out])
    ours = cca.score(X[held_out], z[held_out])
    assert ours > 0.7
    assert max(scores.values()) < 0.2
    np.testing.assert_array_less(cca.cca_.correlations_[3:], 0.2)
    # The subspace that the views agree on is that of the signal.
    signal = np.linalg.lstsq(X, h, rcond=None)[0]
    assert np.rad2deg(subspace_angles(cca.cca_.x_weights_[:, :3], signal)).max() < 10
