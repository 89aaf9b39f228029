"""How alike classes are: the residuals of a ridge regression of their indicators (Nelakanti 2014, §4.2.1).

With X centred and Y one-hot, W* = (XᵀX + δI)⁻¹XᵀY leaves the residuals

    Q = Yᵀ(I − X(XᵀX + δI)⁻¹Xᵀ)Y,

a K×K matrix: entry (i, j) off the diagonal is −yᵢᵀ·fit(yⱼ), very negative where the regression takes one class for the
other. Everything here keeps it as Q = diag(sizes) − FᵀF, with a column of F a class: K may be large as long as F has
few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import eigh

from spinney.errors import InputError, OptionError, unknown_choice

Array = NDArray[np.float64]
Form = Literal["auto", "primal", "dual", "low-rank"]
LARGEST = 3000  # features or samples, whichever are fewer, up to which "auto" decomposes exactly
RANK = 300  # of the low-rank form, where none is given


class Residual(NamedTuple):
    """The residuals of some classes, in factors: Q = diag(sizes) − FᵀF.

    Examples
    --------
    >>> Residual(np.array([2.0, 1.0]), np.array([[1.0, -1.0]])).matrix()
    array([[1., 1.],
           [1., 0.]])
    """

    sizes: Array  # [K] samples of each class
    F: Array  # [r, K]

    def matrix(self) -> Array:
        """Q, as a matrix."""
        return np.asarray(np.diag(self.sizes) - self.F.T @ self.F)

    def of(self, classes: NDArray[np.intp]) -> Residual:
        """The sub-matrix of some classes: what a split leaves, but for the part of XᵀX that has left."""
        return Residual(self.sizes[classes], self.F[:, classes])


def residual_matrix(
    X: Any, y: ArrayLike, delta: float = 1.0, form: Form = "auto", rank: int | None = None
) -> Array:
    """Q of the classes of ``y``, in sorted order.

    Parameters
    ----------
    X : array or sparse matrix [n, d]
        Samples; their mean is taken off (within the products where X is sparse).
    y : array [n]
        The class of each sample.
    delta
        The ridge δ > 0. Trees hardly depend on it.
    form
        ``"primal"`` decomposes the d×d matrix XᵀX, ``"dual"`` the n×n matrix XXᵀ, ``"low-rank"`` an incomplete Cholesky
        factor of the latter. All give the same Q (the last one at full rank). ``"auto"`` takes the smaller exact one,
        and the low-rank form where both sides are longer than 3000.
    rank
        low-rank: columns of the factor; 300 where not given.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [1.0], [5.0]])
    >>> Q = residual_matrix(X, ["a", "a", "b", "c"])
    >>> Q.round(2)
    array([[ 1.51, -0.09,  0.58],
           [-0.09,  0.98,  0.1 ],
           [ 0.58,  0.1 ,  0.32]])
    """
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    X = as_samples(X)
    if X.shape[0] != len(codes):
        raise InputError(f"{X.shape[0]} samples but {len(codes)} labels")
    return residual(X, codes, len(classes), delta, form, rank).matrix()


def as_samples(X: Any) -> Any:
    """``X`` as CSR, or as a dense array less its mean; of float64."""
    if sparse.issparse(X):
        X = X.tocsr().astype(np.float64)
        finite = np.isfinite(X.data).all()
    else:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2:
            raise InputError(f"samples must be the rows of a matrix, not an array of {X.ndim} dimensions")
        finite = np.isfinite(X).all()
        X = X - X.mean(axis=0) if len(X) and finite else X
    if X.shape[0] == 0:
        raise InputError("there are no samples")
    if not finite:
        raise InputError("the samples contain numbers that are not finite", remedy="remove NaN and infinity")
    return X


def residual(
    X: Any,
    codes: NDArray[np.intp],
    n_classes: int,
    delta: float,
    form: Form = "auto",
    rank: int | None = None,
) -> Residual:
    """The residuals of samples (as :func:`as_samples` gives them) with classes 0 … K−1."""
    checked_delta(delta)
    if form not in get_args(Form):
        raise unknown_choice("form must be", form, get_args(Form))
    if rank is not None and rank < 1:
        raise OptionError(f"rank must be at least 1, not {rank}")
    n, d = X.shape
    if form == "auto":
        form = "low-rank" if min(n, d) > LARGEST else "primal" if d <= n else "dual"
    Y = sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, n_classes))
    sizes = np.bincount(codes, minlength=n_classes).astype(np.float64)
    if form == "primal":
        return from_moments(_dense(X.T @ X), _dense((Y.T @ X).T), sizes, delta)
    gram = _CentredGram(X)
    if form == "dual":
        values, U = eigh(gram.matrix())
        values = np.maximum(values, 0.0)
        return Residual(sizes, np.sqrt(values / (values + delta))[:, None] * _dense((Y.T @ U).T))
    R = incomplete_cholesky(gram.diagonal, gram.column, rank or RANK)
    return Residual(sizes, _fitted(R.T @ R, _dense((Y.T @ R).T), delta))


def from_moments(S: Array, B: Array, sizes: Array, delta: float) -> Residual:
    """The residuals from S = XᵀX, B = XᵀY and the sizes of the classes; X need not be centred.

    The mean is that of the columns of B, so centring is a correction of rank one.
    """
    n = max(float(sizes.sum()), 1.0)
    mean = B.sum(axis=1) / n
    return Residual(sizes, _fitted(S - n * np.outer(mean, mean), B - np.outer(mean, sizes), delta))


def _fitted(S: Array, B: Array, delta: float) -> Array:
    """F with FᵀF = Bᵀ(S + δI)⁻¹B. By eigenvalues, not Cholesky: rounding may leave S a little below zero."""
    values, U = eigh(S)
    return np.asarray((U.T @ B) / np.sqrt(np.maximum(values, 0.0) + delta)[:, None])


def merged(Q: ArrayLike, p: int, q: int) -> Array:
    """Q after the classes p and q have become one, which takes the place of the earlier; exact.

    Rows are added, and columns: UᵀQU where U is the identity with the columns p and q replaced by their sum.

    Examples
    --------
    >>> merged([[5.0, 1.0, 2.0], [1.0, 6.0, 3.0], [2.0, 3.0, 7.0]], 0, 2)
    array([[16.,  4.],
           [ 4.,  6.]])
    """
    Q = np.asarray(Q, dtype=np.float64)
    if p == q or not (0 <= p < len(Q) and 0 <= q < len(Q)):
        raise OptionError(f"two different classes of 0 to {len(Q) - 1} are needed, not {p} and {q}")
    p, q = min(p, q), max(p, q)
    groups = np.arange(len(Q))
    groups[q] = p
    groups[q + 1 :] -= 1
    return merged_groups(Q, groups)


def merged_groups(Q: Array, groups: NDArray[np.intp]) -> Array:
    """UᵀQU: classes with the same number in ``groups`` (from 0, without gaps) become one."""
    n = len(groups)
    U = sparse.csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, int(groups.max()) + 1))
    return np.asarray(U.T @ np.asarray(U.T @ Q).T)


def incomplete_cholesky(
    diagonal: Array, column: Callable[[int], Array], rank: int, tol: float = 1e-12
) -> Array:
    """R [n, ≤ rank] with RRᵀ ≈ G, for a positive semi-definite G of which columns are made on demand.

    The pivot is always the sample that is explained worst; it ends where none is off by more than ``tol`` times the
    largest diagonal entry (Nelakanti 2014, §4.2.1).

    Examples
    --------
    >>> G = np.array([[4.0, 2.0], [2.0, 1.0]])
    >>> incomplete_cholesky(G.diagonal(), lambda j: G[:, j], 2)
    array([[2.],
           [1.]])
    """
    left = np.array(diagonal, dtype=np.float64)
    smallest = tol * max(left.max(initial=0.0), np.finfo(float).tiny)
    R = np.zeros((len(left), min(rank, len(left))))
    for j in range(R.shape[1]):
        p = int(np.argmax(left))
        if left[p] <= smallest:
            return R[:, :j]
        R[:, j] = (column(p) - R[:, :j] @ R[p, :j]) / np.sqrt(left[p])
        left = np.maximum(left - R[:, j] ** 2, 0.0)
        left[p] = 0.0
    return R


class _CentredGram:
    """XXᵀ of the centred samples; sparse ones stay sparse."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.mean = np.asarray(X.mean(axis=0)).ravel()
        self.towards = np.asarray(X @ self.mean).ravel()  # xᵢ·mean
        self.square = float(self.mean @ self.mean)

    def matrix(self) -> Array:
        return np.asarray(_dense(self.X @ self.X.T) - self.towards[:, None] - self.towards + self.square)

    @property
    def diagonal(self) -> Array:
        X = self.X
        squares = np.asarray((X.multiply(X) if sparse.issparse(X) else X * X).sum(axis=1)).ravel()
        return np.asarray(squares - 2 * self.towards + self.square)

    def column(self, p: int) -> Array:
        x = _dense(self.X[[p]]).ravel()
        return np.asarray(self.X @ x - self.towards - self.towards[p] + self.square)


def checked_delta(delta: float) -> float:
    """δ, if it is a finite number above 0."""
    if not 0 < delta < np.inf:
        raise OptionError(f"delta must be above 0, not {delta:g}")
    return delta


def _dense(A: Any) -> Array:
    return np.asarray(A.toarray() if sparse.issparse(A) else A)
