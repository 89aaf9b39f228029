"""The sparse recursion against a dense softmax, and its gradient against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import sentence_arrays
from spinney.lm.stream import stream_of
from spinney.lm.suffixloss import SuffixTrieLoss, word_scale
from spinney.lm.suffixtrie import suffix_trie, trie_of_events

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=6)


def histories(stream):
    """The symbols before each event, and the event."""
    for i in stream.events.tolist():
        yield tuple(stream.ids[i - stream.room[i] : i].tolist()), int(stream.ids[i])


def dense(stream, trie, theta, m):
    """−Σ log P by a softmax over all symbols of each event: nothing shared, nothing sparse."""
    words = {}
    for u in range(trie.n_contexts):
        for g in range(trie.gram_ptr[u], trie.gram_ptr[u + 1]):
            history = tuple(stream.ids[trie.place[u] - trie.depth[u] : trie.place[u]].tolist())
            for k in range(int(trie.length[u])):  # of a collapsed node each context has its share
                words[history[k:], int(trie.symbol[g])] = theta[g] / trie.length[u]
    total = 0.0
    for history, outcome in histories(stream):
        history = history if m is None else history[max(0, len(history) - m) :]
        scores = [
            sum(words.get((history[len(history) - k :], v), 0.0) for k in range(len(history) + 1))
            for v in range(trie.n_outcomes)
        ]
        total += np.log(np.sum(np.exp(scores))) - scores[outcome]
    return total


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.one_of(st.none(), st.integers(0, 4)), st.booleans(), st.integers(0, 99))
def test_the_loss_is_the_dense_softmax(sentences, m, collapse, seed):
    text = sentence_arrays(sentences)
    stream = stream_of(text)
    trie = suffix_trie(stream, len(text.vocabulary), m, collapse=collapse)
    w = np.random.default_rng(seed).normal(size=trie.n_grams)  # of any sign
    feature = 0.5 + np.random.default_rng(seed + 1).random(trie.n_grams)
    loss = SuffixTrieLoss(trie, feature)
    expected = dense(stream, trie, feature * w, m)
    assert loss.value(w) == pytest.approx(expected, rel=1e-11)
    value, grad = loss.value_and_grad(w)
    assert value == pytest.approx(expected, rel=1e-11)
    for i in np.random.default_rng(seed).integers(trie.n_grams, size=min(trie.n_grams, 6)).tolist():
        ahead, behind = w.copy(), w.copy()
        ahead[i] += 1e-5
        behind[i] -= 1e-5
        assert grad[i] == pytest.approx((loss.value(ahead) - loss.value(behind)) / 2e-5, abs=2e-6, rel=1e-6)


def test_several_roots_are_several_softmaxes():
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 3, 30).astype(np.int32)
    position = np.arange(2, 30)
    root = rng.integers(0, 2, len(position)).astype(np.int32)
    outcome = rng.integers(0, 3, len(position)).astype(np.int32)
    outcome[root == 1] %= 2  # the second chooses from two only
    both = trie_of_events(ids, position, np.full(28, 2, np.int32), root, outcome, 3, 3, 2, n_roots=2)
    w = rng.normal(size=both.n_grams)
    total, start = 0.0, {}
    for r, size in ((0, 3), (1, 2)):
        own = root == r
        alone = trie_of_events(
            ids,
            position[own],
            np.full(own.sum(), 2, np.int32),
            np.zeros(own.sum(), np.int32),
            outcome[own],
            size,
            3,
            2,
        )
        of_root = np.empty(both.n_contexts, np.int32)
        for u in range(both.n_contexts):
            of_root[u] = u if both.parent[u] < 0 else of_root[both.parent[u]]
        start[r] = w[of_root[both.context] == r]
        total += SuffixTrieLoss(alone, np.ones(alone.n_grams)).value(start[r])
    loss = SuffixTrieLoss(both, np.ones(both.n_grams), np.array([3, 2], np.int32))
    assert loss.value(w) == pytest.approx(total, rel=1e-12)


def test_minibatches_average_to_the_whole():
    text = sentence_arrays([list("abcab"), list("bca"), list("aab")])
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 2)
    loss = SuffixTrieLoss(trie, np.ones(trie.n_grams))
    w = np.random.default_rng(1).random(trie.n_grams)
    value, grad = loss.value_and_grad(w)
    found = [estimate(w) for estimate in loss.minibatches(2, np.random.default_rng(0))]  # 14 events
    assert np.mean([v for v, _ in found]) == pytest.approx(value, rel=1e-12)
    assert np.allclose(np.mean([g for _, g in found], axis=0), grad, atol=1e-12)


def test_the_scale_bounds_the_curvature_of_each_word():
    text = sentence_arrays([list("abcab"), list("bca"), list("aab")])
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 2)
    loss = SuffixTrieLoss(trie, np.ones(trie.n_grams))
    w = np.zeros(trie.n_grams)
    root = slice(0, trie.gram_ptr[1])
    w[root] = np.log(trie.count[root])  # the expected counts are the counts
    scale = word_scale(loss)
    n = trie.n_grams
    hessian = np.empty((n, n))
    for i in range(n):
        step = np.zeros(n)
        step[i] = 1e-6
        hessian[i] = (loss.value_and_grad(w + step)[1] - loss.value_and_grad(w - step)[1]) / 2e-6
    scaled = hessian / np.sqrt(np.outer(scale, scale))
    assert np.linalg.eigvalsh(0.5 * (scaled + scaled.T)).max() <= 1.0 + 1e-6
