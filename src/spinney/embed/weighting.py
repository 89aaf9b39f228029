"""From counts to what is decomposed: correlations (scaled counts) and pointwise mutual information."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, shown, unknown_choice

Transform = Literal["raw", "sqrt", "log", "two-thirds"]
TRANSFORMS: tuple[str, ...] = get_args(Transform)
_FUNCTIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "raw": lambda counts: counts,
    "sqrt": np.sqrt,
    "log": np.log1p,
    "two-thirds": lambda counts: np.cbrt(counts) ** 2,
}


def transformed(counts: NDArray[Any], transform: Transform) -> NDArray[Any]:
    """Counts, or a function of them that takes some weight off the frequent ones."""
    if transform not in TRANSFORMS:
        raise unknown_choice("transform must be", transform, TRANSFORMS)
    return _FUNCTIONS[transform](counts)


def inverse_root(totals: NDArray[Any], pseudo: float = 0.0) -> NDArray[np.float64]:
    """1/√(totals + pseudo), and 0 where that total is 0: a word that is never seen is dropped, not blown up."""
    totals = np.asarray(totals, float) + pseudo
    return np.where(totals > 0, 1 / np.sqrt(np.where(totals > 0, totals, 1)), 0.0)


def correlations(
    matrix: Any,
    *,
    transform: Transform = "sqrt",
    pseudo: float = 0.0,
    context_exponent: float = 1.0,
) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Counts as correlations, the matrix that diagonal CCA decomposes.

    Entry (w, c) is g(n_wc) / √((g(n_w) + pseudo)(g(n_c^exponent) + pseudo)), where n_w and n_c are the sums of the row
    and of the column. With g the identity it is the whitened cross-covariance of one-hot views; the square root makes
    the variance of a count about the same for all (Stratos et al. 2015).

    Returns
    -------
    (scaled CSR matrix of float32, factors of the rows, factors of the columns)

    Examples
    --------
    >>> import scipy.sparse
    >>> counts = scipy.sparse.csr_array(np.array([[3.0, 1.0], [0.0, 4.0]]))
    >>> correlations(counts, transform="raw")[0].toarray().round(3)
    array([[0.866, 0.224],
           [0.   , 0.894]], dtype=float32)
    """
    n_w, n_c = margins(matrix)
    rows = inverse_root(transformed(n_w, transform), pseudo)
    columns = inverse_root(transformed(n_c**context_exponent, transform), pseudo)
    return scaled(like(matrix, transformed(matrix.data, transform)), rows, columns), rows, columns


def margins(matrix: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of rows and of columns, in double precision: SciPy's ``sum`` adds singles up as singles."""
    if getattr(matrix, "format", None) != "csr" or not np.all(np.isfinite(matrix.data)):
        raise InputError(f"counts must be a CSR matrix of finite numbers, not {shown(matrix)}")
    if 0 in matrix.shape:
        raise InputError("a matrix without words or contexts has nothing to count")
    return matrix @ np.ones(matrix.shape[1]), matrix.T @ np.ones(matrix.shape[0])


def scaled(matrix: Any, rows: NDArray[Any], columns: NDArray[Any]) -> Any:
    """diag(rows) · matrix · diag(columns), in single precision."""
    data = matrix.data * np.repeat(rows.astype(np.float32), np.diff(matrix.indptr))
    data *= columns.astype(np.float32)[matrix.indices]
    return like(matrix, data.astype(np.float32, copy=False))


def pmi(
    matrix: Any,
    *,
    floor: float | None = 0.0,
    shift: float = 0.0,
    context_exponent: float = 1.0,
    min_count: float = 0.0,
) -> Any:
    """Pointwise mutual information log(P(w, c)/(P(w) P(c))) of the pairs that were seen; others are 0.

    Parameters
    ----------
    matrix
        Counts, CSR.
    floor
        Smaller values become 0 and are not stored: at 0.0, positive PMI. None keeps the sign (Yogatama 2015, §4.1).
    shift
        Subtracted first: log k stands for the k negative samples of word2vec (Levy and Goldberg 2014).
    context_exponent
        P(c) is taken proportional to n_c to this power; 0.75 lets rare contexts weigh less (Levy et al. 2015).
    min_count
        Pairs seen fewer times are left out: a single meeting of two rare words has a huge PMI.

    Examples
    --------
    >>> import scipy.sparse
    >>> counts = scipy.sparse.csr_array(np.array([[6.0, 2.0], [2.0, 6.0]]))
    >>> pmi(counts).toarray().round(3)
    array([[0.405, 0.   ],
           [0.   , 0.405]])
    >>> pmi(counts, floor=None).toarray().round(3)
    array([[ 0.405, -0.693],
           [-0.693,  0.405]])
    """
    import scipy.sparse

    n_w, n_c = margins(matrix)
    n_c = n_c**context_exponent
    log_w, log_c = (
        np.log(np.where(n > 0, n, 1)).astype(np.float32) for n in (n_w, n_c / max(n_c.sum(), 1e-300))
    )
    values = np.log(matrix.data)
    values -= np.repeat(log_w, np.diff(matrix.indptr))
    values -= log_c[matrix.indices]
    values -= np.float32(shift)
    kept = matrix.data >= min_count
    if floor is not None:
        kept &= values > floor
    if kept.all():
        return like(matrix, values)
    starts = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr].astype(matrix.indptr.dtype)
    return scipy.sparse.csr_array((values[kept], matrix.indices[kept], starts), shape=matrix.shape)


def like(matrix: Any, data: NDArray[Any]) -> Any:
    """A CSR matrix with the same places and other values."""
    import scipy.sparse

    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
