"""What a linear model knows of its weights: from the parameters of an estimator to a penalty."""

from __future__ import annotations

from typing import Any

from spinney.optim import Penalty, PenaltySpec, Structure, penalty
from spinney.optim.base import GroupArrays, Vector

REMEDIES = {
    "groups": "give groups",
    "tree": "give nested groups",
    "times": "use spinney.trend",
}


def make_penalty(
    name: str | PenaltySpec | Penalty,
    lam: float,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    weights: Vector | None = None,
    groups: GroupArrays | None = None,
    X: Any,
    n_outputs: int = 1,
) -> Penalty:
    """A penalty over the weights of a linear model: ``X.shape[1]`` features with ``n_outputs`` weights each.

    ``groups`` are sets of features; with several outputs a group holds all the weights of its features.

    Examples
    --------
    >>> import numpy as np
    >>> make_penalty("elasticnet", 2.0, l2=0.5, X=np.eye(3)).describe()
    'elastic net, λ = 2, ℓ2 = 0.5'
    """
    structure = Structure(
        "a linear model",
        groups=groups,
        design=X,
        n_features=X.shape[1],
        n_outputs=n_outputs,
        weights=weights,
        ordered=True,
        remedies=REMEDIES,
    )
    return penalty(name, structure, lam=lam, l1=l1, l2=l2)
