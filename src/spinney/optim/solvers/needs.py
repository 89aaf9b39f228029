"""What solvers need of a loss and of a penalty: a small vocabulary, which each solver is declared in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spinney.errors import OptionError
from spinney.optim import penalties as pen
from spinney.optim.base import Loss, Penalty, Vector
from spinney.optim.losses import LinearLoss, MultinomialLoss, OneVsRestLoss, SeveralOutputs, SquaredLoss


class Need(NamedTuple):
    """A property of a loss or a penalty: in words, and as a test."""

    words: str
    holds: Callable[[Any], bool]


def _is_plain_l1(penalty: Any) -> bool:
    l1, l2 = penalty.l1_l2(1) if hasattr(penalty, "l1_l2") else (0.0, 1.0)
    return bool(np.ndim(l1) == 0 and np.ndim(l2) == 0 and l2 == 0)


LOSSES = {
    "any": Need("any loss", lambda loss: True),
    "linear": Need(
        "a linear loss", lambda loss: isinstance(loss, LinearLoss) and not isinstance(loss, OneVsRestLoss)
    ),
    "single": Need(
        "a loss with one output",
        lambda loss: isinstance(loss, LinearLoss) and not isinstance(loss, MultinomialLoss | OneVsRestLoss),
    ),
    "several": Need("a loss with several outputs", lambda loss: isinstance(loss, SeveralOutputs)),
    "squared": Need("a squared loss", lambda loss: isinstance(loss, SquaredLoss)),
    "hess_vec": Need("a loss with Hessian-vector products", lambda loss: hasattr(loss, "hess_vec")),
    "minibatches": Need("a loss with mini-batches", lambda loss: hasattr(loss, "minibatches")),
}

PENALTIES = {
    "prox": Need("any penalty", lambda penalty: True),
    "smooth": Need("a smooth penalty", lambda penalty: hasattr(penalty, "grad")),
    "elastic-net": Need("an elastic-net penalty", lambda penalty: hasattr(penalty, "l1_l2")),
    "l1": Need("a plain l1 penalty", _is_plain_l1),
    "disjoint": Need("disjoint groups", lambda penalty: isinstance(penalty, pen.GroupL2)),
    "overlapping": Need("overlapping groups", lambda penalty: isinstance(penalty, pen.OverlappingGroups)),
    "composite": Need(
        "a composite norm of overlapping groups",
        lambda penalty: isinstance(penalty, pen.Composite) and penalty.overlapping,
    ),
    "trace": Need("the trace Lasso", lambda penalty: isinstance(penalty, pen.TraceLasso)),
    "pairwise": Need("a pairwise elastic net", lambda penalty: isinstance(penalty, pen.PairwiseElasticNet)),
    "subgradient": Need("a penalty with a subgradient", lambda penalty: hasattr(penalty, "subgradient")),
}


@dataclass(frozen=True)
class Solver:
    """A function ``run(problem, w, monitor, **options)`` and the pairs that it takes.

    Parameters
    ----------
    run
    takes
        Pairs of a key of :data:`LOSSES` and a key of :data:`PENALTIES`; one of them must hold.
    also
        For what concerns both at once: a function of a loss and a penalty that returns what is wrong with them.
    """

    run: Callable[..., Vector]
    takes: tuple[tuple[str, str], ...]
    also: Callable[[Any, Any], str | None] = lambda loss, penalty: None

    def __call__(self, *arguments: Any, **options: Any) -> Vector:
        return self.run(*arguments, **options)

    @property
    def options(self) -> list[str]:
        """The names of what ``run`` takes besides the problem."""
        parameters = inspect.signature(self.run).parameters.values()
        return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

    def fits(self, loss: Loss, penalty: Penalty) -> bool:
        """Whether it takes this pair."""
        return self._knows(loss, penalty) and self.also(loss, penalty) is None

    def _knows(self, loss: Loss, penalty: Penalty) -> bool:
        return any(LOSSES[a].holds(loss) and PENALTIES[b].holds(penalty) for a, b in self.takes)

    def wrong_with(self, loss: Loss, penalty: Penalty) -> str | None:
        """Why it does not take this pair, in words; None if it does.

        Examples
        --------
        >>> from spinney.optim import L1, SOLVERS, SquaredLoss
        >>> SOLVERS["lbfgs"].wrong_with(SquaredLoss(np.eye(2), [1.0, 2.0]), L1(1.0))
        'needs a smooth penalty'
        """
        if self._knows(loss, penalty):
            return self.also(loss, penalty)
        # What is said of a loss that no pair allows is which losses there are; else, which penalties.
        near = [(a, b) for a, b in self.takes if LOSSES[a].holds(loss)] or self.takes
        ways = [_in_words(a, b) for a, b in near]
        return "needs " + (f"{', '.join(ways[:-1])} or {ways[-1]}" if len(ways) > 1 else ways[0])


def _in_words(loss: str, penalty: str) -> str:
    if loss == "any":
        return PENALTIES[penalty].words
    return LOSSES[loss].words + ("" if penalty == "prox" else f" with {PENALTIES[penalty].words}")


def check_options(name: str, solver: Solver, options: dict[str, Any]) -> None:
    """An OptionError for an option that the solver does not have."""
    for given in options:
        if given not in solver.options:
            some = f"it takes {', '.join(solver.options)}" if solver.options else "it takes none"
            raise OptionError(
                f"the solver {name} has no option {given!r}; {some}", given=given, known=solver.options
            )
