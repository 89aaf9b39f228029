"""The negative log-likelihood of labelled dependency trees, and its gradient.

    p(tree, relations | x) = exp Σ_{(h,m,l)} [ w·f(h, m) + w·g(h, m, l) + w·s(h, previous sibling, m) ] / Z(x)

The sum runs over the arcs of a tree with one root; Z over all projective trees among the candidate arcs (with siblings
or without) or over all trees (without: the matrix-tree theorem). Relations of arcs are independent given the tree, so
an arc's potential is the sum over its relations.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.inference.arcs import projective_marginals, sibling_parts
from spinney.inference.spanning import matrix_tree_marginals
from spinney.optim.base import Vector
from spinney.parallel import default_threads, map_reduce
from spinney.parsing.treecrf.candidates import Candidates
from spinney.parsing.treecrf.numbering import Features

SHARDS = 16  # of the sentences; their number does not depend on that of threads, so that sums are the same
Floats = NDArray[np.float64]


class Relations(NamedTuple):
    """Which relations each feature of arcs has weights for: those of feature f are ``label[row[f]:row[f + 1]]``."""

    row: NDArray[np.int64]
    label: NDArray[np.int32]
    n: int  # relations in all


class Sizes(NamedTuple):
    """How many weights there are of each sort; they stand in this order in the weight vector."""

    arcs: int
    relations: int
    siblings: int

    @property
    def total(self) -> int:
        """The length of the weight vector."""
        return self.arcs + self.relations + self.siblings


@dataclass(frozen=True)
class Choices:
    """What the trees of some sentences are made of.

    Attributes
    ----------
    arcs : Candidates
    sib_ptr, sib : arrays
        Pairs of siblings: see :mod:`spinney.inference.arcs`. Empty in a model without them.
    """

    arcs: Candidates
    sib_ptr: NDArray[np.int64]
    sib: NDArray[np.int32]

    @classmethod
    def of(cls, arcs: Candidates, second_order: bool) -> Choices:
        """Candidate arcs, and all pairs of siblings among them or none."""
        if second_order:
            return cls(arcs, *sibling_parts(*arcs))
        return cls(arcs, np.zeros(1, np.int64), np.empty(0, np.int32))

    @property
    def second_order(self) -> bool:
        """Whether pairs of siblings are scored."""
        return len(self.sib_ptr) > 1


@dataclass(frozen=True)
class Scored(Choices):
    """The same with the features of arcs and pairs: all that scores depend on but the weights.

    Attributes
    ----------
    of_arcs, of_relations : Features
        The features of each arc.
    of_siblings : Features
    """

    of_arcs: Features
    of_relations: Features
    of_siblings: Features


class Potentials(NamedTuple):
    """The scores of sentences: of arcs, of relations given arcs [arcs, relations], and of siblings."""

    arcs: Floats
    given: Floats
    siblings: Floats

    def pooled(self, other: Floats, share: float) -> Potentials:
        """The geometric mean of this model of trees and another, of arcs alone, which has this share in it."""
        own = 1.0 - share
        return Potentials(own * self.arcs + share * other, self.given, own * self.siblings)


@dataclass(frozen=True)
class TreeWeights:
    """Weights, and how features find theirs."""

    w: Vector
    sizes: Sizes
    relations: Relations

    def logits(self, data: Scored) -> Potentials:
        """The scores of arcs and siblings, and those of relations (``given``) before they are summed over."""
        from spinney.parsing.treecrf._loss_kernels import relation_scores, sum_weights

        n = len(data.arcs.head)
        arcs, siblings, given = np.empty(n), np.empty(len(data.sib)), np.empty((n, self.relations.n))
        sum_weights(0, n, *data.of_arcs, self.w, 0, arcs)
        row, label, _ = self.relations
        relation_scores(0, n, *data.of_relations, row, label, self.w, self.sizes.arcs, given)
        if data.second_order:
            first = self.sizes.arcs + self.sizes.relations
            sum_weights(0, len(siblings), *data.of_siblings, self.w, first, siblings)
        return Potentials(arcs, given, siblings)

    def potentials(self, data: Scored) -> Potentials:
        """The same with relations summed over: ``given`` is p(relation | arc), and arcs have its normaliser."""
        return summed(self.logits(data))


def summed(scores: Potentials) -> Potentials:
    """Sum over relations, in place: their scores become p(relation | arc), and the normaliser is added to the arc's."""
    from spinney.parsing.treecrf._loss_kernels import sum_relations

    sum_relations(scores.arcs, scores.given)
    return scores


def _arcs_of(data: Scored, start: int, stop: int) -> tuple[int, int]:
    words, ptr = data.arcs.words, data.arcs.ptr
    return int(ptr[words[start]]), int(ptr[words[stop]])


class Gold(NamedTuple):
    """The trees of a treebank: the arc of each word, its relation, and the pair of siblings that it belongs to."""

    arc: NDArray[np.int64]
    relation: NDArray[np.int32]  # for each arc, -1 if it is not in the tree
    sibling: NDArray[np.int64]


class TreeLoss:
    """Σ over sentences of −log p(tree, relations).

    Parameters
    ----------
    data, gold
        The sentences, and their trees.
    sizes, relations
        The weights.
    projective
        Whether Z is over projective trees (else over all trees, without siblings).
    threads
        By default one for each processor.
    """

    n_free = 0
    convex = True

    def __init__(
        self,
        data: Scored,
        gold: Gold,
        sizes: Sizes,
        relations: Relations,
        *,
        projective: bool = True,
        threads: int | None = None,
    ) -> None:
        self.data, self.gold, self.sizes, self.relations = data, gold, sizes, relations
        self.projective = projective
        self.threads = default_threads() if threads is None else threads
        self.n = len(data.arcs.words) - 1

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.sizes.total

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient."""
        # Shards of about as many words, which do not depend on threads.
        words = self.data.arcs.words
        cuts = np.unique(np.searchsorted(words, np.linspace(0, words[-1], SHARDS + 1).astype(np.int64)))
        shards = [(int(a), int(b)) for a, b in pairwise(cuts)]
        untouched = np.empty(0, np.int64)

        def one(shard: tuple[int, int]) -> list[object]:
            g = np.zeros(self.n_params)
            return [self.add(w, *shard, g, untouched)[0], g]

        value, grad = map_reduce(one, shards, threads=self.threads, reduce=_added)
        return float(value), grad  # type: ignore[arg-type, return-value]

    def add(
        self, w: Vector, start: int, stop: int, g: Vector, touched: NDArray[np.int64]
    ) -> tuple[float, int]:
        """Add the gradient of the sentences ``start`` to ``stop`` to ``g``; their loss, and how many of
        ``touched`` were filled with the places of weights whose gradient was 0."""
        from spinney.parsing.treecrf._loss_kernels import add_gradient, add_relation_gradient

        data = self.data
        part = part_of(data, start, stop)
        own, relation, pairs = self.gold_of(start, stop)
        scores = TreeWeights(w, self.sizes, self.relations).potentials(part)
        log_z, arc_p, sib_p = marginals(part, scores, self.projective)
        n_arcs, at = len(relation), relation[own]
        with np.errstate(divide="ignore"):
            value = float(log_z.sum() - scores.arcs[own].sum() - np.log(scores.given[own, at]).sum())
        n_touched = np.zeros(1, np.int64)
        offset = self.sizes.arcs
        add_relation_gradient(
            0, n_arcs, *part.of_relations, self.relations.row, self.relations.label, offset, arc_p, scores.given,
            relation, g, touched, n_touched,
        )  # fmt: skip
        arc_p[own] -= 1.0
        add_gradient(0, n_arcs, *part.of_arcs, 0, arc_p, g, touched, n_touched)
        if data.second_order:
            value -= float(scores.siblings[pairs].sum())
            sib_p[pairs] -= 1.0
            offset += self.sizes.relations
            add_gradient(0, len(part.sib), *part.of_siblings, offset, sib_p, g, touched, n_touched)
        return value, int(n_touched[0])

    def gold_of(
        self, start: int, stop: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """The gold arcs, relations and pairs of some sentences by themselves."""
        data, gold = self.data, self.gold
        low, high = _arcs_of(data, start, stop)
        first, last = int(data.arcs.words[start]), int(data.arcs.words[stop])
        pairs = gold.sibling[first:last] - int(data.sib_ptr[low]) if data.second_order else gold.sibling
        return gold.arc[first:last] - low, gold.relation[low:high], pairs


def _added(a: list[object], b: list[object]) -> list[object]:
    a[0] += b[0]  # type: ignore[operator]
    a[1] += b[1]  # type: ignore[operator]
    return a


def part_of(data: Scored, start: int, stop: int) -> Scored:
    """Some of the sentences by themselves; features are shared, not copied."""
    low, high = _arcs_of(data, start, stop)
    words, ptr, head = data.arcs
    first, last = int(words[start]), int(words[stop])
    arcs = Candidates(words[start : stop + 1] - first, ptr[first : last + 1] - low, head[low:high])
    of_arcs = Features(data.of_arcs.ptr[low : high + 1], data.of_arcs.ids)
    of_relations = Features(data.of_relations.ptr[low : high + 1], data.of_relations.ids)
    if not data.second_order:
        return Scored(arcs, data.sib_ptr, data.sib, of_arcs, of_relations, data.of_siblings)
    a, b = int(data.sib_ptr[low]), int(data.sib_ptr[high])
    sib = data.sib[a:b]
    return Scored(
        arcs,
        data.sib_ptr[low : high + 1] - a,
        np.where(sib >= 0, sib - np.int32(low), np.int32(-1)),
        of_arcs,
        of_relations,
        Features(data.of_siblings.ptr[a : b + 1], data.of_siblings.ids),
    )


def marginals(data: Choices, scores: Potentials, projective: bool) -> tuple[Floats, Floats, Floats]:
    """log Z of each sentence, the probability of each arc, and that of each pair of siblings (empty without)."""
    words, ptr, head = data.arcs
    if not projective:
        log_z, arcs = matrix_tree_marginals(words, ptr, head, scores.arcs)
        return log_z, arcs, np.empty(0)
    if not data.second_order:
        log_z, arcs, _ = projective_marginals(words, ptr, head, scores.arcs)
        return log_z, arcs, np.empty(0)
    log_z, arcs, pairs = projective_marginals(
        words, ptr, head, scores.arcs, data.sib_ptr, data.sib, scores.siblings
    )
    assert pairs is not None
    return log_z, arcs, pairs
