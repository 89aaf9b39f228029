"""SLOPE against isotonic regression, brute force and other penalties; and by name in every task."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from spinney.classify import LinearClassifier
from spinney.corpus import sentence_arrays
from spinney.errors import OptionError
from spinney.lm import fit_loglinear
from spinney.optim import L1, LogisticLoss, PenaltySpec, Slope, SquaredLoss, lambda_max, penalty, solve
from spinney.tagging.tagger import Tagger


def test_the_prox_is_an_isotonic_regression():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 50):
        w = rng.standard_normal(n) * rng.choice([0.0, 1.0, 3.0], n)
        made = Slope(0.7, weights=np.sort(rng.random(n))[::-1])
        order = np.argsort(-np.abs(w), kind="stable")
        target = np.abs(w)[order] - 1.3 * 0.7 * made.weights
        reference = IsotonicRegression(increasing=False, y_min=0.0).fit_transform(np.arange(n), target)
        expected = np.empty(n)
        expected[order] = reference
        found = w.copy()
        made.prox(found, 1.3)
        np.testing.assert_allclose(found, np.sign(w) * expected, atol=1e-12)


def test_the_value_is_the_largest_over_all_orders():
    w, omega = np.array([0.5, -2.0, 1.0, 0.0]), np.array([1.0, 0.7, 0.2, 0.1])
    brute = max(float(np.array(p) @ np.abs(w)) for p in itertools.permutations(omega))
    assert Slope(2.0, weights=omega).value(w) == pytest.approx(2.0 * brute)


def test_the_default_weights_are_those_of_benjamini_and_hochberg():
    omega = Slope(1.0, q=0.2).sequence(5)
    critical = norm.ppf(1 - np.arange(1, 6) * 0.2 / 10)
    np.testing.assert_allclose(omega, critical / critical[0])


def test_equal_weights_are_the_lasso():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 8)), rng.standard_normal(40)
    loss = SquaredLoss(X, y)
    lasso = solve(loss, L1(3.0), tol=1e-9)
    slope = solve(loss, Slope(3.0, weights=np.ones(8)), tol=1e-9, max_iter=20_000)
    assert slope.solver == "fista"
    np.testing.assert_allclose(slope.w, lasso.w, atol=1e-7)


def test_correlated_columns_get_equal_weights_and_the_certificate_holds():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((60, 3))
    X = np.repeat(base, 4, axis=1) + 0.05 * rng.standard_normal((60, 12))
    y = np.sign(base[:, 0] - base[:, 1] + 0.3 * rng.standard_normal(60))
    loss = LogisticLoss(X, y)
    made = Slope(0.2, q=0.5)
    made = made.with_lam(0.1 * lambda_max(loss, made))
    solution = solve(loss, made, tol=1e-8, max_iter=50_000)
    assert solution.converged
    size = np.abs(solution.w[:-1])
    assert len(np.unique(size[size > 0])) < np.count_nonzero(size)
    for _ in range(200):  # no other point is better
        other = solution.w + rng.standard_normal(13) * rng.choice([1e-1, 1e-3])
        assert loss.value_and_grad(other)[0] + made.value(other[:-1]) >= solution.objective - 1e-9


def test_by_name_in_every_task(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    y = (X[:, 0] > 0).astype(int)
    model = LinearClassifier("slope", lam_ratio=0.2, max_iter=5000).fit(X, y)
    assert model.penalty_.describe().startswith("SLOPE, q = 0.1")
    assert model.score(X, y) > 0.8
    sentences, labels = [["the", "cat"], ["the", "dog"]], [["D", "N"], ["D", "N"]]
    tagger = Tagger("U:%x[0,0]\nB", penalty=Slope(0.1, q=0.3), max_iter=5000).fit(sentences, labels)
    tagger.save(tmp_path / "tagger")
    assert Tagger.load(tmp_path / "tagger").penalty == PenaltySpec("slope", 0.1, more={"q": 0.3})
    by_name = Tagger("U:%x[0,0]\nB", penalty="slope", lam=0.1, max_iter=5000).fit(sentences, labels)
    assert by_name.predict(sentences) == labels
    text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "rose", "is", "red"]])
    lm = fit_loglinear(text, 3, penalty="slope", lam=0.1, max_iter=3000)
    assert lm.facts["solver"] == "fista"
    assert lm.facts["converged"]
    assert lm.distribution(lm.history(["a"], start=False)).sum() == pytest.approx(1.0)


def test_bad_weights():
    with pytest.raises(OptionError, match="between 0 and 1"):
        Slope(1.0, q=1.0)
    with pytest.raises(OptionError, match="must fall"):
        Slope(1.0, weights=[1.0, 2.0])
    with pytest.raises(OptionError, match="2 weights of SLOPE for 3"):
        Slope(1.0, weights=[2.0, 1.0]).value(np.zeros(3))
    assert Slope(1.0, weights=[2.0, 1.0]).spec().own == "weights"
    assert penalty("slope", lam=2.0).describe() == "SLOPE, q = 0.1, λ = 2"
