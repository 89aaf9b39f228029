"""Hidden classes at the nodes of trees: sum-product, exact and with sparse messages, and max-product.

A model gives every token a class. The class of a node depends on that of its father (:class:`Laws`), the word on the
class of its own node. Chains are trees; so one recursion serves hidden Markov models and dependency trees
(Grave 2014, ch. 2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.inference.forests import SentenceTrees, TokenForest

Floats = NDArray[Any]

#: Up to so many classes, all levels are one call of a kernel: between two calls, threads wait for one another. With
#: more, the time goes into products, and NumPy's are faster than those of compiled code, which are SciPy's.
FEW_CLASSES = 128


class Laws(NamedTuple):
    """The parameters of a model, all arrays of one type (``float32`` or ``float64``).

    Attributes
    ----------
    counts : array [V, C]
    scale : array [C]
    floor : float
        Class i emits word w with probability ``counts[w, i] * scale[i] + floor``.
    transition : array [K, C, C]
        ``transition[kind, i, j]``: class i at a node whose father has class j, over an edge of that kind.
    root : array [C]
        The class of a node without a father.
    """

    counts: Floats
    scale: Floats
    floor: float
    transition: Floats
    root: Floats

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.counts.shape[1])


class Beliefs(NamedTuple):
    """What the words of some trees say about their classes.

    Attributes
    ----------
    nodes : array [n, C]
        ``P(C_k = i | words)``, in the order of the nodes.
    edges : array [K, C, C]
        The expected number of edges of each kind with class i at the child and j at the father.
    roots : array [C]
        The expected number of roots of each class.
    classes : array [C]
        The expected number of nodes of each class: the sum of ``nodes``.
    log_likelihood : float
        Of the words; a lower bound of it where messages were projected.
    support : (float, int)
        How many entries of messages were kept, in all, and of how many messages.
    """

    nodes: Floats
    edges: Floats
    roots: Floats
    classes: Floats
    log_likelihood: float
    support: tuple[float, int]


class Messages(NamedTuple):
    """What sum-product passes on, arrays [n, C] of nodes and classes (Grave 2014, §2.2)."""

    up: Floats  # u: what the words below say
    message: Floats  # μ = Tᵀu, to the father
    emission: Floats  # O: what the own word says
    down: Floats  # what all other words say
    context: Floats  # v: what they say of the father


def sum_product(forest: TokenForest, words: NDArray[np.int32], laws: Laws) -> Beliefs:
    """Exact posteriors: a level of all trees is one matrix product (Grave 2014, §2.2).

    Parameters
    ----------
    forest
        The trees.
    words : array [n]
        The word of each *node*: ``ids[forest.tokens]``.
    laws
        The model.

    Examples
    --------
    Two classes that say 0 and 1 and like to alternate:

    >>> laws = Laws(np.array([[0.9, 0.2], [0.1, 0.8]]), np.ones(2), 0.0, np.array([[[0.1, 0.9], [0.9, 0.1]]]),
    ...             np.array([0.5, 0.5]))
    >>> beliefs = sum_product(TokenForest.from_heads([0, 3]), np.array([0, 1, 0], np.int32), laws)
    >>> beliefs.nodes[:, 0].round(3), round(float(np.exp(beliefs.log_likelihood)), 4)
    (array([0.968, 0.013, 0.968]), 0.2792)
    """
    from spinney.inference._forest_kernels import beliefs

    n, C = len(forest), laws.n_classes
    T, dtype = np.ascontiguousarray(laws.transition), laws.counts.dtype
    messages = Messages(*(np.empty((n, C), dtype) for _ in range(5)))
    up, message, _, down, context = messages
    lift, lower = (_lifted_at_once, _lowered_at_once) if C <= FEW_CLASSES else (_lifted, _lowered)
    log_likelihood = lift(forest, words, laws._replace(transition=T), messages)
    down[: forest.n_roots] = laws.root
    log_likelihood += float(np.log((up[: forest.n_roots] @ laws.root).astype(np.float64)).sum())
    lower(forest, T, messages)
    nodes = message  # no longer needed
    beliefs(up, down, nodes)
    edges = np.zeros(T.shape, dtype)
    for kind, members in _by_kind(forest, len(T)):
        np.multiply(up[members].T @ context[members], T[kind], out=edges[kind])
    roots = nodes[: forest.n_roots].sum(axis=0, dtype=np.float64)
    kept = n - forest.n_roots
    return Beliefs(nodes, edges, roots, _sums(nodes), float(log_likelihood), (2.0 * kept * C, 2 * kept))


def _lifted_at_once(forest: TokenForest, words: NDArray[np.int32], laws: Laws, of: Messages) -> float:
    """From the leaves to the roots: u and the messages; returns the logarithm of all scales."""
    from spinney.inference._forest_kernels import lift_all

    return float(
        lift_all(
            forest.levels, words, laws.counts, laws.scale, laws.counts.dtype.type(laws.floor), forest.kinds,
            forest.child_ptr, forest.children, laws.transition, of.message, of.emission, of.up,
        )
    )  # fmt: skip


def _lowered_at_once(forest: TokenForest, T: Floats, of: Messages) -> None:
    """From the roots, whose ``down`` is known, to the leaves."""
    from spinney.inference._forest_kernels import lower_all

    transposed = np.ascontiguousarray(T.transpose(0, 2, 1))
    tree = forest.levels, forest.kinds, forest.child_ptr, forest.children
    lower_all(*tree, transposed, of.message, of.emission, of.down, of.context)


def _lifted(forest: TokenForest, words: NDArray[np.int32], laws: Laws, of: Messages) -> float:
    """The same, level by level, with NumPy's products."""
    from spinney.inference._forest_kernels import lift

    levels, log_scale = forest.levels.tolist(), 0.0
    floor = laws.counts.dtype.type(laws.floor)
    tree = forest.child_ptr, forest.children
    for d in range(len(levels) - 2, -1, -1):
        log_scale += lift(
            levels[d],
            levels[d + 1],
            words,
            laws.counts,
            laws.scale,
            floor,
            *tree,
            of.message,
            of.emission,
            of.up,
        )
        if d:
            for a, b, kind in forest.runs(d):
                np.matmul(of.up[a:b], laws.transition[kind], out=of.message[a:b])  # μ = Tᵀ u
    return log_scale


def _lowered(forest: TokenForest, T: Floats, of: Messages) -> None:
    """The same, level by level, with NumPy's products."""
    from spinney.inference._forest_kernels import lower

    levels, tree = forest.levels.tolist(), (forest.child_ptr, forest.children)
    for d in range(1, len(levels) - 1):
        lower(levels[d - 1], levels[d], *tree, of.message, of.emission, of.down, of.context)
        for a, b, kind in forest.runs(d):
            np.matmul(of.context[a:b], T[kind].T, out=of.down[a:b])  # down = T v


def _sums(nodes: Floats) -> Floats:
    from spinney.inference._forest_kernels import column_sums

    total = np.zeros(nodes.shape[1])
    column_sums(nodes, total)
    return total


def _by_kind(forest: TokenForest, n_kinds: int) -> list[tuple[int, Any]]:
    """The nodes with an edge of each kind: a slice where there is one kind only."""
    first = forest.n_roots
    if n_kinds == 1:
        return [(0, slice(first, None))]
    kinds = forest.kinds[first:]
    return [(kind, first + np.flatnonzero(kinds == kind)) for kind in np.unique(kinds).tolist()]


def sparse_sum_product(
    trees: SentenceTrees, words: NDArray[np.int32], laws: Laws, *, k: int = 0, epsilon: float = 0.0
) -> Beliefs:
    """Posteriors with sparse messages: the k largest entries, or (``k=0``) the largest with all but ε of the mass.

    Grave 2014, §2.2.2. With both, a message keeps the fewer: k bounds the cost, and ε saves what the message does not
    need. The cost is O(kC) per edge. With ``epsilon = 0`` and ``k = C`` or ``k = 0``, it is exact.

    Parameters
    ----------
    trees, words, laws
        As in :func:`sum_product`; ``words`` are those of the nodes, ``ids[trees.tokens]``.
    """
    from spinney.inference._forest_kernels import sparse_sum_product as run

    dtype = laws.counts.dtype
    nodes = np.empty((len(words), laws.n_classes), dtype)
    edges, roots, support = np.zeros(laws.transition.shape, dtype), np.zeros(laws.n_classes), np.zeros(2)
    T = np.ascontiguousarray(laws.transition)
    Tt = np.ascontiguousarray(T.transpose(0, 2, 1))
    log_likelihood = run(
        trees.offsets, words, trees.parents, trees.kinds, trees.child_ptr, trees.children,
        laws.counts, laws.scale, dtype.type(laws.floor), T, Tt, laws.root, k, epsilon, nodes, edges, roots, support,
    )  # fmt: skip
    kept = float(support[0]), int(support[1])
    return Beliefs(nodes, edges, roots, _sums(nodes), float(log_likelihood), kept)


def max_product(
    trees: SentenceTrees, words: NDArray[np.int32], laws: Laws
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The jointly most probable classes (Viterbi): of each *node*, with the log-probability of each sentence."""
    from spinney.inference._forest_kernels import most_probable

    classes = np.empty(len(words), np.int32)
    scores = np.empty(len(trees.offsets) - 1)
    most_probable(
        trees.offsets, words, trees.parents, trees.kinds, trees.child_ptr, trees.children,
        laws.counts, laws.scale, laws.counts.dtype.type(laws.floor), np.ascontiguousarray(laws.transition), laws.root,
        classes, scores,
    )  # fmt: skip
    return classes, scores
