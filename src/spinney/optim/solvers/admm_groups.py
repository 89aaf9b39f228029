"""ADMM for overlapping groups: one copy of a weight for each group that holds it (Yogatama 2015, §5.3.1, Alg. 2).

The w-step pulls every weight towards the mean of its copies, the v-step shrinks each group of copies on its own, in
parallel, and the u-step adds their disagreement to the multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.penalties import ElasticNet, OverlappingGroups
from spinney.optim.penalties.pulled import PulledElasticNet
from spinney.optim.problem import Monitor, Problem
from spinney.optim.solvers.coordinate import coordinate_descent
from spinney.optim.solvers.owlqn import owlqn
from spinney.optim.solvers.pulling import PulledLoss, initial_rho
from spinney.parallel import map_reduce

FIRST_LOOK, RARER = 10, 1.2  # the certificate costs more than an iteration: take it ever more rarely
INNER_TOLERANCE, INNER_ITERATIONS = 0.1, 50  # of the w-step, as a share of what still moves
FINEST = 1e-3  # of the w-step, as a share of the tolerance: a small error is a large one for a group that is nearly 0
ROUGHLY = 0.1  # how accurately the residual is needed, as a share of the tolerance
BALANCE, FACTOR, BALANCED = (
    3.0,
    1.5,
    200,
)  # ρ moves when one residual is three times the other, in so many iterations
MEMBERSHIPS_A_SHARD = 200_000


class Copies(NamedTuple):
    """Sums over the copies of each weight: of v and of the multipliers u; and ‖v − w‖²."""

    sum_v: Vector
    sum_u: Vector
    primal: float

    def __add__(self, other: Copies) -> Copies:  # type: ignore[override]
        return Copies(self.sum_v + other.sum_v, self.sum_u + other.sum_u, self.primal + other.primal)


class State:
    """The multipliers u, one for each membership and output: all that ADMM keeps."""

    def __init__(self, penalty: OverlappingGroups, threads: int) -> None:
        groups = penalty.groups
        self.penalty, self.groups, self.threads = penalty, groups, threads
        self.strength = penalty.strengths
        self.U = np.zeros((groups.members.size, penalty.n_outputs))
        self.removed = np.zeros(len(self.strength), np.bool_)
        self.times = np.bincount(groups.members, minlength=groups.n_features).astype(np.float64)  # N_i
        n = max(1, groups.members.size // MEMBERSHIPS_A_SHARD)
        ends = np.searchsorted(groups.ptr, np.linspace(0, groups.members.size, n + 1)[1:-1])
        self.bounds = np.unique(np.concatenate([[0], ends, [len(self.strength)]]))

    def step(self, w: Vector, rho: float) -> Copies:
        """The v- and u-steps, shard by shard."""
        from spinney.optim.solvers._admm_kernels import copies_step

        W = w.reshape(self.groups.n_features, self.penalty.n_outputs)

        def of_shard(shard: tuple[int, int]) -> Copies:
            arrays = (self.groups.ptr, self.groups.members, W, self.U, self.strength, rho, self.removed)
            return Copies(*copies_step(*shard, *arrays))

        shards = list(zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist())) or [(0, 0)]
        return map_reduce(of_shard, shards, threads=min(self.threads, len(shards)))

    def tidy(self, w: Vector) -> Vector:
        """The weights with those of removed groups at 0: what is only nearly 0 has no certificate."""
        from spinney.optim.penalties._overlap_kernels import group_pull

        k = self.groups.n_features * self.penalty.n_outputs
        silent = group_pull(
            self.groups.ptr, self.groups.members, self.removed.astype(np.float64), self.groups.n_features
        )
        clean = w.copy()
        clean[:k][np.repeat(silent > 0, self.penalty.n_outputs)] = 0.0
        return clean


def admm_groups(
    problem: Problem,
    penalty: OverlappingGroups,
    w: Vector,
    monitor: Monitor,
    *,
    rho: float | None = None,
    threads: int = 1,
) -> Vector:
    """Minimise ``problem`` under overlapping groups.

    With a ``rho`` this is the algorithm of the thesis: ρ stays, and after ``max_iter`` iterations the last w is the
    answer, however far v = Mw is from met. Without one ρ follows the residuals (Boyd et al. 2011, §3.4.1).
    """
    k, K = problem.n_penalised, penalty.n_outputs
    state = State(penalty, threads)
    times = np.repeat(state.times, K)
    adapts, rho = rho is None, initial_rho(problem.loss, k) if rho is None else rho
    minimise = _w_step(problem, penalty, monitor, roughly=adapts)
    w = w.copy()
    sum_v, sum_u = times * w[:k], np.zeros(k)
    moved = np.inf
    iteration = next_look = 0
    while True:
        last = iteration >= monitor.max_iter
        if last or iteration >= next_look:
            next_look = max(iteration + FIRST_LOOK, int(RARER * iteration))
            stop = _look(problem, penalty, monitor, state.tidy(w), iteration)
            if last and not adapts and not monitor.converged:
                _look(problem, penalty, monitor, w, iteration)
            if stop:
                return monitor.w
        iteration += 1
        mu = (sum_v + sum_u / rho) / np.maximum(times, 1.0)
        w = minimise(rho * times, mu, w, moved)
        found = state.step(w[:k], rho)
        dual = rho * (found.sum_v.ravel() - sum_v)  # Mᵀ(v − v_old)ρ
        sum_v, sum_u = found.sum_v.ravel(), found.sum_u.ravel()
        apart = rho * (sum_v - times * w[:k])
        moved = max(float(np.max(np.abs(dual), initial=0.0)), float(np.max(np.abs(apart), initial=0.0)))
        if adapts and iteration <= BALANCED:
            copies, multipliers = np.sqrt(times @ w[:k] ** 2), np.linalg.norm(sum_u)
            primal = float(np.sqrt(found.primal) / (copies + 1e-300))
            rho = _balanced(rho, primal, float(np.linalg.norm(dual) / (multipliers + 1e-300)))


def _look(problem: Problem, penalty: OverlappingGroups, monitor: Monitor, w: Vector, iteration: int) -> bool:
    """Report to the monitor, with a residual that is good enough for a certificate."""
    value, grad = problem.loss.value_and_grad(w)
    k = problem.n_penalised
    held = penalty.residual(w[:k], grad[:k], accuracy=ROUGHLY * monitor.absolute_tol)
    return monitor(w, value, grad, np.concatenate([held, grad[k:]]), iteration)


def _w_step(
    problem: Problem, penalty: OverlappingGroups, monitor: Monitor, *, roughly: bool
) -> Callable[[Vector, Vector, Vector, float], Vector]:
    """The function (pull, centre, start, moved) ↦ argmin loss + pull to the centre + elastic net.

    It is solved to a tenth of what the copies moved in the iteration before, if ``roughly``: that changes the way, not
    the optimum. Where the way counts, since it ends before the optimum, to the tolerance.
    """
    loss, l1, l2 = problem.loss, penalty.l1, penalty.l2

    def minimise(pull: Vector, centre: Vector, start: Vector, moved: float) -> Vector:
        if isinstance(loss, LinearLoss):
            pulled = Problem(loss, PulledElasticNet(l1, l2, pull, centre))
        else:
            pulled = Problem(PulledLoss(loss, pull, centre), ElasticNet(l1, l2))
        tol = monitor.tol
        if roughly:
            tol = min(max(FINEST * monitor.tol, INNER_TOLERANCE * moved / monitor.scale), 1e-2)
        judge = Monitor(pulled, tol, INNER_ITERATIONS, monitor.scale)
        return (coordinate_descent if isinstance(loss, LinearLoss) else owlqn)(pulled, start, judge)

    return minimise


def _balanced(rho: float, primal: float, dual: float) -> float:
    """ρ for the next iteration, from the residuals as shares of what they are residuals of."""
    if primal > BALANCE * dual:
        return rho * FACTOR
    if dual > BALANCE * primal:
        return rho / FACTOR
    return rho
