"""Nuclear norm, trace Lasso and pairwise elastic net: special cases and the theorems of Grave 2014, ch. 6 and 7."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spinney.errors import OptionError
from spinney.optim.penalties import (
    L1,
    L2,
    FlatGroups,
    GroupL2,
    Nuclear,
    OverlappingGroups,
    PairwiseElasticNet,
    TraceLasso,
)
from spinney.optim.penalties.matrix import nuclear_norm, operator_norm, shrink_singular_values


def proxed(penalty: Any, w: np.ndarray, step: float = 1.0) -> np.ndarray:
    u = w.copy()
    penalty.prox(u, step)
    return u


def unit_columns(rng: np.random.Generator, k: int, p: int) -> np.ndarray:
    X = rng.standard_normal((k, p))
    return X / np.linalg.norm(X, axis=0)


GROUPS = FlatGroups.of([[0, 3], [1, 4, 5]], 6, [1.0, 0.7])


@pytest.mark.parametrize(
    ("trace", "plain"),
    [
        (TraceLasso.l1(0.6, 6), L1(0.6)),
        (TraceLasso.l2(0.6, 6), GroupL2(0.6, FlatGroups.of([list(range(6))], 6))),
        (TraceLasso.group(0.6, GROUPS), GroupL2(0.6, GROUPS)),
    ],
    ids=["l1", "l2", "group"],
)
def test_limiting_cases(trace: TraceLasso, plain: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        w, grad = rng.standard_normal((2, 6))
        assert trace.value(w) == pytest.approx(plain.value(w))
        u = proxed(plain, w, 0.9)
        np.testing.assert_allclose(proxed(trace, w, 0.9), u, atol=1e-9)
        np.testing.assert_allclose(trace.residual(u, grad), plain.residual(u, grad), atol=1e-8)
        np.testing.assert_allclose(trace.residual(w, grad), plain.residual(w, grad), atol=1e-8)
    w[2] = 0.0  # in no group
    grad[2] = 0.0
    if plain.name != "group ℓ1/ℓ2" or len(plain.groups.weights) > 1:
        assert trace.lambda_max(grad) == pytest.approx(plain.lambda_max(grad))


def test_trace_lasso_lies_between_l2_and_l1() -> None:
    """Prop. 4, for unit columns."""
    rng = np.random.default_rng(0)
    for k, p in ((3, 8), (8, 3), (5, 5)):
        penalty = TraceLasso(1.0, unit_columns(rng, k, p))
        for _ in range(20):
            w = rng.standard_normal(p) * (rng.random(p) < 0.7)
            assert np.linalg.norm(w) - 1e-12 <= penalty.value(w) <= np.abs(w).sum() + 1e-12


def test_only_the_gram_matrix_matters() -> None:
    """Prop. 3."""
    rng = np.random.default_rng(0)
    P = rng.standard_normal((9, 5))
    rotated = np.linalg.qr(rng.standard_normal((9, 9)))[0] @ P
    same = [TraceLasso(0.8, P), TraceLasso(0.8, rotated), TraceLasso.from_gram(0.8, P.T @ P)]
    np.testing.assert_allclose(same[2].gram, P.T @ P, atol=1e-12)
    w, grad = rng.standard_normal((2, 5))
    for other in same[1:]:
        assert other.value(w) == pytest.approx(same[0].value(w))
        np.testing.assert_allclose(proxed(other, w, 0.2), proxed(same[0], w, 0.2), atol=1e-9)
        np.testing.assert_allclose(other.residual(w, grad), same[0].residual(w, grad), atol=1e-8)
        np.testing.assert_allclose(other.dual_bounds(grad), same[0].dual_bounds(grad), rtol=1e-9)


def test_subgradient() -> None:
    """Prop. 6 with M = 0: a supporting plane everywhere, the gradient where there is one."""
    rng = np.random.default_rng(0)
    P = unit_columns(rng, 4, 6)
    penalty = TraceLasso(0.5, P)
    for w in (rng.standard_normal(6), np.array([1.0, 0, 0, -2.0, 0, 0]), np.zeros(6)):
        s = penalty.subgradient(w)
        for x in rng.standard_normal((100, 6)):
            assert penalty.value(x) >= penalty.value(w) + s @ (x - w) - 1e-12
    w = rng.standard_normal(6)
    numeric = [(penalty.value(w + e) - penalty.value(w - e)) / 2e-6 for e in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(penalty.subgradient(w), numeric, atol=1e-6)


def test_dual_norm_bounds() -> None:
    """Prop. 5: Ω*(u) = max ⟨u, x⟩/Ω(x) is under ``upper``, and single coordinates already reach ``lower``."""
    rng = np.random.default_rng(0)
    for P in (unit_columns(rng, 4, 6), rng.standard_normal((3, 6)), unit_columns(rng, 8, 6)):
        u = rng.standard_normal(6)
        penalty = TraceLasso(1.0, P)
        lower, upper, loose = penalty.dual_bounds(u)
        assert lower <= upper <= loose * (1 + 1e-12)
        tried = [
            *np.eye(6),
            *rng.standard_normal((500, 6)),
            *(proxed(penalty, u, t * upper) for t in (0.3, 0.6, 0.8)),
        ]
        reached = max(abs(u @ x) / penalty.value(x) for x in tried if np.any(x))
        assert lower <= reached * (1 + 1e-12)
        assert reached <= upper * (1 + 1e-12)
        assert penalty.lambda_max(u) == upper
        assert penalty.with_lam(upper * 1.001).violation(np.zeros(6), u) < 1e-9


def test_zero_columns_are_free() -> None:
    P = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    penalty = TraceLasso(0.5, P)
    w = np.array([1.0, 2.0, -1.0])
    assert proxed(penalty, w)[1] == pytest.approx(2.0)
    assert penalty.residual(w, w)[1] == pytest.approx(2.0)


def test_perturbation_of_the_nuclear_norm() -> None:
    """Prop. 8, with the second-order matrix Q: the remainder is of third order."""
    rng = np.random.default_rng(0)
    m, n, r = 6, 5, 3
    M = rng.standard_normal((m, r)) @ rng.standard_normal((r, n))
    U, s, Vt = np.linalg.svd(M)
    U, U0, V, V0, s = U[:, :r], U[:, r:], Vt[:r].T, Vt[r:].T, s[:r]
    direction = rng.standard_normal((m, n))
    errors = []
    for t in (1e-2, 1e-3):
        D = t * direction
        Q = U0.T @ D @ V0 - U0.T @ D @ V @ np.diag(1 / s) @ U.T @ D @ V0
        A = U.T @ D @ V
        second = sum((A[j, k] - A[k, j]) ** 2 / (4 * (s[j] + s[k])) for j in range(r) for k in range(r))
        second += sum(
            (np.sum((V0.T @ D.T @ U[:, k]) ** 2) + np.sum((U0.T @ D @ V[:, k]) ** 2)) / (2 * s[k])
            for k in range(r)
        )
        expected = nuclear_norm(M) + nuclear_norm(Q) + np.trace(V @ U.T @ D) + second
        errors.append(abs(nuclear_norm(M + D) - expected))
    assert errors[0] < 1e-4
    assert errors[1] < errors[0] / 300


def test_perturbation_around_the_lasso() -> None:
    """P = I + Δ: correlated coefficients are pulled towards each other."""
    rng = np.random.default_rng(0)
    w = np.array([1.0, -2.0, 0.5, 1.5])
    size = np.abs(w)
    symmetric = rng.standard_normal((4, 4))
    symmetric += symmetric.T
    errors = []
    for t in (1e-2, 1e-3):
        delta = t * symmetric
        second = sum(
            delta[i, j] ** 2 * (size[i] - size[j]) ** 2 / (4 * (size[i] + size[j]))
            for i in range(4)
            for j in range(4)
        )
        expected = size.sum() + np.diag(delta) @ size + second
        errors.append(abs(TraceLasso(1.0, np.eye(4) + delta).value(w) - expected))
    assert errors[1] < errors[0] / 300


def test_bad_matrices_are_refused() -> None:
    with pytest.raises(OptionError, match="matrix"):
        TraceLasso(1.0, np.ones(3))
    with pytest.raises(OptionError, match="finite"):
        TraceLasso(1.0, np.array([[np.nan]]))
    with pytest.raises(OptionError, match="semi-definite"):
        TraceLasso.from_gram(1.0, np.diag([1.0, -1.0]))
    with pytest.raises(OptionError, match="share coordinate"):
        TraceLasso.group(1.0, FlatGroups.of([[0], [0]], 1))
    with pytest.raises(OptionError, match="shape"):
        Nuclear(1.0, (0, 3))
    with pytest.raises(OptionError, match="symmetric"):
        PairwiseElasticNet(1.0, np.array([[1.0, 0.2], [0.1, 1.0]]))
    with pytest.raises(OptionError, match="negative"):
        PairwiseElasticNet(1.0, np.array([[1.0, -0.2], [-0.2, 1.0]]))
    with pytest.raises(OptionError, match="semi-definite"):
        PairwiseElasticNet(1.0, np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(OptionError, match="column 1"):
        PairwiseElasticNet.from_design(1.0, np.array([[1.0, 0.0]]))


def test_nuclear_duality() -> None:
    """W − prox(W) has operator norm at most κ and is aligned with the prox; diagonal matrices are ℓ1."""
    rng = np.random.default_rng(0)
    for shape in ((3, 5), (5, 3), (1, 4), (4, 1)):
        W = rng.standard_normal(shape)
        U = proxed(Nuclear(0.7, shape), W.ravel()).reshape(shape)
        assert operator_norm(W - U) <= 0.7 + 1e-12
        assert np.sum((W - U) * U) == pytest.approx(0.7 * nuclear_norm(U), abs=1e-12)
    diagonal = np.diag([3.0, -0.5, 1.0])
    np.testing.assert_allclose(shrink_singular_values(diagonal, 0.8), np.diag([2.2, 0.0, 0.2]), atol=1e-12)


def test_pairwise_special_cases() -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal(5)
    identity = PairwiseElasticNet(0.3, np.eye(5))
    assert identity.value(w) == pytest.approx(0.3 * w @ w)
    np.testing.assert_allclose(proxed(identity, w), proxed(L2(0.6), w), atol=1e-13)
    ones = PairwiseElasticNet(0.3, np.ones((5, 5)))
    assert ones.value(w) == pytest.approx(0.3 * np.abs(w).sum() ** 2)
    assert np.any(proxed(ones, w, 3.0) == 0)


def test_pairwise_from_design() -> None:
    rng = np.random.default_rng(0)
    orthogonal = np.linalg.qr(rng.standard_normal((8, 5)))[0]
    P = PairwiseElasticNet.from_design(1.0, 3 * orthogonal).P
    # 11ᵀ − I has smallest eigenvalue −1: θ = 0 is still positive semi-definite.
    np.testing.assert_allclose(P, np.ones((5, 5)), atol=1e-10)
    same = np.outer(rng.standard_normal(6), np.ones(4))
    np.testing.assert_allclose(PairwiseElasticNet.from_design(1.0, same).P, np.eye(4), atol=1e-10)
    X = rng.standard_normal((6, 10))
    unit = X / np.linalg.norm(X, axis=0)
    P = PairwiseElasticNet.from_design(1.0, X).P
    apart = np.ones((10, 10)) - unit.T @ unit
    theta = 1 - P[0, 1] / apart[0, 1]
    np.testing.assert_allclose(P, np.eye(10) + (1 - theta) * apart, atol=1e-12)
    assert 0 <= theta < 1
    assert np.linalg.eigvalsh(P).min() >= -1e-12
    if theta > 0:  # the smallest: a little less is not positive semi-definite
        less = np.eye(10) + (1 - theta + 1e-6) * apart
        assert np.linalg.eigvalsh(less).min() < 0
    w = rng.standard_normal(10)
    formula = (w @ w) + (1 - theta) * (np.abs(w).sum() ** 2 - np.abs(w) @ unit.T @ unit @ np.abs(w))
    assert PairwiseElasticNet(1.0, P).value(w) == pytest.approx(formula)


def test_pairwise_prox_agrees_with_nonnegative_least_squares() -> None:
    from scipy.optimize import nnls

    rng = np.random.default_rng(0)
    for _ in range(10):
        penalty = PairwiseElasticNet.from_design(0.8, rng.standard_normal((6, 8)))
        w = rng.standard_normal(8)
        L = np.linalg.cholesky(np.eye(8) + 2 * 0.8 * penalty.P)
        expected, _ = nnls(L.T, np.linalg.solve(L, np.abs(w)))
        np.testing.assert_allclose(np.abs(proxed(penalty, w)), expected, atol=1e-10)


def test_overlap_prox_of_many_groups_is_optimal() -> None:
    """A few hundred sentence-like groups: the certificate, on real sizes."""
    rng = np.random.default_rng(0)
    groups = [np.unique(rng.zipf(1.5, 20).clip(max=500) - 1).tolist() for _ in range(300)]
    flat = FlatGroups.of(groups, 500, [np.sqrt(len(g)) for g in groups])
    penalty = OverlappingGroups(0.02, flat, l1=0.01)
    w = rng.standard_normal(500)
    u = proxed(penalty, w)
    assert penalty.violation(u, u - w) < 1e-7
