"""Small weights dropped after a fit, as many as the objective allows.

A ridge leaves no weight at zero, but most of them next to it: of the seven million weights of a chunker, three in a
hundred carry all but a hundredth of the objective. What is dropped is measured by the objective itself, loss and
penalty, which feels a change of the probabilities long before a label changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spinney import progress
from spinney.optim.base import Vector
from spinney.settings.tag import UNPENALISED
from spinney.tagging.problem import Problem
from spinney.tagging.selection import threshold

#: By how much the objective may rise by default, as a share of it, and of how many weights on.
RISE, LARGE = 0.01, 1 << 16
NEAR = 1.1  # the search ends where the number of weights that stay is within this factor of one that is too small


class Pruned(NamedTuple):
    """Weights without the small ones."""

    w: Vector
    threshold: float  # the largest size of a weight that was dropped
    dropped: int
    rise: float  # of the objective, as a share of it
    interrupted: bool = False

    def __str__(self) -> str:
        what = f"{self.dropped:,} weights of at most {self.threshold:.2g}"
        return f"{what}, which raises the objective by {100 * self.rise:.2g} %"


def allowed_rise(s: Any, n_params: int) -> float:
    """By how much pruning may raise the objective, for settings of a method: what they say, or the default.

    By default a large model whose penalty makes no zeros is pruned, and no other.
    """
    given: float | None = getattr(s, "prune", 0.0)
    if given is not None:
        return given
    makes_zeros = s.penalty not in ("l2", "none")
    return 0.0 if makes_zeros or s.solver in UNPENALISED or n_params < LARGE else RISE


def pruned(problem: Problem, w: Vector, rise: float) -> Pruned:
    """The weights without the smallest, as many as raise the objective by no more than a share of it.

    The number of weights that stay is halved as long as that is allowed, and then found to a tenth. An interrupt ends
    the search with what was allowed so far.

    Examples
    --------
    >>> from spinney.tagging import Tagger
    >>> from spinney.tagging.columns import Columns
    >>> rows = [[("the", "D"), ("dog", "N"), ("barks", "V")], [("a", "D"), ("cat", "N"), ("sleeps", "V")]]
    >>> problem = Tagger("U:%x[0,0]\\nB", lam=0.1).problem(Columns.from_sentences(rows))
    >>> w = np.zeros(problem.loss.n_params)
    >>> w[:4], w[4] = 1e-6, 2.0
    >>> found = pruned(problem, w, 0.01)
    >>> found.dropped, found.threshold, found.w.tolist() == [0.0] * 4 + [2.0] + [0.0] * (len(w) - 5)
    (4, 1e-06, True)
    """

    def objective(w: Vector) -> float:
        return float(problem.loss.value_and_grad(w)[0]) + float(problem.penalty.value(w))

    sizes = np.sort(np.abs(w[w != 0]))
    best = Pruned(w, 0.0, 0, 0.0)
    enough, too_few = len(sizes), 0  # weights that stay
    try:
        with progress.task("dropping small weights"):
            before = objective(w)
            while enough > 1 + too_few and enough > NEAR * too_few:
                stay = (enough + too_few) // 2
                at = float(sizes[-stay - 1])
                tried = threshold(w, at)
                after = objective(tried)
                if after <= (1 + rise) * before:
                    enough = stay
                    dropped = len(sizes) - int(np.count_nonzero(tried))
                    best = Pruned(tried, at, dropped, after / before - 1)
                else:
                    too_few = stay
    except KeyboardInterrupt:
        return best._replace(interrupted=True)
    return best
