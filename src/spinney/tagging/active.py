"""Elastic-net training on an active set of weights, which grows until the optimality conditions hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.errors import OptionError
from spinney.optim import ElasticNet, solve
from spinney.optim.base import Vector
from spinney.optim.problem import ROUNDING, Monitor, Problem
from spinney.tagging.loss import CRFLoss
from spinney.tagging.merging import leaders
from spinney.tagging.newton import MOST, Interrupted, State, newton
from spinney.tagging.quasinewton import Curvature, quasi_newton
from spinney.tagging.support import Support

GROWTH = 1.0  # in one round the set grows by at most this multiple of its size,
LEAST = 200  # or by this many weights
FALL = 0.3  # from one strength to the next on the way down to the given one
ROUGHLY = 0.3  # of λ: the violation at which the way goes on
ROUNDS = 10  # for one strength on the way
POLISH = 0.05  # of the violation at which the problem counts as solved, to which the set is solved at the end
CHEAP = 2e6  # tokens × labels³ of a Hessian, up to which it is worth it
SAMPLE = 10_000  # tokens from which Hessians are estimated on the way down


def active_set(problem: Problem, w: Vector, monitor: Monitor, *, memory: int = 10) -> Vector:
    """Minimise a CRF's loss + l1·‖w‖₁ + ½l2‖w‖² over a growing set of weights; the others stay at zero.

    A round solves the problem on the set, drops what became zero, computes the gradient of *all* weights, and takes in
    those that violate the optimality conditions most. It ends when the certificate of the full problem is good enough.

    ℓ1 alone leaves the problem badly conditioned. Where the exact Hessian is cheap, Newton steps solve each set, and
    the strength first falls from where the first weight enters to the given one, so that the set is never much larger
    than the solution. Elsewhere, proximal quasi-Newton steps (``quasinewton.py``) solve each set, on data from which
    observations without weights are left out. Newton steps at the end do not pay: on 1,000 sentences of CoNLL-2000 with
    λ = 0.36, all gradients took 7 of 219 seconds; without these steps it is over in 28. Losses that are not those of a
    plain CRF, but have ``restricted(support)``, are left to OWL-QN (with ``memory``).
    """
    if not hasattr(problem.inner, "l1_l2"):
        raise OptionError(
            f"the solver active-set needs an elastic-net penalty: use fista for {problem.inner.describe()}"
        )
    loss: Any = problem.loss
    l1, l2 = problem.inner.l1_l2(loss.n_params)
    if not np.any(l1):
        raise OptionError("without an ℓ1 penalty every weight is active: use the solver lbfgs or owlqn")
    l1 = np.broadcast_to(np.asarray(l1, np.float64), (loss.n_params,))
    leader = _leaders(loss, l1, l2)
    on = Sets(loss, l1, l2, leader == np.arange(loss.n_params), memory)
    if isinstance(loss, CRFLoss) and loss.convex:
        on = replace(on, known=Curvature())
    w = np.asarray(np.bincount(leader, w, minlength=loss.n_params), np.float64)
    at = State(w, *loss.value_and_grad(w))
    try:
        exact = descends(loss, problem.inner)
        if not np.any(w) and exact:
            at = on.descend(at)
        while not monitor(*at):
            goal = max(0.5 * monitor.absolute_tol, 0.1 * monitor.violation)
            before, at = at, on.solved(at, goal, exact, monitor.tol)
            if np.array_equal(at.w, before.w):
                break  # rounding has the last word
        if exact and monitor.converged and len(monitor.trace) > 1:
            # Which weights are zero is known later than how low the objective is; Newton steps on the set tell.
            at = on.solved(at, POLISH * monitor.violation, exact)
            monitor(*at)
    except Interrupted as stopped:
        monitor(*stopped.at)
        raise KeyboardInterrupt from None
    return at.w


@dataclass(frozen=True)
class Sets:
    """Problems on sets of weights: those that are active, and those that violate their conditions most."""

    loss: Any
    l1: Vector
    l2: float
    eligible: NDArray[np.bool_]
    memory: int
    tokens: int | None = None  # from how many Hessians are estimated
    known: Curvature | None = None  # of the loss, for quasi-Newton steps

    def descend(self, at: State) -> State:
        """Rough solutions at falling multiples of the strength, from the one at which the first weight enters."""
        if not np.all(self.l1 > 0):
            return at  # weights that ℓ1 does not hold are in every model: there is no empty one to start from
        multiple = FALL * float(np.max(np.abs(at.grad) / self.l1, initial=0.0))
        if multiple <= 1:
            return at
        steps = int(np.ceil(np.log(multiple) / -np.log(FALL)))
        with progress.task("lowering the strength", steps) as task:
            while multiple > 1:
                stronger = replace(self, l1=multiple * self.l1, tokens=SAMPLE)
                goal = ROUGHLY * multiple * float(self.l1.min())
                for _ in range(ROUNDS):
                    if np.max(residual(at, stronger.l1, self.l2)) <= goal:
                        break
                    try:
                        at = stronger.solved(at, 0.5 * goal, True)
                    except KeyboardInterrupt:
                        raise Interrupted(at) from None
                multiple *= FALL
                task.update(1)
        return at

    def solved(self, at: State, goal: float, exact: bool, gap: float = 0.0) -> State:
        """Solve the problem on the set, by ``exact`` Hessians or not, and compute the gradient of all weights there.

        It stops at violations of ``goal``; OWL-QN also when the objective is proven to be within ``gap`` on the set.
        """
        loss, l1 = self.loss, self.l1
        of_full = np.arange(loss.n_params) if loss.support is None else loss.support.places(loss.shape)
        places = np.union1d(np.flatnonzero(at.w), self._worst(at, exact))
        restricted = loss.restricted(Support.of(of_full[places], loss.shape))
        w, start = at.w.copy(), State(at.w[places], at.value, at.grad[places])
        if not exact and self.known is not None:
            on_set = loss.narrowed(restricted.support)
            try:
                w[places] = quasi_newton(on_set, start, l1[places], self.l2, goal, places, self.known).w
            except Interrupted as stopped:
                w[places] = stopped.at.w
                raise Interrupted(State(w, *loss.value_and_grad(w))) from None
            return State(w, *loss.value_and_grad(w))
        if exact and len(places) <= MOST:
            w[places] = newton(restricted, start, l1[places], self.l2, goal, self.tokens).w
            return State(w, *loss.value_and_grad(w))
        enough = max(0.3 * gap, 1e-12)
        inner = solve(
            restricted, ElasticNet(1.0, self.l2, l1[places]), "owlqn",
            tol=enough, scale=goal / ROUNDING, w0=start.w, max_iter=200, memory=self.memory,
        )  # fmt: skip
        w[places] = inner.w
        reached = State(w, *loss.value_and_grad(w))
        if inner.interrupted:
            raise Interrupted(reached)
        return reached

    def _worst(self, at: State, exact: bool) -> NDArray[np.int64]:
        """The zero weights that violate their conditions most, at most as many as the set may grow by."""
        violated = residual(at, self.l1, self.l2)
        outside = np.flatnonzero((violated > 0) & (at.w == 0) & self.eligible)
        least, growth = (LEAST, GROWTH) if exact else (5 * LEAST, 2 * GROWTH)
        most = int(max(least, growth * np.count_nonzero(at.w)))
        if len(outside) > most:
            outside = outside[np.argpartition(-violated[outside], most)[:most]]
        return outside


def residual(at: State, l1: Vector, l2: float) -> Vector:
    """How much the condition of each weight is violated."""
    smooth = at.grad + l2 * at.w if l2 else at.grad
    found = np.abs(smooth) - l1
    np.maximum(found, 0.0, out=found)
    active = np.flatnonzero(at.w)
    found[active] = np.abs(smooth[active] + l1[active] * np.sign(at.w[active]))
    return found


def descends(loss: Any, penalty: Any) -> bool:
    """Whether the strength falls from the empty model, by Newton steps: ℓ1 alone, with a Hessian that is cheap."""
    return hasattr(penalty, "l1_l2") and not penalty.l1_l2(loss.n_params)[1] and has_hessian(loss)


def has_hessian(loss: Any) -> bool:
    """Whether the Hessian of the loss is there and worth its price: that of a plain CRF, with one label for each token.

    It costs up to the cube of the number of labels for each token.
    """
    if not isinstance(loss, CRFLoss) or not loss.convex:
        return False
    return bool(loss.data.n_tokens * loss.shape.labels**3 <= CHEAP)


def _leaders(loss: Any, l1: Vector, l2: float) -> NDArray[np.int64]:
    """For each weight the one that may be active in its place; mostly itself.

    Of observations that occur at exactly the same tokens, ℓ1 alone does not say how they share their weight: every way
    is optimal. The sparsest is chosen: the first of them, the one whose pattern comes first, has it all.
    """
    own = np.arange(loss.n_params)
    if l2 or not isinstance(loss, CRFLoss) or np.ptp(l1) > 0:
        return own
    leader, shape = leaders(loss.data.unigrams), loss.shape
    places = own if loss.support is None else loss.support.places(shape)
    n_mu = loss.n_mu
    o, y = np.divmod(places[:n_mu], shape.labels)
    wanted = leader[o] * shape.labels + y
    found = np.searchsorted(places[:n_mu], wanted)  # always at or before its own place
    own[:n_mu] = np.where(places[found] == wanted, found, own[:n_mu])
    return own
