"""Phrases of chains against the enumeration of all labellings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, OptionError
from spinney.evaluate.chunks import allowed_ends, allowed_transitions, chunks
from spinney.inference.chains import Chains
from spinney.inference.phrases import Phrases, f1_choice, find_phrases, phrase_probabilities
from spinney.tagging.phrases import spelling

LABELS = {
    "iob1": ("B-X", "I-X", "I-Y", "O"),
    "iob2": ("B-X", "B-Y", "I-X", "I-Y", "O"),
    "bioes": ("B-X", "E-X", "I-X", "O", "S-X", "S-Y"),
    "plain": ("B", "I", "O"),
}


def random_chains(seed, lengths, Y, spread):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    T = int(offsets[-1])
    scores, edges = rng.normal(scale=spread, size=(T, Y)), rng.normal(scale=spread, size=(2, Y + 1, Y))
    return Chains(offsets, scores, rng.integers(2, size=T), edges)


def enumerated(chains, labels, i):
    """The probability of every phrase of sentence i: the sum over all labellings in which ``chunks`` finds it."""
    a, b = chains.offsets[i], chains.offsets[i + 1]
    ways, scores = [], []
    for numbers in itertools.product(range(len(labels)), repeat=int(b - a)):
        before, score = len(labels), 0.0
        for t, y in zip(range(a, b), numbers):
            score += chains.edges[chains.kinds[t], before, y] + chains.scores[t, y]
            before = y
        ways.append(numbers)
        scores.append(score)
    weights = np.exp(np.array(scores) - max(scores))
    found = {}
    for numbers, p in zip(ways, weights / weights.sum()):
        for kind, start, stop in chunks([labels[y] for y in numbers]):
            found[start, stop, kind] = found.get((start, stop, kind), 0.0) + p
    return found


def listed(found, types, i):
    where = slice(found.bounds[i], found.bounds[i + 1])
    columns = (found.start[where], found.stop[where], found.kind[where], found.probability[where])
    return {(a, b, types[k]): p for a, b, k, p in zip(*(of.tolist() for of in columns))}


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=2),
    scheme=st.sampled_from(sorted(LABELS)),
    valid=st.booleans(),
    spread=st.sampled_from([1.0, 5.0, 300.0]),
)
def test_the_probability_of_every_phrase_is_that_of_the_labellings_that_have_it(
    seed, lengths, scheme, valid, spread
):
    labels = LABELS[scheme]
    chains = random_chains(seed, lengths, len(labels), spread)
    if valid and scheme != "plain":
        chains = chains.constrained(None, allowed_transitions(labels, scheme), allowed_ends(labels, scheme))
    rules, types = spelling(labels)
    found = find_phrases(chains, rules, least=0.0)
    for i in range(len(lengths)):
        right = {where: p for where, p in enumerated(chains, labels, i).items() if p > 1e-12}
        ours = {where: p for where, p in listed(found, types, i).items() if p > 1e-12}
        assert ours == pytest.approx(right, abs=1e-9)
        assert found.expected[i] == pytest.approx(sum(right.values()), abs=1e-9)
        where = np.array([(a, b, types.index(kind)) for a, b, kind in right]).reshape(-1, 3).T
        one = Chains([0, lengths[i]], *_tokens(chains, i), chains.edges)
        asked = phrase_probabilities(one, rules, [0, len(right)], *where)
        assert asked == pytest.approx(list(right.values()), abs=1e-9)


def _tokens(chains, i):
    part = slice(chains.offsets[i], chains.offsets[i + 1])
    return chains.scores[part], chains.kinds[part]


def test_a_least_probability_leaves_out_what_is_below_it_and_nothing_else():
    labels = LABELS["iob2"]
    chains = random_chains(3, [30, 0, 50], len(labels), 1.0)
    rules, types = spelling(labels)
    every, some = find_phrases(chains, rules, least=0.0), find_phrases(chains, rules, least=0.02, threads=2)
    for i in range(3):
        right = {where: p for where, p in listed(every, types, i).items() if p >= 0.02}
        assert right == listed(some, types, i)
    assert len(some.start)
    assert np.array_equal(every.expected, some.expected)


def test_scores_that_are_thousands_apart_do_not_underflow():
    labels = ("B-X", "I-X", "O")
    scores = np.array([[5000.0, 0.0, 5000.0], [0.0, 5000.0, 0.0], [0.0, 0.0, 9000.0]])
    chains = Chains([0, 3], scores, [0, 0, 0], np.zeros((1, 4, 3)))
    rules, types = spelling(labels)
    assert listed(find_phrases(chains, rules), types, 0) == pytest.approx(
        {(0, 2, "X"): 0.5, (1, 2, "X"): 0.5}
    )


def test_phrases_outside_their_sentence_and_sentences_without_a_labelling_are_errors():
    rules, _ = spelling(LABELS["iob2"])
    chains = random_chains(0, [2], 5, 1.0)
    with pytest.raises(OptionError, match="within their sentences"):
        phrase_probabilities(chains, rules, [0, 1], [1], [3], [0])
    with pytest.raises(InputError, match="sentence 1 meets the constraints"):
        find_phrases(chains.constrained(np.zeros((2, 5), bool)), rules)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 9), sentences=st.integers(1, 3))
def test_no_set_of_phrases_without_overlap_has_a_higher_criterion(seed, n, sentences):
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 5, size=n)
    stop = start + rng.integers(1, 4, size=n)
    of = np.sort(rng.integers(0, sentences, size=n))
    order = np.lexsort((stop, start, of))
    start, stop, chance = start[order], stop[order], rng.random(n) ** rng.integers(1, 4)
    bounds = np.searchsorted(of, np.arange(sentences + 1))
    expected = rng.random(sentences) * 3
    found = Phrases(bounds, start, stop, np.zeros(n, np.int64), chance, expected)
    chosen, f1 = f1_choice(found, np.full(sentences, 8))
    best = 0.0
    for size in range(1, n + 1):
        for some in itertools.combinations(range(n), size):
            apart = all(
                of[i] != of[j] or stop[i] <= start[j] or stop[j] <= start[i]
                for i, j in itertools.combinations(some, 2)
            )
            if apart:
                best = max(best, 2 * chance[list(some)].sum() / (size + expected.sum()))
    assert f1 == pytest.approx(best)
    taken = np.flatnonzero(chosen)
    assert all(
        of[i] != of[j] or stop[i] <= start[j] or stop[j] <= start[i]
        for i, j in itertools.combinations(taken, 2)
    )
    if len(taken):
        assert f1 == pytest.approx(2 * chance[taken].sum() / (len(taken) + expected.sum()))
