"""Unlabelled sentences: each criterion does what it says."""

from dataclasses import replace

import numpy as np
import pytest

from spinney.errors import InputError, OptionError
from spinney.evaluate.significance import clearly_best
from spinney.inference.strata import effective_sample, flattened
from spinney.optim import L2
from spinney.tagging import Tagger, semisupervised
from spinney.tagging.entropy import EntropyLoss
from spinney.tagging.loss import CRFLoss
from spinney.tagging.semisupervised import (
    CRITERIA,
    STRENGTHS,
    SUPERVISED,
    chosen_use,
    criterion_weights,
    train_with_unlabelled,
)
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.training import Plan, train
from spinney.tagging.weighting import sequence_weights, shift_weights

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
    solution = train_with_unlabelled(criterion, loss, L2(0.5), Plan(tol=1e-4), unlabelled, strength=0.3)
    assert solution.converged
    assert np.all(np.isfinite(solution.w))


def test_entropy_makes_the_model_surer_of_unlabelled_sentences(data):
    loss, unlabelled = data
    plan, penalty = Plan(tol=1e-5), L2(0.5)
    plain = train(loss, penalty, plan).w
    surer = train_with_unlabelled("entropy", loss, penalty, plan, unlabelled, strength=0.3).w
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


def test_clusters_are_as_many_as_wanted(data):
    loss, unlabelled = data
    for clusters in (1, 3, 1000):  # no more than there are sentences
        weights = sequence_weights(loss.data, unlabelled, n_clusters=min(clusters, 230))
        np.testing.assert_array_equal(
            criterion_weights("weighted", loss.data, unlabelled, clusters=clusters), weights
        )
    np.testing.assert_allclose(
        criterion_weights("weighted", loss.data, unlabelled, clusters=1), 1.0, rtol=1e-14
    )
    used, _ = chosen_use(loss, L2(0.5), Plan(), unlabelled, criterion="weighted", strength=1.0, clusters=3)
    assert used.effective_sample == effective_sample(sequence_weights(loss.data, unlabelled, n_clusters=3))


def test_clusters_of_a_tagger(data):
    X = [["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"]] * 3
    y = [["A", "B"], ["B", "A"], ["A", "B"], ["B", "A"]] * 3
    few = Tagger("U:%x[0,0]\nB", criterion="weighted", criterion_strength=1.0, clusters=1)
    one = few.fit(X, y, unlabelled=X[:2] * 9 + X[2:4])
    alone = Tagger("U:%x[0,0]\nB").fit(X, y)
    np.testing.assert_allclose(
        one.weights_.full(), alone.weights_.full(), atol=1e-6
    )  # one cluster: equal weights
    with pytest.raises(OptionError, match="clusters are for the criterion weighted, not for entropy"):
        Tagger("U:%x[0,0]\nB", criterion="entropy", clusters=3).fit(X, y, unlabelled=X)
    with pytest.raises(OptionError, match="clusters need unlabelled"):
        Tagger("U:%x[0,0]\nB", clusters=3).fit(X, y)


def test_self_training_uses_what_it_is_sure_of(data):
    loss, unlabelled = data
    plain = train(loss, L2(0.5), Plan(tol=1e-5)).w
    never = train_with_unlabelled("self-training", loss, L2(0.5), Plan(tol=1e-5), unlabelled, strength=1.0)
    often = train_with_unlabelled("self-training", loss, L2(0.5), Plan(tol=1e-5), unlabelled, strength=0.3)
    np.testing.assert_allclose(never.w, plain, atol=1e-3)
    assert np.abs(often.w - plain).max() > 0.05


@pytest.mark.parametrize("criterion", ["weighted", "shift"])
def test_a_strength_flattens_the_weights(data, criterion):
    loss, unlabelled = data
    samples, raw = [], criterion_weights(criterion, loss.data, unlabelled)
    for strength in (1.0, 0.5, 0.25, 0.0):
        weights = flattened(raw, strength)
        assert weights.mean() == pytest.approx(1.0)
        samples.append(effective_sample(weights))
    assert samples == sorted(samples)
    assert samples[-1] == pytest.approx(len(loss.data))


def test_long_sentences_do_not_take_all_the_weight():
    """Of the same words in the same shares, a long sentence has the ratio of a short one."""
    words, repeats = [0, 1, 1], [1, 10, 1]
    seen = Observations(np.arange(13), np.repeat(words, repeats).astype(np.int32), 2)
    labelled = Sequences(np.array([0, 1, 11, 12]), seen, Observations.always(12))
    seen = Observations(np.arange(7), np.array([1, 1, 1, 1, 1, 0], np.int32), 2)
    weights = shift_weights(labelled, Sequences(np.arange(7), seen, Observations.always(6)))
    assert weights[1] == pytest.approx(weights[2], rel=1e-6)
    assert weights[1] > weights[0]


def test_labels_alone_win_ties(data):
    """Unlabelled sentences that say nothing new are not used, and the model is the supervised one."""
    loss, _ = data
    plan, penalty = Plan(tol=1e-6), L2(0.5)
    same = Sequences(loss.data.offsets, loss.data.unigrams, loss.data.bigrams)
    use, tried = chosen_use(loss, penalty, plan, same, criterion="shift", dev=loss.data)
    assert (use.criterion, use.strength) == (SUPERVISED, None)
    assert [one.strength for one in tried] == [None, *STRENGTHS["shift"]]
    assert all(one.error is not None for one in tried)
    found = train_with_unlabelled(use.criterion, loss, penalty, plan, same)
    np.testing.assert_allclose(found.w, train(loss, penalty, plan).w)


def test_parts_are_held_out_in_turn():
    loss = CRFLoss(sentences(np.random.default_rng(2), 7, labelled=True), Y)
    parts = list(semisupervised._held_out(loss, None, 0))
    assert [(len(part.data), len(held_out)) for part, held_out in parts] == [
        (5, 2),
        (5, 2),
        (6, 1),
        (6, 1),
        (6, 1),
    ]
    tokens = [tuple(held_out.unigrams.ids.tolist()) for _, held_out in parts]
    assert sorted(sum(tokens, ())) == sorted(loss.data.unigrams.ids.tolist())


def test_a_clear_gain_is_taken():
    errors = np.array([[3] * 20, [3] * 19 + [0], [2] * 19 + [4], [2] * 20])
    assert clearly_best(errors) == 3
    assert clearly_best(errors[:3]) == 2
    assert clearly_best(errors[:2]) == 0  # one sentence is no evidence
    assert clearly_best(errors[:1, :1]) == 0


def test_a_criterion_with_its_strength_is_taken_as_it_is(data):
    loss, unlabelled = data
    use, tried = chosen_use(loss, L2(0.5), Plan(), unlabelled, criterion="shift", strength=1.0)
    assert (use.criterion, use.strength, len(tried)) == ("shift", 1.0, 1)
    weights = criterion_weights("shift", loss.data, unlabelled)
    assert use.effective_sample == pytest.approx(effective_sample(weights))


def test_a_small_effective_sample_is_warned_of(caplog):
    X, y = [["a"]] * 19 + [["b"]], [["A"]] * 19 + [["B"]]
    tagger = Tagger("U:%x[0,0]\nB", criterion="shift", criterion_strength=1.0)
    tagger.fit(X, y, unlabelled=[["b"]] * 500)
    assert tagger.facts_["effective_sample"] < 10
    assert "effective sample of" in caplog.text
    assert "of 20 labelled sentences" in caplog.text


def test_a_tagger_says_what_it_chose():
    rng = np.random.default_rng(1)
    X = [[str(rng.integers(5)) for _ in range(4)] for _ in range(40)]
    y = [["AB"[int(word) % 2] for word in words] for words in X]
    tagger = Tagger("U:%x[0,0]\nB").fit(X, y, unlabelled=X, dev=(X, y))
    assert tagger.facts_["criterion"] == SUPERVISED
    assert len(tagger.facts_["criteria_tried"]) == 1 + sum(map(len, STRENGTHS.values()))
    assert "Uses of unlabelled sentences" in [view.title for view in tagger.summary()]


def test_dev_is_heard_in_self_training():
    X, y = [["a", "b"], ["b"]] * 5, [["A", "B"], ["B"]] * 5
    tagger = Tagger("U:%x[0,0]\nB", criterion="self-training", criterion_strength=0.5)
    tagger.fit(X, y, unlabelled=X, dev=(X, y))
    assert tagger.facts_["dev_token_error"] == 0.0


def test_an_interrupt_ends_the_comparison(data, monkeypatch):
    loss, unlabelled = data

    def interrupted(criterion, part, *rest, **more):
        tried.append(criterion)
        return replace(train(part, L2(0.5), Plan()), interrupted=True)

    tried = []
    monkeypatch.setattr(semisupervised, "train_with_unlabelled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        chosen_use(loss, L2(0.5), Plan(), unlabelled)
    assert tried == [SUPERVISED]


def test_bad_options(data):
    X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    with pytest.raises(OptionError, match=r"criterion must be .*, not 'magic'"):
        Tagger("U:%x[0,0]\nB", criterion="magic").fit(X, y, unlabelled=X)
    with pytest.raises(InputError, match="no unlabelled sentences"):
        Tagger("U:%x[0,0]\nB").fit(X, y, unlabelled=[])
    with pytest.raises(
        OptionError, match=r"unlabelled is a setting of the methods? crf (and|or) hmm, not of memm"
    ):
        Tagger("U:%x[0,0]\nB", method="memm").fit(X, y, unlabelled=X)
