# mypy: ignore-errors
"""Sums over trigrams, by middle word, of outer products of the vectors of the outer words."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def outer_sums(first, word_ptr, run_ptr, previous, following, U, V, out):
    """``out[x - first] = Σ_{(x₁, x, x₃)} U[x₃] V[x₁]ᵀ`` for as many words, from ``first`` on, as ``out`` has matrices.

    Trigrams are sorted by middle word and, within it, by the word before: a *run* of trigrams shares both, so its
    vectors ``U[x₃]`` are added up before the one outer product. The runs of word x are ``word_ptr[x]`` to
    ``word_ptr[x + 1]``, the trigrams of run r ``run_ptr[r]`` to ``run_ptr[r + 1]``; ``previous[r]`` is the x₁ of a run,
    ``following[t]`` the x₃ of a trigram.
    """
    m, k = U.shape[1], V.shape[1]
    total = np.empty(m)
    for x in range(first, first + len(out)):
        sums = out[x - first]
        sums[:] = 0.0
        for run in range(word_ptr[x], word_ptr[x + 1]):
            total[:] = 0.0
            for t in range(run_ptr[run], run_ptr[run + 1]):
                u = U[following[t]]
                for i in range(m):
                    total[i] += u[i]
            v = V[previous[run]]
            for i in range(m):
                for j in range(k):
                    sums[i, j] += total[i] * v[j]
