"""What a taxonomy is learned from. Each source gives the residuals of the samples of some of its classes.

A source answers ``residual(classes)``, recomputed from the samples of these classes alone. After a split that is not
the sub-matrix of what was there before, since XᵀX mixed both halves.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spinney.errors import InputError, OptionError
from spinney.taxonomy.proximity import (
    Array,
    Form,
    Residual,
    as_samples,
    checked_delta,
    from_moments,
    residual,
)

Classes = NDArray[np.intp]


class ResidualSource(Protocol):
    """Where residuals come from."""

    @property
    def sizes(self) -> Array:
        """The number of samples of each class."""
        ...

    def residual(self, classes: Classes) -> Residual:
        """The residuals of the samples of some classes."""
        ...


class Samples:
    """A matrix with one row per sample, and the class 0 … K−1 of each."""

    def __init__(
        self, X: Any, codes: NDArray[np.intp], delta: float, form: Form = "auto", rank: int | None = None
    ) -> None:
        X = as_samples(X)
        if X.shape[0] != len(codes):
            raise InputError(f"{X.shape[0]} samples but {len(codes)} labels")
        # Rows in the order of their classes, so that those of one class are a slice.
        self._X = X[np.argsort(codes, kind="stable")]
        self.sizes: Array = np.bincount(codes).astype(np.float64)
        self._ptr = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self._how = (delta, form, rank)

    def residual(self, classes: Classes) -> Residual:
        """The residuals of the samples of some classes, exactly."""
        rows = np.concatenate([np.arange(self._ptr[c], self._ptr[c + 1]) for c in classes])
        X = self._X if len(classes) == len(self.sizes) else self._X[rows]
        codes = np.repeat(np.arange(len(classes)), self.sizes[classes].astype(np.intp))
        return residual(X, codes, len(classes), *self._how)


class CountedSamples:
    """Vectors, and how often each was seen with each class: samples that repeat, such as the bigrams of a text."""

    def __init__(self, vectors: ArrayLike, counts: Any, delta: float) -> None:
        V = np.asarray(vectors, dtype=np.float64)
        C = sparse.csc_array(counts, dtype=np.float64)
        if V.ndim != 2 or V.shape[0] != C.shape[0]:
            raise InputError(f"{C.shape[0]} rows of counts but vectors of shape {V.shape}")
        if not np.isfinite(V).all():
            raise InputError("the vectors contain numbers that are not finite")
        if np.any(C.data < 0) or not np.isfinite(C.data).all():
            raise InputError("counts must be finite numbers ≥ 0")
        seen = C.sum(axis=1)
        self._V = V - (seen @ V) / max(seen.sum(), 1.0)
        self._C = C
        self._B = np.asarray(C.T @ self._V).T
        self.sizes: Array = np.asarray(C.sum(axis=0), dtype=np.float64)
        self._delta = checked_delta(delta)

    def residual(self, classes: Classes) -> Residual:
        """The residuals of the samples of some classes, exactly: XᵀX is a sum over vectors, not over samples."""
        seen = np.asarray(self._C[:, classes].sum(axis=1)).ravel()
        some = np.flatnonzero(seen)
        V = self._V[some]
        return from_moments((V.T * seen[some]) @ V, self._B[:, classes], self.sizes[classes], self._delta)


class Moments:
    """S = XᵀX, B = XᵀY and the sizes of the classes: all that the flat regression needs.

    With S of shape (K, d, d), a second moment for each class, nodes are exact. With one S for all, a node's share
    is not known: it is taken to be the scatter between the classes of the node, which B gives, plus its share by
    samples of the scatter within classes. That is exact where all classes have one covariance, as in discriminant
    analysis.
    """

    def __init__(self, S: ArrayLike, B: ArrayLike, sizes: ArrayLike, delta: float) -> None:
        self._S, self._B = np.asarray(S, dtype=np.float64), np.asarray(B, dtype=np.float64)
        self.sizes: Array = np.asarray(sizes, dtype=np.float64)
        if self._B.ndim != 2 or self._B.shape[1] != len(self.sizes):
            raise OptionError(f"B = XᵀY has shape {self._B.shape}, but there are {len(self.sizes)} classes")
        d, n_classes = self._B.shape
        if self._S.shape not in ((d, d), (n_classes, d, d)):
            raise OptionError(f"S = XᵀX has shape {self._S.shape}, not {(d, d)} or {(n_classes, d, d)}")
        if not (np.isfinite(self._S).all() and np.isfinite(self._B).all()):
            raise OptionError("moments must be finite")
        if not np.all((self.sizes >= 0) & (self.sizes < np.inf)):
            raise OptionError("sizes of classes must be finite numbers ≥ 0")
        self._delta = checked_delta(delta)
        if self._S.ndim == 2:
            self._within = (self._S - self._between(np.arange(n_classes))) / max(self.sizes.sum(), 1.0)

    def residual(self, classes: Classes) -> Residual:
        """The residuals of the samples of some classes, as exactly as the moments allow."""
        sizes = self.sizes[classes]
        if self._S.ndim == 3:
            S = self._S[classes].sum(axis=0)
        else:
            S = sizes.sum() * self._within + self._between(classes)
        return from_moments(S, self._B[:, classes], sizes, self._delta)

    def _between(self, classes: Classes) -> Array:
        """Σ nₖ·mₖmₖᵀ of the classes' means."""
        B = self._B[:, classes]
        return np.asarray((B / np.maximum(self.sizes[classes], 1.0)) @ B.T)
