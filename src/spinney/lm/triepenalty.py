"""Penalties on the weights of a suffix trie, each word's grams a tree of their own."""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.lm.suffixtrie import SuffixTrie
from spinney.optim import L1, L2, NonNegative, NoPenalty, Penalty, TreeL2, TreeLinf

Vector = NDArray[np.float64]
PenaltyName = Literal["l2", "l1", "tree-l2", "tree-linf", "none"]
NAMES: Final = get_args(PenaltyName)

#: Penalties under which the grams of a collapsed node keep one value (Nelakanti 2014, Prop. 1, and its table 3.3).
COLLAPSIBLE: Final = ("l2", "l1", "tree-linf", "none")


class TriePenalty:
    """λΩ(w) + [w ≥ 0] on the grams of a trie, with a prox in the metric in which each word has its own step.

    Ω is a sum over the words' trees, so that a metric which is constant on each of them only rescales the groups: the
    prox of word v with a step t/D_v is the usual one with its groups weighted by 1/D_v. A collapsed node counts as
    often as it has contexts.

    Parameters
    ----------
    name
        ``"l2"`` (½‖w‖²), ``"l1"``, ``"tree-l2"`` (ℓT2), ``"tree-linf"`` (ℓT∞) or ``"none"``.
    lam
        λ, for a loss that is a sum over events.
    group_weight
        A factor for each gram's group (for the plain penalties: for the gram): that of its depth, usually.
    scale
        D_v of each gram's word.
    """

    def __init__(
        self, name: PenaltyName, lam: float, trie: SuffixTrie, group_weight: Vector, scale: Vector
    ) -> None:
        if name not in NAMES:
            raise unknown_choice("the penalty is one of", name, NAMES)
        if not lam >= 0:
            raise OptionError(f"λ must be at least 0, not {lam}")
        copies = trie.length[trie.context].astype(np.float64)
        if name not in COLLAPSIBLE and trie.collapsed:
            raise OptionError(f"{name} needs the whole trie: its prox does not keep collapsed nodes constant")
        self.name, self.lam = name, lam
        self._scale, self._copies = scale, copies
        self._ridge = lam * group_weight if name == "l2" else None
        self._of_copy = _penalty(name, lam, trie, group_weight, copies)
        self._in_metric = _penalty(name, lam, trie, group_weight / scale, copies)

    def value(self, w: Vector) -> float:
        """λΩ(w)."""
        if self._ridge is not None:
            return float(0.5 * ((self._copies * self._ridge) @ (w * w)))
        if self.name == "l1":
            return float(self._of_copy.value(self._copies * w))
        return self._of_copy.value(w)

    def prox(self, w: Vector, step: float) -> None:
        """The prox under w ≥ 0 with step/D_v, in place, of a vector that was clipped at 0 already."""
        if self._ridge is not None:
            w /= 1.0 + step * self._ridge / self._scale
        else:
            self._in_metric.prox(w, step)

    def residual(self, w: Vector, grad: Vector) -> Vector:
        """The smallest subgradient of the objective, with respect to one context of each gram."""
        of_copy = grad / self._copies
        of_copy[(w == 0) & (of_copy > 0)] = 0.0
        if self._ridge is not None:
            return of_copy + self._ridge * w
        return self._of_copy.residual(w, of_copy)

    def constrained(self) -> Penalty:
        """The same as a penalty of the optimisation core, for its solvers; not for collapsed tries."""
        if np.any(self._copies != 1):
            raise OptionError("the general solvers need the whole trie, not a collapsed one")
        if self._ridge is not None and np.any(self._ridge != self.lam):
            raise OptionError("l2 with weights of groups is only solved by 'words'")
        return NonNegative(L2(self.lam) if self.name == "l2" else self._of_copy)


def _penalty(name: str, lam: float, trie: SuffixTrie, weights: Vector, copies: Vector) -> Penalty:
    if name == "tree-l2":
        return TreeL2(lam, trie.up, weights=weights)
    if name == "tree-linf":
        return TreeLinf(lam, trie.up, weights=weights, multiplicity=copies)
    if name == "l1":
        return L1(lam, weights=weights)
    return NoPenalty()
