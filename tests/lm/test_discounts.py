"""Discounts: closed forms, published examples, and what happens where they fail."""

from __future__ import annotations

import numpy as np
import pytest

from spinney.lm.discounts import (
    DiscountWarning,
    absolute_discount,
    counts_of_counts,
    katz_discounts,
    modified_discounts,
    simple_good_turing,
)


def test_counts_of_counts():
    counts = np.array([0, 1, 1, 2, 4, 9, 0])
    assert counts_of_counts(counts, 4).tolist() == [0, 2, 1, 0, 1]
    assert counts_of_counts(np.zeros(0, np.int64), 2).tolist() == [0, 0, 0]


def test_modified_discounts_of_the_penn_treebank():
    # Counts of counts of its bigrams and trigrams; the discounts are those that KenLM prints.
    two = modified_discounts(np.array([0, 187829, 35124, 14498, 7613]), 2)
    three = modified_discounts(np.array([0, 505253, 45648, 13921, 6633]), 3)
    np.testing.assert_allclose(two, [0.727802, 1.09876, 1.4713], rtol=5e-6)
    np.testing.assert_allclose(three, [0.84696, 1.22512, 1.38578], rtol=5e-6)


@pytest.mark.parametrize(
    "n",
    [[0, 5, 0, 2, 1], [0, 0, 3, 2, 1], [0, 5, 3, 0, 1], [0, 3, 1, 9, 1], [0, 4, 2, 1, 9]],
    ids=["none twice", "none once", "none three times", "D2 below 0", "D3 below 0"],
)
def test_modified_discounts_fall_back(n):
    with pytest.warns(DiscountWarning, match=r"^grams of order 3: .*\(0.5, 1.0, 1.5\) are used$"):
        assert modified_discounts(np.array(n), 3) == (0.5, 1.0, 1.5)


@pytest.mark.parametrize("n", [[0, 5, 0], [0, 0, 5]])
def test_absolute_discount_falls_back(n):
    with pytest.warns(DiscountWarning, match="order 2"):
        assert absolute_discount(np.array(n), 2) == 0.5


def test_nothing_to_discount_needs_no_warning(recwarn):
    nothing = np.zeros(7, np.int64)
    absolute_discount(nothing, 1), modified_discounts(nothing, 1), katz_discounts(nothing, 5, 1)
    assert simple_good_turing(np.zeros(3, np.int64), 1).unseen == 1.0
    assert not recwarn.list


def test_katz_discounts_keep_the_mass_of_good_turing():
    # The defining equations: Σ n_r (1 − d_r) r = n_1, and 1 − d_r in proportion to 1 − r*/r.
    n = np.array([0, 1000, 400, 220, 140, 95, 70])
    d = katz_discounts(n, 5, 1)
    r = np.arange(1, 6)
    assert (n[r] * (1 - d[r]) * r).sum() == pytest.approx(n[1], rel=1e-12)
    ratio = (1 - d[r]) / (1 - (r + 1) * n[r + 1] / (n[r] * r))
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)


def test_katz_discounts_fall_back():
    with pytest.warns(DiscountWarning, match="only counts up to 2 are discounted"):
        assert len(katz_discounts(np.array([0, 100, 40, 20, 0, 5, 1]), 5, 1)) == 3
    with pytest.warns(DiscountWarning, match="no Good-Turing discounts"):
        assert len(katz_discounts(np.array([0, 10, 0, 0]), 2, 1)) == 1


def test_good_turing_of_gale_and_sampson():
    # The prosody data of Gale and Sampson (1995), the counts below 10: r* of their line is close to 0.76 for r = 1.
    n = {1: 120, 2: 40, 3: 24, 4: 13, 5: 15, 6: 5, 7: 11, 8: 2, 9: 2, 10: 1, 12: 3, 14: 2, 15: 1, 16: 1, 17: 3, 19: 1,
         20: 3, 21: 2, 23: 3, 24: 3, 25: 3, 26: 2, 27: 2, 28: 1, 31: 2, 32: 2, 33: 1, 34: 2, 36: 2, 41: 3, 43: 1, 45: 3,
         46: 1, 47: 1, 50: 1, 71: 1, 84: 1, 101: 1, 105: 1, 121: 1, 124: 1, 146: 1, 162: 1, 193: 1, 199: 1, 224: 1,
         226: 1, 254: 1, 257: 1, 339: 1, 421: 1, 456: 1, 481: 1, 483: 1, 1140: 1, 1256: 1, 1322: 1, 1530: 1, 2131: 1,
         2395: 1, 6925: 1, 7846: 1}  # fmt: skip
    estimate = simple_good_turing(np.repeat(list(n), list(n.values())), 1)
    assert estimate.unseen == 120
    assert estimate.seen.tolist() == list(n)
    r = np.array(list(n), float)
    slope = np.log(estimate.smoothed / r) / np.log1p(1 / r) - 1  # one line for all
    np.testing.assert_allclose(slope, slope[0], rtol=1e-9)
    assert slope[0] == pytest.approx(-1.389, abs=1e-3)
    assert estimate.smoothed[0] == pytest.approx(0.763, abs=1e-3)


def test_good_turing_trusts_large_counts_of_counts():
    n = {1: 100000, 2: 20000, 3: 9000, 4: 5000, 7: 1}
    estimate = simple_good_turing(np.repeat(list(n), list(n.values())), 1)
    assert estimate.smoothed[0] == pytest.approx(2 * 20000 / 100000)
    assert estimate.smoothed[1] == pytest.approx(3 * 9000 / 20000)
    assert estimate.smoothed[4] < 7


def test_good_turing_falls_back():
    with pytest.warns(DiscountWarning, match="equally often"):
        assert simple_good_turing(np.array([3, 3]), 1).smoothed.tolist() == [3.0]
    with pytest.warns(DiscountWarning, match="not more numerous"):
        assert simple_good_turing(np.array([1, 2, 2, 2, 3, 3, 3, 3, 3]), 1).smoothed.tolist() == [
            1.0,
            2.0,
            3.0,
        ]
