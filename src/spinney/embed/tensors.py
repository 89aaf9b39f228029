"""Third moments: whitening, and the decomposition of symmetric tensors.

Where three things are independent given a hidden class, their joint moments are sums of rank-one terms, one for each
class. Pairs whiten the terms, so that those of the triples become orthogonal, and the tensor power method finds them
one by one (Anandkumar, Ge, Hsu, Kakade and Telgarsky 2014). Only the small whitened tensor is ever formed.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.checking import random_numbers
from spinney.errors import InputError, OptionError

Matrix = NDArray[np.float64]

_SMALL = 400  # operators no larger than this are decomposed exactly
_CHUNK = 1 << 22  # numbers in a block of products of pairs


# -- whitening ----------------------------------------------------------------------------------------------------


class Whitening(NamedTuple):
    """``W.T @ A @ W`` is the identity, and ``back @ W.T`` the projection on the leading eigenvectors of A."""

    W: Matrix  # [d, k]: U D^(-1/2)
    back: Matrix  # [d, k]: U D^(1/2), the pseudo-inverse of W.T
    values: Matrix  # [k]: D, falling


def whitening(A: Any, k: int, *, cutoff: float = 1e-10, random_state: int = 0) -> Whitening:
    """The map that makes a symmetric matrix the identity on its ``k`` leading eigenvectors.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator [d, d]
        Symmetric; moments of samples need not be positive.
    k
        How many; directions whose eigenvalue is at most ``cutoff`` times the largest are left out, with a warning.

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> W, _, values = whitening(A, 2)
    >>> values.round(6), bool(np.allclose(W.T @ A @ W, np.eye(2)))
    (array([3., 1.]), True)
    """
    d = A.shape[0]
    if not 1 <= k <= d:
        raise OptionError(f"k must be from 1 to {d}, the size of the matrix, not {k}")
    values, U = _leading_eigenpairs(A, k, random_state)
    kept = int(np.sum(values > cutoff * max(values[0], np.finfo(float).tiny)))
    if kept == 0:
        raise InputError(
            "the matrix of second moments has no positive eigenvalue", remedy="more data are needed"
        )
    if kept < k:
        warnings.warn(
            f"only {kept} of {k} eigenvalues of the second moments are positive: only {kept} components are computed",
            UserWarning,
            stacklevel=2,
        )
    values, U = values[:kept], U[:, :kept]
    roots = np.sqrt(values)
    return Whitening(U / roots, U * roots, values)


def _leading_eigenpairs(A: Any, k: int, random_state: int) -> tuple[Matrix, Matrix]:
    """The algebraically largest eigenvalues, falling, and their vectors with the largest entry positive."""
    import scipy.linalg
    from scipy.sparse.linalg import eigsh

    d = A.shape[0]
    if d <= _SMALL or k >= d - 1:
        dense = A.toarray() if hasattr(A, "toarray") else A if isinstance(A, np.ndarray) else A @ np.eye(d)
        values, U = scipy.linalg.eigh(dense, subset_by_index=(d - k, d - 1))
    else:
        # A fixed start vector: ARPACK's own differs from call to call.
        values, U = eigsh(A, k, which="LA", v0=random_numbers(random_state).standard_normal(d))
    order = np.argsort(values)[::-1]
    values, U = values[order], U[:, order]
    signs = np.sign(U[np.argmax(np.abs(U), axis=0), np.arange(k)])
    return values, U * signs


# -- tensors ------------------------------------------------------------------------------------------------------


class Components(NamedTuple):
    """``Σᵢ values[i] · v ⊗ v ⊗ v`` with v = ``vectors[:, i]``, largest values first."""

    values: Matrix  # [r], positive
    vectors: Matrix  # [k, r], of length 1


def tensor_power(
    T: ArrayLike,
    n_components: int | None = None,
    *,
    restarts: int = 30,
    iterations: int = 30,
    tol: float = 1e-12,
    random_state: int = 0,
) -> Components:
    """The robust tensor power method: orthogonal components of a symmetric third-order tensor.

    For each component, ``v ← T(I, v, v) / ‖·‖`` from several random starts; the one with the largest λ = T(v, v, v)
    is iterated to a fixed point, and λ v⊗v⊗v is taken away. λ is positive: with an odd order, -v turns its sign.

    Parameters
    ----------
    T : array [k, k, k]
        Symmetric. If it is not quite orthogonally decomposable, the components are its robust eigenvectors.
    n_components
        By default k. Fewer come back, with a warning, if nothing is left of the tensor.
    restarts, iterations
        Starts for each component, and steps from each before the best is chosen.
    tol
        The change of v at which the best one has come to rest.

    Examples
    --------
    >>> basis = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    >>> T = np.einsum("r,ir,jr,kr", [3.0, 2.0, 1.0], basis, basis, basis)
    >>> values, vectors = tensor_power(T)
    >>> values.round(8), bool(np.allclose(vectors, basis))
    (array([3., 2., 1.]), True)
    """
    left = np.array(T, float)
    if left.ndim != 3 or len(set(left.shape)) != 1:
        raise OptionError(f"the tensor must have three equal sides, not {left.shape}")
    if min(restarts, iterations) < 1:
        raise OptionError("restarts and iterations must be at least 1")
    k = left.shape[0]
    n = k if n_components is None else n_components
    if not 1 <= n <= k:
        raise OptionError(f"n_components must be from 1 to {k}, not {n}")
    rng = random_numbers(random_state)
    nothing = 1e-12 * max(float(np.linalg.norm(left)), np.finfo(float).tiny)
    values, vectors = np.zeros(n), np.zeros((k, n))
    for i in range(n):
        V = _unit(rng.standard_normal((k, restarts)))
        for _ in range(iterations):
            V = _unit(_contracted(left, V))
        v = _at_rest(left, V[:, [np.argmax(_cubic(left, V))]], tol)
        value = float(_cubic(left, v)[0])
        if value <= nothing:
            warnings.warn(
                f"the tensor has only {i} components, not {n}: lower the number of topics",
                UserWarning,
                stacklevel=2,
            )
            values, vectors = values[:i], vectors[:, :i]
            break
        values[i], vectors[:, i] = value, v[:, 0]
        left -= value * np.einsum("i,j,k", v[:, 0], v[:, 0], v[:, 0])
    order = np.argsort(-values, kind="stable")
    return Components(values[order], np.ascontiguousarray(vectors[:, order]))


def _contracted(T: Matrix, V: Matrix) -> Matrix:
    """T(I, v, v) for each column v."""
    k, n = V.shape
    once = (T.reshape(k * k, k) @ V).reshape(k, k, n)
    return np.asarray(np.einsum("ijr,jr->ir", once, V))


def _cubic(T: Matrix, V: Matrix) -> Matrix:
    """T(v, v, v) for each column v."""
    return np.asarray(np.sum(_contracted(T, V) * V, axis=0))


def _unit(V: Matrix) -> Matrix:
    lengths = np.linalg.norm(V, axis=0)
    return np.asarray(V / np.where(lengths > 0, lengths, 1.0))


def _at_rest(T: Matrix, v: Matrix, tol: float, limit: int = 1000) -> Matrix:
    for _ in range(limit):
        old, v = v, _unit(_contracted(T, v))
        if np.abs(v - old).max() <= tol:
            break
    return v


def symmetrised(T: Matrix) -> Matrix:
    """The average over all orders of the three sides."""
    return np.asarray(sum(T.transpose(order) for order in itertools.permutations(range(3))) / 6)


def pairs_with(Y: Matrix, Z: Matrix) -> Matrix:
    """``Σ_d y_d ⊗ y_d ⊗ z_d`` over the rows of two matrices, [k, k, k]: each pair of columns is multiplied once."""
    k = Y.shape[1]
    i, j = np.triu_indices(k)
    packed = np.zeros((len(i), Z.shape[1]))
    step = max(1, _CHUNK // len(i))
    for start in range(0, len(Y), step):
        y = Y[start : start + step]
        packed += (y[:, i] * y[:, j]).T @ Z[start : start + step]
    T = np.empty((k, k, Z.shape[1]))
    T[i, j] = T[j, i] = packed
    return T


def to_simplex(rows: Matrix) -> Matrix:
    """Negative entries clipped, and rows made to sum to 1; one without a positive entry becomes uniform.

    Examples
    --------
    >>> to_simplex(np.array([[3.0, -1.0], [-1.0, 0.0]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    rows = np.maximum(rows, 0.0)
    sums = rows.sum(axis=1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1 / rows.shape[1])
