"""Small weights dropped after a fit.

A ridge leaves no weight at zero, but most of them next to it: 94 of 100 weights of a chunker are below 0.02, and change
the odds of a label by less than 2 %. What it costs to drop them is told by the objective, loss and penalty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spinney import progress
from spinney.optim.base import Vector
from spinney.settings.tag import UNPENALISED
from spinney.tagging.problem import Problem
from spinney.tagging.selection import threshold

#: What is dropped by default, from how many weights on, and by how much that may raise the objective, as a share of it.
SMALL, LARGE, RISE = 0.02, 1 << 16, 0.01


class Pruned(NamedTuple):
    """Weights without the small ones."""

    w: Vector
    threshold: float
    dropped: int
    rise: float  # of the objective, as a share of it
    interrupted: bool = False

    def __str__(self) -> str:
        what = f"{self.dropped:,} weights of at most {self.threshold:.3g}"
        return (
            f"{what}; the objective {'rises' if self.rise >= 0 else 'falls'} by {100 * abs(self.rise):.2g} %"
        )


def pruned(problem: Problem, w: Vector, s: Any) -> Pruned | None:
    """The weights without the small ones, for settings of a method; None if none are to be dropped.

    A threshold that was given is used as it is. By default, a large model whose penalty makes no zeros loses weights of
    at most 0.02 or, where that would raise the objective by more than 1 %, of at most a half, a quarter, … of it. An
    interrupt leaves the weights as they are.

    Examples
    --------
    >>> from spinney.tagging import Tagger
    >>> from spinney.tagging.columns import Columns
    >>> rows = [[("the", "D"), ("dog", "N"), ("barks", "V")], [("a", "D"), ("cat", "N"), ("sleeps", "V")]]
    >>> tagger = Tagger("U:%x[0,0]\\nB", lam=0.1, min_weight=0.1)
    >>> problem = tagger.problem(Columns.from_sentences(rows))
    >>> w = np.zeros(problem.loss.n_params)
    >>> w[:4], w[4] = 0.05, 2.0
    >>> found = pruned(problem, w, tagger.checked())
    >>> found.dropped, found.w.tolist() == [0.0] * 4 + [2.0] + [0.0] * (len(w) - 5)
    (4, True)
    """
    given: float | None = getattr(s, "min_weight", 0.0)
    tau = given if given is not None else SMALL if _is_pruned_by_default(s, len(w)) else 0.0
    if not tau:
        return None

    def objective(w: Vector) -> float:
        return float(problem.loss.value_and_grad(w)[0]) + float(problem.penalty.value(w))

    try:
        with progress.task("dropping small weights"):
            before = objective(w)
            while True:
                left = threshold(w, tau)
                rise = objective(left) / before - 1 if before else 0.0
                if given is not None or not rise > RISE:
                    break
                tau /= 2
    except KeyboardInterrupt:
        return Pruned(w, 0.0, 0, 0.0, interrupted=True)
    return Pruned(left, tau, int(np.count_nonzero(w) - np.count_nonzero(left)), rise)


def _is_pruned_by_default(s: Any, n_params: int) -> bool:
    return s.penalty in ("l2", "none") and s.solver not in UNPENALISED and n_params >= LARGE
