"""Significance: intervals that cover, McNemar against the binomial sum, statistics against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binomtest, bootstrap, spearmanr

from spinney.errors import InputError, OptionError
from spinney.evaluate import (
    accuracy,
    error_reduction,
    f1_of_counts,
    mcnemar,
    paired_bootstrap,
    spearman_of_pairs,
    tagging_scores,
)
from spinney.evaluate.significance import clearly_best

# -- statistics -------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(2, 12), st.just(2)), elements=st.integers(0, 6).map(float))
)
def test_spearman_against_scipy(items):
    found = spearman_of_pairs(items)
    if any(len(np.unique(column)) == 1 for column in items.T):
        assert math.isnan(found)
    else:
        assert found == pytest.approx(spearmanr(*items.T).statistic, abs=1e-12)


def test_f1_of_counts_is_that_of_phrases():
    gold = [["B-NP", "I-NP", "O"], ["B-VP", "O", "B-NP"], ["O", "O"]]
    guess = [["B-NP", "I-NP", "O"], ["B-NP", "O", "B-NP"], ["O", "B-NP"]]
    counts = np.array([[1, 0, 0], [1, 1, 1], [0, 1, 0]])  # tp, fp, fn of each sentence
    assert f1_of_counts(counts) == pytest.approx(tagging_scores(gold, guess)["f1"], abs=1e-12)
    assert f1_of_counts(np.zeros((2, 3))) == 0
    assert f1_of_counts(np.array([[0, 1, 1]])) == 0


# -- the bootstrap ----------------------------------------------------------------------------------------


def test_the_interval_of_a_mean_is_scipys():
    rng = np.random.default_rng(0)
    baseline, system = rng.random(80) < 0.6, rng.random(80) < 0.75
    ours = paired_bootstrap(baseline, system, resamples=20_000, level=0.9)
    theirs = bootstrap(
        (system.astype(float) - baseline,),
        np.mean,
        n_resamples=20_000,
        confidence_level=0.9,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    # Both have steps of 1/80, and errors of drawing.
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1 / 79)
    assert ours.difference == pytest.approx(system.mean() - baseline.mean())
    assert (ours.baseline, ours.system) == (baseline.mean(), system.mean())


def test_coverage_and_false_alarms():
    # 200 experiments, 60 items, the true difference 0: about 5% of the intervals miss it, and as many p-values alarm.
    rng = np.random.default_rng(3)
    misses = alarms = 0
    for _ in range(200):
        ability = rng.normal(size=60)
        baseline, system = ability + rng.normal(size=60), ability + rng.normal(size=60)
        found = paired_bootstrap(baseline, system, resamples=400)
        misses += not found.low <= 0 <= found.high
        alarms += found.p_value < 0.05
    # From 1 to 25 is where a binomial of 200 and 0.05 is but for 1 time in 10,000, with room for 60 items being few.
    assert 1 <= misses <= 25
    assert 1 <= alarms <= 25


def test_a_difference_is_found_and_nothing_is_not():
    rng = np.random.default_rng(0)
    human = rng.normal(size=300)
    good, poor = human + 0.5 * rng.normal(size=300), human + 3 * rng.normal(size=300)
    pairs = [np.column_stack([scores, human]) for scores in (poor, good)]
    found = paired_bootstrap(*pairs, spearman_of_pairs, resamples=500)
    assert found.p_value == pytest.approx(2 / 501)
    assert 0 < found.low < found.difference < found.high
    turned = paired_bootstrap(*pairs[::-1], spearman_of_pairs, resamples=500)
    assert (turned.difference, turned.p_value) == pytest.approx((-found.difference, found.p_value))
    same = paired_bootstrap(good, good, resamples=100)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_one_seed_one_result():
    items = np.random.default_rng(0).integers(0, 5, size=(2, 40, 3))
    first = paired_bootstrap(*items, f1_of_counts, resamples=200, random_state=7)
    assert first == paired_bootstrap(*items, f1_of_counts, resamples=200, random_state=7)
    assert first != paired_bootstrap(*items, f1_of_counts, resamples=200, random_state=8)


def test_draws_without_a_statistic_are_left_out():
    items = np.array([[1.0, 1.0], [2.0, 2.0]])  # of four draws, two have two equal rows
    found = paired_bootstrap(items, items, spearman_of_pairs, resamples=50)
    assert (found.low, found.high, found.p_value) == (0, 0, 1)


@pytest.mark.parametrize(
    ("baseline", "system", "options", "message"),
    [
        ([1, 0], [1], {}, "both systems need scores for the same items, not 2 and 1"),
        ([], [], {}, "both systems need scores for the same items, not 0 and 0"),
        (1, 1, {}, "both systems need scores for the same items, not a number and a number"),
        ([[1, 2]], [1], {}, "both systems need scores for the same items, not 1 × 2 and 1"),
        ([1, 0], [1, 1], {"resamples": 0}, "resamples must be at least 1, not 0"),
        ([1, 0], [1, 1], {"level": 95}, "level must be between 0 and 1, not 95"),
    ],
)
def test_bad_options(baseline, system, options, message):
    with pytest.raises(OptionError) as caught:
        paired_bootstrap(baseline, system, **options)
    assert str(caught.value) == message


def test_no_statistic():
    with pytest.raises(InputError, match="the statistic is not a number: are there too few items"):
        paired_bootstrap([[1.0, 2.0]], [[1.0, 3.0]], spearman_of_pairs)

    def whole_only(items):
        return accuracy(items) if len(np.unique(items)) == 20 else float("nan")

    with pytest.raises(InputError, match="not a number for any of the resamples"):
        paired_bootstrap(np.arange(20), np.arange(20), whole_only, resamples=10)


# -- McNemar ----------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 3), st.integers(0, 3))
def test_mcnemar_against_the_binomial_sum(only_a, only_b, both, neither):
    a = [True] * only_a + [False] * only_b + [True] * both + [False] * neither
    b = [False] * only_a + [True] * only_b + [True] * both + [False] * neither
    found = mcnemar(a, b)
    n, fewer = only_a + only_b, min(only_a, only_b)
    tail = sum(math.comb(n, i) for i in range(fewer + 1)) / 2**n
    assert found[:2] == (only_a, only_b)
    assert found.p_value == pytest.approx(min(1.0, 2 * tail), rel=1e-9)
    if n:
        assert found.p_value == binomtest(only_a, n, 0.5).pvalue


def test_mcnemar_needs_the_same_items():
    with pytest.raises(OptionError, match="both systems need scores for the same items, not 2 and 3"):
        mcnemar([True, False], [True, False, True])


# -- error reduction --------------------------------------------------------------------------------------


def test_error_reduction():
    assert error_reduction(0.8, 0.9) == pytest.approx(0.5)
    assert error_reduction(0.8, 0.7) == pytest.approx(-0.5)
    assert error_reduction(80, 100, perfect=100) == 1
    for baseline, system, message in (
        (93.6, 95.2, "scores of 93.6 and 95.2 where 1.0 is perfect"),
        (1.0, 0.9, "the baseline makes no errors: there is nothing to reduce"),
        (float("nan"), 0.9, "scores of nan and 0.9 where 1.0 is perfect"),
    ):
        with pytest.raises(OptionError) as caught:
            error_reduction(baseline, system)
        assert str(caught.value) == message


def test_one_error_fewer_is_never_clearly_fewer():
    """Its standard error is one, too: whether that is less is not for rounding to say."""
    for n in range(2, 400):
        errors = np.zeros((2, n), bool)
        errors[0, 0] = True
        assert clearly_best(errors) == 0
