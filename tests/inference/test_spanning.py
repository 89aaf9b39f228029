"""All dependency trees, projective or not, against the enumeration of them."""

import numpy as np
import pytest
from dependency_trees import Batch, chances, log_sum, nearby
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.inference.spanning import matrix_tree_marginals, single_root_arborescence

batches = st.builds(
    Batch,
    seed=st.integers(0, 2**32 - 1),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3) | st.just([6]),
    keep=st.sampled_from([0.3, 0.6, 0.8, 1.0]),
    spread=st.sampled_from([0.0, 1.0, 5.0, 30.0, 1000.0]),
    forbid=st.sampled_from([0.0, 0.0, 0.2]),
    second=st.just(False),
)


@settings(max_examples=200, deadline=None)
@given(batches)
def test_log_z_and_marginals_are_those_of_all_trees(batch):
    log_z, arc_marginals = matrix_tree_marginals(*batch.arrays)
    for s in range(len(batch)):
        arcs, _, scores = batch.trees(s, projective=False)
        assert log_z[s] == pytest.approx(log_sum(scores), rel=1e-12, abs=1e-11)
        here = batch.arcs_of(s)
        right = chances(arcs, scores, len(batch.head))
        np.testing.assert_allclose(arc_marginals[here], right[here], atol=1e-10)


@settings(max_examples=200, deadline=None)
@given(batches)
def test_the_best_tree_is_the_best_of_all(batch):
    heads, best, chosen = single_root_arborescence(*batch.arrays)
    for s in range(len(batch)):
        arcs, _, scores = batch.trees(s, projective=False)
        here = batch.words_of(s)
        if not len(scores):
            assert best[s] == -np.inf
            assert np.all(heads[here] == -1)
            assert np.all(chosen[here] == -1)
            continue
        assert best[s] == pytest.approx(scores.max(), abs=1e-9)
        (found,) = np.flatnonzero(np.all(arcs == chosen[here], axis=1))
        assert scores[found] == pytest.approx(best[s], abs=1e-9)
        np.testing.assert_array_equal(heads[here], batch.head[chosen[here]])


def test_marginals_are_the_derivatives_of_log_z():
    batch = nearby(5, [1, 7, 9], 5, 1.0, second=False)
    _, marginals = matrix_tree_marginals(*batch.arrays)
    h = 1e-5
    for i in range(len(marginals)):
        sums = []
        for step in (h, -h):
            score = batch.score.copy()
            score[i] += step
            sums.append(matrix_tree_marginals(*batch.arrays[:3], score)[0].sum())
        assert (sums[0] - sums[1]) / (2 * h) == pytest.approx(marginals[i], abs=1e-8)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_log_z_is_the_determinant_of_koo_et_al(n):
    """Koo et al. 2007: the Laplacian of the words, its first row replaced by the weights of arcs from the root."""
    rng = np.random.default_rng(n)
    scores = rng.normal(scale=2.0, size=(n + 1, n + 1))  # by head and modifier
    weights = np.exp(scores)
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights[1:, 1:].sum(axis=0)) - weights[1:, 1:]
    laplacian[0] = weights[0, 1:]
    inverse = np.linalg.inv(laplacian)
    head = np.array([h for m in range(1, n + 1) for h in range(n + 1) if h != m], np.int32)
    flat = np.array([scores[h, m] for m in range(1, n + 1) for h in range(n + 1) if h != m])
    log_z, marginals = matrix_tree_marginals([0, n], np.arange(n + 1) * n, head, flat)
    assert log_z[0] == pytest.approx(np.linalg.slogdet(laplacian)[1], rel=1e-10)
    right = []
    for m in range(n):
        for h in range(-1, n):
            if h == -1:
                right.append(weights[0, m + 1] * inverse[m, 0])
            elif h != m:
                first = inverse[m, m] if m != 0 else 0.0
                second = inverse[m, h] if h != 0 else 0.0
                right.append(weights[h + 1, m + 1] * (first - second))
    np.testing.assert_allclose(marginals, right, atol=1e-8)


def test_cycles_of_strong_arcs_lose_no_digits():
    """Words 1 and 2 want each other by e^60, which a determinant in double precision cannot see beyond."""
    score = np.array([0.0, 60.0, 1.0, 60.0])
    log_z, marginals = matrix_tree_marginals([0, 2], [0, 2, 4], [0, 2, 0, 1], score)
    assert log_z[0] == pytest.approx(60.0 + np.log1p(np.exp(1.0)), rel=1e-15)
    p = 1 / (1 + np.exp(1.0))
    np.testing.assert_allclose(marginals, [p, 1 - p, 1 - p, p], rtol=1e-14)


def test_logs_and_weights_agree_on_longer_sentences():
    """Two more words want each other by far, but must hang below the last word: the weights of all trees underflow."""
    n = 40
    batch = nearby(11, [n], 6, 1.0, second=False)
    ptr = [*batch.ptr.tolist(), len(batch.head) + 2, len(batch.head) + 3]
    head, score = [*batch.head, n, n + 2, n + 1], [*batch.score, 0.0, 900.0, 900.0]
    log_z, arcs = matrix_tree_marginals([0, n + 2], ptr, head, score)
    right_log_z, right_arcs = matrix_tree_marginals(*batch.arrays)
    assert log_z[0] - 900.0 == pytest.approx(right_log_z[0], rel=1e-12)
    np.testing.assert_allclose(arcs, [*right_arcs, 1.0, 0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("n_heads", [6, 499])
@pytest.mark.parametrize("spread", [1.0, 1000.0])
def test_sentences_of_500_words(n_heads, spread):
    if n_heads == 6:
        batch = nearby(4, [500], 6, spread, second=False)
    else:
        batch = Batch(4, [500], keep=1.0, spread=spread, second=False)
    log_z, arcs = matrix_tree_marginals(*batch.arrays)
    _, best, chosen = single_root_arborescence(*batch.arrays)
    assert np.isfinite(log_z[0])
    assert best[0] <= log_z[0] + 1e-9 * abs(log_z[0])
    np.testing.assert_allclose(np.add.reduceat(arcs, batch.ptr[:-1]), 1.0, atol=1e-9)
    assert arcs[batch.head == 0].sum() == pytest.approx(1.0, abs=1e-9)
    assert np.sum(batch.head[chosen] == 0) == 1
    if spread == 1000.0:  # then hardly any other tree has any probability
        assert arcs[chosen].mean() > 0.9


def test_a_range_of_sentences_is_written_into_given_arrays():
    batch = Batch(9, [0, 3, 5, 1, 4], second=False)
    right, right_best = matrix_tree_marginals(*batch.arrays), single_root_arborescence(*batch.arrays)
    n, n_words = len(batch), len(batch.ptr) - 1
    out = np.full(n, 7.0), np.full(len(batch.head), 7.0)
    best = np.zeros(n_words, np.int32), np.zeros(n), np.zeros(n_words, np.int64)
    for start, stop in ((0, 2), (2, 5)):
        matrix_tree_marginals(*batch.arrays, start=start, stop=stop, out=out)
        single_root_arborescence(*batch.arrays, start=start, stop=stop, out=best)
    for ours, theirs in zip((*out, *best), (*right, *right_best)):
        np.testing.assert_array_equal(ours, theirs)
