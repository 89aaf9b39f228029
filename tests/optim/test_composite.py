"""Composite absolute penalties ℓr/ℓq: against the group penalties, by brute force, and by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from spinney.errors import OptionError
from spinney.optim import (
    L1,
    Composite,
    FlatGroups,
    GroupL2,
    GroupLinf,
    LogisticLoss,
    Structure,
    penalty,
    solve,
)

GROUPS = FlatGroups.of([[0, 4], [1, 2, 5], [6]], 8, [1.0, 2.0, 0.5])  # 3 and 7 are in no group
NORMS = [(r, q) for r in (1.0, 1.5, 2.0, 4.0) for q in (1.0, 2.0, np.inf)]


def naive(w, lam, r, q):
    lists = [GROUPS.members[a:b] for a, b in zip(GROUPS.ptr, GROUPS.ptr[1:])]
    inner = [np.linalg.norm(w[members], q) for members in lists]
    return lam * sum(weight * norm**r for weight, norm in zip(GROUPS.weights, inner)) ** (1 / r)


@pytest.mark.parametrize(("r", "q"), NORMS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.5, 2.0]))
def test_prox_by_brute_force(r, q, seed, lam):
    """The objective of the prox is convex: no point near it, at any scale, may be better."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(8) * rng.choice([0.0, 1.0, 3.0], 8, p=[0.1, 0.6, 0.3])
    made = Composite(lam, GROUPS, r, q)
    w = z.copy()
    made.prox(w, 0.7)
    assert made.value(w) == pytest.approx(naive(w, lam, r, q))

    def objective(u):
        return 0.5 * np.sum((u - z) ** 2) + 0.7 * naive(u, lam, r, q)

    best = objective(w)
    for scale in (1.0, 0.1, 1e-2, 1e-4):
        for _ in range(20):
            assert objective(w + scale * rng.standard_normal(8)) >= best - 1e-12
    assert objective(minimize(objective, w, method="Nelder-Mead", options={"maxiter": 50}).x) >= best - 1e-10
    # The prox is where the residual of its own problem is 0.
    assert made.with_lam(0.7 * lam).violation(w, w - z) <= 1e-6 * (1 + np.abs(z).max())


@pytest.mark.parametrize(("r", "q"), NORMS)
def test_the_strength_that_empties_is_the_dual_norm(r, q):
    rng = np.random.default_rng(1)
    made = Composite(1.0, GROUPS, r, q)
    grad = rng.standard_normal(8)
    dual = made.lambda_max(grad)
    inside = GROUPS.members
    for lam, empty in ((1.001 * dual, True), (0.999 * dual, False)):
        w = -grad
        made.with_lam(lam).prox(w, 1.0)
        assert w[inside].any() != empty
    directions = rng.standard_normal((2000, 8))
    directions[:, [3, 7]] = 0.0
    reached = max(float(u @ grad) / naive(u, 1.0, r, q) for u in directions)
    assert 0.5 * dual < reached <= dual * (1 + 1e-12)


def test_r_1_are_the_group_penalties():
    z = np.random.default_rng(2).standard_normal(8)
    weights = np.ones(8)
    weights[[0, 4, 1, 2, 5, 6, 3, 7]] = [1, 1, 2, 2, 2, 0.5, 0, 0]
    others = {1.0: L1(0.3, weights), 2.0: GroupL2(0.3, GROUPS), np.inf: GroupLinf(0.3, GROUPS)}
    for q, other in others.items():
        made, mine, theirs = Composite(0.3, GROUPS, 1, q), z.copy(), z.copy()
        made.prox(mine, 1.0)
        other.prox(theirs, 1.0)
        np.testing.assert_allclose(mine, theirs, atol=1e-14)
        assert made.value(z) == pytest.approx(other.value(z))
        np.testing.assert_allclose(made.residual(mine, z), other.residual(mine, z), atol=1e-12)


@pytest.mark.parametrize(("r", "q"), [(2.0, 1.0), (1.5, np.inf), (2.0, 2.0)])
def test_fits_reach_their_tolerance(r, q):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 8))
    y = np.sign(X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(40))
    made = Composite(2.0, GROUPS, r, q)
    solution = solve(LogisticLoss(X, y), made, tol=1e-6)
    assert solution.converged
    start = solution.w.copy()

    def objective(w):
        return np.logaddexp(0, -y * (X @ w[:8] + w[8])).sum() + naive(w[:8], 2.0, r, q)

    for scale in (0.1, 1e-2, 1e-3):
        for _ in range(50):
            assert objective(start + scale * rng.standard_normal(9)) >= objective(start) - 1e-4


def test_by_name():
    at = Structure(groups=GROUPS)
    assert penalty("l3/l2", at, lam=0.5).describe() == "composite ℓ3/ℓ2, 3 groups, λ = 0.5"
    made = penalty("l1.5/linf", at)
    assert (made.r, made.q, made.spec().name) == (1.5, np.inf, "l1.5/linf")
    for name in ("l2/l3", "l/l2", "l2/l", "l-1/l2"):
        with pytest.raises(OptionError, match="there is no penalty"):
            penalty(name, at)
    with pytest.raises(OptionError, match=r"r must be from 1 to 100, not 0\.5"):
        penalty("l0.5/l2", at)
    with pytest.raises(OptionError, match="needs groups"):
        penalty("l2/l1")
    with pytest.raises(OptionError, match="q must be 1, 2 or inf"):
        Composite(1.0, GROUPS, 2, 3)
