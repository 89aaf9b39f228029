"""Truncated singular value decompositions, and the inverse roots that whitening needs.

What is decomposed may be dense, sparse, or an operator that only knows its products: counts that are scaled, centred
or chained are never made dense. Every method gives singular triples in one order and with one choice of signs, so that
two of them can be compared; what a model does must not depend on signs, nor mix factors of two decompositions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.parallel import default_threads, map_reduce

Method = Literal["auto", "exact", "lanczos", "randomized"]
METHODS: tuple[str, ...] = get_args(Method)
_BLOCKS = 3  # enough if the spectrum falls fast; otherwise narrower blocks and more passes find more
_NARROWEST = 8
_MANY = 100_000  # entries of a sparse matrix from which on threads are worth their while
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
    power: int = 10,
    random_state: int = 0,
    threads: int | None = None,
) -> SVD:
    """The ``k`` largest singular values of a matrix, with their singular vectors.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator [n, m]
        An operator needs ``matmat`` and ``rmatmat``.
    k
        Number of singular values; fewer are returned if the matrix is smaller.
    method
        ``"exact"`` (LAPACK, dense), ``"lanczos"`` (ARPACK), ``"randomized"`` (block Krylov iteration from a random
        start: Halko, Martinsson and Tropp 2011; Musco and Musco 2015), or by default exact for small matrices and
        randomized for others.
    oversampling, power
        randomized: there are ``power`` blocks of a third of k + oversampling directions, each of which takes a pass
        over the matrix and its transpose. The slower the spectrum falls, the more passes are needed.
    threads
        randomized: for products with a sparse matrix; by default one per processor. The result does not depend on it.

    Examples
    --------
    The slides of the 2013 tutorial have these figures:

    >>> truncated_svd([[1, 1, 2], [1, 2, 2], [1, 1, 3]], 3).s.round(2)
    array([5.  , 0.98, 0.2 ])
    """
    if method not in METHODS:
        raise unknown_choice("method must be", method, METHODS)
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
        found = _randomized(A, k, oversampling, power, random_state, threads)
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


def _randomized(
    A: Any, k: int, oversampling: int, power: int, random_state: int, threads: int | None = None
) -> SVD:
    """Block Krylov iteration: all the blocks (AᵀA)ʲV of a random start, not the last alone.

    ``W = A V`` for an orthonormal basis V of all blocks; the triples of W are those of A within the span of V.
    """
    import scipy.linalg

    n, m = A.shape
    width = max(_NARROWEST, -(-(k + oversampling) // _BLOCKS))
    passes = max(power, -(-k // width))
    if passes * width > min(n, m):
        return _exact(A, k)
    dtype = np.float32 if A.dtype == np.float32 else np.float64
    V, W = (np.zeros((side, passes * width), dtype, order="F") for side in (m, n))
    forth, back = _products(A, threads)
    block = back(np.random.default_rng(random_state).standard_normal((n, width)).astype(dtype))
    size = np.linalg.norm(block)
    for j in range(passes):
        known, new = V[:, : j * width], slice(j * width, (j + 1) * width)
        block -= known @ (known.T @ block)
        if np.linalg.norm(block) <= 10 * np.finfo(dtype).eps * size:
            break  # the blocks span all that A maps to
        block = orthonormal(block)
        block = orthonormal(block - known @ (known.T @ block))  # once more, for what rounding left
        V[:, new] = block
        W[:, new] = step = forth(block)
        block = back(step)
        size = np.linalg.norm(block)
    Q, R = scipy.linalg.qr(W, mode="economic", overwrite_a=True, check_finite=False)
    left, s, right = scipy.linalg.svd(R)
    return SVD(Q @ left[:, :k], s[:k], V @ right[:k].T)


def _products(
    A: Any, threads: int | None
) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], Callable[[NDArray[Any]], NDArray[Any]]]:
    """The functions V ↦ A V and U ↦ Aᵀ U; a large sparse matrix is multiplied by our own kernel, on threads."""
    import scipy.sparse

    if scipy.sparse.issparse(A) and A.nnz >= _MANY and A.dtype in (np.float32, np.float64):
        return _threaded(A.tocsr(), threads), _threaded(A.T.tocsr(), threads)
    At = A.T.tocsr() if scipy.sparse.issparse(A) else A.T
    return lambda V: np.asarray(A @ V), lambda U: np.asarray(At @ U)


def _threaded(A: Any, threads: int | None) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """A @ block for CSR, rows shared out among threads so that each has as many entries."""
    from spinney._linalg_kernels import csr_times_block

    pieces = 4 * (threads or default_threads())
    goals = np.arange(1, pieces) * (A.nnz / pieces)
    cuts = np.unique([0, *np.searchsorted(A.indptr, goals).tolist(), A.shape[0]]).tolist()

    def product(block: NDArray[Any]) -> NDArray[Any]:
        block = np.ascontiguousarray(block, A.dtype)
        out = np.empty((A.shape[0], block.shape[1]), A.dtype)

        def rows(span: tuple[int, int]) -> int:
            csr_times_block(A.indptr, A.indices, A.data, block, *span, out)
            return 0

        rows((0, 0))  # compiles, and does nothing else
        map_reduce(rows, pairwise(cuts), threads=threads)
        return out

    return product


def orthonormal(A: NDArray[Any]) -> NDArray[Any]:
    """An orthonormal basis of the columns of a tall matrix."""
    import scipy.linalg

    return np.asarray(scipy.linalg.qr(A, mode="economic", overwrite_a=True, check_finite=False)[0])


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
