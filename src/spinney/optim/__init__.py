"""The optimisation core: losses × penalties × solvers, with one certificate for all.

A problem is a smooth loss plus a penalty; :func:`solve` minimises it and reports how far the answer is from
optimal. :func:`path` walks a grid of strengths with warm starts.
"""

from spinney.optim.base import GroupArrays, Loss, Penalty, PenaltySpec, Solution, Step
from spinney.optim.losses import (
    EntropyRegularised,
    LinearLoss,
    LogisticLoss,
    MultinomialLoss,
    OneVsRestLoss,
    SquaredHingeLoss,
    SquaredLoss,
)
from spinney.optim.penalties import *  # noqa: F403
from spinney.optim.penalties import __all__ as _penalties
from spinney.optim.solve import (
    ConvergenceWarning,
    EmptyModelWarning,
    choose_solver,
    gradient_scale,
    lambda_grid,
    lambda_max,
    path,
    solve,
    warn_if_empty,
    warn_unless_converged,
)
from spinney.optim.solvers import SOLVERS
from spinney.optim.vocabulary import PENALTIES, Kind, Structure, Tree, check_penalty, check_strengths, penalty

__all__ = [
    "PENALTIES",
    "SOLVERS",
    "ConvergenceWarning",
    "EmptyModelWarning",
    "EntropyRegularised",
    "GroupArrays",
    "Kind",
    "LinearLoss",
    "LogisticLoss",
    "Loss",
    "MultinomialLoss",
    "OneVsRestLoss",
    "Penalty",
    "PenaltySpec",
    "Solution",
    "SquaredHingeLoss",
    "SquaredLoss",
    "Step",
    "Structure",
    "Tree",
    "check_penalty",
    "check_strengths",
    "choose_solver",
    "gradient_scale",
    "lambda_grid",
    "lambda_max",
    "path",
    "penalty",
    "solve",
    "warn_if_empty",
    "warn_unless_converged",
    *_penalties,
]
