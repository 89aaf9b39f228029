"""Truncated singular value decompositions, and the inverse roots that whitening needs.

What is decomposed may be dense, sparse, or an operator that only knows its products: counts that are scaled, centred
or chained are never made dense. Every method gives singular triples in one order and with one choice of signs, so that
two of them can be compared; what a model does must not depend on signs, nor mix factors of two decompositions.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError

Method = Literal["auto", "exact", "lanczos", "randomized"]
METHODS: tuple[str, ...] = get_args(Method)
_SMALL = 400  # matrices with a side no longer than this are decomposed exactly by method "auto"


class SVD(NamedTuple):
    """The largest singular triples: ``A ≈ U @ np.diag(s) @ V.T``."""

    U: NDArray[Any]  # [n, k]
    s: NDArray[Any]  # [k], falling
    V: NDArray[Any]  # [m, k]


def truncated_svd(
    A: Any,
    k: int,
    method: Method = "auto",
    *,
    oversampling: int = 20,
    power: int = 5,
    random_state: int = 0,
) -> SVD:
    """The ``k`` largest singular values of a matrix, with their vectors.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator [n, m]
        An operator needs ``matmat`` and ``rmatmat``.
    k
        How many; fewer come back if the matrix is smaller.
    method
        ``"exact"`` (LAPACK, dense), ``"lanczos"`` (ARPACK), ``"randomized"`` (subspace iteration from a random start:
        Halko, Martinsson and Tropp 2011), or by default exact for small matrices and randomized for others.
    oversampling, power
        randomized: the further directions that are carried along, and the passes of subspace iteration. The slower the
        spectrum falls, the more passes.

    Examples
    --------
    The slides of the 2013 tutorial have these figures:

    >>> truncated_svd([[1, 1, 2], [1, 2, 2], [1, 1, 3]], 3).s.round(2)
    array([5.  , 0.98, 0.2 ])
    """
    if method not in METHODS:
        raise OptionError(f"method is one of {', '.join(METHODS)}, not {method!r}")
    if k < 1:
        raise OptionError(f"k must be at least 1, not {k}")
    if isinstance(A, (list, tuple)):
        A = np.asarray(A, float)
    k = min(k, *A.shape)
    if method == "auto":
        method = "exact" if min(A.shape) <= _SMALL else "randomized"
    if method == "exact" or (method == "lanczos" and k >= min(A.shape)):
        found = _exact(A, k)
    elif method == "lanczos":
        found = _lanczos(A, k, random_state)
    else:
        found = _randomized(A, k, oversampling, power, random_state)
    return _with_signs(found)


def _exact(A: Any, k: int) -> SVD:
    import scipy.linalg

    U, s, Vt = scipy.linalg.svd(_dense(A), full_matrices=False)
    return SVD(U[:, :k], s[:k], Vt[:k].T)


def _dense(A: Any) -> NDArray[Any]:
    if hasattr(A, "toarray"):
        return np.asarray(A.toarray())
    if isinstance(A, np.ndarray):
        return A
    n, m = A.shape
    return np.asarray(A @ np.eye(m) if m <= n else (A.T @ np.eye(n)).T)


def _lanczos(A: Any, k: int, random_state: int) -> SVD:
    from scipy.sparse.linalg import svds

    # A fixed start vector: ARPACK's own differs from call to call.
    v0 = np.random.default_rng(random_state).standard_normal(min(A.shape))
    if not np.any((A if A.shape[0] >= A.shape[1] else A.T) @ v0):  # a matrix of zeros: ARPACK fails
        return _randomized(A, k, 0, 1, random_state)
    U, s, Vt = svds(A if A.dtype.kind == "f" else A.astype(float), k, v0=v0)
    return SVD(U[:, ::-1], s[::-1], Vt[::-1].T)


def _randomized(A: Any, k: int, oversampling: int, power: int, random_state: int) -> SVD:
    """Subspace iteration; each pass re-orthonormalises, or single precision keeps only the leading direction."""
    import scipy.linalg

    n, m = A.shape
    width = min(k + oversampling, n, m)
    dtype = np.float32 if A.dtype == np.float32 else np.float64
    V = np.random.default_rng(random_state).standard_normal((m, width)).astype(dtype)
    At = _adjoint(A)
    for _ in range(max(1, power)):
        Q = orthonormal(A @ V)
        V = At @ Q  # A ≈ Q Vᵀ
    # V is m × width: the SVD of its small triangular factor gives that of A.
    R, P = scipy.linalg.qr(np.asarray(V), mode="economic")[::-1]
    left, s, right = scipy.linalg.svd(R.T)
    return SVD((Q @ left)[:, :k], s[:k], (P @ right.T)[:, :k])


def orthonormal(A: NDArray[Any]) -> NDArray[Any]:
    """An orthonormal basis of the columns of a tall matrix."""
    import scipy.linalg

    return np.asarray(scipy.linalg.qr(A, mode="economic", overwrite_a=True, check_finite=False)[0])


def _adjoint(A: Any) -> Any:
    import scipy.sparse

    return A.T.tocsr() if scipy.sparse.issparse(A) else A.T


def _with_signs(svd: SVD) -> SVD:
    """The same triples, with the largest entry of each column of V positive."""
    largest = np.argmax(np.abs(svd.V), axis=0)
    signs = np.where(svd.V[largest, np.arange(svd.V.shape[1])] < 0, -1, 1).astype(svd.V.dtype)
    return SVD(
        np.ascontiguousarray(svd.U * signs), np.ascontiguousarray(svd.s), np.ascontiguousarray(svd.V * signs)
    )


def inverse_sqrt(C: ArrayLike, ridge: float = 0.0, cutoff: float = 1e-10) -> NDArray[np.float64]:
    """C^(-1/2) of a symmetric positive semi-definite matrix.

    ``ridge`` is added to the eigenvalues; directions whose eigenvalue is at most ``cutoff`` times the largest are left
    out, as the pseudo-inverse does.

    Examples
    --------
    >>> inverse_sqrt([[4.0, 0.0], [0.0, 0.0]])
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    import scipy.linalg

    values, vectors = scipy.linalg.eigh(np.asarray(C, float))
    values = values + ridge
    kept = values > cutoff * max(values[-1], np.finfo(float).tiny)
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T)


def inverse_values(s: ArrayLike, cutoff: float = 1e-10, ridge: float = 0.0) -> NDArray[np.float64]:
    """1/s of singular values, 0 where one is at most ``cutoff`` times the largest; with ``ridge``, s/(s² + ridge).

    Examples
    --------
    >>> inverse_values([2.0, 0.5, 1e-14])
    array([0.5, 2. , 0. ])
    """
    s = np.asarray(s, float)
    kept = s > cutoff * s.max(initial=0.0)
    safe = np.where(kept, s, 1.0)
    return np.where(kept, 1 / (safe + ridge / safe), 0.0)
