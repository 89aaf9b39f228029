"""From the words of an estimator's parameters to a penalty object."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney.errors import OptionError
from spinney.optim import penalties as pen
from spinney.optim.base import GroupArrays, Penalty

GROUPED = {"group", "sparse-group", "group-linf", "tree-l2", "tree-linf", "overlap", "latent"}
SIMPLE = {"none", "l2", "l1", "elasticnet", "l0", "fused"}
FROM_DESIGN = {"trace", "pairwise", "nuclear"}


def make_penalty(
    name: str | Penalty,
    lam: float,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    weights: NDArray[np.float64] | None = None,
    groups: GroupArrays | None = None,
    X: Any = None,
    n_outputs: int = 1,
) -> Penalty:
    """A penalty over the weights of a linear model with ``n_outputs`` outputs a feature.

    ``groups`` are sets of features; with several outputs a group holds all the weights of its features.

    Examples
    --------
    >>> make_penalty("elasticnet", 2.0, l2=0.5).describe()
    'elastic net, λ = 2, ℓ2 = 0.5'
    """
    if isinstance(name, Penalty):
        return name
    if name not in SIMPLE | GROUPED | FROM_DESIGN:
        names = sorted(SIMPLE | GROUPED | FROM_DESIGN)
        raise OptionError(
            f"there is no penalty {name!r}; there are {', '.join(names)}", given=name, known=names
        )
    if name in GROUPED:
        if groups is not None and X is not None and groups.n_features != X.shape[1]:
            raise OptionError(
                f"the groups are over {groups.n_features} features, but the data have {X.shape[1]}"
            )
        return _grouped(name, lam, l1, l2, groups, n_outputs)
    if name in FROM_DESIGN:
        return _from_design(name, lam, X, n_outputs)
    if weights is not None:
        if name not in ("l1", "elasticnet"):
            raise OptionError(f"feature weights go with the penalties l1 and elasticnet, not {name}")
        weights = np.repeat(np.asarray(weights, dtype=np.float64), n_outputs)
    simple: dict[str, Any] = {
        "none": lambda: pen.NoPenalty(),
        "l2": lambda: pen.L2(lam),
        "l1": lambda: pen.L1(lam, weights),
        "elasticnet": lambda: pen.ElasticNet(lam, l2, weights),
        "l0": lambda: pen.L0(lam),
        "fused": lambda: pen.Fused(lam, l1=l1, l2=l2),
    }
    penalty: Penalty = simple[name]()
    return penalty


def _grouped(
    name: str, lam: float, l1: float, l2: float, groups: GroupArrays | None, n_outputs: int
) -> Penalty:
    if groups is None:
        raise OptionError(f"the penalty {name} needs groups: give groups= (--groups FILE.json)")
    if name == "overlap":
        return pen.OverlappingGroups(lam, groups, l1=l1, l2=l2, n_outputs=n_outputs)
    groups = _over_outputs(groups, n_outputs)
    if name in ("tree-l2", "tree-linf"):
        tree: Any = pen.TreeL2 if name == "tree-l2" else pen.TreeLinf
        penalty: Penalty = tree.from_groups(lam, groups)
        return penalty
    if name == "group-linf":
        return pen.GroupLinf(lam, groups)
    if name == "latent":
        return pen.LatentGroups(lam, groups)
    if name == "sparse-group" and l1 == 0.0:
        l1 = lam
    return pen.GroupL2(lam, groups, l1=l1, l2=l2)


def _over_outputs(groups: GroupArrays, n_outputs: int) -> GroupArrays:
    if n_outputs == 1:
        return groups
    if not hasattr(groups, "expand"):
        raise OptionError("several classes need groups from spinney.structure.Groups")
    expanded: GroupArrays = groups.expand(n_outputs)
    return expanded


def _from_design(name: str, lam: float, X: Any, n_outputs: int) -> Penalty:
    """Penalties whose shape is the data's: the trace Lasso, the pairwise elastic net, the nuclear norm."""
    if name == "nuclear":
        return pen.Nuclear(lam, (X.shape[1], n_outputs))
    if n_outputs > 1:
        raise OptionError(
            f"the penalty {name} is for regression and for two classes, not for {n_outputs} outputs"
        )
    dense = np.asarray(X.todense()) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    norms = np.linalg.norm(dense, axis=0)
    unit = dense / np.where(norms > 0, norms, 1.0)
    return pen.TraceLasso(lam, unit) if name == "trace" else pen.PairwiseElasticNet.from_design(lam, unit)
