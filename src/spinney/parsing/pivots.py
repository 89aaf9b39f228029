"""Grammars from pivots: features that identify a state (Cohen and Collins 2014).

If each state of a label has a feature of the inside that no other state has, its *pivot*, then what is seen outside a
node with feature f follows a mixture of the laws of the pivots, ``P(g | f) = Σ_h P(h | f) P(g | pivot_h)``. The shares
P(h | f) come from a projection on a simplex. They give probabilities of what is seen inside and outside given each
state; with these, finding the probabilities of rules is a concave problem. The result is a proper grammar, from
which EM reaches a good one in few iterations.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.memory import check_memory
from spinney.parallel import default_threads, in_order, one_blas_thread
from spinney.parsing.em import Sample, Smoothing, add_rows
from spinney.parsing.features import FeatureSet, NodeFeatures, node_features
from spinney.parsing.grammar import Floats, Grammar, Layout, RuleCounts, Rules, Uses, check_states
from spinney.parsing.treearrays import TreeArrays

#: One feature per node and view: the rule or word below, the rule above with the place in it.
SINGLE = FeatureSet(("rule",), ("above",))

_SHARDS = 16  # pieces of work for the threads
_DESCENTS = 200  # steps on the simplex
_LAWS = 20  # EM steps for the distributions of outside features


class FeatureLaws(NamedTuple):
    """Distributions of features, given the states.

    Attributes
    ----------
    n_states : int32 array [labels]
    prior : float array [labels, most states]
        P(h | label).
    inside, outside : float arrays [nodes, most states]
        The probabilities of the inside and the outside feature of each node if its state is h.
    """

    n_states: NDArray[np.int32]
    prior: Floats
    inside: Floats
    outside: Floats


def fit_pivots(
    trees: TreeArrays,
    rules: Rules,
    states: int | NDArray[np.integer] = 16,
    *,
    least: int = 30,
    iterations: int = 5,
    smoothing: Smoothing = Smoothing(),  # noqa: B008
    uses: Uses | None = None,
    random_state: int = 0,
    threads: int | None = None,
) -> Grammar:
    """A grammar whose states have pivots.

    Parameters
    ----------
    trees, rules
        The trees, and the rules that the grammar has.
    states
        The maximum number of states per label, for all labels or for each.
    least
        The minimum count of a pivot: the distributions of rarer features are too noisy.
    iterations
        EM steps for the rules.
    smoothing
        How counts become probabilities.
    uses
        The rules at the nodes, if they are known already.
    random_state
        Seed of the projection in which pivots are searched.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> texts = ["(S (N dogs) (V bark))"] * 30 + ["(S (V stop) (N cats))"] * 30
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> grammar = fit_pivots(trees, Rules.of(trees, rare=0), 2, smoothing=Smoothing(rules=0))
    >>> [sorted(grammar.tensor(r).ravel().round(2).tolist()) for r in range(2)]
    [[0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.5]]
    """
    if least < 1 or iterations < 1:
        raise OptionError(f"least and iterations must be at least 1, not {least} and {iterations}")
    sample = Sample.of(trees, rules) if uses is None else Sample(trees, uses, rules)
    laws = laws_of_pivots(node_features(trees, SINGLE), states, least, random_state, threads)
    return smoothing.grammar(_counts(sample, laws, iterations, threads or default_threads()))


def laws_of_pivots(
    features: NodeFeatures,
    states: int | NDArray[np.integer],
    least: int = 30,
    random_state: int = 0,
    threads: int | None = None,
) -> FeatureLaws:
    """The laws of inside and outside features given the states, label by label.

    ``features`` must have one feature per node and view (:data:`SINGLE`).
    """
    n_labels, n = len(features.start) - 1, len(features.node)
    wanted = np.broadcast_to(np.asarray(states, np.int64), n_labels)
    if n_labels and wanted.min() < 1:
        raise OptionError(f"a label must have at least one state, not {int(wanted.min())}")
    sizes = np.diff(features.start)
    wanted = np.minimum(wanted, np.maximum(sizes, 1))  # every state has a pivot, which some node shows
    most = int(wanted.max(initial=1))
    check_memory(
        16.0 * n * most, "{states} {most} with {nodes} nodes", "ask for fewer {states}", most=most, nodes=n
    )
    laws = FeatureLaws(
        np.ones(n_labels, np.int32), np.zeros((n_labels, most)), np.zeros((n, most)), np.zeros((n, most))
    )

    def one(label: int) -> None:
        phi, psi = features.matrices(label)
        Q = (phi.T @ psi).tocsr()
        shares = _shares(Q, int(wanted[label]), least, np.random.default_rng(random_state))
        m = shares.shape[1]
        inside = shares * np.asarray(Q.sum(axis=1))[:, None]  # counts of (f, h)
        outside = _outside(Q, inside)
        nodes = features.node[features.start[label] : features.start[label + 1]]
        laws.n_states[label] = m
        laws.prior[label, :m] = inside.sum(axis=0) / inside.sum()
        laws.inside[nodes, :m] = (inside / inside.sum(axis=0))[phi.indices]
        laws.outside[nodes, :m] = outside[psi.indices]

    labels = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    with one_blas_thread():
        list(in_order(one, labels.tolist(), threads or default_threads()))
    return laws


def _shares(Q: Any, m: int, least: int, rng: np.random.Generator) -> Floats:
    """P(h | f) for all inside features f, from counts Q of (f, g) [d, d']; as many states as there are pivots."""
    rows, columns = np.asarray(Q.sum(axis=1)), np.asarray(Q.sum(axis=0))
    law = Q.astype(np.float64)
    # Differences in what is rare anyway count for more, as in a χ² statistic.
    law.data /= np.repeat(rows, np.diff(Q.indptr)) * np.sqrt(columns / columns.sum())[Q.indices]
    frequent = np.flatnonzero(rows >= least)
    if m == 1 or len(frequent) < 2:
        return np.ones((len(rows), 1))
    short = law @ rng.standard_normal((law.shape[1], 100)) if law.shape[1] > 100 else law.toarray()
    pivots = frequent[farthest(short[frequent], m)]
    corners = law[pivots]
    return on_simplex((corners @ corners.T).toarray(), (law @ corners.T).toarray())


def farthest(points: Floats, m: int) -> NDArray[np.int64]:
    """At most m points: the longest, then always the farthest from the span of the others (Arora et al. 2013).

    Examples
    --------
    >>> farthest(np.array([[0.0, 0.0], [0.4, 0.4], [2.0, 0.0], [0.0, 1.0]]), 3).tolist()
    [2, 3, 0]
    """
    chosen = [int(np.argmax(np.square(points).sum(axis=1)))]
    rest = points - points[chosen[0]]
    size = np.square(rest).sum(axis=1).max()
    while len(chosen) < m:
        length = np.square(rest).sum(axis=1)
        best = int(np.argmax(length))
        if length[best] <= 1e-12 * size:
            break
        chosen.append(best)
        direction = rest[best] / np.sqrt(length[best])
        rest = rest - np.outer(rest @ direction, direction)
    return np.array(chosen, np.int64)


def on_simplex(gram: Floats, products: Floats) -> Floats:
    """Weights that make each point a convex combination of corners, by least squares.

    Parameters
    ----------
    gram : array [m, m]
        Products of the corners with each other.
    products : array [n, m]
        Products of the points with the corners.

    Returns
    -------
    weights : array [n, m]
        Positive, with sum one. By exponentiated gradients, accelerated (Tseng 2008): squared distances are then at most
        ``8 max|gram| log(m) / (steps + 1)²`` above the least.

    Examples
    --------
    >>> corners = np.eye(2)
    >>> on_simplex(corners @ corners.T, np.array([[0.25, 0.75], [1.0, 1.0]]) @ corners.T).round(3)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    smooth = np.abs(gram).max()  # how fast a gradient changes, in the norm that belongs to a simplex
    weights: Floats = np.full(products.shape, 1.0 / len(gram))
    corner = weights  # where the accelerated steps lead: weights are means of these
    for k in range(_DESCENTS):
        share = 2.0 / (k + 2)
        gradient = ((1 - share) * weights + share * corner) @ gram - products
        gradient = gradient - gradient.min(axis=1, keepdims=True)
        corner = corner * np.exp(-gradient / (share * smooth))
        corner = corner / corner.sum(axis=1, keepdims=True)
        weights = (1 - share) * weights + share * corner
    return weights


def _outside(Q: Any, inside: Floats) -> Floats:
    """P(g | h) [d', m], the most likely one given how often each f stands with each h: a concave problem, by EM."""
    f = np.repeat(np.arange(Q.shape[0]), np.diff(Q.indptr))
    of_f = (inside / inside.sum(axis=0))[f]
    joint = np.asarray(Q.T @ (inside / inside.sum(axis=1, keepdims=True)))  # of (g, h)
    for _ in range(_LAWS if inside.shape[1] > 1 else 0):
        posterior = of_f * joint[Q.indices]
        posterior *= (Q.data / np.maximum(posterior.sum(axis=1), 1e-300))[:, None]
        joint = _sums(posterior, Q.indices, Q.shape[1])
    return np.asarray(joint / np.maximum(joint.sum(axis=0), 1e-300))


def _sums(rows: Floats, group: NDArray[np.integer], n: int) -> Floats:
    """The sum of the rows of each group."""
    from scipy.sparse import csr_array

    places = np.arange(len(group))
    return np.asarray(csr_array((np.ones(len(group)), (group, places)), (n, len(group))) @ rows)


def _counts(sample: Sample, laws: FeatureLaws, iterations: int, threads: int) -> RuleCounts:
    """Expected counts of rules with states: EM for binary and unary rules, posteriors of nodes for words and roots."""
    from spinney.parsing._pivots_kernels import binary_step, unary_step

    trees, rules = sample.trees, sample.rules
    layout = Layout(rules, laws.n_states)
    check_states(layout)
    counts = RuleCounts.zeros(layout)
    posterior = laws.inside * laws.outside * laws.prior[trees.label]
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    for nodes, start, numbers, at in (
        (trees.leaves, layout.entry_start, counts.lexical, sample.uses.rule),
        (trees.leaves, layout.entry_start, counts.lexical, sample.uses.rare),
        (trees.roots, layout.state_start, counts.root, trees.label),
    ):
        add_rows(numbers, start, laws.n_states[trees.label[nodes]], at[nodes], posterior[nodes])

    prior = [laws.prior[a, :m] for a, m in enumerate(laws.n_states.tolist())]
    for r, (a, b, c) in enumerate(rules.binary.tolist()):
        counts.tensor(r)[:] = prior[a][:, None, None] * prior[b][:, None] * prior[c]
    for r, (a, b) in enumerate(rules.unary.tolist()):
        counts.matrix(r)[:] = prior[a][:, None] * prior[b]
    nodes, start = sample.binary
    sites = start, nodes, trees.label, trees.left, trees.right
    views = laws.n_states, laws.inside, laws.outside

    def shard(limits: tuple[int, int]) -> None:
        binary_step(*limits, *sites, *views, layout.binary_start, counts.binary)

    work = np.concatenate([[0], np.cumsum(np.diff(layout.binary_start) * (1 + np.diff(start)))])
    edges = np.searchsorted(work, np.linspace(0, work[-1], _SHARDS + 1)).tolist()
    edges[0], edges[-1] = 0, len(rules.binary)
    nodes, start = sample.unary
    shard((0, 0))  # compiles, and does nothing else
    for _ in range(iterations):
        list(in_order(shard, list(pairwise(edges)), threads))
        unary_step(start, nodes, trees.label, trees.left, *views, layout.unary_start, counts.unary)
    return counts
