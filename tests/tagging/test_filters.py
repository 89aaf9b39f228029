"""Choosing features before training, by what they tell about the label."""

from itertools import product

import numpy as np
import pytest
from chunked_sentences import make_sentences
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_sequences import has, labels_before, sentences
from scipy.optimize import minimize
from sklearn.metrics import mutual_info_score

from spinney.errors import InputError, OptionError, SettingError
from spinney.tagging import Tagger, fit, labelled_columns
from spinney.tagging.filters import information_gain, mutual_information, top
from spinney.tagging.sequences import Sequences
from spinney.tagging.support import Shape

PATTERNS = "U:%x[0,0]\n*:%x[-1,0]/%x[0,0]\nB"


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.3]))
def test_mutual_information_is_that_of_sklearn(seed, start, unknown):
    data, shape = sentences(seed, unknown=unknown), Shape(4, 3, 3, start)
    found = mutual_information(data, 3, start=start)
    wanted = np.zeros(shape.n_params)
    y, before = data.labels, np.array(labels_before(data, 3))
    known, both = y >= 0, (y >= 0) & (before >= 0)
    seen = np.array([[has(data.unigrams, t, o) for t in range(len(y))] for o in range(4)])
    seen_pairs = np.array([[has(data.bigrams, t, o) for t in range(len(y))] for o in range(3)])
    for o, label in product(range(4), range(3)):
        shape.mu(wanted)[o, label] = mutual_info_score(seen[o][known], y[known] == label)
    for o, z, label in product(range(3), range(3 + start), range(3)):
        v = seen_pairs[o] & (before == z)
        shape.lam(wanted)[o, z, label] = mutual_info_score(v[both], y[both] == label)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-14)


def test_counting_leaves_the_data_alone():
    data = sentences(2)
    ids = data.unigrams.ids.copy()
    mutual_information(data, 3)
    np.testing.assert_array_equal(data.unigrams.ids, ids)


def test_mutual_information_of_nothing_is_nothing():
    data = sentences(3, lengths=(0, 0))
    assert not mutual_information(data, 3).any()


@given(st.lists(st.integers(0, 5), min_size=12, max_size=12), st.integers(0, 14))
def test_top_takes_the_best(scores, k):
    shape = Shape(unigrams=3, bigrams=1, labels=2)
    places = top(np.array(scores, float), k, shape).places(shape)
    order = sorted(range(12), key=lambda i: (-scores[i], i))
    assert places.tolist() == sorted(order[:k])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.3]))
def test_information_gain_is_that_of_sklearn(seed, start, unknown):
    data = sentences(seed, unknown=unknown)
    unigrams, bigrams = information_gain(data, 3, start=start)
    y, before = data.labels, np.array(labels_before(data, 3))
    known, both = y >= 0, (y >= 0) & (before >= 0)
    for o in range(4):
        seen = np.array([has(data.unigrams, t, o) for t in range(len(y))])
        assert unigrams[o] == pytest.approx(mutual_info_score(seen[known], y[known]), abs=1e-13)
    for b in range(3):
        seen = np.array([has(data.bigrams, t, b) for t in range(len(y))])
        seen &= start | (before < 3)  # without a start label, the first token has no bigram
        what = np.where(seen, before, -2)
        assert bigrams[b] == pytest.approx(mutual_info_score(what[both], y[both]), abs=1e-13)


def test_nothing_tells_nothing():
    assert not any(gain.any() for gain in information_gain(sentences(3, lengths=(0, 0)), 3))


def test_a_tagger_keeps_the_observations_that_tell_most():
    X, Y = make_sentences(30, 1)
    columns = labelled_columns(X, Y)
    whole = Tagger(PATTERNS).problem(columns)
    gains = np.concatenate(information_gain(whole.data, len(whole.labels)))
    names = [*whole.extractor.names("u"), *whole.extractor.names("b")]
    some = Tagger(PATTERNS, select="gain", select_top=9).problem(columns)
    order = sorted(range(len(names)), key=lambda i: (-gains[i], i))[:9]
    n_unigrams = whole.data.unigrams.n
    assert some.extractor.names("u") == [names[i] for i in sorted(order) if i < n_unigrams]
    assert some.extractor.names("b") == [names[i] for i in sorted(order) if i >= n_unigrams]
    assert "B" in some.extractor.names("b")
    tagger = fit((X, Y), patterns=PATTERNS, select="gain", select_top=9, lam=0.1)
    assert tagger.facts["observations"] == 9
    assert tagger.facts["selected"] == f"9 of {len(names)} observations, by information gain"
    again = Tagger(PATTERNS, lam=0.1).fit_columns(columns)
    assert again.facts["selected"] is None


@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
def test_a_tagger_keeps_the_weights_that_tell_most(penalty):
    """Its optimum is that of the full model whose other weights are held at 0."""
    columns = labelled_columns(*make_sentences(20, 1))
    how = {
        "patterns": PATTERNS,
        "penalty": penalty,
        "lam": 0.2,
        "l2": 0.1 if penalty == "elasticnet" else 0.0,
    }
    whole = Tagger(**how).problem(columns)
    shape = whole.loss.shape
    scores = mutual_information(whole.data, shape.labels)
    places = sorted(sorted(range(shape.n_params), key=lambda i: (-scores[i], i))[:25])
    tagger = Tagger(**how, select="mi", select_top=25, tol=1e-9, precision="double").fit_columns(columns)
    assert tagger.facts_["parameters"] == 25
    assert tagger.facts_["selected"] == f"25 of {shape.n_params:,} weights, by mutual information"
    assert 0 < tagger.facts_["active"] <= 25

    def objective(v):  # v = v₊ − v₋ makes the ℓ1 part smooth
        w = np.zeros(shape.n_params)
        w[places] = v[:25] - v[25:]
        value, grad = whole.loss.value_and_grad(w)
        ridge = how["l2"] if penalty == "elasticnet" else how["lam"]
        smooth = grad[places] + ridge * w[places]
        l1 = how["lam"] if penalty == "elasticnet" else 0.0
        return value + 0.5 * ridge * w @ w + l1 * v.sum(), np.concatenate([smooth + l1, l1 - smooth])

    bounds = [(0.0, None)] * 50
    best = minimize(
        objective, np.full(50, 0.1), jac=True, bounds=bounds, options={"maxiter": 5000, "ftol": 1e-14}
    )
    assert tagger.facts_["objective"] == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"select": "mi"}, "select needs select_top"),
        ({"select_top": 5}, "select_top needs select mi or gain"),
        ({"select": "mi", "select_top": 5, "weights": "observed"}, "both choose the weights"),
        ({"select": "mi", "select_top": 5, "penalty": "group-symbol"}, "use select gain"),
        ({"select": "luck", "select_top": 5}, "select"),
        ({"select": "mi", "select_top": 0}, "select_top must be at least 1"),
    ],
)
def test_misuse_of_a_tagger_is_refused(given, said):
    with pytest.raises(SettingError, match=said):
        fit(make_sentences(5, 1), patterns=PATTERNS, lam=1.0, **given)


def test_bad_options_are_refused():
    data, shape = sentences(5), Shape(4, 3, 3)
    w = np.zeros(shape.n_params)
    for call in (lambda: top(w, -1, shape), lambda: top(w[1:], 1, shape)):
        with pytest.raises(OptionError):
            call()
    unlabelled = Sequences(data.offsets, data.unigrams, data.bigrams)
    with pytest.raises(InputError, match="without labels"):
        mutual_information(unlabelled, 3)
