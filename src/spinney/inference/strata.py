"""Weights for labelled examples when the law of the inputs is known: stratification and covariate shift.

An input that the labelled sample holds too rarely, for its share of the population, counts for more. The weighted
conditional likelihood needs nothing else, so any trainer that takes example weights becomes semi-supervised
(Sokolovska 2010, ch. 4; Sokolovska, Cappé & Yvon, ICML 2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from spinney.errors import OptionError

Vector = NDArray[np.float64]


def stratum_weights(strata: ArrayLike, population: ArrayLike) -> Vector:
    """The weight q(xᵢ) / #{j : xⱼ = xᵢ} of each labelled example (Sokolovska 2010, eq. 4.10 ff.).

    With q the law of the inputs on which the model will be used, this is also the estimator for covariate shift: the
    law of the training inputs need not be known.

    Parameters
    ----------
    strata : int array of shape (n,)
        The stratum (distinct input, or cluster of inputs) of each labelled example.
    population : array of shape (m,)
        The share q of each stratum in the population; a multiple of it gives a multiple of the weights.

    Returns
    -------
    array of shape (n,)
        The weights of one stratum add up to its q: the total is at most 1, less where a stratum has no example.

    Examples
    --------
    >>> stratum_weights([0, 0, 0, 1], [0.5, 0.25, 0.25]).round(4).tolist()
    [0.1667, 0.1667, 0.1667, 0.25]
    """
    q = _checked_law("population", population)
    x = _checked_strata(strata, len(q))
    return np.asarray(q[x] / np.bincount(x, minlength=len(q))[x])


def flattened(weights: ArrayLike, exponent: float) -> Vector:
    """Weights to a power from 0 (all equal) to 1 (as they are), with mean 1: less variance, for some bias.

    Shimodaira (2000, §3) proposes such powers of density ratios, where the ratios themselves leave too small a sample.

    Examples
    --------
    >>> flattened([1.0, 9.0], 0.5).tolist()
    [0.5, 1.5]
    """
    w = np.asarray(weights, np.float64)
    if not 0.0 <= exponent <= 1.0:
        raise OptionError(f"the exponent of weights must be from 0 to 1, not {exponent:g}")
    w = w**exponent if exponent > 0.0 else np.ones_like(w)
    total = float(w.sum())
    return w * (len(w) / total) if total > 0.0 else w


def effective_sample(weights: ArrayLike) -> float:
    """The number of equally weighted examples whose mean varies as much as the weighted one: (Σw)²/Σw² (Kish 1965).

    Examples
    --------
    >>> effective_sample([1.0, 1.0, 1.0]), effective_sample([3.0, 0.0, 0.0])
    (3.0, 1.0)
    """
    w = np.asarray(weights, np.float64)
    squares = float(w @ w)
    return float(w.sum()) ** 2 / squares if squares > 0.0 else 0.0


def row_strata(X: Any) -> NDArray[np.intp]:
    """A number for each row, the same for identical rows: 0, 1, … in the order in which they first appear.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)

    Examples
    --------
    >>> row_strata([[1, 0], [0, 2], [1, 0]]).tolist()
    [0, 1, 0]
    """
    X = scipy.sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    number: dict[tuple[bytes, bytes], int] = {}
    bounds = zip(X.indptr[:-1], X.indptr[1:])
    rows = ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in bounds)
    return np.fromiter((number.setdefault(row, len(number)) for row in rows), np.intp, X.shape[0])


def _checked_law(name: str, q: ArrayLike) -> Vector:
    q = np.asarray(q, dtype=np.float64)
    if q.ndim != 1 or not np.all(np.isfinite(q)) or np.any(q < 0):
        raise OptionError(f"{name} must be a vector of finite numbers ≥ 0, one per stratum")
    return q


def _checked_strata(strata: ArrayLike, m: int) -> NDArray[np.intp]:
    x = np.asarray(strata)
    if x.ndim != 1 or (x.size and not np.issubdtype(x.dtype, np.integer)):
        raise OptionError("strata must be a vector of whole numbers, one per example")
    if x.size and (x.min() < 0 or x.max() >= m):
        raise OptionError(f"strata must be between 0 and {m - 1}, the last stratum of the population")
    return x.astype(np.intp)
