"""The numbers of a refinement HMM as operators, and sums over all refinements and labels.

``p(a, x) = start_{a₁} D_{a₁,x₁} S_{a₁,a₂} D_{a₂,x₂} … D_{a_N,x_N} stop_{a_N}``: with the probabilities of EM, D is
diagonal and S moves from refinement to refinement; from moments they are the same operators in an unknown basis, which
cancels in every product, and single numbers may be negative (Stratos et al. 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Signs = Literal["clip", "abs", "normalise"]


class Operators(NamedTuple):
    """The operators of A labels with m refinements each, over V symbols."""

    start: Floats  # [A, m]
    stop: Floats  # [A, m]
    S: Floats  # [A·m, A·m]
    D: Floats  # [pairs of a symbol and a label, m, m], or [pairs, m] of diagonal ones
    D_label: NDArray[np.int32]  # [pairs]
    D_ptr: NDArray[np.int64]  # [V + 1]: the pairs of each symbol
    before: Floats  # [A, m]: what precedes a place of a label on average
    after: Floats  # [A, m]: what follows it; before·D·after is the probability of the symbol
    shares: Floats  # [A]: of the labels among all places

    def emission(self, symbol: int) -> Floats:
        """``[A, m, m]``: D of a symbol with all labels; of a symbol never seen, what any symbol has on average."""
        A, m = self.start.shape
        found = np.zeros((A, m, m))
        pairs = slice(int(self.D_ptr[symbol]), int(self.D_ptr[symbol + 1]))
        if pairs.start == pairs.stop:
            pairs = slice(0, len(self.D))
        if self.D.ndim == 3:
            np.add.at(found, self.D_label[pairs], self.D[pairs])
        else:
            flat = np.zeros((A, m))
            np.add.at(flat, self.D_label[pairs], self.D[pairs])
            found[:, np.arange(m), np.arange(m)] = flat
        return found

    def log_probability(self, symbols: Sequence[int], labels: Sequence[int]) -> tuple[float, float]:
        """The sign of p(a, x), and log ``|p(a, x)|``."""
        A, m = self.start.shape
        S = self.S.reshape(A, m, A, m)
        v, log = self.start[labels[0]], 0.0
        for i, (x, a) in enumerate(zip(symbols, labels)):
            v = v @ self.emission(x)[a]
            v = v @ (S[a, :, labels[i + 1]] if i + 1 < len(labels) else self.stop[a][:, None])
            scale = float(np.abs(v).max())
            if not scale:
                return 0.0, -np.inf
            v, log = v / scale, log + float(np.log(scale))
        return float(np.sign(v[0])), log

    def marginals(self, symbols: Sequence[int], signs: Signs) -> Floats:
        """``[token, label]``: the probability of each label at each token, by forward and backward passes.

        Signed sums may be negative: ``"clip"`` sets what has not the sign of its token's sum to 0, ``"abs"`` takes
        magnitudes, ``"normalise"`` divides by the signed sum. A token of a sentence that the model holds impossible
        gets what its word alone says.
        """
        A, m = self.start.shape
        n = len(symbols)
        if not n:
            return np.empty((0, A))
        each = {x: self.emission(x) for x in set(symbols)}
        ahead, behind = np.empty((n, A, m)), np.empty((n, A, m))
        v = self.start
        for i, x in enumerate(symbols):
            ahead[i] = v
            v = np.matmul(v[:, None, :], each[x])[:, 0]
            v = _unit((v.reshape(-1) @ self.S).reshape(A, m))
        v = self.stop
        for i in range(n - 1, -1, -1):
            behind[i] = v
            v = np.matmul(each[symbols[i]], v[:, :, None])[:, :, 0]
            v = _unit((self.S @ v.reshape(-1)).reshape(A, m))
        mu = np.stack([self._at(ahead[i], each[x], behind[i]) for i, x in enumerate(symbols)])
        found = with_signs(mu, signs)
        for i in np.flatnonzero(~np.isfinite(found).all(axis=1)).tolist():
            found[i] = self.of_word(symbols[i])
        return found

    def of_word(self, symbol: int) -> Floats:
        """How likely each label is for a symbol, whatever is around it."""
        law = np.abs(self.shares * self._at(self.before, self.emission(symbol), self.after))
        return np.asarray(law / law.sum()) if law.sum() > 0 else np.full(len(law), 1.0 / len(law))

    @staticmethod
    def _at(before: Floats, D: Floats, after: Floats) -> Floats:
        return np.asarray(np.matmul(np.matmul(before[:, None, :], D), after[:, :, None])[:, 0, 0])


def with_signs(mu: Floats, signs: Signs) -> Floats:
    """Rows that sum to 1; rows without a sum become NaN.

    Examples
    --------
    >>> with_signs(np.array([[0.75, -0.25], [-0.5, -0.5]]), "clip").tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    if signs == "abs":
        mu = np.abs(mu)
    elif signs == "clip":
        # A sentence whose sum is negative is one with all signs turned.
        mu = np.maximum(mu * np.sign(mu.sum(axis=1, keepdims=True)), 0.0)
    total = mu.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(np.abs(total) > 1e-300, mu / total, np.nan))


def _unit(v: Floats) -> Floats:
    scale = np.abs(v).max()
    return v / scale if scale > 0 else v
