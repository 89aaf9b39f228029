"""The strength of a penalty, chosen on held-out examples: by cross-validation, or on a development set.

Fits go along the regularisation path, from the strength that empties the model downwards, each starting from the one
before, and all folds go together. They go over two powers of ten, and on until λ is a fifth of the best one, so that
the best is never at the edge of what was tried. A ridge has no strength that empties the model: its path starts at ten
times the mean squared norm of the rows, and goes up from there, too, if that is where the best is.

The best is the λ with the smallest *loss* on held-out examples; of those within a thousandth of it, the largest. A λ
that empties the model in every fold is not considered. Accuracy moves in steps of one example, so with few examples it
chooses badly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.errors import InputError
from spinney.optim import L1, Penalty, lambda_max
from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss
from spinney.optim.solve import Walked, path_step
from spinney.parallel import Kept, Pure, Visit, in_order

PER_DECADE = 4
RANGE = 100.0  # how far the path goes in any case
BEYOND = 5.0  # how far below the best it goes on
# Where it ends in any case: where classes can be separated, held-out examples may never object.
FARTHEST, FARTHEST_SMOOTH = 1e5, 1e7
EQUAL = 1e-3  # losses that differ by less than this share are equally good
ROUGH = 1e-3  # tolerance that suffices for comparing fits

Rows = NDArray[np.intp]


class Fold(NamedTuple):
    """A loss to fit, one over held-out examples, and how well margins predict these (accuracy or R²)."""

    train: LinearLoss
    held_out: LinearLoss
    score: Callable[[Vector], float]


class Tried(NamedTuple):
    """A strength: the mean loss of a held-out example, and the mean score, over all folds."""

    lam: float
    loss: float
    score: float
    #: The mean number of non-zero weights.
    active: float


@dataclass(frozen=True)
class Choice:
    """The strengths that were tried, from the largest, and which of them is best."""

    tried: list[Tried]
    folds: int
    #: The scores of each fold [folds, strengths].
    scores: Vector

    @property
    def best(self) -> Tried:
        """The largest strength whose loss on held-out examples is the smallest, or as good as that.

        One that leaves no weight in any fold is the last resort.
        """
        some = [tried for tried in self.tried if tried.active > 0] or self.tried
        least = min(tried.loss for tried in some)
        return next(tried for tried in some if tried.loss <= least + EQUAL * abs(least))

    def facts(self) -> dict[str, Any]:
        """What a model file keeps of the choice."""
        best = self.best
        return {
            "folds": self.folds,
            "score": best.score,
            "loss": best.loss,
            "strengths": len(self.tried),
            "tried": [tried._asdict() for tried in self.tried],
        }


def choose(
    folds: Sequence[Fold], penalty: Penalty, *, per_decade: int = PER_DECADE, threads: int = 1, **how: Any
) -> Choice:
    """Choose the strength of a penalty; ``how`` goes to :func:`spinney.optim.solve`.

    Examples
    --------
    >>> from spinney.optim import L1, SquaredLoss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 5)); y = X[:, 0] + rng.standard_normal(40)
    >>> parts = [SquaredLoss(X[rows], y[rows]) for rows in (slice(20), slice(20, None))]
    >>> found = choose([Fold(*parts, lambda margins: 0.0)], L1(1.0))
    >>> found.best.lam < found.tried[0].lam, found.best.lam > found.tried[-1].lam
    (True, True)
    """
    walk = _Walk(folds, penalty, threads, {"tol": ROUGH, **how})
    smooth = hasattr(penalty, "grad")
    if smooth:
        start, step = 10.0 * mean_square_norm(folds[0].train), 10.0 ** (-2.0 / per_decade)
    else:
        start, step = max(emptying(fold.train, penalty) for fold in folds), 10.0 ** (-1.0 / per_decade)
    if not start > 0.0:
        raise InputError(
            "no feature has to do with the labels", remedy="check the documents and their labels"
        )
    walk.along(start, step)
    if smooth and walk.choice().best.lam == start:
        walk.along(start / step, 1.0 / step)
    return walk.choice()


def emptying(loss: LinearLoss, penalty: Penalty) -> float:
    """A strength from which on the model is empty, at little cost: an ℓ1 part tied to λ is enough by itself."""
    times = penalty.times_lam.get("l1")
    return lambda_max(loss, L1(1.0)) / times if times else lambda_max(loss, penalty)


def mean_square_norm(loss: LinearLoss) -> float:
    """The mean of ‖xᵢ‖², 1 for tf-idf: what the strength of a ridge is measured in."""
    X = loss.X
    squares = X.multiply(X).sum() if sparse.issparse(X) else float(np.vdot(X, X))
    return float(squares / max(loss.n, 1))


@dataclass
class _Walk:
    """All folds on their way along the path, together."""

    folds: Sequence[Fold]
    penalty: Penalty
    threads: int
    how: dict[str, Any]
    found: dict[float, list[_Visit]] = field(default_factory=dict)

    def along(self, start: float, step: float) -> None:
        """Visit start, start·step, … until λ is far beyond the best."""
        walked, kept = (
            [Walked()] * len(self.folds),
            [Kept((fold.train, fold.held_out)) for fold in self.folds],
        )
        gone = 1.0
        farthest = FARTHEST_SMOOTH if hasattr(self.penalty, "grad") else FARTHEST
        for lam in _geometric(start, step):
            walked = self._visit(lam, walked, kept)
            gone = _factor(start, lam)
            if min(_factor(self.choice().best.lam, lam) / BEYOND, gone / RANGE) >= 0.999:
                return
            if gone >= farthest * 0.999:
                return

    def _visit(self, lam: float, walked: list[Walked], kept: list[Kept[Any]]) -> list[Walked]:
        """All folds at one strength, and where their paths are then."""
        visits = [Visit(data, so_far) for data, so_far in zip(kept, walked)]
        new, self.found[lam] = [], []
        for fold, one in zip(
            self.folds, in_order(Pure(_step, self.penalty, lam, self.how), visits, self.threads)
        ):
            active = int(np.count_nonzero(one.w[: fold.held_out.n_params - fold.held_out.n_free]))
            self.found[lam].append(_Visit(one.loss, fold.score(one.margins), active))
            new.append(one.walked)
        return new

    def choice(self) -> Choice:
        total = sum(float(fold.held_out.sample_weight.sum()) for fold in self.folds) or 1.0
        tried, scores = [], []
        for lam, visits in sorted(self.found.items(), reverse=True):
            losses = sum(visit.loss for visit in visits)
            scores.append([visit.score for visit in visits])
            active = float(np.mean([visit.active for visit in visits]))
            loss = losses / total if math.isfinite(losses) else math.inf
            tried.append(Tried(lam, loss, float(np.mean(scores[-1])), active))
        return Choice(tried, len(self.folds), np.array(scores).T)


class _Visit(NamedTuple):
    """What one fold found at one strength."""

    loss: float
    score: float
    active: int


class _Step(NamedTuple):
    """What a fold finds at one strength, and where its path is then."""

    w: Vector
    margins: Vector
    loss: float
    walked: Walked


def _step(
    penalty: Penalty, lam: float, how: dict[str, Any], fold: tuple[LinearLoss, LinearLoss], so_far: Walked
) -> _Step:
    """One more point on the path of a fold: a pure function."""
    train, held_out = fold
    solution, walked = path_step(train, penalty, lam, so_far, **how)
    if solution.interrupted:
        raise KeyboardInterrupt
    margins = held_out.margins(solution.w)
    value, _ = held_out.pointwise(margins, held_out.y, held_out.sample_weight)
    return _Step(solution.w, margins, value, walked)


def _factor(a: float, b: float) -> float:
    return max(a / b, b / a)


def _geometric(start: float, step: float) -> Iterator[float]:
    lam = start
    while True:
        yield lam
        lam *= step


def split(codes: Rows, k: int, seed: int) -> list[tuple[Rows, Rows]]:
    """``k`` folds of examples with these classes, as even as can be; the only example of a class is never held out.

    There are no more folds than examples.

    Examples
    --------
    >>> [test.tolist() for _, test in split(np.array([0, 0, 0, 1, 1, 2]), 2, seed=0)]
    [[1, 2, 3], [0, 4]]
    """
    k = min(k, len(codes))
    rng = np.random.default_rng(seed)
    part, placed = np.full(len(codes), -1), 0
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            part[rows] = (placed + np.arange(len(rows))) % k
            placed += len(rows)
    found = [(np.flatnonzero(part != i), np.flatnonzero(part == i)) for i in range(k)]
    return [(train, test) for train, test in found if len(test)]
