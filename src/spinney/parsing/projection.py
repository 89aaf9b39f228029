"""Short vectors for the inside and the outside of each node, from their correlation.

For each label, with inside features φ and outside features ψ of its nodes: Ω = E[φ ψᵀ] ≈ U Σ Vᵀ, then ``Y = Uᵀ φ`` and
``Z = Σ⁻¹ Vᵀ ψ`` (Cohen, Stratos, Collins, Foster and Ungar 2013). So E[Z Yᵀ] = I over the nodes of a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError
from spinney.linalg import SVD, Method, truncated_svd
from spinney.memory import check_memory
from spinney.parallel import default_threads, in_order, one_blas_thread
from spinney.parsing.features import NodeFeatures

Floats = NDArray[np.float64]

_SMALL = 64  # a matrix with a side no longer than this is decomposed exactly
_PASSES = 6  # of randomised decompositions: the smallest of 16 values then have an error of about 1 %


@dataclass(frozen=True)
class Projection:
    """Vectors of nodes.

    Attributes
    ----------
    n_states : int32 array [labels]
        The length of the vectors of each label, at least 1.
    inside, outside : float arrays [nodes, most states]
        Y and Z of each node; zero beyond the entries of its label.
    singular_values : float array [labels, most states]
    """

    n_states: NDArray[np.int32]
    inside: Floats
    outside: Floats
    singular_values: Floats


def project(
    features: NodeFeatures,
    states: int | NDArray[np.integer],
    *,
    kappa: float | None = 5.0,
    cutoff: float = 1e-6,
    weight: Floats | None = None,
    random_state: int = 0,
    threads: int | None = None,
) -> Projection:
    """Vectors of the inside and the outside of every node.

    Parameters
    ----------
    features
        Features of the nodes.
    states
        The maximum length of a vector, for all labels or for each.
    kappa
        Each feature is scaled by ``1 / sqrt(count + kappa)``, its count among the nodes of its label: rare features
        then weigh as much as frequent ones, as in a canonical correlation analysis. None: no scaling.
    cutoff
        Singular values below this fraction of the largest are dropped.
    weight
        The count of each node; 1 by default.

    Examples
    --------
    >>> from spinney.corpus import Tree
    >>> from spinney.parsing.features import node_features
    >>> from spinney.parsing.treearrays import TreeArrays
    >>> texts = "(S (N dogs) (V bark))", "(S (N cats) (V sleep))", "(S (V stop) (N dogs))"
    >>> trees = TreeArrays.of([Tree.parse(text) for text in texts])
    >>> found = project(node_features(trees), 2)
    >>> nouns = trees.label == trees.labels.index("N")
    >>> np.abs(found.outside[nouns].T @ found.inside[nouns] / 3).round(6)
    array([[1., 0.],
           [0., 1.]])
    """
    n_labels, n_nodes = len(features.start) - 1, len(features.node)
    wanted = np.broadcast_to(np.asarray(states, np.int64), n_labels)
    if n_labels and wanted.min() < 1:
        raise OptionError(f"a label must have at least one state, not {int(wanted.min())}")
    if kappa is not None and kappa < 0:
        raise OptionError(f"kappa must be at least 0, not {kappa:g}")
    sizes = np.diff(features.start)
    wanted = np.minimum(
        wanted, np.maximum(sizes, 1)
    )  # a decomposition has no more directions than there are nodes
    most = int(wanted.max(initial=1))
    check_memory(
        16.0 * n_nodes * most,
        "{states} {most} with {nodes} nodes",
        "ask for fewer {states}",
        most=most,
        nodes=n_nodes,
    )
    found = Projection(
        np.ones(n_labels, np.int32),
        np.zeros((n_nodes, most)),
        np.zeros((n_nodes, most)),
        np.zeros((n_labels, most)),
    )

    def one(label: int) -> None:
        nodes = features.node[features.start[label] : features.start[label + 1]]
        phi, psi = (
            _scaled(X, kappa, None if weight is None else weight[nodes]) for X in features.matrices(label)
        )
        svd = _decomposed(
            phi, psi, None if weight is None else weight[nodes], int(wanted[label]), random_state
        )
        m = max(int(np.count_nonzero(svd.s > cutoff * svd.s[0])), 1)
        found.n_states[label] = m
        found.singular_values[label, :m] = svd.s[:m]
        found.inside[nodes, :m] = phi @ svd.U[:, :m]
        found.outside[nodes, :m] = (psi @ svd.V[:, :m]) / svd.s[:m]

    labels = np.argsort(-sizes, kind="stable")[
        : np.count_nonzero(sizes)
    ]  # large ones first, so that threads end together
    with one_blas_thread():
        list(in_order(one, labels.tolist(), threads or default_threads()))
    return found


def _scaled(X: Any, kappa: float | None, weight: Floats | None) -> Any:
    """Indicators times ``1 / sqrt(count + kappa)`` of their features."""
    if kappa is not None:
        of_entry = None if weight is None else np.repeat(weight, np.diff(X.indptr))
        count = np.bincount(X.indices, of_entry, X.shape[1])
        X.data = np.sqrt(1.0 / (count + kappa))[X.indices]
    return X


def _decomposed(phi: Any, psi: Any, weight: Floats | None, k: int, random_state: int) -> SVD:
    """The SVD of E[φ ψᵀ]."""
    M = len(phi.indptr) - 1 if weight is None else float(weight.sum())
    left = phi.copy()
    left.data = left.data / M if weight is None else left.data * np.repeat(weight / M, np.diff(phi.indptr))
    omega = (left.T @ psi).tocsr()
    method: Method = "exact" if min(omega.shape) <= _SMALL else "randomized"
    return truncated_svd(omega, k, method, power=_PASSES, random_state=random_state, threads=1)
