"""The shared part of all estimators with a penalty: their parameters, and how the penalty is made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spinney.classify.group_rules import GroupRule, groups_in_fit
from spinney.optim import Penalty, PenaltySpec, Structure, Tree, penalty
from spinney.optim.base import GroupArrays, Vector
from spinney.structure import ClassTree

REMEDIES = {
    "groups": "give groups",
    "tree": "give nested groups",
    "output-tree": "give class_tree",
    "times": "use spinney.trend",
}


@dataclass(eq=False, repr=False, kw_only=True)
class Penalised:
    """The parameters of all estimators with a penalty: the penalty with its strengths and groups, and the solver."""

    penalty: str | PenaltySpec | Penalty = "l2"
    l1: float = 0.0
    l2: float = 0.0
    groups: GroupRule | None = None
    solver: str = "auto"
    fit_intercept: bool = True
    tol: float = 1e-5
    max_iter: int = 1000

    def built_groups(self) -> GroupArrays | None:
        """The groups for the features that ``fit`` has seen: as given, or made from their names."""
        return groups_in_fit(self.groups, getattr(self, "feature_names_in_", None), self.penalty)

    def made_penalty(
        self,
        X: Any,
        n_outputs: int,
        lam: float,
        weights: Vector | None = None,
        groups: GroupArrays | None = None,
        class_tree: ClassTree | None = None,
    ) -> Penalty:
        """The penalty over the weights of a linear model: ``X.shape[1]`` features with ``n_outputs`` weights each.

        Groups are sets of features; with several outputs, a group contains all weights of its features. The leaves of
        ``class_tree`` are the outputs, in their order.

        Examples
        --------
        >>> import numpy as np
        >>> Penalised(penalty="elasticnet", l2=0.5).made_penalty(np.eye(3), 1, lam=2.0).describe()
        'elastic net, λ = 2, ℓ2 = 0.5'
        """
        structure = Structure(
            "a linear model",
            groups=groups,
            output_tree=None
            if class_tree is None
            else lambda: Tree(class_tree.parent, np.arange(len(class_tree))),
            design=X,
            n_features=X.shape[1],
            n_outputs=n_outputs,
            weights=weights,
            ordered=True,
            remedies=REMEDIES,
        )
        return penalty(self.penalty, structure, lam=lam, l1=self.l1, l2=self.l2)
