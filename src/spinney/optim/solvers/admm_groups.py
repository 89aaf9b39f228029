"""ADMM for overlapping groups: one copy of a weight for each group that holds it (Yogatama 2015, §5.3.1, Alg. 2).

The w-step pulls every weight towards the mean of its copies, the v-step shrinks each group of copies on its own, in
parallel, and the u-step adds their disagreement to the multipliers. Under a composite norm the v-step is its prox, for
which the copies are disjoint groups (Yogatama 2015, §2.4); everything else is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.penalties import Composite, ElasticNet, OverlappingGroups
from spinney.optim.penalties._splitting import gathered
from spinney.optim.penalties.elastic import soft_threshold
from spinney.optim.penalties.pulled import PulledElasticNet
from spinney.optim.problem import Monitor, Problem, largest
from spinney.optim.solvers.coordinate import coordinate_descent
from spinney.optim.solvers.faces import tied
from spinney.optim.solvers.owlqn import owlqn
from spinney.optim.solvers.polish import polished_groups
from spinney.optim.solvers.pulling import PulledLoss, initial_rho
from spinney.optim.solvers.residuals import Residuals, proximal_step
from spinney.parallel import map_reduce

INNER_TOLERANCE, INNER_ITERATIONS = 0.1, 50  # of the w-step, as a share of what still moves
FINEST = 1e-3  # of the w-step, as a share of the tolerance: a small error is a large one for a group that is nearly 0
ROUGHLY = 0.1  # how accurately the residual is needed, as a share of the tolerance
BALANCE, FACTOR = 3.0, 1.5  # ρ moves by half of itself when one residual is three times the other
BALANCED, RARE = 200, 0.2  # at every iteration up to 200, then at ever fewer
MEMBERSHIPS_A_SHARD = 200_000
FAR = 1e-3  # as a share: an objective that is so much higher than another


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
        self.norms = np.zeros(len(self.strength))  # ‖v_g‖
        self.times = np.bincount(groups.members, minlength=groups.n_features).astype(np.float64)  # N_i
        n = max(1, groups.members.size // MEMBERSHIPS_A_SHARD)
        ends = np.searchsorted(groups.ptr, np.linspace(0, groups.members.size, n + 1)[1:-1])
        self.bounds = np.unique(np.concatenate([[0], ends, [len(self.strength)]]))

    def step(self, w: Vector, rho: float) -> Copies:
        """The v- and u-steps, shard by shard."""
        from spinney.optim.solvers._admm_kernels import copies_step

        W = w.reshape(self.groups.n_features, self.penalty.n_outputs)

        def of_shard(shard: tuple[int, int]) -> Copies:
            arrays = (self.groups.ptr, self.groups.members, W, self.U, self.strength, rho, self.norms)
            return Copies(*copies_step(*shard, *arrays))

        shards = list(zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist())) or [(0, 0)]
        return map_reduce(of_shard, shards, threads=min(self.threads, len(shards)))

    def tidy(self, w: Vector) -> Vector:
        """The weights with those of removed groups at 0: what is only nearly 0 has no certificate."""
        from spinney.optim.penalties._overlap_kernels import group_pull

        k = self.groups.n_features * self.penalty.n_outputs
        removed = (self.norms == 0).astype(np.float64)
        silent = group_pull(self.groups.ptr, self.groups.members, removed, self.groups.n_features)
        clean = w.copy()
        clean[:k][np.repeat(silent > 0, self.penalty.n_outputs)] = 0.0
        return clean

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """An element of grad + ∂λΩ(w): in groups at 0 it takes the multipliers, so that nothing has to be solved."""
        from spinney.optim.penalties._overlap_kernels import group_pull

        penalty, groups, K = self.penalty, self.groups, self.penalty.n_outputs
        norms = penalty.group_norms(w)
        rate = np.divide(self.strength, norms, out=np.zeros_like(norms), where=norms > 0)
        pull = np.repeat(group_pull(groups.ptr, groups.members, rate, groups.n_features), K)
        at_zero = np.repeat(norms == 0, np.diff(groups.ptr))
        members, held = groups.members[at_zero], self.U[at_zero]
        of_zeros = np.stack([np.bincount(members, held[:, j], groups.n_features) for j in range(K)], axis=1)
        smooth = grad + (penalty.l2 + pull) * w - of_zeros.ravel()
        return np.where(w == 0, soft_threshold(smooth, penalty.l1), smooth + penalty.l1 * np.sign(w))


class CompositeState:
    """The copies v and the multipliers u under a composite norm, one of each for each membership."""

    def __init__(self, penalty: Composite) -> None:
        self.penalty, self.groups = penalty, penalty.groups
        self.V, self.U = np.zeros((2, self.groups.members.size))
        self.norms = np.zeros(len(self.groups.weights))  # ‖v_g‖_q
        self.times = gathered(self.groups, np.ones(self.groups.members.size))  # N_i

    def step(self, w: Vector, rho: float) -> Copies:
        """The v- and u-steps: v is the prox of w − u/ρ, and the new u is ρ times what it moves that by."""
        copies = w[self.groups.members]
        target = copies - self.U / rho
        self.V = self.penalty.prox_of_copies(target, 1.0 / rho)
        self.U = rho * (self.V - target)
        self.norms = self.penalty.by_group(self.V)
        away = self.V - copies
        return Copies(gathered(self.groups, self.V), gathered(self.groups, self.U), float(away @ away))

    def tidy(self, w: Vector) -> Vector:
        """The weights on the face of their copies: 0 where a copy is 0, and of one size where copies are the largest.

        What is only nearly so has no certificate.
        """
        k = self.groups.n_features
        clean, own = (
            w.copy(),
            np.where(gathered(self.groups, (self.V == 0).astype(np.float64)) > 0, 0.0, w[:k]),
        )
        if self.penalty.q == np.inf:
            together = tied(self.penalty, self.V)
            mean = np.bincount(together, np.abs(own)) / np.bincount(together)
            own = np.sign(own) * mean[together]
        clean[:k] = own
        return clean

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """An element of grad + ∂λΩ(w): the multipliers, made subgradients of the copies of w group by group."""
        self.penalty.parts = self.penalty.multipliers = -self.U
        return self.penalty.residual(w, grad, accuracy=np.inf)


def admm_groups(
    problem: Problem,
    penalty: OverlappingGroups | Composite,
    w: Vector,
    monitor: Monitor,
    *,
    rho: float | None = None,
    change_tol: float = 0.0,
    threads: int = 1,
) -> Vector:
    """Minimise ``problem`` under overlapping groups, or under a composite norm of any groups.

    With a ``rho`` this is the algorithm of the thesis: ρ stays, and after ``max_iter`` iterations, or when w changes by
    no more than the share ``change_tol`` of itself, the last w is the answer, however far v = Mw is from met. Without
    one ρ follows the residuals (Boyd et al. 2011, §3.4.1), and what is found is polished on its support. When to
    stop is in :class:`~spinney.optim.solvers.residuals.Residuals`.
    """
    k = problem.n_penalised
    state = CompositeState(penalty) if isinstance(penalty, Composite) else State(penalty, threads)
    times = np.repeat(state.times, k // len(state.times))
    adapts, rho = rho is None, initial_rho(problem.loss, k) if rho is None else rho
    minimise = _w_step(problem, penalty, monitor)
    w = w.copy()
    sum_v, sum_u = times * w[:k], np.zeros(k)
    moved, balance_next = np.inf, 1
    residuals = Residuals(monitor, change_tol)
    while True:
        if residuals.look():
            found = [state.tidy(w)]
            if adapts:
                found += _polished(problem, penalty, found[0], residuals, monitor)
            elif residuals.last:
                found.append(w)
            done = _look(problem, state, monitor, found, residuals)
            # What was polished has no copies; they would agree with it.
            monitor.copy_norms = penalty.group_norms(monitor.w[:k]) if adapts else state.norms
            if done or residuals.exhausted():
                return monitor.w
        mu = (sum_v + sum_u / rho) / np.maximum(times, 1.0)
        inner_tol = min(monitor.tol, monitor.absolute_tol / monitor.scale)
        if adapts:  # roughly: that changes the way, not the optimum
            inner_tol = min(max(FINEST * monitor.tol, INNER_TOLERANCE * moved / monitor.scale), 1e-2)
        before, w = w, minimise(rho * times, mu, w, inner_tol)
        copies = state.step(w[:k], rho)
        dual = rho * (copies.sum_v.ravel() - sum_v)  # Mᵀ(v − v_old)ρ
        sum_v, sum_u = copies.sum_v.ravel(), copies.sum_u.ravel()
        apart = rho * (sum_v - times * w[:k])
        moved = max(float(np.max(np.abs(dual), initial=0.0)), float(np.max(np.abs(apart), initial=0.0)))
        residuals.note(
            np.sqrt(copies.primal),
            float(np.sqrt(times @ w[:k] ** 2)),
            np.append(dual, inner_tol * monitor.scale),  # what the w-step left is a dual residual, too
            np.linalg.norm(sum_u),
            change=float(np.linalg.norm(w - before) / (np.linalg.norm(before) + 1e-300)),
        )
        if adapts and residuals.iteration >= balance_next:
            rho = _balanced(rho, residuals.primal, residuals.dual)
            # Ever more rarely, so that ADMM converges: with a ρ that stays far off, it takes thousands of iterations.
            rarer = max(1, int(RARE * (residuals.iteration - BALANCED)))
            balance_next = residuals.iteration + rarer


def _polished(
    problem: Problem,
    penalty: OverlappingGroups | Composite,
    w: Vector,
    residuals: Residuals,
    monitor: Monitor,
) -> list[Vector]:
    """What the weights become on their support; and on that of a proximal step, if the residuals are met."""
    if not residuals.near:
        return []
    found = [polished_groups(problem, penalty, w, monitor)]
    if not (residuals.met or residuals.last):
        return found
    if isinstance(penalty, Composite):
        # A proximal step would be a problem as large as this one. Just where the last group goes, ADMM only nears 0.
        found.append(np.append(np.zeros(problem.n_penalised), w[problem.n_penalised :]))
    else:
        # The prox starts from what it found last: the same problem gives the same bits only from a start of its own.
        forgetful = OverlappingGroups(penalty.lam, penalty.groups, penalty.l1, penalty.l2, penalty.n_outputs)
        stepped = proximal_step(Problem(problem.loss, forgetful), w)
        found += [stepped, polished_groups(problem, penalty, stepped, monitor)]
    return found


class Judged(NamedTuple):
    """Weights with their loss, gradient, residual and objective."""

    w: Vector
    value: float
    grad: Vector
    residual: Vector
    objective: float


def _look(
    problem: Problem,
    state: State | CompositeState,
    monitor: Monitor,
    found: list[Vector],
    residuals: Residuals,
) -> bool:
    """Report the best of what was found to the monitor, with residuals that are good enough for a certificate."""
    judged = []
    for w in found:
        judged.append(_judged(problem, state, monitor, w))
        if largest(judged[-1].residual) <= monitor.absolute_tol:
            break
    least = min(one.objective for one in judged)
    # Where the objective is far higher, a small violation says nothing: that of no weights at all is never large.
    near = [one for one in judged if one.objective <= least + FAR * abs(least)] or judged
    best = min(near, key=lambda one: largest(one.residual))
    if residuals.last and len(found) == 2 and largest(best.residual) > monitor.absolute_tol:
        best = judged[-1]  # the algorithm of the thesis answers with its last w
    return monitor(*best[:4], residuals.iteration) or residuals.last


def _judged(problem: Problem, state: State | CompositeState, monitor: Monitor, w: Vector) -> Judged:
    value, grad = problem.loss.value_and_grad(w)
    k = problem.n_penalised
    held = state.residual(w[:k], grad[:k])
    for accuracy in (ROUGHLY * monitor.absolute_tol, 0.0):
        wrong = largest(held)
        # The exact residual is dear. It is of use only where that of the weights that are not 0 is small already.
        settled = largest(held[w[:k] != 0]) <= monitor.absolute_tol
        if wrong <= monitor.absolute_tol or (accuracy == 0.0 and not settled):
            break
        other = state.penalty.residual(w[:k], grad[:k], accuracy=accuracy)
        held = min(held, other, key=largest)
    return Judged(w, value, grad, np.concatenate([held, grad[k:]]), value + problem.penalty.value(w))


def _w_step(
    problem: Problem, penalty: OverlappingGroups | Composite, monitor: Monitor
) -> Callable[[Vector, Vector, Vector, float], Vector]:
    """The function (pull, centre, start, tol) ↦ argmin loss + pull to the centre + elastic net."""
    loss = problem.loss
    l1, l2 = (0.0, 0.0) if isinstance(penalty, Composite) else (penalty.l1, penalty.l2)

    def minimise(pull: Vector, centre: Vector, start: Vector, tol: float) -> Vector:
        if isinstance(loss, LinearLoss):
            pulled = Problem(loss, PulledElasticNet(l1, l2, pull, centre))
        else:
            pulled = Problem(PulledLoss(loss, pull, centre), ElasticNet(l1, l2))
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
