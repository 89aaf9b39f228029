"""Measures against their formulas in plain loops, SciPy's, and their known bounds."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial import distance

from spinney.errors import OptionError
from spinney.evaluate import MEASURES, distances, l1_normalised, measures, pairwise_rows, similarity

OF_DISTRIBUTIONS = ["hellinger", "bhattacharyya", "jensen_shannon", "chi2", "kl"]
FLOOR = 1e-10
FAR_END = {"hellinger": 2, "bhattacharyya": 0, "jensen_shannon": log(2), "chi2": 2, "kl": -log(FLOOR)}


def formula(p, q, measure):
    """The definitions, a number at a time."""
    if measure in OF_DISTRIBUTIONS:
        if not sum(p) or not sum(q):
            return FAR_END[measure]
        p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    pairs = list(zip(p, q))
    match measure:
        case "hellinger":
            return sum((sqrt(a) - sqrt(b)) ** 2 for a, b in pairs)
        case "bhattacharyya":
            return sum(sqrt(a * b) for a, b in pairs)
        case "jensen_shannon":
            terms = [x * log(2 * x / (a + b)) for a, b in pairs for x in (a, b) if x]
            return sum(terms) / 2
        case "chi2":
            return sum((a - b) ** 2 / (a + b) for a, b in pairs if a + b)
        case "kl":
            logs = [(log(max(a, FLOOR)), log(max(b, FLOOR))) for a, b in pairs]
            return sum((a - b) * (log_a - log_b) for (a, b), (log_a, log_b) in zip(pairs, logs)) / 2
        case "dot":
            return sum(a * b for a, b in pairs)
        case "euclidean":
            return sqrt(sum((a - b) ** 2 for a, b in pairs))
        case "cosine":
            lengths = sqrt(sum(a * a for a in p) * sum(b * b for b in q))
            return sum(a * b for a, b in pairs) / lengths if lengths else 0.0


numbers = st.just(0.0) | st.floats(1e-3, 1e3)
rows = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(4)), elements=numbers)


@pytest.mark.parametrize("measure", MEASURES)
@given(rows, rows)
@settings(max_examples=30, deadline=None)
def test_against_the_formulas(measure, p, q):
    expected = np.array([[formula(a, b, measure) for b in q.tolist()] for a in p.tolist()])
    n = min(len(p), len(q))
    tolerance = {"rtol": 1e-9, "atol": 1e-9 if measure in ("dot", "euclidean") else 1e-13}
    sparse_p, sparse_q = sp.csr_array(p), sp.coo_array(q)
    for a, b in [(p, q), (sparse_p, sparse_q), (p, sparse_q)]:
        found = pairwise_rows(a[:n], b.tocsr()[:n] if sp.issparse(b) else b[:n], measure)
        np.testing.assert_allclose(found, np.diag(expected), **tolerance)
        if measure != "dot":
            apart = 1 - expected if MEASURES[measure] else expected
            np.testing.assert_allclose(distances(a, b, measure), apart, **tolerance)


@pytest.mark.parametrize("measure", OF_DISTRIBUTIONS)
@given(rows)
@settings(max_examples=30, deadline=None)
def test_invariants_of_distributions(measure, p):
    apart = distances(p, measure=measure)
    far_end = 1 if measure == "bhattacharyya" else FAR_END[measure]
    np.testing.assert_allclose(apart, apart.T, atol=1e-13)
    assert np.all(apart >= 0)
    assert np.all(apart <= far_end + 1e-12)
    some = p.sum(axis=1) > 0
    np.testing.assert_allclose(np.diag(apart)[some], 0, atol=1e-13)
    np.testing.assert_array_equal(apart[~some], far_end)
    np.testing.assert_allclose(distances(7 * p, p, measure), apart, atol=1e-12)


def test_against_scipy():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.full(20, 0.3), 30), rng.dirichlet(np.full(20, 0.3), 30)
    for name, theirs in [("jensen_shannon", distance.jensenshannon), ("euclidean", distance.euclidean)]:
        power = 2 if name == "jensen_shannon" else 1
        expected = [theirs(a, b) ** power for a, b in zip(p, q)]
        np.testing.assert_allclose(pairwise_rows(p, q, name), expected, rtol=1e-10)
    signed = rng.standard_normal((30, 20))
    np.testing.assert_allclose(
        distances(signed, p, "cosine"), distance.cdist(signed, p, "cosine"), atol=1e-14
    )
    roots = distance.cdist(np.sqrt(p), np.sqrt(q), "sqeuclidean")
    np.testing.assert_allclose(distances(p, q, "hellinger"), roots, atol=1e-14)


def test_larger_is_more_similar():
    near, far, here = [[0.7, 0.2, 0.1]], [[0.1, 0.2, 0.7]], [[0.6, 0.3, 0.1]]
    for measure in MEASURES:
        assert similarity(here, near, measure) > similarity(here, far, measure)


def test_zeros_of_kullback_leibler():
    disjoint = [[1.0, 0.0]], [[0.0, 1.0]]
    assert pairwise_rows(*disjoint, "kl") == pytest.approx(-log(1e-10))
    assert pairwise_rows(*disjoint, "kl", floor=1e-300) == pytest.approx(-log(1e-300))
    for floor in (0.0, -1.0, 1.0, inf):
        with pytest.raises(OptionError, match="the floor of 'kl' must be between 0 and 1"):
            pairwise_rows(*disjoint, "kl", floor=floor)


def test_rows_however_small():
    tiny = np.array([[1e-200, 3e-200], [1e200, 3e200], [0.0, 0.0]])
    for matrix in (tiny, sp.csr_array(tiny)):
        normalised = l1_normalised(matrix)
        dense = normalised.toarray() if sp.issparse(normalised) else normalised
        np.testing.assert_allclose(dense, [[0.25, 0.75], [0.25, 0.75], [0, 0]], rtol=1e-15)
        np.testing.assert_allclose(distances(matrix[:2], matrix[:2], "cosine"), 0, atol=1e-15)
    np.testing.assert_allclose(l1_normalised([[-1.0, 3.0]]), [[-0.25, 0.75]])


def test_blocks_give_what_one_gives(monkeypatch):
    p = np.random.default_rng(1).random((23, 5))
    whole = {measure: pairwise_rows(p, p[::-1], measure) for measure in MEASURES}
    all_pairs = {measure: distances(p, measure=measure) for measure in MEASURES if measure != "dot"}
    monkeypatch.setattr(measures, "_NUMBERS_AT_ONCE", 20)  # four rows at a time
    for measure in MEASURES:
        np.testing.assert_allclose(pairwise_rows(p, p[::-1], measure), whole[measure], atol=1e-14)
        if measure != "dot":
            np.testing.assert_allclose(distances(p, measure=measure), all_pairs[measure], atol=1e-14)


def test_what_is_refused():
    with pytest.raises(OptionError, match=r"measure must be hellinger, .*, not 'l3'"):
        pairwise_rows([[1.0]], [[1.0]], "l3")
    with pytest.raises(OptionError, match="'chi2' compares distributions, but some vectors contain negative"):
        pairwise_rows([[1.0]], [[-1.0]], "chi2")
    with pytest.raises(OptionError, match="1 × 1 vectors cannot be paired with 1 × 2"):
        pairwise_rows([[1.0]], [[1.0, 2.0]])
    with pytest.raises(OptionError, match="1 × 1 vectors cannot be compared with 1 × 2"):
        distances([[1.0]], [[1.0, 2.0]])
    with pytest.raises(OptionError, match="'dot' is not a distance"):
        distances([[1.0]], measure="dot")
    with pytest.raises(OptionError, match="one row per vector"):
        pairwise_rows([1.0], [1.0])
    with pytest.raises(OptionError, match="not finite"):
        pairwise_rows([[np.nan]], [[1.0]])
    assert pairwise_rows(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)
    assert distances(np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
