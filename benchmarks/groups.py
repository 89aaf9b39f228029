"""The group Lasso with 10⁵ features in 10⁴ groups against skglm and group-lasso, dense and sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.comparisons import fastest_peer
from benchmarks.harness import Contestant, publish, race, table
from spinney.optim import GroupL2, LogisticLoss, SquaredLoss, lambda_max, solve
from spinney.structure import Groups

P, WIDTH = 100_000, 10
ACCURACY = 1e-6
OURS = [1e-2, 1e-3, 3e-4, 1e-4, 1e-5, 1e-7]


def main(quick: bool) -> None:
    """Run all parts and write the table; ``quick``: a fifth of the features."""
    p = P // 5 if quick else P
    groups = Groups.from_labels(np.arange(p) // WIDTH)
    sections = [
        f"{p:,} features in {p // WIDTH:,} groups of {WIDTH}, 20 of them active, weights √size; no intercept.\n"
    ]
    comparisons = []
    X, y = _dense(500, p)
    for ratio in (0.3, 0.1):
        loss: Any = SquaredLoss(X, y, intercept=False)
        penalty = GroupL2(ratio * lambda_max(loss, GroupL2(1.0, groups)), groups)
        contestants = [_spinney(loss, penalty), _skglm(X, y, penalty)]
        if ratio == 0.3:
            contestants.append(_group_lasso(X, y, penalty))
        rows = race(contestants, _objective(loss, penalty), accuracy=ACCURACY, rounds=2)
        sections.append(table(f"Squared loss, dense 500 × {p:,}, λ = {ratio} λ_max", rows, ACCURACY))
        comparisons.append(
            fastest_peer(
                rows, ACCURACY, "Group Lasso", f"squared loss, λ = {ratio} λ_max",
                f"random, dense 500 × {p:,}, {len(groups):,} groups",
            )
        )  # fmt: skip
    X, y = _sparse(5_000, p)
    losses: tuple[tuple[str, Any], ...] = (
        ("Squared", SquaredLoss(X, y, intercept=False)),
        ("Logistic", LogisticLoss(X, np.sign(y), intercept=False)),
    )
    for name, loss in losses:
        penalty = GroupL2(0.3 * lambda_max(loss, GroupL2(1.0, groups)), groups)
        rows = race(
            [_spinney(loss, penalty), _fista(loss, penalty)],
            _objective(loss, penalty),
            accuracy=ACCURACY,
            rounds=2,
        )
        title = f"{name} loss, sparse 5,000 × {p:,} (1 %), λ = 0.3 λ_max (skglm refuses sparse input)"
        sections.append(table(title, rows, ACCURACY))
    publish("groups", sections, comparisons, quick)


def _truth(rng: np.random.Generator, p: int) -> Any:
    w = np.zeros(p)
    for g in rng.choice(p // WIDTH, 20, replace=False):
        w[g * WIDTH : (g + 1) * WIDTH] = rng.standard_normal(WIDTH)
    return w


def _dense(n: int, p: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((n, p)))
    signal = X @ _truth(rng, p)
    return X, signal + 0.5 * signal.std() * rng.standard_normal(n)


def _sparse(n: int, p: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = sparse.random(n, p, density=0.01, format="csc", random_state=rng)
    signal = X @ _truth(rng, p)
    return X, signal + 0.5 * signal.std() * rng.standard_normal(n)


def _objective(loss: Any, penalty: GroupL2) -> Any:
    return lambda w: loss.value_and_grad(np.ravel(w))[0] + penalty.value(np.ravel(w))


def _spinney(loss: Any, penalty: GroupL2) -> Contestant:
    return Contestant("Spinney", lambda tol: solve(loss, penalty, tol=tol).w, OURS)


def _fista(loss: Any, penalty: GroupL2) -> Contestant:
    """For sparse input there is no peer: our own proximal gradient stands in."""
    run = lambda iterations: solve(loss, penalty, "fista", tol=0.0, max_iter=iterations).w  # noqa: E731
    return Contestant("Spinney's FISTA (iterations)", run, [30, 100, 300], slow=True)


def _skglm(X: Any, y: Any, penalty: GroupL2) -> Contestant:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD

    ptr, members = penalty.groups.ptr.astype(np.int32), np.array(penalty.groups.members)
    weights, n = np.array(penalty.groups.weights), len(y)

    def run(tol: float) -> Any:
        model = GeneralizedLinearEstimator(
            QuadraticGroup(ptr, members),
            WeightedGroupL2(penalty.lam / n, weights, ptr, members),
            GroupBCD(tol=tol, fit_intercept=False),
        )
        return model.fit(X, y).coef_

    scale = penalty.lam / n
    return Contestant("skglm", run, [scale * t for t in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5)])


def _group_lasso(X: Any, y: Any, penalty: GroupL2) -> Contestant:
    from group_lasso import GroupLasso

    n = len(y)
    labels = np.arange(X.shape[1]) // WIDTH

    def run(iterations: int) -> Any:
        model = GroupLasso(
            groups=labels, group_reg=penalty.lam / n, l1_reg=0.0, scale_reg="group_size", fit_intercept=False,
            n_iter=iterations, tol=1e-12, supress_warning=True,
        )  # fmt: skip
        return model.fit(X, y.reshape(-1, 1)).coef_

    # Five iterations take longer than any other contestant's whole fit.
    return Contestant("group-lasso (iterations)", run, [5], slow=True)
