"""Latent states as clusters of node vectors: a grammar with proper probabilities, without EM iterations.

Nodes of a label with similar insides and outsides get the same state (Narayan and Cohen 2015); then all states are
known, and probabilities are relative frequencies.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.errors import unknown_choice
from spinney.parallel import default_threads, in_order, one_blas_thread
from spinney.parsing.em import Sample
from spinney.parsing.features import FeatureSet, node_features
from spinney.parsing.grammar import Floats, Grammar, RuleCounts, Rules, Uses
from spinney.parsing.headrules import COLLINS, HeadRules
from spinney.parsing.moments import Backoff, grammar_of_moments
from spinney.parsing.projection import Projection, project
from spinney.parsing.treearrays import TreeArrays

View = Literal["both", "inside", "outside"]

_ROUNDS = 30  # of Lloyd's algorithm


#: Frequencies of states are counts, and need less smoothing than signed moments.
CLUSTERS = Backoff(rules=3.0, words=1.0)


class ClusterFit(NamedTuple):
    """What :func:`fit_clusters` found.

    Attributes
    ----------
    grammar : Grammar
    state : int32 array [nodes]
        The state of each node, numbered within its label.
    """

    grammar: Grammar
    state: NDArray[np.int32]


def fit_clusters(
    trees: TreeArrays,
    rules: Rules,
    states: int | NDArray[np.integer] = 16,
    *,
    features: FeatureSet | str = "full",
    heads: HeadRules = COLLINS,
    dimensions: int = 16,
    view: View = "both",
    kappa: float | None = 5.0,
    backoff: Backoff = CLUSTERS,
    uses: Uses | None = None,
    random_state: int = 0,
    threads: int | None = None,
) -> ClusterFit:
    """A grammar whose states are clusters of nodes.

    Parameters
    ----------
    trees, rules, features, heads, kappa
        As for :func:`~spinney.parsing.spectral.fit_spectral`.
    states
        The maximum number of clusters per label, for all labels or for each.
    dimensions
        The length of the vectors that are clustered.
    view
        Which vectors of a node: of its inside, its outside, or both side by side.
    backoff
        How frequencies of rules with states are smoothed by those of parts of them.
    uses
        The rules at the nodes, if already known.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> texts = ["(S (N dogs) (V bark))"] * 4 + ["(S (V stop) (N dogs))"] * 4
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> fit = fit_clusters(trees, Rules.of(trees, rare=0), 2)
    >>> verbs = fit.state[trees.label == trees.labels.index("V")]
    >>> verbs[0] == verbs[3], verbs[4] == verbs[7], verbs[0] == verbs[4]
    (np.True_, np.True_, np.False_)
    """
    found = project(
        node_features(trees, features, heads),
        dimensions,
        kappa=kappa,
        random_state=random_state,
        threads=threads,
    )
    state, n_states = cluster_nodes(
        trees, found, states, view=view, random_state=random_state, threads=threads
    )
    sample = Sample.of(trees, rules) if uses is None else Sample(trees, uses, rules)
    return ClusterFit(grammar_of_states(sample, state, n_states, backoff), state)


def cluster_nodes(
    trees: TreeArrays,
    projection: Projection,
    states: int | NDArray[np.integer],
    *,
    view: View = "both",
    random_state: int = 0,
    threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Clusters of the nodes of each label, by k-means.

    Returns
    -------
    state, n_states
        The cluster of each node, numbered within its label; the number of clusters per label.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import ThreadpoolController

    if view not in get_args(View):
        raise unknown_choice("view must be one of", view, get_args(View))
    order = np.argsort(trees.label, kind="stable")
    start = np.searchsorted(trees.label[order], np.arange(len(trees.labels) + 1))
    wanted = np.broadcast_to(np.asarray(states, np.int64), len(trees.labels))
    state = np.zeros(len(trees.label), np.int32)
    n_states = np.ones(len(trees.labels), np.int32)

    def one(label: int) -> None:
        nodes = order[start[label] : start[label + 1]]
        points, place = np.unique(_points(projection, label, nodes, view), axis=0, return_inverse=True)
        k = min(int(wanted[label]), len(points))
        if k < 2:
            return
        means = KMeans(k, n_init=1, max_iter=_ROUNDS, random_state=random_state)
        with pools.limit(limits=1, user_api="openmp"):  # each thread would start as many as there are cores
            means.fit(points, sample_weight=np.bincount(place))
        # A cluster may have lost all its points: the others are renumbered.
        used, cluster = np.unique(means.labels_, return_inverse=True)
        state[nodes], n_states[label] = cluster[place], len(used)

    pools = ThreadpoolController()
    sizes = np.diff(start)
    labels = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    with one_blas_thread():
        list(in_order(one, labels.tolist(), threads or default_threads()))
    return state, n_states


def _points(projection: Projection, label: int, nodes: NDArray[np.int64], view: View) -> Floats:
    """The points to cluster. Directions are weighted by the correlation of inside and outside along them."""
    m = projection.n_states[label]
    s = projection.singular_values[label, :m]
    parts = []
    if view != "outside":
        parts.append(projection.inside[nodes, :m])
    if view != "inside":
        parts.append(projection.outside[nodes, :m] * s)
    parts = [part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-300) for part in parts]
    return np.hstack(parts).round(9)


def grammar_of_states(
    sample: Sample,
    state: NDArray[np.integer],
    n_states: NDArray[np.int32],
    backoff: Backoff = CLUSTERS,
) -> Grammar:
    """Smoothed relative frequencies for known states of all nodes.

    They are moments too: with the indicators of the states for inside vectors Y and those divided by the frequencies of
    the states in their labels for outside vectors Z, the moments of a rule are its relative frequencies with each
    states, and what smooths moments smooths them.
    """
    trees, n = sample.trees, len(sample.trees.label)
    inside = np.zeros((n, int(n_states.max(initial=1))))
    inside[np.arange(n), state] = 1.0
    key = trees.label.astype(np.int64) * inside.shape[1] + state
    share = np.bincount(key)[key] / np.bincount(trees.label)[trees.label]
    found = Projection(n_states, inside, inside / share[:, None], np.ones((len(n_states), inside.shape[1])))
    return normalised(grammar_of_moments(sample, found, backoff))


def normalised(grammar: Grammar) -> Grammar:
    """The law of each state divided by its sum, which smoothing rule by rule leaves near 1."""
    from spinney.parsing._grammar_kernels import scale_rows

    layout, rules = grammar.layout, grammar.rules
    mass = RuleCounts(layout, grammar.root, grammar.binary, grammar.unary, grammar.lexical).mass()
    factor = 1.0 / np.where(mass == 0, 1.0, mass)
    for numbers, start, label in (
        (grammar.binary, layout.binary_start, rules.binary[:, 0].copy()),
        (grammar.unary, layout.unary_start, rules.unary[:, 0].copy()),
        (grammar.lexical, layout.entry_start, rules.lexicon.tag),
    ):
        scale_rows(numbers, start, label, layout.state_start, factor, 0.0, numbers)
    return Grammar(layout, grammar.root, grammar.binary, grammar.unary, grammar.lexical)
