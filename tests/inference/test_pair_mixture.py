"""Mixtures over pairs of words against EM written out, and against known tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spinney.errors import InputError, OptionError
from spinney.inference import pair_mixture
from spinney.inference.pair_mixture import fit_pairs


def table(seed, shape=(6, 7)):
    return np.random.default_rng(seed).poisson(1.5, shape).astype(float)


def brute_force(N, p_h, p_x, p_y, steps):
    """EM for naive Bayes over pairs, over the full table of (x, y, h)."""
    trace = []
    while True:
        joint = p_h * p_x[:, None, :] * p_y[None, :, :]
        total = joint.sum(axis=2)
        trace.append(np.sum(N[N > 0] * np.log(total[N > 0])))
        if len(trace) == steps:
            return p_h, p_x, p_y, trace
        q = N[:, :, None] * joint / np.where(total > 0, total, 1)[:, :, None]
        mass = q.sum(axis=(0, 1))
        p_h, p_x, p_y = mass / mass.sum(), q.sum(axis=1) / mass, q.sum(axis=0) / mass


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_is_em_written_out(seed, classes, threads):
    N = table(seed)
    options = {"restarts": 1, "tol": 0.0, "random_state": seed, "threads": threads}
    first = fit_pairs(N, classes, passes=1, **options)  # the start itself
    found = fit_pairs(sparse.csr_matrix(N), classes, passes=12, **options)
    p_h, p_x, p_y, trace = brute_force(N, first.weights, first.first, first.second, len(found.trace))
    np.testing.assert_allclose(found.trace, trace, rtol=1e-10)
    order = np.argsort(-p_h, kind="stable")
    np.testing.assert_allclose(found.weights, p_h[order], atol=1e-9)
    np.testing.assert_allclose(found.first, p_x[:, order], atol=1e-8)
    np.testing.assert_allclose(found.second, p_y[:, order], atol=1e-8)


@given(seed=st.integers(0, 1000), classes=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_every_step_raises_the_likelihood(seed, classes):
    N = table(seed)
    found = fit_pairs(N, classes, restarts=2, passes=40, tol=0.0, random_state=seed)
    assert np.all(np.diff(found.trace) >= -1e-9 * abs(found.trace[-1]))
    for rows, seen in ((found.given_first(), N.sum(axis=1) > 0), (found.given_second(), N.sum(axis=0) > 0)):
        np.testing.assert_allclose(rows[seen].sum(axis=1), 1)
        assert np.all(rows[~seen] == 0)


def test_the_aggregate_bigram_is_the_mixture_given_the_first_word():
    """p(x) is the frequency of x, so that p(x, y) = p(x) Σ_h p(h|x) p(y|h)."""
    N = table(3)
    found = fit_pairs(N, 3, restarts=1, passes=30, tol=0.0)
    p_x = N.sum(axis=1) / N.sum()
    joint = (found.first * found.weights) @ found.second.T
    np.testing.assert_allclose(p_x[:, None] * (found.given_first() @ found.second.T), joint, atol=1e-12)
    assert found.trace[-1] == pytest.approx(np.sum(N[N > 0] * np.log(joint[N > 0])))


def test_one_class_is_independence():
    N = table(0)
    p_x, p_y = N.sum(axis=1) / N.sum(), N.sum(axis=0) / N.sum()
    found = fit_pairs(N, 1)
    np.testing.assert_allclose(found.first[:, 0], p_x)
    np.testing.assert_allclose(found.second[:, 0], p_y)
    assert found.trace[-1] == pytest.approx(np.sum(N * np.log(np.outer(p_x, p_y))))


def test_enough_classes_give_the_table_itself():
    N = table(1, (4, 4)) + 1
    found = fit_pairs(N, 4, restarts=10, passes=20_000, tol=1e-13)
    assert found.converged
    assert found.trace[-1] / N.sum() == pytest.approx(np.sum(N * np.log(N / N.sum())) / N.sum(), abs=1e-4)


def test_blocks_are_found():
    rng = np.random.default_rng(0)
    rows, columns = np.arange(30) % 3, np.arange(24) % 3
    N = rng.poisson(2.0, (30, 24)) * (rows[:, None] == columns)
    classes = fit_pairs(N, 3, restarts=10).given_first().argmax(axis=1)
    assert all(len(set(classes[rows == c])) == 1 for c in range(3))
    assert len(set(classes)) == 3


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(pair_mixture, "_SHARD", 100)
    one, two = (fit_pairs(table(5, (40, 30)), 4, passes=30, threads=t) for t in (1, 3))
    assert one.trace == two.trace
    np.testing.assert_array_equal(one.second, two.second)


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    N, expected, calls = table(5), pair_mixture._expected, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return expected(*args)

    monkeypatch.setattr(pair_mixture, "_expected", interrupted)
    found = fit_pairs(N, 3, tol=0.0, restarts=3)
    assert found.interrupted
    assert len(found.trace) == 7
    calls[:] = [1] * 7
    with pytest.raises(KeyboardInterrupt):
        fit_pairs(N, 3)


def test_bad_input_is_refused():
    N = table(0)
    with pytest.raises(InputError, match="no pairs"):
        fit_pairs(np.zeros((3, 3)), 2)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="negative or no number"):
            fit_pairs(np.array([[1.0, bad]]), 2)
    for options in ({"n_classes": 0}, {"passes": 0}, {"restarts": 0}, {"tol": -1.0}):
        with pytest.raises(OptionError, match="at least"):
            fit_pairs(N, **{"n_classes": 2, **options})
