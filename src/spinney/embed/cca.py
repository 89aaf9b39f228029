"""Canonical correlation of two views.

Views may be dense or sparse; a sparse one is never made dense: its mean is subtracted within the products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from spinney.checking import our_errors, seed, whole
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.linalg import Method, truncated_svd

Covariance = Literal["full", "diagonal"]
_WIDEST = 5000  # features whose full covariance is still taken: a matrix of 200 MB
_CUTOFF = 1e-10  # of the largest variance: combinations of features that vary less count as constant


@dataclass(eq=False, repr=False)
class CCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Canonical correlation analysis: the directions of two views that are most correlated.

    The singular vectors of C_XX^(-1/2) C_XY C_YY^(-1/2), turned back: A = C_XX^(-1/2) U and B = C_YY^(-1/2) V
    (spectral tutorial 2013). Projections ``A'x`` and ``B'y`` have covariance I (means over n, not n - 1), and each is
    correlated with its partner alone. :class:`sklearn.cross_decomposition.CCA` finds the same directions one after
    the other, for small dense views.

    Parameters
    ----------
    n_components : int
        Number of directions to keep; fewer are found if a view varies in fewer.
    ridge : float or pair of floats
        Added to the variances, in both views or in ``(x, y)``. With more features than examples there are always
        directions that fit perfectly: a ridge keeps them down.
    covariance : {"full", "diagonal"}
        ``"diagonal"`` takes the features of a view to be uncorrelated, and so serves views of any width. For one-hot
        views that are not centred that is exact: what is decomposed is count(w, c)/√(count(w) count(c)). In others
        projections are only nearly white, and ``correlations_`` may be larger than 1.
    center : bool
        Whether means are subtracted. Without it the first triple of one-hot views says nothing (its correlation is
        1, its directions are constant); the others are those of centred views with full covariances.
    svd : {"auto", "exact", "lanczos", "randomized"}
        See :func:`spinney.linalg.truncated_svd`; by default exact if the covariance is full.
    random_state : int
        The seed of the last two methods.

    Attributes
    ----------
    correlations_ : array [k]
        The canonical correlations, in decreasing order.
    x_weights_, y_weights_ : arrays [features, k]
        A and B.
    x_mean_, y_mean_ : arrays [features]
        Zeros if nothing is subtracted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> h = rng.standard_normal((1000, 1))
    >>> X, Y = h + rng.standard_normal((1000, 3)), h + rng.standard_normal((1000, 2))
    >>> cca = CCA(1).fit(X, Y)
    >>> cca.correlations_.round(2)  # √(3/4 · 2/3) = 0.71 in the model
    array([0.71])
    >>> x, y = cca.transform(X, Y)
    >>> np.corrcoef(x.T, y.T)[0, 1].round(2)
    np.float64(0.71)
    """

    n_components: int = 2
    _: KW_ONLY
    ridge: float | tuple[float, float] = 0.0
    covariance: Covariance = "full"
    center: bool = True
    svd: Method = "auto"
    random_state: int = 0

    def fit(self, X: Any, Y: Any) -> Self:
        """Fit the directions to two views of the same examples: arrays or sparse matrices, one row per example."""
        ridges = self._checked_options()
        with our_errors():
            X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=np.float64, ensure_min_samples=2)
        Y = _checked_view(Y)
        check_consistent_length(X, Y)
        x, y = view_of(X, self.center), view_of(Y, self.center)
        Wx, Wy = (
            _whitening(view, ridge, self.covariance, name) for view, ridge, name in zip((x, y), ridges, "XY")
        )
        k = min(self.n_components, Wx.shape[1], Wy.shape[1])
        if self.covariance == "full":
            whitened = Wx.T @ _covariance(x, y) @ Wy
        else:
            whitened = _whitened_operator(x, y, Wx, Wy)
        method: Method = "exact" if self.svd == "auto" and self.covariance == "full" else self.svd
        U, self.correlations_, V = truncated_svd(whitened, k, method, random_state=self.random_state)
        self.x_weights_, self.y_weights_ = Wx @ U, Wy @ V
        self.x_mean_, self.y_mean_ = x.mean, y.mean
        self._n_features_out = k
        return self

    def _checked_options(self) -> tuple[float, float]:
        whole("n_components", self.n_components, 1)
        seed(self.random_state)
        if self.covariance not in get_args(Covariance):
            raise unknown_choice("covariance must be", self.covariance, ("full", "diagonal"))
        ridges = (self.ridge, self.ridge) if isinstance(self.ridge, (int, float)) else tuple(self.ridge)
        if len(ridges) != 2 or min(ridges) < 0:
            raise OptionError(
                f"ridge must be a number of at least 0, or two such numbers, not {self.ridge!r}"
            )
        return ridges

    def transform(self, X: Any, Y: Any = None) -> Any:
        """The projections ``(x - mean)'A`` of examples; with the other view, the pair of projections of both."""
        check_is_fitted(self)
        with our_errors():
            X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
        projected = np.asarray(X @ self.x_weights_ - self.x_mean_ @ self.x_weights_)
        if Y is None:
            return projected
        Y = _checked_view(Y)
        if Y.shape[1] != len(self.y_mean_):
            raise InputError(f"Y has {Y.shape[1]} features, but was fitted with {len(self.y_mean_)}")
        return projected, np.asarray(Y @ self.y_weights_ - self.y_mean_ @ self.y_weights_)

    def fit_transform(self, X: Any, y: Any) -> Any:
        """Fit, and give the projections of both views (``y`` is the second, by scikit-learn's name for it)."""
        return self.fit(X, y).transform(X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _checked_view(Y: Any) -> Any:
    if Y is None:
        raise InputError("CCA requires y to be passed, but the target y is None: it is the second view")
    with our_errors():
        Y = check_array(Y, accept_sparse=["csr", "csc"], dtype=np.float64, ensure_2d=False, input_name="Y")
    return Y.reshape(-1, 1) if Y.ndim == 1 else Y


class _View(NamedTuple):
    """Examples with mean ``mean``, of which ``left`` is still to be subtracted (nothing, if they are dense)."""

    matrix: Any  # [n, d]
    mean: NDArray[np.float64]  # [d]
    left: NDArray[np.float64]  # [d]


def view_of(X: Any, center: bool) -> _View:
    zeros = np.zeros(X.shape[1])
    if not center:
        return _View(X, zeros, zeros)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return _View(X, mean, mean) if sparse.issparse(X) else _View(X - mean, mean, zeros)


def centred(x: _View) -> Any:
    """The examples less their mean, dense or as an operator."""
    if not sparse.issparse(x.matrix):
        return x.matrix
    X, mean, ones = x.matrix, x.left, np.ones(x.matrix.shape[0])

    def forth(V: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(X @ V - np.multiply.outer(ones, mean @ V))

    def back(U: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(X.T @ U - np.multiply.outer(mean, ones @ U))

    return _operator(X.shape, forth, back)


def _operator(shape: tuple[int, int], forth: Callable[..., Any], back: Callable[..., Any]) -> LinearOperator:
    return LinearOperator(shape, matvec=forth, rmatvec=back, matmat=forth, rmatmat=back, dtype=np.float64)


def _covariance(x: _View, y: _View) -> NDArray[np.float64]:
    C = x.matrix.T @ y.matrix
    C = C.toarray() if sparse.issparse(C) else C
    return np.asarray(C / x.matrix.shape[0] - np.outer(x.left, y.left))


def _variances(x: _View) -> NDArray[np.float64]:
    squares = x.matrix.multiply(x.matrix) if sparse.issparse(x.matrix) else x.matrix**2
    return np.asarray(squares.mean(axis=0)).ravel() - x.left**2


def _rounding(x: _View) -> NDArray[np.float64]:
    """The rounding error in the variance of a constant feature: larger if the mean is subtracted from sums."""
    error = x.matrix.shape[0] * np.finfo(float).eps  # of a mean, relative
    return np.asarray(error * x.left**2 + (error * x.mean) ** 2)


def _whitening(x: _View, ridge: float, covariance: Covariance, name: str) -> Any:
    """W with W' C W = I on the directions that vary: [d, their number], sparse if C is taken to be diagonal."""
    d = x.matrix.shape[1]
    if covariance == "full":
        if d > _WIDEST:
            raise OptionError(
                f"the covariance of the {d:,} features of {name} is too large a matrix: "
                'reduce the number of features, or use covariance="diagonal"'
            )
        values, vectors = eigh(_covariance(x, x))
        floor = max(_CUTOFF * (values[-1] + ridge), _rounding(x).sum())
    else:
        values, vectors = _variances(x), sparse.eye_array(d, format="csc")
        floor = _rounding(x)
    kept = np.flatnonzero(values + ridge > floor)
    if not len(kept):
        raise InputError(f"{name} does not vary", remedy="leave out views that are constant")
    return vectors[:, kept] * (1 / np.sqrt(values[kept] + ridge))


def _whitened_operator(x: _View, y: _View, Wx: Any, Wy: Any) -> LinearOperator:
    """Wx' C_XY Wy, known by its products."""
    n = x.matrix.shape[0]

    def product(a: _View, Wa: Any, b: _View, Wb: Any, V: NDArray[Any]) -> NDArray[Any]:
        V = Wb @ V
        C_V = a.matrix.T @ (b.matrix @ V) / n - np.multiply.outer(a.left, b.left @ V)
        return np.asarray(Wa.T @ C_V)

    def forth(V: NDArray[Any]) -> NDArray[Any]:
        return product(x, Wx, y, Wy, V)

    def back(U: NDArray[Any]) -> NDArray[Any]:
        return product(y, Wy, x, Wx, U)

    return _operator((Wx.shape[1], Wy.shape[1]), forth, back)
