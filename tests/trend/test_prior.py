"""The prior against quadrature, dense linear algebra, finite differences and a table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import polygamma

from spinney.errors import OptionError
from spinney.trend.alpha import (
    C,
    average_half_logdet,
    logdet,
    logdet_slopes,
    mean_alpha,
    mean_alpha_slope,
    negative_entropy,
)
from spinney.trend.chains import Chains, toeplitz
from spinney.trend.prior import AdaptivePrior, bound, gamma_shape, half_logdet

ROOTS = {1: 1.6441, 2: 2.1998, 3: 2.7302, 4: 3.2494, 5: 3.7626, 6: 4.2722, 7: 4.7796, 8: 5.2853, 9: 5.7900}
ROOTS |= {10: 6.2938, 20: 11.3124, 50: 26.3247}


def dense(T, alpha):
    return np.eye(T) + alpha * (np.eye(T, k=1) + np.eye(T, k=-1))


def under_q(kappa, f):
    """E[f(α)] by adaptive quadrature; the largest weight is 1."""
    peak = -C if kappa > 0 else 0.0

    def weight(a):
        return np.exp(-kappa * (a - peak))

    how = {"epsabs": 0.0, "epsrel": 1e-12, "limit": 200}
    return quad(lambda a: weight(a) * f(a), -C, 0.0, **how)[0] / quad(weight, -C, 0.0, **how)[0]


# Near the places where one formula gives way to the other (|κC/2| = 0.1), at 0 and far out.
KAPPAS = [-300.0, -20.0, -1.0, -0.41, -0.39, -1e-3, -1e-9, 0.0, 1e-12, 1e-3, 0.39, 0.41, 3.0, 50.0, 400.0]


@pytest.mark.parametrize("kappa", KAPPAS)
def test_the_law_of_alpha_for_every_kappa(kappa):
    e = under_q(kappa, lambda a: a)
    assert mean_alpha(kappa) == pytest.approx(e, rel=1e-12)
    variance = under_q(kappa, lambda a: (a - e) ** 2)
    assert mean_alpha_slope(kappa) == pytest.approx(-variance, rel=1e-8)
    peak = -C if kappa > 0 else 0.0
    log_area = np.log(quad(lambda a: np.exp(-kappa * (a - peak)), -C, 0.0, epsabs=0.0, epsrel=1e-12)[0])
    entropy = under_q(kappa, lambda a: -kappa * (a - peak) - log_area)
    assert negative_entropy(kappa) == pytest.approx(entropy, abs=1e-11)


def test_the_law_of_alpha_far_out():
    assert mean_alpha([-1e8, 1e8]) == pytest.approx([-1e-8, -C + 1e-8], rel=1e-12)
    assert mean_alpha_slope([-1e8, 1e8]) == pytest.approx([-1e-16, -1e-16], rel=1e-6)
    assert np.all(np.isfinite(negative_entropy([-1e8, 1e8])))


def test_the_printed_formula_where_it_can_be_computed():
    kappa = np.array([-10.0, 2.0, 30.0])
    assert mean_alpha(kappa) == pytest.approx(1 / kappa - C / (1 - np.exp(-kappa * C)), rel=1e-13)


@pytest.mark.parametrize("T", [1, 2, 3, 8, 50])
@pytest.mark.parametrize("alpha", [-C, -0.37, -1e-7, 0.0])
def test_determinants(T, alpha):
    assert logdet(alpha, T) == pytest.approx(np.linalg.slogdet(dense(T, alpha))[1], abs=1e-11)
    h = 1e-6
    if alpha > -C + h:
        finite = (logdet(alpha + h, T) - logdet(alpha - h, T)) / (4 * h)
        assert logdet_slopes(np.array([alpha]), T)[0][0] == pytest.approx(finite, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kappa", [-200.0, -3.0, 0.0, 3.0, 700.0])
@pytest.mark.parametrize("T", [2, 8, 30, 100])
def test_expected_determinants_by_quadrature(kappa, T):
    expected = under_q(kappa, lambda a: 0.5 * float(logdet(a, T)))
    assert average_half_logdet([kappa], T).mean[0] == pytest.approx(expected, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(kappa=st.floats(-500, 500), T=st.integers(1, 30))
def test_jensen_never_lowers_the_bound(kappa, T):
    jensen, honest = (half_logdet([kappa], T, by)[0] for by in ("jensen", "quadrature"))
    assert jensen >= honest - 1e-12


def test_the_gap_between_the_two():
    assert 2 * half_logdet([3.0], 8, "jensen")[0] == pytest.approx(-0.785, abs=5e-4)
    assert 2 * half_logdet([3.0], 8, "quadrature")[0] == pytest.approx(-1.148, abs=5e-4)


def test_the_best_shape_depends_on_the_number_of_times_alone():
    for T, root in ROOTS.items():
        assert gamma_shape(T) == pytest.approx(root, abs=1e-4)  # printed to four decimals
        below, above = (
            1 + T / (2 * (a - 1)) - (T / 2 + a) * polygamma(1, a)
            for a in gamma_shape(T) + np.array([-1e-7, 1e-7])
        )
        assert below > 0 > above
        best = minimize_scalar(
            lambda a, T=T: -bound([7.0], [1.0], T, 0.5, a=[a])[0], bounds=(1.001, T + 3), method="bounded"
        )
        assert gamma_shape(T) == pytest.approx(best.x, abs=1e-3)


def test_the_best_scale():
    Q, kappa, T, a = np.array([2.5]), np.array([0.7]), 4, 3.0
    best = Q / ((a - 1) * T)
    at_best = bound(Q, kappa, T, 1.0, a=a)
    assert at_best == pytest.approx(bound(Q, kappa, T, 1.0, a=a, b=best))
    for factor in (0.9, 1.1):
        assert bound(Q, kappa, T, 1.0, a=a, b=factor * best) < at_best


@pytest.mark.parametrize("by", ["jensen", "quadrature"])
def test_the_bound_with_free_a_by_its_definition(by):
    """Every expectation of the figure, computed from the laws themselves."""
    from scipy.stats import gamma

    Q, kappa, T, tau, a, b = 1.7, -2.0, 5, 0.3, 2.6, 0.4
    law = gamma(a, scale=b)
    log_lambda = law.expect(np.log)
    inverse = law.expect(lambda lam: 1 / lam)
    entropy = law.entropy()
    expected = (
        -0.5 * T * log_lambda
        + half_logdet([kappa], T, by)[0]
        - 0.5 * Q * inverse
        - tau * (mean_alpha(kappa) + C)
        - log_lambda
        + entropy
        - negative_entropy(kappa)
    )
    assert bound(Q, [kappa], T, tau, a=a, b=b, logdet_by=by)[0] == pytest.approx(expected, rel=1e-6)


PRIORS = [
    {
        "logdet": by,
        "kappa_sign": sign,
        "exact_zeros": zeros,
        "replicates": R,
        "n_times": T,
        "tau": 0.7,
        "floor": 1e-3,
    }
    for by in ("jensen", "quadrature")
    for sign, zeros, R, T in [
        ("any", False, 1, 4),
        ("positive", True, 1, 2),
        ("any", False, 3, 6),
        ("any", True, 2, 1),
    ]
]


@pytest.mark.parametrize("how", PRIORS)
def test_gradients_by_finite_differences(how):
    prior, rng = AdaptivePrior(**how), np.random.default_rng(1)
    W, kappa = rng.standard_normal((prior.n_times, 4 * prior.replicates)), np.array([-5.0, 0.01, 2.0, 40.0])
    value, in_W, in_kappa = prior.value_and_grads(W, kappa)
    assert value == pytest.approx(prior.value(W, kappa))
    h = 1e-5
    for i in np.ndindex(W.shape):
        D = np.zeros_like(W)
        D[i] = h
        finite = (prior.value(W + D, kappa) - prior.value(W - D, kappa)) / (2 * h)
        assert in_W[i] == pytest.approx(finite, rel=1e-5, abs=1e-6)
    for i in range(4):
        d = np.zeros(4)
        d[i] = 1e-4
        finite = (prior.value(W, kappa + d) - prior.value(W, kappa - d)) / 2e-4
        assert in_kappa[i] == pytest.approx(finite, rel=1e-5, abs=1e-6)


def test_the_objective_is_the_negative_bound():
    rng = np.random.default_rng(2)
    W, kappa = rng.standard_normal((6, 9)), np.array([-1.0, 0.0, 8.0])
    prior = AdaptivePrior(6, tau=0.4, replicates=3, floor=1e-300)
    whole = bound(prior.norms(W, kappa), kappa, 6, 0.4, replicates=3)
    assert prior.value(W, kappa) == pytest.approx(-whole.sum())
    # Replicates share their hyper-parameters, so their norms add up.
    A = dense(6, mean_alpha(0.0))
    assert prior.norms(W, kappa)[1] == pytest.approx(sum(W[:, r] @ A @ W[:, r] for r in (1, 4, 7)))


@settings(max_examples=40, deadline=None)
@given(
    pull=st.floats(-1e4, 1e4),
    T=st.integers(1, 40),
    R=st.sampled_from([1, 7, 500]),
    tau=st.floats(0, 10),
    by=st.sampled_from(["jensen", "quadrature"]),
)
def test_newton_finds_the_stationary_kappa(pull, T, R, tau, by):
    prior = AdaptivePrior(T, tau=tau, replicates=R, logdet=by)
    kappa = prior.best_kappa([pull])
    assert prior._demand(kappa)[0][0] == pytest.approx(tau + pull, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("sign", ["any", "positive"])
def test_kappa_is_the_best_there_is(sign):
    rng = np.random.default_rng(3)
    W = np.column_stack([np.ones(6), rng.standard_normal(6), [1, -1, 1, -1, 1, -1.0], np.zeros(6)])
    prior = AdaptivePrior(6, kappa_sign=sign, floor=1e-10)
    kappa = prior.updated_kappa(W, prior.kappa_of_nothing(4), rounds=200)
    low = 0.0 if sign == "positive" else -400.0
    for j in range(4):
        grid = np.linspace(low, 400.0, 1001)
        best = min(prior.value(W[:, [j]], np.array([k])) for k in grid)
        assert prior.value(W[:, [j]], kappa[[j]]) <= best + 1e-6
    assert (
        mean_alpha(kappa)[0] < mean_alpha(kappa)[2]
    )  # a constant series is stiffer than one that alternates
    assert sign == "any" or np.all(kappa >= 0)


def test_each_update_of_kappa_lessens_the_objective():
    prior, W = AdaptivePrior(5), np.random.default_rng(4).standard_normal((5, 20)).cumsum(axis=0)
    kappa = np.linspace(-30, 30, 20)
    before = prior.value(W, kappa)
    for _ in range(10):
        kappa = prior.updated_kappa(W, kappa, rounds=1)
        assert prior.value(W, kappa) <= before + 1e-12 * abs(before)
        before = prior.value(W, kappa)


@pytest.mark.parametrize("how", PRIORS)
def test_the_quadratic_lies_above_the_profile(how):
    prior = AdaptivePrior(**how)
    here, there = np.full(50, 0.3), np.geomspace(1e-8, 1e4, 50)
    above = prior.profile(here) + 0.5 * prior.shrinkage(here) * (there - here)
    assert np.all(above >= prior.profile(there) - 1e-12)


@pytest.mark.parametrize("T", [1, 2, 7])
def test_chains_are_tridiagonal_matrices(T):
    rng = np.random.default_rng(5)
    A = Chains(2.0 + rng.random((T, 3)), rng.standard_normal((T - 1, 3)) * 0.5)
    W = rng.standard_normal((T, 3))
    factor = A.factor()
    for j in range(3):
        M = np.diag(A.diagonal[:, j]) + np.diag(A.beside[:, j], 1) + np.diag(A.beside[:, j], -1)
        L = np.linalg.cholesky(M)
        assert A.times(W)[:, j] == pytest.approx(M @ W[:, j])
        assert A.quadratic(W)[j] == pytest.approx(W[:, j] @ M @ W[:, j])
        assert A.solve(W)[:, j] == pytest.approx(np.linalg.solve(M, W[:, j]))
        assert factor.from_series(W)[:, j] == pytest.approx(L.T @ W[:, j])
        assert factor.to_series(W)[:, j] == pytest.approx(np.linalg.solve(L.T, W[:, j]))
        assert factor.pull_back(W)[:, j] == pytest.approx(np.linalg.solve(L, W[:, j]))
    assert np.array_equal(toeplitz(T, [-0.2]).times(np.eye(T)[:, :1])[:, 0], dense(T, -0.2)[:, 0])


@pytest.mark.parametrize(
    "how", [{"tau": -1.0}, {"floor": 0.0}, {"logdet": "exact"}, {"kappa_sign": "negative"}]
)
def test_bad_options(how):
    with pytest.raises(OptionError):
        AdaptivePrior(3, **how)
