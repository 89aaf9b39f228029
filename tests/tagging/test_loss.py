"""The loss of a CRF against sums over all labellings, finite differences and CRFsuite."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize

from spinney.errors import InputError, OptionError
from spinney.tagging import loss as loss_module
from spinney.tagging.loss import CRFLoss, even_cuts, token_kinds
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.support import Shape, Support, observed_support


def random_observations(rng, n_tokens, n, most=3, real=False):
    width = rng.integers(0, most + 1, n_tokens)
    ptr = np.concatenate([[0], np.cumsum(width)])
    ids = rng.integers(0, n, ptr[-1]).astype(np.int32)  # the same one twice, too
    return Observations(ptr, ids, n, rng.normal(size=ptr[-1]) if real else None)


def random_data(seed, *, Y=3, lengths=(3, 0, 1, 4), n=(5, 3), real=False, weighted=False, partial=False):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T = int(offsets[-1])
    labels = rng.integers(0, Y, T).astype(np.int32)
    sets = np.ones((1, 0), np.bool_)
    if partial:
        sets = np.vstack([np.ones(Y, np.bool_), rng.random((2, Y)) < 0.5])
        sets[np.arange(1, 3), rng.integers(0, Y, 2)] = True
        labels = np.where(rng.random(T) < 0.4, rng.integers(-3, 0, T), labels).astype(np.int32)
    return Sequences(
        offsets,
        random_observations(rng, T, n[0], real=real),
        random_observations(rng, T, n[1], real=real) if n[1] else Observations.none(T),
        labels,
        sets,
        rng.random(len(lengths)) + 0.5 if weighted else None,
    )


def dense_rows(seen):
    rows = np.zeros((seen.n_tokens, seen.n))
    values = np.ones(len(seen.ids)) if seen.values is None else seen.values
    np.add.at(rows, (np.repeat(np.arange(seen.n_tokens), np.diff(seen.ptr)), seen.ids), values)
    return rows


def brute_force(data, shape, w):
    """Loss and gradient by going through all labellings of each sentence."""
    U, B, Y = dense_rows(data.unigrams), dense_rows(data.bigrams), shape.labels
    value, gradient = 0.0, np.zeros(shape.n_params)
    sets = data.label_sets if data.label_sets.shape[1] else np.ones((1, Y), np.bool_)
    for i, (a, b) in enumerate(zip(data.offsets[:-1], data.offsets[1:])):
        scores, features, agree = [], [], []
        for labelling in product(range(Y), repeat=int(b - a)):
            f = np.zeros(shape.n_params)
            before, fits = Y, True
            for t, y in zip(range(a, b), labelling):
                shape.mu(f)[:, y] += U[t]
                if t > a or shape.start:
                    shape.lam(f)[:, before, y] += B[t]
                before = y
                label = data.labels[t]
                fits &= bool(y == label if label >= 0 else sets[-1 - label, y])
            scores.append(w @ f)
            features.append(f)
            agree.append(fits)
        scores, features, agree = np.array(scores), np.array(features), np.array(agree)
        weight = 1.0 if data.weights is None else data.weights[i]
        log_z, right = np.logaddexp.reduce(scores), np.logaddexp.reduce(scores[agree])
        value += weight * (log_z - right)
        gradient += weight * (
            np.exp(scores - log_z) @ features - np.exp(scores[agree] - right) @ features[agree]
        )
    return value, gradient


options = st.fixed_dictionaries(
    {
        "Y": st.integers(1, 3),
        "lengths": st.lists(st.integers(0, 4), min_size=1, max_size=4),
        "n": st.tuples(st.integers(1, 5), st.integers(0, 3)),
        "real": st.booleans(),
        "weighted": st.booleans(),
        "partial": st.booleans(),
    }
)


@settings(max_examples=60, deadline=None)
@given(options, st.booleans(), st.integers(0, 10**6))
def test_equals_brute_force(options, start, seed):
    data = random_data(seed, **options)
    loss = CRFLoss(data, options["Y"], start=start, threads=1)
    w = np.random.default_rng(seed).normal(size=loss.n_params)
    value, gradient = loss.value_and_grad(w)
    expected, slope = brute_force(data, loss.shape, w)
    assert value == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(gradient, slope, atol=1e-10)


@pytest.mark.parametrize("share", [0.0, 1.1], ids=["dense", "sparse"])
@settings(max_examples=40, deadline=None)
@given(options=options, start=st.booleans(), seed=st.integers(0, 10**6), kept=st.floats(0, 1))
def test_a_support_is_the_full_model_with_zeros(share, options, start, seed, kept):
    """Weights of the support that are zero have a gradient, too, and so do those that cancel out in a sum."""
    data, rng = random_data(seed, **options), np.random.default_rng(seed)
    loss = CRFLoss(data, options["Y"], start=start, threads=1)
    places = np.flatnonzero(rng.random(loss.n_params) < kept)
    support = Support.of(places, loss.shape)
    np.testing.assert_array_equal(support.places(loss.shape), places)
    w = rng.integers(-2, 3, len(places)) * 0.5
    full = np.zeros(loss.n_params)
    full[places] = w
    value, gradient = loss.value_and_grad(full)
    old, loss_module.SPARSE = loss_module.SPARSE, share
    try:
        small_value, small_gradient = loss.restricted(support).value_and_grad(w)
    finally:
        loss_module.SPARSE = old
    assert small_value == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(small_gradient, gradient[places], atol=1e-10)


@pytest.mark.parametrize("partial", [False, True])
def test_threads_and_blocks_and_shards_change_nothing(monkeypatch, partial):
    lengths = np.random.default_rng(1).integers(0, 9, 60)
    data = random_data(1, Y=3, lengths=lengths, n=(20, 30), real=True, weighted=True, partial=partial)
    one = CRFLoss(data, 3, threads=1)
    w = np.random.default_rng(2).normal(size=one.n_params)
    value, gradient = one.value_and_grad(w)
    places = np.flatnonzero(np.random.default_rng(3).random(one.n_params) < 0.3)
    support = Support.of(places, one.shape)

    def check(loss, tolerance):
        found, slope = loss.value_and_grad(w)
        assert found == pytest.approx(value, rel=tolerance)
        np.testing.assert_allclose(slope, gradient, rtol=0, atol=tolerance * np.abs(gradient).max())

    check(CRFLoss(data, 3, threads=2), 1e-12)
    monkeypatch.setattr(loss_module, "BLOCK", 7)
    check(CRFLoss(data, 3, threads=1), 1e-12)
    monkeypatch.setattr(loss_module, "EDGES", 100)
    many = CRFLoss(data, 3, threads=2)
    assert len(many.shards) > 8
    assert many.shards[0].kinds.sums is not many.shards[1].kinds.sums
    check(many, 1e-12)
    for share in (0.0, 1.1):
        monkeypatch.setattr(loss_module, "SPARSE", share)
        restricted = w.copy()
        restricted[np.setdiff1d(np.arange(len(w)), places)] = 0.0
        expected = one.value_and_grad(restricted)
        found = many.restricted(support).value_and_grad(w[places])
        assert found[0] == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(found[1], expected[1][places], atol=1e-10)
    again = [many.value_and_grad(w) for _ in range(3)]
    assert all(v == again[0][0] and np.array_equal(g, again[0][1]) for v, g in again)


def test_finite_differences():
    data = random_data(5, lengths=(6, 8, 0, 7), n=(10, 5), real=True, weighted=True, partial=True)
    loss = CRFLoss(data, 3, threads=1)
    w = np.random.default_rng(0).normal(size=loss.n_params)
    error = check_grad(lambda w: loss.value_and_grad(w)[0], lambda w: loss.value_and_grad(w)[1], w)
    assert error < 1e-5


def test_strong_weights():
    """Scores of hundreds, of one sign and of both; far below −15 the sparse recursion gives way to the dense one."""
    data = random_data(3)
    shape = CRFLoss(data, 3).shape
    for scale, loc in ((30, 0), (30, -200), (30, 200)):
        w = np.random.default_rng(0).normal(loc, scale, size=shape.n_params)
        value, gradient = CRFLoss(data, 3, threads=1).value_and_grad(w)
        expected, slope = brute_force(data, shape, w)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(gradient, slope, atol=1e-8)
        support = Support.of(np.arange(shape.n_params), shape)
        value, gradient = CRFLoss(data, 3, threads=1, support=support).value_and_grad(w)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(gradient, slope, atol=1e-8)


def test_beyond_the_range_of_floats_the_loss_is_infinite_not_low():
    data = Sequences(
        np.array([0, 2]), Observations.none(2), Observations.always(2), np.array([0, 1], np.int32)
    )
    loss = CRFLoss(data, 2, threads=1)
    w = np.array([-2000.0, -2000.0, -2000.0, -2000.0, 0.0, 0.0])
    with np.errstate(all="ignore"):
        assert loss.value_and_grad(w)[0] == np.inf


def test_minibatches_add_up():
    data = random_data(7, lengths=(3, 2, 4, 0, 1), weighted=True, partial=True)
    loss = CRFLoss(data, 3, threads=1)
    w = np.random.default_rng(0).normal(size=loss.n_params)
    parts = [estimate(w) for estimate in loss.minibatches(1, np.random.default_rng(0))]
    assert len(parts) == 5
    value, gradient = loss.value_and_grad(w)
    assert np.mean([v for v, _ in parts]) == pytest.approx(value)
    np.testing.assert_allclose(np.mean([g for _, g in parts], axis=0), gradient, atol=1e-10)


def test_nothing_but_empty_sentences():
    loss = CRFLoss(random_data(0, lengths=(0, 0)), 3, threads=2)
    value, gradient = loss.value_and_grad(np.ones(loss.n_params))
    assert value == 0.0
    assert not gradient.any()


def test_bad_data():
    data = random_data(0)
    with pytest.raises(InputError, match="without labels"):
        CRFLoss(replace(data, labels=None), 3)
    with pytest.raises(OptionError, match="must be below 2"):
        CRFLoss(replace(data, labels=np.full(8, 2, np.int32)), 2)
    with pytest.raises(InputError, match="8 tokens"):
        replace(data, labels=np.zeros(7, np.int32))
    with pytest.raises(InputError, match="one weight per"):
        replace(data, weights=np.ones(3))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_observed_support_is_what_is_seen(seed, start, partial):
    data = random_data(seed, lengths=(4, 0, 1, 5, 2), partial=partial)
    shape = Shape(5, 3, 3, start)
    seen = np.zeros(shape.n_params)
    U, B = dense_rows(data.unigrams), dense_rows(data.bigrams)
    for a, b in zip(data.offsets[:-1], data.offsets[1:]):
        for t in range(a, b):
            before, y = (3 if t == a else data.labels[t - 1]), data.labels[t]
            if y >= 0:
                shape.mu(seen)[:, y] += U[t]
                if before >= 0 and (t > a or start):
                    shape.lam(seen)[:, before, y] += B[t]
    np.testing.assert_array_equal(observed_support(data, shape).places(shape), np.flatnonzero(seen))


def test_parts_and_choices_of_sentences():
    data = random_data(11, lengths=(3, 0, 1, 4), real=True, weighted=True, partial=True)
    loss, w = CRFLoss(data, 3, threads=1), np.random.default_rng(0).normal(size=5 * 3 + 3 * 12)
    part = CRFLoss(data.part(1, 4), 3, threads=1).value_and_grad(w)
    taken = CRFLoss(data.take(np.array([3, 1, 2])), 3, threads=1).value_and_grad(w)
    first = CRFLoss(data.part(0, 1), 3, threads=1).value_and_grad(w)
    whole = loss.value_and_grad(w)
    for i in range(2):
        np.testing.assert_allclose(part[i], taken[i], atol=1e-12)
        np.testing.assert_allclose(part[i] + first[i], whole[i], atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 20), max_size=30), st.integers(1, 9))
def test_even_cuts(lengths, pieces):
    cuts = even_cuts(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), pieces)
    assert 1 <= len(cuts) <= pieces
    assert cuts[0][0] == 0
    assert cuts[-1][1] == len(lengths)
    assert all(a[1] == b[0] for a, b in pairwise(cuts))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_kinds_are_the_tokens_alike(seed, real):
    seen = random_observations(np.random.default_rng(seed), 20, 3, most=2, real=real)
    kinds = token_kinds(seen)
    np.testing.assert_allclose(kinds.sums.toarray()[kinds.of], dense_rows(seen))


def test_the_same_as_crfsuite(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")
    rng = np.random.default_rng(0)
    sentences = [
        [(f"w{rng.integers(6)}", f"s{rng.integers(3)}") for _ in range(n)] for n in (5, 3, 7, 1, 4, 6)
    ]
    labels = [["ABC"[(int(a[1:]) + int(b[1:])) % 3] for a, b in sentence] for sentence in sentences]
    lam = 0.3
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params(
        {"c1": 0, "c2": lam / 2, "max_iterations": 2000, "epsilon": 1e-9, "delta": 1e-12, "period": 50,
         "feature.possible_states": 1, "feature.possible_transitions": 1}
    )  # fmt: skip
    for sentence, gold in zip(sentences, labels):
        trainer.append([list(token) for token in sentence], gold)
    path = str(tmp_path / "model")
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    info = tagger.info()

    words = sorted({cell for sentence in sentences for token in sentence for cell in token})
    number = {word: i for i, word in enumerate(words)}
    ids = np.array([number[c] for sentence in sentences for token in sentence for c in token], np.int32)
    T = len(ids) // 2
    data = Sequences(
        np.concatenate([[0], np.cumsum([len(s) for s in sentences])]),
        Observations(np.arange(0, 2 * T + 1, 2), ids, len(words)),
        Observations.always(T),
        np.array(["ABC".index(y) for gold in labels for y in gold], np.int32),
    )
    loss = CRFLoss(data, 3, start=False, threads=1)

    def objective(w):
        value, gradient = loss.value_and_grad(w)
        return value + lam / 2 * w @ w, gradient + lam * w

    best = minimize(objective, np.zeros(loss.n_params), jac=True, method="BFGS", options={"gtol": 1e-8})
    theirs = np.zeros(loss.n_params)
    for (word, y), weight in info.state_features.items():
        loss.shape.mu(theirs)[number[word], "ABC".index(y)] = weight
    for (before, y), weight in info.transitions.items():
        loss.shape.lam(theirs)[0, "ABC".index(before), "ABC".index(y)] = weight
    assert objective(theirs)[0] == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(theirs, best.x, atol=2e-3)
