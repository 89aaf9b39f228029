"""The names of penalties and solvers, for settings; :mod:`spinney.optim` says what they mean."""

from __future__ import annotations

PENALTIES = (
    "none", "l2", "l1", "elasticnet", "l0", "group", "sparse-group", "group-linf", "l2/l1", "tree-l2", "tree-linf",
    "tree-output", "overlap", "latent", "fused", "trace", "pairwise", "nuclear", "slope",
)  # fmt: skip
SOLVERS = (
    "auto", "cd", "lbfgs", "owlqn", "cg", "newton", "fista", "ista", "admm", "irls", "lars", "sgd", "adagrad", "rda",
    "sage", "subgradient",
)  # fmt: skip
