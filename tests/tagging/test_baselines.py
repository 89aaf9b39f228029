from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from spinney.errors import InputError, OptionError
from spinney.inference.chains import Chains
from spinney.inference.decoding import marginals, path_scores, viterbi
from spinney.optim import L2, solve
from spinney.tagging.hmm import HMM
from spinney.tagging.memm import MEMMLoss, memm_chains
from spinney.tagging.perceptron import passive_aggressive, perceptron
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.support import Shape

Y = 3


def random_observations(rng, n_tokens, n, most, real):
    """Up to ``most`` observations a token, the same one perhaps twice."""
    width = rng.integers(0, most + 1, n_tokens)
    ids = rng.integers(0, n, width.sum()).astype(np.int32)
    return Observations(
        np.concatenate([[0], np.cumsum(width)]), ids, n, rng.normal(size=len(ids)) if real else None
    )


def random_data(seed, n=8, longest=5, real=False, bigrams="some", partial=False, weights=False):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, n))])
    T = int(offsets[-1])
    edges = {
        "none": lambda: Observations.none(T),
        "always": lambda: Observations.always(T),
        "some": lambda: random_observations(rng, T, 2, 2, real),
    }[bigrams]()
    labels = rng.integers(0, Y, T).astype(np.int32)
    sets = np.array([[1, 1, 1], [0, 1, 1]], np.bool_)
    if partial:
        unsure = rng.random(T) < 0.3
        labels[unsure] = rng.integers(-2, 0, unsure.sum())
    return Sequences(
        offsets,
        random_observations(rng, T, 5, 4, real),
        edges,
        labels,
        sets,
        rng.uniform(0.5, 2.0, n) if weights else None,
    )


# ----------------------------------------------------------------------------------- the same, naively


def values_at(seen, t):
    a, b = seen.ptr[t], seen.ptr[t + 1]
    values = np.ones(b - a) if seen.values is None else seen.values[a:b]
    return list(zip(seen.ids[a:b].tolist(), values.tolist()))


def features(data, i, y, start):
    """φ(x_i, y) as a dictionary."""
    phi = defaultdict(float)
    for k, t in enumerate(range(data.offsets[i], data.offsets[i + 1])):
        for o, value in values_at(data.unigrams, t):
            phi["u", o, y[k]] += value
        for b, value in values_at(data.bigrams, t):
            if k or start:
                phi["b", b, y[k - 1] if k else Y, y[k]] += value
    return phi


def dot(w, phi):
    return sum(w[key] * value for key, value in phi.items())


def flat(w, shape):
    out = np.zeros(shape.n_params)
    for key, value in w.items():
        part = shape.mu(out) if key[0] == "u" else shape.lam(out)
        part[key[1:]] = value
    return out


def as_dict(w, shape):
    mu = {("u", *place): value for place, value in np.ndenumerate(shape.mu(w))}
    return mu | {("b", *place): value for place, value in np.ndenumerate(shape.lam(w))}


def agreeing(data, i):
    """All labellings of a sentence that its labels allow."""
    allowed = data.allowed(Y)[data.offsets[i] : data.offsets[i + 1]]
    return itertools.product(*(np.flatnonzero(row).tolist() for row in allowed))


class Tie(Exception):
    """Two labellings are equally good but for rounding, so that the order of a sum decides."""


def best(labellings, score, ties=True):
    """The best; of equal ones, that with the smaller labels from the end. Without ``ties``, those raise."""
    scored = [(round(score(y), 9), tuple(-label for label in reversed(y)), y) for y in labellings]
    top = max(scored)
    if not ties and top[0] != round(top[0]) and sum(row[0] == top[0] for row in scored) > 1:
        raise Tie
    return top[2]


def naive(data, w0, *, start, passes, average, seed, rule, C=1.0, ties=True):
    """Learning by enumeration; averages by adding up all weights after each sentence."""
    rng = np.random.default_rng(seed)
    w, total, steps = defaultdict(float, w0), defaultdict(float), 0
    weights = np.ones(len(data)) if data.weights is None else data.weights
    for _ in range(passes):
        for i in rng.permutation(len(data)):
            T = int(data.lengths[i])
            if not T:
                continue

            def score(y, i=i):
                return dot(w, features(data, i, y, start))

            gold = best(agreeing(data, i), score, ties)

            def cost(y, gold=gold):
                return sum(a != b for a, b in zip(y, gold)) if rule else 0.0

            def augmented(y, score=score, cost=cost):
                return score(y) + cost(y)

            guess = best(itertools.product(range(Y), repeat=T), augmented, ties)
            delta = features(data, i, gold, start)
            for key, value in features(data, i, guess, start).items():
                delta[key] -= value
            square = sum(value**2 for value in delta.values())
            tau = weights[i]
            if rule and square > 0:
                loss = cost(guess) - dot(w, delta)
                room = C * weights[i]
                tau = min(room, loss / square) if rule == 1 else loss / (square + 1 / (2 * room))
            for key, value in delta.items():
                w[key] += tau * value
            for key, value in w.items():
                total[key] += value
            steps += 1
    return {key: value / steps for key, value in total.items()} if average else w


RULES = [0, 1, 2]


def learn(rule, data, *, C=1.0, **options):
    if rule == 0:
        return perceptron(data, Y, **options)
    return passive_aggressive(data, Y, C=C, variant=rule, **options)


# ----------------------------------------------------------------------------------------- perceptron


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bigrams", ["none", "always", "some"])
@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_weights_are_those_of_the_naive_algorithm(rule, bigrams, start, average):
    data = random_data(1, bigrams=bigrams)
    shape = Shape(5, data.bigrams.n, Y, start)
    options = {"start": start, "passes": 3, "average": average, "seed": 5}
    # From 0, many labellings tie; steps of fractions would leave it to rounding which comes first.
    w0 = np.zeros(shape.n_params) if rule == 0 else np.random.default_rng(1).normal(size=shape.n_params)
    expected = flat(naive(data, as_dict(w0, shape), rule=rule, C=0.3, **options), shape)
    w = learn(rule, data, C=0.3, w=w0, **options)
    if rule == 0 and not average:
        assert np.array_equal(w, expected)
    np.testing.assert_allclose(w, expected, rtol=0, atol=1e-12)
    assert np.any(w != w0)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.01, 0.3, 100.0]), start=st.booleans())
def test_real_values_repetitions_unsure_labels_and_weights(rule, seed, C, start):
    data = random_data(seed, n=5, longest=4, real=True, partial=True, weights=True)
    options = {"start": start, "passes": 2, "average": True, "seed": 0}
    try:
        expected = flat(naive(data, {}, rule=rule, C=C, ties=False, **options), Shape(5, 2, Y, start))
    except Tie:
        reject()
    w = learn(rule, data, C=C, **options)
    np.testing.assert_allclose(w, expected, rtol=1e-8, atol=1e-9)


def score_chains(w, shape, data):
    """Chains of the scores themselves, naively."""
    mu, lam = shape.mu(w), np.zeros((shape.bigrams, Y + 1, Y))
    lam[:, : Y + shape.start] = shape.lam(w)
    T = data.n_tokens
    scores, edges = np.zeros((T, Y)), np.zeros((max(T, 1), Y + 1, Y))
    for t in range(T):
        for o, value in values_at(data.unigrams, t):
            scores[t] += value * mu[o]
        for b, value in values_at(data.bigrams, t):
            edges[t] += value * lam[b]
    return Chains(data.offsets, scores, np.arange(T), edges)


@pytest.mark.parametrize("rule", RULES)
def test_separable_data_are_learnt_without_error(rule):
    rng = np.random.default_rng(0)
    T, n = 400, 40
    seen = Observations(np.arange(T + 1) * 3, rng.integers(0, 30, 3 * T).astype(np.int32), 30)
    data = Sequences(np.arange(n + 1) * 10, seen, Observations.always(T))
    shape = Shape(30, 1, Y)
    truth = rng.normal(size=shape.n_params)
    labels, _ = viterbi(score_chains(truth, shape, data))
    data = Sequences(data.offsets, seen, data.bigrams, labels)
    # The margin that ``truth`` leaves is small, and the weights may grow: many passes, and a C that does not bind.
    w = learn(rule, data, C=1e6, passes=300, average=False)
    assert np.array_equal(viterbi(score_chains(w, shape, data))[0], labels)


@pytest.mark.parametrize("seed", range(10))
def test_an_uncapped_step_makes_the_margin_hold_exactly(seed):
    data = random_data(seed, n=1, longest=5, real=True)
    if not data.n_tokens:
        pytest.skip("an empty sentence")
    shape = Shape(5, 2, Y)
    w0 = np.random.default_rng(seed).normal(size=shape.n_params)
    before = score_chains(w0, shape, data)
    gold = data.labels

    def margin(chains, y):
        return path_scores(chains, gold)[0] - path_scores(chains, y)[0]

    labellings = [np.array(y) for y in itertools.product(range(Y), repeat=data.n_tokens)]
    losses = [np.sum(y != gold) - margin(before, y) for y in labellings]
    worst = labellings[int(np.argmax(losses))]
    w = passive_aggressive(data, Y, C=1e9, passes=1, average=False, w=w0)
    after = score_chains(w, shape, data)
    if max(losses) > 1e-9:
        assert margin(after, worst) == pytest.approx(np.sum(worst != gold), abs=1e-9)
    else:
        np.testing.assert_allclose(w, w0, atol=1e-12)
    capped = passive_aggressive(data, Y, C=1e-3, passes=1, average=False, w=w0)
    assert margin(score_chains(capped, shape, data), worst) <= np.sum(worst != gold) + 1e-9


def test_training_goes_on_from_given_weights_and_stops_when_told():
    data = random_data(2)
    seen = []
    w = perceptron(data, Y, passes=5, after_pass=lambda number, w: seen.append((number, w)) or number == 2)
    assert [number for number, _ in seen] == [1, 2]
    assert np.array_equal(w, seen[1][1])
    assert np.array_equal(w, perceptron(data, Y, passes=2))
    w0 = w.copy()
    perceptron(data, Y, passes=1, w=w0)
    assert np.array_equal(w, w0)
    assert np.array_equal(perceptron(data, Y, passes=0, w=w0), w0)


def test_bad_options_of_the_perceptrons():
    data = random_data(2)
    with pytest.raises(OptionError, match="variant"):
        passive_aggressive(data, Y, variant=3)
    with pytest.raises(OptionError, match="C must"):
        passive_aggressive(data, Y, C=0)
    with pytest.raises(OptionError, match="w has 2 weights"):
        perceptron(data, Y, w=np.zeros(2))
    with pytest.raises(OptionError, match="must be below 2"):
        perceptron(data, 2)
    with pytest.raises(InputError, match="without labels"):
        perceptron(Sequences(data.offsets, data.unigrams, data.bigrams), Y)


# ------------------------------------------------------------------------------------------------ HMM


def random_hmm(seed, n_symbols=4, unknown=0.1, zeros=False):
    rng = np.random.default_rng(seed)
    q, a, b = (
        rng.dirichlet(np.ones(Y)),
        rng.dirichlet(np.ones(Y), Y),
        rng.dirichlet(np.ones(n_symbols), Y),
    )
    if zeros:
        q, a, b = np.eye(Y)[0], np.eye(Y)[[1, 2, 0]], np.eye(n_symbols)[[0, 1, 2]]
    return HMM(q, a, b * (1 - unknown))


def joint(hmm, x, y):
    """p(x, y), by the definition."""
    emits = np.column_stack([hmm.emission, hmm.unknown])
    p = hmm.initial[y[0]] * emits[y[0], x[0]]
    for t in range(1, len(x)):
        p *= hmm.transition[y[t - 1], y[t]] * emits[y[t], x[t]]
    return p


def test_an_hmm_is_what_enumeration_says():
    hmm = random_hmm(0)
    x = np.array([0, 3, -1, 2, 1])
    labellings = list(itertools.product(range(Y), repeat=len(x)))
    p = np.array([joint(hmm, x, y) for y in labellings])
    chains = hmm.chains(x, [0, 5])
    labels, score = viterbi(chains)
    assert tuple(labels) == labellings[p.argmax()]
    assert score[0] == pytest.approx(np.log(p.max()))
    assert marginals(chains)[1][0] == pytest.approx(np.log(p.sum()))
    assert hmm.log_likelihood(x, [0, 5])[0] == pytest.approx(np.log(p.sum()))
    of_first = [sum(q for q, y in zip(p, labellings) if y[0] == label) for label in range(Y)]
    np.testing.assert_allclose(marginals(chains)[0][0], np.array(of_first) / p.sum())


def test_likelihoods_of_sentences_of_all_lengths_and_of_impossible_ones():
    hmm = random_hmm(1)
    lengths = [3, 0, 40, 1, 7]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = np.random.default_rng(0).integers(-1, 4, offsets[-1])
    np.testing.assert_allclose(hmm.log_likelihood(x, offsets), marginals(hmm.chains(x, offsets))[1])
    strict = random_hmm(1, unknown=0.0, zeros=True)
    assert strict.log_likelihood([0, 1, 2, 0, 0, 0, 0, 1], [0, 4, 7, 8]).tolist() == [0.0, -np.inf, -np.inf]


def test_hmmlearn_agrees():
    hmmlearn = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn (extra: bench) is not installed")
    hmm = random_hmm(2, unknown=0.0)
    peer = hmmlearn.CategoricalHMM(n_components=Y)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = hmm.initial, hmm.transition, hmm.emission
    x, offsets, _ = hmm.sample(5, 30, np.random.default_rng(0))
    lengths, column = np.diff(offsets), x[:, None]
    assert hmm.log_likelihood(x, offsets).sum() == pytest.approx(peer.score(column, lengths))
    assert np.array_equal(viterbi(hmm.chains(x, offsets))[0], peer.predict(column, lengths))
    np.testing.assert_allclose(marginals(hmm.chains(x, offsets))[0], peer.predict_proba(column, lengths))


def test_counting_finds_the_matrices_of_a_large_sample():
    hmm = random_hmm(3, unknown=0.0)
    x, offsets, y = hmm.sample(20_000, 10, np.random.default_rng(0))
    fitted = HMM.fit(x, offsets, y, Y, 4)
    for name in ("initial", "transition", "emission"):
        np.testing.assert_allclose(getattr(fitted, name), getattr(hmm, name), atol=0.015)
    unknown = random_hmm(3).sample(100, 10, np.random.default_rng(0))[0]
    assert 0.05 < np.mean(unknown == -1) < 0.15


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), smoothing=st.sampled_from([0.0, 0.1, 1.0]))
def test_counts_and_the_mass_of_the_unknown(seed, smoothing):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, 8)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    T, S = int(offsets[-1]), 12
    x, y = rng.integers(-1, S, T), rng.integers(-1, Y, T)
    starts, moves, new, old = np.zeros(Y), np.zeros((Y, Y)), np.zeros(Y), np.zeros(Y)
    emitted = np.zeros((Y, S))
    for a, b in itertools.pairwise(offsets):
        for t in range(a, b):
            if y[t] < 0:
                continue
            if t == a:
                starts[y[t]] += 1
            elif y[t - 1] >= 0:
                moves[y[t - 1], y[t]] += 1
            if x[t] >= 0:
                emitted[y[t], x[t]] += 1
            is_new = x[t] < 0 or np.sum(x == x[t]) == 1
            (new if is_new else old)[y[t]] += 1
    hmm = HMM.fit(x, offsets, y, Y, S, smoothing=smoothing)  # whose laws are checked to sum to 1
    for law, counts in ((hmm.initial, starts), (hmm.transition, moves)):
        smooth = counts + smoothing
        total = smooth.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(law * total, np.where(total > 0, smooth, 0), atol=1e-12)
    np.testing.assert_allclose(hmm.unknown * (new + old + 2 * smoothing), new + smoothing, atol=1e-12)
    known = (emitted + smoothing) * (1 - hmm.unknown[:, None])
    np.testing.assert_allclose(
        hmm.emission * (emitted + smoothing).sum(axis=1, keepdims=True), known, atol=1e-12
    )


def test_bad_input_of_the_hmm():
    with pytest.raises(OptionError, match="transition must hold probabilities"):
        HMM([0.5, 0.5], [[0.5, 0.4], [0.5, 0.5]], [[1.0], [1.0]])
    with pytest.raises(OptionError, match="transition must be"):
        HMM([0.5, 0.5], [[1.0]], [[1.0], [1.0]])
    hmm = random_hmm(0)
    with pytest.raises(InputError, match="symbols must be"):
        hmm.chains([4], [0, 1])
    with pytest.raises(InputError, match="offsets"):
        hmm.chains([0, 1], [0, 1])
    with pytest.raises(InputError, match="labels must be"):
        HMM.fit([0, 1], [0, 2], [0, 3], Y, 4)


# ----------------------------------------------------------------------------------------------- MEMM


def local_log_probability(w, shape, data, t, before):
    """log p(· | before, x_t), naively."""
    chains = score_chains(w, shape, data)
    scores = chains.scores[t] + chains.edges[t, before]
    return scores - np.log(np.exp(scores).sum())


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("bigrams", ["none", "always", "some"])
@pytest.mark.parametrize("real", [True, False])
def test_the_memm_loss_and_its_gradient(start, bigrams, real):
    data = random_data(4, n=6, real=real, bigrams=bigrams, partial=True, weights=True)
    loss = MEMMLoss(data, Y, start=start, threads=2)
    assert loss.shape == Shape(5, data.bigrams.n, Y, start)
    w = np.random.default_rng(0).normal(size=loss.n_params)
    expected = 0.0
    for i, (a, b) in enumerate(itertools.pairwise(data.offsets)):
        for t in range(a, b):
            before = Y if t == a else data.labels[t - 1]
            if data.labels[t] >= 0 and before >= 0:
                expected -= (
                    data.weights[i] * local_log_probability(w, loss.shape, data, t, before)[data.labels[t]]
                )
    value, gradient = loss.value_and_grad(w)
    assert value == pytest.approx(expected)
    error = check_grad(lambda v: loss.value_and_grad(v)[0], lambda v: loss.value_and_grad(v)[1], w)
    assert error < 1e-5 * max(np.linalg.norm(gradient), 1)


def test_the_memm_is_scikit_learns_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    data = random_data(5, n=30, real=True)
    loss = MEMMLoss(data, Y)
    rows = Y + 1
    X = np.zeros((data.n_tokens, 5 + 2 * rows))
    for a, b in itertools.pairwise(data.offsets):
        for t in range(a, b):
            for o, value in values_at(data.unigrams, t):
                X[t, o] += value
            for o, value in values_at(data.bigrams, t):
                X[t, 5 + o * rows + (Y if t == a else data.labels[t - 1])] += value
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, data.labels)
    solution = solve(loss, L2(1.0), "lbfgs", tol=1e-9)
    np.testing.assert_allclose(solution.w.reshape(-1, Y), peer.coef_.T, atol=1e-5)


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("bigrams", ["none", "always", "some"])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_the_chains_of_a_memm_score_log_probabilities(start, bigrams, scale):
    data = random_data(6, n=6, longest=4, real=True, bigrams=bigrams)
    shape = Shape(5, data.bigrams.n, Y, start)
    w = scale * np.random.default_rng(0).normal(size=shape.n_params)
    chains = memm_chains(w, shape, data)
    loss = MEMMLoss(data, Y, start=start)
    assert path_scores(chains, data.labels).sum() == pytest.approx(-loss.value_and_grad(w)[0])
    np.testing.assert_allclose(marginals(chains)[1], 0.0, atol=1e-9 * scale)
    for i, (a, b) in enumerate(itertools.pairwise(data.offsets)):
        for y in itertools.product(range(Y), repeat=int(b - a)) if scale == 1.0 else ():
            labels = data.labels.copy()
            labels[a:b] = y
            before = [Y, *y]
            expected = sum(
                local_log_probability(w, shape, data, a + k, before[k])[y[k]] for k in range(len(y))
            )
            assert path_scores(chains, labels)[i] == pytest.approx(expected)


def test_bad_input_of_the_memm():
    data = random_data(6)
    with pytest.raises(OptionError, match="do not match"):
        memm_chains(np.zeros(3), Shape(5, 2, Y), data)
    with pytest.raises(OptionError, match="must be below 2"):
        MEMMLoss(data, 2)
    with pytest.raises(InputError, match="without labels"):
        MEMMLoss(Sequences(data.offsets, data.unigrams, data.bigrams), Y)


def test_no_sentences_at_all():
    none = Observations(np.zeros(1, np.int64), np.empty(0, np.int32), 2)
    data = Sequences(np.zeros(1, np.int64), none, none, np.empty(0, np.int32))
    assert not perceptron(data, Y).any()
    loss = MEMMLoss(data, Y)
    assert loss.value_and_grad(np.ones(loss.n_params))[0] == 0.0
    assert len(memm_chains(np.ones(loss.n_params), loss.shape, data)) == 0
