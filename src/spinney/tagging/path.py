"""Regularisation paths: taggers at falling strengths of the penalty, each started at the one before."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.errors import OptionError
from spinney.optim import lambda_grid, lambda_max
from spinney.optim.base import Vector
from spinney.tagging.columns import Columns
from spinney.tagging.methods import plan_of
from spinney.tagging.training import train
from spinney.tagging.weights import ChainWeights

if TYPE_CHECKING:
    from spinney.tagging.tagger import Tagger


@dataclass(frozen=True)
class PathPoint:
    """One model of a regularisation path."""

    lam: float
    objective: float
    violation: float
    seconds: float
    tagger: Tagger
    scores: dict[str, Any]

    @property
    def weights(self) -> ChainWeights:
        """The weights of the model."""
        return self.tagger.weights_

    @property
    def active(self) -> int:
        """Weights that are not zero."""
        return self.weights.n_active

    def row(self) -> dict[str, Any]:
        """The point as a row of a table: strength, size, time, certificate, and scores if there are any."""
        found = {"lam": self.lam, "active": self.active, "seconds": self.seconds}
        found |= {"objective": self.objective, "violation": self.violation}
        return found | {name: self.scores[name] for name in ("token_error", "f1") if name in self.scores}


def path_points(
    tagger: Tagger, columns: Columns, lams: Sequence[float] | None, dev: Columns | None, n: int, ratio: float
) -> Iterator[PathPoint]:
    """See :meth:`spinney.tagging.Tagger.path`."""
    s: Any = tagger.checked()
    if not hasattr(s, "penalty"):
        raise OptionError(f"the method {s.method} has no penalty, and so no path")
    problem = tagger.problem(columns, s)
    if lams is None:
        lams = lambda_grid(lambda_max(problem.loss, problem.penalty), n, ratio).tolist()
    w: Vector = np.zeros(problem.loss.n_params)
    for lam in sorted(map(float, lams), reverse=True):
        started = time.perf_counter()
        penalty = problem.penalty.with_lam(lam)
        solution = train(problem.loss, penalty, plan_of(s), w)
        w, seconds = solution.w, time.perf_counter() - started
        tagger.lam = lam
        tagger.keep(problem, penalty, solution, seconds)
        scores = tagger.score_columns(dev) if dev is not None else {}
        yield PathPoint(lam, solution.objective, solution.violation, seconds, copy.copy(tagger), scores)
        if solution.interrupted:
            return
