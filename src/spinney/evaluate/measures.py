"""The similarity of two vectors: measures between distributions, and between arbitrary vectors.

The measures between distributions are those of Grave 2014, chapter 3. They read the rows of a matrix as
distributions: no number may be negative, and each row is divided by its sum first. A row of zeros is no
distribution; it is as far from every row (and from another of zeros) as the measure allows.

========================  ===========================================  =================
``hellinger``             Σ (√p − √q)² = 2 − 2 BC                      0 to 2
``bhattacharyya``         BC = Σ √(p q), larger is more similar        0 to 1
``jensen_shannon``        ½ Σ p ln(2p/(p+q)) + q ln(2q/(p+q))          0 to ln 2
``chi2``                  Σ (p − q)² / (p + q), with 0/0 = 0           0 to 2
``kl``                    ½ Σ p ln(p/q) + q ln(q/p)                    0 to −ln floor
``cosine``                any vectors; 0 where one is zero             −1 to 1
``dot``, ``euclidean``    any vectors, as they are
========================  ===========================================  =================

The logarithms of ``kl`` (and nothing else in it) take numbers below ``floor`` for ``floor``: without it, one
class that one word has and the other has not would put them infinitely far apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice

Floats = NDArray[np.float64]
Measure = Literal["hellinger", "bhattacharyya", "jensen_shannon", "chi2", "kl", "cosine", "dot", "euclidean"]

#: The measures by name, and whether a larger value means more similar.
MEASURES: Final[dict[str, bool]] = {
    name: name in ("bhattacharyya", "cosine", "dot") for name in get_args(Measure)
}

_NUMBERS_AT_ONCE = 1 << 22  # of a dense block


def similarity(P: Any, Q: Any, measure: Measure = "hellinger", *, floor: float = 1e-10) -> Floats:
    """As :func:`pairwise_rows`, with the sign such that larger is always more similar.

    Examples
    --------
    >>> similarity([[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [3.0, 1.0]], "hellinger").round(3)
    array([-2.   , -0.268])
    """
    values = pairwise_rows(P, Q, measure, floor=floor)
    return values if MEASURES[measure] else -values


def pairwise_rows(P: Any, Q: Any, measure: Measure = "hellinger", *, floor: float = 1e-10) -> Floats:
    """The measure between the first rows of two matrices, between the second rows, and so on.

    Parameters
    ----------
    P, Q
        Matrices of the same shape, NumPy arrays or SciPy sparse matrices.
    floor
        The smallest number that the logarithms of ``kl`` see.

    Examples
    --------
    >>> pairwise_rows([[1, 1], [1, 3]], [[2, 2], [3, 1]], "bhattacharyya").round(3)
    array([1.   , 0.866])
    """
    p, q = _prepared(P, measure, floor), _prepared(Q, measure, floor)
    if p.shape != q.shape:
        raise OptionError(f"{_size(p)} vectors cannot be paired with {_size(q)}")
    values = np.empty(p.shape[0])
    for part in _parts(p):
        values[part] = _of_rows(_dense(p[part]), _dense(q[part]), measure, floor)
    if (end := _far_end(measure, floor)) is not None:
        values[_empty(p) | _empty(q)] = end
    return values


def distances(
    P: Any, Q: Any | None = None, measure: Measure = "hellinger", *, floor: float = 1e-10
) -> Floats:
    """The distance from every row of ``P`` to every row of ``Q`` (by default ``P``), smaller where more alike.

    That is the measure itself if it is a distance, 1 − BC for ``bhattacharyya`` and 1 − cosine for
    ``cosine``; ``dot`` is refused. Hellinger, Bhattacharyya, cosine and Kullback–Leibler are matrix products.

    Examples
    --------
    >>> distances([[1.0, 0.0], [0.5, 0.5]], measure="hellinger").round(3)
    array([[0.   , 0.586],
           [0.586, 0.   ]])
    """
    if measure == "dot":
        raise OptionError("'dot' is not a distance: use 'cosine'")
    p = _prepared(P, measure, floor)
    q = p if Q is None else _prepared(Q, measure, floor)
    if p.shape[1] != q.shape[1]:
        raise OptionError(f"{_size(p)} vectors cannot be compared with {_size(q)}")
    if measure in ("hellinger", "bhattacharyya", "cosine"):
        values = _from_products(_dense(p @ q.T), measure)
    else:
        values = np.empty((p.shape[0], q.shape[0]))
        for rows in _parts(p):
            block = _dense(p[rows])
            for columns in _parts(q):
                values[rows, columns] = _of_all(block, _dense(q[columns]), measure, floor)
    if (end := _far_end(measure, floor)) is not None:
        values[_empty(p)] = end
        values[:, _empty(q)] = end
    return 1 - values if MEASURES[measure] else values


def l1_normalised(matrix: Any) -> Any:
    """Rows divided by the sum of their absolute values; rows of zeros stay as they are.

    Examples
    --------
    >>> l1_normalised([[1.0, 3.0], [0.0, 0.0]])
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    matrix = _numbers(matrix)
    return _divided(matrix, abs(matrix).sum(axis=1))


def _prepared(matrix: Any, measure: str, floor: float) -> Any:
    """The rows in the form that the measure needs, for the first three one whose dot products say all."""
    if measure not in MEASURES:
        raise unknown_choice("measure must be", measure, MEASURES)
    if not 0 < floor < 1:
        raise OptionError(f"the floor of 'kl' must be between 0 and 1, not {floor}")
    matrix = _numbers(matrix)
    if measure in ("dot", "euclidean") or 0 in matrix.shape:
        return matrix
    if measure == "cosine":
        rows = l1_normalised(matrix)  # so that squares neither overflow nor vanish
        return _divided(rows, np.sqrt((rows * rows).sum(axis=1)))
    if matrix.min() < 0:
        raise OptionError(
            f"{measure!r} compares distributions, but some vectors contain negative numbers: use 'cosine'"
        )
    matrix = l1_normalised(matrix)
    return np.sqrt(matrix) if measure in ("hellinger", "bhattacharyya") else matrix


def _of_rows(p: Floats, q: Floats, measure: str, floor: float) -> Any:
    if measure == "jensen_shannon":
        from scipy.special import rel_entr

        middle = (p + q) / 2
        return np.maximum((rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2, 0.0)
    if measure == "chi2":
        total = p + q
        return np.divide((p - q) ** 2, total, out=np.zeros_like(p), where=total > 0).sum(axis=1)
    if measure == "kl":
        log_p, log_q = np.log(np.maximum(p, floor)), np.log(np.maximum(q, floor))
        return ((p - q) * (log_p - log_q)).sum(axis=1) / 2
    if measure == "euclidean":
        return np.linalg.norm(p - q, axis=1)
    return _from_products(np.einsum("ij,ij->i", p, q), measure)


def _of_all(p: Floats, q: Floats, measure: str, floor: float) -> Any:
    if measure == "chi2":
        from sklearn.metrics.pairwise import additive_chi2_kernel

        return -additive_chi2_kernel(p, q)
    if measure == "kl":
        log_p, log_q = np.log(np.maximum(p, floor)), np.log(np.maximum(q, floor))
        own = (p * log_p).sum(axis=1)[:, None] + (q * log_q).sum(axis=1)
        return np.maximum(own - p @ log_q.T - log_p @ q.T, 0.0) / 2
    from scipy.spatial.distance import cdist

    if measure == "euclidean":
        return cdist(p, q)
    # SciPy's is the square root. It is NaN where rounding took equal rows a little below zero, and NaN
    # or infinite for rows of zeros.
    return np.nan_to_num(cdist(p, q, "jensenshannon"), nan=0.0, posinf=0.0) ** 2


def _from_products(products: Floats, measure: str) -> Floats:
    """What dot products of prepared rows say, in their place; less what rounding adds beyond the scale."""
    if measure == "dot":
        return products
    np.clip(products, -1.0, 1.0, out=products)
    if measure == "hellinger":
        products *= -2
        products += 2
    return products


def _far_end(measure: str, floor: float) -> float | None:
    """The value of a row of zeros where it is no distribution."""
    ends = {"hellinger": 2.0, "bhattacharyya": 0.0, "jensen_shannon": np.log(2), "chi2": 2.0}
    return float(-np.log(floor)) if measure == "kl" else ends.get(measure)


def _numbers(matrix: Any) -> Any:
    sparse = hasattr(matrix, "tocsr")
    if len(np.shape(matrix)) != 2:
        raise OptionError("the vectors must be a matrix with one row per vector")
    if sparse:
        from scipy.sparse import csr_array

        matrix = csr_array(matrix, dtype=np.float64)
    else:
        matrix = np.asarray(matrix, dtype=np.float64)
    if not np.all(np.isfinite(matrix.data if sparse else matrix)):
        raise OptionError("some vectors contain numbers that are not finite")
    return matrix


def _divided(matrix: Any, sizes: Floats) -> Any:
    """Rows divided by their sizes; scikit-learn's `normalize` would leave those below 2e-15 as they are."""
    sizes = np.where(sizes > 0, sizes, 1.0)
    if not hasattr(matrix, "tocsr"):
        return matrix / sizes[:, None]
    data = matrix.data / np.repeat(sizes, np.diff(matrix.indptr))
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _dense(matrix: Any) -> Floats:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix  # type: ignore[no-any-return]


def _parts(matrix: Any) -> Iterator[slice]:
    rows, columns = matrix.shape
    step = max(1, _NUMBERS_AT_ONCE // max(columns, 1))
    return (slice(start, start + step) for start in range(0, rows, step))


def _empty(matrix: Any) -> NDArray[np.bool_]:
    return np.asarray(abs(matrix).sum(axis=1) == 0)


def _size(matrix: Any) -> str:
    return f"{matrix.shape[0]} × {matrix.shape[1]}"
