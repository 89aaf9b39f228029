"""Proximal Newton steps for a CRF with an elastic net on few weights: the exact Hessian, then coordinate descent.

The weights of a sparse CRF are badly conditioned: thousands of rare observations that explain the same few tokens.
Quasi-Newton methods need thousands of gradients there. But few weights are active, and few of those at any token, so
that their *exact* Hessian costs little more than a gradient; with it some dozen gradients are enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from spinney.optim.base import Vector
from spinney.tagging.loss import CRFLoss, DenseEdges, pair_scores, unigram_scores

MOST = 6000  # weights whose Hessian is kept
TINY, FADE = 1e-5, 1e-2  # what the Hessian leaves out while violations are as large as λ: see chain_hessian
FINEST = (
    1e-8  # of that: where a Hessian from which less is left out does not help, rounding has the last word
)
SWEEPS = 200  # of coordinate descent on a model before a linear system has its turn
FEWEST, MOST_TURNS = 4, 50  # of the two,
EFFORT = 3e9  # and how many multiplications all turns may take
DAMPING = 1e-3  # of the tolerance, added to the diagonal of the Hessian
STEPS = 12  # of Newton's method on a set of weights
STALE = 0.5  # a Hessian is used again while it reduces the violation to this
ARMIJO = 1e-3
RARE = 0.1  # curvature of a weight that the sample does not see


class State(NamedTuple):
    """Weights, and the loss and its gradient there."""

    w: Vector
    value: float
    grad: Vector


class Interrupted(Exception):
    """An interrupt, with what was reached."""

    def __init__(self, at: State) -> None:
        super().__init__()
        self.at = at


class Incidence(NamedTuple):
    """Which weights of a support each token has: those of token t are ptr[t] to ptr[t+1]."""

    ptr: NDArray[np.int64]
    which: NDArray[np.int64]
    value: Vector


def incidence(seen: Any, row: NDArray[np.int64]) -> Incidence:
    """The weights of the observations of each token; those of observation o are row[o] to row[o+1]."""
    width = np.diff(row)[seen.ids]
    ends = np.cumsum(width)
    which = np.arange(ends[-1] if len(ends) else 0) + np.repeat(row[seen.ids] - ends + width, width)
    values = np.ones(len(seen.ids)) if seen.values is None else seen.values
    return Incidence(np.concatenate([[0], ends])[seen.ptr], which, np.repeat(values, width))


class Hessian:
    """The Hessian of a CRF's loss on its support; tokens are matched with weights once.

    With ``tokens``, it is estimated from about that many, of every k-th sentence.
    """

    def __init__(self, loss: CRFLoss, tokens: int | None = None) -> None:
        assert loss.support is not None
        self.loss = loss
        n = loss.data.n_tokens
        self.every = 1 if tokens is None else max(1, n // tokens)
        data, support = loss.data, loss.support
        self.unigrams = incidence(data.unigrams, support.row)
        self.pairs = incidence(data.bigrams, support.pair_row)
        self.before, self.here = np.divmod(support.pairs[self.pairs.which], np.int32(loss.shape.labels))

    def __call__(self, w: Vector, accuracy: float) -> Vector:
        """The matrix at ``w``, but for what is tiny; the smaller ``accuracy`` is, the less is left out."""
        from spinney.tagging._newton_kernels import chain_hessian

        loss, support = self.loss, self.loss.support
        assert support is not None
        H = np.zeros((loss.n_params, loss.n_params))
        scores = pair_scores(loss.shape, support, w)
        weights = np.zeros(len(loss.data))
        weights[:: self.every] = self.every
        if loss.data.weights is not None:
            weights *= loss.data.weights
        first = 0
        for shard in loss.shards:
            data, stop = shard.data, shard.first + shard.data.n_tokens
            psi = np.empty((data.n_tokens, loss.shape.labels))
            unigram_scores(data.unigrams, loss.shape, support, w, psi)
            psi -= psi.max(axis=1, keepdims=True)
            np.exp(psi, out=psi)
            of_kinds = shard.kinds.sums @ scores
            edges = DenseEdges.of(loss, shard.kinds, getattr(of_kinds, "toarray", lambda s=of_kinds: s)())
            tokens = slice(shard.first, stop + 1)
            u, b = self.unigrams, self.pairs
            chain_hessian(
                data.offsets, shard.kinds.of, psi, edges.M,
                u.ptr[tokens], u.which, support.labels[u.which], u.value,
                b.ptr[tokens], b.which + support.n_unigrams, self.before, self.here, b.value,
                weights[first : first + len(data)], accuracy * TINY, accuracy * FADE, H,
            )  # fmt: skip
            first += len(data)
        H += H.T
        if self.every > 1:  # a weight that the sample does not see is taken for one that occurs now and then
            diagonal = np.einsum("ii->i", H)
            np.maximum(diagonal, RARE, out=diagonal)
        return H


def newton(loss: CRFLoss, at: State, l1: Vector, l2: float, goal: float, tokens: int | None = None) -> State:
    """Minimise loss + Σ l1_j|w_j| + ½l2‖w‖² on the support of the loss, to violations of at most ``goal``.

    ``tokens``: from how many the Hessian is estimated; by default from all. It stops earlier after some steps, or when
    rounding ends the descent.
    """
    hessian, strength = Hessian(loss, tokens), float(l1.max(initial=0.0))
    H: Vector | None = None
    finer = 1.0
    violation = violated(at, l1, l2)
    for _ in range(STEPS):
        if violation <= goal:
            break
        if H is None:
            H = hessian(at.w, finer * min(1.0, violation / strength))
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # what was left out may have left it without a minimum
            new = _model_minimum(H, at, l1, l2, 0.05 * violation)
        found = searched(loss, at, new, l1, l2) if np.all(np.isfinite(new)) else None
        if found is None and finer < FINEST:
            break
        if found is None:
            H, finer, hessian.every = None, 1e-3 * finer, 1
            continue
        at, before = found, violation
        violation = violated(at, l1, l2)
        if violation > STALE * before:
            H = None
    return at


def _model_minimum(H: Vector, at: State, l1: Vector, l2: float, tol: float) -> Vector:
    """The minimum of the quadratic model of the loss at a point, plus the penalty.

    Coordinate descent finds which weights are zero, and is slow about the others where they explain each other; for
    these, as long as they keep their signs, it is a linear system. The two take turns.
    """
    from spinney.tagging._newton_kernels import minimise_model

    new = at.w.copy()
    damping = DAMPING * min(float(l1.max(initial=0.0)), tol)
    k = max(len(new), 1)
    turns = int(np.clip(EFFORT / (SWEEPS * k**2 + k**3 / 3), FEWEST, MOST_TURNS))
    for _ in range(turns):
        if minimise_model(H, at.grad, at.w, l1, l2, damping, new, tol, SWEEPS) < SWEEPS:
            break
        active = np.flatnonzero(new)
        here = new[active]
        slope = (at.grad + H @ (new - at.w))[active] + damping * (here - at.w[active]) + l2 * here
        own = H[np.ix_(active, active)]
        own[np.diag_indices_from(own)] += damping + l2
        uphill = slope + l1[active] * np.sign(here)
        try:
            move = -scipy.linalg.solve(own, uphill, assume_a="pos", check_finite=False)
        except scipy.linalg.LinAlgError:  # but for rounding, some weights explain each other completely
            break
        there = here + lowest_on_the_way(here, move, slope, float(move @ own @ move), l1[active]) * move
        new[active] = np.where(np.abs(there) < 1e-14 * np.abs(here), 0.0, there)
    return new


def lowest_on_the_way(w: Vector, move: Vector, slope: Vector, curvature: float, l1: Vector) -> float:
    """How much of a move from ``w`` reaches the lowest point of slope·move + ½curvature + Σ l1|w + move| on its way.

    Where a weight passes zero, the way has a kink.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.where(w * move < 0, -w / move, np.inf)
    order = np.argsort(kinks)
    order = order[kinks[order] < 1.0]
    # The derivative on a piece of the way is falling + share·curvature, until the next kink adds 2·l1|move|.
    falling = float(slope @ move + (l1 * np.sign(w)) @ move)
    for k in order:
        lowest = -falling / curvature if curvature > 0 else np.inf
        if lowest <= kinks[k]:
            return max(lowest, 0.0)
        falling += 2.0 * l1[k] * abs(move[k])
        if falling + kinks[k] * curvature >= 0:
            return float(kinks[k])
    return float(min(max(-falling / curvature, 0.0), 1.0)) if curvature > 0 else 1.0


def violated(at: State, l1: Vector, l2: float) -> float:
    """The largest violation of the optimality conditions, in the ∞-norm."""
    smooth = at.grad + l2 * at.w
    held = np.where(at.w != 0, smooth + l1 * np.sign(at.w), np.maximum(np.abs(smooth) - l1, 0.0))
    return float(np.max(np.abs(held), initial=0.0))


def searched(loss: CRFLoss, at: State, new: Vector, l1: Vector, l2: float) -> State | None:
    """A point between ``at`` and ``new`` where the objective is lower by as much as the model promises, in part."""

    def penalty(w: Vector) -> float:
        return float(l1 @ np.abs(w)) + 0.5 * l2 * float(w @ w)

    move, objective = new - at.w, at.value + penalty(at.w)
    # Coordinate by coordinate: near the optimum the penalties differ in their last digits only.
    promised = float(
        np.sum(at.grad * move + l1 * (np.abs(new) - np.abs(at.w)) + 0.5 * l2 * (new + at.w) * move)
    )
    if promised >= 0:
        return None
    step = 1.0
    while step > 1e-8:
        w = new if step == 1.0 else at.w + step * move
        value, grad = loss.value_and_grad(w)
        if value + penalty(w) <= objective + ARMIJO * step * promised + 1e-13 * abs(objective):
            return State(w, value, grad)
        step /= 2
    return None
