"""Regularisation paths: taggers at decreasing strengths of the penalty, each started from the one before."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.optim import Solution, lambda_grid, lambda_max
from spinney.optim.base import Vector
from spinney.optim.paths import LINES, Path
from spinney.structure.words import largest
from spinney.tagging.columns import Columns
from spinney.tagging.extract import Extractor
from spinney.tagging.methods import plan_of
from spinney.tagging.support import Shape
from spinney.tagging.training import train
from spinney.tagging.weights import ChainWeights
from spinney.views import Facts, Note, Table, Views, notebook_html

if TYPE_CHECKING:
    from spinney.tagging.problem import Problem
    from spinney.tagging.tagger import Tagger

WEAK = 0.5  # a strength at which CRFs of a few thousand sentences are about as good as they get
_STRONGEST = 1000  # weights of a point that may be among the largest of the path


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
    tagger: Tagger,
    columns: Columns,
    lams: Sequence[float] | None,
    dev: Columns | None,
    n: int,
    ratio: float | None,
) -> Iterator[PathPoint]:
    """See :meth:`spinney.tagging.Tagger.path`."""
    s: Any = tagger.checked()
    if not hasattr(s, "penalty"):
        raise OptionError(f"the method {s.method} has no penalty, so it has no path")
    problem = tagger.problem(columns, s)
    if lams is None:
        largest = lambda_max(problem.loss, problem.penalty)
        lams = lambda_grid(largest, n, _ratio(largest) if ratio is None else ratio).tolist()
    w: Vector = np.zeros(problem.loss.n_params)
    for lam in sorted(map(float, lams), reverse=True):
        point, solution = path_point(tagger, problem, lam, w, dev)
        w = solution.w
        yield point
        if solution.interrupted:
            return


def _ratio(largest: float) -> float:
    """How far a path goes by default: down to a hundredth of the largest strength, or to ``WEAK`` if that is less."""
    return min(1e-2, WEAK / largest) if largest > 0 else 1e-2


def path_point(
    tagger: Tagger, problem: Problem, lam: float, w: Vector, dev: Columns | None
) -> tuple[PathPoint, Solution]:
    """The model at one strength, by a solver that starts at ``w``; the tagger becomes that model."""
    started = time.perf_counter()
    penalty = problem.penalty.with_lam(lam)
    solution = train(problem.loss, penalty, plan_of(tagger.checked()), w)
    seconds = time.perf_counter() - started
    tagger.lam = lam
    tagger.keep(problem, penalty, solution, seconds)
    scores = tagger.score_columns(dev) if dev is not None else {}
    return PathPoint(
        lam, solution.objective, solution.violation, seconds, copy.copy(tagger), scores
    ), solution


@dataclass(frozen=True)
class TaggerPath:
    """A whole path, as :func:`spinney.tagging.path` returns it."""

    points: list[PathPoint]
    columns: Columns
    penalty: Any

    @property
    def best(self) -> Tagger:
        """The model with the lowest token error on held-out sentences; among equals the sparsest."""
        if not self.points or not self.points[0].scores:
            raise OptionError("the best model is known only with held-out sentences: give dev")
        best = min(self.points, key=lambda point: float(point.scores["token_error"])).tagger
        best.facts_["tried"] = [point.row() for point in self.points]
        return best

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self.report_views())

    def views(self) -> Views:
        """The points as a table."""
        rows = [point.row() for point in self.points]
        header = list(rows[0]) if rows else []
        return Views([Table("points", "Regularisation path", header, [list(row.values()) for row in rows])])

    def report_views(self) -> Views:
        """The views of a page: scores on held-out and training sentences, and the weights as they become non-zero."""
        known = {"sentences": len(self.columns), "tokens": self.columns.n_tokens}
        what = f"The regularisation path of a tagger: models with the penalty {self.penalty} as λ decreases."
        return Views([Note(what), Facts("", "", known), *self.curves().views()])

    def plot_path(self, what: Literal["weights", "scores", "active"] = "weights", ax: Any = None) -> Any:
        """Draw the path with Matplotlib (extra ``plots``); see :meth:`spinney.optim.paths.Path.plot_path`."""
        return self.curves().plot_path(what, ax)

    def curves(self) -> Path:
        """Scores, sizes and the largest weights over λ."""
        path = Path()
        for point in self.points:
            known = (("dev", point.scores), ("training", point.tagger.score_columns(self.columns)))
            scores = {
                f"{of} {name}": found[key]
                for key, name in (("token_error", "token error"), ("f1", "F1"))
                for of, found in known
                if key in found
            }
            path.add(point, point.active, scores)
        path.weights = _largest_weights([point.tagger for point in self.points])
        return path


def _largest_weights(taggers: Sequence[Tagger]) -> dict[str, list[float]]:
    """The weights that are largest on average, with their names."""
    found: dict[tuple[str, int, int], None] = {}
    for tagger in taggers:
        weights = tagger.weights_
        places = weights.places[largest(np.abs(weights.values), _STRONGEST)]
        found |= dict.fromkeys(_keys(tagger.extractor_, weights.shape, places))
    lines = {key: [0.0] * len(taggers) for key in found}
    for i, tagger in enumerate(taggers):
        names = [{name: o for o, name in enumerate(tagger.extractor_.names(which))} for which in ("u", "b")]
        full, shape = tagger.weights_.full(), tagger.weights_.shape
        mu, lam = shape.mu(full), shape.lam(full)
        for name, before, y in found:
            o = names[before >= 0].get(name)
            if o is not None:
                lines[name, before, y][i] = float(mu[o, y] if before < 0 else lam[o, before, y])
    order = sorted(lines, key=lambda key: -sum(map(abs, lines[key])))
    labels = taggers[0].labels_ if taggers else []
    before_names, called = [*labels, "(start)"], {}
    for name, before, y in order[:LINES]:
        what = f"{name}: {before_names[before]} →" if before >= 0 else f"{name} →"
        called[f"{what} {labels[y]}"] = lines[name, before, y]
    return called


def _keys(extractor: Extractor, shape: Shape, places: NDArray[np.int64]) -> Iterator[tuple[str, int, int]]:
    """The key of a weight: an observation, the previous label (−1: none) and the label."""
    names = extractor.names("u"), extractor.names("b")
    for place in places.tolist():
        if place < shape.n_mu:
            o, y = divmod(place, shape.labels)
            yield names[0][o], -1, y
        else:
            b, pair = divmod(place - shape.n_mu, shape.pairs)
            before, y = divmod(pair, shape.labels)
            yield names[1][b], before, y
