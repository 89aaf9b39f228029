"""The solvers, each a function ``solver(problem, w, monitor, **options)``; see :func:`spinney.optim.solve`."""

from __future__ import annotations

from collections.abc import Callable

from spinney.optim.base import Vector
from spinney.optim.solvers.admm import admm
from spinney.optim.solvers.coordinate import coordinate_descent
from spinney.optim.solvers.irls import irls
from spinney.optim.solvers.lars import lars
from spinney.optim.solvers.lbfgs import lbfgs
from spinney.optim.solvers.owlqn import owlqn
from spinney.optim.solvers.proximal import fista, ista
from spinney.optim.solvers.smooth import conjugate_gradient, newton
from spinney.optim.solvers.stochastic import adagrad, rda, sage, sgd
from spinney.optim.solvers.subgradient import subgradient

SOLVERS: dict[str, Callable[..., Vector]] = {
    "cd": coordinate_descent,
    "lbfgs": lbfgs,
    "owlqn": owlqn,
    "cg": conjugate_gradient,
    "newton": newton,
    "fista": fista,
    "ista": ista,
    "admm": admm,
    "irls": irls,
    "lars": lars,
    "sgd": sgd,
    "adagrad": adagrad,
    "rda": rda,
    "sage": sage,
    "subgradient": subgradient,
}
