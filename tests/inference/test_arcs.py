"""Projective trees against the enumeration of all trees."""

import tracemalloc

import numpy as np
import pytest
from dependency_trees import Batch, chances, log_sum, nearby
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import OptionError
from spinney.inference.arcs import (
    constrained,
    constrained_parts,
    minimum_risk,
    projective_best,
    projective_kbest,
    projective_marginals,
    sibling_parts,
)
from spinney.inference.spanning import matrix_tree_marginals, single_root_arborescence
from spinney.parallel import map_reduce
from spinney.parsing.eisner import eisner

batches = st.builds(
    Batch,
    seed=st.integers(0, 2**32 - 1),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3) | st.just([6]),
    keep=st.sampled_from([0.3, 0.6, 0.8, 1.0]),
    spread=st.sampled_from([0.0, 1.0, 5.0, 300.0]),
    forbid=st.sampled_from([0.0, 0.0, 0.2]),
    second=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(batches)
def test_log_z_and_marginals_are_those_of_all_trees(batch):
    log_z, arc_marginals, part_marginals = projective_marginals(*batch.arrays)
    for s in range(len(batch)):
        arcs, parts, scores = batch.trees(s)
        assert log_z[s] == pytest.approx(log_sum(scores), rel=1e-12, abs=1e-11)
        here = batch.arcs_of(s)
        right = chances(arcs, scores, len(batch.head))
        np.testing.assert_allclose(arc_marginals[here], right[here], atol=1e-10)
        if batch.siblings:
            here = batch.parts_of(s)
            right = chances(parts, scores, len(part_marginals))
            np.testing.assert_allclose(part_marginals[here], right[here], atol=1e-10)
    assert batch.siblings or part_marginals is None


@settings(max_examples=200, deadline=None)
@given(batches)
def test_the_best_tree_is_the_best_of_all(batch):
    heads, best, chosen = projective_best(*batch.arrays)
    for s in range(len(batch)):
        arcs, _, scores = batch.trees(s)
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


@settings(max_examples=100, deadline=None)
@given(batches, st.integers(1, 40))
def test_the_k_best_trees_are_the_first_of_all(batch, k):
    for s in range(len(batch)):
        arcs, _, scores = batch.trees(s)
        heads, found, chosen = projective_kbest(*batch.arrays, k=k, sentence=s)
        assert found == pytest.approx(np.sort(scores)[::-1][:k], abs=1e-9)
        assert np.all(np.diff(found) <= 0.0)
        assert len(set(map(tuple, chosen.tolist()))) == len(found) == min(k, len(scores))
        np.testing.assert_array_equal(heads, batch.head[chosen])
        score_of = {tuple(tree): score for tree, score in zip(arcs.tolist(), scores)}
        assert [score_of[tuple(tree)] for tree in chosen.tolist()] == pytest.approx(found, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(batches, st.booleans(), st.booleans())
def test_minimum_risk_gives_the_tree_with_the_most_right_arcs_to_expect(batch, projective, by_all_trees):
    first_order = batch.arrays[:4]
    if by_all_trees:
        marginals = matrix_tree_marginals(*first_order)[1]
    else:
        marginals = projective_marginals(*batch.arrays)[1]
    heads, expected, chosen = minimum_risk(*batch.arrays[:3], marginals, projective=projective)
    free = Batch.of(*batch.arrays[:3], np.zeros(len(batch.head)))
    for s in range(len(batch)):
        arcs, _, scores = free.trees(s, projective)
        here = batch.words_of(s)
        if not len(scores):
            assert expected[s] == -np.inf
            assert np.all(heads[here] == -1)
            continue
        impossible = (marginals[arcs] == 0.0).sum(axis=1)
        right = marginals[arcs].sum(axis=1)
        assert (marginals[chosen[here]] == 0.0).sum() == impossible.min()
        assert expected[s] == pytest.approx(right[impossible == impossible.min()].max(), abs=1e-9)
        assert marginals[chosen[here]].sum() == pytest.approx(expected[s], abs=1e-12)
        assert np.any(np.all(arcs == chosen[here], axis=1))


@settings(max_examples=100, deadline=None)
@given(batches, st.randoms(use_true_random=False))
def test_given_arcs_are_in_every_tree(batch, random):
    longest = int(np.diff(batch.words).max())
    wanted = np.array([random.choice([-1, -1, *range(longest + 1)]) for _ in range(len(batch.ptr) - 1)])
    new_ptr, kept = constrained(batch.ptr, batch.head, batch.score, wanted)
    siblings = ()
    if batch.siblings:
        sib_ptr, sib, parts = constrained_parts(kept, *batch.siblings[:2])
        siblings = sib_ptr, sib, batch.siblings[2][parts]
        for ours, right in zip((sib_ptr, sib), sibling_parts(batch.words, new_ptr, batch.head[kept])):
            np.testing.assert_array_equal(ours, right)
    arrays = batch.words, new_ptr, batch.head[kept], batch.score[kept], *siblings
    log_z, marginals, _ = projective_marginals(*arrays)
    heads, best, _ = projective_best(*arrays)
    possible = wanted[:, None] == np.where(batch.score > -np.inf, batch.head, -2)
    of_word = np.repeat(np.arange(len(wanted)), np.diff(batch.ptr))
    holds = np.array([np.any(possible[w, of_word == w]) for w in range(len(wanted))])
    for s in range(len(batch)):
        arcs, _, scores = batch.trees(s)
        here = batch.words_of(s)
        agree = np.all((batch.head[arcs] == wanted[here]) | ~holds[here], axis=1)
        assert log_z[s] == pytest.approx(log_sum(scores[agree]), rel=1e-12, abs=1e-11)
        assert best[s] == pytest.approx(max(scores[agree], default=-np.inf), abs=1e-9)
        inside = kept[new_ptr[here.start] : new_ptr[here.stop]]
        right = chances(arcs[agree], scores[agree], len(batch.head))
        np.testing.assert_allclose(
            marginals[new_ptr[here.start] : new_ptr[here.stop]], right[inside], atol=1e-10
        )
        if np.any(agree):
            assert np.all((heads[here] == wanted[here]) | ~holds[here])


@pytest.mark.parametrize("second", [False, True])
def test_marginals_are_the_derivatives_of_log_z(second):
    batch = nearby(5, [1, 7, 9], 5, 1.0, second)
    _, arc_marginals, part_marginals = projective_marginals(*batch.arrays)
    h = 1e-5
    for at, marginals in ((3, arc_marginals), (6, part_marginals))[: 1 + second]:
        for i in range(len(marginals)):
            sums = []
            for step in (h, -h):
                arrays = list(batch.arrays)
                arrays[at] = arrays[at].copy()
                arrays[at][i] += step
                sums.append(projective_marginals(*arrays)[0].sum())
            assert (sums[0] - sums[1]) / (2 * h) == pytest.approx(marginals[i], abs=1e-8)


def test_siblings_stand_between_an_arc_and_its_head_nearest_to_the_head_first():
    batch = Batch(3, [4, 7], keep=0.7, second=False)
    sib_ptr, sib = sibling_parts(batch.words, batch.ptr, batch.head)
    for s in range(len(batch)):
        ends = {}
        for w in range(batch.words[s], batch.words[s + 1]):
            for a in range(batch.ptr[w], batch.ptr[w + 1]):
                ends[a] = int(batch.head[a]), int(w - batch.words[s] + 1)
        for a, (h, m) in ends.items():
            others = [b for b, (g, u) in ends.items() if g == h and h > 0 and min(h, m) < u < max(h, m)]
            right = [-1, *sorted(others, key=lambda b: abs(ends[b][1] - h))]
            assert sib[sib_ptr[a] : sib_ptr[a + 1]].tolist() == right


def test_parts_that_are_left_out_are_forbidden():
    batch = Batch(8, [5, 6], keep=0.9)
    sib_ptr, sib, sib_score = batch.siblings
    keep = np.random.default_rng(1).random(len(sib)) < 0.7
    fewer_ptr = np.concatenate(([0], np.cumsum(keep)))[sib_ptr]
    log_z, arcs, parts = projective_marginals(*batch.arrays[:4], fewer_ptr, sib[keep], sib_score[keep])
    same = projective_marginals(*batch.arrays[:6], np.where(keep, sib_score, -np.inf))
    np.testing.assert_allclose(log_z, same[0])
    np.testing.assert_allclose(arcs, same[1], atol=1e-12)
    np.testing.assert_allclose(parts, same[2][keep], atol=1e-12)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("spread", [1.0, 1000.0])
def test_sentences_of_500_words(second, spread):
    batch = nearby(4, [500], 6, spread, second)
    tracemalloc.start()
    log_z, arcs, parts = projective_marginals(*batch.arrays)
    heads, best, chosen = projective_best(*batch.arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6
    assert np.isfinite(log_z[0])
    assert best[0] <= log_z[0] * (1 + 1e-12) if log_z[0] > 0 else best[0] <= log_z[0] * (1 - 1e-12)
    np.testing.assert_allclose(np.add.reduceat(arcs, batch.ptr[:-1]), 1.0, atol=1e-9)
    assert arcs[batch.head == 0].sum() == pytest.approx(1.0, abs=1e-9)
    if second:
        np.testing.assert_allclose(np.add.reduceat(parts, batch.siblings[0][:-1]), arcs, atol=1e-9)
    if spread == 1000.0:  # then hardly any other tree has any probability
        assert arcs[chosen].mean() > 0.99
    kbest = projective_kbest(*batch.arrays, k=3)
    assert kbest[1][0] == pytest.approx(best[0], rel=1e-12)
    np.testing.assert_array_equal(kbest[0][0], heads)


def test_a_sum_that_underflows_is_taken_in_logs():
    """Both words want each other, by far; and the sum of weights that are scaled to 1 underflows."""
    score = np.array([-5000.0, 3000.0, -7000.0, 3000.0])
    log_z, arcs, _ = projective_marginals([0, 2], [0, 2, 4], [0, 2, 0, 1], score)
    assert log_z[0] == -2000.0
    np.testing.assert_array_equal(arcs, [1.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("second", [False, True])
def test_logs_and_weights_agree_on_longer_sentences(second):
    """Two more words want each other by far, but must hang below the last word: the weights of all trees underflow."""
    n = 40
    batch = nearby(11, [n], 6, 1.0, second)
    ptr = [*batch.ptr.tolist(), len(batch.head) + 2, len(batch.head) + 3]
    head, score = [*batch.head, n, n + 2, n + 1], [*batch.score, 0.0, 900.0, 900.0]
    siblings = ()
    if second:
        sib_ptr, sib = sibling_parts([0, n + 2], ptr, head)
        siblings = sib_ptr, sib, np.concatenate((batch.siblings[2], np.zeros(3)))
    log_z, arcs, parts = projective_marginals([0, n + 2], ptr, head, score, *siblings)
    right_log_z, right_arcs, right_parts = projective_marginals(*batch.arrays)
    assert log_z[0] - 900.0 == pytest.approx(right_log_z[0], rel=1e-12)
    np.testing.assert_allclose(arcs, [*right_arcs, 1.0, 0.0, 1.0], atol=1e-12)
    if second:
        np.testing.assert_allclose(parts, [*right_parts, 1.0, 0.0, 1.0], atol=1e-12)


def test_the_best_tree_is_that_of_the_dense_decoder():
    rng = np.random.default_rng(2)
    for n in (1, 2, 15, 30):
        scores = rng.normal(size=(n + 1, n + 1))  # by head and modifier
        head = np.array([h for m in range(1, n + 1) for h in range(n + 1) if h != m], np.int32)
        flat = np.array([scores[h, m] for m in range(1, n + 1) for h in range(n + 1) if h != m])
        heads, _, _ = projective_best([0, n], np.arange(n + 1) * n, head, flat)
        np.testing.assert_array_equal(heads, eisner(scores))


@pytest.mark.parametrize("second", [False, True])
def test_threads_may_share_a_batch(second):
    batch = Batch(9, [0, 3, 5, 1, 4, 6, 2, 0], second=second)
    right, right_best = projective_marginals(*batch.arrays), projective_best(*batch.arrays)
    assert right[0][0] == right[0][-1] == 0.0  # a sentence without words has one tree, with nothing in it
    n, n_words, n_arcs = len(batch), len(batch.ptr) - 1, len(batch.head)
    out = np.full(n, 7.0), np.full(n_arcs, 7.0), np.full(len(batch.siblings[1]), 7.0) if second else None
    best = np.zeros(n_words, np.int32), np.zeros(n), np.zeros(n_words, np.int64)

    def work(shard):
        projective_marginals(*batch.arrays, start=shard[0], stop=shard[1], out=out)
        projective_best(*batch.arrays, start=shard[0], stop=shard[1], out=best)
        return 1

    assert map_reduce(work, [(0, 2), (2, 3), (3, 3), (3, 8)], threads=2) == 4
    for ours, theirs in zip((*out[: 2 + second], *best), (*right[: 2 + second], *right_best)):
        np.testing.assert_array_equal(ours, theirs)


def test_a_range_leaves_the_rest_alone():
    batch = Batch(9, [3, 3, 3], keep=1.0, second=False)
    out = np.full(3, 7.0), np.full(len(batch.head), 7.0), None
    projective_marginals(*batch.arrays, start=1, stop=2, out=out)
    here = batch.arcs_of(1)
    assert out[0].tolist()[::2] == [7.0, 7.0]
    assert np.all(out[1][: here.start] == 7.0)
    assert np.all(out[1][here.stop :] == 7.0)
    assert np.all(out[1][here] <= 1.0)


def test_a_sentence_of_one_word():
    log_z, arcs, parts = projective_marginals([0, 1], [0, 1], [0], [2.0], [0, 1], [-1], [0.5])
    assert (log_z.tolist(), arcs.tolist(), parts.tolist()) == ([2.5], [1.0], [1.0])
    assert single_root_arborescence([0, 1], [0, 1], [0], [2.0])[0].tolist() == [0]


def test_without_candidates_there_is_no_tree():
    log_z, arcs, _ = projective_marginals([0, 1, 2], [0, 0, 1], [0], [1.0])
    assert log_z.tolist() == [-np.inf, 1.0]
    assert arcs.tolist() == [1.0]
    assert projective_best([0, 1, 2], [0, 0, 1], [0], [1.0])[0].tolist() == [-1, 0]
    assert projective_best([0, 1], [0, 0], [], [])[0].tolist() == [-1]
    assert len(projective_kbest([0, 1], [0, 0], [], [], k=2)[1]) == 0
    assert minimum_risk([0, 1], [0, 0], [], [], projective=True)[1].tolist() == [-np.inf]
    assert len(projective_marginals([0], [0], [], [])[0]) == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 2], [0, 1, 2], [0, 3], [0, 0]), "sentence 0"),
        (([0, 2], [0, 1, 2], [0, -1], [0, 0]), "sentence 0"),
        (([0, 2], [0, 1, 2], [0, 2], [0, 0]), "sentence 0"),
        (([0, 2], [0, 2, 3], [2, 0, 1], [0, 0, 0]), "sentence 0"),
        (([0, 2], [0, 5, 2], [0, 1], [0, 0]), "sentence 0"),
        (([0, 9, 2], [0, 1, 2], [0, 1], [0, 0]), "sentence 0"),
        (([0, 1], [0, 1, 2], [0, 1], [0, 0]), "words must lead from 0 to the number of words, 2"),
        (([0, 2], [0, 1, 1], [0, 1], [0, 0]), "ptr must lead"),
        (([0, 2], [0, 1, 2], [0, 1], [0]), "score must have the length"),
        (([0, 2], [0, 1, 2], [0, 1], [0, 0], [0, 1, 2]), "give all of"),
        (([0, 2], [0, 1, 2], [0, 1], [0, 0], [0, 1], [-1], [0]), "sib_ptr must lead"),
        (([0, 2], [0, 1, 2], [0, 1], [0, 0], [0, 9, 2], [-1, -1], [0, 0]), "sentence 0"),
        (([0, 2], [0, 1, 2], [0, 1], [0, 0], [0, 1, 2], [-1, 7], [0, 0]), "sentence 0"),
        (([0, 2], [0, 1, 2], [0, 1], [0, 0], [0, 1, 2], [-1, 0], [0, 0]), "sentence 0"),
        (([0, 2], [0, 1, 2], [0, 1], [0, 0], [0, 1, 2], [-1, -1], [0]), "sib_score must have"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, message):
    for function in (projective_marginals, projective_best):
        with pytest.raises(OptionError, match=message):
            function(*arrays)
    if len(arrays) == 4:
        for function in (matrix_tree_marginals, single_root_arborescence):
            with pytest.raises(OptionError, match=message):
                function(*arrays)


def test_ranges_and_results_that_do_not_fit_are_refused():
    arrays = [0, 1], [0, 1], [0], [2.0]
    with pytest.raises(OptionError, match="start and stop"):
        projective_marginals(*arrays, start=0, stop=2)
    with pytest.raises(OptionError, match="the array for log_z must have the length 1"):
        projective_marginals(*arrays, out=(np.zeros(2), np.zeros(1), None))
    with pytest.raises(OptionError, match="one head for each word"):
        constrained(*arrays[1:], [0, 0])
    with pytest.raises(OptionError, match="k"):
        projective_kbest(*arrays, k=0)
