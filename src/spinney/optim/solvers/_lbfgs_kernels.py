# mypy: ignore-errors
"""Passes over the history of L-BFGS: vectors in single precision, sums in double, in pieces that stay in the cache.

Each works on the coordinates from ``first`` to ``last`` and adds its sums to ``out``, if it has any.
"""

import numpy as np

from spinney.compiling import njit

PIECE = 4096


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def project(first, last, vectors, g, out):
    """out[j] = Σ_i vectors[j, i]·g[i]."""
    for start in range(first, last, PIECE):
        stop = min(start + PIECE, last)
        for j in range(vectors.shape[0]):
            total = 0.0
            vector = vectors[j]
            for i in range(start, stop):
                total += vector[i] * g[i]
            out[j] += total


@njit(cache=True, nogil=True)
def move(first, last, vectors, delta, g, w, out):
    """w += Σ_j delta[j]·vectors[j] + delta[last]·g."""
    own = len(delta) - 1
    for start in range(first, last, PIECE):
        stop = min(start + PIECE, last)
        for i in range(start, stop):
            w[i] += delta[own] * g[i]
        for j in range(vectors.shape[0]):
            if delta[j] != 0.0:
                vector, d = vectors[j], delta[j]
                for i in range(start, stop):
                    w[i] += d * vector[i]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def products(first, last, g, new, out):
    """out = y·y, g·new, new·new, where y = new − g."""
    for start in range(first, last, PIECE):
        yy, gn, nn = 0.0, 0.0, 0.0
        for i in range(start, min(start + PIECE, last)):
            y = new[i] - g[i]
            yy += y * y
            gn += g[i] * new[i]
            nn += new[i] * new[i]
        out[0] += yy
        out[1] += gn
        out[2] += nn


@njit(cache=True, nogil=True)
def store(first, last, vectors, delta, g, new, slot, out):
    """Put the step Σ_j delta[j]·vectors[j] + delta[last]·g and the change new − g into their slots."""
    m, own = vectors.shape[0] // 2, len(delta) - 1
    step = np.empty(PIECE)
    for start in range(first, last, PIECE):
        stop = min(start + PIECE, last)
        for i in range(start, stop):
            step[i - start] = delta[own] * g[i]
        for j in range(vectors.shape[0]):
            if delta[j] != 0.0:
                vector, d = vectors[j], delta[j]
                for i in range(start, stop):
                    step[i - start] += d * vector[i]
        for i in range(start, stop):
            vectors[slot, i] = step[i - start]
            vectors[m + slot, i] = new[i] - g[i]
