"""Blockwise descent against other solvers, against its formula written plainly, and against brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.curvature import approximate_second_derivatives

from spinney.errors import OptionError
from spinney.optim import L1, L2, ElasticNet, GroupL2, SquaredLoss, gradient_scale, solve
from spinney.tagging import Tagger, labelled_columns
from spinney.tagging._sbcd_kernels import block_sums
from spinney.tagging.loss import CRFLoss
from spinney.tagging.sbcd import State, block_pairs, sbcd
from spinney.tagging.sequences import Observations, Sequences
from spinney.tagging.support import Support, observed_support

MODES = ["joint", "alternate", "full-hessian", "coordinate"]


def observations(rng, n_tokens, symbols, columns, valued=False):
    """One of ``symbols`` in each of so many columns, the columns superposed."""
    ids = rng.integers(0, symbols, (n_tokens, columns)) + symbols * np.arange(columns)
    values = rng.normal(size=ids.size) if valued else None
    ptr = np.arange(0, ids.size + 1, columns)
    return Observations(ptr, ids.ravel().astype(np.int32), symbols * columns, values)


def random_loss(
    seed, *, labels=4, sentences=10, symbols=4, columns=1, start=True, valued=False, weighted=False, same=True
):
    """Sentences of one to five tokens; few symbols, so that they recur within a sentence."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, sentences))])
    unigrams = observations(rng, offsets[-1], symbols, columns, valued)
    bigrams = unigrams if same else observations(rng, offsets[-1], symbols + 1, columns, valued)
    y = rng.integers(0, labels, offsets[-1]).astype(np.int32)
    weights = rng.random(sentences) * 2 if weighted else None
    return CRFLoss(Sequences(offsets, unigrams, bigrams, y, weights=weights), labels, start=start, threads=1)


VARIANTS = [
    {},
    {"columns": 2},
    {"start": False},
    {"valued": True, "columns": 3},
    {"weighted": True},
    {"same": False, "columns": 2},
]


def sums(loss, w, sparse=False, whole_hessian=False):
    """Gradient, second derivatives and Hessians of all blocks, in the places of the full model."""
    state = State(loss, w, sparse=sparse, whole_hessian=whole_hessian)
    Y, g, h = loss.shape.labels, np.zeros(loss.shape.n_params), np.zeros(loss.shape.n_params)
    hessians = []
    for j, (o, b) in enumerate(zip(state.blocks.unigram, state.blocks.bigram)):
        block_sums(j, state.blocks, state.chains, state.edges, state.psi, state.block, state.room)
        for full, part in ((g, state.block.g), (h, state.block.h)):
            if o >= 0:
                loss.shape.mu(full)[o] = part[:Y]
            if b >= 0:
                loss.shape.lam(full)[b].reshape(-1)[:] = part[Y:]
        hessians.append(state.block.H.copy())
    return g, h, hessians


# ---------------------------------------------------------------------------------- sums over sentences


@pytest.mark.parametrize("how", VARIANTS, ids=str)
def test_sums_are_the_gradient(how):
    loss = random_loss(0, **how)
    w = np.random.default_rng(1).normal(size=loss.n_params)
    np.testing.assert_allclose(sums(loss, w)[0], loss.value_and_grad(w)[1], rtol=1e-10, atol=1e-11)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(VARIANTS), st.floats(0.0, 1.0))
def test_sparse_is_dense(seed, how, share):
    loss = random_loss(seed, **how)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=loss.n_params) * (rng.random(loss.n_params) < share)
    for sparse, dense in zip(sums(loss, w, sparse=True)[:2], sums(loss, w, sparse=False)[:2]):
        np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-12)


def test_sparse_gives_way_where_it_would_lose_digits():
    loss = random_loss(0)
    w = np.zeros(loss.n_params)
    loss.shape.lam(w)[0, 1, 2], loss.shape.lam(w)[1, 0, 0] = -40.0, 60.0
    state = State(loss, w, sparse=True)
    assert state.edges.active[:2].tolist() == [-1, -1]
    assert state.edges.active[2] == 0
    np.testing.assert_allclose(
        sums(loss, w, sparse=True)[0], loss.value_and_grad(w)[1], rtol=1e-10, atol=1e-11
    )


def test_scores_far_apart_do_not_underflow():
    loss = random_loss(0, labels=2)
    w = np.zeros(loss.n_params)
    loss.shape.lam(w)[:, :2] = 900.0  # common to all pairs but the start's: of no account
    np.testing.assert_allclose(sums(loss, w)[0], sums(loss, 0 * w)[0], atol=1e-12)


def test_automatic_sparsity_needs_many_labels():
    few, many = random_loss(0, labels=4), random_loss(0, labels=30)
    assert State(few, np.zeros(few.n_params)).edges.active.max() == -1
    assert State(many, np.zeros(many.n_params)).edges.active.min() == 0


@pytest.mark.parametrize("start", [True, False])
def test_whole_hessian_is_that_of_the_loss(start):
    """Where symbols do not recur in a sentence nothing is approximate."""
    rng = np.random.default_rng(2)
    ids = np.concatenate([rng.permutation(4) for _ in range(5)]).astype(np.int32)
    seen = Observations(np.arange(21), ids, 4, rng.normal(size=20))
    labels = rng.integers(0, 3, 20).astype(np.int32)
    loss = CRFLoss(
        Sequences(np.arange(0, 21, 4), seen, seen, labels, weights=rng.random(5)), 3, start=start, threads=1
    )
    w, step = rng.normal(size=loss.n_params), 1e-5
    places = np.arange(loss.n_params)
    for j, H in enumerate(sums(loss, w, whole_hessian=True)[2]):
        own = np.concatenate([loss.shape.mu(places)[j], loss.shape.lam(places)[j].ravel()])
        differences = np.empty_like(H)
        for row, k in enumerate(own):
            e = np.zeros(len(w))
            e[k] = step
            ahead, behind = loss.value_and_grad(w + e)[1], loss.value_and_grad(w - e)[1]
            differences[row] = (ahead - behind)[own] / (2 * step)
        np.testing.assert_allclose(H, differences, rtol=1e-5, atol=1e-8)
        assert np.linalg.eigvalsh(H).min() > -1e-12


# ---------------------------------------------------------------------------------- updates


def plain_sweep(loss, w, l1, l2, rule, mode, kappa1=1.0, kappa2=2.0, kappa=1.5):
    """Algorithm 9 with whole gradients at each step."""
    w, places = w.copy(), np.arange(loss.n_params)
    for o, b in block_pairs(loss):
        mu = loss.shape.mu(places)[o] if o >= 0 else places[:0]
        lam = loss.shape.lam(places)[b].ravel() if b >= 0 else places[:0]
        both = np.concatenate([mu, lam])
        for own in {"joint": [both], "alternate": [mu, lam], "coordinate": both[:, None]}[mode]:
            g, h = loss.value_and_grad(w)[1][own], approximate_second_derivatives(loss, w)[own]
            h = np.maximum(h, 1e-10)
            if rule == "coordinate":
                h = kappa2 * np.maximum(np.maximum(kappa1 * h, np.abs(g)), l1 + l2 * np.abs(w[own]))
            elif rule == "block":
                h = h * kappa * max(1.0, np.max(np.abs(g) / h, initial=0.0))
            x = w[own] * h - g
            w[own] = np.sign(x) * np.maximum(np.abs(x) - l1, 0.0) / (h + l2)
    return w


@pytest.mark.parametrize("rule", ["coordinate", "block", "none"])
@pytest.mark.parametrize("mode", ["joint", "alternate", "coordinate"])
@pytest.mark.parametrize(
    "how", [{}, {"columns": 2, "weighted": True}, {"same": False, "start": False}], ids=str
)
def test_two_sweeps_follow_the_formula(how, mode, rule):
    loss = random_loss(3, labels=3, symbols=3, sentences=5, **how)
    options = {"stabiliser": rule, "mode": mode, "guard": False, "sweeps": 2}
    w = np.random.default_rng(4).normal(size=loss.n_params) * 0.1
    found = solve(loss, ElasticNet(0.2, l2=2.0), sbcd, tol=0.0, w0=w, **options).w
    for _ in range(2):
        w = plain_sweep(loss, w, 0.2, 2.0, rule, mode)
    np.testing.assert_allclose(found, w, rtol=1e-8, atol=1e-10)
    assert np.any(found == 0)
    assert np.any(found != 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", VARIANTS, ids=str)
def test_same_optimum_as_owlqn(how, mode):
    loss = random_loss(5, **how)
    penalty = ElasticNet(0.3, l2=0.3)
    reference = solve(loss, penalty, "owlqn", tol=1e-8)
    found = solve(loss, penalty, sbcd, tol=1e-6, max_iter=2000, mode=mode)
    assert found.converged
    assert penalty.violation(found.w, found.grad) <= 1e-6 * gradient_scale(loss)
    assert found.objective == pytest.approx(reference.objective, rel=1e-8)
    np.testing.assert_allclose(found.w, reference.w, atol=1e-4)


@pytest.mark.parametrize("rule", ["coordinate", "block", "none"])
@pytest.mark.parametrize("penalty", [L2(0.5), L1(0.5)], ids=["L2", "L1"])
def test_same_optimum_as_fista_for_other_penalties_and_rules(penalty, rule):
    loss = random_loss(6, sentences=15)
    reference = solve(loss, penalty, "fista", tol=1e-8, max_iter=20000)
    found = solve(loss, penalty, sbcd, tol=1e-6, max_iter=5000, stabiliser=rule)
    assert found.converged
    assert found.objective == pytest.approx(reference.objective, rel=1e-8)


def test_weights_of_the_penalty():
    loss = random_loss(7)
    penalty = ElasticNet(0.3, l2=0.2, weights=np.random.default_rng(0).random(loss.n_params) * 2)
    found = solve(loss, penalty, sbcd, tol=1e-6, max_iter=2000)
    assert found.converged
    assert found.objective == pytest.approx(solve(loss, penalty, "owlqn", tol=1e-8).objective, rel=1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_restricted_to_a_support(mode):
    full = random_loss(8)
    loss = full.restricted(observed_support(full.data, full.shape))
    penalty = ElasticNet(0.2, l2=0.3)
    found = solve(loss, penalty, sbcd, tol=1e-6, max_iter=2000, mode=mode)
    assert found.converged
    assert len(found.w) == loss.n_params < full.n_params
    assert found.objective == pytest.approx(solve(loss, penalty, "owlqn", tol=1e-8).objective, rel=1e-8)


def test_sparse_sweeps_are_dense_sweeps():
    loss = random_loss(9, labels=15, columns=2)
    penalty = ElasticNet(0.3, l2=0.01)
    runs = [
        solve(loss, penalty, sbcd, tol=0.0, max_iter=5, sparse=sparse).w for sparse in (True, False, "auto")
    ]
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(runs[2], runs[1], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("empty", ["unigrams", "bigrams"])
def test_one_sort_of_observations_only(empty):
    data = random_loss(10).data
    none = Observations.none(data.n_tokens)
    loss = CRFLoss(
        Sequences(
            data.offsets,
            none if empty == "unigrams" else data.unigrams,
            none if empty == "bigrams" else data.bigrams,
            data.labels,
        ),
        4,
        threads=1,
    )
    found = solve(loss, ElasticNet(0.2, l2=0.2), sbcd, max_iter=2000)
    assert found.converged
    assert found.objective == pytest.approx(
        solve(loss, ElasticNet(0.2, l2=0.2), "owlqn", tol=1e-8).objective, rel=1e-8
    )


def test_an_observation_twice_at_a_token_counts_double():
    labels = np.array([0, 1, 1], np.int32)
    twice = Observations(np.array([0, 2, 3, 4]), np.array([0, 0, 0, 1], np.int32), 2)
    double = Observations(np.arange(4), np.array([0, 0, 1], np.int32), 2, np.array([2.0, 1.0, 1.0]))
    found = [
        solve(CRFLoss(Sequences(np.array([0, 3]), seen, seen, labels), 2), ElasticNet(0.05, l2=0.1), sbcd).w
        for seen in (twice, double)
    ]
    np.testing.assert_allclose(*found, atol=1e-8)


# ---------------------------------------------------------------------------------- stability


def objectives(loss, penalty, **options):
    return np.array([step.objective for step in solve(loss, penalty, sbcd, tol=0.0, **options).trace])


@pytest.mark.parametrize("lam", [0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_objective_falls_with_kappa2_of_2(seed, lam):
    """The synthetic problem of the thesis in size: 6 labels, 5 symbols, 10 sentences."""
    loss = random_loss(seed, labels=6, symbols=5)
    found = objectives(loss, ElasticNet(lam, l2=0.001), max_iter=60, kappa2=2.0, guard=False)
    assert np.all(np.diff(found) <= 1e-9)


def test_guard_keeps_the_objective_from_rising():
    loss, penalty = random_loss(1, labels=3, symbols=1, sentences=30), ElasticNet(0.1, l2=0.001)
    how = {"max_iter": 40, "kappa2": 0.3}
    assert np.any(np.diff(objectives(loss, penalty, guard=False, **how)) > 1e-6)
    assert np.all(np.diff(objectives(loss, penalty, guard=True, **how)) <= 1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_guard_tames_bare_newton_steps(mode):
    found = objectives(
        random_loss(2, labels=6), ElasticNet(0.01, l2=0.001), max_iter=50, stabiliser="none", mode=mode
    )
    assert np.all(np.diff(found) <= 1e-9)
    assert found[-1] < 0.5 * found[0]


def test_divergence_without_guard_is_an_error():
    with pytest.raises(OptionError, match="diverged"):
        objectives(
            random_loss(2, labels=6), ElasticNet(0.01, l2=0.001), max_iter=200, stabiliser="none", guard=False
        )


@pytest.mark.parametrize("mode", MODES)
def test_without_revisits_a_zero_stays(mode):
    loss, penalty = random_loss(3, labels=5), ElasticNet(0.3, l2=0.001)
    zeros = []
    how = {"tol": 0.0, "max_iter": 30, "mode": mode, "revisit": False}
    found = solve(loss, penalty, sbcd, callback=lambda step, w: zeros.append(w == 0), **how)
    moved = [now for now in zeros if not now.all()]  # the start, where all are 0, does not count
    assert len(moved) > 20
    for before, after in pairwise(moved):
        assert np.all(after[before])
    everything = solve(loss, penalty, sbcd, **(how | {"revisit": True}))
    assert everything.objective <= found.objective + 1e-9 < found.trace[0].objective


def test_sweeps_limits_what_max_iter_does_not():
    found = solve(random_loss(0), ElasticNet(0.1, l2=0.1), sbcd, tol=0.0, max_iter=50, sweeps=3)
    assert found.n_iter == 3


# ---------------------------------------------------------------------------------- blocks and errors


def test_blocks_by_default():
    assert block_pairs(random_loss(0)).tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    alone = [[o, -1] for o in range(4)] + [[-1, b] for b in range(5)]
    assert block_pairs(random_loss(0, same=False)).tolist() == alone
    assert block_pairs(random_loss(0), "observation").tolist() == [*alone[:4], *alone[4:8]]


WORDS = [["a", "b", "a"], ["c", "a"], ["b", "c", "d"], ["d"]]
TAGS = [["X", "Y", "X"], ["Y", "X"], ["Y", "Y", "X"], ["X"]]
TEMPLATES = {
    "*:%x[0,0]": 4,
    "*:%x[0,0]\nB": 4,  # one observation more of λ than of μ
    "B\n*:%x[0,0]\nU1:%x[-1,0]": 4,
    "*:%x[0,0]\nU1:%x[1,0]\nB1:%x[-1,0]\nB": 4,
    "U0:%x[0,0]\nB:%x[0,0]": 4,  # the same symbol by two patterns
    "U1:%x[-1,0]\nB:%x[0,0]": 0,  # as many of μ as of λ, but not of the same symbols
    "U0:%x[0,0]\nB": 0,
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_block_is_one_symbol(template):
    """μ and λ of the same symbol are one block, whatever other patterns there are; the optimum is that of others."""
    tagger = Tagger(template, penalty="elasticnet", lam=0.05, l2=0.05)
    problem = tagger.problem(labelled_columns(WORDS, TAGS))
    loss, penalty = problem.loss, problem.penalty
    pairs = block_pairs(loss).tolist()
    u, b = problem.extractor.names("u"), problem.extractor.names("b")
    paired = [(u[i], b[j]) for i, j in pairs if i >= 0 and j >= 0]
    symbols = {name: name.rpartition(":")[2] for name in u + b}
    assert len(paired) == TEMPLATES[template]
    if len(paired) > 1:
        assert all(symbols[one] == symbols[other] for one, other in paired), paired
    assert sorted(i for i, _ in pairs if i >= 0) == list(range(len(u)))
    assert sorted(j for _, j in pairs if j >= 0) == list(range(len(b)))
    found = solve(loss, penalty, sbcd, tol=1e-9, max_iter=5000)
    other = solve(loss, penalty, "owlqn", tol=1e-9, max_iter=5000)
    assert found.objective == pytest.approx(other.objective, rel=1e-8)


def test_blocks_given_do_not_change_the_optimum():
    loss, penalty = random_loss(0), ElasticNet(0.2, l2=0.2)
    pairs = [(2, 1), (-1, 3)]
    assert block_pairs(loss, pairs).tolist() == [[2, 1], [-1, 3], [0, -1], [1, -1], [3, -1], [-1, 0], [-1, 2]]
    found = [
        solve(loss, penalty, sbcd, max_iter=2000, blocks=blocks)
        for blocks in ("symbol", "observation", pairs)
    ]
    assert all(solution.converged for solution in found)
    for other in found[1:]:
        np.testing.assert_allclose(found[0].w, other.w, atol=1e-4)


@pytest.mark.parametrize("blocks", [[(4, 0)], [(0, -2)], [(1, 0), (1, 1)], "sentence"], ids=str)
def test_impossible_blocks(blocks):
    with pytest.raises(OptionError, match="block"):
        block_pairs(random_loss(0), blocks)


def test_what_cannot_be_solved_is_refused():
    loss, penalty = random_loss(0), ElasticNet(0.1, l2=0.1)
    for bad, message in (({"mode": "some"}, "mode"), ({"stabiliser": "some"}, "stabiliser")):
        with pytest.raises(OptionError, match=message):
            solve(loss, penalty, sbcd, **bad)
    with pytest.raises(OptionError, match="for CRFs only"):
        solve(SquaredLoss(np.eye(2), np.ones(2)), penalty, sbcd)
    with pytest.raises(OptionError, match="elastic-net"):
        solve(loss, GroupL2(0.1, Whole(loss.n_params)), sbcd)
    with pytest.raises(OptionError, match="too large"):
        solve(random_loss(0, labels=40), penalty, sbcd, mode="full-hessian")
    loss.data.labels[3] = -1
    with pytest.raises(OptionError, match="label for every token"):
        solve(loss, penalty, sbcd)


class Whole:
    """One group of all coordinates."""

    def __init__(self, n):
        self.ptr, self.members = np.array([0, n]), np.arange(n, dtype=np.int32)
        self.weights, self.n_features = np.ones(1), n


def test_a_support_without_weights():
    full = random_loss(0)
    loss = full.restricted(Support.of(np.empty(0, np.int64), full.shape))
    assert len(solve(loss, ElasticNet(0.1, l2=0.1), sbcd).w) == 0
