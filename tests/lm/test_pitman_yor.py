"""Pitman-Yor models: against Kneser-Ney by its definition, and all seatings of a toy text."""

import os
from collections import Counter
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import read_text, sentence_arrays
from spinney.errors import InputError, OptionError
from spinney.lm.memoizer import sequence_memoizer
from spinney.lm.pitman_yor import (
    PitmanYor,
    Restaurants,
    draw_parameters,
    kneser_ney_discounts,
    one_table_customers,
    pitman_yor,
    sampled_model,
)
from spinney.lm.stream import stream_of
from spinney.lm.suffixtrie import suffix_trie

texts = st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=8)
TOY = [["a"]] * 5 + [["b"]]


def kneser_ney(sentences, order, discounts, outcomes):
    """Interpolated Kneser-Ney from its definition: p(word, history), the history a tuple that begins with <s>."""
    grams = Counter()
    for sentence in sentences:
        padded = ("<s>", *sentence, "</s>")
        for i in range(1, len(padded)):
            for n in range(1, min(i + 1, order) + 1):
                grams[padded[i + 1 - n : i + 1]] += 1
    counts = {}
    for gram, count in grams.items():
        raw = len(gram) == order or gram[0] == "<s>"
        counts[gram] = count if raw else len({g[0] for g in grams if g[1:] == gram})

    def p(word, context):
        lower = 1 / len(outcomes) if not context else p(word, context[1:])
        following = {w: counts[*context, w] for w in outcomes if (*context, w) in counts}
        if not following:
            return lower
        d, total = discounts[len(context)], sum(following.values())
        return (max(following.get(word, 0) - d, 0) + d * len(following) * lower) / total

    return lambda word, history: p(word, history[max(0, len(history) - order + 1) :])


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(1, 4), st.lists(st.floats(0.05, 0.95), min_size=4, max_size=4))
def test_one_table_is_interpolated_kneser_ney(sentences, order, discounts):
    text = sentence_arrays([*sentences, ["a", "b", "c", "a"]])
    outcomes = [*text.vocabulary.words, "</s>"]
    model = pitman_yor(text, order, method="one-table", discounts=discounts[:order])
    p = kneser_ney([*sentences, ["a", "b", "c", "a"]], order, discounts, outcomes)
    histories = {tuple(s[:i]) for s in sentences for i in range(len(s) + 1)} | {("c", "c"), ("b", "c", "b")}
    for history in histories:
        expected = [p(word, ("<s>", *history)) for word in outcomes]
        found = model.distribution(model.history(history, start=True))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_default_discounts_of_one_table():
    text = sentence_arrays([list(s) for s in ("abcab", "abd", "cab", "bcd", "ddab")])
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 1)
    customers = one_table_customers(trie)
    bigrams = [count for g, count in enumerate(customers) if trie.depth[trie.context[g]] == 1]
    n1, n2 = bigrams.count(1), bigrams.count(2)
    assert n1 > 0
    assert n2 > 0
    assert kneser_ney_discounts(customers, trie)[1] == n1 / (n1 + 2 * n2)
    model = pitman_yor(text, 2, method="one-table")
    assert model.facts["discounts"][1] == n1 / (n1 + 2 * n2)
    assert model.facts["concentrations"] == [0.0, 0.0]


@settings(max_examples=20, deadline=None)
@given(texts, st.integers(1, 4), st.integers(0, 5))
def test_probabilities_sum_to_one(sentences, order, seed):
    text = sentence_arrays([*sentences, ["a", "b"]], unknown="<unk>")
    model = pitman_yor(text, order, sweeps=3, random_state=seed)
    for history in [*sentences, ["a"], ["b", "b"], []]:
        for start in (True, False):
            p = model.distribution(model.history(history, start=start))
            assert p.min() > 0
            assert abs(p.sum() - 1) < 1e-10


# -- all seatings of a toy text ---------------------------------------------------------------------------


def partitions(n):
    """The sizes of the blocks of the partitions of n things, and how many partitions have them."""
    found = Counter({(): 1})
    for _ in range(n):
        larger = Counter()
        for sizes, ways in found.items():
            larger[tuple(sorted((*sizes, 1)))] += ways
            for k in range(len(sizes)):
                larger[tuple(sorted((*sizes[:k], sizes[k] + 1, *sizes[k + 1 :])))] += ways
        found = larger
    return found.items()


def rising(x, n, step):
    return prod((x + i * step for i in range(n)), start=1.0)


def restaurant(dishes, d, theta):
    """The probability of a restaurant whose dishes have tables of these sizes, without that of the dishes."""
    sizes = [n for dish in dishes for n in dish]
    if not sizes:
        return 1.0
    weight = rising(theta + d, len(sizes) - 1, d) / rising(theta + 1, sum(sizes) - 1, 1.0)
    return weight * prod((rising(1 - d, n - 1, 1.0) for n in sizes), start=1.0)


def predictive(dishes, d, theta, above):
    """Of each dish."""
    guests, laid = sum(map(sum, dishes)), sum(map(len, dishes))
    return [(sum(s) - d * len(s) + (theta + d * laid) * p) / (theta + guests) for s, p in zip(dishes, above)]


def toy_seatings():
    """The seatings of TOY's bigrams: (a, b after <s>), (</s> after a), (</s> after b), (a, b, </s> after nothing).

    And how many there are with tables of these sizes.
    """
    for (after_start, m1), (after_a, m2) in product(partitions(5), repeat=2):
        for (root_a, m3), (root_end, m4) in product(
            partitions(len(after_start)), partitions(len(after_a) + 1)
        ):
            yield (after_start, (1,)), (after_a,), ((1,),), (root_a, (1,), root_end), m1 * m2 * m3 * m4


def toy_posterior_mean(d, theta):
    """The exact mean of p(a | <s>), p(b | <s>), p(</s> | a), p(a), p(b), p(</s>)."""
    total, mean = 0.0, np.zeros(6)
    for start, a, b, root, ways in toy_seatings():
        weight = ways * (1 / 3) ** sum(map(len, root)) * restaurant(root, d[0], theta[0])
        weight *= prod(restaurant(dishes, d[1], theta[1]) for dishes in (start, a, b))
        above = predictive(root, d[0], theta[0], [1 / 3] * 3)
        values = (
            predictive(start, d[1], theta[1], above[:2]) + predictive(a, d[1], theta[1], above[2:]) + above
        )
        total += weight
        mean += weight * np.array(values)
    return mean / total


def batch_means(samples, batches=50):
    """The mean of correlated samples, and its standard error."""
    means = np.array([part.mean(axis=0) for part in np.array_split(np.array(samples), batches)])
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(batches)


def toy_trie():
    text = sentence_arrays(TOY)
    return suffix_trie(stream_of(text), 2, 1)


def grams_of(trie):
    """The grams in the order of toy_posterior_mean."""
    start, a = (int(np.flatnonzero((trie.older == symbol) & (trie.depth == 1))[0]) for symbol in (3, 0))
    wanted = [(start, 0), (start, 1), (a, 2), (0, 0), (0, 1), (0, 2)]
    return [int(np.flatnonzero((trie.context == u) & (trie.symbol == w))[0]) for u, w in wanted]


@pytest.mark.parametrize(
    ("d", "theta"), [([0.4, 0.7], [0.5, 2.0]), ([0.6, 0.3], [0.0, 0.0]), ([0.2, 0.9], [3.0, 0.1])]
)
def test_sampling_against_all_seatings(d, theta):
    trie = toy_trie()
    grams = grams_of(trie)
    discount, concentration = np.array(d)[trie.depth], np.array(theta)[trie.depth]
    seated = Restaurants(trie, discount, concentration, np.random.default_rng(0))
    samples = []
    for _ in range(15_000):
        seated.sweep(discount, concentration)
        values = seated.customers.astype(float), seated.tables.astype(float)
        samples.append(PitmanYor(trie, *values, discount, concentration).probabilities()[0][grams])
    mean, error = batch_means(samples)
    assert error.max() < 0.003
    assert np.all(np.abs(mean - toy_posterior_mean(d, theta)) < 4 * error)


def test_the_seating_stays_consistent():
    text = sentence_arrays([list(s) for s in ("abcab", "abd", "cab", "bcd", "ddab")])
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 3)
    ones = np.ones(trie.n_contexts)
    seated = Restaurants(trie, 0.5 * ones, ones, np.random.default_rng(3))
    events = np.bincount(trie.event_gram, minlength=trie.n_grams)
    for _ in range(50):
        seated.sweep(0.5 * ones, ones)
        inner = trie.up >= 0
        sent = np.bincount(trie.up[inner], seated.tables[inner], trie.n_grams)
        assert np.array_equal(seated.customers, events + sent)
        assert np.all((seated.tables >= 1) & (seated.tables <= seated.customers))
        assert np.array_equal(seated.guests, np.bincount(trie.context, seated.customers))
        assert np.array_equal(seated.laid, np.bincount(trie.context, seated.tables))
        context, size = seated.shared_tables()
        alone = seated.laid.sum() - len(size)
        assert size.sum() + alone == seated.guests.sum()
        assert np.all(np.bincount(context, size - 1, trie.n_contexts) == seated.guests - seated.laid)


def test_parameters_against_the_integral_over_them():
    trie = toy_trie()
    rng = np.random.default_rng(1)
    d, theta = np.full(2, 0.5), np.ones(2)
    seated = Restaurants(trie, d[trie.depth], theta[trie.depth], rng)
    samples = []
    for _ in range(15_000):
        seated.sweep(d[trie.depth], theta[trie.depth])
        d, theta = draw_parameters(seated, d, theta, rng)
        samples.append([*d, *theta])
    mean, error = batch_means(samples)

    nodes, weights = np.polynomial.legendre.leggauss(30)
    discounts = (nodes + 1) / 2
    thetas, laguerre = np.polynomial.laguerre.laggauss(30)  # Gamma(1, 1) is e^-θ
    grid_d, grid_theta = (g.ravel() for g in np.meshgrid(discounts, thetas, indexing="ij"))
    grid_weight = np.outer(weights / 2, laguerre).ravel()
    total, expected = 0.0, np.zeros(4)
    for start, a, b, root, ways in toy_seatings():
        upper = ways * (1 / 3) ** sum(map(len, root)) * restaurant(root, grid_d, grid_theta) * grid_weight
        lower = restaurant(start, grid_d, grid_theta) * restaurant(a, grid_d, grid_theta) * grid_weight
        lower = lower * restaurant(b, grid_d, grid_theta)
        total += upper.sum() * lower.sum()
        expected[[0, 2]] += np.array([upper @ grid_d, upper @ grid_theta]) * lower.sum()
        expected[[1, 3]] += np.array([lower @ grid_d, lower @ grid_theta]) * upper.sum()
    assert error.max() < 0.04
    assert np.all(np.abs(mean - expected / total) < 4 * error)


# -- the function -------------------------------------------------------------------------------------------


def test_a_seed_gives_one_model():
    text = sentence_arrays([list(s) for s in ("abcab", "abd", "cab", "bcd", "ddab")])
    seen = []
    one, same, other = (
        pitman_yor(text, 3, sweeps=6, random_state=s, callback=seen.append) for s in (1, 1, 2)
    )
    assert np.array_equal(one.logp, same.logp)
    assert not np.array_equal(one.logp, other.logp)
    assert [s.number for s in seen] == [1, 2, 3, 4, 5, 6] * 3
    assert seen[0].discounts.shape == seen[0].concentrations.shape == (3,)


def test_parameters_stay_if_they_are_not_drawn():
    trie = toy_trie()
    model = sampled_model(trie, sweeps=4, discounts=[0.3, 0.6], concentrations=2.0, resample=False)
    assert np.allclose(model.discount, np.array([0.3, 0.6])[trie.depth])
    assert np.all(model.concentration == 2.0)


@pytest.mark.parametrize(
    "options",
    [
        {"order": 0},
        {"method": "variational"},
        {"sweeps": 0},
        {"sweeps": 5, "burn_in": 5},
        {"burn_in": -1},
        {"discounts": 1.0},
        {"discounts": -0.1},
        {"discounts": [0.5] * 4},
        {"discounts": float("nan")},
        {"concentrations": -1.0},
        {"concentrations": float("inf")},
        {"discounts": 0.0, "concentrations": 0.0, "method": "one-table"},
    ],
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        pitman_yor(sentence_arrays(TOY), **{"order": 2, **options})


def test_bad_texts():
    with pytest.raises(InputError, match="no sentence"):
        pitman_yor(sentence_arrays([]), 2)
    with pytest.raises(InputError, match="</s>"):
        pitman_yor(sentence_arrays([["a", "</s>"]]), 2)


@pytest.mark.slow
def test_penn_treebank():
    folder = os.environ.get("SPINNEY_DATA")
    if folder is None:
        pytest.skip("SPINNEY_DATA is not set: the Penn Treebank text is there")
    path = Path(folder) / "ptb_lm"
    train = read_text(path / "ptb.train.txt.xz")
    test = read_text(path / "ptb.test.txt.xz", vocabulary=train.vocabulary)
    assert (
        pitman_yor(train, 5, sweeps=20).perplexity(test).perplexity < 141.1862
    )  # modified Kneser-Ney (KenLM)


def test_an_interruption_keeps_what_was_sampled():
    """Ctrl-C during the sweeps: the mean so far, and a note."""
    text = sentence_arrays([["a", "rose", "is", "a", "rose"], ["a", "nose", "is", "a", "nose"]])

    def stop(sweep):
        if sweep.number == 3:
            raise KeyboardInterrupt

    for model in (
        pitman_yor(text, 3, sweeps=50, callback=stop),
        sequence_memoizer(text, sweeps=50, callback=stop),
    ):
        assert model.facts["interrupted"] is True
        assert model.distribution(model.history(["is"], start=False)).sum() == pytest.approx(1.0)
    assert pitman_yor(text, 3, sweeps=5).facts["interrupted"] is False
