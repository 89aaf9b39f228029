"""Penalties on the weights of a suffix trie, where each word's grams are a tree of their own."""

from __future__ import annotations

from typing import Final

import numpy as np

from spinney.errors import OptionError
from spinney.lm.model import Vector
from spinney.lm.suffixtrie import SuffixTrie
from spinney.optim import Penalty, PenaltySpec, Structure, Tree, check_penalty, penalty

#: Penalties under which the grams of a collapsed node keep one value (Nelakanti 2014, Prop. 1, and its table 3.3).
COLLAPSIBLE: Final = ("l2", "l1", "tree-linf", "none")
_WHAT = "a log-linear language model"


def trie_spec(name: str | PenaltySpec, lam: float) -> PenaltySpec:
    """The description of a penalty that the grams of a trie can have, with w ≥ 0.

    Examples
    --------
    >>> trie_spec("tree-l2", 0.7).to_json()
    {'name': 'tree-l2', 'lam': 0.7, 'nonnegative': True}
    """
    spec = check_penalty(PenaltySpec.of(name, lam), ("tree",), _WHAT)
    return PenaltySpec(spec.name, spec.lam, spec.l1, spec.l2, spec.more, nonnegative=True)


def trie_penalty(spec: PenaltySpec, trie: SuffixTrie, group_weight: Vector) -> Penalty:
    """The penalty over the grams of a trie.

    ``group_weight`` is a factor for the group of each gram (for plain penalties: for the gram). A collapsed node counts
    as often as it has contexts.
    """
    copies = trie.length[trie.context].astype(np.float64)
    shared = trie.collapsed and bool(np.any(copies != 1))
    if shared and spec.name not in COLLAPSIBLE:
        raise OptionError(
            f"{spec.name} needs the whole trie: its prox does not keep collapsed nodes constant"
        )
    weights = copies * group_weight
    weighed = spec.name in ("l1", "l2", "elasticnet") and bool(np.any(weights != 1))
    if spec.name not in ("none", "l1", "l2", "elasticnet", "tree-l2", "tree-linf") and np.any(
        group_weight != 1
    ):
        raise OptionError(f"the penalty {spec.name} has no group weights: group_factor must be 1")
    tree = Tree(trie.up, None, group_weight, copies if shared else None)
    return penalty(spec, Structure(_WHAT, tree=lambda: tree, weights=weights if weighed else None))
