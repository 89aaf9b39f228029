"""Non-negative sparse embedding: exact codes, an objective that never rises, planted factors."""

from __future__ import annotations

import numpy as np
import pytest
from methods.nnse import NNSE, solve_nonnegative
from scipy.optimize import linear_sum_assignment, nnls
from scipy.sparse import csr_array

from spinney.errors import OptionError

LAM = 0.3


def _planted(
    words: int = 300, M: int = 4, contexts: int = 15, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Non-negative codes, half of them zero, and atoms of norm 1."""
    rng = np.random.default_rng(seed)
    A = rng.random((words, M)) * (rng.random((words, M)) < 0.5)
    D = rng.standard_normal((M, contexts))
    return A, D / np.linalg.norm(D, axis=1, keepdims=True)


def _objective(X: np.ndarray, A: np.ndarray, D: np.ndarray, lam: float) -> float:
    return float(((X - A @ D) ** 2).sum() + lam * A.sum())


def _best_codes(X: np.ndarray, D: np.ndarray, lam: float) -> np.ndarray:
    """By non-negative least squares: ‖x − Dᵀa‖² + λΣa is ‖Lᵀa − L⁻¹(Dx − λ/2)‖² and a constant, with LLᵀ = DDᵀ."""
    L = np.linalg.cholesky(D @ D.T)
    return np.array([nnls(L.T, np.linalg.solve(L, D @ x - lam / 2))[0] for x in X])


def test_codes_are_exact() -> None:
    A, D = _planted()
    X = A @ D + 0.1 * np.random.default_rng(1).standard_normal((len(A), D.shape[1]))
    X[0] = 0.0
    found = np.ones_like(A)  # from a start that is not zero
    solve_nonnegative(D @ D.T, np.ascontiguousarray(X @ D.T), found, LAM, 1e-12, 1000)
    np.testing.assert_allclose(found, _best_codes(X, D, LAM), atol=1e-8)
    assert 0.2 < np.mean(found == 0) < 0.8


def test_an_atom_of_zeros_has_no_code() -> None:
    gram, codes = np.diag([1.0, 0.0]), np.ones((1, 2))
    solve_nonnegative(gram, np.array([[2.0, 0.0]]), codes, 1.0, 1e-12, 10)
    assert codes.tolist() == [[1.5, 0.0]]


def test_objective_never_rises() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30))
    X[np.abs(X) < 0.5] = 0.0
    model = NNSE(6, lam=LAM, batch_size=50, threads=1).fit(X)
    objectives = np.array([step["objective"] for step in model.trace_] + [model.objective_])
    assert len(objectives) == 3 * 30 + 1
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert objectives[-1] < 0.95 * objectives[0]
    assert model.codes_.min() >= 0
    assert np.linalg.norm(model.dictionary_, axis=1).max() <= 1 + 1e-12
    assert model.objective_ == pytest.approx(_objective(X, model.codes_, model.dictionary_, LAM))
    assert 0.1 < model.nonzero_share_ < 0.9
    of_sparse = NNSE(6, lam=LAM, batch_size=50, threads=1).fit(csr_array(X))
    np.testing.assert_allclose(of_sparse.codes_, model.codes_, atol=1e-6)


def test_gap_bounds_the_distance_from_the_best_codes() -> None:
    X = np.random.default_rng(0).standard_normal((40, 10))
    for max_iter in (1, 3, 1000):
        model = NNSE(5, lam=LAM, rounds=1, threads=1, max_iter=max_iter).fit(X)
        best = _objective(X, _best_codes(X, model.dictionary_, LAM), model.dictionary_, LAM)
        assert -1e-9 <= model.objective_ - best <= model.gap_ + 1e-9
    assert model.gap_ < 1e-6 * model.objective_
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-6)


def test_planted_factors_are_found() -> None:
    A, D = _planted()
    model = NNSE(4, lam=1e-3, threads=1).fit(A @ D)
    likeness = model.dictionary_ @ D.T  # cosines: all atoms have norm 1 where the codes cost something
    found, planted = linear_sum_assignment(-likeness)
    assert likeness[found, planted].min() > 0.999
    np.testing.assert_allclose(model.codes_[:, found], A[:, planted], atol=0.02)


def test_only_the_l1_norm() -> None:
    with pytest.raises(OptionError, match="penalty 'lasso'"):
        NNSE(13, penalty="forest").fit(np.eye(20))
