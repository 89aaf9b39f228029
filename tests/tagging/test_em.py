"""Hidden Markov models that learn from unlabelled sentences, against enumeration."""

from dataclasses import replace
from itertools import islice, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import OptionError, SettingError
from spinney.inference.decoding import viterbi
from spinney.tagging import Tagger, fit
from spinney.tagging.em import SMOOTHING, Text, em, taught
from spinney.tagging.hmm import HMM, counts_of
from spinney.tagging.sequences import Observations, Sequences

Y, S = 3, 5


def random_hmm(seed, unknown=0.1, zeros=False):
    rng = np.random.default_rng(seed)
    q, a, b = (rng.dirichlet(np.full(n, 0.7), size) for n, size in ((Y, None), (Y, Y), (S, Y)))
    if zeros:
        q, a = np.eye(Y)[0], np.eye(Y)[[1, 2, 0]]
        b = np.eye(S)[:Y]
    return HMM(q, a, b * (1 - unknown))


def random_text(seed, lengths=(3, 0, 1, 4, 2), *, low=-1):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return np.random.default_rng(seed).integers(low, S, offsets[-1]), offsets


def enumerated(hmm, x, offsets):
    """Expected counts by the definition: a sum over all labellings of each sentence."""
    emits = np.column_stack([hmm.emission, hmm.unknown])
    starts, moves, emitted = np.zeros(Y), np.zeros((Y, Y)), np.zeros((Y, S))
    for a, b in pairwise(offsets):
        ways = []
        for y in product(range(Y), repeat=int(b - a)):
            p = 1.0
            for t, label in enumerate(y):
                p *= (hmm.transition[y[t - 1], label] if t else hmm.initial[label]) * emits[label, x[a + t]]
            ways.append((y, p))
        total = sum(p for _, p in ways)
        for y, p in ways if b > a and total > 0 else ():
            starts[y[0]] += p / total
            for t, label in enumerate(y):
                if t:
                    moves[y[t - 1], label] += p / total
                if x[a + t] >= 0:
                    emitted[label, x[a + t]] += p / total
    return starts, moves, emitted


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_expected_counts_are_those_of_enumeration(seed, zeros):
    hmm = random_hmm(seed, zeros=zeros)  # with zeros, most sentences are impossible
    x, offsets = random_text(seed)
    for found, wanted in zip(hmm.expected(x, offsets), enumerated(hmm, x, offsets), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_expected_counts_of_long_sentences_add_up():
    x, offsets = random_text(1, lengths=(400, 7, 400))
    found = random_hmm(1).expected(x, offsets)
    assert found.starts.sum() == pytest.approx(3)
    assert found.moves.sum() == pytest.approx(399 + 6 + 399)
    np.testing.assert_allclose(found.emitted.sum(axis=0), np.bincount(x[x >= 0], minlength=S))


def counts_by_hand(x, offsets, y):
    starts, moves, emitted = np.zeros(Y), np.zeros((Y, Y)), np.zeros((Y, S))
    for a, b in pairwise(offsets):
        for t in range(a, b):
            if t == a:
                starts[y[t]] += 1
            else:
                moves[y[t - 1], y[t]] += 1
            if x[t] >= 0:
                emitted[y[t], x[t]] += 1
    return starts, moves, emitted


@pytest.fixture
def texts():
    rng = np.random.default_rng(3)
    x, offsets = random_text(5, lengths=(4, 3, 5, 2, 4))
    x = np.where(x >= 3, 2, x)  # symbols 3 and 4 are only in the unlabelled sentences
    labelled = Text(x, offsets, rng.integers(0, Y, len(x)))
    return labelled, Text(*random_text(6, lengths=(3, 4, 4, 1, 0, 3), low=0))


def test_counts_are_counted_one_by_one(texts):
    labelled, _ = texts
    found = counts_of(labelled.symbols, labelled.offsets, labelled.labels, Y, S)
    for one, other in zip(
        found, counts_by_hand(labelled.symbols, labelled.offsets, labelled.labels), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_a_pass_is_the_formula(texts, weight):
    labelled, unlabelled = texts
    counted, first, second = islice(em(labelled, unlabelled, Y, S, weight=weight), 3)
    known = counts_by_hand(labelled.symbols, labelled.offsets, labelled.labels)
    is_known = np.isin(np.arange(S), labelled.symbols)
    assert is_known.tolist() == [True, True, True, False, False]
    start = HMM.fit(labelled.symbols, labelled.offsets, labelled.labels, Y, 3, smoothing=SMOOTHING)
    np.testing.assert_allclose(counted.emission[:, :3], start.emission)
    both = [*labelled.symbols, *unlabelled.symbols]
    again = np.array([both.count(symbol) > 1 for symbol in range(S)])
    unknown = None
    for before, after in ((counted, first), (first, second)):
        more = enumerated(before, unlabelled.symbols, unlabelled.offsets)
        starts, moves, emitted = (a + weight * b for a, b in zip(known, more))
        if unknown is None:  # after the first pass, it stays
            all_tokens = starts + moves.sum(axis=0)
            new = all_tokens - emitted[:, again].sum(axis=1)
            unknown = (new + SMOOTHING) / (all_tokens + 2 * SMOOTHING)
        starts, moves = starts + SMOOTHING, moves + SMOOTHING
        emitted = emitted + SMOOTHING * is_known
        np.testing.assert_allclose(after.initial, starts / starts.sum())
        np.testing.assert_allclose(after.transition, moves / moves.sum(axis=1, keepdims=True))
        share = (1 - unknown)[:, None]
        np.testing.assert_allclose(after.emission, share * emitted / emitted.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(after.unknown, unknown)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 1.0]))
def test_every_pass_raises_the_posterior(seed, weight):
    rng = np.random.default_rng(seed)
    x, offsets = random_text(seed, lengths=(5, 4, 6))
    x = np.where(x >= 3, 1, x)
    labelled = Text(x, offsets, rng.integers(0, Y, len(x)))
    unlabelled = Text(*random_text(seed + 1, lengths=(5, 6, 4, 3), low=0))
    is_known = np.isin(np.arange(S), x)
    starts, moves, emitted = counts_by_hand(x, offsets, labelled.labels)

    def posterior(hmm):
        laws = hmm.emission / (1 - hmm.unknown)[:, None]
        value = ((starts + SMOOTHING) * np.log(hmm.initial)).sum()
        value += ((moves + SMOOTHING) * np.log(hmm.transition)).sum()
        value += ((emitted + SMOOTHING)[:, is_known] * np.log(laws[:, is_known])).sum()
        return value + weight * hmm.log_likelihood(unlabelled.symbols, unlabelled.offsets).sum()

    values = [posterior(hmm) for hmm in islice(em(labelled, unlabelled, Y, S, weight=weight), 1, 8)]
    assert np.all(np.diff(values) > -1e-9 * np.abs(values[0]))
    assert values[-1] > values[0]


def test_without_a_pass_the_model_is_the_counted_one():
    X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 6
    y = [["D", "N", "V"], ["D", "N", "V"]] * 6
    alone = fit((X, y), method="hmm")
    kept = fit((X, y), method="hmm", unlabelled=[["the", "fox", "runs"]] * 3)
    assert kept.facts["em_passes"] == 0  # there is nothing to gain
    assert kept.facts["criterion"] == "supervised"
    assert "no pass over 3 unlabelled sentences, of 0 to 10" in kept.facts["em"]
    test = [["a", "fox", "barks"], ["unheard", "of", "words"], ["the", "cat", "runs"]]
    for one, other in zip(alone.predict_marginals(test), kept.predict_marginals(test), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)  # weights are stored in single precision


def test_the_number_of_passes_is_that_with_the_fewest_errors_on_held_out_sentences():
    """Words are mostly seen in unlabelled sentences, where the chain tells their labels."""
    rng = np.random.default_rng(0)
    words = [[f"{label}{i}" for i in range(40)] for label in "ABC"]

    def sentence():
        labels = [int(rng.integers(3))]
        while len(labels) < 6:  # mostly the next label, sometimes another
            labels.append(int((labels[-1] + (1 if rng.random() < 0.8 else rng.integers(3))) % 3))
        return [(words[y][rng.integers(40)], "ABC"[y]) for y in labels]

    few, many, test = ([sentence() for _ in range(n)] for n in (25, 400, 60))
    X, y = ([[row[i] for row in s] for s in few] for i in (0, 1))
    how = {"method": "hmm", "unlabelled": [[word for word, _ in s] for s in many]}
    tagger, alone = fit((X, y), **how), fit((X, y), method="hmm")
    assert tagger.facts["em_passes"] > 0
    assert tagger.facts["criterion"] == "em"
    assert tagger.facts["solver"] == "em"
    errors = tagger.facts["em_errors"]
    assert errors[tagger.facts["em_passes"]] == min(errors)
    assert f"{tagger.facts['em_passes']} pass" in tagger.facts["em"]
    test_X, test_y = ([[row[i] for row in s] for s in test] for i in (0, 1))
    assert 1 - tagger.score(test_X, test_y) < 0.5 * (1 - alone.score(test_X, test_y))
    given_passes = fit((X, y), passes=tagger.facts["em_passes"], **how)
    np.testing.assert_array_equal(given_passes.weights_.full(), tagger.weights_.full())
    assert (
        given_passes.facts["em"]
        == f"{given_passes.facts['em_passes']} pass"
        + ("es over" if given_passes.facts["em_passes"] > 1 else " over")
        + " 400 unlabelled sentences"
    )


def test_errors_on_held_out_sentences_are_those_of_models_of_the_others():
    rng = np.random.default_rng(1)
    x, offsets = random_text(8, lengths=(4,) * 15, low=0)
    labels = (x + (rng.random(len(x)) < 0.3)) % Y
    seen = Observations(np.arange(len(x) + 1), x.astype(np.int32), S + 1)
    always = Observations.always(len(x))
    unlabelled = Sequences(offsets, seen, always)
    x[7] = S  # a symbol that occurs once: when it is held out, it is unknown
    once = replace(seen, ids=x.astype(np.int32))
    labelled = Sequences(offsets, once, always, labels.astype(np.int32))
    found = taught(labelled, unlabelled, Y, passes=None, weight=1.0)
    parts = np.array_split(np.random.default_rng(0).permutation(15), 5)
    wrong = np.zeros(11)
    for part in parts:
        rest = labelled.take(np.setdiff1d(np.arange(15), part))
        held_out = labelled.take(np.sort(part))
        models = em(Text.of(rest), Text.of(unlabelled), Y, S + 1)
        symbols = np.where(held_out.unigrams.ids == S, -1, held_out.unigrams.ids)
        for i, model in enumerate(islice(models, 11)):
            guessed = viterbi(model.chains(symbols, held_out.offsets))[0]
            wrong[i] += np.count_nonzero(guessed != held_out.labels)
    np.testing.assert_allclose(found.errors, wrong / len(x))
    assert found.held_out == 15


def test_misuse_is_refused():
    X, y = [["a", "b"]] * 4, [["A", "B"]] * 4
    with pytest.raises(SettingError, match="passes has no effect without unlabelled"):
        fit((X, y), method="hmm", passes=3)
    with pytest.raises(SettingError, match="unlabelled_weight has no effect without unlabelled"):
        fit((X, y), method="hmm", unlabelled_weight=0.5)
    with pytest.raises(SettingError, match="unlabelled_weight must be greater than 0"):
        fit((X, y), method="hmm", unlabelled=X, unlabelled_weight=0.0)
    with pytest.raises(SettingError, match="criterion is a setting of the method crf"):
        fit((X, y), method="hmm", unlabelled=X, criterion="weighted")
    with pytest.raises(OptionError, match="one observation per token"):
        Tagger("U:%x[0,0]\nU:%x[-1,0]\nB", method="hmm").fit(X, y, unlabelled=X)
