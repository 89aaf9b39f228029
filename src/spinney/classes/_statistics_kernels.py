# mypy: ignore-errors
"""The M-step of hidden Markov models, and the adding up of what the E-steps found."""

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def column_laws(tau, backoff, smoothing, laws):
    """Transition probabilities from counts ``tau[kind, i, j]``: columns that sum to 1, a share of each uniform.

    Each column gains ``backoff`` counts that are dealt out as the column of all kinds together; one without counts
    becomes that column, or uniform if there are none at all.
    """
    K, C = tau.shape[0], tau.shape[1]
    shared = np.zeros((C, C))
    for k in range(K):
        shared += tau[k]
    _scale_columns(shared, np.full((C, C), 1.0 / C))
    column = np.empty((C, C))
    for k in range(K):
        for i in range(C):
            for j in range(C):
                column[i, j] = tau[k, i, j] + backoff * shared[i, j]
        _scale_columns(column, shared)
        for i in range(C):
            for j in range(C):
                laws[k, i, j] = (1.0 - smoothing) * column[i, j] + smoothing / C


@njit(cache=True, nogil=True)
def _scale_columns(counts, otherwise):
    """Columns scaled to sum 1; one of zeros becomes that of ``otherwise``."""
    C = counts.shape[1]
    total = np.zeros(C)
    for i in range(len(counts)):
        for j in range(C):
            total[j] += counts[i, j]
    for i in range(len(counts)):
        for j in range(C):
            counts[i, j] = counts[i, j] / total[j] if total[j] > 0 else otherwise[i, j]


@njit(cache=True, nogil=True)
def blend(total, keep, part, weight):
    """total ← keep·total + weight·part, of flat arrays."""
    for e in range(len(total)):
        total[e] = keep * total[e] + weight * part[e]


@njit(cache=True, nogil=True)
def add_rows(words, nodes, weight, omega):
    """omega[w_k] += weight·nodes[k]."""
    for k in range(len(words)):
        row, p = omega[words[k]], nodes[k]
        for i in range(len(p)):
            row[i] += weight * p[i]
