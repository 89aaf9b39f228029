"""Calibration against calculations by hand and scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from spinney.errors import InputError
from spinney.evaluate.calibration import answered_scores, brier_score, calibration_error, reliability


def test_by_hand():
    p, right = [0.1, 0.35, 0.4, 0.8, 0.9], [0, 1, 0, 1, 1]
    # Width ½: {0.1, 0.35, 0.4} with mean 0.85/3 and 1/3 right; {0.8, 0.9} with mean 0.85 and all right.
    assert calibration_error(p, right, bins=2, by="width") == pytest.approx((abs(0.85 - 1) + 2 * 0.15) / 5)
    assert brier_score(p, right) == pytest.approx((0.01 + 0.65**2 + 0.16 + 0.04 + 0.01) / 5)
    # Mass: the ranks 0 to 4 of five answers in two bins are 0, 0, 0, 1, 1.
    assert [one.answers for one in reliability(p, right, bins=2)] == [3, 2]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 12))
def test_bins_of_equal_width_and_brier_are_those_of_scikit_learn(seed, n, bins):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    right = rng.random(n) < p
    right[0] = True
    if right.all():
        right[-1] = n == 1
    found = reliability(p, right, bins=bins, by="width")
    if 0 < right.sum() < n:
        share, mean = calibration_curve(right, p, n_bins=bins)
        assert [one.right for one in found] == pytest.approx(share)
        assert [one.probability for one in found] == pytest.approx(mean)
        assert brier_score(p, right) == pytest.approx(brier_score_loss(right, p))
    weights = np.array([one.answers for one in found]) / n
    gaps = [abs(one.probability - one.right) for one in found]
    assert calibration_error(p, right, bins=bins, by="width") == pytest.approx(weights @ gaps)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 12))
def test_bins_of_equal_mass_have_equally_many_answers_and_do_not_depend_on_their_order(seed, n, bins):
    rng = np.random.default_rng(seed)
    p, right = rng.random(n), rng.random(n) < 0.5
    found = reliability(p, right, bins=bins)
    assert sum(one.answers for one in found) == n
    assert max(one.answers for one in found) - min(one.answers for one in found) <= 1 or n < bins
    assert all(a.high <= b.low for a, b in itertools.pairwise(found))
    order = rng.permutation(n)
    assert [one[:3] for one in reliability(p[order], right[order], bins=bins)] == [one[:3] for one in found]


def test_equal_probabilities_share_a_bin():
    assert [one.answers for one in reliability([0.5] * 7 + [0.9], [True] * 8, bins=4)] == [7, 1]


def test_what_is_answered():
    assert answered_scores([0.9, 0.5, 0.2], [1, 0, 1], 0.5) == {"coverage": 2 / 3, "accuracy_answered": 0.5}
    assert answered_scores([0.2], [1], 0.5) == {"coverage": 0.0, "accuracy_answered": None}


@pytest.mark.parametrize("p", [[], [1.2], [float("nan")], [[0.5]]])
def test_what_is_not_probabilities_is_an_error(p):
    with pytest.raises(InputError):
        calibration_error(p, np.ones(np.shape(p)))
