"""Entropy regularisation of CRFs, against enumeration of all labellings and finite differences."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import OptionError
from spinney.optim import L2, solve
from spinney.optim.base import Loss
from spinney.tagging.entropy import EntropyLoss
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.support import Support


def observations(rng, n_tokens, n, most=3, values=False):
    width = rng.integers(0, most + 1, n_tokens)
    ptr = np.concatenate([[0], np.cumsum(width)])
    ids = rng.integers(0, n, ptr[-1]).astype(np.int32)
    return Observations(ptr, ids, n, rng.normal(size=len(ids)) if values else None)


def sentences(seed, lengths, *, n_labels=3, kinds="some", values=False, weights=False):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T = int(offsets[-1])
    bigrams = {
        "none": lambda: Observations.none(T),
        "always": lambda: Observations.always(T),
        "some": lambda: observations(rng, T, 3, values=values),
    }[kinds]()
    return Sequences(
        offsets,
        observations(rng, T, 4, values=values),
        bigrams,
        labels=rng.integers(0, n_labels, T).astype(np.int32),
        weights=rng.uniform(0.5, 2.0, len(lengths)) if weights else None,
    )


def dense(seen):
    X = np.zeros((seen.n_tokens, seen.n))
    values = np.ones(len(seen.ids)) if seen.values is None else seen.values
    np.add.at(X, (np.repeat(np.arange(seen.n_tokens), np.diff(seen.ptr)), seen.ids), values)
    return X


def enumerated(data, shape, w):
    """Σ weight·H and its gradient, out of the scores and features of all labellings."""
    U, B, Y = dense(data.unigrams), dense(data.bigrams), shape.labels
    value, gradient = 0.0, np.zeros(shape.n_params)
    weights = np.ones(len(data)) if data.weights is None else data.weights
    for weight, a, b in zip(weights, data.offsets[:-1], data.offsets[1:]):
        features = []
        for labels in product(range(Y), repeat=int(b - a)):
            F = np.zeros(shape.n_params)
            for t, y in zip(range(a, b), labels):
                shape.mu(F)[:, y] += U[t]
                before = Y if t == a else labels[t - a - 1]
                if t > a or shape.start:
                    shape.lam(F)[:, before, y] += B[t]
            features.append(F)
        F = np.array(features)
        scores = F @ w
        p = np.exp(scores - scores.max())
        p /= p.sum()
        surprise = np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores
        H = p @ surprise
        value += weight * H
        gradient += weight * ((p * (surprise - H)) @ F)
    return value, gradient


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from(["none", "always", "some"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.1, 1.0, 10.0]),
)
def test_entropy_and_gradient_are_those_of_all_labellings(
    seed, lengths, Y, kinds, values, weights, start, size
):
    data = sentences(seed, lengths, n_labels=Y, kinds=kinds, values=values, weights=weights)
    loss = EntropyLoss(CRFLoss(data, Y, start=start, threads=1), data, rho=1.0)
    w = size * np.random.default_rng(seed).normal(size=loss.n_params)
    value, gradient = loss.entropy_and_grad(w)
    wanted, wanted_gradient = enumerated(data, loss.shape, w)
    scale = 1.0 + np.abs(w).max()
    assert value == pytest.approx(wanted, rel=1e-11, abs=1e-13 * scale)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=1e-9, atol=1e-12 * scale)
    if data.n_tokens == 0:
        return
    supervised, of_supervised = loss.supervised.value_and_grad(w)
    total, of_total = replace_rho(loss, 0.3).value_and_grad(w)
    assert total == pytest.approx(supervised + 0.3 * wanted, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(of_total, of_supervised + 0.3 * wanted_gradient, rtol=1e-9, atol=1e-11 * scale)


def replace_rho(loss, rho):
    return EntropyLoss(loss.supervised, loss.unlabelled, rho)


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("kinds", ["none", "always", "some"])
def test_gradient_is_that_of_finite_differences(kinds, start):
    data = sentences(1, [30, 0, 1, 17, 2], n_labels=7, kinds=kinds, values=True, weights=True)
    loss = EntropyLoss(CRFLoss(data, 7, start=start), data, rho=0.7)
    rng = np.random.default_rng(2)
    w = rng.normal(size=loss.n_params)
    _, gradient = loss.value_and_grad(w)
    for _ in range(5):
        direction, h = rng.normal(size=len(w)), 1e-5
        slope = (loss.value_and_grad(w + h * direction)[0] - loss.value_and_grad(w - h * direction)[0]) / (
            2 * h
        )
        assert slope == pytest.approx(gradient @ direction, rel=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_blocks_do_not_matter(threads):
    data = sentences(3, np.random.default_rng(3).integers(0, 40, 500), n_labels=4, weights=True)
    w = np.random.default_rng(4).normal(size=CRFLoss(data, 4).n_params)
    loss = EntropyLoss(CRFLoss(data, 4, threads=1), data, rho=1.0, threads=threads)
    value, gradient = loss.entropy_and_grad(w)
    alone = [
        EntropyLoss(loss.supervised, data.part(i, i + 1), 1.0, threads=1).entropy_and_grad(w)
        for i in range(len(data))
    ]
    assert value == pytest.approx(sum(v for v, _ in alone), rel=1e-12)
    np.testing.assert_allclose(gradient, sum(g for _, g in alone), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_support_is_the_full_model_with_zeros(start, share):
    data = sentences(5, [6, 1, 0, 9], n_labels=5, values=True)
    full = EntropyLoss(CRFLoss(data, 5, start=start), data, rho=1.3)
    rng = np.random.default_rng(6)
    places = np.flatnonzero(rng.random(full.n_params) < share)
    w = np.zeros(full.n_params)
    w[places] = rng.normal(size=len(places))
    value, gradient = full.value_and_grad(w)
    few = full.restricted(Support.of(places, full.shape))
    value_few, gradient_few = few.value_and_grad(w[places])
    assert value_few == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient_few, gradient[places], rtol=1e-9, atol=1e-11)
    again = few.restricted(None).value_and_grad(w)
    assert again[0] == pytest.approx(value, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1e2, 1e3, 1e4, 1e6]), st.booleans())
def test_large_scores_give_small_entropies_never_negative_ones(seed, size, start):
    data = sentences(seed, [4, 1, 3], kinds="some")
    loss = EntropyLoss(CRFLoss(data, 3, start=start, threads=1), data, rho=1.0)
    w = size * np.random.default_rng(seed).normal(size=loss.n_params)
    value, gradient = loss.entropy_and_grad(w)
    wanted, wanted_gradient = enumerated(data, loss.shape, w)
    assert value >= 0.0
    assert value == pytest.approx(wanted, rel=1e-9, abs=1e-14 * size)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=1e-8, atol=1e-13 * size)


def test_chains_whose_tokens_and_pairs_pull_apart_by_more_than_a_float_holds():
    # Observations want labels 0, 1; pairs want no change of label. e^-2000 is no float; two labellings tie.
    seen = Observations(np.array([0, 1, 2]), np.array([0, 1], np.int32), n=2)
    data = Sequences(np.array([0, 2]), seen, Observations.always(2), labels=np.array([0, 0], np.int32))
    loss = EntropyLoss(CRFLoss(data, 2, start=False), data, rho=1.0)
    w = np.zeros(loss.n_params)
    loss.shape.mu(w)[:] = [[2000.0, 0.0], [0.0, 2000.0]]
    loss.shape.lam(w)[0, [0, 1], [1, 0]] = -2000.0
    value, gradient = loss.entropy_and_grad(w)
    assert value == pytest.approx(np.log(3.0), rel=1e-12)  # 00, 01 and 11 score 2000
    np.testing.assert_allclose(gradient, enumerated(data, loss.shape, w)[1], atol=1e-9)


def test_certain_chains_have_no_entropy():
    data = sentences(7, [50, 50], kinds="always")
    loss = EntropyLoss(CRFLoss(data, 3), data, rho=1.0)
    w = np.zeros(loss.n_params)
    loss.shape.lam(w)[:, :, 1] = 300.0
    value, gradient = loss.entropy_and_grad(w)
    assert 0.0 <= value < 1e-12
    assert np.abs(gradient).max() < 1e-12


def test_no_sentences_no_entropy():
    data = sentences(8, [3, 2])
    none = data.part(0, 0)
    loss = EntropyLoss(CRFLoss(data, 3), none, rho=1.0)
    value, gradient = loss.entropy_and_grad(np.ones(loss.n_params))
    assert value == 0.0
    assert not gradient.any()


def test_labels_of_unlabelled_sentences_are_not_looked_at():
    data = sentences(9, [4, 4])
    w = np.random.default_rng(9).normal(size=CRFLoss(data, 3).n_params)
    values = [
        EntropyLoss(CRFLoss(data, 3), replace(data, labels=labels), 1.0).value_and_grad(w)[0]
        for labels in (data.labels, None)
    ]
    assert values[0] == values[1]


def test_a_solver_lowers_the_entropy():
    data = sentences(10, [5] * 12)
    labelled, unlabelled = data.part(0, 4), data.part(4, 12)
    loss = EntropyLoss(CRFLoss(labelled, 3), unlabelled, rho=0.2)
    assert isinstance(loss, Loss)
    start = solve(loss.supervised, L2(0.5)).w
    end = solve(loss, L2(0.5), w0=start)
    assert end.converged
    assert loss.entropy_and_grad(end.w)[0] < loss.entropy_and_grad(start)[0]


def test_other_observations_and_negative_strengths_are_refused():
    data = sentences(11, [3])
    with pytest.raises(OptionError, match="observations"):
        EntropyLoss(CRFLoss(data, 3), sentences(11, [3], kinds="always"), rho=1.0)
    with pytest.raises(OptionError, match="rho"):
        EntropyLoss(CRFLoss(data, 3), data, rho=-1.0)
