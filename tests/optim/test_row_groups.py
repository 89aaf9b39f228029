"""Descent by rows: disjoint groups of features where each has a weight for every class."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from spinney.optim import (
    SOLVERS,
    GroupL2,
    MultinomialLoss,
    OneVsRestLoss,
    OverlappingGroups,
    lambda_max,
    solve,
)
from spinney.optim.penalties import FlatGroups
from spinney.optim.solve import choose_solver
from spinney.structure import Groups


def _loss(kind, as_sparse, intercept=True):
    X = sparse.random(60, 40, 0.2, random_state=1, format="csr")
    y = np.random.default_rng(0).integers(0, 4, 60)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    return kind(X if as_sparse else X.toarray(), y, weight, intercept, 4)


@pytest.mark.parametrize("kind", [OneVsRestLoss, MultinomialLoss])
@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize(("share", "l1", "l2"), [(0.9, 0.0, 0.0), (0.5, 0.0, 0.1), (0.2, 0.1, 0.01)])
def test_finds_what_fista_finds(kind, as_sparse, share, l1, l2):
    loss = _loss(kind, as_sparse)
    groups = Groups.from_labels(np.arange(40) // 5).expand(4)
    penalty = GroupL2(share * lambda_max(loss, GroupL2(1.0, groups)), groups, l1=l1, l2=l2)
    assert choose_solver(loss, penalty) == "cd"
    best = solve(loss, penalty, "fista", tol=1e-9, max_iter=20_000)
    found = solve(loss, penalty, tol=1e-8)
    assert found.solver == "cd"
    assert found.converged
    assert best.converged
    assert found.objective == pytest.approx(best.objective, rel=1e-9)
    np.testing.assert_array_equal(found.w != 0, best.w != 0)


def test_features_in_no_group_and_no_intercept():
    loss = _loss(OneVsRestLoss, True, intercept=False)
    groups = Groups.from_lists([[0, 3, 4], [1, 2], [6, 7, 8, 9]], n_features=40).expand(4)
    penalty = GroupL2(2.0, groups, l1=0.2, l2=0.1)
    best = solve(loss, penalty, "fista", tol=1e-9, max_iter=20_000)
    found = solve(loss, penalty, "cd", tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(best.objective, rel=1e-9)


def test_groups_that_cut_rows_are_left_to_fista():
    loss = _loss(OneVsRestLoss, True)
    penalty = GroupL2(1.0, FlatGroups.of([[0, 1], [2, 3, 4, 5]], 160))
    assert "all 4 weights" in SOLVERS["cd"].wrong_with(loss, penalty)
    assert choose_solver(loss, penalty) == "fista"


@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("share", "l1", "l2"), [(1.1, 0.0, 0.0), (0.9, 0.0, 0.1), (0.5, 0.1, 0.1), (0.1, 0.1, 0.01)]
)
def test_overlapping_groups_with_squared_hinges(as_sparse, intercept, share, l1, l2):
    loss = _loss(OneVsRestLoss, as_sparse, intercept)
    groups = Groups.from_lists([list(range(j, j + 6)) for j in range(0, 32, 3)], n_features=40)
    strongest = lambda_max(loss, OverlappingGroups(1.0, groups, n_outputs=4))
    penalty = OverlappingGroups(share * strongest, groups, l1=l1, l2=l2, n_outputs=4)
    assert choose_solver(loss, penalty) == "cd"
    other = solve(loss, penalty, "fista", tol=1e-7, max_iter=5_000)
    found = solve(loss, penalty, tol=1e-6, max_iter=500)
    assert found.solver == "cd"
    assert found.converged  # a proof; fista may take longer than it is given
    assert found.objective <= other.objective * (1 + 1e-7)
    assert found.objective == pytest.approx(other.objective, rel=1e-5)
    # No group holds the last features, and without a ridge the minimum is flat along them.
    held = 36 * 4 if l2 == 0.0 else loss.n_params
    np.testing.assert_allclose(found.w[:held], other.w[:held], atol=1e-2)
