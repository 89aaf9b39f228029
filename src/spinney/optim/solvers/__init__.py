"""The solvers, each a function ``solver(problem, w, monitor, **options)`` with a declaration of what it takes."""

from __future__ import annotations

from spinney.optim.solvers.admm import admm
from spinney.optim.solvers.coordinate import coordinate_descent, outputs_differ
from spinney.optim.solvers.irls import irls
from spinney.optim.solvers.lars import lars
from spinney.optim.solvers.needs import Solver
from spinney.optim.solvers.owlqn import owlqn
from spinney.optim.solvers.proximal import fista, ista
from spinney.optim.solvers.rowspace import quasi_newton
from spinney.optim.solvers.smooth import conjugate_gradient, newton
from spinney.optim.solvers.stochastic import adagrad, rda, sage, sgd
from spinney.optim.solvers.subgradient import subgradient

_ELASTIC = ("minibatches", "elastic-net")

#: All solvers, by name, each with the pairs of a loss and a penalty that it takes.
SOLVERS: dict[str, Solver] = {
    "cd": Solver(
        coordinate_descent,
        (
            ("linear", "elastic-net"),
            ("linear", "overlapping"),
            ("several", "overlapping"),
            ("single", "disjoint"),
            ("several", "disjoint"),
            ("squared", "pairwise"),
        ),
        outputs_differ,
    ),
    "lbfgs": Solver(quasi_newton, (("any", "smooth"),)),
    "owlqn": Solver(owlqn, (("any", "elastic-net"),)),
    "cg": Solver(conjugate_gradient, (("any", "smooth"),)),
    "newton": Solver(newton, (("hess_vec", "smooth"),)),
    "fista": Solver(fista, (("any", "prox"),)),
    "ista": Solver(ista, (("any", "prox"),)),
    "admm": Solver(admm, (("any", "overlapping"), ("any", "composite"), ("any", "trace"))),
    "irls": Solver(irls, (("single", "elastic-net"), ("single", "trace"))),
    "lars": Solver(lars, (("squared", "l1"),)),
    "sgd": Solver(sgd, (_ELASTIC,)),
    "adagrad": Solver(adagrad, (_ELASTIC,)),
    "rda": Solver(rda, (("minibatches", "prox"),)),
    "sage": Solver(sage, (("minibatches", "prox"),)),
    "subgradient": Solver(subgradient, (("any", "subgradient"),)),
}
