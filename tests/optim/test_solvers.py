"""Every solver reaches the optimum that another, independent one reaches, and its certificate says so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import ElasticNet as SkElasticNet
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from spinney.errors import InputError, OptionError
from spinney.optim import (
    L1,
    L2,
    SOLVERS,
    ConvergenceWarning,
    ElasticNet,
    FlatGroups,
    GroupL2,
    LatentGroups,
    LogisticLoss,
    MultinomialLoss,
    NonNegative,
    NoPenalty,
    OverlappingGroups,
    PairwiseElasticNet,
    SquaredLoss,
    TreeL2,
    TreeLinf,
    choose_solver,
    lambda_max,
    path,
    solve,
    warn_unless_converged,
)
from spinney.optim.solvers.coordinate.elastic_net import _newton_on_face
from spinney.structure import Groups


def _data(seed=0, n=40, p=12, as_sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < (0.5 if as_sparse else 1.0))
    y = X @ (rng.standard_normal(p) * (rng.random(p) < 0.5)) + 0.5 * rng.standard_normal(n)
    return (sparse.csr_matrix(X) if as_sparse else X), y


def _losses(as_sparse=False, intercept=True):
    X, y = _data(as_sparse=as_sparse)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    return {
        "squared": SquaredLoss(X, y, weights, intercept),
        "logistic": LogisticLoss(X, np.where(y > 0, 1.0, -1.0), weights, intercept),
        "multinomial": MultinomialLoss(X, np.digitize(y, [-1, 1]), weights, intercept),
    }


def _optimum(loss, penalty):
    """By plain proximal gradient: slow, simple and independent of the others."""
    return solve(loss, penalty, "ista", tol=1e-10, max_iter=200_000)


@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["squared", "logistic", "multinomial"])
@pytest.mark.parametrize("penalty", [L1(2.0), ElasticNet(1.5, 0.7), L1(1.0, weights=None)])
def test_exact_solvers_agree_on_the_elastic_net(name, as_sparse, intercept, penalty):
    loss = _losses(as_sparse, intercept)[name]
    best = _optimum(loss, penalty)
    assert best.converged
    for solver in ("cd", "owlqn", "fista"):
        solution = solve(loss, penalty, solver, tol=1e-9, max_iter=20_000)
        assert solution.converged, solver
        assert solution.objective == pytest.approx(best.objective, rel=1e-10)
        if name != "multinomial":  # with K intercepts the multinomial optimum is a line
            np.testing.assert_allclose(solution.w, best.w, atol=1e-6)


def test_adaptive_weights_reach_every_solver():
    loss = _losses()["logistic"]
    weights = np.linspace(0.0, 3.0, loss.p)
    solutions = [
        solve(loss, L1(2.0, weights=weights), solver, tol=1e-9, max_iter=9_999)
        for solver in ("cd", "owlqn", "fista")
    ]
    for solution in solutions:
        np.testing.assert_allclose(solution.w, solutions[0].w, atol=1e-6)


@pytest.mark.parametrize("name", ["squared", "logistic", "multinomial"])
def test_smooth_solvers_agree(name):
    loss = _losses()[name]
    best = solve(loss, L2(1.0), "lbfgs", tol=1e-9)
    for solver in ("cg", "newton", "owlqn", "fista", "cd"):
        solution = solve(loss, L2(1.0), solver, tol=1e-8, max_iter=20_000)
        assert solution.converged, solver
        assert solution.objective == pytest.approx(best.objective, rel=1e-9)
        k = loss.n_params - loss.n_free  # K intercepts have a line of optima
        np.testing.assert_allclose(solution.w[:k], best.w[:k], atol=1e-5)


def test_against_scikit_learn():
    X, y = _data(n=60)
    n = len(y)
    lam = 3.0
    np.testing.assert_allclose(
        solve(SquaredLoss(X, y), L1(lam), tol=1e-10).w[:-1],
        Lasso(alpha=lam / n, tol=1e-12).fit(X, y).coef_,
        atol=1e-7,
    )
    elastic = SkElasticNet(alpha=(lam + 2.0) / n, l1_ratio=lam / (lam + 2.0), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(
        solve(SquaredLoss(X, y), ElasticNet(lam, 2.0), tol=1e-10).w[:-1], elastic.coef_, atol=1e-7
    )
    np.testing.assert_allclose(
        solve(SquaredLoss(X, y), L2(lam), tol=1e-10).w[:-1], Ridge(alpha=lam).fit(X, y).coef_, atol=1e-6
    )
    signs = np.where(y > 0, 1.0, -1.0)
    peer = LogisticRegression(C=1 / lam, l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=100_000).fit(
        X, signs
    )
    ours = solve(LogisticLoss(X, signs), L1(lam), tol=1e-10)
    np.testing.assert_allclose(ours.w[:-1], peer.coef_[0], atol=1e-6)


@pytest.mark.parametrize("solver", ["lars", "irls"])
@pytest.mark.parametrize("intercept", [True, False])
def test_lasso_by_homotopy_and_reweighting(solver, intercept):
    loss = _losses(intercept=intercept)["squared"]
    best = solve(loss, L1(4.0), "cd", tol=1e-10)
    np.testing.assert_allclose(solve(loss, L1(4.0), solver, tol=1e-9).w, best.w, atol=1e-6)


@pytest.mark.parametrize("solver", ["sgd", "adagrad", "rda", "sage"])
@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_stochastic_solvers_come_near(solver, name):
    loss = _losses()[name]
    penalty = ElasticNet(1.0, 1.0)
    best = solve(loss, penalty, tol=1e-9)
    null = solve(loss, penalty, tol=1e300)
    solution = solve(loss, penalty, solver, tol=1e-3, max_iter=300, batch=8)
    assert solution.objective - best.objective < 0.05 * (null.objective - best.objective)


def test_sage_converges_to_the_fista_optimum_without_noise():
    loss = _losses()["squared"]
    penalty = ElasticNet(2.0, 5.0)
    best = solve(loss, penalty, "fista", tol=1e-9, max_iter=9_999)
    solution = solve(loss, penalty, "sage", tol=1e-7, max_iter=9_999, batch=loss.n, strong_convexity=5.0)
    assert solution.converged
    np.testing.assert_allclose(solution.w, best.w, atol=1e-5)


def test_cumulative_l1_gives_exact_zeros():
    loss = _losses()["logistic"]
    assert np.count_nonzero(solve(loss, L1(5.0), "sgd", max_iter=50).w == 0) > 0


@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_group_descent_agrees_with_fista(name, as_sparse, l1):
    loss = _losses(as_sparse)[name]
    groups = Groups.from_lists([[0, 3, 4], [1, 2], [6, 7, 8, 9]], n_features=loss.p)  # 5, 10, 11 in no group
    penalty = GroupL2(2.0, groups, l1=l1, l2=0.1)
    best = solve(loss, penalty, "fista", tol=1e-10, max_iter=99_999)
    solution = solve(loss, penalty, "cd", tol=1e-10)
    assert solution.converged
    np.testing.assert_allclose(solution.w, best.w, atol=1e-7)


def test_wide_groups_do_without_a_gram_block(monkeypatch):
    from spinney.optim.solvers.coordinate import groups as module

    loss = _losses()["logistic"]
    penalty = GroupL2(1.0, Groups.from_lists([list(range(6)), list(range(6, 12))], n_features=12))
    with_blocks = solve(loss, penalty, "cd", tol=1e-9)
    monkeypatch.setattr(module, "LARGEST_BLOCK", 0)
    np.testing.assert_allclose(solve(loss, penalty, "cd", tol=1e-9).w, with_blocks.w, atol=1e-7)


def test_column_passes_and_gram_matrix_agree(monkeypatch):
    from spinney.optim.solvers.coordinate.columns import ColumnDesign

    loss = _losses(as_sparse=True)["logistic"]
    on_gram = solve(loss, L1(1.0), "cd", tol=1e-10)
    for passes in (0, 1, 1_000_000):
        monkeypatch.setattr(
            ColumnDesign, "passes_worth_a_gram_matrix", lambda self, columns, room, passes=passes: passes
        )
        np.testing.assert_allclose(solve(loss, L1(1.0), "cd", tol=1e-10).w, on_gram.w, atol=1e-8)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_newton_steps_on_the_face_agree_with_gram_matrices(monkeypatch, name, intercept, as_sparse):
    from spinney.optim.solvers.coordinate import elastic_net
    from spinney.optim.solvers.coordinate.columns import NEVER, ColumnDesign

    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 30)) @ (np.eye(30) + 0.9)  # columns that nearly explain each other
    X = sparse.csc_matrix(X) if as_sparse else X
    y = np.sign(rng.standard_normal(60))
    loss = (SquaredLoss if name == "squared" else LogisticLoss)(X, y, intercept=intercept)
    penalty = ElasticNet(0.5, 0.01)
    on_gram = solve(loss, penalty, "cd", tol=1e-9)
    steps = []
    step = elastic_net.ElasticNetModel._step_on_face
    monkeypatch.setattr(
        elastic_net.ElasticNetModel, "_step_on_face", lambda *given: steps.append(step(*given))
    )
    monkeypatch.setattr(ColumnDesign, "passes_worth_a_gram_matrix", lambda self, columns, room: NEVER)
    on_face = solve(loss, penalty, "cd", tol=1e-9)
    assert steps
    assert on_face.converged
    assert on_face.objective == pytest.approx(on_gram.objective, rel=1e-10)
    np.testing.assert_allclose(on_face.w, on_gram.w, atol=1e-6)


@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_overlapping_groups_by_admm_and_by_fista(name, l1):
    loss = _losses()[name]
    groups = Groups.from_lists(
        [[0, 1, 2, 3], [2, 3, 4, 5], [5, 6, 7], [8, 9, 10, 11], [0, 11]], n_features=loss.p
    )
    penalty = OverlappingGroups(1.5, groups, l1=l1)
    by_prox = solve(loss, penalty, "fista", tol=1e-7, max_iter=9_999)
    by_copies = solve(loss, penalty, "admm", tol=1e-6, max_iter=3_000)
    assert by_prox.converged
    assert by_copies.converged
    assert by_copies.objective == pytest.approx(by_prox.objective, rel=1e-8)
    np.testing.assert_allclose(by_copies.w, by_prox.w, atol=1e-4)


def test_latent_groups_by_duplication_and_by_prox():
    loss = _losses()["squared"]
    groups = Groups.from_lists([[0, 1, 2, 3], [2, 3, 4, 5], [5, 6, 7, 8, 9, 10, 11]], n_features=loss.p)
    penalty = LatentGroups(3.0, groups)
    copies = solve(loss, penalty, tol=1e-9, max_iter=20_000)
    objective = copies.objective
    assert loss.value_and_grad(copies.w)[0] + penalty.value(copies.w[:-1]) == pytest.approx(
        objective, rel=1e-7
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_pairwise_elastic_net_by_descent_and_by_prox(intercept):
    loss = _losses(intercept=intercept)["squared"]
    penalty = PairwiseElasticNet.from_design(0.7, loss.X / np.linalg.norm(loss.X, axis=0))
    by_prox = solve(loss, penalty, "fista", tol=1e-8, max_iter=20_000)
    by_descent = solve(loss, penalty, "cd", tol=1e-9)
    assert by_descent.converged
    np.testing.assert_allclose(by_descent.w, by_prox.w, atol=1e-5)


@pytest.mark.parametrize("tree", [TreeL2, TreeLinf])
def test_tree_norms_give_rooted_supports(tree):
    loss = _losses()["logistic"]
    parent = np.array([-1, 0, 0, 1, 1, 2, 2, 3, 3, -1, 9, 9])
    solution = solve(loss, tree(1.0, parent), tol=1e-8, max_iter=20_000)
    assert solution.converged
    active = solution.w[:-1] != 0
    assert active.any()
    assert all(active[parent[i]] for i in np.flatnonzero(active) if parent[i] >= 0)


def test_non_negative_lasso():
    loss = _losses()["squared"]
    solution = solve(loss, NonNegative(L1(1.0)), tol=1e-8, max_iter=20_000)
    assert solution.converged
    assert np.all(solution.w[:-1] >= 0)
    peer = Lasso(alpha=1.0 / loss.n, positive=True, tol=1e-12)
    peer.fit(loss.X, loss.y, sample_weight=None)
    unweighted = SquaredLoss(loss.X, loss.y)
    np.testing.assert_allclose(
        solve(unweighted, NonNegative(L1(1.0)), tol=1e-10, max_iter=99_999).w[:-1], peer.coef_, atol=1e-6
    )


@pytest.mark.parametrize("name", ["squared", "logistic", "multinomial"])
def test_lambda_max_empties_the_model(name):
    loss = _losses()[name]
    largest = lambda_max(loss, L1(1.0))
    k = loss.n_params - loss.n_free
    assert not np.any(solve(loss, L1(1.0001 * largest), "cd").w[:k])
    assert np.any(solve(loss, L1(0.999 * largest), "cd").w[:k])


def test_path_warm_starts_and_matches_single_fits():
    loss = _losses()["logistic"]
    for lam, solution in path(loss, L1(1.0), tol=1e-9):
        np.testing.assert_allclose(solution.w, solve(loss, L1(lam), tol=1e-9).w, atol=1e-6)


@given(st.integers(0, 10_000), st.floats(0.01, 0.9))
@settings(max_examples=30, deadline=None)
def test_certificate_bounds_the_distance_to_the_optimum(seed, ratio):
    X, y = _data(seed, 20, 6)
    loss = SquaredLoss(X, y, intercept=False)
    penalty = L1(ratio * lambda_max(loss, L1(1.0)))
    rough, fine = solve(loss, penalty, "fista", tol=1e-2), solve(loss, penalty, "cd", tol=1e-10)
    residual = penalty.residual(rough.w, loss.value_and_grad(rough.w)[1])
    # Convexity: f(w) − f(w*) ≤ ⟨g, w − w*⟩ for the subgradient g of smallest norm.
    assert rough.objective - fine.objective <= residual @ (rough.w - fine.w) + 1e-9


def test_huge_rare_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [np.zeros(30), np.ones(30), 1e6 * rng.standard_normal(30), np.eye(30)[0], rng.standard_normal(30)]
    )
    y = np.where(X[:, 4] > 0, 1.0, -1.0)
    for loss in (LogisticLoss(X, y), MultinomialLoss(X, (y > 0).astype(int)), SquaredLoss(X, y)):
        solution = solve(loss, L1(0.5), "cd", tol=1e-9)
        assert solution.converged
        assert np.all(np.isfinite(solution.w))


def test_separable_data_without_penalty_says_that_it_did_not_converge():
    loss = LogisticLoss(np.array([[-1.0], [1.0]]), [-1, 1])
    solution = solve(loss, NoPenalty(), max_iter=5, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        warn_unless_converged(solution, 1e-12)


def test_interruption_keeps_what_was_learnt():
    def interrupt(step, w):
        if step.iteration == 2:
            raise KeyboardInterrupt

    loss = _losses()["logistic"]
    solution = solve(loss, L1(0.1), "fista", tol=1e-12, callback=interrupt)
    assert solution.interrupted
    assert not solution.converged
    assert np.any(solution.w)
    resumed = solve(loss, L1(0.1), "fista", tol=1e-6, w0=solution.w, max_iter=9_999)
    assert resumed.converged


def test_callback_can_stop():
    solution = solve(
        _losses()["logistic"], L1(0.1), "fista", tol=0.0, callback=lambda step, w: step.iteration == 3
    )
    assert solution.n_iter == 3


@pytest.mark.parametrize(
    ("penalty", "solver", "match"),
    [
        (TreeL2(1.0, np.full(12, -1)), "owlqn", "fista"),
        (TreeL2(1.0, np.full(12, -1)), "cd", "fista"),
        (L1(1.0), "lbfgs", "smooth"),
        (L1(1.0), "admm", "overlapping"),
        (L1(1.0), "magic", "there is no solver"),
        (TreeL2(1.0, np.full(12, -1)), "irls", "one output with an elastic-net"),
        (L1(1.0), "lars", "squared"),
        (TreeL2(1.0, np.full(12, -1)), "sgd", "rda"),
    ],
)
def test_bad_pairs_fail_early_with_a_sentence(penalty, solver, match):
    with pytest.raises(OptionError, match=match):
        solve(_losses()["logistic"], penalty, solver)


def test_results_repeat_bit_for_bit():
    loss = _losses(as_sparse=True)["multinomial"]
    for solver in ("cd", "owlqn", "sgd", "sage"):
        first, second = (solve(loss, ElasticNet(0.5, 0.5), solver, max_iter=20).w for _ in range(2))
        np.testing.assert_array_equal(first, second)


class _Untouched:
    """A loss that must not be asked for anything."""

    n_params, n_free = 12, 0

    def value_and_grad(self, w):
        raise AssertionError("work was done")


@pytest.mark.parametrize(
    ("solver", "penalty", "match"),
    [
        ("cd", L1(1.0), "the solver cd needs a linear loss with an elastic-net penalty"),
        (
            "newton",
            L2(1.0),
            "the solver newton needs a loss with Hessian-vector products with a smooth penalty",
        ),
        ("sgd", L1(1.0), "the solver sgd needs a loss with mini-batches with an elastic-net penalty"),
        ("rda", L1(1.0), "the solver rda needs a loss with mini-batches; for ℓ1, λ = 1 use owlqn or fista"),
        ("lars", L1(1.0), "the solver lars needs a squared loss with a plain l1 penalty"),
        ("subgradient", L1(1.0), "needs a penalty with a subgradient"),
    ],
)
def test_solvers_say_what_they_need_before_any_work(solver, penalty, match):
    with pytest.raises(OptionError, match=match):
        solve(_Untouched(), penalty, solver)


def test_options_and_metrics_that_do_not_fit_are_refused_before_any_work():
    with pytest.raises(
        OptionError, match="the solver fista has no option 'rho'; it takes accelerate, metric"
    ):
        solve(_Untouched(), L1(1.0), "fista", rho=1.0)
    with pytest.raises(OptionError, match="the solver owlqn has no option 'metric'"):
        solve(_Untouched(), L1(1.0), "owlqn", metric=np.ones(12))
    for metric in (np.ones(3), np.zeros(12), np.full(12, np.nan)):
        with pytest.raises(OptionError, match="metric must be"):
            solve(_Untouched(), L1(1.0), "fista", metric=metric)
    groups = GroupL2(1.0, FlatGroups.of([[0, 1]], 12))
    with pytest.raises(OptionError, match="no prox in a metric for group"):
        solve(_Untouched(), groups, "fista", metric=np.ones(12))


def test_every_declared_pair_is_one_that_the_solver_solves():
    """And ``auto`` takes no solver that does not declare the pair."""
    groups = FlatGroups.of([[0, 1, 2], [3, 4]], 12)
    penalties = [NoPenalty(), L2(0.5), L1(0.3), ElasticNet(0.3, 0.2), TreeL2(0.3, np.full(12, -1))]
    penalties += [GroupL2(0.3, groups), OverlappingGroups(0.3, groups)]
    for loss in _losses().values():
        k = loss.n_outputs if loss.n_outputs > 1 else 1
        for penalty in penalties:
            if k > 1 and not hasattr(penalty, "l1_l2"):
                continue
            assert SOLVERS[choose_solver(loss, penalty)].fits(loss, penalty)
            for name, solver in SOLVERS.items():
                if solver.fits(loss, penalty):
                    assert np.isfinite(solve(loss, penalty, name, max_iter=3).objective)
                else:
                    with pytest.raises(OptionError, match=f"the solver {name} needs"):
                        solve(loss, penalty, name)


@pytest.mark.parametrize("solver", ["fista", "ista"])
def test_a_metric_changes_the_way_and_not_the_optimum(solver):
    rng = np.random.default_rng(0)
    widths = np.logspace(-1.5, 1.5, 10)
    X = rng.standard_normal((200, 10)) * widths
    y = X @ (rng.standard_normal(10) / widths) + rng.standard_normal(200)
    loss = SquaredLoss(X, y, intercept=False)
    lasso, net = (solve(loss, made, "cd", tol=1e-12).objective for made in (L1(2.0), ElasticNet(2.0, 0.5)))
    alone = TreeL2(2.0, np.full(10, -1))  # trees of one weight each: the Lasso
    for penalty, best in (
        (L1(2.0), lasso),
        (ElasticNet(2.0, 0.5), net),
        (alone, lasso),
        (NonNegative(L1(2.0)), None),
    ):
        metric = np.square(X).sum(axis=0)
        found = solve(loss, penalty, solver, metric=metric, tol=1e-10, max_iter=20_000)
        assert found.converged
        assert found.n_iter < 1000
        assert np.max(np.abs(penalty.residual(found.w, found.grad)) / np.sqrt(metric)) < 1e-6
        if best is not None:
            assert found.objective == pytest.approx(best, rel=1e-10)
        often, rare = (
            solve(
                loss,
                penalty,
                solver,
                metric=metric,
                tol=1e-10,
                max_iter=20_000,
                check_every=every,
                certify=False,
            )
            for every in (1, 7)
        )
        assert often.n_iter <= rare.n_iter < often.n_iter + 7
        assert rare.n_iter % 7 == 0
        assert len(rare.trace) == rare.n_iter // 7 + 1


def test_a_metric_is_constant_on_each_tree():
    with pytest.raises(OptionError, match="constant on each tree"):
        TreeL2(1.0, [-1, 0]).prox_in_metric(np.array([1.0, 2.0]))
    w = np.array([3.0, 4.0, 5.0])
    TreeL2(1.0, [-1, 0, -1]).prox_in_metric(np.array([2.0, 2.0, 4.0]))(w, 1.0)
    other = np.array([3.0, 4.0, 5.0])
    TreeL2(1.0, [-1, 0, -1], weights=[0.5, 0.5, 0.25]).prox(other, 1.0)
    np.testing.assert_allclose(w, other)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_that_went_too_far_comes_back(n_classes):
    """Its examples are certain, so that 1 − p is 0 to the last bit; descent used to leave it there for ever."""
    X, y = np.eye(n_classes).repeat(2, axis=0), np.arange(n_classes).repeat(2)
    if n_classes == 2:
        loss, w0 = LogisticLoss(X, 2.0 * y - 1.0, intercept=False), np.array([-200.0, 200.0])
    else:
        loss, w0 = MultinomialLoss(X, y, intercept=False), 200.0 * np.eye(3).ravel()
    far = solve(loss, L1(0.1), "cd", w0=w0, tol=1e-8, max_iter=200)
    near = solve(loss, L1(0.1), "cd", tol=1e-8)
    assert far.converged
    np.testing.assert_allclose(far.w, near.w, atol=1e-6)


@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5])
def test_columns_that_nearly_explain_each_other_do_not_make_descent_crawl(lam):
    rng = np.random.default_rng(0)
    base = rng.poisson(3.0, size=(100, 3)).astype(float)
    X = np.column_stack([base, base.sum(axis=1) + 1e-3 * rng.normal(size=100), base[:, :2] @ [1.0, -1.0]])
    loss = SquaredLoss(X, base @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=100))
    solution = solve(loss, L1(lam), "cd", tol=1e-6, max_iter=30)
    assert solution.converged
    best = Lasso(alpha=lam / 100, tol=1e-12, max_iter=10**6).fit(X, loss.y)
    theirs = 0.5 * np.sum((loss.y - best.predict(X)) ** 2) + lam * np.abs(best.coef_).sum()
    assert solution.objective <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("tol", [0.0, 1e-300])
@pytest.mark.parametrize("solver", ["lbfgs", "fista"])
def test_solvers_end_when_nothing_moves(tol, solver):
    """A tolerance that rounding cannot reach does not cost all iterations that are allowed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 8))
    loss = LogisticLoss(X, np.where(X[:, 0] > 0, 1.0, -1.0))
    solution = solve(loss, L2(1.0), solver, tol=tol, max_iter=100_000)
    assert solution.n_iter < 20_000
    assert solution.converged or solution.stalled
    assert solution.violation < 1e-9


def test_numbers_that_cannot_be_computed_with_are_refused():
    with pytest.raises(InputError, match="y has numbers larger than 1e\\+100"):
        SquaredLoss(np.eye(2), [1e308, -1e308])
    with pytest.raises(InputError, match="X has values that are NaN or infinite"):
        SquaredLoss(np.array([[1.0, np.nan]]), [1.0])


@pytest.mark.filterwarnings("error")
def test_a_step_on_a_nearly_singular_face_warns_of_nothing():
    G, w = np.diag([1.0, 1e-17]), np.array([1.0, 1.0])  # SciPy's `solve` would warn of its condition
    slope = np.array([0.5, 0.0])
    _newton_on_face(G, slope, w, np.zeros(2), np.zeros(2))
    assert w == pytest.approx([0.5, 1.0])
    assert slope == pytest.approx([0.0, 0.0], abs=1e-9)
