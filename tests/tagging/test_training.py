"""Solvers against each other, against SciPy, and on problems whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from spinney.errors import OptionError
from spinney.optim import L1, L2, ElasticNet, NoPenalty, gradient_scale, solve
from spinney.structure import WordClasses
from spinney.tagging import Tagger, stochastic
from spinney.tagging.loss import CRFLoss
from spinney.tagging.memm import MEMMLoss
from spinney.tagging.merging import merge
from spinney.tagging.penalty import (
    by_class,
    by_label,
    by_pattern,
    by_symbol,
    make_penalty,
    unigram_before_bigram,
)
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.stochastic import adagrad, best_step, sgd
from spinney.tagging.support import Shape, Support, observed_support
from spinney.tagging.training import Plan, _Back, train


def make_data(seed=0, *, n=40, Y=3, words=12, bigrams="always", real=False, partial=0.0):
    """Sentences whose labels depend on their words and on the label before; two observations always come together."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    T = int(offsets[-1])
    word = rng.integers(0, words, T)
    labels = (word + rng.integers(0, 2, T) * (rng.random(T) < 0.2)) % Y
    labels[1:] = np.where(rng.random(T - 1) < 0.3, labels[:-1], labels[1:])
    ids = np.column_stack([word, words + word % 5, words + 5 + word]).ravel().astype(np.int32)
    values = rng.normal(1.0, 0.3, len(ids)) if real else None
    seen = Observations(np.arange(0, 3 * T + 1, 3), ids, 2 * words + 5, values)
    if bigrams == "always":
        pairs = Observations.always(T)
    elif bigrams == "none":
        pairs = Observations.none(T)
    else:
        pairs = Observations(np.arange(T + 1), word.astype(np.int32), words)
    labels = np.where(rng.random(T) < partial, -1, labels).astype(np.int32)
    return Sequences(offsets, seen, pairs, labels)


def minimum(loss, lam):
    """By SciPy, without anything of ours but the loss."""

    def objective(w):
        value, gradient = loss.value_and_grad(w)
        return value + lam / 2 * w @ w, gradient + lam * w

    w = np.zeros(loss.n_params)
    return minimize(
        objective, w, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-7}
    )


# ------------------------------------------------------------------------------------------- merging


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 6))
def test_merged_observations_are_those_with_the_same_tokens(seed, n, T):
    rng = np.random.default_rng(seed)
    width = rng.integers(0, 4, T)
    ptr = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    seen = Observations(ptr, rng.integers(0, n, ptr[-1]).astype(np.int32), n)
    merged = merge(seen)
    rows = np.zeros((T, n))
    np.add.at(rows, (np.repeat(np.arange(T), width), seen.ids), 1.0)
    small = np.zeros((T, merged.observations.n))
    values = merged.observations.flat_values
    np.add.at(
        small, (np.repeat(np.arange(T), np.diff(merged.observations.ptr)), merged.observations.ids), values
    )
    assert len(np.unique(rows, axis=1).T) == merged.observations.n
    u = rng.normal(size=(merged.observations.n, 2))
    w = merged.spread(u)
    np.testing.assert_allclose(rows @ w, small @ u, atol=1e-12)
    np.testing.assert_allclose(merged.gather(w), u, atol=1e-12)
    assert (w**2).sum() == pytest.approx((u**2).sum())


@pytest.mark.parametrize("observed", [False, True])
def test_back_and_forth_between_problems(observed):
    data = make_data()
    merged = merge(data.unigrams)
    loss, small = CRFLoss(data, 3), CRFLoss(replace(data, unigrams=merged.observations), 3)
    assert small.shape.unigrams < loss.shape.unigrams
    if observed:
        loss = loss.restricted(observed_support(data, loss.shape))
        small = small.restricted(observed_support(small.data, small.shape))
    back, u = _Back(merged, loss, small), np.random.default_rng(0).normal(size=small.n_params)
    w = back.spread(u)
    assert len(w) == loss.n_params
    np.testing.assert_allclose(back.gather(w), u)
    value, gradient = loss.value_and_grad(w)
    small_value, small_gradient = small.value_and_grad(u)
    assert value == pytest.approx(small_value)
    np.testing.assert_allclose(back.spread(small_gradient), gradient, atol=1e-9)


# ---------------------------------------------------------------------------------------- ℓ2 and none


@pytest.mark.parametrize("bigrams", ["always", "none", "words"])
@pytest.mark.parametrize("observed", [False, True])
def test_l2_reaches_the_optimum_of_scipy(bigrams, observed):
    data = make_data(bigrams=bigrams)
    loss = CRFLoss(data, 3, threads=1)
    if observed:
        loss = loss.restricted(observed_support(data, loss.shape))
    found = train(loss, L2(0.5), Plan(tol=1e-7))
    theirs = minimum(loss, 0.5)
    assert found.solver == "lbfgs"
    assert found.converged
    assert found.objective == pytest.approx(theirs.fun, rel=1e-9)
    np.testing.assert_allclose(found.w, theirs.x, atol=1e-4)
    np.testing.assert_allclose(found.grad, loss.value_and_grad(found.w)[1], atol=1e-8)


def test_the_certificate_is_that_of_the_given_problem():
    """Twenty observations that always come together: their merged gradient is √20 times theirs."""
    data = make_data()
    T = data.n_tokens
    ids = np.column_stack([np.tile(np.arange(20), (T, 1)), 20 + data.unigrams.ids.reshape(T, 3)])
    width = ids.shape[1]
    seen = Observations(
        np.arange(0, width * T + 1, width), ids.ravel().astype(np.int32), 20 + data.unigrams.n
    )
    loss = CRFLoss(replace(data, unigrams=seen), 3, threads=1)
    for tol in (1e-1, 1e-2, 1e-3):
        found = train(loss, L2(0.1), Plan(tol=tol))
        gradient = loss.value_and_grad(found.w)[1]
        assert L2(0.1).violation(found.w, gradient) / gradient_scale(loss) <= tol


def test_history_in_single_precision(monkeypatch):
    loss = CRFLoss(make_data(bigrams="words"), 3, threads=1)
    expected = train(loss, L2(0.1), Plan(tol=1e-6))
    monkeypatch.setattr(import_module("spinney.optim.solvers.lbfgs"), "LARGE", 1)
    found = train(loss, L2(0.1), Plan(tol=1e-6))
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(found.w, expected.w, atol=1e-4)


def test_no_penalty_at_all():
    loss = CRFLoss(make_data(), 3, threads=1)
    found = train(loss, NoPenalty(), Plan(tol=1e-4, max_iter=2000))
    assert found.converged
    assert found.objective == pytest.approx(minimum(loss, 0.0).fun, rel=1e-4)


def test_a_strong_penalty_on_one_sentence():
    """The first step size tried times l2 is 1 here, which would shrink the weights to nothing at once."""
    loss = CRFLoss(make_data(n=1), 3, threads=1)
    for lam in (10.0, 20.0, 1e4):
        found = train(loss, L2(lam), Plan(tol=1e-6))
        assert found.objective == pytest.approx(minimum(loss, lam).fun, rel=1e-9)
        assert np.all(np.isfinite(sgd(loss, np.zeros(loss.n_params), l2=lam, passes=3)))


def test_large_values():
    data = make_data(real=True)
    seen = replace(data.unigrams, values=data.unigrams.values * 1e4)
    loss = CRFLoss(replace(data, unigrams=seen), 3, threads=1)
    assert np.isfinite(loss.value_and_grad(sgd(loss, np.zeros(loss.n_params), l2=1.0, passes=2))[0])
    found = train(loss, L2(1.0), Plan(tol=1e-5, max_iter=3000))
    assert np.isfinite(found.objective)
    assert found.objective < loss.value_and_grad(np.zeros(loss.n_params))[0]


def test_sentences_too_long_for_stochastic_descent(monkeypatch):
    loss = CRFLoss(make_data(bigrams="words"), 3, threads=1)
    expected = train(loss, L2(0.5), Plan(tol=1e-6)).objective, train(loss, L1(0.5), Plan(tol=1e-6)).objective
    monkeypatch.setattr(stochastic, "ROOM", 10)
    assert train(loss, L2(0.5), Plan(tol=1e-6)).objective == pytest.approx(expected[0], rel=1e-8)
    assert train(loss, L1(0.5), Plan(tol=1e-6)).objective == pytest.approx(expected[1], rel=1e-6)
    with pytest.raises(OptionError, match="too long for stochastic training"):
        train(loss, L2(0.5), Plan("sgd"))


def test_another_support_than_the_observed():
    loss = CRFLoss(make_data(), 3, threads=1)
    places = np.flatnonzero(np.random.default_rng(0).random(loss.n_params) < 0.4)
    loss = loss.restricted(Support.of(places, loss.shape))
    found = train(loss, L2(0.5), Plan(tol=1e-7))
    assert found.objective == pytest.approx(minimum(loss, 0.5).fun, rel=1e-9)


# ---------------------------------------------------------------------------------------- stochastic


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
@pytest.mark.parametrize("bigrams", ["always", "none", "words"])
def test_stochastic_descent_ends_near_the_optimum(solver, bigrams):
    loss = CRFLoss(make_data(bigrams=bigrams, n=100, real=bigrams == "words"), 3, threads=1)
    best = minimum(loss, 1.0).fun
    null = loss.value_and_grad(np.zeros(loss.n_params))[0]
    found = [
        train(loss, L2(1.0), Plan(solver, passes=n, step=0.5 if solver == "adagrad" else None))
        for n in (1, 100)
    ]
    assert best < found[1].objective < found[0].objective < null
    assert found[1].objective < best + 0.02 * (null - best)
    value, gradient = loss.value_and_grad(found[1].w)
    assert found[1].objective == pytest.approx(value + 0.5 * found[1].w @ found[1].w)
    assert found[1].violation == pytest.approx(np.abs(gradient + found[1].w).max() / gradient_scale(loss))


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
def test_stochastic_descent_with_an_elastic_net_gives_zeros(solver):
    loss = CRFLoss(make_data(n=100), 3, threads=1)
    penalty = ElasticNet(2.0, 0.1)
    best = solve(loss, penalty, "owlqn", tol=1e-7)
    null = loss.value_and_grad(np.zeros(loss.n_params))[0]
    found = train(loss, penalty, Plan(solver, passes=50, step=0.5 if solver == "adagrad" else None))
    assert found.objective < best.objective + 0.1 * (null - best.objective)
    assert 0.1 * loss.n_params < np.count_nonzero(found.w) < 0.9 * loss.n_params
    assert np.count_nonzero(train(loss, L1(1e4), Plan(solver)).w) == 0


def test_stochastic_descent_on_observed_labels_and_on_half_known_ones():
    data = make_data(n=100, bigrams="words", partial=0.3)
    loss = CRFLoss(data, 3, threads=1)
    small = loss.restricted(observed_support(data, loss.shape))
    assert small.n_params < loss.n_params
    for problem in (loss, small):
        start = problem.value_and_grad(np.zeros(problem.n_params))[0]
        best = train(problem, L2(1.0), Plan(tol=1e-6)).objective
        found = train(problem, L2(1.0), Plan("sgd", passes=100)).objective
        assert best - 1e-6 * best < found < best + 0.05 * (start - best)


def test_the_same_steps_dense_or_with_a_support_of_all():
    loss = CRFLoss(make_data(), 3, threads=1)
    everything = loss.restricted(Support.of(np.arange(loss.n_params), loss.shape))
    w = np.zeros(loss.n_params)
    for l1 in (0.0, 1.0):
        one = sgd(loss, w, l1=l1, l2=0.5, passes=3, step=0.1)
        other = sgd(everything, w, l1=l1, l2=0.5, passes=3, step=0.1)
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_label_bigrams_seen_twice_at_some_tokens_and_never_at_others():
    """As many observations as tokens, all number 0, are not one for each token."""
    data = make_data()
    T = data.n_tokens
    width = np.where(np.arange(T) % 2, 0, 2)
    width[-1] = T - width[:-1].sum()
    pairs = Observations(np.concatenate([[0], np.cumsum(width)]), np.zeros(T, np.int32), 1)
    loss = CRFLoss(replace(data, bigrams=pairs), 3, threads=1)
    null = loss.value_and_grad(np.zeros(loss.n_params))[0]
    best = minimum(loss, 1.0).fun
    found = train(loss, L2(1.0), Plan("sgd", passes=100)).objective
    assert best < found < best + 0.02 * (null - best)


def test_tiny_gradients_divide_nothing_by_zero():
    data = make_data(real=True)
    seen = replace(data.unigrams, values=data.unigrams.values * 1e-200)
    loss = CRFLoss(replace(data, unigrams=seen), 3, threads=1)
    assert np.all(np.isfinite(adagrad(loss, np.zeros(loss.n_params), passes=2)))


def test_step_sizes_are_tried_out():
    loss = CRFLoss(make_data(), 3, threads=1)
    step = best_step(loss, np.zeros(loss.n_params), 0.0, 1.0, 0)
    assert 1e-3 < step < 100


# --------------------------------------------------------------------------------- sparse penalties


@pytest.mark.parametrize("bigrams", ["always", "words"])
@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_three_solvers_find_the_same_elastic_net(bigrams, observed, l2):
    data = make_data(bigrams=bigrams)
    loss = CRFLoss(data, 3, threads=1)
    if observed:
        loss = loss.restricted(observed_support(data, loss.shape))
    penalty = ElasticNet(1.0, l2)
    plans = [Plan(solver, tol=1e-6, max_iter=20000) for solver in ("active-set", "owlqn", "fista")]
    found = [train(loss, penalty, plan) for plan in plans]
    for one in found:
        gradient = loss.value_and_grad(one.w)[1]
        assert penalty.violation(one.w, gradient) / gradient_scale(loss) <= 1e-6, one.solver
        assert one.objective == pytest.approx(found[1].objective, rel=1e-6)
        assert one.objective == pytest.approx(loss.value_and_grad(one.w)[0] + penalty.value(one.w))
    assert 0 < np.count_nonzero(found[0].w) < loss.n_params / 2
    assert train(loss, penalty, Plan()).solver == "active-set"


def test_the_active_set_grows_by_bits(monkeypatch):
    from spinney.tagging import active

    monkeypatch.setattr(active, "GROWTH", 0.1)
    loss = CRFLoss(make_data(bigrams="words", words=30), 3, threads=1)
    assert loss.n_params > 400
    monkeypatch.setattr(active, "LEAST", 5)
    found = train(loss, ElasticNet(0.5, 0.1), Plan("active-set", tol=1e-6), w0=np.zeros(loss.n_params))
    assert found.converged
    assert found.n_iter > 3
    assert found.objective == pytest.approx(
        solve(loss, ElasticNet(0.5, 0.1), "owlqn", tol=1e-7).objective, rel=1e-7
    )


def test_an_elastic_net_without_l1():
    loss = CRFLoss(make_data(), 3, threads=1)
    found = train(loss, ElasticNet(0.0, 0.5), Plan(tol=1e-6))
    assert found.solver == "owlqn"
    assert found.objective == pytest.approx(minimum(loss, 0.5).fun, rel=1e-8)


def test_weighted_elastic_net():
    loss = CRFLoss(make_data(), 3, threads=1)
    weights = np.random.default_rng(0).random(loss.n_params) * 2
    penalty = ElasticNet(1.0, 0.1, weights)
    found = [train(loss, penalty, Plan(solver, tol=1e-6)).objective for solver in ("active-set", "owlqn")]
    assert found[0] == pytest.approx(found[1], rel=1e-7)


def test_words_of_a_class_stand_or_fall_together():
    classes = WordClasses(["cat", "dog", "the", "ca"], [0, 0, 1, 2])
    sentences = [["the", "cat"], ["the", "dog"], ["cat", "dog"], ["the", "owl"], ["owl", "cat"]]
    labels = [["D" if word == "the" else "N" for word in words] for words in sentences]
    patterns = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%prefix[0,0,2]\nU3:%x[0,0]/%x[1,0]\nB"
    tagger = Tagger(patterns, classes={"c": classes}, penalty="group-class", lam=1e-5).fit(sentences, labels)
    class_of = dict(zip(tagger.extractor_.names("u"), tagger.extractor_.class_of("u").tolist()))
    # Only what one pattern sees as a whole word has its class: neither a prefix that is spelt like a word, nor pairs.
    found = {name: c for name, c in class_of.items() if c >= 0}
    whole = {"U0:the": 1, "U0:cat": 0, "U0:dog": 0, "U1:the": 1, "U1:cat": 0}
    assert {"U0:the", "U0:cat", "U0:dog"} <= found.keys()
    assert found.items() <= whole.items()
    n, p = len(tagger.labels_), tagger.extractor_.n_unigrams
    made = by_class(
        Shape(p, 1, n, True),
        (tagger.extractor_.pattern_of("u"), np.zeros(1, np.int32)),
        tagger.extractor_.class_of("u"),
    )
    names = [name for name in tagger.extractor_.names("u") for _ in range(n)] + ["B"] * (n + 1) * n
    groups = {frozenset(names[j] for j in made[g]) for g in range(len(made))}
    assert frozenset({"U0:cat", "U0:dog"}) in groups
    assert frozenset({"U1:the"}) in groups
    assert sum(len(made[g]) for g in range(len(made))) == len(names)
    with pytest.raises(OptionError, match="needs word classes"):
        Tagger(patterns, penalty="group-class").fit(sentences, labels)


def test_groups_vanish_whole():
    data = make_data(bigrams="words")
    loss = CRFLoss(data, 3, threads=1)
    shape = loss.shape
    patterns = np.repeat([0, 1, 2], [12, 5, 12]).astype(np.int32), np.full(12, 3, np.int32)
    for name, groups in (
        ("group-pattern", by_pattern),
        ("group-symbol", by_symbol),
        ("group-label", by_label),
    ):
        strength = {"group-pattern": 2.0, "group-symbol": 1.0, "group-label": 1.0}[name]
        penalty = make_penalty(name, strength, 0.0, 0.0, shape, patterns, np.arange(12))
        found = train(loss, penalty, Plan(tol=1e-6, max_iter=20000))
        assert found.solver == "fista"
        assert found.converged
        gradient = loss.value_and_grad(found.w)[1]
        assert penalty.violation(found.w, gradient) / gradient_scale(loss) <= 1e-6
        made = groups(shape, patterns)
        members = [made.members[a:b] for a, b in zip(made.ptr[:-1], made.ptr[1:])]
        assert sorted(np.concatenate(members).tolist()) == list(range(shape.n_params))
        active = [np.count_nonzero(found.w[group]) for group in members]
        assert 0 in active
        assert any(active)
        assert all(n in (0, len(group)) or n > len(group) / 3 for n, group in zip(active, members))


def test_groups_by_hand():
    shape = Shape(unigrams=2, bigrams=2, labels=2, start=True)
    patterns = np.array([0, 1], np.int32), np.array([0, 2], np.int32)

    def spread(groups):
        return [sorted(groups.members[a:b].tolist()) for a, b in zip(groups.ptr[:-1], groups.ptr[1:])]

    assert spread(by_pattern(shape, patterns)) == [[0, 1], [2, 3], list(range(4, 10)), list(range(10, 16))]
    assert spread(by_symbol(shape, patterns)) == [[0, 1], [2, 3], list(range(4, 10)), list(range(10, 16))]
    assert spread(by_label(shape, patterns)) == [
        [0], [1], [2], [3], [4, 6, 8], [5, 7, 9], [10, 12, 14], [11, 13, 15]
    ]  # fmt: skip
    parent, node, weights = unigram_before_bigram(shape, np.array([1, -1]))
    assert parent.tolist() == [-1, -1, -1, -1, 2, 3, -1, -1]
    assert node.tolist() == [0, 1, 2, 3, *[4, 5] * 3, *[6, 7] * 3]
    np.testing.assert_allclose(weights**2, [1, 1, 4, 4, 3, 3, 3, 3])


def test_a_tree_leaves_no_orphans():
    data = make_data(bigrams="words", n=80)
    loss = CRFLoss(data, 3, threads=1)
    shape, partners = loss.shape, np.arange(12)
    patterns = np.zeros(29, np.int32), np.zeros(12, np.int32)
    penalty = make_penalty("tree", 1.0, 0.0, 0.0, shape, patterns, partners)
    found = train(loss, penalty, Plan(tol=1e-6, max_iter=20000))
    assert found.converged
    mu, lam = shape.mu(found.w)[partners], shape.lam(found.w)
    active = np.count_nonzero(lam, axis=1)
    assert 0 < np.count_nonzero(active) < active.size
    assert not active[mu == 0].any()


# ----------------------------------------------------------------- watching, stopping, other losses


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "active-set", "sgd", "adagrad", "fista"])
def test_a_watch_sees_the_weights_of_the_given_problem_and_stops(solver):
    loss = CRFLoss(make_data(), 3, threads=1)
    penalty, seen = (L2(0.1) if solver == "lbfgs" else ElasticNet(0.1, 0.1)), []

    def watch(step, w):
        assert len(w) == loss.n_params
        if np.isfinite(step.objective):
            assert step.objective == pytest.approx(loss.value_and_grad(w)[0] + penalty.value(w))
        seen.append(w.copy())
        return len(seen) == 2

    found = train(loss, penalty, Plan(solver, tol=1e-9), watch=watch)
    assert len(seen) == 2
    assert not found.interrupted
    np.testing.assert_array_equal(found.w, seen[-1])


@pytest.mark.parametrize("solver", ["lbfgs", "owlqn", "active-set", "sgd", "adagrad", "fista"])
def test_an_interrupt_keeps_what_was_learnt(solver):
    loss = CRFLoss(make_data(), 3, threads=1)
    penalty, seen = (L2(0.1) if solver == "lbfgs" else ElasticNet(0.1, 0.1)), []

    def watch(step, w):
        seen.append(w.copy())
        if len(seen) == 2:
            raise KeyboardInterrupt

    found = train(loss, penalty, Plan(solver, tol=1e-9), watch=watch)
    assert found.interrupted
    assert len(seen) == 2
    np.testing.assert_array_equal(found.w, seen[-1])


def test_a_given_start_is_used():
    loss = CRFLoss(make_data(), 3, threads=1)
    best = train(loss, L2(0.1), Plan(tol=1e-7)).w
    again = train(loss, L2(0.1), Plan(tol=1e-6), w0=best)
    assert again.n_iter == 0
    np.testing.assert_allclose(again.w, best, atol=1e-12)
    sparse = train(loss, L1(0.5), Plan(tol=1e-7)).w
    assert train(loss, L1(0.5), Plan(tol=1e-6), w0=sparse).n_iter == 0


def test_memm():
    loss = MEMMLoss(make_data(), 3, threads=1)
    found = train(loss, L2(0.5), Plan(tol=1e-7))
    assert found.objective == pytest.approx(minimum(loss, 0.5).fun, rel=1e-9)
    sparse = train(loss, ElasticNet(1.0, 0.1), Plan(tol=1e-6))
    assert sparse.solver == "owlqn"
    assert 0 < np.count_nonzero(sparse.w) < loss.n_params
    with pytest.raises(OptionError, match="CRFs only"):
        train(loss, L2(0.5), Plan("sgd"))


def test_what_does_not_go_together():
    data = make_data()
    loss = CRFLoss(data, 3, threads=1)
    small = loss.restricted(observed_support(data, loss.shape))
    with pytest.raises(OptionError, match="solver must be one of auto, lbfgs"):
        Plan("newtonian")
    with pytest.raises(OptionError, match="smooth"):
        train(loss, L1(1.0), Plan("lbfgs"))
    with pytest.raises(OptionError, match="every weight is active"):
        train(loss, L2(1.0), Plan("active-set"))
    for solver in ("adagrad", "perceptron", "pa"):
        with pytest.raises(OptionError, match="full model"):
            train(small, L2(1.0), Plan(solver))
    groups = make_penalty(
        "group-symbol", 1.0, 0, 0, loss.shape, (np.zeros(29, np.int32), np.zeros(1, np.int32)), np.array([-1])
    )
    for solver in ("sgd", "active-set", "owlqn"):
        with pytest.raises(OptionError, match="elastic-net"):
            train(loss, groups, Plan(solver))
    with pytest.raises(OptionError, match="no penalty 'l3'"):
        make_penalty(
            "l3", 1.0, 0, 0, loss.shape, (np.zeros(29, np.int32), np.zeros(1, np.int32)), np.array([-1])
        )


@pytest.mark.parametrize("name", ["tree-l2", "tree-linf", "group-linf:label", "sparse-group:symbol"])
def test_any_penalty_by_name(name):
    tagger = Tagger("U:%x[0,0]\nB:%x[0,0]", penalty=name, lam=0.05, tol=1e-4, max_iter=5000)
    tagger.fit([["the", "cat"], ["the", "dog"], ["cat", "dog"]], [["D", "N"], ["D", "N"], ["N", "N"]])
    assert tagger.facts_["solver"] == "fista"
    assert tagger.predict([["the", "cat"]]) == [["D", "N"]]


def test_what_a_tagger_cannot_offer_is_refused_before_any_work():
    for name, what in (
        ("trace", "needs a design matrix, which a tagger does not have"),
        ("fused", "needs ordered weights, which a tagger does not have"),
        ("group", "needs a grouping: group:pattern"),
        ("group:colour", "no grouping 'colour' in a tagger"),
    ):
        with pytest.raises(OptionError, match=what):
            Tagger("no such file", penalty=name).fit([["a"]], [["A"]])


@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_steps_of_stochastic_descent(l2):
    """τ₀/(1 + decay·k/n): one sentence of one token, whose gradient can be written down."""
    seen = Observations(np.array([0, 1]), np.array([0], np.int32), n=1)
    none = Observations(np.array([0, 0]), np.empty(0, np.int32), n=0)
    loss = CRFLoss(Sequences(np.array([0, 1]), seen, none, np.array([1], np.int32)), 2, threads=1)
    for decay, rate in ((None, 0.5 * l2 or 1.0), (1.0, 1.0), (0.0, 0.0)):
        w = np.zeros(2)
        for k in range(4):
            step = 0.5 / (1.0 + rate * k)
            p = np.exp(w) / np.exp(w).sum()
            w = w / (1.0 + step * l2) - step * (p - [0.0, 1.0])
        found = sgd(loss, np.zeros(2), l2=l2, passes=4, step=0.5, decay=decay)
        np.testing.assert_allclose(found, w, rtol=1e-10)
    with pytest.raises(OptionError, match="decay must be"):
        sgd(loss, np.zeros(2), decay=-1.0)
