"""From a loss and a penalty to the weights of a tree CRF: stochastic passes, exact solvers, passive-aggressive steps.

A pass keeps one gradient for all sentences, and the places of it that a few sentences touched: see :func:`_noted`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney import progress
from spinney.errors import OptionError
from spinney.inference.arcs import projective_best
from spinney.inference.spanning import single_root_arborescence
from spinney.optim import Solution, gradient_scale, solve
from spinney.optim.base import Penalty, Step, Vector
from spinney.optim.certificate import lower_bound
from spinney.parsing.treecrf.candidates import pairs_in_trees
from spinney.parsing.treecrf.loss import TreeLoss, TreeWeights, part_of

STEP = 0.2  # of dual averaging
BATCH = 4  # sentences

AfterPass = Callable[[int, Vector, float], bool | None]


def train(loss: TreeLoss, penalty: Penalty, s: Any) -> Solution:
    """The weights that minimise loss and penalty by the solver of the settings, with their certificate."""
    started = time.perf_counter()
    solver = s.solver
    exact = {
        "auto": "lbfgs" if hasattr(penalty, "grad") else "owlqn" if hasattr(penalty, "l1_l2") else "fista"
    }
    if solver == "pa":
        return _passes(
            loss, penalty, "pa", s, lambda after: passive_aggressive(loss, s.passes, s.seed, after)
        )
    w = None
    if solver in ("auto", "adagrad"):
        strengths = _strengths(penalty, loss.n_params)
        if strengths is None and solver == "adagrad":
            raise OptionError(
                f"the solver adagrad needs an elastic-net penalty: use fista for {penalty.describe()}"
            )
        l1, l2 = strengths or (0.0, 1.0)
        solution = _passes(
            loss, penalty, "adagrad", s,
            lambda after: adagrad(loss, l1=l1, l2=l2, passes=s.passes, seed=s.seed, after_pass=after),
        )  # fmt: skip
        if solver == "adagrad" or solution.interrupted or solution.gap <= s.tol:
            return solution
        w = solution.w
    found = solve(loss, penalty, exact.get(solver, solver), tol=s.tol, max_iter=s.max_iter, w0=w)
    return replace(found, seconds=time.perf_counter() - started)


def _strengths(penalty: Any, n: int) -> tuple[float, float] | None:
    """The strengths of an elastic net, or None for a penalty that is none."""
    if not hasattr(penalty, "l1_l2"):
        return None
    l1, l2 = penalty.l1_l2(n)
    return None if np.ndim(l1) or np.ndim(l2) else (float(l1), float(l2))


def _passes(
    loss: TreeLoss, penalty: Penalty, solver: str, s: Any, run: Callable[[AfterPass], Vector]
) -> Solution:
    """A fixed number of passes, then the certificate of where they led."""
    started, steps, interrupted = time.perf_counter(), list[Step](), False
    w = np.zeros(loss.n_params)
    with progress.task("training the parser", s.passes) as task:

        def after(number: int, new: Vector, mean: float) -> None:
            nonlocal w
            w = new.copy()  # the result of an interrupt
            task.update(1, note=f"loss {mean:.3g} a sentence")
            steps.append(Step(number, time.perf_counter() - started, mean * loss.n, np.nan))

        try:
            w = run(after)
        except KeyboardInterrupt:
            if not steps:
                raise
            interrupted = True
    found = Solution(
        w, np.nan, np.nan, False, len(steps), solver, 0.0, np.zeros_like(w), interrupted, steps
    )  # fmt: skip
    try:
        found = _certified(found, loss, penalty, s.tol)
    except KeyboardInterrupt:
        found = replace(found, interrupted=True)  # what was learned is kept, without a certificate
    return replace(found, seconds=time.perf_counter() - started)


def _certified(found: Solution, loss: TreeLoss, penalty: Penalty, tol: float) -> Solution:
    """What was found, with its objective and how far that is from the optimum."""
    w = found.w
    value, grad = loss.value_and_grad(w)
    residual, objective = penalty.residual(w, grad), value + penalty.value(w)
    zeros = penalty.makes_zeros and penalty.lam > 0
    scale = penalty.lam if zeros else gradient_scale(loss)
    violation = float(np.max(np.abs(residual), initial=0.0)) / scale
    bound = lower_bound(penalty, w, value, grad, residual)
    gap = max(objective - bound, 0.0) / max(abs(objective), 1e-300)
    return replace(found, objective=objective, violation=violation, converged=gap <= tol, grad=grad, gap=gap)


def adagrad(
    loss: TreeLoss,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    passes: int,
    seed: int = 0,
    after_pass: AfterPass | None = None,
) -> Vector:
    """Regularised dual averaging with AdaGrad's steps (Duchi et al. 2011), over small batches of sentences, from 0.

    The result is the mean of the weights after each pass of the second half: with few sentences, single passes differ
    by a point of LAS.

    ``l1`` and ``l2`` are the strengths of an elastic net beside the sum over all sentences. ``after_pass(pass,
    weights, mean loss)`` may stop.
    """
    from spinney.parsing.treecrf._loss_kernels import averaged_step, averaged_weights

    rng = np.random.default_rng(seed)
    w = np.zeros(loss.n_params)
    g, squares, sums = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w)
    touched = np.empty(len(w), np.int64)
    starts = np.arange(0, loss.n, BATCH)
    done, half, mean = 0, passes // 2, np.zeros_like(w)
    for number in range(passes):
        total = 0.0
        for start in rng.permutation(starts).tolist():
            stop = min(start + BATCH, loss.n)
            value, n = loss.add(w, start, stop, g, touched)
            done += stop - start
            share = done / loss.n
            at = _noted(touched, n)
            averaged_step(at, len(at), g, sums, squares, w, share * l1, share * l2, STEP)
            total += value
        averaged_weights(sums, squares, share * l1, share * l2, STEP, w)
        n_mean = max(number - half, 0)
        mean = (n_mean * mean + w) / (n_mean + 1) if number >= half else w
        if after_pass and after_pass(number + 1, mean, total / max(loss.n, 1)):
            break
    return mean


def passive_aggressive(
    loss: TreeLoss,
    passes: int,
    seed: int = 0,
    after_pass: AfterPass | None = None,
    aggressiveness: float = 0.1,
) -> Vector:
    """Averaged passive-aggressive steps (PA-I; Crammer et al. 2006), the cost being the number of wrong words.

    A word is wrong if its head or its relation is. No probabilities are computed, so this is the quickest way.
    """
    rng = np.random.default_rng(seed)
    w, sums = np.zeros(loss.n_params), np.zeros(loss.n_params)
    g = np.zeros_like(w)
    touched = np.empty(len(w), np.int64)
    steps = 0
    for number in range(passes):
        total = 0.0
        for sentence in rng.permutation(loss.n).tolist():
            hinge, n = _violation(loss, w, sentence, g, touched)
            at = np.unique(_noted(touched, n))
            d = g[at]
            g[at] = 0.0
            if hinge > 0.0 and np.any(d):
                move = min(aggressiveness, hinge / float(d @ d)) * d
                w[at] -= move
                sums[at] -= steps * move
            total += hinge
            steps += 1
        if after_pass and after_pass(number + 1, w - sums / steps, total / max(loss.n, 1)):
            break
    return w - sums / max(steps, 1)


def _noted(touched: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """The places of the gradient that were touched, some perhaps twice: where a sum came back to 0 on its way.

    If there was no room for more of them, as may be with few weights, that is all places.
    """
    return touched[:n] if n < len(touched) else np.arange(len(touched))


def _violation(
    loss: TreeLoss, w: Vector, sentence: int, g: Vector, touched: NDArray[np.int64]
) -> tuple[float, int]:
    """The hinge loss of a sentence, cost included; its gradient goes into ``g``, whose places into ``touched``."""
    from spinney.parsing.treecrf._loss_kernels import add_gradient, add_relation_gradient

    part = part_of(loss.data, sentence, sentence + 1)
    own, relation, pairs = loss.gold_of(sentence, sentence + 1)
    scores = TreeWeights(w, loss.sizes, loss.relations).logits(part)
    cost = np.ones_like(scores.given)
    cost[own, relation[own]] = 0.0
    augmented = scores.given + cost
    chosen = augmented.argmax(axis=1).astype(np.int32)
    arcs = scores.arcs + augmented[np.arange(len(chosen)), chosen]
    if loss.projective:
        siblings = (part.sib_ptr, part.sib, scores.siblings) if part.second_order else ()
        _, best, found = projective_best(*part.arcs, arcs, *siblings)
    else:
        _, best, found = single_root_arborescence(*part.arcs, arcs)
    right = scores.arcs[own].sum() + scores.given[own, relation[own]].sum()
    n_touched = np.zeros(1, np.int64)
    difference = np.zeros(len(arcs))
    difference[found] += 1.0
    difference[own] -= 1.0
    if part.second_order:
        guessed = pairs_in_trees(part.arcs, found, part.sib_ptr, part.sib)
        right += scores.siblings[pairs].sum()
        of_pairs = np.zeros(len(part.sib))
        of_pairs[guessed] += 1.0
        of_pairs[pairs] -= 1.0
        first = loss.sizes.arcs + loss.sizes.relations
        add_gradient(0, len(of_pairs), *part.of_siblings, first, of_pairs, g, touched, n_touched)
    add_gradient(0, len(arcs), *part.of_arcs, 0, difference, g, touched, n_touched)
    taken, one = np.zeros(len(arcs)), np.zeros_like(scores.given)
    taken[found] = 1.0
    one[np.arange(len(chosen)), chosen] = 1.0
    row, label, _ = loss.relations
    add_relation_gradient(
        0,
        len(arcs),
        *part.of_relations,
        row,
        label,
        loss.sizes.arcs,
        taken,
        one,
        relation,
        g,
        touched,
        n_touched,
    )
    return float(best[0] - right), int(n_touched[0])
