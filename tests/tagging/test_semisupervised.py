"""Unlabelled sentences: each criterion does what it says."""

import numpy as np
import pytest

from spinney.errors import InputError, OptionError
from spinney.optim import L2
from spinney.tagging import Tagger
from spinney.tagging.entropy import EntropyLoss
from spinney.tagging.loss import CRFLoss
from spinney.tagging.semisupervised import CRITERIA, train_with_unlabelled
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.training import Plan, train
from spinney.tagging.weighting import sequence_weights

Y = 3


def sentences(rng, n, *, labelled):
    """A noisy chain: the label is mostly the word modulo Y, and mostly one more than the label before."""
    lengths = rng.integers(2, 7, n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    T = int(offsets[-1])
    words = rng.integers(0, 12, T).astype(np.int32)
    labels = np.where(rng.random(T) < 0.8, words % Y, rng.integers(0, Y, T)).astype(np.int32)
    seen = Observations(np.arange(T + 1), words, 12)
    return Sequences(offsets, seen, Observations.always(T), labels if labelled else None)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return CRFLoss(sentences(rng, 30, labelled=True), Y), sentences(rng, 200, labelled=False)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_ends_at_its_optimum(data, criterion):
    loss, unlabelled = data
    solution = train_with_unlabelled(
        criterion, loss, L2(0.5), Plan(tol=1e-4), unlabelled, rho=0.1, threshold=0.5
    )
    assert solution.converged
    assert np.all(np.isfinite(solution.w))


def test_entropy_makes_the_model_surer_of_unlabelled_sentences(data):
    loss, unlabelled = data
    plan, penalty = Plan(tol=1e-5), L2(0.5)
    plain = train(loss, penalty, plan).w
    surer = train_with_unlabelled("entropy", loss, penalty, plan, unlabelled, rho=0.3).w
    entropy = EntropyLoss(loss, unlabelled, 1.0)
    assert entropy.entropy_and_grad(surer)[0] < entropy.entropy_and_grad(plain)[0]
    assert loss.value_and_grad(surer)[0] >= loss.value_and_grad(plain)[0] + penalty.value(
        plain
    ) - penalty.value(surer)


def test_weighted_is_training_with_those_weights(data):
    loss, unlabelled = data
    plan, penalty = Plan(tol=1e-7), L2(0.5)
    weights = sequence_weights(loss.data, unlabelled, n_clusters=10, random_state=0)
    by_hand = train(CRFLoss(Sequences(**{**loss.data.__dict__, "weights": weights}), Y), penalty, plan)
    found = train_with_unlabelled("weighted", loss, penalty, plan, unlabelled)
    np.testing.assert_allclose(found.w, by_hand.w, atol=1e-4)


def test_self_training_uses_what_it_is_sure_of(data):
    loss, unlabelled = data
    plain = train(loss, L2(0.5), Plan(tol=1e-5)).w
    never = train_with_unlabelled("self-training", loss, L2(0.5), Plan(tol=1e-5), unlabelled, threshold=1.0)
    often = train_with_unlabelled("self-training", loss, L2(0.5), Plan(tol=1e-5), unlabelled, threshold=0.3)
    np.testing.assert_allclose(never.w, plain, atol=1e-3)
    assert np.abs(often.w - plain).max() > 0.05


def test_bad_options(data):
    X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    with pytest.raises(OptionError, match=r"criterion must be .*, not 'magic'"):
        Tagger("U:%x[0,0]\nB", criterion="magic").fit(X, y, unlabelled=X)
    with pytest.raises(InputError, match="no unlabelled sentences"):
        Tagger("U:%x[0,0]\nB").fit(X, y, unlabelled=[])
    with pytest.raises(OptionError, match="unlabelled is a setting of the method crf, not of memm"):
        Tagger("U:%x[0,0]\nB", method="memm").fit(X, y, unlabelled=X)
