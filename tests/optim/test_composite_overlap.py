"""Composite norms of groups that overlap: by definition, against other penalties, and against SLSQP."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from spinney.classify.linear import LinearClassifier
from spinney.errors import OptionError
from spinney.optim import (
    Composite,
    FlatGroups,
    LogisticLoss,
    NonNegative,
    OverlappingGroups,
    SquaredLoss,
    lambda_max,
    path,
    solve,
)
from spinney.optim.solvers.admm_groups import CompositeState
from spinney.optim.solvers.faces import OnFace
from spinney.structure import Groups

LISTS = [[0, 1, 2], [2, 3, 4, 5], [0, 5, 6], [1, 6], [7, 8]]
WEIGHTS = [1.0, 2.0, 0.5, 1.0, 1.5]
GROUPS = FlatGroups.of(LISTS, 9, WEIGHTS)
NORMS = [(r, q) for r in (1.0, 1.5, 2.0, 4.0) for q in (1.0, 2.0, np.inf)]
SEEDS = st.integers(0, 2**32 - 1)


def definition(penalty, w):
    groups = penalty.groups
    members = [groups.members[a:b] for a, b in itertools.pairwise(groups.ptr.tolist())]
    inner = [np.linalg.norm(w[g], penalty.q) for g in members]
    return penalty.lam * sum(a * n**penalty.r for a, n in zip(groups.weights, inner)) ** (1 / penalty.r)


def a_loss(kind, seed=0, n=40, p=9, intercept=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    score = X @ rng.standard_normal(p) + rng.standard_normal(n)
    if kind == "squared":
        return SquaredLoss(X, score, intercept=intercept)
    return LogisticLoss(X, np.where(score > 0, 1.0, -1.0), intercept=intercept)


def random_groups(rng, p, most=5):
    lists = [
        sorted(rng.choice(p, rng.integers(1, p + 1), replace=False).tolist())
        for _ in range(rng.integers(1, most))
    ]
    lists.append(list(range(p)))  # so that every weight is penalised, and groups overlap
    return FlatGroups.of(lists, p, rng.uniform(0.3, 2.0, len(lists)))


def tied_point(rng, p):
    """A point with zeros and equal sizes."""
    return rng.choice([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0], p) * rng.choice([1.0, 0.7])


# -- the norm ---------------------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from(NORMS))
@settings(max_examples=60, deadline=None)
def test_it_is_a_norm(seed, norms):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 7))
    made = Composite(0.7, random_groups(rng, p), *norms)
    u, v, c = tied_point(rng, p), rng.standard_normal(p), float(rng.standard_normal())
    assert made.value(u) == pytest.approx(definition(made, u), rel=1e-12, abs=1e-12)
    assert made.value(c * u) == pytest.approx(abs(c) * made.value(u), rel=1e-12, abs=1e-12)
    assert made.value(u + v) <= (made.value(u) + made.value(v)) * (1 + 1e-12)
    assert (made.value(u) == 0.0) == (not u.any())


@given(SEEDS, st.sampled_from(NORMS), st.sampled_from([0.0, 1e-3, np.inf]))
@settings(max_examples=80, deadline=None)
def test_what_a_residual_takes_off_is_a_subgradient(seed, norms, accuracy):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 7))
    made = Composite(0.7, random_groups(rng, p), *norms)
    w, grad = tied_point(rng, p) * rng.integers(0, 2), 2.0 * rng.standard_normal(p)
    made.residual(w, rng.standard_normal(p))  # leaves parts of another gradient behind
    slope = made.residual(w, grad, accuracy) - grad
    for scale in (1e-3, 1.0, 10.0):
        u = w + scale * rng.standard_normal((30, p))
        assert all(made.value(x) >= made.value(w) + slope @ (x - w) - 1e-9 for x in u)
    assert slope @ w == pytest.approx(made.value(w), abs=1e-9)  # so that it is in the dual ball, too


@given(SEEDS, st.sampled_from(NORMS), st.floats(1e-2, 1e2))
@settings(max_examples=40, deadline=None)
def test_multipliers_stay_in_the_dual_ball_and_bound_the_dual_norm(seed, norms, rho):
    rng = np.random.default_rng(seed)
    made = Composite(0.8, GROUPS, *norms)
    state = CompositeState(made)
    for _ in range(4):
        state.step(rng.standard_normal(9) * rng.choice([1e-3, 1.0, 1e3]), rho)
    x = np.bincount(
        GROUPS.members, -state.U, 9
    )  # what the multipliers add up to is in the ball by that very split
    state.residual(np.zeros(9), np.zeros(9))
    assert made.dual_bound(x) <= 0.8 * (1 + 1e-9)
    z = rng.standard_normal(9)
    for u in rng.standard_normal((50, 9)):
        assert z @ u <= made.dual_bound(z) * made.with_lam(1.0).value(u) * (1 + 1e-9)


@pytest.mark.parametrize(("r", "q"), NORMS)
def test_the_strength_that_empties(r, q):
    loss = a_loss("logistic")
    largest = lambda_max(loss, Composite(1.0, GROUPS, r, q))
    for times, empty in ((1.0, True), (0.99, False)):
        solution = solve(loss, Composite(times * largest, GROUPS, r, q))
        assert solution.converged
        assert solution.w[:9].any() != empty


@pytest.mark.parametrize(("r", "q"), NORMS)
def test_the_prox_is_the_nearest_point(r, q):
    rng = np.random.default_rng(4)
    z = rng.standard_normal(9)
    made = Composite(0.5, GROUPS, r, q)
    w = z.copy()
    made.prox(w, 0.4)
    smaller = made.with_lam(0.2)
    assert smaller.violation(w, w - z) <= 1e-8
    best = 0.5 * np.sum((w - z) ** 2) + definition(smaller, w)
    for scale in (1.0, 1e-1, 1e-3):
        for u in w + scale * rng.standard_normal((50, 9)):
            assert 0.5 * np.sum((u - z) ** 2) + definition(smaller, u) >= best - 1e-12


# -- the optimum ------------------------------------------------------------------------------------------


def by_slsqp(loss, penalty):
    """The weights that SLSQP finds: w = a − b with a, b ≥ 0, and for q = ∞ an epigraph variable for each group."""
    groups, k = penalty.groups, penalty.groups.n_features
    members = [groups.members[a:b] for a, b in itertools.pairwise(groups.ptr.tolist())]
    largest = penalty.q == np.inf
    bends = []
    if largest:
        for g, inside in enumerate(members):
            bends += [
                {"type": "ineq", "fun": lambda x, g=g, i=i: x[2 * k + g] - x[i] - x[k + i]} for i in inside
            ]

    def objective(x):
        size = x[:k] + x[k : 2 * k]
        if largest:
            inner = x[2 * k :]
        elif penalty.q == 1:
            inner = np.array([size[g].sum() for g in members])
        else:
            inner = np.array([np.sqrt(size[g] @ size[g] + 1e-14) for g in members])
        outer = (groups.weights @ np.maximum(inner, 1e-12) ** penalty.r) ** (1 / penalty.r)
        return loss.value_and_grad(x[:k] - x[k : 2 * k])[0] + penalty.lam * outer

    start = np.full(2 * k + (len(members) if largest else 0), 0.3)
    start[2 * k :] = 1.0
    found = minimize(
        objective, start, method="SLSQP", bounds=[(0, None)] * len(start), constraints=bends,
        options={"maxiter": 1000, "ftol": 1e-13},
    )  # fmt: skip
    return found.x[:k] - found.x[k : 2 * k]


@pytest.mark.parametrize(("r", "q"), NORMS)
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_fits_are_those_of_slsqp(r, q, share):
    groups = FlatGroups.of([[0, 1], [1, 2, 3], [0, 3]], 4, [1.0, 0.7, 1.3])
    loss = a_loss("squared", seed=5, p=4, intercept=False)
    penalty = Composite(1.0, groups, r, q)
    penalty = penalty.with_lam(share * lambda_max(loss, penalty))
    solution, other = solve(loss, penalty, "admm", tol=1e-9), by_slsqp(loss, penalty)
    found = loss.value_and_grad(other)[0] + definition(penalty, other)
    assert solution.converged
    assert solution.objective == pytest.approx(
        loss.value_and_grad(solution.w)[0] + definition(penalty, solution.w)
    )
    assert solution.objective <= found + 1e-9 * found
    assert found <= solution.objective * (1 + 1e-5)


@given(SEEDS, st.sampled_from(["squared", "logistic"]), st.floats(0.02, 0.95))
@settings(max_examples=20, deadline=None)
def test_for_r_1_and_q_2_it_is_the_norm_of_overlapping_groups(seed, kind, share):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 8))
    loss, groups = a_loss(kind, seed, p=p), random_groups(rng, p)
    lam = share * lambda_max(loss, OverlappingGroups(1.0, groups))
    theirs = solve(loss, OverlappingGroups(lam, groups), tol=1e-8, max_iter=10_000)
    mine = solve(loss, Composite(lam, groups, 1, 2), "admm", tol=1e-8, max_iter=10_000)
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-6)
    np.testing.assert_array_equal(mine.w == 0, theirs.w == 0)


@pytest.mark.parametrize(("r", "q"), NORMS)
def test_disjoint_groups_have_the_same_optimum_by_admm(r, q):
    """A group of weight 0 makes them overlap, and changes nothing else."""
    loss, lists = a_loss("logistic", 3), [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    disjoint = Composite(1.0, FlatGroups.of(lists, 9), r, q)
    disjoint = disjoint.with_lam(0.3 * lambda_max(loss, disjoint))
    groups = FlatGroups.of([*lists, [0, 8]], 9, [1.0, 1.0, 1.0, 0.0])
    first = solve(loss, disjoint, tol=1e-8, max_iter=20_000)
    second = solve(loss, Composite(disjoint.lam, groups, r, q), "admm", tol=1e-8)
    assert first.solver == "fista"
    assert second.converged
    assert second.objective == pytest.approx(first.objective, rel=1e-7)
    np.testing.assert_allclose(second.w, first.w, atol=1e-5)


@given(SEEDS, st.sampled_from(NORMS), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_the_gap_bounds_the_error_wherever_admm_stops(seed, norms, max_iter):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 8))
    loss, made = a_loss("logistic", seed, p=p), Composite(1.0, random_groups(rng, p), *norms)
    made = made.with_lam(float(rng.uniform(0.05, 0.9)) * lambda_max(loss, made))
    best = solve(loss, made, tol=1e-8, max_iter=5000)
    for rho in (None, 5.0):
        early = solve(loss, made, "admm", tol=1e-8, max_iter=max_iter, rho=rho)
        assert early.gap >= 0.0
        assert early.objective * (1.0 - early.gap) <= best.objective * (1 + 1e-12)
        assert early.objective >= best.objective * (1 - max(best.gap, 1e-8)) - 1e-12


@pytest.mark.parametrize("q", [2.0, np.inf])
def test_removed_groups_are_exactly_zero_and_ties_exact(q):
    loss = a_loss("logistic")
    penalty = Composite(1.0, GROUPS, 1, q)
    solution = solve(loss, penalty.with_lam(0.6 * lambda_max(loss, penalty)), "admm", tol=1e-9)
    norms = penalty.group_norms(solution.w[:9])
    assert 0 < np.count_nonzero(norms) < len(norms)
    np.testing.assert_array_equal(solution.copy_norms == 0, norms == 0)
    if q == np.inf:
        sizes = np.abs(solution.w[:9])
        assert len(np.unique(sizes[sizes > 0])) < np.count_nonzero(sizes)


@pytest.mark.parametrize(("r", "q"), NORMS)
def test_the_smooth_function_on_a_face(r, q):
    rng = np.random.default_rng(1)
    loss, penalty = a_loss("logistic"), Composite(0.6, GROUPS, r, q)
    w = np.array([1.5, -1.5, 0.3, 0.8, 0.0, -0.7, 0.4, 0.0, 0.0, 0.2])  # with an intercept
    face = OnFace(loss, penalty, w)
    x, v, step = face.start, rng.standard_normal(face.n_params), 1e-6
    assert face.n_params == (6 if q == np.inf else 7)  # 0 and 1 are tied by the first group
    np.testing.assert_array_equal(face.whole(x), w)
    value, grad = face.value_and_grad(x)
    assert value == pytest.approx(loss.value_and_grad(w)[0] + definition(penalty, w[:9]))
    ahead, behind = face.value_and_grad(x + step * v), face.value_and_grad(x - step * v)
    assert (ahead[0] - behind[0]) / (2 * step) == pytest.approx(grad @ v, rel=1e-6)
    np.testing.assert_allclose(face.hess_vec(x)(v), (ahead[1] - behind[1]) / (2 * step), rtol=1e-5, atol=1e-6)


# -- how it is used ---------------------------------------------------------------------------------------


def test_solvers_agree_and_others_are_refused_in_one_line():
    loss = a_loss("squared")
    penalty = Composite(3.0, GROUPS, 1, np.inf)
    one, other = solve(loss, penalty, "admm", tol=1e-8), solve(loss, penalty, "fista", tol=1e-6)
    assert other.objective == pytest.approx(one.objective, rel=1e-6)
    with pytest.raises(OptionError, match=r"use fista or .*admm") as error:
        solve(loss, penalty, "cd")
    assert "\n" not in str(error.value)


def test_a_path_goes_from_the_empty_model_down():
    loss, penalty = a_loss("logistic"), Composite(1.0, GROUPS, 1, np.inf)
    sizes = [
        np.count_nonzero(solution.w[:9]) for _, solution in itertools.islice(path(loss, penalty), 0, 50, 7)
    ]
    assert sizes[0] == 0
    assert sizes[-1] == 9


def test_nonnegative_weights():
    loss = a_loss("squared", n=30)
    penalty = NonNegative(Composite(2.0, GROUPS, 1, np.inf))
    solution = solve(loss, penalty, tol=1e-5)
    assert solution.converged
    assert np.all(solution.w[:9] >= 0)


def test_coordinates_in_no_group_are_left_alone():
    loss = a_loss("squared", p=11)
    groups = FlatGroups.of(LISTS, 11, WEIGHTS)
    penalty = Composite(1.0, groups, 1, np.inf)
    solution = solve(loss, penalty.with_lam(1.01 * lambda_max(loss, penalty)), tol=1e-8)
    assert solution.converged
    assert np.count_nonzero(solution.w[:11]) == 2


def test_a_strength_of_zero_is_no_penalty():
    loss = a_loss("squared")
    free = np.linalg.lstsq(np.column_stack([loss.X, np.ones(loss.n)]), loss.y)[0]
    np.testing.assert_allclose(solve(loss, Composite(0.0, GROUPS, 1, np.inf)).w, free, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["l1/linf", "l2/l1", "l1/l2"])
def test_classifiers_take_it_by_name(name, classes):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 9))
    y = np.digitize(X[:, 0] - X[:, 3] + 0.2 * rng.standard_normal(60), np.linspace(-0.5, 0.5, classes - 1))
    groups = Groups.from_lists(LISTS, 9, weights=WEIGHTS)
    model = LinearClassifier(name, groups=groups, lam_ratio=0.3).fit(X, y)
    # Descent takes the sum of ℓ2 norms; but its groups are of features, not of single weights.
    assert model.solver_ == ("cd" if (name, classes) == ("l1/l2", 2) else "admm")
    assert model.converged_
    assert model.score(X, y) > 0.7


def test_r_just_above_1_does_not_empty_the_prox():
    """(1/2)^(1/(r − 1)) is too small a size to be told from 0: the search must not take that for the end."""
    z = np.random.default_rng(0).standard_normal(40)
    groups = FlatGroups.of([[2 * g, 2 * g + 1] for g in range(20)], 40)
    penalty, w = Composite(1.0, groups, 1.01, 1), z.copy()
    dual = penalty.lambda_max(z)
    penalty.prox(w, 0.99 * dual)
    assert w.any()
    assert (z - w) @ w == pytest.approx(0.99 * dual * penalty.value(w), rel=1e-9)


@pytest.mark.parametrize(("seed", "lam"), [(1, 0.4), (3, 0.4), (7, 0.4)])
def test_a_flat_face_neither_gives_nan_nor_empties_the_model(seed, lam, recwarn):
    """Words of one document have proportional columns, so that faces of ℓ1/ℓ∞ are flat: Newton's method met 0/0 there.

    The candidate without weights, whose violation is never large, then won though its objective was far higher.
    """
    rng = np.random.default_rng(seed)
    n, length, p = 24, 30, 250
    share = 1 / np.arange(1, p + 1)
    documents = rng.choice(p, size=(n, length), p=share / share.sum())
    X = sparse.csr_matrix(
        (np.ones(documents.size), (np.repeat(np.arange(n), length), documents.ravel())), (n, p)
    )
    X.sum_duplicates()
    sentences = [np.unique(words).tolist() for words in documents.reshape(-1, 6)]
    loss = LogisticLoss(X, np.where(rng.random(n) < 0.5, 1.0, -1.0))
    penalty = Composite(
        lam, Groups.from_lists([words for words in sentences if len(words) > 1], p), r=1.0, q=np.inf
    )
    found = solve(loss, penalty, max_iter=400)
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]
    # With a ρ that stays, ADMM polishes nothing: an upper bound on the optimum from elsewhere.
    other = solve(loss, penalty, "admm", rho=1.0, max_iter=400)
    assert found.objective <= other.objective * (1 + 1e-4)
    assert found.objective < 0.99 * solve(loss, penalty.with_lam(100.0)).objective
