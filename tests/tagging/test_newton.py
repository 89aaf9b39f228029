"""The Hessian of a CRF against finite differences, and sparse CRFs at their optimum."""

from dataclasses import replace

import numpy as np
import pytest
from chunked_sentences import make_sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.optim import L1, ElasticNet, solve
from spinney.tagging import Tagger, active, quasinewton
from spinney.tagging.active import active_set
from spinney.tagging.loss import CRFLoss
from spinney.tagging.merging import leaders
from spinney.tagging.newton import Hessian, State, _model_minimum, lowest_on_the_way, newton, violated
from spinney.tagging.quasinewton import Curvature
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.support import Support


def make_data(seed=0, n=12, unigrams=6, bigrams=2, labels=3, valued=False, weighted=False):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = int(offsets[-1])
    ids = np.stack([rng.choice(unigrams, 3, replace=False) for _ in range(tokens)]).astype(np.int32)
    values = rng.random(3 * tokens) + 0.5 if valued else None
    seen = Observations(np.arange(tokens + 1) * 3, ids.ravel(), unigrams, values)
    pairs = Observations(np.arange(tokens + 1), rng.integers(0, bigrams, tokens).astype(np.int32), bigrams)
    weights = rng.random(n) + 0.2 if weighted else None
    return Sequences(offsets, seen, pairs, rng.integers(0, labels, tokens).astype(np.int32), None, weights)


@pytest.mark.parametrize("how", [{}, {"valued": True}, {"weighted": True}], ids=str)
@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_hessian_is_the_derivative_of_the_gradient(how, start, threads):
    loss = CRFLoss(make_data(**how), 3, start=start, threads=threads)
    rng = np.random.default_rng(1)
    places = np.flatnonzero(rng.random(loss.n_params) < 0.6)
    loss = loss.restricted(Support.of(places, loss.shape))
    w = rng.standard_normal(loss.n_params)
    H = Hessian(loss)(w, accuracy=1e-12)
    step = 1e-5
    for j in range(loss.n_params):
        ahead, behind = (
            loss.value_and_grad(w + sign * step * np.eye(loss.n_params)[j])[1] for sign in (1, -1)
        )
        np.testing.assert_allclose(H[j], (ahead - behind) / (2 * step), atol=1e-7)


def test_what_the_hessian_leaves_out_is_small():
    loss = CRFLoss(make_data(n=40), 3, threads=1)
    loss = loss.restricted(Support.of(np.arange(loss.n_params), loss.shape))
    w = 2 * np.random.default_rng(2).standard_normal(loss.n_params)
    whole, part = (Hessian(loss)(w, accuracy) for accuracy in (1e-12, 1.0))
    assert np.linalg.norm(whole - part) < 0.03 * np.linalg.norm(whole)


@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("lam", [0.03, 0.3, 3.0])
def test_newton_reaches_the_optimum_of_owlqn(lam, l2):
    loss = CRFLoss(make_data(n=60), 3, threads=1)
    penalty = ElasticNet(lam, l2)
    reference = solve(loss, penalty, "owlqn", tol=1e-9, max_iter=20_000)
    found = solve(loss, penalty, active_set, tol=1e-9, max_iter=200)
    assert found.converged
    assert found.gap <= 1e-9
    assert found.objective == pytest.approx(reference.objective, rel=1e-8)
    if l2:
        np.testing.assert_allclose(found.w, reference.w, atol=1e-3)


def test_newton_on_a_set_stops_at_its_goal():
    loss = CRFLoss(make_data(n=60), 3, threads=1)
    loss = loss.restricted(Support.of(np.arange(loss.n_params), loss.shape))
    l1, zero = np.full(loss.n_params, 0.2), np.zeros(loss.n_params)
    start = State(zero, *loss.value_and_grad(zero))
    end = newton(loss, start, l1, 0.0, 1e-6)
    assert violated(start, l1, 0.0) > 1.0
    assert violated(end, l1, 0.0) <= 1e-6


def test_of_observations_that_always_occur_together_the_first_has_the_weight():
    data = make_data(n=40, unigrams=6)
    ids = data.unigrams.ids.reshape(-1, 3)
    doubled = np.concatenate([ids, ids + 6], axis=1).astype(np.int32)  # every observation twice
    seen = Observations(np.arange(len(ids) + 1) * 6, doubled.ravel(), 12)
    assert leaders(seen).tolist() == [*range(6), *range(6)]
    single = solve(CRFLoss(data, 3, threads=1), L1(0.2), active_set, tol=1e-6)
    loss = CRFLoss(replace(data, unigrams=seen), 3, threads=1)
    double = solve(loss, L1(0.2), active_set, tol=1e-6)
    assert double.converged
    assert double.objective == pytest.approx(single.objective, rel=1e-5)
    assert np.count_nonzero(double.w) == np.count_nonzero(single.w)
    assert not np.any(loss.shape.mu(double.w)[6:])
    # A ridge makes them share it.
    shared = solve(loss, ElasticNet(0.2, 0.1), active_set, tol=1e-6)
    np.testing.assert_allclose(loss.shape.mu(shared.w)[6:], loss.shape.mu(shared.w)[:6], atol=1e-3)


def test_an_interrupt_on_the_way_down_keeps_what_was_reached(monkeypatch):
    loss = CRFLoss(make_data(n=40), 3)
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return newton(*arguments)

    monkeypatch.setattr(active, "newton", interrupted)
    found = solve(loss, L1(0.01), active_set)
    assert found.interrupted
    assert not found.converged
    assert np.any(found.w)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_a_model_is_minimised_where_its_columns_explain_each_other(seed, l2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 12)) @ rng.normal(size=(12, 60)) + 0.05 * rng.normal(size=(120, 60))
    H, w = X.T @ X, np.zeros(60)
    w[:10] = rng.normal(size=10)
    grad, l1 = 20.0 * X.T @ rng.normal(size=120), np.full(60, 3.0)
    new = _model_minimum(H, State(w, 0.0, grad), l1, l2, 1e-5)
    slope = grad + H @ (new - w)
    assert violated(State(new, 0.0, slope), l1, l2) <= 3e-5
    assert 0 < np.count_nonzero(new) < 60


def test_the_lowest_point_of_a_way_with_kinks():
    rng = np.random.default_rng(1)
    for _ in range(50):
        w, move, l1 = rng.normal(size=6), rng.normal(size=6), rng.uniform(0.1, 2.0, 6)
        slope, curvature = rng.normal(size=6), float(rng.uniform(0.5, 5.0))
        shares = np.linspace(0.0, 1.0, 20_001)
        on_the_way = shares * (slope @ move) + 0.5 * shares**2 * curvature
        on_the_way += np.abs(w + shares[:, None] * move) @ l1
        found = lowest_on_the_way(w, move, slope, curvature, l1)
        assert found == pytest.approx(shares[np.argmin(on_the_way)], abs=1e-4)


@pytest.mark.parametrize("how", [{}, {"valued": True}, {"weighted": True}], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_narrowed_loss_is_the_restricted_one(how, threads):
    loss = CRFLoss(make_data(**how), 3, threads=threads)
    rng = np.random.default_rng(1)
    support = Support.of(np.flatnonzero(rng.random(loss.n_params) < 0.2), loss.shape)
    restricted, narrowed = loss.restricted(support), loss.narrowed(support)
    assert narrowed.data.unigrams.n < loss.data.unigrams.n
    w = rng.standard_normal(restricted.n_params)
    for found, expected in zip(narrowed.value_and_grad(w), restricted.value_and_grad(w)):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("how", [{}, {"valued": True}, {"weighted": True}], ids=str)
@pytest.mark.parametrize("start", [True, False])
def test_curvatures_of_single_tokens_are_the_diagonal_of_the_hessian(how, start):
    data = make_data(**how)
    # Sentences of one token, so that no two tokens depend on each other.
    lengths = np.ones(data.n_tokens, np.int64)
    weights = None if data.weights is None else np.repeat(data.weights, data.lengths)
    single = replace(data, offsets=np.concatenate([[0], np.cumsum(lengths)]), weights=weights)
    loss = CRFLoss(single, 3, start=start, threads=2)
    loss = loss.restricted(Support.of(np.arange(loss.n_params), loss.shape))
    w = np.random.default_rng(3).standard_normal(loss.n_params)
    np.testing.assert_allclose(loss.curvature(w), np.diag(Hessian(loss)(w, 1e-12)), atol=1e-10)


def test_the_matrix_of_the_last_steps_maps_the_last_one_to_its_change():
    rng = np.random.default_rng(0)
    H = np.cov(rng.normal(size=(40, 8)).T)
    known, places = Curvature(), np.arange(8)
    for _ in range(4):
        step = rng.normal(size=8)
        known.add(places, step, H @ step)
    base, A, C = known.model(places, np.diag(H).copy())
    B = np.diag(base) - C @ A.T
    np.testing.assert_allclose(B, B.T, atol=1e-10)
    assert np.linalg.eigvalsh(B).min() > 0
    np.testing.assert_allclose(B @ step, H @ step, atol=1e-10)
    # What is known of some weights serves a set with others, too.
    wider = np.append(places, 9)
    S, Y = known.on(wider)
    np.testing.assert_array_equal(S[:8, -1], step)
    assert not S[8].any()
    assert not Y[8].any()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), lam=st.sampled_from([0.05, 0.3, 2.0]), l2=st.sampled_from([0.0, 0.05]))
def test_quasi_newton_steps_satisfy_the_optimality_conditions(seed, lam, l2):
    loss = CRFLoss(make_data(seed, n=8), 3, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(active, "CHEAP", 0.0)  # no exact Hessians
        found = solve(loss, ElasticNet(lam, l2), active_set, tol=1e-5, max_iter=300)
    assert found.converged
    # The conditions, from a gradient by finite differences of the loss.
    step, one = 1e-5, np.eye(loss.n_params)
    ahead = np.array([loss.value_and_grad(found.w + step * e)[0] for e in one])
    behind = np.array([loss.value_and_grad(found.w - step * e)[0] for e in one])
    slope = (ahead - behind) / (2 * step) + l2 * found.w
    active_ones = found.w != 0
    np.testing.assert_allclose(slope[active_ones], -lam * np.sign(found.w[active_ones]), atol=1e-2 * lam)
    assert np.all(np.abs(slope[~active_ones]) <= lam * 1.01)


def test_quasi_newton_steps_give_the_same_weights_on_any_run():
    loss = CRFLoss(make_data(n=60), 3, threads=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(active, "CHEAP", 0.0)
        one, other = (solve(loss, L1(0.3), active_set, tol=1e-5).w for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_an_interrupt_of_quasi_newton_steps_keeps_what_was_reached(monkeypatch):
    loss, calls, search = CRFLoss(make_data(n=40), 3), [], quasinewton.searched

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return search(*arguments)

    monkeypatch.setattr(active, "CHEAP", 0.0)
    monkeypatch.setattr(quasinewton, "searched", interrupted)
    found = solve(loss, L1(0.05), active_set)
    assert found.interrupted
    assert not found.converged
    assert np.any(found.w)


@pytest.mark.parametrize("lam", [1e-3, 1e-5])
def test_weights_that_want_to_be_infinite(lam):
    """Of what can be told without an error, the curvature is next to nothing: steps of the model overflow."""
    X, Y = make_sentences(60, 1)
    tagger = Tagger("U0:%x[0,0]\nB", penalty="l1", lam=lam).fit(X, Y)
    assert tagger.facts["gap"] <= 1e-2
    assert tagger.predict(X) == Y
