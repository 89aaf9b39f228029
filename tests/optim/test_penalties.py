"""What every penalty must satisfy, checked on values alone wherever that is enough.

Three facts make the checks independent of how a prox or a residual is computed. The objective of the prox is strongly
convex, so F(x) ≥ F(u) + ½‖x − u‖² for every x when u is the minimiser. A vector s is a subgradient when
h(x) ≥ h(u) + ⟨s, x − u⟩ for every x. And a residual r = grad + s of this kind is the smallest one when it is a
direction of steepest descent: ⟨grad, −r⟩ + h'(u; −r) = −‖r‖².
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize

from spinney.errors import OptionError
from spinney.optim import SquaredLoss, lambda_max
from spinney.optim.base import Penalty
from spinney.optim.penalties import (
    L0,
    L1,
    L2,
    ElasticNet,
    FlatGroups,
    Fused,
    GroupL2,
    GroupLinf,
    LatentGroups,
    NonNegative,
    NoPenalty,
    Nuclear,
    OverlappingGroups,
    PairwiseElasticNet,
    Partial,
    Slope,
    TimeSeries,
    TraceLasso,
    TreeL2,
    TreeLinf,
)
from spinney.optim.penalties._splitting import gathered

N = 7
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.0, 1.0, 3.0, 1.0])
DISJOINT = FlatGroups.of([[4, 0, 2], [], [1, 5], [6]], N, [1.0, 1.0, 0.7, 2.0])  # 3 is in no group
OVERLAP = FlatGroups.of([[0, 1, 2], [2, 3, 4], [4, 0], [5]], N, [1.0, 0.8, 1.5, 1.0])  # 6 is in no group
NESTED = [[0, 1, 2, 3, 4], [1, 2], [3], [5, 6]]
PARENT, NODE_OF = [-1, 0, 0, -1], [0, 1, 1, 2, 0, 3, 3]
TREE_WEIGHTS = [1.0, 0.5, 2.0, 1.0]
DESIGN = np.random.default_rng(1).standard_normal((4, N)) @ np.diag([1, 1, 1, 1, 1, 1, 0.5])


def subsets(groups: FlatGroups) -> list[np.ndarray]:
    return [groups.members[a:b] for a, b in zip(groups.ptr[:-1], groups.ptr[1:])]


def latent_norm(w: np.ndarray) -> float:
    """Over all ways to split w among the groups: coordinates 0, 2 and 4 are in two groups each."""

    def cost(split: np.ndarray) -> float:
        a0, a2, a4 = split
        return (
            np.linalg.norm([a0, w[1], a2])
            + 0.8 * np.linalg.norm([w[2] - a2, w[3], a4])
            + 1.5 * np.linalg.norm([w[4] - a4, w[0] - a0])
            + abs(w[5])
        )

    starts = [np.array([i * w[0], j * w[2], k * w[4]]) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    best = min((optimize.minimize(cost, s, method="BFGS").x for s in starts), key=cost)
    fine = optimize.minimize(
        cost, best, method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-14, "maxiter": 4000}
    )
    return float(fine.fun)


@dataclass
class Case:
    make: Callable[[float], Penalty]
    value: Callable[[np.ndarray], float]  # at λ = 1, straight from the definition
    norm: bool = True  # positively homogeneous, and 0 at λ = 0
    zero: bool = True  # lambda_max is exact: w = 0 is optimal from there on and not before
    above: float = 1e-6  # how far above, relatively, the residual at 0 must vanish
    tol: float = 1e-9  # of prox and residual
    dt: float = 1e-6  # step of finite differences of the value
    n: int = N


def l1(w: np.ndarray) -> float:
    return float(np.abs(w).sum())


def squares(w: np.ndarray) -> float:
    return float((w**2).sum())


def tv(w: np.ndarray) -> float:
    return float(sum(abs(b - a) for a, b in itertools.pairwise(w)))


CASES: dict[str, Case] = {
    "none": Case(lambda lam: NoPenalty(), lambda w: 0.0, zero=False),
    "l2": Case(L2, lambda w: 0.5 * squares(w), norm=False, zero=False),
    "l1": Case(L1, l1),
    "weighted l1": Case(lambda lam: L1(lam, WEIGHTS), lambda w: float(WEIGHTS @ np.abs(w))),
    "elastic net": Case(lambda lam: ElasticNet(lam, 0.3), lambda w: l1(w) + 0.15 * squares(w), norm=False),
    "weighted elastic net": Case(
        lambda lam: ElasticNet(lam, 0.3, WEIGHTS),
        lambda w: float(WEIGHTS @ np.abs(w)) + 0.15 * squares(w),
        norm=False,
    ),
    "slope": Case(
        lambda lam: Slope(lam, q=0.3),
        lambda w: float(Slope(1.0, q=0.3).sequence(N) @ np.sort(np.abs(w))[::-1]),
    ),
    "oscar": Case(
        lambda lam: Slope(lam, weights=np.linspace(1.0, 0.0, N)),
        lambda w: float(np.linspace(1.0, 0.0, N) @ np.sort(np.abs(w))[::-1]),
    ),
    "group": Case(
        lambda lam: GroupL2(lam, DISJOINT),
        lambda w: sum(o * np.linalg.norm(w[g]) for o, g in zip(DISJOINT.weights, subsets(DISJOINT))),
    ),
    "sparse group": Case(
        lambda lam: GroupL2(lam, DISJOINT, l1=0.2, l2=0.1),
        lambda w: (
            sum(o * np.linalg.norm(w[g]) for o, g in zip(DISJOINT.weights, subsets(DISJOINT)))
            + 0.2 * l1(w)
            + 0.05 * squares(w)
        ),
        norm=False,
    ),
    "group linf": Case(
        lambda lam: GroupLinf(lam, DISJOINT),
        lambda w: sum(
            o * np.max(np.abs(w[g]), initial=0.0) for o, g in zip(DISJOINT.weights, subsets(DISJOINT))
        ),
    ),
    "tree l2": Case(
        lambda lam: TreeL2(lam, PARENT, NODE_OF, TREE_WEIGHTS),
        lambda w: sum(o * np.linalg.norm(w[g]) for o, g in zip(TREE_WEIGHTS, NESTED)),
    ),
    "tree linf": Case(
        lambda lam: TreeLinf(lam, PARENT, NODE_OF, TREE_WEIGHTS),
        lambda w: sum(o * np.abs(w[g]).max() for o, g in zip(TREE_WEIGHTS, NESTED)),
    ),
    "overlap": Case(
        lambda lam: OverlappingGroups(lam, OVERLAP),
        lambda w: sum(o * np.linalg.norm(w[g]) for o, g in zip(OVERLAP.weights, subsets(OVERLAP))),
        above=1e-3,
    ),
    "sparse overlap": Case(
        lambda lam: OverlappingGroups(lam, OVERLAP, l1=0.2, l2=0.1),
        lambda w: (
            sum(o * np.linalg.norm(w[g]) for o, g in zip(OVERLAP.weights, subsets(OVERLAP)))
            + 0.2 * l1(w)
            + 0.05 * squares(w)
        ),
        norm=False,
        above=1e-3,
    ),
    "latent": Case(lambda lam: LatentGroups(lam, OVERLAP), latent_norm, tol=1e-6, dt=1e-4),
    "total variation": Case(Fused, tv),
    "fused": Case(
        lambda lam: Fused(lam, l1=0.3, l2=0.2, chains=[0, 4, 4, 7]),
        lambda w: tv(w[:4]) + tv(w[4:]) + 0.3 * l1(w) + 0.1 * squares(w),
        norm=False,
    ),
    "time series": Case(
        lambda lam: TimeSeries(lam, 3, -0.4),
        lambda w: 0.5 * squares(w) - 0.4 * (w[0] * w[1] + w[1] * w[2] + w[3] * w[4] + w[4] * w[5]),
        norm=False,
        zero=False,
        n=6,
    ),
    "nuclear": Case(
        lambda lam: Nuclear(lam, (2, 3)), lambda w: float(np.linalg.norm(w.reshape(2, 3), "nuc")), n=6
    ),
    "trace": Case(
        lambda lam: TraceLasso(lam, DESIGN),
        lambda w: float(np.linalg.norm(DESIGN @ np.diag(w), "nuc")),
        zero=False,
        tol=1e-7,
        dt=1e-7,
    ),
    "pairwise": Case(
        lambda lam: PairwiseElasticNet.from_design(lam, DESIGN),
        lambda w: float(np.abs(w) @ PairwiseElasticNet.from_design(1.0, DESIGN).P @ np.abs(w)),
        norm=False,
        zero=False,
    ),
}

CONVEX = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
NORMS = pytest.mark.parametrize(
    "case", [c for c in CASES.values() if c.norm], ids=[k for k, c in CASES.items() if c.norm]
)


def points(case: Case, rng: np.random.Generator, k: int = 4) -> list[np.ndarray]:
    """Dense, sparse and tied vectors, some of them zero, some large."""
    dense = [rng.standard_normal(case.n) * scale for scale in (0.3, 1.0, 3.0)]
    sparse = [rng.standard_normal(case.n) * (rng.random(case.n) < 0.5) for _ in range(k)]
    tied = [np.round(rng.standard_normal(case.n)) for _ in range(k)]
    return [np.zeros(case.n), *dense, *sparse, *tied]


def neighbours(u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points around u at all scales, along random and coordinate directions, and towards 0."""
    directions = np.vstack(
        [
            rng.standard_normal((30, u.size)),
            np.eye(u.size),
            -np.eye(u.size),
            -u,
            u,
            np.ones(u.size),
            -np.ones(u.size),
        ]
    )
    return np.vstack([u + scale * directions for scale in (1e-3, 1e-2, 0.1, 1.0, 10.0)])


def proxed(penalty: Penalty, w: np.ndarray, step: float) -> np.ndarray:
    u = w.copy()
    assert penalty.prox(u, step) is None
    return u


@CONVEX
def test_value_is_the_definition(case: Case) -> None:
    rng = np.random.default_rng(0)
    for w in points(case, rng):
        expected = case.value(w)
        got = case.make(1.0).value(w)
        assert got == pytest.approx(expected, rel=1e-8, abs=1e-9)


@CONVEX
def test_value_is_convex(case: Case) -> None:
    rng = np.random.default_rng(0)
    penalty = case.make(0.7)
    for _ in range(20):
        x, y = rng.standard_normal((2, case.n)) * (rng.random((2, case.n)) < 0.7)
        t = rng.random()
        middle = penalty.value(t * x + (1 - t) * y)
        assert middle <= t * penalty.value(x) + (1 - t) * penalty.value(y) + 1e-8


@NORMS
def test_norms_are_homogeneous(case: Case) -> None:
    rng = np.random.default_rng(0)
    for w in points(case, rng):
        assert case.make(0.5).value(-3 * w) == pytest.approx(3 * case.make(0.5).value(w), rel=1e-8, abs=1e-9)


@NORMS
def test_prox_at_strength_zero_is_the_identity(case: Case) -> None:
    rng = np.random.default_rng(0)
    for w in points(case, rng):
        np.testing.assert_allclose(proxed(case.make(0.0), w, 1.0), w, atol=1e-12)


@CONVEX
@pytest.mark.parametrize("step", [0.1, 1.0])
def test_prox_is_the_minimiser(case: Case, step: float) -> None:
    rng = np.random.default_rng(0)
    penalty = case.make(0.6)
    for w in points(case, rng):
        u = proxed(penalty, w, step)
        fu = 0.5 * squares(u - w) + step * penalty.value(u)
        for x in np.vstack([neighbours(u, rng)[:: 1 if case.tol < 1e-8 else 7], w, 0 * w]):
            fx = 0.5 * squares(x - w) + step * penalty.value(x)
            assert fx >= fu + 0.5 * squares(x - u) - 10 * case.tol * max(1.0, np.abs(x - u).max(), fu)


@CONVEX
def test_prox_beats_a_general_optimiser(case: Case) -> None:
    rng = np.random.default_rng(3)
    penalty = case.make(0.6)
    w = rng.standard_normal(case.n)
    u = proxed(penalty, w, 1.0)

    def objective(x: np.ndarray) -> float:
        return 0.5 * squares(x - w) + penalty.value(x)

    budget = {"maxiter": 2 if case.tol > 1e-8 else 30}
    found = optimize.minimize(objective, w, method="Powell", options=budget)
    assert objective(u) <= found.fun + 1e-8
    assert 0.5 * squares(found.x - u) <= found.fun - objective(u) + 1e-7


@CONVEX
def test_prox_is_firmly_nonexpansive(case: Case) -> None:
    rng = np.random.default_rng(0)
    penalty = case.make(0.8)
    for _ in range(15):
        x, y = rng.standard_normal((2, case.n)) * 2
        px, py = proxed(penalty, x, 0.7), proxed(penalty, y, 0.7)
        assert squares(px - py) <= (px - py) @ (x - y) + 10 * case.tol


@NORMS
def test_moreau(case: Case) -> None:
    """z = w − prox(w) lies in the dual ball, ⟨z, x⟩ ≤ κΩ(x) for all x, and touches it at the prox."""
    rng = np.random.default_rng(0)
    penalty = case.make(0.6)
    for w in points(case, rng):
        u = proxed(penalty, w, 0.5)
        z = w - u
        assert z @ u == pytest.approx(0.5 * penalty.value(u), abs=20 * case.tol)
        for x in rng.standard_normal((10, case.n)) * (rng.random((10, case.n)) < 0.5):
            assert z @ x <= 0.5 * penalty.value(x) + 20 * case.tol


@CONVEX
def test_residual_is_the_smallest_of_the_subdifferential(case: Case) -> None:
    rng = np.random.default_rng(0)
    penalty = case.make(0.6)
    for start in points(case, rng):
        w = proxed(penalty, start, 0.5)  # a point with the kinks that matter
        for grad in (rng.standard_normal(case.n), 0.3 * rng.standard_normal(case.n)):
            r = penalty.residual(w, grad)
            h = penalty.value(w)
            for x in neighbours(w, rng)[:: 1 if case.tol < 1e-8 else 7]:
                slack = 10 * case.tol * max(1.0, np.abs(x - w).max())
                assert penalty.value(x) >= h + (r - grad) @ (x - w) - slack
            t = case.dt
            slope = -(grad @ r) + (penalty.value(w - t * r) - h) / t
            assert slope == pytest.approx(-squares(r), abs=1e-4 if case.tol < 1e-8 else 2e-3)


@CONVEX
def test_residual_is_never_larger_than_a_known_subgradient(case: Case) -> None:
    rng = np.random.default_rng(5)
    penalty = case.make(0.6)
    for x in points(case, rng):
        w = proxed(penalty, x, 0.5)
        known = (x - w) / 0.5
        assert np.abs(penalty.residual(w, -known)).max() <= 20 * case.tol
        assert penalty.violation(w, -known) <= 20 * case.tol
        grad = rng.standard_normal(case.n)
        assert np.linalg.norm(penalty.residual(w, grad)) <= np.linalg.norm(grad + known) + 20 * case.tol


@CONVEX
def test_residual_vanishes_at_an_optimum_and_only_there(case: Case) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((20, case.n)), rng.standard_normal(20)
    penalty = case.make(2.0)
    step = 1.0 / np.linalg.norm(X, 2) ** 2
    w = np.zeros(case.n)
    for _ in range(600 if case.tol < 1e-8 else 150):
        w -= step * X.T @ (X @ w - y)
        penalty.prox(w, step)
    assert penalty.violation(w, X.T @ (X @ w - y)) <= 100 * case.tol
    moved = w + 0.1 * rng.standard_normal(case.n)
    assert penalty.violation(moved, X.T @ (X @ moved - y)) > 1e-2


@pytest.mark.parametrize(
    "case", [c for c in CASES.values() if c.zero], ids=[k for k, c in CASES.items() if c.zero]
)
def test_lambda_max_is_where_zero_becomes_optimal(case: Case) -> None:
    rng = np.random.default_rng(0)
    for trial in range(5):
        grad = rng.standard_normal(case.n) * (rng.random(case.n) < 0.9 if trial else 1.0)
        unpenalised = case.make(1e4).residual(np.zeros(case.n), grad)
        grad = grad - unpenalised  # what no strength can hold is fitted at the null point
        penalty = case.make(1.0)
        lam = penalty.lambda_max(grad)
        zero = np.zeros(case.n)
        assert lam > 0
        assert penalty.with_lam(lam * (1 + case.above)).violation(zero, grad) <= 1e-9
        assert penalty.with_lam(lam * 0.9999).violation(zero, grad) > 1e-7
        assert np.abs(proxed(penalty.with_lam(lam * (1 + case.above)), -0.1 * grad, 0.1)).max() <= 1e-12


@pytest.mark.parametrize("times", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("kind", [GroupL2, OverlappingGroups])
def test_lambda_max_counts_what_is_tied_to_it(kind: type[Penalty], times: float) -> None:
    groups = DISJOINT if kind is GroupL2 else OVERLAP
    loss = SquaredLoss(np.eye(N), np.random.default_rng(1).standard_normal(N), intercept=False)
    grad = loss.value_and_grad(np.zeros(N))[1]
    penalty = kind(1.0, groups, l2=0.1).tied(l1=times, l2=0.5)  # type: ignore[call-arg]
    low, high = 0.0, np.abs(grad).max() / times  # bisection: from there on 0 is optimal
    # The residual of overlapping groups comes from a prox that is right to about 1e-6, and so is where it vanishes.
    for _ in range(50):
        middle = 0.5 * (low + high)
        optimal = penalty.with_lam(middle).violation(np.zeros(N), grad) <= 1e-6
        low, high = (low, middle) if optimal else (middle, high)
    assert lambda_max(loss, penalty) == pytest.approx(high, rel=2e-5)


@CONVEX
def test_with_lam_keeps_the_original(case: Case) -> None:
    penalty = case.make(0.5)
    w = np.linspace(-1, 2, case.n)
    before = penalty.value(w)
    if isinstance(penalty, NoPenalty):
        with pytest.raises(OptionError):
            penalty.with_lam(1.0)
        return
    stronger = penalty.with_lam(1.5)
    assert stronger.lam == 1.5
    assert stronger.value(w) > before
    assert penalty.value(w) == before
    assert "0.5" in penalty.describe()
    assert "1.5" in stronger.describe()
    with pytest.raises(OptionError, match="lam"):
        penalty.with_lam(-1.0)
    with pytest.raises(OptionError, match="lam"):
        case.make(np.nan)


@CONVEX
def test_prox_leaves_no_negative_zero(case: Case) -> None:
    w = -np.linspace(0.0, 1e-3, case.n)
    proxed_w = proxed(case.make(0.7), w, 1.0)
    assert not np.any(np.signbit(proxed_w) & (proxed_w == 0) & (w != 0))


# -------------------------------------------------------------------------------- coordinatewise penalties


def test_elastic_net_agrees_with_scikit_learn() -> None:
    from sklearn.linear_model import ElasticNet as Reference

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 10)), rng.standard_normal(50)
    reference = Reference(alpha=0.1, l1_ratio=0.7, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y)
    w = reference.coef_
    penalty = ElasticNet(50 * 0.1 * 0.7, l2=50 * 0.1 * 0.3)
    assert 0 < np.count_nonzero(w) < 10
    assert penalty.violation(w, X.T @ (X @ w - y)) < 1e-9


def test_capabilities() -> None:
    w = np.arange(4.0)
    np.testing.assert_allclose(L2(3.0).grad(w), 3 * w)
    np.testing.assert_allclose(NoPenalty().grad(w), 0)
    assert L2(3.0).l1_l2(4) == (0.0, 3.0)
    assert NoPenalty().l1_l2(4) == (0.0, 0.0)
    assert L1(2.0).l1_l2(4) == (2.0, 0.0)
    l1_, l2_ = ElasticNet(2.0, 0.5, weights=w).l1_l2(4)
    np.testing.assert_allclose(l1_, 2 * w)
    assert l2_ == 0.5
    assert not hasattr(L1(1.0), "grad")


@pytest.mark.parametrize("smooth", ["none", "l2", "time series"])
def test_smooth_gradients(smooth: str) -> None:
    case = CASES[smooth]
    penalty = case.make(0.0 if smooth == "none" else 0.7)
    w = np.random.default_rng(0).standard_normal(case.n)
    numeric = optimize.approx_fprime(w, penalty.value, 1e-6)
    np.testing.assert_allclose(penalty.grad(w), numeric, atol=1e-5)
    np.testing.assert_allclose(penalty.residual(w, w), w + penalty.grad(w))


def test_l0_prox_is_the_best_support() -> None:
    rng = np.random.default_rng(0)
    w, penalty = rng.standard_normal(6), L0(0.3)
    u = proxed(penalty, w, 0.8)
    cost = 0.5 * squares(u - w) + 0.8 * penalty.value(u)
    for mask in range(2**6):
        x = np.where([(mask >> i) & 1 for i in range(6)], w, 0.0)
        assert cost <= 0.5 * squares(x - w) + 0.8 * penalty.value(x) + 1e-12
    assert penalty.residual(np.array([1.0, 0.0]), np.array([2.0, 3.0])).tolist() == [2.0, 0.0]
    grad = rng.standard_normal(6)
    lam = penalty.lambda_max(grad)
    assert not proxed(L0(lam), -grad, 1.0).any()
    assert proxed(L0(lam * 0.999), -grad, 1.0).any()


# -------------------------------------------------------------------------------------------- fused, series


def test_total_variation_agrees_with_its_dual() -> None:
    """min ½‖w − Dᵀz − s‖² over |z| ≤ λ, |s| ≤ l1: a bounded least squares problem."""
    rng = np.random.default_rng(0)
    for n, lam, weight in [(2, 0.3, 0.0), (12, 0.7, 0.0), (30, 0.4, 0.2), (30, 3.0, 0.1), (25, 50.0, 0.0)]:
        w = np.round(rng.standard_normal(n), 1) if n == 12 else rng.standard_normal(n)
        D = np.diff(np.eye(n), axis=0)
        dual = optimize.lsq_linear(
            np.hstack([D.T, np.eye(n)]),
            w,
            bounds=(
                -np.r_[np.full(n - 1, lam), np.full(n, weight + 1e-300)],
                np.r_[np.full(n - 1, lam), np.full(n, weight + 1e-300)],
            ),
            tol=1e-14,
            max_iter=1000,
        )
        expected = w - D.T @ dual.x[: n - 1] - dual.x[n - 1 :]
        np.testing.assert_allclose(proxed(Fused(lam, l1=weight), w, 1.0), expected, atol=1e-6)


def test_fused_residual_and_lambda_max_agree_with_programs() -> None:
    rng = np.random.default_rng(4)
    for n, weight in [(9, 0.0), (9, 0.2), (15, 0.5)]:
        grad = rng.standard_normal(n)
        grad -= grad.mean()
        D = np.diff(np.eye(n), axis=0)
        # Least λ with grad = Dᵀz + s, |z| ≤ λ, |s| ≤ l1.
        program = optimize.linprog(
            np.r_[np.zeros(2 * n - 1), 1.0],
            A_ub=np.vstack(
                [
                    np.c_[np.eye(n - 1), np.zeros((n - 1, n)), -np.ones(n - 1)],
                    np.c_[-np.eye(n - 1), np.zeros((n - 1, n)), -np.ones(n - 1)],
                ]
            ),
            b_ub=np.zeros(2 * n - 2),
            A_eq=np.c_[D.T, np.eye(n), np.zeros(n)],
            b_eq=grad,
            bounds=[(None, None)] * (n - 1) + [(-weight, weight)] * n + [(0, None)],
        )
        assert program.status == 0
        assert Fused(1.0, l1=weight).lambda_max(grad) == pytest.approx(program.fun, abs=1e-9)


def test_chains_are_independent() -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal(12)
    whole = proxed(Fused(0.4, chains=[0, 5, 6, 12]), w, 1.0)
    parts = [proxed(Fused(0.4), part, 1.0) for part in (w[:5], w[5:6], w[6:])]
    np.testing.assert_allclose(whole, np.concatenate(parts), atol=1e-14)
    with pytest.raises(OptionError, match="chains"):
        Fused(0.4, chains=[0, 5, 3])
    with pytest.raises(OptionError, match="chains"):
        Fused(0.4, chains=[0, 5]).value(w)


def test_total_variation_of_a_long_sequence() -> None:
    w = np.repeat([1.0, -2.0, 3.0], 20_000) + 0.1 * np.random.default_rng(0).standard_normal(60_000)
    penalty = Fused(5.0)
    u = proxed(penalty, w, 1.0)
    assert np.count_nonzero(np.diff(u)) < 50
    assert penalty.violation(u, u - w) < 1e-8


def test_time_series_prox_solves_the_system() -> None:
    rng = np.random.default_rng(0)
    penalty = TimeSeries(0.8, 5, -0.45)
    A = np.eye(5) - 0.45 * (np.eye(5, k=1) + np.eye(5, k=-1))
    w = rng.standard_normal(15)
    u = proxed(penalty, w, 0.5).reshape(3, 5)
    np.testing.assert_allclose(u @ (np.eye(5) + 0.4 * A), w.reshape(3, 5), atol=1e-13)
    TimeSeries(1.0, 3, 0.7)  # within 1/(2cos(π/4))
    with pytest.raises(OptionError, match="alpha"):
        TimeSeries(1.0, 3, -0.71)
    with pytest.raises(OptionError, match="n_times"):
        TimeSeries(1.0, 0, 0.0)


# ------------------------------------------------------------------------------------------------ groups


def test_groups_must_be_disjoint_and_sound() -> None:
    with pytest.raises(OptionError, match="groups 0 and 1 share coordinate 2"):
        GroupL2(1.0, FlatGroups.of([[0, 2], [2, 1]], 3))
    with pytest.raises(OptionError, match="groups 0 and 1 share coordinate 2"):
        GroupLinf(1.0, FlatGroups.of([[0, 2], [2, 1]], 3))
    with pytest.raises(OptionError, match="coordinate 2 stands twice in group 1"):
        OverlappingGroups(1.0, FlatGroups.of([[0], [2, 1, 2]], 3))
    with pytest.raises(OptionError, match="members"):
        GroupL2(1.0, FlatGroups.of([[0, 3]], 3))
    with pytest.raises(OptionError, match="weights"):
        GroupL2(1.0, FlatGroups.of([[0]], 3, [-1.0]))
    with pytest.raises(OptionError, match="ptr"):
        GroupL2(1.0, FlatGroups(np.array([0, 2]), np.array([0], np.int32), np.ones(1), 3))


def test_disjoint_groups_agree_with_overlapping_latent_and_trees() -> None:
    rng = np.random.default_rng(0)
    roots, node_of = [-1] * 4, [0, 2, 0, -1, 0, 2, 3]
    same = [
        GroupL2(0.5, DISJOINT),
        OverlappingGroups(0.5, DISJOINT),
        LatentGroups(0.5, DISJOINT),
        TreeL2(0.5, roots, node_of, DISJOINT.weights),
    ]
    for _ in range(10):
        w, grad = rng.standard_normal((2, N))
        for penalty in same[1:]:
            assert penalty.value(w) == pytest.approx(same[0].value(w))
            np.testing.assert_allclose(proxed(penalty, w, 1.0), proxed(same[0], w, 1.0), atol=1e-11)
            np.testing.assert_allclose(penalty.residual(w, grad), same[0].residual(w, grad), atol=1e-7)


def test_nested_groups_agree_with_trees() -> None:
    rng = np.random.default_rng(0)
    nested = OverlappingGroups(0.4, FlatGroups.of(NESTED, N, TREE_WEIGHTS))
    tree = TreeL2(0.4, PARENT, NODE_OF, TREE_WEIGHTS)
    for _ in range(10):
        w, grad = rng.standard_normal((2, N)) * 0.8
        u = proxed(tree, w, 1.0)
        np.testing.assert_allclose(proxed(nested, w, 1.0), u, atol=1e-11)
        np.testing.assert_allclose(nested.residual(u, grad), tree.residual(u, grad), atol=1e-11)
        assert nested.lambda_max(grad) == pytest.approx(tree.lambda_max(grad), rel=1e-8)


def random_overlap(rng: np.random.Generator, n: int, n_groups: int) -> FlatGroups:
    groups = [rng.choice(n, rng.integers(2, 8), replace=False).tolist() for _ in range(n_groups)]
    return FlatGroups.of(groups, n, rng.uniform(0.5, 2.0, n_groups))


def test_overlapping_prox_has_no_duality_gap() -> None:
    """Any ξ with ‖ξ_g‖ ≤ κ_g bounds the optimum from below: κ_g‖u_g‖ = ⟨ξ_g, u_g⟩ certifies u = w − Σξ_g."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        groups = random_overlap(rng, 40, 25)
        penalty = OverlappingGroups(0.5, groups)
        w = rng.standard_normal(40)
        u = proxed(penalty, w, 1.0)
        xi = [penalty._start[a:b] for a, b in zip(groups.ptr[:-1], groups.ptr[1:])]
        assert all(np.linalg.norm(x) <= 0.5 * o * (1 + 1e-12) for x, o in zip(xi, groups.weights))
        np.testing.assert_allclose(u + gathered(penalty.groups, penalty._start), w, atol=1e-11)
        gap = penalty.value(u) - sum(x @ u[g] for x, g in zip(xi, subsets(groups)))
        assert abs(gap) <= 1e-12 * (w @ w)
        assert penalty.violation(u, u - w) <= 1e-9


def test_overlapping_lambda_max_is_the_dual_norm() -> None:
    """Bracketed: ⟨grad, u⟩/Ω(u) from below for any u, a split of the gradient among the groups from above."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        groups = random_overlap(rng, 12, 8)
        penalty = OverlappingGroups(1.0, groups)
        grad = np.where(np.isin(np.arange(12), groups.members), rng.standard_normal(12), 0.0)
        lam = penalty.lambda_max(grad)
        best = 0.0
        for _ in range(40):  # climb: each prox is a better direction
            u = proxed(penalty, grad, lam * (1 - 1e-3) if best == 0 else best)
            best = max(best, grad @ u / penalty.value(u)) if np.any(u) else best
        assert best <= lam * (1 + 1e-12)
        assert best == pytest.approx(lam, rel=1e-5)
        random = rng.standard_normal((1000, 12)) * (rng.random((1000, 12)) < 0.5)
        assert all(grad @ x <= lam * penalty.value(x) + 1e-12 for x in random)


def test_latent_prox_has_no_duality_gap() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        groups = random_overlap(rng, 40, 25)
        penalty = LatentGroups(0.5, groups)
        w = rng.standard_normal(40)
        u = proxed(penalty, w, 1.0)
        z = w - u
        assert penalty.lambda_max(np.where(penalty._covered, z, 0.0)) <= 0.5 * (1 + 1e-11)
        gap = 0.5 * groups.weights @ penalty._norms(penalty._start) - z @ u
        assert abs(gap) <= 1e-11 * (w @ w)


def test_latent_duplication_is_the_same_problem() -> None:
    rng = np.random.default_rng(1)
    penalty = LatentGroups(1.5, OVERLAP)
    members, on_copies = penalty.duplicate
    X, y = rng.standard_normal((15, N)), rng.standard_normal(15)
    step = 0.2 / np.linalg.norm(X, 2) ** 2
    v = np.zeros(members.size)
    for _ in range(20_000):
        w = np.bincount(members, weights=v, minlength=N)
        v -= step * (X.T @ (X @ w - y))[members]
        on_copies.prox(v, step)
    w = np.bincount(members, weights=v, minlength=N)
    assert penalty.violation(w, X.T @ (X @ w - y)) < 1e-6
    assert penalty.value(w) == pytest.approx(on_copies.value(v), rel=1e-6)


# --------------------------------------------------------------------------------- wrappers and the table


@pytest.mark.parametrize("name", [k for k, c in CASES.items() if c.make(0.0).clips_to_nonnegative])
def test_nonnegative_prox_and_residual(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(0)
    penalty = NonNegative(case.make(0.0 if name == "none" else 0.6))
    for w in points(case, rng, k=2):
        u = proxed(penalty, w, 0.5)
        assert np.all(u >= 0)
        fu = 0.5 * squares(u - w) + 0.5 * penalty.value(u)
        for x in np.maximum(neighbours(u, rng)[:: 3 if case.tol < 1e-8 else 11], 0.0):
            fx = 0.5 * squares(x - w) + 0.5 * penalty.value(x)
            assert fx >= fu + 0.5 * squares(x - u) - 10 * case.tol * max(1.0, np.abs(x - u).max(), fu)
        assert np.abs(penalty.residual(u, (u - w) / 0.5)).max() <= 20 * case.tol
        grad = rng.standard_normal(case.n)
        r = penalty.residual(u, grad)
        t = case.dt
        slope = -(grad @ r) + (penalty.value(np.maximum(u - t * r, 0.0)) - penalty.value(u)) / t
        assert slope == pytest.approx(-squares(r), abs=1e-4 if case.tol < 1e-8 else 2e-3)
        assert np.all(u - t * r >= -1e-12)


def test_nonnegative_refuses_and_delegates() -> None:
    for refused in (Fused(1.0), Nuclear(1.0, (2, 2)), TimeSeries(1.0, 2, -0.3)):
        with pytest.raises(OptionError, match="non-negativity"):
            NonNegative(refused)
    penalty = NonNegative(L1(2.0))
    assert penalty.lam == 2.0
    assert penalty.with_lam(3.0).lam == 3.0
    assert penalty.value(np.array([-1.0])) == np.inf
    assert penalty.lambda_max(np.array([5.0, -3.0])) == 3.0
    assert penalty.describe() == "ℓ1, λ = 2, w ≥ 0"
    assert not hasattr(NonNegative(L2(1.0)), "grad")


def test_partial_leaves_the_last_alone() -> None:
    w, grad = np.array([3.0, -0.5, 7.0]), np.array([1.0, 2.0, 3.0])
    penalty = Partial(L1(1.0), 1)
    assert penalty.value(w) == 3.5
    np.testing.assert_allclose(penalty.residual(w, grad), [2.0, 1.0, 3.0])
    assert penalty.lambda_max(grad) == 2.0
    assert penalty.with_lam(2.0).value(w) == 7.0
    assert penalty.lam == 1.0
    np.testing.assert_allclose(proxed(penalty, w, 1.0), [2.0, 0.0, 7.0])
    np.testing.assert_allclose(proxed(Partial(L1(1.0), 0), w, 1.0), [2.0, 0.0, 6.0])
    with pytest.raises(OptionError, match="n_free"):
        Partial(L1(1.0), -1)
