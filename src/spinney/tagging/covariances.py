"""The Hessian of a CRF's loss as a product of sparse matrices, for many weights.

It is the covariance matrix of the features under the model. Near the optimum most labels are as good as certain, so
that few *events* (a label at a token, or a pair of labels there) vary at all, and only those of neighbouring tokens
vary together. With the covariances C of these events, and the weights X that each event has, the Hessian is X'CX: it is
multiplied with a vector in a fraction of the time of a gradient, and never formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from spinney.optim.base import Vector
from spinney.parallel import in_order
from spinney.tagging.loss import CRFLoss, DenseEdges, Shard, pair_scores, unigram_scores
from spinney.tagging.newton import State, incidence, lowest_on_the_way, searched
from spinney.tagging.sequences import Observations

TINY, FADE = 1e-3, 1e-2  # what is left out: see chain_covariances
ROUGHLY = 0.03  # of the gradient, to which the Newton equations are solved
MOST = 200  # steps of conjugate gradients


class Covariances:
    """The Hessian of a CRF's loss at ``w``, on its support, but for what is tiny: X'CX and a diagonal.

    The smaller ``accuracy`` is, the less is left out; none is with 0.
    """

    def __init__(self, loss: CRFLoss, w: Vector, accuracy: float = 1.0) -> None:
        self.n, self.rest = loss.n_params, np.zeros(loss.n_params)
        self.parts: list[tuple[Any, Any]] = []
        with_shards = in_order(lambda shard: _of_shard(loss, shard, w, accuracy), loss.shards, loss.threads)
        for X, C, rest in with_shards:
            self.parts.append((X, C))
            self.rest += rest

    def __matmul__(self, v: Vector) -> Vector:
        product = self.rest * v
        for X, C in self.parts:
            seen = X @ v
            product += X.T @ (C @ seen + C.T @ seen)
        return product

    def diagonal(self) -> Vector:
        """Its diagonal, as if no two events of a weight varied together."""
        found = self.rest.copy()
        for X, C in self.parts:
            found += X.power(2).T @ (2.0 * C.diagonal())
        return found


def _of_shard(loss: CRFLoss, shard: Shard, w: Vector, accuracy: float) -> tuple[Any, Any, Vector]:
    """The weights of the events of a shard, their covariances (one half of the symmetric matrix), and the rest."""
    from spinney.tagging._covariance_kernels import chain_covariances

    support, kinds = loss.support, shard.kinds
    assert support is not None
    psi = np.empty((shard.data.n_tokens, loss.shape.labels))
    unigram_scores(shard.data.unigrams, loss.shape, support, w, psi)
    psi -= psi.max(axis=1, keepdims=True)
    np.exp(psi, out=psi)
    edges = DenseEdges.of(loss, kinds, (kinds.sums @ pair_scores(loss.shape, support, w)).toarray())
    u = incidence(shard.data.unigrams, support.row)
    sums = kinds.sums
    b = incidence(Observations(sums.indptr, sums.indices, sums.shape[1], sums.data), support.pair_row)
    before, here = np.divmod(support.pairs[b.which], np.int32(loss.shape.labels))
    rest = np.zeros(loss.n_params)
    n, (weight, event, value), (one, other, covariance) = chain_covariances(
        shard.data.offsets, kinds.of, psi, edges.M, u.ptr, u.which, support.labels[u.which], u.value,
        b.ptr, b.which + support.n_unigrams, before, here, b.value,
        shard.weights, accuracy * TINY, accuracy * FADE, rest,
    )  # fmt: skip
    covariance[one == other] *= 0.5  # so that C + C' is the matrix
    X = csr_array((value, (event, weight)), shape=(n, loss.n_params))
    return X, csr_array((covariance, (one, other)), shape=(n, n)), rest


def newton_on_signs(loss: CRFLoss, at: State, l1: Vector, l2: float, damping: float, accuracy: float) -> State | None:
    """One Newton step of the weights that are not 0 towards the minimum where they keep their signs.

    On the way there, a weight that would change its sign may do so or not, whichever is lower. None where this leads
    no lower.
    """
    active = np.flatnonzero(at.w)
    hessian = Covariances(loss, at.w, accuracy)

    def product(v: Vector) -> Vector:
        whole = np.zeros(len(at.w))
        whole[active] = v
        return (hessian @ whole)[active] + (l2 + damping) * v

    k, w = len(active), at.w[active]
    scale = hessian.diagonal()[active] + l2 + damping
    slope = at.grad[active] + l2 * w
    uphill = slope + l1[active] * np.sign(w)
    move, _ = cg(
        LinearOperator((k, k), matvec=product, dtype=np.float64), -uphill, rtol=ROUGHLY, maxiter=MOST,
        M=LinearOperator((k, k), matvec=lambda v: v / scale, dtype=np.float64),
    )  # fmt: skip
    curvature = float(move @ product(move))
    if not (np.isfinite(curvature) and curvature > 0):
        return None
    new = at.w.copy()
    new[active] = w + lowest_on_the_way(w, move, slope, curvature, l1[active]) * move
    new[active] = np.where(np.abs(new[active]) < 1e-14 * np.abs(w), 0.0, new[active])
    return searched(loss, at, new, l1, l2)
