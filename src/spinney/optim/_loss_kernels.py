# mypy: ignore-errors
"""The kernels of multinomial losses: probabilities and slopes of all examples in one pass."""

from __future__ import annotations

import numpy as np
from numba.types import Array, f8, void

from spinney.compiling import njit

READ = Array(f8, 1, "C", readonly=True)
READ_MATRIX = Array(f8, 2, "C", readonly=True)
MATRIX = f8[:, ::1]


@njit(f8(READ_MATRIX, READ, READ, MATRIX), cache=True, nogil=True)
def softmax_loss(margins, labels, s, slopes):
    """−Σ sᵢ log softmax(mᵢ)[yᵢ]; ``slopes`` becomes its derivative sᵢ(p_ik − [k = yᵢ]) in the margins."""
    n, K = margins.shape
    value = 0.0
    for i in range(n):
        own = int(labels[i])
        top = margins[i, 0]
        for k in range(1, K):
            top = max(top, margins[i, k])
        total = 0.0
        for k in range(K):
            slopes[i, k] = np.exp(margins[i, k] - top)
            total += slopes[i, k]
        value += s[i] * (np.log(total) + top - margins[i, own])
        for k in range(K):
            slopes[i, k] *= s[i] / total
        slopes[i, own] -= s[i]
    return value


@njit(f8(READ_MATRIX, READ_MATRIX, READ, READ, MATRIX), cache=True, nogil=True)
def counts_loss(margins, table, rows, s, slopes):
    """−Σᵢₖ cᵢₖ log softmax(mᵢ)ₖ, where cᵢ is row ``rows[i]`` of the table and sᵢ = Σₖ cᵢₖ.

    ``slopes`` becomes its derivative sᵢpᵢₖ − cᵢₖ in the margins.
    """
    n, K = margins.shape
    value = 0.0
    for i in range(n):
        counts = table[int(rows[i])]
        top = margins[i, 0]
        for k in range(1, K):
            top = max(top, margins[i, k])
        total = 0.0
        for k in range(K):
            slopes[i, k] = np.exp(margins[i, k] - top)
            total += slopes[i, k]
        value += s[i] * (np.log(total) + top)
        for k in range(K):
            value -= counts[k] * margins[i, k]
            slopes[i, k] = slopes[i, k] * (s[i] / total) - counts[k]
    return value


@njit(void(READ_MATRIX, MATRIX), cache=True, nogil=True)
def softmax_columns(margins, P):
    """``P`` [K, n] becomes softmax(mᵢ) of each example i, class by class."""
    n, K = margins.shape
    for i in range(n):
        top = margins[i, 0]
        for k in range(1, K):
            top = max(top, margins[i, k])
        total = 0.0
        for k in range(K):
            P[k, i] = np.exp(margins[i, k] - top)
            total += P[k, i]
        for k in range(K):
            P[k, i] /= total
