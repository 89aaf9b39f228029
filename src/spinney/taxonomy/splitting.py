"""Splits of a set of classes in two: the steps of top-down builders (Nelakanti 2014, §4.2.3).

Each gives True for the classes of one side. Both sides have a class: where a threshold leaves one empty, the median is
the threshold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from spinney.taxonomy.proximity import Array, Residual

Sides = NDArray[np.bool_]
_UNRELIABLE = 1e-8  # gap between eigenvalues up to which their vectors may be any mixture
_FEW = 200  # classes up to which SPEC decomposes the K×K matrix
_HALVINGS = 60
_SWEEPS, _DECREASE = 200, 1e-6  # of the coordinate updates of DIFF


def by_sign(u: Array) -> Sides:
    """The sides of zero; of the median, if zero leaves one empty.

    Examples
    --------
    >>> by_sign(np.array([0.5, -0.1, 0.2])), by_sign(np.array([3.0, 1.0, 2.0, 1.0]))
    (array([ True, False,  True]), array([ True, False,  True, False]))
    """
    sides = np.asarray(u > 0)
    if 0 < sides.sum() < len(u):
        return sides
    sides = np.zeros(len(u), dtype=bool)
    sides[np.argsort(u, kind="stable")[len(u) - len(u) // 2 :]] = True
    return sides


def spec(residual: Residual) -> Sides:
    """SPEC: min zᵀQz over zᵀz = K, the eigenvector of the smallest eigenvalue, by its signs.

    X is centred but Y is not, so the constant vector is not in the null space of Q: it is the first vector that counts.
    """
    if _is_flat(residual):
        return by_sign(np.zeros(len(residual.sizes)))
    n_rows, n_classes = residual.F.shape
    if n_classes > max(_FEW, 2 * n_rows) and (found := smallest_vector(residual)) is not None:
        return by_sign(found)
    _, vectors = eigh(residual.matrix(), subset_by_index=[0, 0])
    return by_sign(vectors[:, 0])


def smallest_vector(residual: Residual) -> Array | None:
    """The eigenvector of the smallest eigenvalue of Q = D − FᵀF, without a K×K matrix; None if F hardly matters.

    Below the smallest entry of D, λ is no larger than the smallest eigenvalue if and only if F(D − λ)⁻¹Fᵀ, which has as
    many rows as F, is at most the identity. It grows with λ, so bisection finds where it is just that.

    Examples
    --------
    >>> residual = Residual(np.array([4.0, 5.0, 9.0]), np.array([[1.5, 2.0, 0.5]]))
    >>> v = smallest_vector(residual)
    >>> bool(np.allclose(np.abs(v), np.abs(np.linalg.eigh(residual.matrix())[1][:, 0])))
    True
    """
    D, F = residual.sizes, residual.F

    def largest(lam: float) -> tuple[float, Array]:
        values, U = eigh((F / (D - lam)) @ F.T, subset_by_index=[len(F) - 1, len(F) - 1])
        return float(values[0]), U[:, 0]

    high = float(D.min())
    low, width = high - 1.0, 1.0
    while largest(low)[0] > 1.0:
        width *= 2
        low = high - width
    top = high - 1e-9 * max(width, 1.0)
    if largest(top)[0] <= 1.0:
        return None
    high = top
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if largest(middle)[0] <= 1.0 else (low, middle)
    vector = (F.T @ largest(low)[1]) / (D - low)
    return np.asarray(vector / np.linalg.norm(vector))


def canonical(residual: Residual) -> Sides:
    """min zᵀQz over zᵀDz = n, D the sizes of classes: for z = ±1 as true as zᵀz = K, but rare classes count less.

    The solution is the first right singular vector of F·D^(−1/2): the first canonical direction between samples and
    classes. It is orthogonal to D^(1/2)·1, so neither side is empty, and it needs no K×K matrix.
    """
    if _is_flat(residual):
        return by_sign(np.zeros(len(residual.sizes)))
    F = residual.F / np.sqrt(np.maximum(residual.sizes, np.finfo(float).tiny))
    if F.shape[0] < F.shape[1]:
        _, U = eigh(F @ F.T)
        return by_sign(F.T @ U[:, -1])
    _, V = eigh(F.T @ F)
    return by_sign(V[:, -1])


def diff(residual: Residual, rng: np.random.Generator) -> Sides:
    """DIFF: min tr(A(Q/n + κ11ᵀ)) over A ⪰ 0 with a diagonal of ones, κ = 1/K²; the leading eigenvector by its signs.

    A = LLᵀ with rows of norm 1, one row at a time: Lᵢ ← −Σ_{j≠i} MᵢⱼLⱼ, normalised, lowers the objective each time
    (in place of the manifold method of Journée et al. 2010). Of rank √(2K), enough for the optimum of the relaxation.
    """
    from spinney.taxonomy._diff_kernels import descend

    n_classes = len(residual.sizes)
    f = np.ascontiguousarray(residual.F.T / np.sqrt(max(residual.sizes.sum(), 1.0)))  # Q/n = D/n − ffᵀ
    L = rng.standard_normal((n_classes, int(np.ceil(np.sqrt(2 * n_classes)))))
    L /= np.linalg.norm(L, axis=1, keepdims=True)
    descend(f, L, 1.0 / n_classes**2, _DECREASE, _SWEEPS)
    _, V = eigh(L.T @ L)
    return by_sign(L @ V[:, -1])


def rand(n_classes: int, rng: np.random.Generator) -> Sides:
    """RAND: two halves by lot."""
    sides = np.zeros(n_classes, dtype=bool)
    sides[rng.permutation(n_classes)[: n_classes // 2]] = True
    return sides


def conf(confusion: Array, rng: np.random.Generator) -> Sides:
    """CONF: a spectral cut of the classes by how often one is taken for the other; by lot where that says nothing.

    The second vector of the normalised Laplacian of (C + Cᵀ)/2 (Griffin & Perona 2008; Bengio et al. 2010). Where
    several vectors share its eigenvalue, as when most classes are never confused, it is no one vector, and the split
    is random.
    """
    n_classes = len(confusion)
    if n_classes == 2:
        return np.array([True, False])
    A = (confusion + confusion.T) / 2
    root = np.sqrt(A.sum(axis=1))
    if root.max() == 0.0:
        return rand(n_classes, rng)
    inverse = np.divide(1.0, root, out=np.zeros(n_classes), where=root > 0)
    trivial = root / np.linalg.norm(root)
    laplacian = np.eye(n_classes) - inverse[:, None] * A * inverse + 2.0 * np.outer(trivial, trivial)
    values, vectors = eigh(laplacian, subset_by_index=[0, 1])
    if values[1] - values[0] <= _UNRELIABLE:
        return rand(n_classes, rng)
    return by_sign(inverse * vectors[:, 0])


def _is_flat(residual: Residual) -> bool:
    """Whether the features say nothing of the classes, so that every vector is as good as another."""
    return bool(np.abs(residual.F).max(initial=0.0) <= 1e-6 * np.sqrt(max(residual.sizes.max(), 1.0)))
