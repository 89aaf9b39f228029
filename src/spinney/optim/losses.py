"""Losses of linear models over a sparse or dense design matrix: squared, logistic, multinomial, squared hinge; entropy.

All are sums Σᵢ sᵢ·ℓ(yᵢ, mᵢ) over examples, where the margins are m = Xw + b and sᵢ are sample weights. The
parameter vector is ``[w, b]``: weights first, intercepts last and never penalised.

Gradients over large sparse designs are sums over shards of rows, which stay where they are (on a cluster, with a
worker): weights go out, and gradients come back.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from spinney.checking import our_errors
from spinney.errors import InputError, OptionError
from spinney.optim.base import Vector, checked_strength
from spinney.parallel import Kept, Pure, Visit, elsewhere, in_order, map_reduce

Design = Any  # a C- or F-ordered float64 array, or a SciPy CSR or CSC matrix


#: Numbers beyond this are refused: their squares, summed over many examples, must be finite.
LARGEST = 1e100

#: Entries of a sparse design, times outputs, that a shard has at least: some ten milliseconds of work; and for each
#: weight, so that adding up gradients counts little. By the data alone: sums are the same wherever they are taken.
SHARD, PER_WEIGHT = 1 << 22, 64


def as_design(X: Any) -> Design:
    """``X`` as float64, keeping the layout (CSR, CSC or dense) where it can be used as it is."""
    if scipy.sparse.issparse(X):
        X = X if X.format in ("csr", "csc") else X.tocsr()
        return X if X.dtype == np.float64 else X.astype(np.float64)
    with our_errors():
        return np.asarray(X, dtype=np.float64)


def check_numbers(name: str, values: NDArray[Any]) -> None:
    """Refuse numbers that are not finite, or so large that their squares and sums would not be.

    Examples
    --------
    >>> check_numbers("y", np.array([1.0, 1e200]))
    Traceback (most recent call last):
    spinney.errors.InputError: y has numbers larger than 1e+100 (scale them)
    """
    size = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not np.isfinite(size):
        raise InputError(f"{name} has values that are NaN or infinite", remedy="remove or replace them")
    if size > LARGEST:
        raise InputError(f"{name} has numbers larger than {LARGEST:g}", remedy="scale them")


class LinearLoss:
    """What the losses share: the design matrix, the sample weights and the intercept.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
    y : array of shape (n,)
    sample_weight : array of shape (n,), optional
        Non-negative; all 1 when absent.
    intercept : bool
        Whether the last coordinate(s) of the parameter vector are unpenalised intercepts.
    """

    #: sup ℓ''(m): how much the curvature of the loss can exceed that of the Gram matrix.
    max_curvature: ClassVar[float] = 1.0
    n_outputs: int = 1

    def __init__(
        self, X: Design, y: ArrayLike, sample_weight: ArrayLike | None = None, intercept: bool = True
    ) -> None:
        self.X = as_design(X)
        self.n, self.p = self.X.shape
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.sample_weight: Vector = (
            np.ones(self.n)
            if sample_weight is None
            else np.ascontiguousarray(sample_weight, dtype=np.float64)
        )
        if len(self.y) != self.n or len(self.sample_weight) != self.n:
            raise OptionError(
                f"X has {self.n} rows, y {len(self.y)} and sample_weight {len(self.sample_weight)}: make them equal"
            )
        if np.any(self.sample_weight < 0) or not np.all(np.isfinite(self.sample_weight)):
            raise OptionError("sample weights must be finite and ≥ 0")
        check_numbers("X", self.X.data if scipy.sparse.issparse(self.X) else self.X)
        check_numbers("y", self.y)
        self.intercept = intercept
        self._cut: tuple[Any, list[_Shard[Self]]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the shards, which are the same rows once more."""
        return vars(self) | {"_cut": None}

    @property
    def n_params(self) -> int:
        """Length of the parameter vector, intercepts included."""
        return int(self.p + self.intercept) * self.n_outputs

    @property
    def n_free(self) -> int:
        """How many of the last coordinates are intercepts."""
        return self.n_outputs if self.intercept else 0

    # -- shards ----------------------------------------------------------------------------------------

    @property
    def shards(self) -> list[_Shard[Self]]:
        """The rows of a large sparse design in pieces; none where they are better left together.

        They share their memory with the design. One that was put into column order, for coordinate descent, has none.
        """
        if self._cut is None or self._cut[0] is not self.X:
            self._cut = self.X, self._shards_of_rows()
        return self._cut[1]

    def _shards_of_rows(self) -> list[_Shard[Self]]:
        X = self.X
        if not scipy.sparse.issparse(X) or X.format != "csr":
            return []
        n = X.nnz * self.n_outputs // max(SHARD, PER_WEIGHT * self.n_params)
        if n < 2:
            return []
        cuts = np.unique(np.searchsorted(X.indptr, np.linspace(0, X.nnz, n + 1).astype(np.int64)))
        cuts[0], cuts[-1] = 0, self.n  # rows without entries at either end
        return [self._shard(a, b) for a, b in pairwise(cuts.tolist())]

    def _shard(self, start: int, stop: int) -> _Shard[Self]:
        """A loss of the rows ``start`` to ``stop - 1``."""
        part, X, rows = copy.copy(self), self.X, slice(start, stop)
        a, b = int(X.indptr[start]), int(X.indptr[stop])
        shape = stop - start, self.p
        part.X = type(X)(
            (X.data[a:b], X.indices[a:b], X.indptr[start : stop + 1] - X.indptr[start]), shape=shape
        )
        part.n, part.y, part.sample_weight = shape[0], self.y[rows], self.sample_weight[rows]
        part._cut = part.X, []
        return _Shard(rows, Kept(part))

    # -- margins ---------------------------------------------------------------------------------------

    def margins(self, w: Vector, rows: NDArray[np.intp] | None = None) -> Vector:
        """X·w + b, for all examples or for some."""
        if rows is None and elsewhere() and self.shards:
            kept = (shard.kept for shard in self.shards)
            return np.concatenate(list(in_order(Pure(_margins_of, w), kept, 1)))
        return self._margins(w, rows)

    def pull_back(self, r: Vector, rows: NDArray[np.intp] | None = None) -> Vector:
        """Xᵀ·r (and Σr for the intercept): from derivatives in the margins to a gradient."""
        if rows is None and self.shards:
            visits = (Visit(shard.kept, r[shard.rows]) for shard in self.shards)
            return map_reduce(Pure(_pulled_back), visits, threads=1)
        return self._pull_back(r, rows)

    def _margins(self, w: Vector, rows: NDArray[np.intp] | None) -> Vector:
        m = self._times(w[: self.p]) if rows is None else self.X[rows] @ w[: self.p]
        return m + w[self.p] if self.intercept else m

    def _times(self, v: Vector) -> Vector:
        """X·v, by the columns that matter where these are few and at hand."""
        if scipy.sparse.issparse(self.X) and self.X.format == "csc":
            active = np.flatnonzero(v != 0)  # comparing first is ten times faster
            if 10 * len(active) < self.p:
                return np.asarray(self.X[:, active] @ v[active])
        return np.asarray(self.X @ v)

    def _pull_back(self, r: Vector, rows: NDArray[np.intp] | None) -> Vector:
        X = self.X if rows is None else self.X[rows]
        grad = np.empty(self.n_params)
        grad[: self.p] = X.T @ r
        if self.intercept:
            grad[self.p] = r.sum()
        return grad

    def pointwise(self, m: Vector, y: Vector, s: Vector) -> tuple[float, Vector]:
        """Σ sᵢℓ(yᵢ, mᵢ) and its derivative in m."""
        raise NotImplementedError

    def curvature(self, m: Vector) -> Vector:
        """sᵢ·ℓ''(mᵢ)."""
        raise NotImplementedError

    # -- the contract ----------------------------------------------------------------------------------

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The loss and its gradient at ``w``."""
        if self.shards:
            kept = (shard.kept for shard in self.shards)
            found = map_reduce(Pure(_value_and_grad_of, w), kept, threads=1, reduce=_both_added)
            return found[0], found[1]
        value, r = self.pointwise(self.margins(w), self.y, self.sample_weight)
        return value, self.pull_back(r)

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        """The map v ↦ ∇²L(w)·v."""
        h = self.curvature(self.margins(w))
        return lambda v: self.pull_back(h * self.margins(v))

    def hess_diag(self, w: Vector) -> Vector:
        """Diagonal of the Hessian at ``w``."""
        h = self.curvature(self.margins(w))
        return self._squared_pull_back(h)

    def _squared_pull_back(self, h: Vector) -> Vector:
        squared = self.X.multiply(self.X) if scipy.sparse.issparse(self.X) else self.X**2
        diagonal = np.empty((self.p + self.intercept, *h.shape[1:]))
        diagonal[: self.p] = squared.T @ h
        if self.intercept:
            diagonal[self.p] = h.sum(axis=0)
        return diagonal.ravel()

    def lipschitz(self, tol: float = 1e-3) -> float:
        """An estimate from below of the Lipschitz constant of the gradient, which is most often within 1 % of it.

        Power iteration, until it changes by less than ``tol`` of itself.
        """
        v = np.random.default_rng(0).standard_normal(self.p + self.intercept)
        norm = 0.0
        for _ in range(50):
            v /= max(np.linalg.norm(v), 1e-300)
            m = self.X @ v[: self.p] + (v[self.p] if self.intercept else 0.0)
            m *= self.sample_weight
            v = np.append(self.X.T @ m, m.sum()) if self.intercept else self.X.T @ m
            previous, norm = norm, float(np.linalg.norm(v))
            if abs(norm - previous) <= tol * norm:
                break
        return max(1.01 * self.max_curvature * norm, 1e-300)

    def null_point(self) -> Vector:
        """The optimum when all penalised coordinates are 0: only the intercept is fitted."""
        raise NotImplementedError

    def fit_free(self, w: Vector) -> Vector:
        """``w`` with the intercepts that are optimal for the other coordinates: Newton's method on the margins."""
        fitted = np.array(w, dtype=np.float64)
        if not self.intercept:
            return fitted
        free = fitted[-self.n_outputs :]
        m = self.margins(fitted)
        value, r = self.pointwise(m, self.y, self.sample_weight)
        weight = max(float(self.sample_weight.sum()), self.n)
        for _ in range(50):
            slope = r.sum(axis=0).reshape(-1)
            if np.max(np.abs(slope)) <= 1e-13 * weight:
                break
            move = self._newton_step(m, slope)
            step = 1.0
            while step > 1e-6:
                new = m - step * (move if self.n_outputs > 1 else move[0])
                new_value, new_r = self.pointwise(new, self.y, self.sample_weight)
                if new_value <= value:
                    break
                step /= 2
            else:
                break  # rounding has the last word
            free -= step * move
            m, value, r = new, new_value, new_r
        return fitted

    def _newton_step(self, m: Vector, slope: Vector) -> Vector:
        """The Hessian of the loss in the intercepts, inverted, times the slope."""
        return np.asarray(slope / max(float(self.curvature(m).sum()), 1e-300))

    def minibatches(
        self, size: int, rng: np.random.Generator
    ) -> Iterator[Callable[[Vector], tuple[float, Vector]]]:
        """One shuffled pass; each item estimates ``value_and_grad`` of the whole sum without bias."""
        order = rng.permutation(self.n)
        for start in range(0, self.n, size):
            rows = np.sort(order[start : start + size])
            scale = self.n / len(rows)

            def estimate(
                w: Vector, rows: NDArray[np.intp] = rows, scale: float = scale
            ) -> tuple[float, Vector]:
                value, r = self.pointwise(self.margins(w, rows), self.y[rows], self.sample_weight[rows])
                return scale * value, scale * self.pull_back(r, rows)

            yield estimate


_DENSE = 100  # outputs up to which the Hessian of the intercepts is made, and inverted


def _step_by_products(P: Vector, weighted: Vector, total: Vector, slope: Vector) -> Vector:
    """(Diag(total) − Pᵀ·weighted)⁻¹·slope by conjugate gradients on the matrix with a diagonal of ones.

    The pseudo-inverse takes time cubic in the outputs, which some thousands of words would not bear.
    """
    scale = 1.0 / np.sqrt(np.maximum(total, 1e-300))

    def product(v: Vector) -> Vector:
        return np.asarray(v - scale * (weighted.T @ (P @ (scale * v))))

    n = len(slope)
    found, _ = scipy.sparse.linalg.cg(
        scipy.sparse.linalg.LinearOperator((n, n), product, dtype=np.float64),
        scale * slope, rtol=1e-8, maxiter=100,
    )  # fmt: skip
    return np.asarray(scale * found)


Part = TypeVar("Part", bound=LinearLoss)


class _Shard(NamedTuple, Generic[Part]):
    """Some rows, and the loss over them, which stays with whoever works on it."""

    rows: slice
    kept: Kept[Part]


def _value_and_grad_of(w: Vector, part: LinearLoss) -> tuple[float, Vector]:
    return part.value_and_grad(w)


def _margins_of(w: Vector, part: LinearLoss) -> Vector:
    return part.margins(w)


def _pulled_back(part: LinearLoss, r: Vector) -> Vector:
    return part.pull_back(r)


def _both_added(one: tuple[float, Vector], other: tuple[float, Vector]) -> tuple[float, Vector]:
    return one[0] + other[0], one[1] + other[1]


class SquaredLoss(LinearLoss):
    """½ Σ sᵢ (mᵢ − yᵢ)².

    Examples
    --------
    >>> loss = SquaredLoss([[1.0], [2.0]], [1.0, 2.0], intercept=False)
    >>> value, grad = loss.value_and_grad(np.array([0.5]))
    >>> value, grad.tolist()
    (0.625, [-2.5])
    """

    def pointwise(self, m: Vector, y: Vector, s: Vector) -> tuple[float, Vector]:
        r = m - y
        sr = s * r
        return 0.5 * float(np.sum(r * sr)), sr  # not r @ sr, whose bits depend on the threads of BLAS

    def curvature(self, m: Vector) -> Vector:
        return self.sample_weight

    def centred(self) -> tuple[Vector, Vector, Vector, float]:
        """Dense X and y with sample weights and intercept worked in: rows times √s, columns less their means.

        Then the means of the columns and of y, which give the intercept back (0 without one).
        """
        X = np.asarray(self.X.todense()) if scipy.sparse.issparse(self.X) else self.X
        s, root = self.sample_weight, np.sqrt(self.sample_weight)
        if not self.intercept:
            return root[:, None] * X, root * self.y, np.zeros(self.p), 0.0
        x_mean, y_mean = np.average(X, axis=0, weights=s), float(np.average(self.y, weights=s))
        return root[:, None] * (X - x_mean), root * (self.y - y_mean), x_mean, y_mean

    def null_point(self) -> Vector:
        w = np.zeros(self.n_params)
        if self.intercept:
            w[-1] = np.average(self.y, weights=self.sample_weight)
        return w


class LogisticLoss(LinearLoss):
    """Σ sᵢ log(1 + exp(−yᵢmᵢ)) with labels y in {−1, +1}.

    Examples
    --------
    >>> loss = LogisticLoss([[1.0], [-1.0]], [1, -1], intercept=False)
    >>> round(loss.value_and_grad(np.zeros(1))[0], 4)
    1.3863
    """

    max_curvature = 0.25

    def __init__(
        self, X: Design, y: ArrayLike, sample_weight: ArrayLike | None = None, intercept: bool = True
    ) -> None:
        super().__init__(X, y, sample_weight, intercept)
        if not np.all(np.abs(self.y) == 1.0):
            raise OptionError("the labels of a logistic loss must be -1 and +1")

    def pointwise(self, m: Vector, y: Vector, s: Vector) -> tuple[float, Vector]:
        ym = y * m
        small = np.exp(-np.abs(ym))  # one exponential gives both, and never overflows
        value = float(np.sum(s * (np.maximum(-ym, 0.0) + np.log1p(small))))
        against = np.where(ym >= 0, small, 1.0) / (1.0 + small)  # the probability of the other label
        return value, -s * y * against

    def curvature(self, m: Vector) -> Vector:
        # Not g(1 − g): 1 − g is 0 from m = 37 on, and a weight that feels no curvature could never come back.
        return np.asarray(self.sample_weight * scipy.special.expit(m) * scipy.special.expit(-m))

    def null_point(self) -> Vector:
        w = np.zeros(self.n_params)
        if self.intercept:
            positive = float(self.sample_weight @ (self.y > 0))
            negative = float(self.sample_weight @ (self.y < 0))
            if positive > 0 and negative > 0:
                w[-1] = np.log(positive / negative)
        return w


class SeveralOutputs(LinearLoss):
    """A linear loss with several margins per example.

    The parameter vector is the row-major matrix of shape (p, K), one row per feature, then K intercepts.
    """

    def _margins(self, w: Vector, rows: NDArray[np.intp] | None) -> Vector:
        W = w.reshape(-1, self.n_outputs)
        X = self.X if rows is None else self.X[rows]
        M: Vector = X @ W[: self.p]
        return M + W[self.p] if self.intercept else M

    def _pull_back(self, r: Vector, rows: NDArray[np.intp] | None) -> Vector:
        X = self.X if rows is None else self.X[rows]
        grad = np.empty((self.p + self.intercept, self.n_outputs))
        grad[: self.p] = X.T @ r
        if self.intercept:
            grad[self.p] = r.sum(axis=0)
        return grad.ravel()


class MultinomialLoss(SeveralOutputs):
    """−Σ sᵢ log softmax(mᵢ)[yᵢ] with labels y in 0 … K−1.

    The parameter vector is the row-major matrix of shape (p, K), one row per feature, then K intercepts.

    Examples
    --------
    >>> loss = MultinomialLoss([[1.0], [2.0], [3.0]], [0, 1, 2], intercept=False)
    >>> round(loss.value_and_grad(np.zeros(3))[0], 4)
    3.2958
    """

    max_curvature = 0.5

    def __init__(
        self,
        X: Design,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        intercept: bool = True,
        n_classes: int | None = None,
    ) -> None:
        super().__init__(X, y, sample_weight, intercept)
        self.labels = self.y.astype(np.intp)
        self.n_outputs = int(n_classes or self.labels.max() + 1)
        if self.labels.min() < 0 or self.labels.max() >= self.n_outputs:
            raise OptionError(f"the labels of a multinomial loss must be 0 to {self.n_outputs - 1}")

    def pointwise(self, m: Vector, y: Vector, s: Vector) -> tuple[float, Vector]:
        from spinney.optim._loss_kernels import softmax_loss

        slopes = np.empty(m.shape)
        return float(softmax_loss(np.ascontiguousarray(m), y, s, slopes)), slopes

    def curvature(self, m: Vector) -> Vector:
        """The diagonal sᵢ·pᵢₖ(1 − pᵢₖ) of each example's Hessian."""
        P: Vector = scipy.special.softmax(m, axis=1)
        return self.sample_weight[:, None] * P * (1.0 - P)

    def _newton_step(self, m: Vector, slope: Vector) -> Vector:
        P: Vector = scipy.special.softmax(m, axis=1)
        weighted = self.sample_weight[:, None] * P
        total = weighted.sum(axis=0)
        if self.n_outputs > _DENSE:
            return _step_by_products(P, weighted, total, slope)
        H = np.diag(total) - P.T @ weighted
        return np.asarray(
            np.linalg.pinv(H, rcond=1e-12, hermitian=True) @ slope
        )  # adding to all changes nothing

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        P = scipy.special.softmax(self.margins(w), axis=1)

        def product(v: Vector) -> Vector:
            D = self.margins(v)
            return self.pull_back(self.sample_weight[:, None] * P * (D - (P * D).sum(axis=1, keepdims=True)))

        return product

    def null_point(self) -> Vector:
        w = np.zeros(self.n_params)
        if self.intercept:
            totals = np.bincount(self.labels, weights=self.sample_weight, minlength=self.n_outputs)
            if np.all(totals > 0):
                w[-self.n_outputs :] = np.log(totals) - np.log(totals).mean()
        return w


#: The share of curvature that a squared hinge keeps where it is 0, so that descent can take a weight back from there.
FLAT = 1e-6


class SquaredHingeLoss(LinearLoss):
    """Σ sᵢ max(0, 1 − yᵢmᵢ)² with labels y in {−1, +1}: the loss of scikit-learn's ``LinearSVC``, whose C is 1/λ.

    Examples
    --------
    >>> loss = SquaredHingeLoss([[1.0], [-1.0]], [1, -1], intercept=False)
    >>> value, grad = loss.value_and_grad(np.array([0.5]))
    >>> value, grad.tolist()
    (0.5, [-2.0])
    """

    max_curvature = 2.0

    def __init__(
        self, X: Design, y: ArrayLike, sample_weight: ArrayLike | None = None, intercept: bool = True
    ) -> None:
        super().__init__(X, y, sample_weight, intercept)
        if not np.all(np.abs(self.y) == 1.0):
            raise OptionError("the labels of a squared hinge must be -1 and +1")

    def pointwise(self, m: Vector, y: Vector, s: Vector) -> tuple[float, Vector]:
        short = np.maximum(1.0 - y * m, 0.0)
        pull = s * short
        return float(np.sum(pull * short)), -2.0 * y * pull

    def curvature(self, m: Vector) -> Vector:
        """2sᵢ inside the margin; outside, where it is 0, a trace of that."""
        return 2.0 * self.sample_weight * np.where(self.y * m < 1.0, 1.0, FLAT)

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        h = 2.0 * self.sample_weight * (self.y * self.margins(w) < 1.0)
        return lambda v: self.pull_back(h * self.margins(v))

    def null_point(self) -> Vector:
        w = np.zeros(self.n_params)
        if self.intercept:
            w[-1] = np.average(
                self.y, weights=self.sample_weight
            )  # the root of Σ s(1 − yb)y, which lies within ±1
        return w


class OneVsRestLoss(SeveralOutputs):
    """The squared hinges of K classes, each against all others, with labels y in 0 … K−1.

    Σᵢₖ sᵢ max(0, 1 − zᵢₖmᵢₖ)², where zᵢₖ is 1 for the class of example i and −1 for the others. Penalties that are sums
    over weights make K separate problems of it; groups of features tie them together.

    Examples
    --------
    >>> loss = OneVsRestLoss([[1.0], [2.0], [3.0]], [0, 1, 2], intercept=False)
    >>> loss.value_and_grad(np.zeros(3))[0]
    9.0
    """

    max_curvature = 2.0

    def __init__(
        self,
        X: Design,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        intercept: bool = True,
        n_classes: int | None = None,
    ) -> None:
        super().__init__(X, y, sample_weight, intercept)
        labels = self.y.astype(np.intp)
        self.n_outputs = int(n_classes or labels.max() + 1)
        if labels.min() < 0 or labels.max() >= self.n_outputs:
            raise OptionError(f"the labels of a one-versus-rest loss must be 0 to {self.n_outputs - 1}")

    def _signs(self, y: Vector) -> Vector:
        signs = np.full((len(y), self.n_outputs), -1.0)
        signs[np.arange(len(y)), y.astype(np.intp)] = 1.0
        return signs

    def pointwise(self, m: Vector, y: Vector, s: Vector) -> tuple[float, Vector]:
        signs = self._signs(y)
        short = np.maximum(1.0 - signs * m, 0.0)
        pull = s[:, None] * short
        return float(np.sum(pull * short)), -2.0 * signs * pull

    def curvature(self, m: Vector) -> Vector:
        """2sᵢ inside the margin of each class; outside, where it is 0, a trace of that."""
        inside = np.where(self._signs(self.y) * m < 1.0, 1.0, FLAT)
        return np.asarray(2.0 * self.sample_weight[:, None] * inside)

    def _newton_step(self, m: Vector, slope: Vector) -> Vector:
        return np.asarray(slope / np.maximum(self.curvature(m).sum(axis=0), 1e-300))

    def hess_vec(self, w: Vector) -> Callable[[Vector], Vector]:
        h = 2.0 * self.sample_weight[:, None] * (self._signs(self.y) * self.margins(w) < 1.0)
        return lambda v: self.pull_back(h * self.margins(v))

    def null_point(self) -> Vector:
        w = np.zeros(self.n_params)
        if self.intercept:
            w[-self.n_outputs :] = np.average(self._signs(self.y), axis=0, weights=self.sample_weight)
        return w


class EntropyRegularised:
    """A classification loss plus ρ Σᵤ sᵤ ``H(p(·|xᵤ))``: predictions at unlabelled examples should be sure.

    Entropy regularisation (Grandvalet & Bengio 2004; Sokolovska 2010, eq. 4.9). **Not convex**: start the solver at
    the optimum of ``loss`` alone (``w0=``), or near it.

    Parameters
    ----------
    loss : LogisticLoss or MultinomialLoss
        Over the labelled examples.
    X : array or sparse matrix of shape (m, p)
        The unlabelled examples.
    rho : float
        ρ, the price of a nat of entropy, in the units of a sum of losses.
    sample_weight : array of shape (m,), optional
        The sᵤ, for instance the known probabilities q(xᵤ).

    Examples
    --------
    >>> loss = LogisticLoss([[1.0], [-1.0]], [1, -1], intercept=False)
    >>> round(EntropyRegularised(loss, [[2.0]], rho=1.0).value_and_grad(np.zeros(1))[0], 4)  # three coins
    2.0794
    """

    convex = False

    def __init__(
        self,
        loss: LogisticLoss | MultinomialLoss,
        X: Design,
        rho: float,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        self.loss = loss
        self.rho = checked_strength("rho", rho)
        X = as_design(X)
        # The same model over other rows; its margins are used, its labels are not.
        self.unlabelled: LogisticLoss | MultinomialLoss
        if isinstance(loss, MultinomialLoss):
            labels = np.zeros(X.shape[0])
            self.unlabelled = MultinomialLoss(X, labels, sample_weight, loss.intercept, loss.n_outputs)
        else:
            self.unlabelled = LogisticLoss(X, np.ones(X.shape[0]), sample_weight, loss.intercept)
        if self.unlabelled.p != loss.p:
            raise OptionError(
                f"the unlabelled examples have {self.unlabelled.p} features, but the labelled ones {loss.p}"
            )

    @property
    def n_params(self) -> int:
        """Length of the parameter vector, intercepts included."""
        return self.loss.n_params

    @property
    def n_free(self) -> int:
        """How many of the last coordinates are intercepts."""
        return self.loss.n_free

    def value_and_grad(self, w: Vector) -> tuple[float, Vector]:
        """The criterion and its gradient at ``w``."""
        value, grad = self.loss.value_and_grad(w)
        m, s = self.unlabelled.margins(w), self.unlabelled.sample_weight
        if m.ndim == 1:
            small = np.exp(-np.abs(m))
            rarer = small / (1.0 + small)  # the probability of the less likely class
            entropy = np.log1p(small) + np.abs(m) * rarer
            slope = -m * rarer / (1.0 + small)  # dH/dm = −m p(1 − p)
        else:
            log_p = m - scipy.special.logsumexp(m, axis=1, keepdims=True)
            P = np.exp(log_p)
            entropy = -(P * log_p).sum(axis=1)
            slope, s = -P * (log_p + entropy[:, None]), s[:, None]  # ∂H/∂m_k = −p_k (log p_k + H)
        value += self.rho * float(self.unlabelled.sample_weight @ entropy)
        return value, grad + self.rho * self.unlabelled.pull_back(s * slope)

    def null_point(self) -> Vector:
        """That of the labelled loss: a point of reference, here no optimum."""
        return self.loss.null_point()
