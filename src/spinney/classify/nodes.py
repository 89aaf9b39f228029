"""The training data of one node of a tree of classes: samples with one branch each, or a table of counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold

from spinney.optim import LogisticLoss, MultinomialLoss
from spinney.optim.base import Vector
from spinney.optim.losses import LinearLoss

Rows = NDArray[np.intp]


class NodeSamples(NamedTuple):
    """The samples of a node: the branch of each, or (``counts``) how often each was seen with every branch."""

    X: Any
    branch: Rows  # [n]; with counts, the number of the row
    weight: Vector  # [n]
    arity: int
    counts: Vector | None = None  # [n, arity]

    def loss(self, intercept: bool, rows: Rows | None = None) -> LinearLoss:
        """The loss of all samples, or of some."""
        some = slice(None) if rows is None else rows
        X, branch, weight = self.X[some], self.branch[some], self.weight[some]
        if self.counts is not None:
            return CountLoss(X, self.counts[some], intercept)
        if self.arity == 2:
            return LogisticLoss(X, 2.0 * branch - 1.0, weight, intercept)
        return MultinomialLoss(X, branch, weight, intercept, self.arity)

    def folds(self, n: int) -> Iterator[tuple[Rows, Rows]]:
        """Training and held-out rows; none if there are too few samples."""
        if self.counts is not None:
            splitter, n = KFold, min(n, len(self.branch))
        else:
            splitter, n = StratifiedKFold, min(n, int(np.bincount(self.branch, minlength=self.arity).min()))
        if n > 1:
            yield from splitter(n, shuffle=True, random_state=0).split(self.branch, self.branch)


def counted_samples(X: Any, counts: Vector) -> NodeSamples:
    """Samples of a table of counts [n, arity]; for two branches each row is written twice, weighted."""
    n, arity = counts.shape
    if arity > 2:
        return NodeSamples(X, np.arange(n), counts.sum(axis=1), arity, counts)
    stack = sparse.vstack if sparse.issparse(X) else np.vstack
    branch, weight = np.repeat([0, 1], n), counts.T.ravel()
    seen = weight > 0
    return NodeSamples(stack([X, X])[seen], branch[seen], weight[seen], 2)


class CountLoss(MultinomialLoss):
    """−Σᵢₖ cᵢₖ log softmax(mᵢ)ₖ: a multinomial loss whose examples repeat."""

    def __init__(self, X: Any, counts: Vector, intercept: bool) -> None:
        # The label of a row is its number, so that batches of rows find their counts.
        LinearLoss.__init__(self, X, np.arange(len(counts)), counts.sum(axis=1), intercept)
        self.counts = np.ascontiguousarray(counts, np.float64)
        self.n_outputs = counts.shape[1]

    def pointwise(self, m: Vector, y: Vector, s: Vector) -> tuple[float, Vector]:
        from spinney.optim._loss_kernels import counts_loss

        slopes = np.empty(m.shape)
        return float(counts_loss(np.ascontiguousarray(m), self.counts, y, s, slopes)), slopes

    def null_point(self) -> Vector:
        w = np.zeros(self.n_params)
        totals = self.counts.sum(axis=0)
        if self.intercept and np.all(totals > 0):
            w[-self.n_outputs :] = np.log(totals) - np.log(totals).mean()
        return w
