"""Faces of composite norms: near a point, its zeros, its signs and its ties make the norm a smooth function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spinney.optim.base import Loss, Vector
from spinney.optim.penalties import Composite
from spinney.optim.penalties._splitting import gathered
from spinney.optim.penalties.groups import labels


def tied(penalty: Composite, copies: Vector) -> NDArray[np.int64]:
    """A number for each coordinate, the same for those that are tied: for q = ∞, the largest of one group, if equal."""
    groups, n = penalty.groups, penalty.groups.n_features
    if penalty.q != np.inf:
        return np.arange(n)
    # On use: taggers import the solvers, and do without SciPy.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    of, sizes = labels(groups.ptr), np.abs(copies)
    top = np.flatnonzero((sizes > 0) & (sizes == penalty.by_group(copies)[of]))
    _, first = np.unique(of[top], return_index=True)
    of_group = np.zeros(len(groups.weights), np.int64)
    of_group[of[top[first]]] = groups.members[top[first]]
    links = (np.ones(len(top)), (groups.members[top], of_group[of[top]]))
    return np.asarray(connected_components(coo_array(links, (n, n)), directed=False)[1], np.int64)


class OnFace:
    """Loss and composite norm as one smooth function of the sizes that are not 0, near where they are.

    Weights of equal size that share a group as its largest (q = ∞) have one size together. What the function says of
    points that have other ties is true, too, but it is not smooth there.
    """

    n_free = 0

    def __init__(self, loss: Loss, penalty: Composite, w: Vector) -> None:
        k = loss.n_params - loss.n_free
        self.loss, self.penalty, self.k, self.size = loss, penalty, k, loss.n_params
        self.signs = np.append(np.sign(w[:k]), np.ones(loss.n_free))
        self.kept = np.flatnonzero(np.append(w[:k] != 0, np.ones(loss.n_free, dtype=bool)))
        ties = np.append(
            tied(penalty, w[penalty.groups.members]), penalty.groups.n_features + np.arange(loss.n_free)
        )
        _, self.first, self.place = np.unique(ties[self.kept], return_index=True, return_inverse=True)
        self.n_params = len(self.first)
        self.start = (self.signs * w)[self.kept[self.first]]
        #: Whether weights that change their sign leave the face.
        self.holds_signs = penalty.q == 1.0

    def whole(self, x: Vector) -> Vector:
        """All weights, from the sizes."""
        return self.signs * self._sizes(x)

    def _sizes(self, x: Vector) -> Vector:
        sizes = np.zeros(self.size)
        sizes[self.kept] = x[self.place]
        return sizes

    def _part(self, of_sizes: Vector) -> Vector:
        return np.asarray(np.bincount(self.place, of_sizes[self.kept], self.n_params), dtype=np.float64)

    def _inner(self, copies: Vector, norms: Vector) -> Vector:
        """The gradient of the inner norm of each group."""
        of = labels(self.penalty.groups.ptr)
        if self.penalty.q == 1.0:
            return np.ones(len(copies))  # at 0 it does not matter: sizes that are 0 are left out
        if self.penalty.q == 2.0:
            return np.divide(copies, norms[of], out=np.zeros_like(copies), where=norms[of] > 0)
        top = ((np.abs(copies) == norms[of]) & (copies != 0)).astype(np.float64)
        count = np.bincount(of, top, len(norms))
        return np.asarray(np.sign(copies) * top / np.maximum(count, 1.0)[of])

    def _at(self, x: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Copies of the sizes, the norms of groups, their slopes, and the gradient of each norm."""
        copies = self._sizes(x)[self.penalty.groups.members]
        norms = self.penalty.by_group(copies)
        slopes = np.where(norms > 0, self.penalty.slopes(norms), 0.0)
        return copies, norms, slopes, self._inner(copies, norms)

    def value_and_grad(self, x: Vector) -> tuple[float, Vector]:
        value, grad = self.loss.value_and_grad(self.whole(x))
        _, norms, slopes, inner = self._at(x)
        of = labels(self.penalty.groups.ptr)
        grad = self.signs * grad
        grad[: self.k] += gathered(self.penalty.groups, slopes[of] * inner)
        return value + self.penalty.lam * self.penalty.outer_norm(norms), self._part(grad)

    def hess_vec(self, x: Vector) -> Callable[[Vector], Vector]:
        """The map v ↦ ∇²·v; of the outer norm N: (r − 1)(slope_g·v_g/n_g − slope_g·(Σ_h slope_h·v_h)/(λN))."""
        of_loss = self.loss.hess_vec(self.whole(x))  # type: ignore[attr-defined]
        penalty, of = self.penalty, labels(self.penalty.groups.ptr)
        _, norms, slopes, inner = self._at(x)
        value = penalty.lam * penalty.outer_norm(norms) or 1.0
        bend = np.divide(slopes, norms, out=np.zeros_like(norms), where=norms > 0)

        def product(v: Vector) -> Vector:
            away = self._sizes(v)
            image: Vector = self.signs * of_loss(self.signs * away)
            moved = away[penalty.groups.members]
            along = np.bincount(of, inner * moved, len(norms))
            steeper = (penalty.r - 1.0) * (bend * along - slopes * float(slopes @ along) / value)
            of_copies = steeper[of] * inner
            if penalty.q == 2.0:
                of_copies += bend[of] * (moved - inner * along[of])
            image[: self.k] += gathered(penalty.groups, of_copies)
            return self._part(image)

        return product
