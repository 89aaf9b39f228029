# mypy: ignore-errors
"""EM for tables of counts that are mixtures of products: pairs of words, and documents over topics."""

from __future__ import annotations

import math

from spinney.compiling import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def expected_counts(indptr, indices, counts, A, B, rows, columns):
    """The E-step of p(x, y) ∝ Σ_h A[x, h] B[y, h]; the log-likelihood comes back.

    With q(h | x, y) = A[x, h] B[y, h] / s and s their sum over h, ``rows[x, h]`` becomes Σ_y c q, and ``columns[y, h]``
    grows by Σ_x c q / B[y, h]: the caller multiplies by B[y, h], which no x changes. Pairs that the model excludes
    (s = 0) are left out of the counts.
    """
    H = A.shape[1]
    log_likelihood = 0.0
    for x in range(len(indptr) - 1):
        for h in range(H):
            rows[x, h] = 0.0
        for e in range(indptr[x], indptr[x + 1]):
            y = indices[e]
            s = 0.0
            for h in range(H):
                s += A[x, h] * B[y, h]
            if s <= 0.0:
                log_likelihood = -math.inf
                continue
            log_likelihood += counts[e] * math.log(s)
            share = counts[e] / s
            for h in range(H):
                rows[x, h] += share * B[y, h]
                columns[y, h] += share * A[x, h]
        for h in range(H):
            rows[x, h] *= A[x, h]
    return log_likelihood
