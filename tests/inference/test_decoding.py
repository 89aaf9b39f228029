"""Decoding against the enumeration of all labellings."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, OptionError
from spinney.inference import decoding
from spinney.inference.chains import Chains
from spinney.inference.decoding import (
    kbest,
    marginals,
    margins,
    path_scores,
    posterior_decode,
    token_probabilities_of,
    viterbi,
)


def random_chains(seed, lengths, Y, K, forbidden=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    T = int(offsets[-1])
    scores, edges = rng.normal(scale=spread, size=(T, Y)), rng.normal(scale=spread, size=(K, Y + 1, Y))
    scores[rng.random(scores.shape) < forbidden] = -np.inf
    edges[rng.random(edges.shape) < forbidden] = -np.inf
    return Chains(offsets, scores, rng.integers(K, size=T), edges)


def enumerated(chains, i):
    """All labellings of sentence i with a finite score, best first: labels [P, T_i] and scores [P], by definition."""
    a, b = chains.offsets[i], chains.offsets[i + 1]
    found = []
    for labels in itertools.product(range(chains.n_labels), repeat=int(b - a)):
        before, score = chains.n_labels, 0.0
        for t, y in zip(range(a, b), labels):
            score += chains.edges[chains.kinds[t], before, y] + chains.scores[t, y]
            before = y
        if score > -np.inf:
            found.append((score, labels))
    found.sort(key=lambda pair: -pair[0])
    labels = np.array([labels for _, labels in found], dtype=int).reshape(len(found), b - a)
    return labels, np.array([score for score, _ in found])


def enumerated_marginals(chains):
    probabilities, log_z = np.zeros(chains.scores.shape), np.zeros(len(chains))
    for i in range(len(chains)):
        labels, scores = enumerated(chains, i)
        log_z[i] = np.logaddexp.reduce(scores)
        weights = np.exp(scores - scores[0])
        for t, column in zip(range(chains.offsets[i], chains.offsets[i + 1]), labels.T):
            probabilities[t] = np.bincount(column, weights / weights.sum(), minlength=chains.n_labels)
    return probabilities, log_z


def first_impossible(chains):
    for i in range(len(chains)):
        if not len(enumerated(chains, i)[1]):
            return i
    return None


tiny = st.builds(
    random_chains,
    seed=st.integers(0, 2**32 - 1),
    lengths=st.lists(st.integers(0, 5), max_size=4),
    Y=st.integers(1, 4),
    K=st.integers(1, 3),
    forbidden=st.sampled_from([0.0, 0.1, 0.3]),
    # the widest leave the range of floating-point numbers and need the recursion in logs
    spread=st.sampled_from([1.0, 10.0, 100.0, 1000.0]),
)


@settings(max_examples=120, deadline=None)
@given(chains=tiny, k=st.integers(1, 7))
def test_everything_agrees_with_enumeration(chains, k):
    impossible = first_impossible(chains)
    if impossible is not None:
        message = re.escape(f"no labelling of sentence {impossible + 1} meets the constraints")
        for function in (viterbi, marginals, posterior_decode, margins, lambda c: kbest(c, k)):
            with pytest.raises(InputError, match=message):
                function(chains)
        return

    labels, scores = viterbi(chains)
    probabilities, log_z = marginals(chains)
    paths, gaps = kbest(chains, k), margins(chains)
    expected, expected_log_z = enumerated_marginals(chains)
    np.testing.assert_allclose(log_z, expected_log_z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-9, atol=1e-280)
    np.testing.assert_allclose(path_scores(chains, labels), scores, rtol=1e-12)
    np.testing.assert_array_equal(posterior_decode(chains), probabilities.argmax(axis=1))
    np.testing.assert_array_equal(
        token_probabilities_of(chains, labels), np.take_along_axis(probabilities, labels[:, None], 1)[:, 0]
    )
    for i in range(len(chains)):
        a, b = chains.offsets[i : i + 2]
        all_labels, all_scores = enumerated(chains, i)
        np.testing.assert_allclose(scores[i], all_scores[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(labels[a:b], all_labels[0])  # random numbers have no ties
        gap = all_scores[0] - all_scores[1] if len(all_scores) > 1 else np.inf
        np.testing.assert_allclose(gaps[i], gap, rtol=1e-9, atol=1e-11)
        assert len(paths[i]) == min(k, len(all_scores))
        for r, path in enumerate(paths[i]):
            np.testing.assert_array_equal(path.labels, all_labels[r])
            np.testing.assert_allclose(path.score, all_scores[r], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(
                path.probability, np.exp(all_scores[r] - expected_log_z[i]), rtol=1e-9, atol=1e-300
            )
            assert path.probability <= 1.0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 5), Y=st.integers(1, 3), k=st.integers(1, 300))
def test_ties(seed, length, Y, k):
    """With scores of few values: distinct paths, the right scores, and the first that of Viterbi."""
    rng = np.random.default_rng(seed)
    chains = Chains(
        [0, length],
        rng.integers(2, size=(length, Y)),
        np.zeros(length),
        rng.integers(2, size=(1, Y + 1, Y)),
    )
    (paths,) = kbest(chains, k)
    all_labels, all_scores = enumerated(chains, 0)
    assert [path.score for path in paths] == all_scores[:k].tolist()
    assert len({tuple(path.labels) for path in paths}) == len(paths) == min(k, Y**length)
    for path in paths:
        assert path_scores(chains, path.labels)[0] == path.score
    labels, _ = viterbi(chains)
    np.testing.assert_array_equal(labels, paths[0].labels)
    ties = all_labels[all_scores == all_scores[0]]
    np.testing.assert_array_equal(labels, min(ties.tolist(), key=lambda path: path[::-1]))


def test_constraints():
    free = random_chains(3, [4, 0, 1, 3], Y=3, K=2)
    rng = np.random.default_rng(0)
    allowed = rng.random((8, 3)) < 0.7
    allowed[:, 0] = True
    transitions, ends = (
        np.array([[1, 1, 0], [1, 1, 1], [1, 0, 1], [1, 0, 1]], bool),
        np.array([True, False, True]),
    )
    chains = free.constrained(allowed, transitions, ends)
    for i, paths in enumerate(kbest(chains, 1000)):
        a, b = free.offsets[i : i + 2]
        wanted = [
            (labels, score)
            for labels, score in zip(*enumerated(free, i))
            if allowed[np.arange(a, b), labels].all()
            and all(transitions[p, y] for p, y in itertools.pairwise([3, *labels]))
            and (not len(labels) or ends[labels[-1]])
        ]
        assert [path.labels.tolist() for path in paths] == [labels.tolist() for labels, _ in wanted]
        np.testing.assert_allclose([path.score for path in paths], [score for _, score in wanted])
        assert sum(path.probability for path in paths) == pytest.approx(1.0, abs=1e-12)
    assert path_scores(chains, np.ones(8, int))[0] == -np.inf  # 1 may not end
    assert np.isfinite(free.scores).all()


def test_forced_labels_are_certain():
    gold = np.array([2, 0, 1, 1], np.int32)
    chains = random_chains(5, [3, 1], Y=3, K=1).constrained(allowed=np.eye(3, dtype=bool)[gold])
    np.testing.assert_array_equal(viterbi(chains)[0], gold)
    np.testing.assert_array_equal(token_probabilities_of(chains, gold), 1.0)
    np.testing.assert_array_equal(margins(chains), np.inf)
    assert [len(paths) for paths in kbest(chains, 5)] == [1, 1]


def close_to_enumeration(chains):
    probabilities, log_z = marginals(chains)
    expected, expected_log_z = enumerated_marginals(chains)
    np.testing.assert_allclose(log_z, expected_log_z, rtol=1e-13)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-9, atol=1e-280)


def test_improbable_label_that_a_later_token_makes_necessary():
    """Label 1 is e^-900 times less probable than 0 at every token, and only 1 may end the sentence after 1."""
    scores = np.array([[0.0, -900.0], [0.0, -901.0], [-900.0, 0.0]])
    edges = np.array([[[0.5, -np.inf], [-np.inf, 0.25], [0.0, 0.0]]])
    chains = Chains([0, 3], scores, [0, 0, 0], edges).constrained(ends=[False, True])
    close_to_enumeration(chains)
    assert marginals(chains)[1][0] == pytest.approx(-1800.5)


def test_small_steps_that_add_up_to_underflow():
    """Each potential is harmless; the way 1 1 1 … 2 loses e^-100 a token, and is the only one."""
    T = 12
    scores = np.tile([0.0, -100.0, -np.inf], (T, 1))
    scores[-1] = [-np.inf, -np.inf, 0.0]
    edge = np.full((4, 3), -np.inf)
    edge[0, 0] = edge[1, 1] = edge[1, 2] = edge[3, 0] = edge[3, 1] = 0.0
    probabilities, log_z = marginals(Chains([0, T], scores, np.zeros(T), [edge]))
    np.testing.assert_array_equal(probabilities, np.eye(3)[[1] * (T - 1) + [2]])
    assert log_z[0] == -100.0 * (T - 1)


@pytest.mark.parametrize("inner", [4, 5, 6])
def test_underflow_is_noticed_though_another_path_survives(inner):
    """0 leads by 400 at both ends, 1 by 161 at each token between them, and no path changes over."""
    scores = np.array([[0.0, -400.0]] + [[-161.0, 0.0]] * inner + [[0.0, -400.0]])
    edge = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, 0.0]])
    chains = Chains([0, inner + 2], scores, np.zeros(inner + 2), [edge])
    close_to_enumeration(chains)
    assert set(posterior_decode(chains).tolist()) == {int(161 * inner > 800)}


def test_the_recursion_in_logs_agrees_with_the_scaled_one(monkeypatch):
    chains = random_chains(8, [30, 0, 1, 200], Y=6, K=2, forbidden=0.05)
    scaled, log_z = marginals(chains)
    monkeypatch.setattr(decoding, "LOW_EDGE", np.inf)  # every kind of edge is then too wide
    in_logs, log_z_in_logs = marginals(chains)
    assert not np.array_equal(scaled, in_logs)
    np.testing.assert_allclose(scaled, in_logs, rtol=1e-11, atol=0)
    np.testing.assert_allclose(log_z, log_z_in_logs, rtol=1e-13)


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_a_sentence_of_100_000_tokens(spread):
    chains = random_chains(1, [3, 100_000, 2], Y=5, K=2, spread=spread)
    labels, scores = viterbi(chains)
    np.testing.assert_allclose(path_scores(chains, labels), scores, rtol=1e-11)
    probabilities, log_z = marginals(chains)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(log_z >= scores)
    paths = kbest(chains, 5)[1]
    np.testing.assert_array_equal(paths[0].labels, labels[3:-2])
    assert len({path.labels.tobytes() for path in paths}) == 5
    for path in paths:
        whole = np.concatenate((labels[:3], path.labels, labels[-2:]))
        np.testing.assert_allclose(path_scores(chains, whole)[1], path.score, rtol=1e-11)


def test_threads_and_shards_change_nothing():
    lengths = np.random.default_rng(2).integers(0, 40, size=2000)
    chains = random_chains(2, lengths, Y=4, K=3)
    assert chains.offsets[-1] > 3 * decoding.SHARD_TOKENS
    for function in (viterbi, marginals):
        for one, two in zip(function(chains), function(chains, threads=2)):
            np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(margins(chains), margins(chains, threads=2))
    for i in (0, 700, 1999):  # a sentence alone
        a, b = chains.offsets[i : i + 2]
        alone = Chains([0, b - a], chains.scores[a:b], chains.kinds[a:b], chains.edges)
        np.testing.assert_array_equal(viterbi(chains)[0][a:b], viterbi(alone)[0])
        np.testing.assert_array_equal(marginals(chains)[0][a:b], marginals(alone)[0])


def test_impossible_sentence_is_named_in_any_shard():
    allowed = np.ones((30_000, 2), bool)
    allowed[25_004] = False
    chains = random_chains(4, [10] * 3000, Y=2, K=1).constrained(allowed)
    for function in (viterbi, marginals, margins):
        with pytest.raises(InputError, match="no labelling of sentence 2501 meets the constraints"):
            function(chains)


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_nothing_to_label(lengths):
    chains = random_chains(0, lengths, Y=2, K=1)
    N = len(lengths)
    assert viterbi(chains)[1].tolist() == marginals(chains)[1].tolist() == [0.0] * N
    assert marginals(chains)[0].shape == (0, 2)
    assert [[(p.labels.tolist(), p.score, p.probability) for p in paths] for paths in kbest(chains, 2)] == [
        [([], 0.0, 1.0)]
    ] * N
    assert margins(chains).tolist() == [np.inf] * N
    assert path_scores(chains, []).tolist() == [0.0] * N


def test_bad_input_is_refused():
    scores, edges = np.zeros((2, 3)), np.zeros((1, 4, 3))
    good = Chains([0, 2], scores, [0, 0], edges)
    with pytest.raises(OptionError, match="offsets must increase"):
        Chains([0, 3, 2], scores, [0, 0], edges)
    with pytest.raises(OptionError, match="offsets must increase"):
        Chains([], scores, [0, 0], edges)
    with pytest.raises(OptionError, match="kinds must be between"):
        Chains([0, 2], scores, [0, 1], edges)
    with pytest.raises(OptionError, match="kinds must have"):
        Chains([0, 2], scores, [0], edges)
    with pytest.raises(OptionError, match="edges must have"):
        Chains([0, 2], scores, [0, 0], np.zeros((1, 3, 3)))
    with pytest.raises(OptionError, match="at least one"):
        Chains([0, 2], np.zeros((2, 0)), [0, 0], np.zeros((1, 1, 0)))
    for bad in (np.nan, np.inf):
        with pytest.raises(OptionError, match="numbers or -inf"):
            Chains([0, 2], scores + bad, [0, 0], edges)
    with pytest.raises(OptionError, match="allowed must be"):
        good.constrained(allowed=np.ones((2, 3)))
    with pytest.raises(OptionError, match="transitions must be"):
        good.constrained(transitions=np.ones((3, 3), bool))
    with pytest.raises(OptionError, match="labels must be"):
        path_scores(good, [0, 3])
    with pytest.raises(OptionError, match="labels must have"):
        token_probabilities_of(good, [0])
    with pytest.raises(OptionError, match="k must be"):
        kbest(good, 0)
