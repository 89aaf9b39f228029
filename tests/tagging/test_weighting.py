"""Weights of labelled sentences out of unlabelled ones, and self-training."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from spinney.errors import InputError, OptionError
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.weighting import concatenate, self_training, sequence_weights, shift_weights


def sentences(*words, n=4, values=None, weights=None, labels=None):
    """Sentences of words (numbers), each word one observation."""
    flat = np.array([word for sentence in words for word in sentence], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in words])]).astype(np.int64)
    seen = Observations(np.arange(len(flat) + 1), flat, n, values)
    return Sequences(offsets, seen, Observations.always(len(flat)), labels=labels, weights=weights)


def two_topics(rng, n, share):
    """Sentences of words 0-4, or, that share of them, of words 5-9."""
    topic = rng.random(n) < share
    return sentences(*[rng.integers(5 * k, 5 * k + 5, rng.integers(8, 15)) for k in topic], n=10), topic


def test_exact_strata_are_ordered_sentences():
    labelled = sentences([0, 1], [1, 0], [0, 1], [])
    unlabelled = sentences([1, 0], [0, 1], [1, 0], [], [2])
    w = sequence_weights(labelled, unlabelled, by="exact")
    np.testing.assert_allclose(w, 4 * np.array([0.5, 2.0, 0.5, 1.0]) / 4.0)
    assert sequence_weights(sentences([0], [3]), sentences([0], [1]), by="exact").tolist() == [2.0, 0.0]


def test_the_unlabelled_count_by_their_weights():
    w = sequence_weights(sentences([0], [1]), sentences([0], [1], weights=np.array([1.0, 3.0])), by="exact")
    assert w.tolist() == [0.5, 1.5]


def test_clusters_follow_the_topics():
    rng = np.random.default_rng(0)
    (labelled, topic), (unlabelled, other) = two_topics(rng, 60, 0.2), two_topics(rng, 400, 0.7)
    ids = labelled.unigrams.ids.copy()
    w = sequence_weights(labelled, unlabelled, n_clusters=2)
    wanted = np.where(topic, other.mean() / topic.sum(), (1 - other.mean()) / (~topic).sum())
    np.testing.assert_allclose(w, wanted * len(topic), rtol=1e-12)
    assert w.mean() == pytest.approx(1.0)
    np.testing.assert_array_equal(labelled.unigrams.ids, ids)


def test_shift_weights_are_the_odds_of_a_logistic_regression():
    rng = np.random.default_rng(1)
    (labelled, topic), (unlabelled, _) = two_topics(rng, 80, 0.3), two_topics(rng, 120, 0.6)
    w = shift_weights(labelled, unlabelled, strength=2.0)
    bags = np.array(
        [np.bincount(part.unigrams.ids[a:b], minlength=10)
         for part in (labelled, unlabelled) for a, b in zip(part.offsets[:-1], part.offsets[1:])]
    )  # fmt: skip
    bags = bags / np.linalg.norm(bags, axis=1, keepdims=True)
    peer = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(bags, np.repeat([0, 1], [80, 120]))
    odds = np.exp(peer.decision_function(bags[:80]))
    np.testing.assert_allclose(w, odds / odds.mean(), rtol=1e-4)
    assert w[topic].mean() > w[~topic].mean()


def test_the_weights_are_ready_for_the_loss():
    labelled = sentences([0, 1], [1], labels=np.array([0, 1, 1], np.int32))
    w = sequence_weights(labelled, sentences([0, 1], [1], [1]), by="exact")
    loss = CRFLoss(replace(labelled, weights=w), 2)
    assert loss.value_and_grad(np.zeros(loss.n_params))[0] == pytest.approx(np.log(2) * w @ [2, 1])


def test_weights_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="no labelled sentence occurs"):
        sequence_weights(sentences([0]), sentences([1]), by="exact")
    with pytest.raises(InputError, match="the same extractor"):
        sequence_weights(sentences([0]), sentences([1], n=5), by="exact")
    with pytest.raises(InputError, match="negative value"):
        sequence_weights(sentences([0]), sentences([1], values=np.array([-1.0])), n_clusters=1)
    with pytest.raises(OptionError, match="cluster or exact"):
        sequence_weights(sentences([0]), sentences([0]), by="nearest")
    with pytest.raises(OptionError, match="number of clusters"):
        sequence_weights(sentences([0]), sentences([0]), n_clusters=None)


def test_what_is_concatenated_can_be_taken_apart():
    one = sentences([0, 1], [], [2], labels=np.array([0, 1, 2], np.int32), weights=np.array([1.0, 2.0, 3.0]))
    other = sentences([3], [1, 1], values=np.array([0.5, 2.0, 3.0]))
    both = concatenate(one, other)
    assert both.offsets.tolist() == [0, 2, 2, 3, 4, 6]
    assert both.unigrams.ids.tolist() == [0, 1, 2, 3, 1, 1]
    assert both.unigrams.values.tolist() == [1, 1, 1, 0.5, 2, 3]
    assert both.bigrams.values is None
    assert both.labels.tolist() == [0, 1, 2, -1, -1, -1]
    assert both.weights.tolist() == [1, 2, 3, 1, 1]
    assert both.is_partial.tolist() == [False, False, False, True, True]
    back = both.part(3, 5)
    assert back.unigrams.ptr.tolist() == other.unigrams.ptr.tolist()
    plain = concatenate(other, other)
    assert plain.labels is None
    assert plain.weights is None


def test_sets_of_labels_are_joined():
    sets = [np.array(rows, bool) for rows in ([[1, 1, 1], [1, 0, 1]], [[1, 1, 1], [0, 1, 1], [1, 1, 0]])]
    one = replace(sentences([0, 1, 2], labels=np.array([-2, 1, -1], np.int32)), label_sets=sets[0])
    other = replace(sentences([0, 1, 2], labels=np.array([-3, -1, -2], np.int32)), label_sets=sets[1])
    plain = sentences([3], labels=np.array([-1], np.int32))
    for a, b in ((one, other), (other, one), (one, plain), (plain, one), (plain, plain)):
        both = concatenate(a, b)
        np.testing.assert_array_equal(both.allowed(3), np.vstack([a.allowed(3), b.allowed(3)]))
    with pytest.raises(InputError, match="different numbers"):
        concatenate(one, replace(other, label_sets=np.ones((1, 4), bool)))


def test_self_training_takes_what_it_is_sure_of_and_stops():
    seen = []

    def fit(data):
        seen.append((len(data), data.labels.tolist()))
        return len(seen)

    def predict(model, data):
        # The label is the word; surer of short sentences, and of more in each round.
        return data.unigrams.ids.astype(np.int64), 1.0 / np.maximum(data.lengths, 1) * model

    labelled = sentences([0], labels=np.array([0], np.int32))
    unlabelled = sentences([1, 2], [3], [1, 2, 3, 1, 2])
    assert self_training(fit, predict, labelled, unlabelled, threshold=1.0) == 3
    assert seen == [(1, [0]), (2, [0, 3]), (3, [0, 3, 1, 2])]
    seen.clear()
    assert self_training(fit, predict, labelled, unlabelled, threshold=0.1) == 2
    assert seen[-1][0] == 4
    seen.clear()
    assert self_training(fit, predict, labelled, unlabelled, threshold=0.1, rounds=0) == 1
    with pytest.raises(OptionError, match="rounds"):
        self_training(fit, predict, labelled, unlabelled, rounds=-1)
