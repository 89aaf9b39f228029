"""The polish of a splitting method: fix which weights are 0, solve for the others, and let the certificate judge.

ADMM finds soon which weights are 0, and only slowly what the others are. On its support all penalties are easy: the
norms of groups that are not 0 are smooth, so Newton's method ends in a few steps (with ℓ∞ inside groups, if the weights
that are the largest together stay so: :mod:`spinney.optim.solvers.faces`); the trace Lasso of the columns that are left
is a smaller problem of its kind, for IRLS.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spinney.optim.base import Loss, Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.penalties import Composite, NoPenalty, OverlappingGroups, TraceLasso
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.faces import OnFace
from spinney.optim.solvers.irls import irls
from spinney.optim.solvers.lbfgs import lbfgs
from spinney.optim.solvers.smooth import newton

Mask = NDArray[np.bool_]

ROUNDS = 4  # how often weights that turn out to be 0 are given up
STEPS, STEPS_WITHOUT_CURVATURE = 20, 100  # of Newton's method, and of L-BFGS
FINER = 0.1  # of the tolerance: what is left on the support shall not spoil the certificate
ROUNDING = 1e-14  # what no tolerance can be below
NOTHING = 1e-9  # of the largest weight: a weight that Newton's method drives to 0


class OnSupport:
    """Loss and penalty as one smooth function of the weights that are not 0, near where they are.

    Signs are kept: ``l1`` is linear here. A group that loses all its weights is no longer smooth, which is why weights
    that go to 0 have to be given up.
    """

    n_free = 0

    def __init__(self, loss: Loss, penalty: OverlappingGroups, w: Vector) -> None:
        k = loss.n_params - loss.n_free
        self.loss, self.penalty, self.k = loss, penalty, k
        self.kept = np.flatnonzero(np.append(w[:k] != 0, np.ones(loss.n_free, dtype=bool)))
        self.signs = np.sign(w[:k])
        self.n_params, self.size = len(self.kept), loss.n_params
        self.start = w[self.kept]
        self.holds_signs = penalty.l1 > 0

    def whole(self, x: Vector) -> Vector:
        """All weights, from those that are not 0."""
        w = np.zeros(self.size)
        w[self.kept] = x
        return w

    def _rates(self, w: Vector) -> tuple[Vector, Vector]:
        """λ_g/‖w_g‖ of each group, 0 for those that are 0; and the norms."""
        norms = self.penalty.group_norms(w[: self.k])
        strengths = self.penalty.strengths
        return np.divide(strengths, norms, out=np.zeros_like(norms), where=norms > 0), norms

    def _spread(self, of_groups: Vector) -> Vector:
        """Σ over the groups of each weight."""
        from spinney.optim.penalties._overlap_kernels import group_pull

        groups = self.penalty.groups
        of_features = group_pull(groups.ptr, groups.members, of_groups, groups.n_features)
        return np.repeat(of_features, self.penalty.n_outputs)

    def value_and_grad(self, x: Vector) -> tuple[float, Vector]:
        w = self.whole(x)
        value, grad = self.loss.value_and_grad(w)
        rate, norms = self._rates(w)
        own, penalty = w[: self.k], self.penalty
        value += float(penalty.strengths @ norms) + penalty.l1 * float(self.signs @ own)
        grad[: self.k] += (self._spread(rate) + penalty.l2) * own + penalty.l1 * self.signs
        return value + 0.5 * penalty.l2 * float(own @ own), grad[self.kept]

    def hess_vec(self, x: Vector) -> Callable[[Vector], Vector]:
        """Of ‖w_g‖: (v_g − ŵ_g ŵ_gᵀv_g)/‖w_g‖, where ŵ_g is w_g at unit length."""
        from spinney.optim.penalties._overlap_kernels import group_squares

        w = self.whole(x)
        of_loss = self.loss.hess_vec(w)  # type: ignore[attr-defined]
        rate, norms = self._rates(w)
        pull, own, groups = self._spread(rate) + self.penalty.l2, w[: self.k], self.penalty.groups
        bend = np.divide(rate, norms**2, out=np.zeros_like(norms), where=norms > 0)

        def product(v: Vector) -> Vector:
            away = self.whole(v)
            image: Vector = of_loss(away)
            along = (own * away[: self.k]).reshape(-1, self.penalty.n_outputs).sum(axis=1)
            inner = group_squares(groups.ptr, groups.members, along)
            image[: self.k] += pull * away[: self.k] - self._spread(bend * inner) * own
            return image[self.kept]

        return product


def polished_groups(
    problem: Problem, penalty: OverlappingGroups | Composite, w: Vector, monitor: Monitor
) -> Vector:
    """The optimum over the weights of ``w`` that are not 0, or near it; some of them may have become 0."""
    k = problem.n_penalised
    for _ in range(ROUNDS):
        smooth = _smooth_near(problem.loss, penalty, w)
        curved = hasattr(problem.loss, "hess_vec")
        steps = STEPS if curved else STEPS_WITHOUT_CURVATURE
        judge = Monitor(Problem(smooth, NoPenalty()), _finer(monitor), steps, monitor.scale)
        (newton if curved else lbfgs)(judge.problem, smooth.start, judge)
        w = smooth.whole(judge.w)
        least = NOTHING * float(np.max(np.abs(w[:k]), initial=0.0))
        crossed = (w[:k] * smooth.signs[:k] < 0) & smooth.holds_signs
        gone = (w[:k] != 0) & ((np.abs(w[:k]) <= least) | crossed)
        if not gone.any():
            break
        w[:k][gone] = 0.0
    return w


def _smooth_near(loss: Loss, penalty: OverlappingGroups | Composite, w: Vector) -> OnSupport | OnFace:
    return OnFace(loss, penalty, w) if isinstance(penalty, Composite) else OnSupport(loss, penalty, w)


def polished_trace(problem: Problem, penalty: TraceLasso, w: Vector, kept: Mask, monitor: Monitor) -> Vector:
    """The optimum over the ``kept`` weights, the others 0."""
    loss, k = problem.loss, problem.n_penalised
    assert isinstance(loss, LinearLoss)
    polished = np.append(np.zeros(k), w[k:])
    if not kept.any():
        return loss.null_point()
    smaller = copy.copy(loss)
    smaller.X, smaller.p = loss.X[:, kept], int(kept.sum())
    where = np.append(kept, np.ones(loss.n_free, dtype=bool))
    of_kept = Problem(smaller, TraceLasso(penalty.lam, penalty.P[:, kept]))
    judge = Monitor(of_kept, _finer(monitor), STEPS_WITHOUT_CURVATURE, monitor.scale)
    irls(of_kept, w[where], judge)
    polished[where] = judge.w
    return polished


def _finer(monitor: Monitor) -> float:
    """The tolerance on the support: a share of what the solver works towards at the moment."""
    return max(FINER * monitor.absolute_tol / monitor.scale, ROUNDING)
