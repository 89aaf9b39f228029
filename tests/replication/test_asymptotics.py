"""The asymptotic theory against finite differences, the thesis's closed forms and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.asymptotics import (
    asymptotics,
    bayes_error,
    best_fit,
    exact_error,
    exact_risk,
    log_model,
    shimodaira_weights,
)
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from spinney.errors import InputError, OptionError
from spinney.inference.strata import stratum_weights


def _world(seed, m=12, d=3, K=3, well_specified=False):
    """Inputs, their law, and a law of classes that the model does (not) contain."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(m), rng.standard_normal((m, d - 1))])
    theta = rng.standard_normal((d, K - 1))
    q = 0.5 * rng.dirichlet(np.ones(m)) + 0.5 / m
    eta = (
        np.exp(log_model(theta, X)) if well_specified else softmax(1.5 * rng.standard_normal((m, K)), axis=1)
    )
    return X, q, eta, theta


seeds = st.integers(0, 10_000)


@given(seeds, st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_theta_is_stationary_and_J_is_the_hessian_of_the_risk(seed, K):
    X, q, eta, _ = _world(seed, K=K)
    found = asymptotics(X, q, eta)
    g = np.exp(log_model(found.theta, X))
    np.testing.assert_allclose(X.T @ (q[:, None] * (g - eta)), 0.0, atol=1e-10)  # E_q[X(g - η)] = 0
    k, h = found.theta.size, 1e-4
    steps = h * np.eye(k)

    def risk(v):
        return exact_risk(found.theta.ravel() + v, X, q, eta)

    numeric = np.array(
        [
            [(risk(a + b) - risk(a - b) - risk(b - a) + risk(-a - b)) / (4 * h * h) for a in steps]
            for b in steps
        ]
    )
    np.testing.assert_allclose(found.J, numeric, atol=1e-6)


def test_theta_by_a_general_optimiser():
    X, q, eta, _ = _world(1)
    peer = minimize(lambda v: exact_risk(v, X, q, eta), np.zeros(6), tol=1e-12)
    np.testing.assert_allclose(best_fit(X, q, eta).ravel(), peer.x, atol=1e-5)


@given(seeds, st.integers(2, 4), st.booleans())
@settings(max_examples=25, deadline=None)
def test_H_and_I_are_moments_of_the_score(seed, K, shifted):
    """By enumeration of all pairs (x, y): the scores' second moments, and their variances given x."""
    X, q, eta, _ = _world(seed, K=K)
    q0 = np.random.default_rng(seed + 1).dirichlet(np.full(len(q), 3.0)) if shifted else None
    found = asymptotics(X, q, eta, q0)
    ratio = q / q0 if shifted else np.ones(len(q))
    g = np.exp(log_model(found.theta, X))
    I, H = np.zeros_like(found.I), np.zeros_like(found.H)
    for i, x in enumerate(X):
        scores = [np.outer(x, g[i, :-1] - np.eye(K)[y, :-1]).ravel() for y in range(K)]
        mean = sum(eta[i, y] * s for y, s in enumerate(scores))
        for y, s in enumerate(scores):
            I += q[i] * ratio[i] * eta[i, y] * np.outer(s, s)
            H += q[i] * ratio[i] * eta[i, y] * np.outer(s - mean, s - mean)
    np.testing.assert_allclose(found.I, I, rtol=1e-9, atol=1e-12 * abs(I).max())
    np.testing.assert_allclose(found.H, H, rtol=1e-9, atol=1e-12 * abs(H).max())


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_two_classes_have_the_binary_form(seed):
    X, q, eta, _ = _world(seed, K=2)
    found, binary = asymptotics(X, q, eta), asymptotics(X, q, eta[:, 0])
    np.testing.assert_allclose(found.theta, binary.theta)
    e, g = eta[:, 0], expit(X @ binary.theta[:, 0])
    forms = {"H": e * (1 - e), "I": e * (1 - e) + (e - g) ** 2, "J": g * (1 - g)}
    for name, weight in forms.items():
        np.testing.assert_allclose(getattr(binary, name), X.T @ ((q * weight)[:, None] * X), atol=1e-12)
    # The other class pinned: θ changes sign and nothing else.
    other = asymptotics(X, q, 1.0 - e)
    np.testing.assert_allclose(other.theta, -found.theta, atol=1e-9)
    np.testing.assert_allclose(other[4:], found[4:], rtol=1e-7)


@given(seeds, st.integers(2, 3))
@settings(max_examples=25, deadline=None)
def test_weighting_never_harms_and_helps_exactly_when_misspecified(seed, K):
    X, q, eta, _ = _world(seed, K=K)
    found = asymptotics(X, q, eta)
    gain = found.I - found.H
    assert np.linalg.eigvalsh(gain)[0] >= -1e-12
    assert np.trace(gain) > 1e-8
    assert found.mse_weighted < found.mse_supervised
    assert found.excess_weighted < found.excess_supervised
    assert found.bayes_error <= found.error + 1e-12
    X, q, eta, theta = _world(seed, K=K, well_specified=True)
    found = asymptotics(X, q, eta)
    np.testing.assert_allclose(found.theta, theta, atol=1e-7)
    np.testing.assert_allclose(found.I, found.H, atol=1e-10)
    np.testing.assert_allclose(found.I, found.J, atol=1e-10)  # then both are Fisher's information
    assert found.excess_supervised == pytest.approx(theta.size / 2)  # and the excess d/2n
    assert found.error == pytest.approx(found.bayes_error)


def test_shift_of_nothing_is_no_shift():
    X, q, eta, _ = _world(3)
    for a, b in zip(asymptotics(X, q, eta), asymptotics(X, q, eta, q_train=q)):
        np.testing.assert_allclose(a, b)


def test_worst_case_of_a_poor_fit_with_sure_labels():
    """Sokolovska 2010, 4.3: I and H part when the fit is poor and the Bayes error small."""
    X, q = np.array([[1.0, -1.0], [1.0, 1.0], [1.0, 3.0]]), np.ones(3) / 3
    ratios = []
    for doubt in (0.3, 0.1, 0.01):
        found = asymptotics(X, q, np.array([doubt, 1 - doubt, doubt]))
        ratios.append(found.excess_supervised / found.excess_weighted)
    assert ratios == sorted(ratios)
    assert ratios[-1] > 10


def _simulated(estimate, found, X, q_draw, q, eta, n, replications, seed):
    """n·‖θ̂ − θ*‖² and n·excess risk, one row a replication."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(replications):
        x = rng.choice(len(q), size=n, p=q_draw)
        y = (rng.random((n, 1)) > np.cumsum(eta, axis=1)[x]).sum(axis=1)
        weights = estimate(x)
        table = np.zeros_like(eta)
        np.add.at(table, (x, y), weights)
        mass = table.sum(axis=1)
        conditional = np.where(mass[:, None] > 0, table / np.maximum(mass, 1e-300)[:, None], 1 / eta.shape[1])
        theta = best_fit(X, mass / mass.sum(), conditional)
        excess = exact_risk(theta, X, q, eta) - found.risk
        rows.append([n * np.sum((theta - found.theta) ** 2), n * excess])
    return np.array(rows)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("shifted", [False, True])
def test_simulation_agrees(K, shifted):
    """Means over replications within four standard errors of the limit, plus what O(1/n) is at this n."""
    X, q, eta, _ = _world(11, m=6, d=2, K=K)
    q0 = np.full(6, 1 / 6) if shifted else q
    found = asymptotics(X, q, eta, q0)
    plain = (lambda x: shimodaira_weights(x, q, q0)) if shifted else (lambda x: np.ones(len(x)))
    cases = [
        (plain, found.mse_supervised, found.excess_supervised),
        (lambda x: stratum_weights(x, q), found.mse_weighted, found.excess_weighted),
    ]
    for estimate, mse, excess in cases:
        rows = _simulated(estimate, found, X, q0, q, eta, n=4000, replications=300, seed=7)
        error = 4 * rows.std(axis=0) / np.sqrt(len(rows)) + 0.02 * np.array([mse, excess])
        assert np.all(np.abs(rows.mean(axis=0) - [mse, excess]) < error)


def test_unweighted_regression_is_biased_under_shift():
    X, _, eta, _ = _world(5, K=2)
    q0 = np.full(12, 1 / 12)
    q1 = np.random.default_rng(5).dirichlet(np.full(12, 0.5))
    there, here = asymptotics(X, q0, eta), asymptotics(X, q1, eta, q0)
    assert exact_risk(there.theta, X, q1, eta) > here.risk + 1e-3
    rng = np.random.default_rng(6)
    x = rng.choice(12, size=200_000, p=q0)
    y = (rng.random(len(x)) < eta[x, 0]).astype(int)
    found = LogisticRegression(C=1e8, fit_intercept=False, tol=1e-8).fit(X[x], y).coef_[0]
    J_inv = np.linalg.inv(there.J)
    error = 5 * np.sqrt(np.diag(J_inv @ there.I @ J_inv) / len(x))
    assert np.all(np.abs(found - there.theta[:, 0]) < error)
    assert np.any(np.abs(found - here.theta[:, 0]) > 5 * error)


def test_errors_by_hand():
    q, eta = [0.5, 0.3, 0.2], np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
    assert bayes_error(q, eta) == pytest.approx(0.5 * 0.3 + 0.3 * 0.2 + 0.2 * 0.6)
    X = np.eye(3)
    everywhere_first = np.array([[1.0, 0.0]] * 3)
    assert exact_error(everywhere_first, X, q, eta) == pytest.approx(0.5 * 0.3 + 0.3 * 0.9 + 0.2 * 0.7)
    saturated = asymptotics(X, q, eta)  # a parameter for each cell: the model is the truth
    assert saturated.error == pytest.approx(saturated.bayes_error)
    entropy = -np.sum(np.array(q)[:, None] * eta * np.log(eta))
    assert saturated.risk == pytest.approx(entropy)


def test_ridge_is_scikit_learns():
    X, q, eta, _ = _world(8, K=2)
    table = LogisticRegression(C=1 / 0.3, fit_intercept=False, tol=1e-10)
    table.fit(np.vstack([X, X]), np.repeat([1, 0], 12), sample_weight=(q[:, None] * eta).T.ravel())
    np.testing.assert_allclose(best_fit(X, q, eta, ridge=0.3)[:, 0], table.coef_[0], atol=1e-6)


def test_bad_input_is_refused():
    X, q, eta, _ = _world(0)
    with pytest.raises(OptionError, match="go together"):
        asymptotics(X, q[:-1], eta)
    with pytest.raises(OptionError, match="sum 1"):
        asymptotics(X, q, eta * 2)
    with pytest.raises(OptionError, match="q_train"):
        asymptotics(X, q, eta, q_train=np.zeros(12))
    with pytest.raises(InputError, match="singular"):
        asymptotics(np.ones((12, 2)), q, eta)
    with pytest.raises(InputError, match="separable"):
        best_fit([[1.0], [-1.0]], [0.5, 0.5], [1.0, 0.0], max_iter=5)


def test_stratified_weights_tend_to_those_of_shimodaira():
    rng = np.random.default_rng(0)
    q0, q1 = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.2, 0.7])
    strata = rng.choice(3, size=200_000, p=q0)
    ours, ratio = stratum_weights(strata, q1) * len(strata), shimodaira_weights(strata, q1, q0)
    spread = np.sqrt((1 - q0) / (q0 * len(strata)))  # relative standard error of a count
    assert np.all(np.abs(ours / ratio - 1) < 5 * spread[strata])
    with pytest.raises(OptionError, match="q_train 1"):
        shimodaira_weights([0], [0.5, 0.5], [1.0])
    with pytest.raises(InputError, match="stratum 1"):
        shimodaira_weights([0, 1], [0.5, 0.5], [1.0, 0.0])
