# mypy: ignore-errors
"""The topics of documents, where those of words are known."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def fold_in(indptr, indices, counts, topics, prior, theta, steps, tol):
    """The fixed point of θ_k ∝ prior_k + Σ_w c_w q(k | w), q ∝ θ_k topics[w, k], for each document, topics fixed.

    ``theta`` holds where to begin, rows that sum to 1.
    """
    K = len(prior)
    found = np.empty(K)
    for d in range(len(indptr) - 1):
        for _ in range(steps):
            for k in range(K):
                found[k] = 0.0
            for e in range(indptr[d], indptr[d + 1]):
                w = indices[e]
                s = 0.0
                for k in range(K):
                    s += theta[d, k] * topics[w, k]
                if s > 0.0:
                    share = counts[e] / s
                    for k in range(K):
                        found[k] += share * topics[w, k]
            total = 0.0
            for k in range(K):
                found[k] = prior[k] + theta[d, k] * found[k]
                total += found[k]
            if total <= 0.0:
                break  # nothing known of this document: it stays where it is
            change = 0.0
            for k in range(K):
                change += abs(found[k] / total - theta[d, k])
                theta[d, k] = found[k] / total
            if change <= tol:
                break
