"""Non-negative sparse embedding (Murphy et al. 2012): sparse codes of words whose numbers are all at least 0.

    minimise ‖X − A D‖² + λ ‖A‖₁    over codes A [V, M] ≥ 0 and dictionaries D [M, C] with rows of norm ≤ 1

Dictionaries, batches and passes are those of :class:`~spinney.embed.sparse_coding.SparseCoding`; the codes are found
by coordinate descent, which solves for each number exactly, so that no step ever raises the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.compiling import njit
from spinney.embed.code_trees import CodeForest
from spinney.embed.sparse_coding import Coder, Matrix, Penalty, Shard, SparseCoding
from spinney.errors import OptionError
from spinney.parallel import default_threads, map_reduce, one_blas_thread


@dataclass(eq=False, repr=False)
class NNSE(SparseCoding):
    """Non-negative codes of words and a dictionary of contexts, learned together.

    Parameters, attributes and methods are those of :class:`~spinney.embed.sparse_coding.SparseCoding`; the penalty is
    ``"lasso"``, and one of ``inner_iter`` and ``max_iter`` is a sweep over the numbers of a code. A code is done when
    no number moves by more than ``tol`` times its largest product with an atom.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.standard_normal((3, 20))
    >>> X = rng.random((200, 3)) * (rng.random((200, 3)) < 0.5) @ atoms
    >>> model = NNSE(3, lam=0.01).fit(X)
    >>> bool(model.codes_.min() >= 0), model.gap_ < 1e-6 * model.objective_
    (True, True)
    """

    penalty: Penalty = "lasso"

    def _coder(self, forest: CodeForest) -> Coder:
        return NonNegativeCoder(forest, self.lam, self.threads or default_threads())

    def _check(self) -> None:
        super()._check()
        if self.penalty != "lasso":
            raise OptionError(f"non-negative codes have the penalty 'lasso', not {self.penalty!r}")


class NonNegativeCoder(Coder):
    """Solves non-negative codes for a dictionary, on threads."""

    def solve(
        self, X: Any, codes: Matrix, D: Matrix, gram: Matrix, tol: float, max_iter: int
    ) -> tuple[float, float]:
        """The codes of all words, in place; returns the loss and the sum of the duality gaps.

        With g = 2 Dᵀ(x − D a) and s ≤ 1 the largest factor for which no number of s g is above λ, the gap of a word is
        λ Σa − s a·g + (1 − s)² ‖x − D a‖²: numbers of g far below 0 are no harm where codes cannot be negative.
        """

        def found(shard: Shard) -> tuple[float, float]:
            B, part = np.asarray(shard.X @ D), codes[shard.words]
            self._iterate(B, part, gram, tol, max_iter)
            X = shard.X
            squares = np.asarray((X.multiply(X) if hasattr(X, "multiply") else X * X).sum(axis=1)).ravel()
            g = 2 * (B - part @ gram)
            inner = (part * g).sum(axis=1)
            losses = np.maximum(squares - (part * (B + 0.5 * g)).sum(axis=1), 0.0)
            s = np.minimum(1.0, self.lam / np.maximum(g.max(axis=1), self.lam))
            gaps = self.lam * part.sum(axis=1) - s * inner + (1 - s) ** 2 * losses
            return float(losses.sum()), float(gaps.sum())

        with one_blas_thread():
            shards = self.shards(X, 0, X.shape[0])
            return map_reduce(
                found, shards, threads=self.threads, reduce=lambda p, q: (p[0] + q[0], p[1] + q[1])
            )

    def _iterate(self, B: Matrix, codes: Matrix, gram: Matrix, tol: float, max_iter: int) -> None:
        solve_nonnegative(gram, np.ascontiguousarray(B), codes, self.lam, tol, max_iter)


@njit(cache=True, nogil=True, error_model="numpy")
def solve_nonnegative(
    gram: NDArray[np.float64],
    B: NDArray[np.float64],
    codes: NDArray[np.float64],
    lam: float,
    tol: float,
    max_iter: int,
) -> None:
    """Coordinate descent on ‖x − D a‖² + λ Σa over a ≥ 0 for every row of ``codes``, in place, from where it is.

    ``B [words, M]`` holds Dᵀx of each word and ``gram`` DᵀD. A word is done when in a sweep no number moves by more
    than ``tol`` times the largest of its row of ``B``, or after ``max_iter`` sweeps.
    """
    n, M = codes.shape
    for word in range(n):
        a = codes[word]
        slopes = B[word] - np.dot(gram, a)  # Dᵀ(x − D a)
        enough = tol * np.max(np.abs(B[word]))
        for _ in range(max_iter):
            most = 0.0
            for i in range(M):
                new = max(0.0, a[i] + (slopes[i] - 0.5 * lam) / gram[i, i])
                change = new - a[i]
                if change != 0.0:
                    a[i] = new
                    for j in range(M):
                        slopes[j] -= change * gram[i, j]
                    most = max(most, abs(change))
            if most <= enough:
                break
